import copy
import datetime as dt
import pickle
import subprocess
import sys
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import DataError, SchemaError, UnknownColumn
from shoal.tables import Dialect, Table
from shoal.tables.column_labels import Labels


def new(table, name, values):
    return {name: nw.new_series(name, values, backend=table.frame.implementation)}


def test_importing_the_package_imports_no_table_library():
    heavy = {"polars", "pyarrow", "pandas", "narwhals", "numba", "scipy", "pyreadstat"}
    code = f"import sys, shoal.tables; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_native_returns_the_input_object(make):
    data = make({"a": [1, 2], "b": ["x", None]})
    table = Table.from_native(data)
    assert table.native is data
    assert (table.names, table.n_rows, len(table)) == (["a", "b"], 2, 2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_replacing_a_column_keeps_the_order_and_does_not_change_the_input(make):
    data = make({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]})
    table = Table.from_native(data)
    changed = table.with_columns(new(table, "b", ["z", "z"]))
    assert type(changed.native) is type(data)
    assert changed.frame.to_dict(as_series=False) == {"a": [1, 2], "b": ["z", "z"], "c": [0.5, 1.5]}
    assert table.column("b").to_list() == ["x", "y"]


@pytest.mark.parametrize("index", [[5, 3, 9], ["x", "y", "z"], ["x", "x", "y"], [0, 0, 0], [2, 0, 1]])
def test_a_pandas_index_never_moves_a_record(index):
    data = pd.DataFrame({"a": [10, 20, 30], "b": ["p", "q", "r"]}, index=pd.Index(index, name="key"))
    table = Table.from_native(data)
    changed = table.with_columns({"a": nw.from_native(pd.Series([1, 2, 3], index=[2, 1, 0]), series_only=True)})
    assert changed.native["a"].tolist() == [1, 2, 3]
    assert changed.native["b"].tolist() == ["p", "q", "r"]
    assert data["a"].tolist() == [10, 20, 30]


def test_a_level_of_a_pandas_index_becomes_a_column_if_it_is_named():
    index = pd.MultiIndex.from_tuples([("x", 1), ("x", 2)], names=["key", None])
    data = pd.DataFrame({"a": [1, 2]}, index=index)
    assert Table.from_native(data).names == ["a"]
    table = Table.from_native(data, ["key", "a", "other"])
    assert (table.names, table.column("key").to_list()) == (["key", "a"], ["x", "x"])
    assert Table.from_native(data.rename_axis(["a", None]), ["a"]).column("a").to_list() == [1, 2]


@pytest.mark.parametrize(
    ("old", "fresh"),
    [
        (pd.Series([1, None, 3], dtype="Int64"), [7, 7, 7]),
        (pd.Series([1, 2, 3], dtype="Int32"), pd.Series([7, 7, 7], dtype="int32")),
        (pd.Series([1.5, None, 3], dtype="Float64"), [7.5, 7.5, 7.5]),
        (pd.Series(["b", "a", None], dtype="string"), ["c", "c", "c"]),
        (pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["b", "a", "c"], ordered=True)), ["a", "a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "a", "b"]),
    ],
)
def test_new_pandas_values_are_stored_in_the_type_of_the_old_ones(old, fresh):
    table = Table.from_native(pd.DataFrame({"a": old}))
    fresh = nw.from_native(pd.Series(fresh), series_only=True)
    changed = table.with_columns({"a": fresh}).native["a"]
    assert changed.dtype == old.dtype
    assert changed.tolist() == fresh.to_list()


