"""Kills and errors at every call of the writing phase: afterwards all files are old, or all are new."""

import contextlib
import errno
import os
import stat
import subprocess
import sys
from itertools import count
from pathlib import Path

import polars as pl
import pytest

import shoal
from faults import Died, faulty
from shoal.errors import FileProblem
from shoal.tables import atomic, read_table, write_files
from shoal.tables.atomic import finish_interrupted

NAMES = ["safe.csv", "safe.csv.gz", "safe.csv.zst", "safe.parquet", "safe.feather", "safe.sav", "safe.dta", "safe.xlsx"]
PLACES = {"table": "safe.csv", "manifest": "safe.manifest.json", "report": "other/report.html"}
DEATHS = [("before", "die"), ("after", "die")]
ERRORS = [(when, number) for when in ("before", "after") for number in (errno.ENOSPC, errno.EIO)]


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    """Flushes are counted but not made: only a failure of the whole machine would need them."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def plain_writers(root):
    return {root / name: (lambda path, text=f"new {name}": path.write_text(text * 300) and None)
            for name in PLACES.values()}  # fmt: skip


def prepare(root, existing):
    """Make the directories, and old files where there are some."""
    (root / "other").mkdir(parents=True)
    for name in PLACES.values() if existing else []:
        (root / name).write_text(f"old {name}")
        (root / name).chmod(0o640)


def visible(root):
    """Return the content of all files but hidden ones; a holder's record has a random key, so that it only exists."""
    paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    names = [path for path in paths if not any(part.startswith(".") for part in path.parts)]
    return {str(path): b"" if ".holder." in path.name else (root / path).read_bytes() for path in names}


def hidden(root):
    places = [path for directory in (root, root / "other") if directory.exists() for path in directory.iterdir()]
    return [path for path in places if path.name.startswith(".")]


