"""Relinking: histories that an intruder puts together again, against the obvious count of every rule."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.privacy.relinking import measure_relinking, relink
from shoal.tables import Table

from naive import persons as naive


@st.composite
def panels(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=7))
    units = np.repeat(np.arange(len(sizes)), sizes)
    columns = {}
    for name in draw(st.lists(st.sampled_from("abc"), unique=True)):
        base = np.array(draw(st.lists(st.integers(0, 3), min_size=len(sizes), max_size=len(sizes))))
        columns[name] = base[units].astype(np.int64)
    order = np.array(draw(st.permutations(range(units.size)))) if draw(st.booleans()) else np.arange(units.size)
    return {name: codes[order] for name, codes in columns.items()}, units[order]


@given(panels())
def test_constant_columns_restore_what_the_obvious_count_finds(case):
    columns, units = case
    found = relink(columns, units)
    lists = [codes.tolist() for codes in columns.values()]
    values, histories = naive.restored(lists, units.tolist(), by_order=False)
    runs, _ = naive.restored(lists, units.tolist(), by_order=True)
    assert found.histories == histories
    assert found.without_order == values
    assert found.restored == max(values, runs)
    assert found.by_order == (runs > values)
    if found.restored and not found.by_order:
        named = [columns[name].tolist() for name in found.columns]
        assert naive.restored(named, units.tolist(), by_order=False)[0] >= 0.99 * values


@given(panels(), st.integers(0, 10**6))
def test_a_column_that_varies_never_lowers_the_share(case, seed):
    columns, units = case
    noise = np.random.default_rng(seed).integers(0, 3, units.size)
    alone = relink(columns, units)
    assert relink({**columns, "noise": noise}, units).restored >= alone.restored
    every = [*columns.values(), noise]
    best = max(
        naive.restored([c.tolist() for c in chosen], units.tolist(), by_order=False)[0]
        for size in range(len(every) + 1)
        for chosen in combinations(every, size)
    )
    assert relink({**columns, "noise": noise}, units).without_order <= best


def test_row_order_alone_restores_histories_where_a_date_begins_again():
    units = np.repeat(np.arange(50), 4)
    visit = np.tile(np.arange(4), 50)
    found = relink({"visit": visit}, units)
    assert (found.share, found.by_order, found.columns) == (1.0, True, ("visit",))
    order = np.random.default_rng(1).permutation(units.size)
    assert relink({"visit": visit[order]}, units[order]).restored == 0, "shuffled rows have no order"


def test_shuffling_is_not_enough_where_an_unchanged_column_has_one_value_per_person():
    rng = np.random.default_rng(2)
    units = rng.permutation(np.repeat(np.arange(200), 3))
    income = rng.permutation(10**6)[:200]
    frame = pl.DataFrame({"ward": rng.integers(0, 4, 600), "income": income[units], "note": ["x"] * 600})
    found = measure_relinking(Table.from_native(frame), units)
    assert (found.share, found.columns, found.by_order) == (1.0, ("income",), False)
    assert measure_relinking(Table.from_native(frame.drop("income")), units).restored == 0


def test_a_column_with_a_typing_error_is_used_nevertheless():
    units = np.repeat(np.arange(100), 3)
    income = units * 7
    income[0] = 1
    rng = np.random.default_rng(3)
    order = rng.permutation(units.size)
    found = relink({"income": income[order]}, units[order])
    assert (found.restored, found.histories) == (99, 100), "all but the one history with the error"


@pytest.mark.parametrize("units", [np.zeros(0, np.int64), np.arange(5)])
def test_without_a_second_row_there_is_no_history(units):
    found = relink({"a": np.zeros(units.size, np.int64)}, units)
    assert (found.histories, found.share) == (0, 0.0)


def test_missing_values_nested_columns_and_text_are_compared():
    frame = pl.DataFrame({
        "name": ["a", None, "a", None, "b", "b"], "list": [[1]] * 6, "nothing": [None] * 6,
        "number": [1.5, float("nan")] * 3,
    })  # fmt: skip
    found = measure_relinking(Table.from_native(frame), np.array([0, 1, 0, 1, 2, 2]))
    assert (found.restored, found.histories) == (3, 3)


def test_a_list_that_is_constant_within_persons_restores_them():
    frame = pl.DataFrame({"list": [[1, 2], [3], [1, 2], [3]], "nothing": [None] * 4})
    found = measure_relinking(Table.from_native(frame), np.array([0, 1, 0, 1]))
    assert (found.restored, found.columns) == (2, ("list",))


def test_a_column_that_is_constant_within_half_of_the_histories_is_used():
    units = np.array([0, 0, 1, 1])
    found = relink({"a": np.array([5, 5, 6, 7])}, units)
    assert (found.restored, found.columns) == (1, ("a",))
    assert relink({"a": np.array([5, 5, 6, 7, 8, 9])}, np.repeat(np.arange(3), 2)).without_order == 0


def test_a_date_that_rises_in_every_row_begins_anew_where_it_stands_still():
    found = relink({"visit": np.array([1, 2, 2, 3, 3, 4])}, np.array([0, 0, 1, 1, 2, 2]))
    assert (found.restored, found.by_order) == (3, True)
    # a date that stands still within most histories does not: here only its falls begin one
    found = relink({"visit": np.array([1, 1, 2, 0, 0, 1, 0, 0, 0])}, np.repeat(np.arange(3), 3))
    assert (found.restored, found.by_order) == (3, True)
