import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from shoal.errors import DataError, FileProblem, ParameterError, SchemaError
from shoal.tables import Table, read_head, read_table, write_table

NAMES = ["a.parquet", "a.arrow", "a.feather", "a.ipc"]


def everything():
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), pa.array(["low", "high"]), ordered=True)
    columns = {
        "int8": pa.array([1, None, 3], pa.int8()),
        "float32": pa.array([1.5, None, float("nan")], pa.float32()),
        "text": pa.array(["x", None, ""]),
        "large": pa.array(["x", None, ""], pa.large_string()),
        "bool": pa.array([True, None, False]),
        "levels": ordered,
        "date": pa.array([dt.date(2020, 1, 1), None, dt.date(1900, 1, 1)]),
        "zone": pa.array([0, None, 10**15], pa.timestamp("ns", "Europe/Berlin")),
        "time": pa.array([1, None, 3], pa.time64("us")),
        "decimal": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(10, 2)),
    }
    fields = [pa.field(name, column.type, metadata={b"label": name.encode()}) for name, column in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields, {b"made by": b"an office"}))


def save(native, path):
    if path.suffix == ".parquet":
        parquet.write_table(native, path)
    else:
        feather.write_feather(native, path)


@pytest.mark.parametrize("name", NAMES)
def test_types_survive_the_round_trip_and_metadata_does_not(tmp_path, name):
    save(everything(), tmp_path / name)
    table = read_table(tmp_path / name)
    fresh = nw.new_series("text", ["same"] * 3, backend="pyarrow")
    write_table(table.with_columns({"text": fresh}), tmp_path / f"out{name[1:]}")
    back = read_table(tmp_path / f"out{name[1:]}").native
    read = table.native
    assert back.schema.remove_metadata().equals(read.schema.remove_metadata())
    assert b"an office" not in (tmp_path / f"out{name[1:]}").read_bytes()
    assert b"label" not in (tmp_path / f"out{name[1:]}").read_bytes()
    assert back.drop_columns(["text", "float32"]).equals(read.drop_columns(["text", "float32"]))
    assert back["text"].to_pylist() == ["same"] * 3
    assert back["levels"].type.ordered
    assert np.isnan(back["float32"][2].as_py())
    assert back["float32"][1].as_py() is None


def test_rows_keep_their_order_over_row_groups(tmp_path):
    parquet.write_table(pa.table({"a": range(300_000)}), tmp_path / "a.parquet", row_group_size=1000)
    write_table(read_table(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    write_table(read_table(tmp_path / "b.parquet"), tmp_path / "c.feather")
    assert read_table(tmp_path / "c.feather").native["a"].to_pylist() == list(range(300_000))


def test_dictionaries_that_differ_between_chunks_are_written_to_arrow(tmp_path):
    parts = [pa.table({"a": pa.array(texts).dictionary_encode()}) for texts in (["x", "y"], ["z", "x"])]
    write_table(Table.from_native(pa.concat_tables(parts)), tmp_path / "a.arrow")
    assert read_table(tmp_path / "a.arrow").native["a"].to_pylist() == ["x", "y", "z", "x"]


def test_an_arrow_stream_can_be_read(tmp_path):
    native = pa.table({"a": [1, 2, 3]})
    with (tmp_path / "a.arrow").open("wb") as file, ipc.new_stream(file, native.schema) as writer:
        writer.write_table(native, max_chunksize=2)
    assert read_table(tmp_path / "a.arrow").native.equals(native)
    assert read_head(tmp_path / "a.arrow", rows=1).native["a"].to_pylist() == [1]


@pytest.mark.parametrize("name", NAMES)
def test_the_head_has_the_first_rows(tmp_path, name):
    save(pa.table({"a": range(5000), "c": pa.array(["x", "y"] * 2500).dictionary_encode()}), tmp_path / name)
    head = read_head(tmp_path / name, rows=10)
    assert head.native["a"].to_pylist() == list(range(10))
    assert read_head(tmp_path / name, rows=9999).n_rows == 5000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [[[1]], [{"x": 1}], pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))])