def check_private(root):
    """All that is left beside the files themselves can be read by its owner only."""
    for path in hidden(root):
        assert stat.S_IMODE(path.lstat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def is_journal_left(root):
    return any(path.name.endswith(".shoal-journal") for path in hidden(root))


def after_death(root, old, new):
    """Check what a dead process left, let the next command recover, and return whether the files are new."""
    check_private(root)
    found = visible(root)
    if found not in (old, new):  # between two renames: the journal must be there
        assert is_journal_left(root)
        assert all(content in (old.get(name), new.get(name)) for name, content in found.items())
    for directory in (root / "other", root):
        finish_interrupted(directory)
    found = visible(root)
    assert found in (old, new)
    assert not is_journal_left(root)
    return found == new


@pytest.fixture
def every(repetitions):
    """At every how many calls a fault is made: each one in the full attack suite."""
    return 90 // repetitions(30, attacks=90)


def outcomes(write, tmp_path, existing, faults, check, every=1):
    """Repeat a write with a fault at the first call, the next, ... until it is complete; returns what happened."""
    reference = tmp_path / "reference"
    prepare(reference, existing)
    old = visible(reference)
    write(reference)
    new = visible(reference)
    assert not hidden(reference)
    found, names = [], []
    for turn, fault in enumerate(faults):
        for number in count(11 * turn % every, every):
            root = tmp_path / f"{fault[0]}-{fault[1]}-{number}"
            prepare(root, existing)
            with faulty(root, number, fault) as calls:
                try:
                    write(root)
                except (Died, FileProblem) as problem:
                    ended = problem
                else:
                    ended = None
            found.append(check(root, old, new, ended))
            write(root)  # the next command works, and leaves nothing behind
            assert visible(root) == new
            assert not hidden(root)
            if len(calls.calls) <= number:
                assert ended is None
                break
            names.append(calls.calls[number])
    assert every > 1 or {"mkdir", "open", "fsync", "replace", "unlink", "chmod"} <= set(names)
    return found


def died(root, old, new, ended):
    assert ended is None or isinstance(ended, Died)
    return after_death(root, old, new)


def failed(root, old, new, ended):
    """After an error all files are old and the message says so, or all are new and there is no error."""
    assert ended is None or isinstance(ended, FileProblem)
    if ended is not None and "restores the old ones" in str(ended):
        return after_death(root, old, new)
    assert visible(root) == (new if ended is None else old)
    if ended is not None:
        assert "nothing was written" in str(ended)
    assert after_death(root, old, new) == (ended is None)  # a journal that could not be removed does no harm
    return ended is None


@pytest.mark.parametrize("existing", [False, True])
def test_a_death_at_every_call_leaves_old_or_new_files(tmp_path, existing, record, every):
    found = outcomes(lambda root: write_files(plain_writers(root)), tmp_path, existing, DEATHS, died, every)
    assert True in found
    assert False in found
    record("deaths at every call", len(found))


@pytest.mark.parametrize("existing", [False, True])
def test_an_error_at_every_call_leaves_old_or_new_files(tmp_path, existing, record, every):
    found = outcomes(lambda root: write_files(plain_writers(root)), tmp_path, existing, ERRORS, failed, every)
    assert True in found
    assert False in found
    record("errors at every call", len(found))


def test_renames_without_a_journal_are_caught(tmp_path, monkeypatch):
    """The wrong version: one rename after the other, undone by the process itself."""

    def switch(stages):
        entries = [stage.entry() for stage in stages]
        try:
            for entry in entries:
                entry.forward()
        except BaseException:
            for entry in entries:
                entry.undo()
            raise

    monkeypatch.setattr(atomic, "_switch", switch)
    with pytest.raises(AssertionError):
        outcomes(lambda root: write_files(plain_writers(root)), tmp_path, True, DEATHS[:1], died)


@pytest.mark.parametrize("existing", [False, True])
def test_real_deaths_of_a_process_at_every_call(tmp_path, existing, record, every):
    """As above, but each death is that of a process; the files are plain, since libraries with threads cannot fork."""
    reference = tmp_path / "reference"
    prepare(reference, existing)
    old = visible(reference)
    write_files(plain_writers(reference))
    new = visible(reference)
    deaths = 0
    for when in ("before", "after"):
        for number in count(len(when) % every, every) if every > 1 else count():
            root = tmp_path / f"{when}-{number}"
            prepare(root, existing)
            child = os.fork()
            if not child:
                with faulty(root, number, (when, "exit")):
                    write_files(plain_writers(root))
                os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            after_death(root, old, new)
            write_files(plain_writers(root))
            assert visible(root) == new
            assert not hidden(root)
            if code == 0:
                break
            assert code == 9
            deaths += 1
    record("killed processes", deaths)


def release_writer(name, places):
    table = pl.DataFrame({"age": [30, 31, 40, 42] * 3, "sex": ["f", "m"] * 6, "diagnosis": ["A", "B", "C"] * 4})
    release = shoal.protect(table, 2, quasi=["age", "sex"], confidential=["diagnosis"], method="mdav")

    def write(root):
        further = {key: root / place for key, place in places.items()}
        release.write(root / name, manifest=root / "safe.manifest.json", overwrite=True, **further)

    return write


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", [*DEATHS, *ERRORS])
def test_a_release_of_every_format_is_old_or_new(tmp_path, name, fault, record, every):
    existing = name in {"safe.csv", "safe.parquet"}
    write = release_writer(name, {"report": "other/report.html"} if name == "safe.csv" else {})
    found = outcomes(write, tmp_path, existing, [fault], died if fault[1] == "die" else failed, every)
    record("faults in writing a release", len(found))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [0, 100, 700, 2_500])
