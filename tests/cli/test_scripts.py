"""The command line in scripts: errors as JSON, the log, completion, and errors in the words of the place."""

import json
import os
import re
import stat
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace
from unittest import mock

import polars as pl
import pytest

import shoal
from shoal.cli.application import main
from shoal.errors import ShoalError, in_words_of

PEOPLE = pl.DataFrame({
    "name": [f"planted{i}" for i in range(12)],
    "age": [30, 31, 32, 33, 34, 35, 60, 61, 62, 63, 64, 65],
    "sex": ["f", "m"] * 6,
})  # fmt: skip
ROLES = ["--quasi", "age,sex", "--identifiers", "name"]


def run(*arguments):
    out, err = StringIO(), StringIO()
    code = 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return SimpleNamespace(code=code, out=out.getvalue(), err=err.getvalue())


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    return "people.csv"


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (["verify", "people.csv", "-k", "2", "--quasi", "height"], "UnknownColumn", 2),
        (["protect", "people.csv", "-k", "5", "--quasi", "age", "-o", "safe.csv"], "SchemaError", 2),
        (["protect", "people.csv", "-k", "3", *ROLES, "-o", "safe.csv", "--l", "9"], "SchemaError", 2),
        (["protect", "people.csv", "-k", "3", *ROLES, "-o", "safe.csv", "--effrot", "best"], "ParameterError", 2),
    ],
)
def test_errors_are_json_too(people, words, kind, code):
    result = run(*words, "--json")
    found = json.loads(result.out)
    assert found == {
        "json_version": 1,
        "error": {"type": kind, "message": result.err.removeprefix("shoal: ").rstrip("\n"), "exit_code": code},
    }
    assert result.code == code
    assert not run(*words).out


def test_a_violated_requirement_is_exit_code_1_and_json(people):
    result = run("protect", people, "-k", "12", *ROLES, "-o", "safe.csv", "--json")
    assert result.code == 1
    assert json.loads(result.out)["error"]["exit_code"] == 1


def test_the_log_says_what_was_done_and_holds_no_values(people, tmp_path):
    assert run("protect", people, "-k", "3", *ROLES, "-o", "safe.csv", "--log", "run.log", "-q").code == 0
    assert run("verify", people, "-k", "3", "--quasi", "height", "--log", "run.log").code == 2
    text = (tmp_path / "run.log").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (info|warning|error) ", line) for line in lines)
    assert f"shoal {shoal.__version__}: protect begins" in lines[0]
    assert any("written: " in line and line.endswith("safe.csv") for line in lines)
    assert any("protect ends with exit code 0" in line for line in lines)
    assert any('error UnknownColumn: column "height" is not in the table' in line for line in lines)
    assert lines[-1].endswith("verify ends with exit code 2")
    assert "planted" not in text
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "run.log").stat().st_mode) == 0o600


def test_the_log_touches_no_other_file(people, tmp_path):
    before = (tmp_path / people).read_bytes()
    result = run("verify", people, "-k", "2", "--quasi", "sex", "--unnamed", "other", "--log", people)
    assert result.code == 2
    assert "is no log file" in result.err
    assert (tmp_path / people).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["--identifiers", "name,age,sex"], {"identifiers": ["name", "age", "sex"]}),
        (["--quasi", "age"], {"quasi": ["age"]}),
        ([*ROLES, "--l", "2"], {"quasi": ["age", "sex"], "identifiers": ["name"], "l": 2}),
        ([*ROLES, "--of", "units"], {"quasi": ["age", "sex"], "identifiers": ["name"], "of": "units"}),
        ([*ROLES, "--keep-links"], {"quasi": ["age", "sex"], "identifiers": ["name"], "keep_links": True}),
        ([*ROLES, "--max-share", "0.2"], {"quasi": ["age", "sex"], "identifiers": ["name"], "max_share": 0.2}),
        ([*ROLES, "--slots", "time"], {"quasi": ["age", "sex"], "identifiers": ["name"], "slots": "time"}),
        (
            [*ROLES, "--method", "mdav", "--time-limit", "5"],
            {"quasi": ["age", "sex"], "identifiers": ["name"], "method": "mdav", "time_limit": 5},
        ),
    ],
)
def test_hints_are_in_the_words_of_the_place(people, words, call):
    shown = run("protect", people, "-k", "3", "-o", "safe.csv", *words).err
    assert "--" in shown
    assert "Python" not in shown
    assert not re.search(r"\b\w+=(\[|\"| |$)", shown), shown
    with pytest.raises(ShoalError) as problem:
        shoal.protect(PEOPLE, 3, **call)
    assert "--" not in str(problem.value), str(problem.value)
    assert "command line" not in str(problem.value)


def test_both_forms_of_a_hint():
    text = 'name them with a= (command line: --a x,y), or --b z (Python: b="z"), or --c (Python: c={"d": (1, 2)})'
    assert in_words_of(text, "command line") == "name them with --a x,y, or --b z, or --c"
    assert in_words_of(text, "python") == 'name them with a=, or b="z", or c={"d": (1, 2)}'


@pytest.mark.parametrize(
    "text", ["a" * 10**6, "--" + "a" * 10**6, "--a " * 10**5, "a={" * 10**5, "(Python: " + "(" * 10**5]
)
def test_a_hostile_text_takes_no_long_time(text):
    """A pattern without limits took minutes for a long name."""
    for place in ("python", "command line"):
        assert in_words_of(f"{text} (command line: x (Python: y", place)


def test_completion_is_offered():
    assert "--install-completion" in run("--help").out


def test_the_report_names_title_file_digest_and_date(people, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1720000000")
    words = ["-o", "safe.csv", "--report", "full.html", "--public-report", "public.html", "--title", "Stays <2024>"]
    assert run("protect", people, "-k", "3", *ROLES, *words, "-q", "--save", "run.toml").code == 0
    digest = json.loads(run("fingerprint", "safe.csv", "--json").out)["sha256"]
    pages = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("full.html", "public.html")}
    for page in pages.values():
        assert "<h1>Stays &lt;2024&gt;</h1>" in page
        assert digest in page
        assert "safe.csv" in page
        assert "3 July 2024" in page
    assert run("run", "run.toml", "--force", "-q").code == 0
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in pages} == pages


def test_compare_includes_auto(people):
    result = run("compare", people, "-k", "3", *ROLES, "--json")
    assert "auto" in result.out
