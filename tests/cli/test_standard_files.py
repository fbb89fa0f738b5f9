"""``-`` as a file: tables from standard input and to standard output, nothing printed before the recount."""

import io
import json
import sys
from types import SimpleNamespace
from unittest import mock

import polars as pl
import pyarrow as pa
import pytest

from shoal.cli.application import main
from shoal.errors import GroupTooSmall
from shoal.flow import recount_file

PEOPLE = pl.DataFrame({"age": [30, 31, 40, 42], "sex": ["f", "f", "m", "m"]})
PROTECT = ["-k", 2, "--quasi", "age,sex", "--method", "mdav"]


def run(*arguments, given=b""):
    """Run the command line in this process, with bytes as standard input."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    standard = io.TextIOWrapper(io.BytesIO(given))
    changes = {"argv": ["shoal", *map(str, arguments)], "stdin": standard, "stdout": out, "stderr": err}
    code = 0
    with mock.patch.multiple(sys, **changes):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        out.flush()
    return SimpleNamespace(returncode=code or 0, stdout=out.buffer.getvalue(), stderr=err.getvalue())


@pytest.fixture
def private(tmp_path, monkeypatch):
    """The directory of temporary files, which has to be empty afterwards."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def parquet_bytes(frame):
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def test_a_table_goes_through_a_pipe(private):
    result = run("protect", "-", "--format", "csv", *PROTECT, "-o", "-", given=PEOPLE.write_csv().encode())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == b"age,sex\n30,f\n30,f\n41,m\n41,m\n"
    assert run("verify", "-", "-k", 2, "--quasi", "age,sex", "--format", ".csv", given=result.stdout).returncode == 0


def test_other_formats_go_through_a_pipe(private):
    result = run("protect", "-", "--format", "parquet", *PROTECT, "-o", "-", given=parquet_bytes(PEOPLE))
    assert result.returncode == 0, result.stderr
    assert pl.read_parquet(io.BytesIO(result.stdout))["sex"].to_list() == PEOPLE["sex"].to_list()
    packed = pa.Codec("zstd").compress(PEOPLE.write_csv().encode(), asbytes=True)
    assert run("verify", "-", "-k", 2, "--quasi", "sex", "--other", "age", "--format", "csv.zst",
               given=packed).returncode == 0  # fmt: skip
    assert "[columns.age]" in run("schema", "-", "--format", "csv", given=PEOPLE.write_csv().encode()).stdout.decode()


def test_files_that_are_named_are_written(tmp_path):
    table = PEOPLE.write_csv().encode()
    files = ["--manifest", tmp_path / "m.json", "--holder-record", tmp_path / "h.parquet"]
    result = run("protect", "-", "--format", "csv", *PROTECT, *files, "-o", "-", given=table)
    assert result.returncode == 0, result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"m.json", "h.parquet"}
    import hashlib

    assert (
        json.loads((tmp_path / "m.json").read_text())["output"]["sha256"] == hashlib.sha256(result.stdout).hexdigest()
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["verify", "-", "-k", 2, "--quasi", "age"], "standard input has no extension; state its format"),
        (
            ["verify", "-", "-k", 2, "--quasi", "age", "--format", "foo"],
            "--format foo is unknown; write the extension",
        ),
        (["evaluate", "-", "-", "--quasi", "age", "--format", "csv"], "standard input is one table"),
        (["protect", "-", "--format", "csv", *PROTECT, "--json", "-o", "-"], "--json prints to standard output"),
        (["protect", "-", "--format", "sas7bdat", *PROTECT, "-o", "-"], "can only be read"),
    ],
)
def test_what_is_not_possible_is_said(private, words, text):
    result = run(*words, given=PEOPLE.write_csv().encode())
    assert result.returncode == 2
    assert text in result.stderr
    assert result.stdout == b""


def test_nothing_is_printed_if_the_recount_fails(private, monkeypatch):
    """The wrong version prints while it writes."""

    def violated(*_):
        raise GroupTooSmall("as written, 1 of 4 records are in classes of fewer than k=2")

    monkeypatch.setattr(recount_file, "require_k", violated)
    result = run("protect", "-", "--format", "csv", *PROTECT, "-o", "-", given=PEOPLE.write_csv().encode())
    assert (result.returncode, result.stdout) == (1, b"")