def test_a_limit_of_the_file_size_leaves_the_old_files(tmp_path, name, limit, monkeypatch):
    resource = pytest.importorskip("resource")
    write = release_writer(name, {})
    write(tmp_path)
    sizes = [(tmp_path / file).stat().st_size for file in (name, "safe.manifest.json")]
    for file in (name, "safe.manifest.json"):
        (tmp_path / file).write_text("old")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(FileProblem, match="nothing was written"):
            write(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert limit < max(sizes)
    assert set(visible(tmp_path).values()) <= {b"old", b""}
    assert not hidden(tmp_path)


@pytest.mark.parametrize("megabytes", [150, 300, 700, 1_000, 1_500, 2_100, 2_500])
def test_a_limit_of_the_address_space_is_answered_by_one_sentence(tmp_path, megabytes):
    """Otherwise allocators and threads of libraries abort the process, or try for ever."""
    found = limited_protection(tmp_path, megabytes)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert f"limited to {megabytes / 1000:.1f} GB (ulimit -v)" in found.stderr
    assert "control group" in found.stderr
    assert set(visible(tmp_path)) == {"people.csv"}
    assert not hidden(tmp_path)


def test_a_limit_above_what_the_libraries_reserve_is_no_obstacle(tmp_path):
    found = limited_protection(tmp_path, 3_500)
    assert found.returncode == 0, found.stderr
    assert set(visible(tmp_path)) == {"people.csv", "safe.csv", "safe.manifest.json", "safe.holder.parquet"}


def test_help_needs_no_address_space(tmp_path):
    assert limited_protection(tmp_path, 300, "--help").returncode == 0


def limited_protection(folder, megabytes, *options):
    """Return how a process ends that protects a table under a limit of its address space."""
    resource = pytest.importorskip("resource")
    shoal.datasets.patients(3_000).write_csv(folder / "people.csv")
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes * 10**6}, {resource.RLIM_INFINITY}))"
    command = [
        sys.executable, "-c", f"{limit}\nfrom shoal.cli.application import program\nprogram()", "protect", "people.csv",
        "-k", "3", "--quasi", "age,sex,region,education,income,height,admitted", "--nominal", "education",
        "--confidential", "diagnosis", "--identifiers", "name", "--unnamed", "other", "--method", "mdav",
        "-o", "safe.csv", *options,
    ]  # fmt: skip
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=120, text=True)


def test_a_target_that_another_program_changed_is_not_replaced_by_the_recovery(tmp_path):
    prepare(tmp_path, existing=True)
    names = [str(tmp_path / name) for name in PLACES.values()]
    for number in count():
        with faulty(tmp_path, number, ("before", "die")) as calls, contextlib.suppress(Died):
            write_files(plain_writers(tmp_path))
        if list(tmp_path.glob(".*.shoal-journal")):
            break
        assert number < len(calls.calls)
    Path(names[1]).write_text("edited by hand")
    finish_interrupted(tmp_path)
    assert Path(names[1]).read_text() == "edited by hand"
    assert not is_journal_left(tmp_path)


def test_a_journal_of_another_user_or_in_another_form_is_not_read(tmp_path, monkeypatch):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    for text in ("", "{}", '{"stages": [], "entries": []}', '{"stages": 1}', "\0", '{"stages": [], "journal": "/x"}'):
        (tmp_path / ".x.shoal-journal").write_text(text)
        finish_interrupted(tmp_path)
        (tmp_path / ".x.shoal-journal").unlink(missing_ok=True)
    entry = {"target": str(victim), "new": str(tmp_path / "new"), "old": None, "before": None, "after": None}
    journal = {"back": False, "stages": [str(tmp_path / "stage")], "entries": [entry]}
    (tmp_path / ".y.shoal-journal").write_text(str(journal).replace("'", '"').replace("None", "null")
                                               .replace("False", "false"))  # fmt: skip
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    finish_interrupted(tmp_path)
    assert victim.read_text() == "mine"
    assert (tmp_path / ".y.shoal-journal").exists()


def test_reading_a_file_finishes_an_interrupted_write(tmp_path):
    write = release_writer("safe.csv", {})
    write(tmp_path)
    new = visible(tmp_path)
    for path in (tmp_path / "safe.csv", tmp_path / "safe.manifest.json"):
        path.write_text("old\n1\n")
    for number in count():
        with faulty(tmp_path, number, ("before", "die")), contextlib.suppress(Died):
            write(tmp_path)
        if is_journal_left(tmp_path) or visible(tmp_path) == new:
            break
    assert is_journal_left(tmp_path)
    assert read_table(tmp_path / "safe.csv").names == ["age", "sex", "diagnosis"]
    assert visible(tmp_path) == new
