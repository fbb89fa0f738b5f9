"""What must hold before anything is computed: light imports, documented names, kernels cached where they can be."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal

ROOT = Path(__file__).parent.parent
HEAVY = ("numba", "scipy", "polars", "pandas", "pyarrow", "narwhals", "typer", "rich", "jinja2", "numpy", "sklearn")


def test_importing_shoal_imports_nothing_heavy():
    code = f"import sys, shoal; print([name for name in {HEAVY} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_one_protection_imports_and_calls_few_files(tmp_path):
    """A feature that is not asked for costs no import; see docs/architecture.md for the table."""
    source = ROOT / "benchmarks" / "modules.py"
    specification = importlib.util.spec_from_file_location("modules_of_a_protection", source)
    measure = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(measure)
    measure.write_people(tmp_path / "people.csv")
    found = measure.measured("command", ROOT, tmp_path)
    assert {"shoal.api.protect", "shoal.methods.distance.mdav"} <= set(found["modules"])
    assert {"cli/protect.py", "flow/recount_file.py"} <= set(found["files"])
    assert len(found["modules"]) <= measure.MOST_MODULES, found["modules"]
    assert len(found["files"]) <= measure.MOST_FILES, found["files"]


@pytest.mark.parametrize("name", shoal.__all__)
def test_every_public_name_is_there_and_documented(name):
    found = getattr(shoal, name)
    assert inspect.getdoc(found)
    if inspect.isfunction(found) or inspect.isclass(found):
        assert found.__module__.startswith("shoal.")


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'protekt'"):
        _ = shoal.protekt


def test_compiled_loops_run_where_no_cache_can_be_written(tmp_path):
    package = tmp_path / "shoal"
    code = (
        "import numba.core.caching as caching\n"
        "def nowhere(*args, **kwargs): raise RuntimeError('cannot cache function: no locator available')\n"
        "caching.CacheImpl.__init__ = nowhere\n"
        "import shoal\n"
        "print(shoal.group([[0.0], [1.0], [8.0], [9.0]], k=2, method='mdav').tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout.strip() == "[0, 0, 1, 1]"
    assert not package.exists()


def test_compiled_loops_run_where_the_disk_is_full():
    code = (
        "import numba.core.caching as caching\n"
        "def full(*args, **kwargs): raise OSError(28, 'No space left on device')\n"
        "caching.Cache.load_overload = lambda *args: None\n"
        "caching.Cache.save_overload = full\n"
        "import shoal\n"
        "print(shoal.group([[0.0], [1.0], [8.0], [9.0]], k=2, method='mdav').tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[0, 0, 1, 1]"


def test_the_readme_shows_the_two_commands_that_ci_runs():
    commands = re.findall(
        r"^python3 -m pip install .* && .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) == 2
    assert "shoal demo" in commands[0]
    assert "pytest" in commands[1]


def test_a_parquet_file_is_protected_and_written_without_pandas(tmp_path):
    """Pyarrow imports pandas when it converts NumPy arrays, which costs 0.3 s and 40 MB."""
    pl.DataFrame({"age": range(30), "height": [150 + i / 7 for i in range(30)], "sex": ["f", "m"] * 15}).write_parquet(
        tmp_path / "people.parquet"
    )
    program = (
        "import sys, shoal; release = shoal.protect('people.parquet', 3, quasi=['age', 'height', 'sex'], method='mdav')"
        "; release.write('safe.parquet'); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False).returncode == 0
