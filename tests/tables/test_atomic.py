import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import FileProblem
from shoal.tables import Table, read_table, write_files, write_table
from shoal.tables.atomic import claim
from shoal.tables.files import check_output

TABLE = Table.from_native(pl.DataFrame({"a": range(50_000), "b": ["text"] * 50_000}))


def write(text):
    return lambda path: path.write_text(text) and None


def fail_with(error):
    def writer(path):
        path.write_text("half")
        raise error

    return writer


def names(directory):
    return sorted(entry.name for entry in directory.iterdir())


def test_files_appear_and_nothing_else(tmp_path):
    write_files({tmp_path / "a.csv": write("one"), tmp_path / "b.json": write("two")})
    assert names(tmp_path) == ["a.csv", "b.json"]
    assert (tmp_path / "b.json").read_text() == "two"


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyboardInterrupt(), SystemExit(1)])
def test_an_error_in_any_writer_leaves_no_file_and_old_ones_unchanged(tmp_path, error):
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(type(error)):
        write_files({tmp_path / "a.csv": write("new"), tmp_path / "b.csv": fail_with(error)})
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


@pytest.mark.parametrize("before", [True, False])
def test_a_failing_rename_undoes_the_renames_before_it(tmp_path, before):
    if before:
        (tmp_path / "a.csv").write_text("old")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(FileProblem, match="nothing was written"):
        write_files({tmp_path / "a.csv": write("new"), tmp_path / "b.csv": write("new")})
    assert names(tmp_path) == (["a.csv", "b.csv"] if before else ["b.csv"])
    assert not before or (tmp_path / "a.csv").read_text() == "old"


def test_files_are_replaced_and_restored_where_the_file_system_has_no_links(tmp_path, monkeypatch):
    def fail(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", fail)
    (tmp_path / "a.csv").write_text("old")
    write_files({tmp_path / "a.csv": write("new"), tmp_path / "c.csv": write("new")})
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(FileProblem):
        write_files({tmp_path / "a.csv": write("newer"), tmp_path / "b.csv": write("newer")})
    assert names(tmp_path) == ["a.csv", "b.csv", "c.csv"]
    assert (tmp_path / "a.csv").read_text() == "new"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.feather", "a.arrow", "a.sav", "a.dta", "a.xpt"])
def test_a_full_disk_leaves_no_file(tmp_path, name, monkeypatch):
    # A module that is first imported under the limit would leave a truncated .pyc file for later runs.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(FileProblem, match="the disk is full or the file too large for it; nothing was written"):
            write_table(TABLE, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(tmp_path) == []


def test_new_files_follow_the_umask_and_replaced_ones_keep_their_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_table(TABLE, tmp_path / "a.csv")
        (tmp_path / "plain").write_text("x")
    finally:
        os.umask(before)
    mode = stat.S_IMODE((tmp_path / "a.csv").stat().st_mode)
    assert mode == 0o640 == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    (tmp_path / "a.csv").chmod(0o600)
    write_table(TABLE, tmp_path / "a.csv")
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o600


def test_a_link_as_target_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "a.csv")
    write_files({tmp_path / "link.csv": write("new")})
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real" / "a.csv").read_text() == "new"


def test_private_directories_of_dead_processes_are_removed_and_those_of_running_ones_stay(tmp_path):
    left, alive = tmp_path / ".a.csv.0.1-0.shoal-tmp", tmp_path / ".a.csv.0.2-0.shoal-tmp"
    for directory in (left, alive):
        (directory / "new").mkdir(parents=True)
        (directory / "new" / "a.csv").write_text("half")
    lock = claim(alive)
    write_files({tmp_path / "a.csv": write("complete")})
    assert names(tmp_path) == [alive.name, "a.csv"]
    os.close(lock)
    write_files({tmp_path / "a.csv": write("complete")})
    assert names(tmp_path) == ["a.csv"]


def test_temporary_files_are_private(tmp_path):
    modes = []

    def writer(path):
        modes.extend(stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent))
        path.write_text("x")

    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "a.csv").chmod(0o644)
    write_files({tmp_path / "a.csv": writer})
    assert modes == [0o600, 0o700, 0o700]
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["n" * 251 + ".csv", "ä" * 120 + ".csv"])
def test_long_names_can_be_written(tmp_path, name):
    write_files({tmp_path / name: write("x")})
    assert names(tmp_path) == [name]


