"""Every command and every Python example of README and docs runs, in a directory with the files that they name.

A page is one run: its blocks are executed from top to bottom in an empty directory, as a reader would do. ``shoal``
runs in this process, other tools in a shell where they are installed. Commands that install something or take long are
not run; the test checks that what they name exists. The scripts of ``examples/`` run in processes of their own.
"""

import doctest
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.application import main
from shoal.methods.registry import _methods

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)
NOT_HERE = {
    "api.md": "its examples are those of the docstrings, which run as doctests",
}
MARKS = re.compile(
    r"edit \S+|file \S+|exit code \d|output|not run: .{10,}|demo output: written by docs/demo_output.py"
    r"|shown: a diagram|shown: a usage line"
)
"""What may stand in a comment on the line before a block: what a test does with it, or why none runs it."""
LONG = {"nominal.md"}  # integer programs with a minute each
TOOLS = {"sha256sum", "openssl", "ssh-keygen"}
METHOD_PAGES = "methods/reference"
QUICK = {"auto", "mdav", "ona-star", "optimal-1d", "mondrian", "mona-plus", "safe", "brute-force"}


def blocks(page):
    """Return what is run of a page: Python, commands with their exit code, and files that are written or edited."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, text, (action, _, name) = found["kind"], found["text"], (found["mark"] or "").partition(" ")
        if action in {"edit", "file"}:
            yield action, (Path(name), text)
        elif kind == "python":
            yield kind, text
        elif is_commands(kind, text):
            yield "sh", (text, int(name.removeprefix("code ")) if action == "exit" else 0, shown_after(page, found))


def shown_after(page, block):
    """Return the output that a page shows below a block, or None."""
    mark = r"<!-- (?:output|demo output: written by docs/demo_output\.py) -->"
    after = page.read_text(encoding="utf-8")[block.end() :].lstrip("`\n")
    found = re.match(rf"{mark}\n```text\n(.*?)\n```", after, flags=re.DOTALL)
    return found and found[1]


def without_times(text):
    """Return the lines of an output; the seconds of a comparison, its last number, differ from run to run."""
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return [re.sub(r"\s+\d+\.\d\d\s*(efficient)?$", r" \1", line) for line in lines]


def is_commands(kind, text):
    """Return whether a block shows commands; one without a kind counts if it begins with one."""
    return kind == "sh" or (kind == "" and re.match(r"(shoal|python3?|make) ", text) is not None)


def unmarked(page):
    """Return the first lines of the blocks of a page that no test runs and that do not say why."""
    lines, text = [], page.read_text(encoding="utf-8")
    inside = [found.span() for found in BLOCK.finditer(text)]
    for found in BLOCK.finditer(text):
        runs = found["kind"] == "python" or is_commands(found["kind"], found["text"])
        if not (runs or MARKS.fullmatch(found["mark"] or "")):
            lines.append(found["text"].partition("\n")[0])
    indented = re.finditer(r"^ +```.*$", text, flags=re.MULTILINE)  # in a list: no block of this test
    return lines + [found[0] for found in indented if not any(one <= found.start() < end for one, end in inside)]


def is_slow(page):
    """Pages of single methods are many and similar: some always run, the others with the slow tests, like long ones."""
    return page.name in LONG or (METHOD_PAGES in page.as_posix() and page.stem not in QUICK)


def page_cases():
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        if page.name not in NOT_HERE and any(blocks(page)):
            yield pytest.param(page, id=name, marks=[pytest.mark.slow] if is_slow(page) else [])


@pytest.fixture
def registry():
    """The registry of methods, restored after pages that register one."""
    shoal.all_methods()
    before = {name: dict(variants) for name, variants in _methods.items()}
    yield
    _methods.clear()
    _methods.update(before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with the files that pages name."""
    monkeypatch.chdir(tmp_path)
    people = shoal.datasets.patients(200)
    jobs = np.array(["baker", "painter", "dentist", "surgeon"])[np.arange(200) % 4]
    people = people.with_columns(pl.Series("job", jobs), pl.Series("citizenship", np.where(jobs == "baker", "A", "B")))
    people = people.with_columns(pl.col("job").alias("occupation"))
    people.write_csv("people.csv")
    stays = people.select("age", pl.col("stay_days").alias("days")).with_row_index("patient_id")
    pl.concat([stays, stays.head(120), stays.head(40)]).write_csv("stays.csv")
    Path("jobs.csv").write_text("baker;craft;*\npainter;craft;*\ndentist;medicine;*\nsurgeon;medicine;*\n")
    return people


