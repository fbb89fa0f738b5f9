"""Methods of other people: an installed package, a decorated function in a notebook, a callable."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.methods.registry import _methods, all_methods

PACKAGE = Path(__file__).parent.parent / "examples" / "shoal_example_method"
CELL = """
import numpy as np
import shoal

@shoal.method("notebook-{name}", title="Consecutive records")
def {name}(points, k, *, reverse: bool = False):
    '''Group consecutive records.'''
    labels = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    return labels[::-1] if reverse else labels
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example package, installed by pip into a directory of its own."""
    for needed in ("pip", "hatchling"):
        pytest.importorskip(needed, reason="pip and hatchling install the example package")
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(PACKAGE)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture
def registry():
    """The registry, restored after a test that adds to it."""
    all_methods()
    before = {name: dict(variants) for name, variants in _methods.items()}
    yield
    _methods.clear()
    _methods.update(before)


def run(installed, *command):
    """The output of a Python process that finds the installed package."""
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    source = Path(shoal.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{paths}{os.pathsep}{source}"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_package_adds_a_method(installed):
    code = (
        "import json, sys, numpy as np, shoal\n"
        "assert 'shoal_example_method' not in sys.modules\n"
        "points = np.random.default_rng(7).normal(size=(103, 4))\n"
        "print(json.dumps(shoal.group(points, k=5, method='example-hilbert', bits=8).tolist()))\n"
    )
    grouping = shoal.Grouping(np.array(json.loads(run(installed, "-c", code))), 5, max_size=9)
    assert grouping.n == 103


def test_the_list_of_methods_says_that_it_is_not_built_in(installed):
    listed = {
        entry["name"]: entry for entry in json.loads(run(installed, "-m", "shoal", "methods", "--json"))["methods"]
    }
    assert not listed["example-hilbert"]["built_in"]
    assert [option["name"] for option in listed["example-hilbert"]["options"]] == ["bits"]
    assert all(entry["built_in"] for name, entry in listed.items() if name != "example-hilbert")
    assert "example-hilbert" in run(installed, "-m", "shoal", "methods")


def test_it_loses_more_than_mdav_but_less_than_random_groups(installed):
    code = (
        "import numpy as np, shoal\n"
        "points = np.random.default_rng(3).normal(size=(300, 2))\n"
        "def spread(part): return ((part - part.mean(axis=0)) ** 2).sum()\n"
        "def sse(labels): return sum(spread(points[labels == g]) for g in set(labels))\n"
        "print(*(sse(shoal.group(points, k=5, method=m)) for m in ('mdav', 'example-hilbert')))\n"
        "print(sse(np.random.default_rng(4).permutation(300) // 5))\n"
    )
    mdav, hilbert, arbitrary = map(float, run(installed, "-c", code).split())
    assert mdav < hilbert < arbitrary / 4


def test_a_command_protects_a_file_with_it(installed, tmp_path):
    shoal.datasets.patients(60).write_csv(tmp_path / "people.csv")
    arguments = [
        "-k", "5", "--quasi", "age,income", "--unnamed", "other", "--option", "bits=6", "--quiet", "-o",
        str(tmp_path / "safe.csv"),
    ]  # fmt: skip
    run(installed, "-m", "shoal", "protect", str(tmp_path / "people.csv"), "--method", "example-hilbert", *arguments)
    assert shoal.verify(tmp_path / "safe.csv", 5, quasi=["age", "income"], unnamed="other")
    manifest = json.loads((tmp_path / "safe.manifest.json").read_text(encoding="utf-8"))
    assert "example-hilbert" in json.dumps(manifest)


@pytest.mark.usefixtures("registry")
def test_a_notebook_cell_may_run_twice():
    points = np.arange(12.0)[:, None]
    for _ in range(2):
        exec(CELL.format(name="blocks"), {"__name__": "__main__"})
    assert shoal.group(points, k=4, method="notebook-blocks").tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert not all_methods()["notebook-blocks"].built_in


@pytest.mark.usefixtures("registry")
def test_a_name_that_another_function_has_is_refused():
    exec(CELL.format(name="blocks"), {"__name__": "__main__"})
    other = CELL.replace("def {name}", "def other").format(name="blocks")
    with pytest.raises(ParameterError, match='"notebook-blocks" belongs to the method __main__:blocks'):
        exec(other, {"__name__": "__main__"})
    with pytest.raises(ParameterError, match='the name "mdav" belongs to'):
        exec(CELL.replace("notebook-{name}", "mdav").format(name="blocks"), {"__name__": "__main__"})


def test_a_callable_is_a_method():
    def pairs(points, k, *, first: int = 0):
        return (np.arange(len(points)) + first) // k

    points = np.arange(8.0)[:, None]
    assert shoal.group(points, k=2, method=pairs).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("labels", "text"),
    [(np.zeros(3, np.int64), "3"), (np.zeros(8), "integer"), (np.arange(8) // 3, "k")],
    ids=["too few labels", "floats", "a small group"],
)
def test_wrong_results_of_a_callable_are_refused(labels, text):
    def wrong(points, k):
        return labels

    with pytest.raises(shoal.errors.ShoalError, match=text):
        shoal.group(np.arange(8.0)[:, None], k=3, method=wrong)
