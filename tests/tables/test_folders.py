"""Folders, patterns and Hive partitions of Parquet files as one table."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.errors import DataError, FileProblem, ParameterError, SchemaError
from shoal.tables import read_head, read_table


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "people"
    write(root / "year=2024" / "b.parquet", age=[40, 42], sex=["m", "m"])
    write(root / "year=2024" / "a.parquet", age=[50, 51], sex=["f", "f"])
    write(root / "year=2023" / "z.parquet", age=[30, 31], sex=["f", "m"])
    (root / "_SUCCESS").touch()
    return root


def test_files_are_read_in_the_order_of_their_names(folder):
    table = read_table(folder)
    assert table.names == ["age", "sex", "year"]
    assert table.native["age"].to_pylist() == [30, 31, 50, 51, 40, 42]
    assert table.native["year"].to_pylist() == [2023, 2023, 2024, 2024, 2024, 2024]
    assert pl.read_parquet(folder / "**/*.parquet", hive_partitioning=True)["age"].to_list() == [30, 31, 50, 51, 40, 42]
    assert read_head(folder, rows=3).n_rows >= 3
    assert read_head(folder, rows=1).native["age"].to_pylist() == [30]


@pytest.mark.parametrize(
    ("pattern", "ages", "columns"),
    [
        ("year=2024/*.parquet", [50, 51, 40, 42], ["age", "sex"]),
        ("year=*/*.parquet", [30, 31, 50, 51, 40, 42], ["age", "sex", "year"]),
        ("**/[az].parquet", [30, 31, 50, 51], ["age", "sex", "year"]),
    ],
)
def test_a_pattern_is_a_table(folder, pattern, ages, columns):
    table = read_table(folder / pattern)
    assert (table.native["age"].to_pylist(), table.names) == (ages, columns)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["01", "02"], ["01", "02"]),
        (["2024-01-01", "2024-01-02"], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
        (["a%20b", "c"], ["a b", "c"]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], [1, None]),
    ],
)
def test_partitions_have_the_type_that_their_values_suggest(tmp_path, values, expected):
    for value in values:
        write(tmp_path / f"part={value}" / "a.parquet", age=[1])
    assert sorted(read_table(tmp_path).native["part"].to_pylist(), key=str) == sorted(expected, key=str)


def test_types_that_lose_nothing_are_brought_together(tmp_path):
    write(tmp_path / "a.parquet", age=pa.array([1], pa.int32()), x=pa.nulls(1))
    write(tmp_path / "b.parquet", x=["text"], age=pa.array([2**40], pa.int64()))
    table = read_table(tmp_path).native
    assert table.to_pydict() == {"age": [1, 2**40], "x": [None, "text"]}


def test_what_is_no_table_is_refused(folder, tmp_path):
    write(tmp_path / "columns" / "a.parquet", age=[1])
    write(tmp_path / "columns" / "b.parquet", agee=[1])
    write(tmp_path / "types" / "a.parquet", age=[1])
    write(tmp_path / "types" / "b.parquet", age=["x"])
    write(tmp_path / "mixed" / "a.parquet", age=[1])
    (tmp_path / "mixed" / "b.csv").write_text("age\n1\n")
    write(tmp_path / "keys" / "a=1" / "a.parquet", age=[1])
    write(tmp_path / "keys" / "b.parquet", age=[1])
    write(tmp_path / "twice" / "age=1" / "a.parquet", age=[1])
    write(tmp_path / "none" / "a.parquet", age=pa.array([], pa.int64()))
    (tmp_path / "empty").mkdir()
    for place, error, text in [
        ("columns", SchemaError, 'column "age" is not in all files, a.parquet and b.parquet differ'),
        ("types", SchemaError, 'column "age" has different types in different files'),
        ("mixed", FileProblem, r"b.csv is no Parquet file; move it, or name a pattern"),
        ("keys", SchemaError, "some files are in other partitions"),
        ("twice", SchemaError, '"age" is a column of the files and a partition'),
        ("none", DataError, "has columns but no records"),
        ("empty", FileProblem, "is a directory; name a file in it, or a directory of Parquet files"),
        ("*.parquet", FileProblem, "matches no file; name a pattern of Parquet files"),
    ]:
        with pytest.raises(error, match=text):
            read_table(tmp_path / place)
    with pytest.raises(ParameterError, match="the option delimiter is for text files, this is a folder"):
        read_table(folder, delimiter=";")


def test_a_folder_is_protected_and_never_written_into(folder, tmp_path):
    release = shoal.protect(folder, 2, quasi=["age", "sex"], other=["year"], method="mdav")
    one = shoal.protect(read_table(folder).native, 2, quasi=["age", "sex"], other=["year"], method="mdav")
    assert release.data.equals(one.data)
    with pytest.raises(FileProblem, match="the output is inside the input folder"):
        release.write(folder / "safe.parquet")
    with pytest.raises(FileProblem, match="the output is the input"):
        shoal.protect(folder / "*/a.parquet", 2, quasi=["age", "sex"], unnamed="other", accept_loss=True).write(
            folder / "year=2024" / "a.parquet"
        )
    release.write(tmp_path / "safe.parquet")
    assert pl.read_parquet(tmp_path / "safe.parquet")["year"].to_list() == [2023, 2023, 2024, 2024, 2024, 2024]
