"""The command line as a process: what is printed is true, and exit codes do not depend on who reads the output."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from shoal.cli.application import main

FULL = Path("/dev/full")
NAMES = ["[/x]", "[red]y", "ł😀"]
QUASI = ["--quasi", "[/x],[red]y", "--confidential", "ł😀", "--method", "mdav", "--holder-record", "none"]


@pytest.fixture
def people(tmp_path):
    pl.DataFrame({"[/x]": [1, 2, 3, 4, 5, 6] * 5, "[red]y": range(30), "ł😀": ["a", "b"] * 15}).write_csv(
        tmp_path / "people.csv"
    )
    return tmp_path / "people.csv"


def shoal(*arguments, **options):
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run([sys.executable, "-m", "shoal", *map(str, arguments)], check=False, **options)


def protect(people, *further, **options):
    return shoal("protect", people, "-k", 3, *QUASI, "-o", people.parent / "safe.csv", "--force", *further, **options)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_names_are_never_markup(people):
    result = protect(people)
    assert result.returncode == 0, result.stderr
    assert "[/x]" in result.stdout
    assert "[red]y" in result.stdout


def test_names_never_steer_the_terminal(tmp_path, monkeypatch, capsys):
    pl.DataFrame({"a\x1b[2J": [1, 2, 3, 4], "b:smile:": [1, 2, 3, 4]}).write_csv(tmp_path / "people.csv")
    words = ["-k", "2", "--quasi", "a\x1b[2J,b:smile:", "--method", "mdav", "-o", str(tmp_path / "safe.csv")]
    monkeypatch.setattr(sys, "argv", ["shoal", "protect", str(tmp_path / "people.csv"), *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert not stop.value.code
    assert "\x1b" not in printed.out + printed.err
    assert "a\\x1b[2J" in printed.out
    assert "b:smile:" in printed.out


def test_a_closed_pipe_does_not_change_the_exit_code(people):
    for arguments, code in (
        (("protect", people, "-k", 3, *QUASI, "-o", people.parent / "safe.csv"), 0),
        (("verify", people.parent / "safe.csv", "-k", 4, *QUASI[:4]), 1),
    ):
        reading, writing = os.pipe()
        os.close(reading)
        result = shoal(*arguments, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        assert (result.returncode, result.stderr) == (code, "")
    assert names(people.parent) == ["people.csv", "safe.csv", "safe.manifest.json"]


@pytest.mark.skipif(not FULL.exists(), reason="no full device")
def test_a_full_output_is_reported_with_what_was_written(people):
    with FULL.open("w") as full:
        result = protect(people, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert result.returncode == 2
        assert "the result could not be printed (no space left on device); written: " in result.stderr
        assert "safe.csv" in result.stderr
        assert names(people.parent) == ["people.csv", "safe.csv", "safe.manifest.json"]
        result = shoal("methods", capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1)
        assert "nothing was written" in result.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-8"])
def test_a_terminal_without_the_characters_gets_escapes(people, encoding):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    result = protect(people, env=environment, text=False)
    assert result.returncode == 0, result.stderr
    assert b"safe.csv" in result.stdout
    result = protect(people, "--json", env=environment, text=False)
    columns = json.loads(result.stdout.decode(encoding))["schema"]["columns"]
    assert [column["name"] for column in columns] == NAMES
    wrong = shoal("protect", people, "-k", 3, "--quasi", "ł", "-o", people.parent / "x.csv", env=environment)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_closed_standard_files_receive_no_table(people, closed):
    code = f"import os, sys\nfor number in {closed}: os.close(number)\nos.execv(sys.executable, sys.argv[1:])"
    result = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "shoal", "protect", people, "-k", "3", *QUASI, "-o",
         people.parent / "safe.csv"],
        check=False, timeout=120,
    )  # fmt: skip
    assert result.returncode == 0
    assert pl.read_csv(people.parent / "safe.csv").columns == NAMES


def test_the_json_is_that_of_the_written_manifest(people):
    assert protect(people, "--json").stdout == (people.parent / "safe.manifest.json").read_text(encoding="utf-8")


SLOW_WRITER = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores Ctrl-C
from shoal.cli.application import {entry}
from shoal.tables import csv_files
def slow(*arguments, original=csv_files._encoded):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(60)
    return original(*arguments)
csv_files._encoded = slow
sys.argv = ["shoal", *sys.argv[1:]]
{entry}()
"""


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "stopped")]
)
@pytest.mark.parametrize("existing", [False, True])
def test_a_signal_while_writing_leaves_no_temporary_file(people, number, code, word, existing):
    target = people.parent / "safe.csv"
    if existing:
        target.write_text("old")
        target.chmod(0o644)
    arguments = ["protect", str(people), "-k", "3", *QUASI, "-o", str(target), "--force"]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER.format(entry="program"), *arguments], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr.readline() == "writing\n"
    [stage] = people.parent.glob(".*.shoal-tmp")
    assert stat.S_IMODE(stage.stat().st_mode) == 0o700
    assert stat.S_IMODE((stage / "new" / "safe.csv").stat().st_mode) == 0o600
    process.send_signal(number)
    text = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), text) == (code, f"shoal: {word}; nothing was written\n")
    assert names(people.parent) == (["people.csv", "safe.csv"] if existing else ["people.csv"])
    assert not existing or target.read_text() == "old"


