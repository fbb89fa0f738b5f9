"""Bins that disclose no single record, for any values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.axes import date_axis, number_axis, round_step
from shoal.report.histograms import category_distribution, merged_bins, number_distribution

FINITE = st.floats(-1e12, 1e12, allow_nan=False)


def counts_of(found, n):
    return [round(one.before * n) for one in found.bins]


@given(st.lists(st.one_of(FINITE, st.integers(-20, 20).map(float)), min_size=1, max_size=200), st.integers(1, 12))
def test_no_bin_of_the_original_holds_few_records(values, min_records):
    before = np.array(values)
    found = number_distribution(before, before[::-1].copy(), min_records)
    for count in counts_of(found, before.size):
        assert count == 0 or count >= min_records
    assert sum(counts_of(found, before.size)) == (before.size if found.bins else 0)
    if found.bins:
        assert found.bins[0].name.startswith("below ")
        assert found.bins[-1].name.endswith(" and above")
        assert sum(one.after for one in found.bins) == pytest.approx(1)


@given(st.integers(0, 10**6))
def test_neither_the_lowest_nor_the_highest_value_is_an_edge(seed):
    values = np.random.default_rng(seed).lognormal(3, 1, 300)
    found = number_distribution(values, values, 5)
    edges = {edge for edge, _ in found.ticks}
    assert found.bins
    assert not edges & {values.min(), values.max()}


def test_an_outlier_stretches_no_axis():
    values = np.append(np.arange(500.0), 1e9)
    found = number_distribution(values, values, 5)
    assert found.bins[-1].high <= 600


@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(1, 9))
def test_merged_bins_cover_all_and_hold_none_or_enough(counts, min_records):
    bins = merged_bins(counts, min_records)
    assert [first for first, _ in bins] == [0, *(last for _, last in bins[:-1])]
    assert bins[-1][1] == len(counts)
    for first, last in bins:
        inside = sum(counts[first:last])
        assert inside == 0 or inside >= min_records or len(bins) == 1


@given(st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(1, 30), max_size=40), st.integers(1, 9))
def test_no_bar_of_categories_represents_few_records(before, min_records):
    total = sum(before.values())
    for order in (None, sorted(before)):
        found = category_distribution(before, {"new": total + 1}, min_records, order=order)
        for count in counts_of(found, total):
            assert count == 0 or count >= min_records
        assert len(found.bins) <= 13 + 1
        rare = {name for name, count in before.items() if count < min_records}
        if order is None:
            assert not rare & {one.name for one in found.bins} - {"new"}


def test_ordered_categories_keep_their_order_and_merge_neighbours():
    found = category_distribution({"a": 20, "b": 2, "c": 9, "d": 30}, {"a": 31, "d": 30}, 5, order=["a", "b", "c", "d"])
    assert [one.name for one in found.bins] == ["a", "b to c", "d"]


def test_missing_values_are_stated_without_small_counts():
    values = np.append(np.repeat([1.0, 2.0, 3.0, 4.0], 10), [np.nan, np.nan])
    found = number_distribution(values, values, 5)
    assert found.missing == ("fewer than 5 records", "4.8 %")
    without = number_distribution(None, values, 5)
    assert without.missing == ("", "4.8 %")
    assert all(one.before is None for one in without.bins)


@given(st.floats(1e-9, 1e12))
def test_round_steps_are_round_and_not_too_large(least):
    step = round_step(least)
    assert least * (1 - 1e-9) <= step <= least * 2.5 * (1 + 1e-9)
    assert f"{step:e}"[0] in "125"


@given(FINITE, st.floats(1e-3, 1e9), st.integers(3, 24))
def test_an_axis_covers_the_requested_range(low, span, most):
    axis = number_axis(low, low + span, most)
    if axis is not None:
        assert axis.edges[0] <= low
        assert low + span <= axis.edges[-1]
        assert len(axis.edges) <= most + 4


@pytest.mark.parametrize("span", [3, 20, 100, 400, 3000, 30_000, 200_000])
def test_dates_begin_at_days_months_and_years(span):
    axis = date_axis(1000.0, 1000.0 + span, 12)
    assert axis.edges[0] <= 1000
    assert axis.edges[-1] >= 1000 + span
    assert len(axis.edges) <= 16
    assert len(set(axis.texts)) == len(axis.texts)
    assert date_axis(-5e6, 1.0, 12) is None