def test_values_outside_the_categories_are_not_lost():
    table = Table.from_native(pd.DataFrame({"a": pd.Categorical(["x", "y"], ordered=True)}))
    assert table.with_columns(new(table, "a", ["x-y", "x-y"])).native["a"].tolist() == ["x-y", "x-y"]
    enum = Table.from_native(pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"]))}))
    assert enum.with_columns(new(enum, "a", ["x-y", "x-y"])).column("a").to_list() == ["x-y", "x-y"]
    arrow = Table.from_native(pa.table({"a": pa.array(["x", "y"]).dictionary_encode()}))
    assert arrow.with_columns(new(arrow, "a", ["x-y", "x-y"])).column("a").to_list() == ["x-y", "x-y"]


def test_missing_new_values_are_not_stored_in_a_type_without_missing_values():
    table = Table.from_native(pd.DataFrame({"a": [1, 2]}))
    fresh = nw.from_native(pd.Series([1, None], dtype="Int64"), series_only=True)
    assert table.with_columns({"a": fresh}).native["a"].isna().tolist() == [False, True]


@pytest.mark.parametrize("dtype", [pl.Enum(["low", "high"]), pl.Categorical])
def test_new_polars_text_takes_the_old_categories(dtype):
    table = Table.from_native(pl.DataFrame({"a": pl.Series(["low", "high"], dtype=dtype)}))
    assert table.with_columns(new(table, "a", ["high", "high"])).native.schema["a"] == dtype


def test_types_of_unchanged_polars_columns_are_preserved():
    data = pl.DataFrame(
        {
            "a": [1, 2],
            "enum": pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"])),
            "decimal": pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(10, 2)),
            "date": [dt.date(2020, 1, 1), None],
            "zone": pl.Series([dt.datetime.fromisoformat("2020-01-01 00:00:00"), None]).dt.replace_time_zone(
                "Europe/Berlin"
            ),
        }
    )
    table = Table.from_native(data)
    changed = table.with_columns(new(table, "a", [9, 9]))
    assert changed.native.drop("a").equals(data.drop("a"))
    assert changed.native.schema == data.schema


def test_a_pyarrow_dictionary_keeps_its_type_and_order():
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    levels = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), pa.array(["low", "high"]), ordered=True)
    data = pa.table([levels, pa.array([1, 2, 3])], schema=pa.schema([("a", kind), ("b", pa.int64())]))
    table = Table.from_native(data)
    changed = table.with_columns(new(table, "a", ["low", "low", None])).native
    assert changed.schema.equals(data.schema)
    assert changed["a"].to_pylist() == ["low", "low", None]


def test_unknown_columns_are_named_with_a_suggestion():
    table = Table.from_native(pl.DataFrame({"income": [1]}))
    for use in (table.column, lambda name: table.without([name]), table.variable_label, table.value_labels):
        with pytest.raises(UnknownColumn, match='column "incme" is not in the table; did you mean "income"'):
            use("incme")
    with pytest.raises(UnknownColumn, match='did you mean "income"'):
        table.with_columns(new(table, "incme", [1]))


def test_a_new_column_of_another_length_raises_an_error():
    table = Table.from_native(pl.DataFrame({"a": [1, 2]}))
    with pytest.raises(DataError, match='column "a" has 3 new values for 2 records'):
        table.with_columns(new(table, "a", [1, 2, 3]))


def test_repr_shows_no_values_of_records():
    table = Table.from_native(pl.DataFrame({"name": ["secret"], "age": [123456]}))
    assert repr(table) == str(table) == "Table(1 records, 2 columns: name, age)"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_a_copied_or_pickled_table_has_the_same_content_and_only_a_copy_its_paths(tmp_path, make, duplicate):
    table = Table(
        nw.from_native(make({"a": [1, None], "b": ["x", "y"]}), eager_only=True),
        Dialect(delimiter=";", na_values={"a": "NA"}),
        tmp_path / "a.csv",
        Labels(variable={"a": "Age in years"}),
    )
    same = duplicate(table)
    assert same.fingerprint() == table.fingerprint()
    assert type(same.native) is type(table.native)
    assert (same.dialect, same.labels) == (table.dialect, table.labels)
    copied = duplicate is copy.deepcopy
    assert (same.source, same.inputs) == ((table.source, (table.source,)) if copied else (None, ()))


def test_columns_can_be_dropped_but_not_all():
    table = Table.from_native(pd.DataFrame({"a": [1], "b": [2]}, index=["x"]))
    assert table.without(["a"]).names == ["b"]
    assert table.without(["a"]).native.index.tolist() == ["x"]
    with pytest.raises(SchemaError, match="no column is left"):
        table.without(["a", "b"])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1, 2], "a list is not a table; pass a pandas or polars DataFrame, a pyarrow Table"),
        ({"a": [1]}, "a dict is not a table"),
        (np.zeros((2, 2)), "a ndarray is not a table"),
        (pd.Series([1]), "a Series is not a table"),
        (pl.Series([1]), "a Series is not a table"),
        (None, "a NoneType is not a table"),
        (pl.DataFrame(), "the table has no columns"),
    ],
)
def test_other_objects_than_tables_raise_an_error(data, text):
    with pytest.raises(DataError, match=text):
        Table.from_native(data)


