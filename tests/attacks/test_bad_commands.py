"""Commands with wrong files, schemas, hierarchies and options."""

import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest import mock

import pytest

from shoal.cli.application import main

from attacks.bad_commands import CASES, CELLS, write_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad_commands")
    write_inputs(folder)
    return folder


def files_in(folder):
    """Return what identifies the files of a folder and their contents."""
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def run(*arguments):
    """Return exit code and output of a command that runs in this process."""
    out, err = StringIO(), StringIO()
    code = 0
    with mock.patch.object(sys, "argv", ["shoal", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def complaints(case, code, out, err):
    """Return what is wrong with the answer to a wrong command."""
    found = []
    if code != case.code:
        found.append(f"the exit code is {code}, not {case.code}")
    if out:
        found.append("something was printed to stdout")
    if len(err.splitlines()) != 1 or not err.startswith("shoal: ") or not err.strip().isprintable():
        found.append("stderr is not one sentence")
    if len(err) > 1_100:
        found.append("the sentence is too long")
    if any(cell in out + err for cell in CELLS):
        found.append("a value of a record is printed")
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case.name))
def test_a_wrong_command_stops_with_one_sentence_and_writes_nothing(case, folder, monkeypatch, record):
    monkeypatch.chdir(folder)
    before = files_in(folder)
    answer = run(*case.arguments)
    assert complaints(case, *answer) == [], answer
    assert files_in(folder) == before
    record("wrong commands, each answered by one sentence and the right exit code", 1)


def test_there_are_many_different_wrong_commands():
    assert len({case.arguments for case in CASES}) >= 550


@pytest.mark.parametrize("case", [case for case in CASES if "\0" not in "".join(case.arguments)][::40], ids=str)
def test_the_answer_is_the_same_in_a_process_of_its_own(case, folder):
    before = files_in(folder)
    command = [sys.executable, "-m", "shoal", *case.arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, encoding="utf-8")
    assert complaints(case, found.returncode, found.stdout, found.stderr) == [], found
    assert files_in(folder) == before


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (3, "", "shoal: internal error (TypeError)\n"),
        (2, "", "Traceback (most recent call last):\n  x\nValueError: y\n"),
        (2, "", f'shoal: could not convert string "{CELLS[-1]}" to float\n'),
        (2, "table\n", "shoal: k must be at least 2\n"),
        (2, "", "shoal: column \x1b[31m is missing\n"),
        (0, "done\n", ""),
    ],
)
def test_a_wrong_answer_is_noticed(code, out, err):
    assert complaints(CASES[0], code, out, err)


def test_a_damaged_file_never_stops_with_a_signal(folder):
    """A sample of damaged files in one process of its own: a crash of a library would end it."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix in {".parquet", ".arrow", ".sav", ".dta"})
    script = (
        "import sys, shoal\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        shoal.load_table(name, quasi=['age'])\n"
        "    except shoal.errors.ShoalError:\n"
        "        pass\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *names], cwd=folder, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
