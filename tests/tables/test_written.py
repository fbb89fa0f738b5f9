"""What a file holds by its bytes: groups that are expected prove sizes only where the bytes agree."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.core.key_hashes import add_multilinear, class_sizes, constant_within, new_hashes
from shoal.flow.holder_record import record_hashes
from shoal.tables import Table, write_table
from shoal.tables.written import read_back

ROWS = 300_000  # three row groups of a Parquet file


def columns(kind):
    values = np.arange(ROWS) // 3 % 50_000
    return {
        "float": pl.Series(values / 7),
        "int": pl.Series(values),
        "int with missing values": pl.Series([None if value % 11 == 0 else int(value) for value in values]),
        "text": pl.Series(values % 100).cast(pl.String),
        "decimal": pl.Series([Decimal(int(value)) / 4 for value in values % 200], dtype=pl.Decimal(10, 2)),
    }[kind]


@pytest.mark.parametrize("kind", ["float", "int", "int with missing values", "text", "decimal"])
def test_the_expected_groups_and_a_count_by_sorting_agree(tmp_path, kind):
    column = columns(kind)
    table = Table.from_native(pl.DataFrame({"x": column}))
    path = tmp_path / "a.parquet"
    write_table(table, path)
    labels = column.rank("dense").fill_null(0).to_numpy().astype(np.int64) if kind != "text" else None
    if labels is None:
        labels = column.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    counted = read_back(path, Path("a.parquet"), table, ["x"])
    expected = read_back(path, Path("a.parquet"), table, ["x"], expected=labels)
    assert sorted(counted.class_sizes.tolist()) == sorted(expected.class_sizes.tolist())
    finer = np.arange(ROWS) // 3  # a part of a class each: a lower bound
    assert read_back(path, Path("a.parquet"), table, ["x"], expected=finer).class_sizes.min() <= (
        counted.class_sizes.min()
    )


@pytest.mark.parametrize("wrong", ["one record", "all in one group", "too short", "negative"])
def test_groups_that_the_bytes_do_not_show_are_counted_by_sorting(tmp_path, wrong):
    values = np.repeat(np.arange(20), 4)
    labels = values.copy()
    if wrong == "one record":
        values[7] = 99  # the file has a class of one record, and one of three
    elif wrong == "all in one group":
        labels[:] = 0
    elif wrong == "too short":
        labels = labels[:-1]
    else:
        labels[0] = -1
    table = Table.from_native(pl.DataFrame({"x": values}))
    for name in ("a.parquet", "a.csv"):
        write_table(table, tmp_path / name)
        found = read_back(tmp_path / name, Path(name), table, ["x"], expected=labels).class_sizes
        assert sorted(found.tolist()) == sorted(np.unique(values, return_counts=True)[1].tolist())


def test_both_hashes_must_agree():
    labels = np.array([0, 0, 1, 1])
    one, two = np.array([5, 5, 6, 6], np.uint64), np.array([1, 2, 3, 3], np.uint64)
    assert constant_within(labels, one, one)
    assert not constant_within(labels, one, two)
    assert not constant_within(labels, two, one)
    assert class_sizes(one, two).tolist() == [1, 1, 2]


def test_the_compiled_sum_of_halves_is_that_of_the_definition(rng):
    n = 60_000
    words = rng.integers(0, 2**64 - 1, n, np.uint64, endpoint=True)
    coefficients = rng.integers(0, 2**64 - 1, 6, np.uint64, endpoint=True)
    first, second = new_hashes(n)
    add_multilinear(first, second, words, coefficients)
    c = [int(value) for value in coefficients]
    for i in range(0, n, 1009):
        low, high = int(words[i]) % 2**32, int(words[i]) >> 32
        assert int(first[i]) == (1 + low * c[0] + high * c[1]) % 2**64
        assert int(second[i]) == (1 + low * c[3] + high * c[4]) % 2**64


def test_record_hashes_do_not_depend_on_the_number_of_records():
    numbers = pl.DataFrame({"a": np.arange(60_000) * 0.5, "b": [None if i % 5 == 0 else i for i in range(60_000)]})
    key = bytes(range(32))
    many = record_hashes(Table.from_native(numbers), ["a", "b"], key)
    few = record_hashes(Table.from_native(numbers[:100]), ["b", "a"], key)
    assert many[:100].tolist() == few.tolist()