def test_names_of_pandas_and_pyarrow_columns_must_be_unique_texts():
    with pytest.raises(SchemaError, match='2 columns are named "a"; give each its own name'):
        Table.from_native(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(SchemaError, match="column 2 of the DataFrame is named 7, which is not text; rename"):
        Table.from_native(pd.DataFrame([[1, 2]], columns=["a", 7]))
    with pytest.raises(SchemaError, match="column 1 of the DataFrame is named"):
        Table.from_native(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(SchemaError, match='2 columns are named "a"'):
        Table.from_native(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))


class TestFingerprint:
    data = pl.DataFrame(
        {
            "n": [1.5, None, -0.25] * 50_000,
            "s": ["a", None, "äö"] * 50_000,
            "b": [True, None, False] * 50_000,
            "d": [dt.date(2020, 1, 1), None, dt.date(1960, 1, 1)] * 50_000,
            "c": pl.Series(["x", None, "y"] * 50_000, dtype=pl.Categorical),
        }
    )

    def test_chunks_do_not_matter(self):
        cut = pl.concat([self.data[:7], self.data[7:70_001], self.data[70_001:]], rechunk=False)
        assert cut["s"].n_chunks() > 1
        assert Table.from_native(cut).fingerprint() == Table.from_native(self.data).fingerprint()

    def test_pyarrow_chunks_and_dictionaries_do_not_matter(self):
        single = pa.table({"a": pa.array(["x", "y", None, "x"]).dictionary_encode()})
        parts = pa.concat_tables([single.slice(0, 1), pa.table({"a": pa.array(["y", None, "x"]).dictionary_encode()})])
        assert Table.from_native(parts).fingerprint() == Table.from_native(single).fingerprint()

    def test_memory_under_a_missing_value_does_not_matter(self):
        validity = pa.py_buffer(np.packbits([1, 0, 1], bitorder="little"))
        one, two = (
            pa.Array.from_buffers(pa.int64(), 3, [validity, pa.py_buffer(np.array(v))]) for v in ([1, 2, 3], [1, 9, 3])
        )
        assert (
            Table.from_native(pa.table({"a": one})).fingerprint()
            == Table.from_native(pa.table({"a": two})).fingerprint()
        )

    @pytest.mark.parametrize(
        "other",
        [
            {"a": [1, 2], "b": ["x", "z"]},
            {"a": [1, None], "b": ["x", "y"]},
            {"a": [2, 1], "b": ["x", "y"]},
            {"a": [1.0, 2.0], "b": ["x", "y"]},
            {"c": [1, 2], "b": ["x", "y"]},
            {"b": ["x", "y"], "a": [1, 2]},
            {"a": [1, 2], "b": ["xy", ""]},
            {"a": [1, 2], "b": ["x", None]},
        ],
    )
    def test_any_other_content_has_another_fingerprint(self, other):
        base = Table.from_native(pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})).fingerprint()
        assert Table.from_native(pl.DataFrame(other)).fingerprint() != base

    def test_it_is_the_same_in_all_versions_of_shoal(self):
        table = Table.from_native(pl.DataFrame({"a": [1, None], "b": ["x", "ä"]}))
        assert table.fingerprint() == "cee3fa3b72eba3e9eb8049ce8ce8ed37acbb1c76057131b23f31b0d426acf6b3"

    def test_python_objects_decimals_and_nested_values_have_one(self):
        objects = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "b": [Decimal(1), Decimal(2)]})
        assert len(Table.from_native(objects).fingerprint()) == 64
        nested = pl.DataFrame({"a": [[1], [2, 3]]})
        assert Table.from_native(nested).fingerprint() != Table.from_native(nested.reverse()).fingerprint()
