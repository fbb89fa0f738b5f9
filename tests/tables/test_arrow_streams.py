"""Objects with Arrow's stream interface in, and a release as such an object."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import shoal
from shoal.errors import DataError
from shoal.tables import Table

PEOPLE = {"age": [30, 31, 40, 42, 50, 52], "sex": ["f", "f", "m", "m", "f", "m"]}
TABLE = pa.table(PEOPLE)


class Stream:
    """An object of an unknown library."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


class Batch:
    def __arrow_c_array__(self, requested_schema=None):
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


def relation():
    return duckdb.from_arrow(TABLE)


SOURCES = {
    "record batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(2),
    "data set": lambda: pa.dataset.dataset(TABLE),
    "scanner": lambda: pa.dataset.dataset(TABLE).scanner(),
    "DuckDB relation": relation,
    "DuckDB result": lambda: relation().filter("age > 0"),
    "lazy frame": lambda: pl.LazyFrame(PEOPLE),
    "unknown library": Stream,
    "unknown batch": Batch,
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_stream_gives_the_release_of_a_table(name):
    release = shoal.protect(SOURCES[name](), 2, quasi=["age", "sex"], method="mdav")
    same = shoal.protect(TABLE, 2, quasi=["age", "sex"], method="mdav")
    assert pl.DataFrame(release).equals(pl.DataFrame(same.data))
    assert isinstance(release.data, pl.DataFrame if name == "lazy frame" else pa.Table)
    assert shoal.verify(SOURCES[name](), 2, quasi=["sex"], other=["age"])


def test_a_reader_that_was_read_and_a_stream_of_no_records_are_refused():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("the secret 4711")

    for wrong in (Broken(), pa.chunked_array([[1, 2]])):
        with pytest.raises(DataError, match="cannot be read as an Arrow table") as found:
            Table.from_native(wrong)
        assert "4711" not in str(found.value)


@pytest.mark.parametrize("wrong", [[1, 2], {"age": [1]}, "x", None, 7, pl.Series([1]), pd.Series([1]), Stream])
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(DataError, match="is not a table; pass a pandas or polars DataFrame"):
        Table.from_native(wrong)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_release_is_a_stream_for_every_library(make):
    release = shoal.protect(make(PEOPLE), 2, quasi=["age"], confidential=["sex"], method="mdav")
    assert isinstance(release.data, type(make(PEOPLE)))
    ages = pl.DataFrame(release)["age"].to_list()
    assert pa.table(release)["age"].to_pylist() == ages
    assert pa.table(release).schema.metadata is None
    assert duckdb.from_arrow(pa.RecordBatchReader.from_stream(release)).aggregate("sum(age)").fetchall() == [
        (sum(ages),)
    ]
