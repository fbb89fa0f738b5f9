"""Files are written, replaced and recovered under the rules of Windows, as far as another system can impose them."""

import os
import shutil

import polars as pl
import pytest

import shoal
from faults import Died, faulty
from shoal.errors import FileProblem
from shoal.studio.session_folder import SessionFolder, choose_session
from shoal.tables import atomic, write_files
from shoal.tables.private_folders import place_folder, private_folder
from windows import Windows

NAMES = ("a.csv", "b.json")


@pytest.fixture
def windows(monkeypatch):
    return Windows(monkeypatch)


def write(text):
    return lambda path: path.write_text(text) and None


def write_all(folder, text):
    write_files({folder / name: write(text) for name in NAMES})


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_release_is_written_and_replaced_with_nothing_left(windows, tmp_path):
    people = pl.DataFrame({"age": [30, 32, 60, 62], "name": ["Ann", "Bob", "Cyd", "Dan"]})
    release = shoal.protect(people, k=2, quasi=["age"], identifiers=["name"], method="mdav")
    for _ in range(2):
        release.write(tmp_path / "safe.csv", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["safe.csv", "safe.holder.parquet", "safe.manifest.json"]
    assert not windows.locked


@pytest.mark.parametrize("existing", [False, True])
def test_files_of_a_dead_process_are_all_old_or_all_new(windows, tmp_path, existing):
    """A death at every call that concerns the files; the next command finishes or undoes, and removes what is left."""
    old = dict.fromkeys(NAMES, "old") if existing else {}
    outcomes = set()
    for number in range(1_000):
        folder = tmp_path / str(number)
        folder.mkdir()
        if existing:
            write_all(folder, "old")
        with faulty(folder, number, ("before", "die")) as faults:
            try:
                write_all(folder, "new")
                finished = True
            except Died:
                finished = False
        faults.bury()
        windows.end()
        atomic.finish_interrupted(folder, leftovers=True)
        found = content(folder)
        assert found in (old, dict.fromkeys(NAMES, "new")), number
        outcomes.add(found == old)
        shutil.rmtree(folder)
        if finished:
            break
    assert finished
    assert outcomes == {True, False}


def test_the_directory_of_a_running_process_is_left_alone(windows, tmp_path):
    with private_folder(tmp_path / "safe") as folder:
        atomic.finish_interrupted(tmp_path, leftovers=True)
        assert folder.exists()
    assert not list(tmp_path.iterdir())


def test_a_folder_appears_complete_also_in_place_of_an_empty_one(windows, tmp_path):
    (tmp_path / "safe").mkdir()
    with private_folder(tmp_path / "safe") as folder:
        (folder / "done").mkdir()
        (folder / "done" / "part.txt").write_text("all")
        place_folder(folder / "done", tmp_path / "safe")
    assert content(tmp_path / "safe") == {"part.txt": "all"}
    assert [path.name for path in tmp_path.iterdir()] == ["safe"]


def test_one_studio_uses_a_session_and_its_end_removes_it(windows, tmp_path):
    session = choose_session(tmp_path, new=False)
    with pytest.raises(FileProblem, match="another studio uses"):
        SessionFolder(session.path)
    session.end()
    assert not session.path.exists()


def test_the_imposed_rules_refuse_what_windows_refuses(windows, tmp_path):
    """The simulation itself: each rule can fail."""
    path = tmp_path / "open.txt"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    with pytest.raises(PermissionError):
        path.unlink()
    with pytest.raises(PermissionError):
        path.replace(tmp_path / "other.txt")
    with pytest.raises(PermissionError):
        os.open(tmp_path, os.O_RDONLY)
    os.close(handle)
    with path.open("rb") as file, pytest.raises(OSError, match="Bad file descriptor"):
        os.fsync(file.fileno())
    path.unlink()
