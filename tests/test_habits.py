"""What keeps the repository in order: declared dependencies, pinned tools, named sets of tests, two commands."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORT_NAMES = {"scikit-learn": "sklearn", "resvg-py": "resvg_py"}


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def script(name):
    spec = spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def import_names(requirements):
    names = {re.match(r"[A-Za-z0-9-]+", requirement)[0] for requirement in requirements}
    return {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}


def test_every_library_that_the_package_imports_is_declared():
    imported = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
    declared = import_names([*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)])
    assert imported - set(sys.stdlib_module_names) - {"shoal"} <= declared


def test_the_tests_need_nothing_that_their_extra_lacks():
    """Extras for users are part of the extra for tests, so that no test is skipped for want of a library."""
    users = {"pandas", "stats-files", "excel", "sql", "dp", "sklearn", "matching", "png", "studio"}
    needed = import_names(line for name in users for line in EXTRAS[name])
    assert needed <= import_names([*EXTRAS["test"], *PROJECT["dependencies"]])


def test_errors_name_extras_that_exist():
    named = set()
    for file in (ROOT / "src").rglob("*.py"):
        named.update(re.findall(r"(?:shoal|\.)\[([a-z-]+)\]", file.read_text(encoding="utf-8")))
    assert {"dp", "stats-files"} <= named <= set(EXTRAS)


def test_tools_of_the_checks_are_pinned():
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+", line) for line in EXTRAS["quality"])
    assert set(re.findall(r"language: (\w+)", text(".pre-commit-config.yaml"))) == {"system", "pygrep"}


def test_the_readme_shows_the_two_commands_that_continuous_integration_runs():
    commands = re.findall(r"^python3 -m pip install .* && .*$", text("README.md"), re.MULTILINE)
    assert commands == [
        "python3 -m pip install . && shoal demo",
        "python3 -m pip install '.[test]' && python3 -m pytest -n auto",
    ]
    assert "grep -E '^python3 -m pip install .* && ' README.md" in text(".ci/run")


@pytest.mark.parametrize("name", [".ci/run", ".ci/release"])
def test_scripts_of_continuous_integration_are_valid(name):
    assert subprocess.run(["bash", "-n", str(ROOT / name)], check=False).returncode == 0


def test_versions_agree():
    assert f"\nversion: {PROJECT['version']}\n" in text("CITATION.cff")


def test_every_target_of_the_makefile_is_described():
    targets = re.findall(r"^([a-z-]+):(.*)$", text("Makefile"), re.MULTILINE)
    assert all("## " in rest for _, rest in targets)
    assert set(re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)[1].split()) == {
        name for name, _ in targets
    }


def test_documented_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    named = re.findall(r"`make ([a-z-]+)", text("CONTRIBUTING.md") + text("pyproject.toml"))
    assert {"test", "test-long", "release"} <= set(named) <= targets


def test_long_tests_are_in_files_that_exist():
    lines = [line.partition("#")[0].strip() for line in text("tests/long_tests.txt").splitlines()]
    files = {re.sub(r"^1 of \d+: ", "", line).partition("::")[0] for line in lines if line}
    assert files
    assert all((ROOT / "tests" / file).exists() for file in files)


SUBJECT = re.compile(
    re.search(r"commit-subject.*?entry: '(.*?)'", text(".pre-commit-config.yaml"), re.DOTALL)[1], re.MULTILINE
)


@pytest.mark.parametrize("subject", ["tables: read Parquet in parts", "ci, docs: build pages\n\nThe body says why."])
def test_subjects_of_commits_that_are_accepted(subject):
    assert SUBJECT.search(subject)


@pytest.mark.parametrize("subject", ["Read Parquet in parts", "Tables: read", "tables: " + "x" * 65, "tables:\n\nread"])
def test_subjects_of_commits_that_are_refused(subject):
    assert not SUBJECT.search(subject)


def test_repeated_runs_are_counted_as_pairs_of_places(tmp_path):
    repetition = script("repetition")
    body = "\n".join(f"x{i} = {i}" for i in range(7))
    sources = {"a": body, "b": f"y = 0\n\n{body}\nz = 0", "c": body, "d": "x0 = 0\nx1 = 1"}
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    files = {name: repetition.read_lines(tmp_path / f"{name}.py") for name in sources}
    windows = repetition.places_by_window(files, 6)
    runs = repetition.pairs_of_runs(files, windows, 6)
    assert sorted(run[0] for run in runs) == [7, 7, 7]
    assert list(repetition.copies(files, windows, 6)) == [("b", 1, 8), ("c", 0, 7)]
    assert {repetition.kind_of(files[one][i : i + n]) for n, one, i, _, _ in runs} == {"code"}
