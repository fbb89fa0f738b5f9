"""True and false of a text file become truth values where the released format has them, and stay as written in text."""

import polars as pl
import pytest

import shoal

ROWS = [
    (30 + row, "true" if row % 2 else "false", "TRUE" if row % 3 else "FALSE", "true" if row % 2 else "False", "true")
    for row in range(12)
]
TEXT = "age,flag,loud,mixed,one\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)


@pytest.fixture
def release(tmp_path):
    (tmp_path / "people.csv").write_text(TEXT, encoding="utf-8")
    return shoal.protect(tmp_path / "people.csv", 3, quasi=["age"], unnamed="other", method="mdav")


@pytest.mark.parametrize(("extension", "read"), [(".parquet", pl.read_parquet), (".arrow", pl.read_ipc)])
def test_truth_values_have_their_type(release, tmp_path, extension, read):
    release.write(tmp_path / f"safe{extension}")
    found = read(tmp_path / f"safe{extension}")
    assert found["flag"].dtype == pl.Boolean
    assert found["flag"].to_list() == [bool(row % 2) for row in range(12)]
    assert found["loud"].dtype == pl.Boolean
    assert found["mixed"].dtype == pl.String  # two spellings are texts
    assert found["one"].dtype == pl.String  # one value is not enough to tell


def test_texts_stay_as_they_are_written(release, tmp_path):
    release.write(tmp_path / "safe.csv")
    lines = (tmp_path / "safe.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1:] for line in lines] == [line.split(",")[1:] for line in TEXT.splitlines()]