def test_a_nested_column_is_read_and_written(tmp_path, name, values):
    save(pa.table({"a": [1], "visits": values}), tmp_path / name)
    for read in (read_table, read_head):
        table = read(tmp_path / name)
        write_table(table, tmp_path / f"out-{name}")
        assert read(tmp_path / f"out-{name}").native["visits"].to_pylist() == table.native["visits"].to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_corrupt_files_raise_an_error(tmp_path, name):
    save(pa.table({"a": range(100_000)}), tmp_path / name)
    complete = (tmp_path / name).read_bytes()
    for content in (
        complete[: len(complete) // 2],
        complete[:20],
        b"a,b\n1,2\n",
        complete[:50] + b"\xff" * 500 + complete[550:-9],
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(
            FileProblem, match=r"cannot be read as (Parquet|Arrow): it is corrupt, truncated or in another"
        ):
            read_table(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileProblem, match="is empty"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_tables_without_records_or_with_equal_names_raise_an_error(tmp_path, name):
    save(pa.table({"a": pa.array([], pa.int64())}), tmp_path / name)
    with pytest.raises(DataError, match="has columns but no records"):
        read_table(tmp_path / name)
    with pytest.raises(DataError, match="has columns but no records"):
        read_head(tmp_path / name)
    if name == "a.parquet":
        save(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / name)
        with pytest.raises(SchemaError, match='2 columns are named "a"'):
            read_table(tmp_path / name)


def test_options_of_text_files_raise_an_error(tmp_path):
    save(pa.table({"a": [1]}), tmp_path / "a.parquet")
    for option in ({"delimiter": ";"}, {"decimal": ","}, {"encoding": "utf-8"}, {"na_values": ["NA"]}):
        with pytest.raises(ParameterError, match=f"the option {next(iter(option))} is for text files, this is Parquet"):
            read_table(tmp_path / "a.parquet", **option)
    assert read_table(tmp_path / "a.parquet", text=["a"]).native["a"].to_pylist() == [1]


def test_metadata_of_pandas_restores_no_dropped_column(tmp_path):
    frame = pd.DataFrame({"name": ["Ann"], "age": [34]}, index=pd.RangeIndex(7011, 7012, name="patient"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert pd.read_parquet(tmp_path / "a.parquet").index.tolist() == [7011]
    write_table(read_table(tmp_path / "a.parquet").without(["name"]), tmp_path / "b.parquet")
    assert not parquet.read_schema(tmp_path / "b.parquet").metadata
    assert pd.read_parquet(tmp_path / "b.parquet").equals(pd.DataFrame({"age": [34]}))


def test_a_pandas_index_is_not_written(tmp_path):
    table = Table.from_native(pd.DataFrame({"a": pd.array([1, None], "Int64")}, index=["Ann", "Bob"]))
    write_table(table, tmp_path / "a.parquet")
    assert parquet.read_table(tmp_path / "a.parquet").to_pydict() == {"a": [1, None]}
    assert b"Ann" not in (tmp_path / "a.parquet").read_bytes()


def test_text_becomes_parquet_and_parquet_becomes_text(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;c\n1,5;x;2024-02-29\n;y;\n")
    write_table(read_table(tmp_path / "a.csv"), tmp_path / "b.parquet")
    table = read_table(tmp_path / "b.parquet")
    assert table.frame.to_dict(as_series=False) == {
        "a": [1.5, None],
        "b": ["x", "y"],
        "c": [dt.date(2024, 2, 29), None],
    }
    write_table(table, tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "a,b,c\n1.5,x,2024-02-29\n,y,\n"


@pytest.mark.parametrize("source", ["pyarrow", "pandas", "parquet", "arrow"])
def test_decimals_of_256_bits_are_read_if_their_values_fit(tmp_path, source):
    kind, values = pa.decimal256(50, 2), [Decimal("1.50"), None, Decimal("-2.25")]

    def table(values):
        native = pa.table({"d": pa.array(values, kind)})
        if source == "pandas":
            return Table.from_native(native.to_pandas(types_mapper=pd.ArrowDtype))
        if source == "pyarrow":
            return Table.from_native(native)
        save(native, tmp_path / f"a.{source}")
        return read_table(tmp_path / f"a.{source}")

    read = table(values)
    assert read.column("d").to_polars().to_list() == values
    write_table(read, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "d\n1.50\n\n-2.25\n"
    with pytest.raises(DataError, match=r'column "d" is of type decimal256\(50, 2\) and has numbers of more than 38'):
        table([Decimal(10) ** 40])


def test_unusual_types_of_arrow_are_converted_or_refused():
    runs = pa.RunEndEncodedArray.from_arrays([2, 4], ["x", "y"])
    assert Table.from_native(pa.table({"a": runs})).column("a").to_polars().to_list() == ["x", "x", "y", "y"]
    interval = pa.array([pa.MonthDayNano([1, 2, 3])])
    with pytest.raises(DataError, match='column "a" is of type month_day_nano_interval, which Shoal cannot read; drop'):
        Table.from_native(pa.table({"a": interval}))
    with pytest.raises(DataError, match='column "a" is of type list_view'):
        Table.from_native(pa.table({"a": pa.array([[1], []], pa.list_view(pa.int64()))}))
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(DataError, match='column "a" is of type sparse_union'):
        Table.from_native(pa.table({"a": union}))


def test_polars_reads_missing_categories_of_pandas(tmp_path):
    write_table(Table.from_native(pd.DataFrame({"e": pd.Categorical(["x", None])})), tmp_path / "a.arrow")
    assert pl.read_ipc(tmp_path / "a.arrow")["e"].to_list() == ["x", None]


def test_polars_and_pandas_frames_become_parquet(tmp_path):
    write_table(Table.from_native(pl.DataFrame({"e": pl.Series(["x"], dtype=pl.Enum(["x"]))})), tmp_path / "a.parquet")
    write_table(Table.from_native(pd.DataFrame({"e": pd.Categorical(["x"])})), tmp_path / "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        assert read_table(tmp_path / name).column("e").to_list() == ["x"]
