"""The clean copy has the same values and types, and no byte beside them."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.tables import Table
from shoal.tables.clean_copy import clean_array, clean_chunks, clean_copy, left_out
from shoal.tables.column_labels import Labels

WHEN = dt.datetime.fromisoformat("2020-01-02 03:04:05.678")
ARROW = {
    "int8": pa.array([1, None, 3, -4], pa.int8()),
    "uint64": pa.array([2**64 - 1, None, 3, 0], pa.uint64()),
    "half": pa.array([np.float16(1.5), None, np.float16(2), np.float16(3)], pa.float16()),
    "float": pa.array([1.5, None, float("nan"), -0.0]),
    "bool": pa.array([True, None, False, True]),
    "text": pa.array(["a", None, "", "a text that is longer than twelve bytes"]),
    "large": pa.array(["a", None, "ä", "a text that is longer than twelve bytes"], pa.large_string()),
    "view": pa.array(["a", None, "", "a text that is longer than twelve bytes"], pa.string_view()),
    "binary": pa.array([b"a", None, b"", b"\0\xff"]),
    "fixed": pa.array([b"abc", None, b"def", b"ghi"], pa.binary(3)),
    "decimal": pa.array([Decimal("1.50"), None, Decimal(-2), Decimal(0)], pa.decimal128(38, 2)),
    "decimal256": pa.array([Decimal("1.50"), None, Decimal(-2), Decimal(10) ** 50], pa.decimal256(60, 2)),
    "date": pa.array([dt.date(2020, 1, 1), None, dt.date(1900, 1, 1), dt.date(1, 1, 1)]),
    "zone": pa.array([0, None, 10**15, -1], pa.timestamp("ns", "Europe/Berlin")),
    "time": pa.array([1, None, 3, 4], pa.time64("us")),
    "duration": pa.array([1, None, 3, 4], pa.duration("ms")),
    "null": pa.nulls(4),
    "levels": pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0, 2], pa.int8()), pa.array(["low", "never", "high"]), ordered=True
    ),
    "repeated": pa.DictionaryArray.from_arrays(pa.array([2, 1, 0, None]), pa.array(["x", None, "x"])),
    "list": pa.array([[1, None], None, [], [4]]),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": None}]),
    "map": pa.array([[("k", 1)], None, [], [("l", 2)]], pa.map_(pa.string(), pa.int64())),
    "array": pa.array([[1, 2], None, [3, 4], [5, 6]], pa.list_(pa.int64(), 2)),
}


def all_bytes(array):
    """Return the bytes of every buffer of an array, of its dictionary and of everything below."""
    found = [bytes(buffer) for buffer in array.buffers() if buffer is not None]
    return b"".join(found) + (all_bytes(array.dictionary) if pa.types.is_dictionary(array.type) else b"")


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("part", [slice(0, 4), slice(1, 4), slice(1, 2), slice(2, 3), slice(0, 0)])
def test_values_and_type_are_the_same(name, part):
    array = ARROW[name][part]
    clean = clean_array(array)
    assert clean.type == array.type
    assert str(clean.to_pylist()) == str(array.to_pylist())
    clean.validate(full=True)
    chunks = clean_chunks(pa.chunked_array([array, ARROW[name], array]))
    assert str(chunks.to_pylist()) == str([*array.to_pylist(), *ARROW[name].to_pylist(), *array.to_pylist()])
    chunks.validate(full=True)


@given(
    values=st.lists(st.one_of(st.none(), st.integers(2**40, 2**41)), min_size=1, max_size=40),
    cut=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    hidden=st.lists(st.booleans(), min_size=40, max_size=40),
    kind=st.sampled_from(["int", "float", "text", "view", "dictionary", "decimal", "list", "struct"]),
)
def test_no_byte_of_a_hidden_or_cut_value_is_left(values, cut, hidden, kind):
    numbers = pa.array(values, pa.int64())
    plain = {
        "int": lambda a: a, "float": lambda a: a.cast(pa.float64()), "text": lambda a: a.cast(pa.string()),
        "view": lambda a: a.cast(pa.string()).cast(pa.string_view()),
        "dictionary": lambda a: a.cast(pa.string()).dictionary_encode(),
        "decimal": lambda a: a.cast(pa.decimal128(30, 0)),
        "list": lambda a: pa.ListArray.from_arrays(pa.array(range(len(a) + 1), pa.int32()), a),
        "struct": lambda a: pa.StructArray.from_arrays([a], ["x"]),
    }  # fmt: skip
    array = plain[kind](numbers)
    if kind != "view":
        mask = pa.array(hidden[: len(array)])
        array = pc.if_else(mask, pa.scalar(None, array.type), array) if kind != "list" else array
    array = array[min(cut) : max(cut)]
    clean = clean_array(array)
    assert clean.to_pylist() == array.to_pylist()
    shown = str(array.to_pylist())
    found = all_bytes(clean)
    for value in {value for value in values if value is not None and str(value) not in shown}:
        forms = [str(value).encode(), value.to_bytes(8, "little"), np.float64(value).tobytes()]
        assert not any(form in found for form in forms)


def frames():
    texts = ["a", None, "", "a text that is longer than twelve bytes"]
    yield pd.DataFrame(
        {
            "int": [1, 2, 3, 4], "float": [1.5, None, np.nan, -0.0], "object": [1, "x", None, (1, 2)],
            "bool": [True, False, True, True], "str": texts, "Int64": pd.array([1, None, 3, 4], "Int64"),
            "Float32": pd.array([1, None, 3, 4], "Float32"), "boolean": pd.array([True, None, False, True], "boolean"),
            "string": pd.array(texts, "string"), "python": pd.array(texts, "string[python]"),
            "arrow": pd.array([1, None, 3, 4], "int64[pyarrow]"), "arrow text": pd.array(texts, "string[pyarrow]"),
            "dictionary": pd.array(texts, pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
            "when": pd.to_datetime([WHEN, None, WHEN, WHEN]), "zone": pd.to_datetime([WHEN] * 4).tz_localize("CET"),
            "delta": pd.to_timedelta([1, 2, None, 4]), "period": pd.period_range("2020-01", periods=4, freq="M"),
            "interval": pd.interval_range(0, 4), "sparse": pd.arrays.SparseArray([0, 0, 1, 2]),
            "complex": [1j, 2, 3, 4],
        }
    )  # fmt: skip
    yield pl.DataFrame(
        {
            "int": [1, None, 3, 4], "text": texts, "bool": [True, None, False, True],
            "float": [1.5, None, np.nan, -0.0], "time": [WHEN.time()] * 4,
            "categories": pl.Series(texts, dtype=pl.Categorical), "date": [WHEN.date(), None, WHEN.date(), WHEN.date()],
            "zone": pl.Series([WHEN, None, WHEN, WHEN]).dt.replace_time_zone("Europe/Berlin"),
            "duration": pl.Series([1, None, 3, 4]).cast(pl.Duration("ns")), "null": [None] * 4,
            "decimal": pl.Series([1, None, 3, 4]).cast(pl.Decimal(30, 2)), "binary": [b"a", None, b"", b"\0"],
            "i128": pl.Series([1, None, 3, 2**100], dtype=pl.Int128), "list": [[1], None, [], [None, 4]],
            "struct": [{"a": 1}, None, {"a": None}, {"a": 4}],
            "object": pl.Series([{1}, {2}, {3}, {4}], dtype=pl.Object),
        }
    )  # fmt: skip
    yield pa.table({name: array for name, array in ARROW.items() if name not in {"repeated", "decimal256"}})


@pytest.mark.parametrize("frame", list(frames()), ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("rows", [slice(0, 4), slice(1, 3), slice(3, 4)])
def test_a_frame_keeps_its_types_and_values(frame, rows):
    part = frame.iloc[rows] if isinstance(frame, pd.DataFrame) else frame[rows]
    if isinstance(frame, pa.Table):
        part = frame.slice(rows.start, rows.stop - rows.start)
    clean = clean_copy(Table.from_native(part)).native
    assert type(clean) is type(part)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(clean, part.reset_index(drop=True))
        assert not any(np.shares_memory(clean[name].to_numpy(), frame[name].to_numpy()) for name in ("int", "object"))
    elif isinstance(frame, pl.DataFrame):
        assert clean.schema == part.schema
        assert clean.drop("object").equals(part.drop("object"))
        assert clean["object"].to_list() == part["object"].to_list()
    else:
        assert clean.schema.equals(part.schema)
        assert str(clean.to_pylist()) == str(part.to_pylist())


def test_only_categories_that_occur_are_kept_in_their_order():
    levels = ["never", "low", "medium", "high"]
    values = ["high", None, "low"]
    ordered = pd.Categorical(values, categories=pd.Index(levels, name="secret"), ordered=True)
    found = clean_copy(Table.from_native(pd.DataFrame({"a": ordered}))).native["a"]
    assert found.cat.categories.tolist() == ["low", "high"]
    assert (found.cat.ordered, found.cat.categories.name, found.isna().tolist()) == (True, None, [False, True, False])
    enum = pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(levels))})
    assert clean_copy(Table.from_native(enum)).native.schema["a"] == pl.Enum(["low", "high"])
    dictionary = pa.DictionaryArray.from_arrays(pa.array([3, None, 1], pa.int8()), pa.array(levels), ordered=True)
    column = clean_copy(Table.from_native(pa.table({"a": dictionary}))).native["a"]
    assert column.chunk(0).dictionary.to_pylist() == ["low", "high"]
    assert column.to_pylist() == values
    nothing = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    assert clean_array(nothing).to_pylist() == [None]


def test_index_attributes_and_metadata_are_left_out_and_named():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=["x", None]))
    frame.attrs["note"] = "secret"
    frame.columns.name = "secret"
    table = Table.from_native(frame)
    clean = clean_copy(table).native
    assert (clean.attrs, clean.columns.name, clean.index.equals(pd.RangeIndex(2))) == ({}, None, True)
    assert left_out(table) == [
        'the index "x" of the DataFrame is not released; to keep it, name it among the columns',
        "the attrs of the DataFrame are not released",
    ]
    assert left_out(Table.from_native(clean)) == []
    field = pa.field("a", pa.struct([pa.field("b", pa.int64(), metadata={"note": "secret"})]), metadata={"c": "secret"})
    native = pa.table([pa.array([{"b": 1}], field.type)], schema=pa.schema([field], {"d": "secret"}))
    assert "secret" in native.schema.to_string()
    arrow = clean_copy(Table.from_native(native)).native
    assert "secret" not in arrow.schema.to_string()
    assert left_out(Table.from_native(native)) == ["the metadata of the schema and its fields is not released"]
    named = pa.Table.from_pandas(pd.DataFrame({"a": [1]}, index=pd.RangeIndex(7, 8)))
    assert left_out(Table.from_native(named)) == [
        "the index of the pandas DataFrame, which the metadata describes, is not released"
    ]
    assert left_out(Table.from_native(pa.Table.from_pandas(pd.DataFrame({"a": [1]})))) == []
    for pandas in (b'{"attributes": {"note": "secret"}}', b"not JSON"):
        described = pa.table({"a": [1]}).replace_schema_metadata({b"pandas": pandas})
        assert left_out(Table.from_native(described)) == ["the metadata of the schema and its fields is not released"]


def test_labels_and_missing_codes_without_a_record_are_left_out():
    frame = nw.from_native(pl.DataFrame({"a": [1, None, None], "b": [5, 6, 7]}), eager_only=True)
    labels = Labels(
        values={"a": {1.0: "one", 2.0: "two", -9.0: "refused", -8.0: "unknown"}, "b": {8: "eight"}},
        missing_ranges={"a": [{"lo": -9.0, "hi": -9.0}, {"lo": -7.0, "hi": -1.0}, {"lo": 900, "hi": 999}]},
        missing_codes={"a": (np.array([1, 2]), [-9.0, -2.0])},
        formats={"a": "F8.2", "b": "A20"}, widths={"a": 8, "b": 20}, left_out=("the notes",),
    )  # fmt: skip
    table = Table(frame, labels=labels)
    found = vars(clean_copy(table).labels)
    assert found["values"] == {"a": {1.0: "one", -9.0: "refused"}}
    assert found["missing_ranges"] == {"a": [{"lo": -9.0, "hi": -9.0}, {"lo": -2.0, "hi": -2.0}]}
    assert left_out(table) == ["not released of the file: the notes"]
    replaced = table.with_columns({name: table.column(name) for name in ("a", "b")}).labels
    assert (replaced.formats, replaced.widths, replaced.missing_codes) == ({"a": "F8.2"}, {}, {})
    assert clean_copy(table.with_columns({"a": table.column("a")})).labels.missing_ranges == {}


def address(table, name):
    """Return where the numbers of a column begin in memory."""
    column = table.native[name]
    return (column.to_arrow() if isinstance(column, pl.Series) else column.chunk(0)).buffers()[1].address


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_numbers_are_copied_again_only_if_they_share_memory(library):
    numbers = [1.0, 2.0, 3.0, 4.0]
    original = Table.from_native(library({"shared": numbers, "old": [5, 6, 7, 8], "new": numbers, "gaps": numbers}))
    fresh = Table.from_native(library({"new": [1.5, 2.5, 3.5, 4.5], "gaps": [1.5, None, 3.5, 4.5]}))
    made = original.with_columns({name: fresh.column(name) for name in fresh.names})
    clean = clean_copy(made, original)
    assert address(clean, "new") == address(made, "new")
    for name in ("shared", "old", "gaps"):
        assert address(clean, name) != address(made, name)
    assert address(clean_copy(made), "new") != address(made, "new")
    assert clean.native.equals(made.native)


def test_memory_of_the_original_is_found_in_slices_and_chunks():
    numbers = pa.array(range(100))
    chunks = pa.chunked_array([numbers[:40], numbers[40:]])
    original = Table.from_native(pa.table({"a": chunks}))
    part = pa.Array.from_buffers(pa.int64(), 10, [None, numbers.buffers()[1].slice(160, 80)])
    made = Table.from_native(pa.table({"b": part}))
    assert address(clean_copy(made, original), "b") != address(made, "b")
    series = pl.Series("a", range(100))
    twice = pl.concat([series.slice(0, 40), series.slice(40)], rechunk=False)
    made = Table.from_native(series.slice(60, 10).to_frame())
    assert address(clean_copy(made, Table.from_native(twice.to_frame())), "a") != address(made, "a")
    longer = pa.Array.from_buffers(pa.int64(), 10, [None, pa.py_buffer(np.arange(20))])  # more than it shows
    made = Table.from_native(pa.table({"b": longer}))
    assert address(clean_copy(made, original), "b") != address(made, "b")