def test_if_the_process_is_killed_the_file_is_absent_or_complete(tmp_path):
    code = (
        "import sys, polars as pl; from shoal.tables import Table, write_table; "
        "t = Table.from_native(pl.DataFrame({'a': range(200_000)})); print('go', flush=True)\n"
        "while True: write_table(t, sys.argv[1])"
    )
    target = tmp_path / "a.csv"
    for wait in (0.0, 0.004, 0.011, 0.03):
        target.unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert not target.exists() or read_table(target).n_rows == 200_000
    write_table(TABLE, target)
    assert names(tmp_path) == ["a.csv"]


class TestCheckOutput:
    def test_a_writable_output_passes(self, tmp_path):
        check_output(tmp_path / "a.csv", inputs=[tmp_path / "b.csv"])

    @pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
    def test_the_input_is_never_the_output(self, tmp_path, link, monkeypatch):
        source = tmp_path / "a.csv"
        source.write_text("a\n1\n")
        output = tmp_path / ("a.csv" if link is None else "b.csv")
        if link:
            getattr(output, link)(source)
        with pytest.raises(FileProblem, match=r"the output is the input .*; choose another name"):
            check_output(output, inputs=[source])
        monkeypatch.chdir(tmp_path)
        with pytest.raises(FileProblem, match="the output is the input"):
            check_output(output.name, inputs=[tmp_path / "." / "a.csv"])

    def test_write_table_never_replaces_the_file_that_was_read(self, tmp_path):
        (tmp_path / "a.csv").write_text("a\n1\n")
        with pytest.raises(FileProblem, match="the output is the input"):
            write_table(read_table(tmp_path / "a.csv"), tmp_path / "a.csv")

    def test_the_directory_must_exist_and_be_a_directory(self, tmp_path):
        with pytest.raises(FileProblem, match=r"the directory .*none does not exist; create it first"):
            check_output(tmp_path / "none" / "a.csv")
        (tmp_path / "file").write_text("x")
        for path in (tmp_path / "file" / "a.csv", tmp_path / "file" / "deeper" / "a.csv"):
            with pytest.raises(FileProblem, match="is not a directory; choose another output file"):
                check_output(path)
        (tmp_path / "sub.csv").mkdir()
        with pytest.raises(FileProblem, match=r"sub.csv is a directory; name a file in it"):
            check_output(tmp_path / "sub.csv")

    def test_the_directory_must_be_writable(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != tmp_path)
        with pytest.raises(FileProblem, match="is not writable; choose another or change its permissions"):
            check_output(tmp_path / "a.csv")

    def test_a_write_protected_file_is_not_replaced(self, tmp_path, monkeypatch):
        (tmp_path / "a.csv").write_text("x")
        monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) == tmp_path)
        with pytest.raises(FileProblem, match=r"a.csv is write-protected"):
            check_output(tmp_path / "a.csv")

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            (
                "a.xls",
                r'the extension ".xls" is unknown; choose from: .csv, .tsv, .txt \(each also with .gz or .zst\)',
            ),
            ("a", "the name has no extension; choose from: .csv"),
            ("a.parquet.gz", 'the extension ".parquet.gz" is unknown'),
            ("a.sas7bdat", "can only be read; write .xpt, which SAS opens, or .csv, .parquet, .sav, .dta"),
        ],
    )
    def test_the_extension_must_name_a_writable_format(self, tmp_path, name, text):
        with pytest.raises(FileProblem, match=text):
            check_output(tmp_path / name)
        with pytest.raises(FileProblem, match=text):
            write_table(TABLE, tmp_path / name)
        check_output(tmp_path / "report.html", table=False)