def test_a_signal_after_writing_says_what_was_written(people):
    code = (
        "import os, signal, sys\nfrom shoal.cli import terminal\nfrom shoal.cli.application import program\n"
        "terminal.draw_release = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.argv = ['shoal', *sys.argv[1:]]\nprogram()"
    )
    arguments = ["protect", str(people), "-k", "3", *QUASI, "-o", "safe.csv", "--force"]
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=people.parent, check=False, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (143, "shoal: terminated; written: safe.csv, safe.manifest.json\n")


def test_an_error_after_writing_says_what_was_written(people):
    code = (
        "import sys\nfrom shoal.cli import terminal\nfrom shoal.cli.application import program\n"
        "def fail(*_, **__): raise RuntimeError('34')\nterminal.draw_release = fail\n"
        "sys.argv = ['shoal', *sys.argv[1:]]\nprogram()"
    )
    arguments = ["protect", str(people), "-k", "3", *QUASI, "-o", "safe.csv", "--force"]
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=people.parent, check=False, capture_output=True, text=True
    )
    assert result.returncode == 3
    assert "internal error (RuntimeError); written: safe.csv, safe.manifest.json." in result.stderr


def test_a_thread_that_still_runs_does_not_outlive_the_command():
    """A thread of a library that runs while the interpreter is taken down can abort the process."""
    code = (
        "import sys, threading\nfrom shoal.cli.application import program\n"
        "threading.Thread(target=threading.Event().wait).start()\nsys.argv = ['shoal', 'methods', 'none']\nprogram()"
    )
    command = [sys.executable, "-c", code]  # with main() instead of program() the process would never end
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert result.returncode == 2
    assert result.stderr.startswith("shoal: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["protect", "PIPE", "-k", "3", "--quasi", "a", "-o", "safe.csv"],
        ["protect", "people.csv", "-k", "3", "--quasi", "[/x]", "--hierarchy", "[/x]=PIPE", "-o", "safe.csv"],
        ["protect", "people.csv", "-k", "3", "--schema", "PIPE", "-o", "safe.csv"],
        ["protect", "people.csv", "-k", "3", *QUASI, "-o", "PIPE"],
        ["protect", "people.csv", "-k", "3", *QUASI, "-o", "safe.csv", "--manifest", "PIPE"],
        ["dp", "PIPE", "--epsilon", "1", "-k", "3", "--bounds", "a=0..1", "-o", "safe.csv"],
        ["verify", "PIPE", "-k", "3", "--quasi", "a"],
        ["assess", "PIPE", "--quasi", "a"],
        ["evaluate", "people.csv", "PIPE", "--quasi", "[/x]"],
        ["compare", "PIPE", "-k", "3", "--quasi", "a"],
        ["schema", "PIPE"],
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "loop", "long"])
def test_pipes_circles_of_links_and_long_names_are_one_sentence(people, arguments, kind):
    path = people.parent / ("n" * 300 + ".csv" if kind == "long" else "strange.csv")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(people.parent / "other.csv")
        (people.parent / "other.csv").symlink_to(path)
    before = names(people.parent)
    result = shoal(*(text.replace("PIPE", str(path)) for text in arguments), cwd=people.parent)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("shoal: ")
    assert result.stderr.count("\n") == 1
    assert names(people.parent) == before