def load(name):
    """Return a script of docs as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names_for(people):
    """Return the names that Python on the pages uses without defining them."""
    codes = np.random.default_rng(0).integers(0, 3, size=(40, 3))
    known = {"__name__": "page", "shoal": shoal, "np": np, "people": people, "codes": codes}
    safe = shoal.protect(
        people, k=3, quasi=["age", "income", "region"], confidential=["diagnosis"], unnamed="other", method="mdav"
    )
    safe.write("safe.csv")
    return known | {"original": people, "released": safe.data.select(safe.data.columns), "release": safe}


@pytest.mark.parametrize("page", list(page_cases()))
@pytest.mark.usefixtures("registry")
def test_what_the_page_prints_runs(page, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")  # as for the outputs that pages show
    names = names_for(folder)
    outputs = load("outputs")
    for kind, block in blocks(page):
        if kind == "sh":
            commands, code, shown = block
            printed = run_commands(commands, code)
            if shown:
                script = "outputs" if page in outputs.PAGES else "demo_output"
                assert without_times(printed) == without_times(shown), f"run: python docs/{script}.py"
        elif kind in {"edit", "file"}:
            file, text = block
            new = outputs.edited(file.read_text(encoding="utf-8"), text) if kind == "edit" else text
            file.write_text(new, encoding="utf-8")
        elif ">>>" in (text := block):
            found = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            assert runner.run(found, clear_globs=False).failed == 0
            names |= found.globs
        else:
            exec(compile(text, page.name, "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in NOT_HERE], ids=lambda page: page.name)
def test_every_block_is_run_or_says_why_not(page):
    assert unmarked(page) == []


def test_a_block_that_is_not_run_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```text\nshoal studio\n```\n\n<!-- output -->\n```text\nk=5\n```\n\n- one\n\n    ```sh\n    shoal\n    ```\n"
    )
    assert unmarked(page) == ["shoal studio", "    ```sh", "    ```"]


def test_an_output_that_is_no_longer_printed_is_found(tmp_path):
    """The wrong version: a loss that was printed once. Seconds may differ."""
    page = tmp_path / "page.md"
    page.write_text("```sh\nshoal demo\n```\n\n<!-- output -->\n```text\nloss 14.07 %\nmdav 0.13\n```\n<!-- end -->\n")
    ((_, (_, _, shown)),) = blocks(page)
    assert without_times("loss 14.07 %\nmdav  2.99\n\n") == without_times(shown)
    assert without_times("loss 15.89 %\nmdav  2.99\n\n") != without_times(shown)


def run_commands(text, code=0):
    """Run the commands of a block; returns what those of Shoal print."""
    printed = ""
    for line in text.replace("\\\n", " ").splitlines():
        command = line.strip()
        words = shlex.split(command, comments=True)
        if not words:
            continue
        if words[:2] == ["python3", "-m"] and "install" in words:
            check_installation(command)
        elif words[0] == "shoal":
            printed += run_shoal(words[1:], code)
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), command
        elif words[0] in {"python", "python3"}:
            assert (ROOT / words[1]).exists(), command
        elif words[0] in TOOLS and shutil.which(words[0]):
            run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
            assert run.returncode == 0, (command, run.stderr)
        else:
            assert words[0] in TOOLS, f"this test cannot run: {command}"
    return printed


def check_installation(command):
    """Check that the extras exist; continuous integration runs what follows &&."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"\[([\w,-]+)\]", command):
        assert set(named.split(",")) <= set(extras), command


def run_shoal(words, expected=0):
    """Run a command and return what it prints; files of an example before it are replaced: pages print alternatives."""
    words = [*words, "--force"] if words[0] in {"protect", "dp", "compare", "schema", "sign"} else words
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    assert code == expected, (words, err.getvalue())
    return out.getvalue()


def test_installations_named_in_the_text_are_possible():
    for page in PAGES:
        for command in re.findall(r"`(python3 -m pip install [^`]+)`", page.read_text(encoding="utf-8")):
            check_installation(command)


def test_scripts_named_in_the_text_are_there():
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        for script in re.findall(r"`(?:python3? )?((?:docs|benchmarks|examples)/\w+\.py)", page.read_text("utf-8")):
            assert (ROOT / script).exists(), (page.name, script)


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            script, id=script.stem, marks=[pytest.mark.spark] if "pyspark" in script.read_text("utf-8") else []
        )
        for script in EXAMPLES
    ],
)
def test_the_example_runs(script, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error::UserWarning"}
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_every_example_is_listed():
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert {f"examples/{script.name}" for script in (ROOT / "examples").glob("*.py")} == set(
        re.findall(r"`(examples/\w+\.py)`", page)
    )
