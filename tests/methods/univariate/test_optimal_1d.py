"""The documented behaviour for one column."""

import os
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping
from shoal.errors import DataError, ParameterError
from shoal.methods.registry import get_method
from shoal.methods.running import run
from shoal.methods.univariate.costs import COLUMN_COSTS, INTEGER_COSTS
from shoal.methods.univariate.exact_values import numbers
from shoal.methods.univariate.optimal_1d import optimal_1d, optimal_ordered
from shoal.methods.univariate.sorting import sort_values

from naive import univariate as naive
from strategies import points_and_k

COSTS = ["sse", "sae", "max-distance", "round-up", "round-down"]


@pytest.mark.parametrize("cost", COSTS)
def test_example_of_the_package_of_the_authors(cost):
    np.testing.assert_array_equal(optimal_1d([6, 2, 0.7, 1.1, 5, 1, 5.1], 3, cost), [1, 0, 0, 0, 1, 0, 1])


def test_twice_k_unsorted_values_get_labels_in_the_order_of_the_records():
    """Another package returns the labels of the sorted values, 0 0 1 1."""
    np.testing.assert_array_equal(optimal_1d([3, 0, 2, 1], 2), [1, 0, 1, 0])


def test_one_column_is_cut_where_its_gap_is():
    """Another package cuts one column into fixed sizes: three small values, then five with a mean of 40."""
    np.testing.assert_array_equal(optimal_1d([1, 1.1, 1.2, 1.3, 50, 50.1, 50.2, 50.3], 3), [0, 0, 0, 0, 1, 1, 1, 1])


@given(points_and_k(max_d=1))
def test_sizes_order_and_input_order(case):
    points, k = case
    values = points[:, 0]
    before = values.copy()
    for cost in COSTS:
        labels = optimal_1d(values, k, cost)
        Grouping(labels, k, max_size=2 * k - 1)
        assert (np.diff(labels[np.argsort(values, kind="stable")]) >= 0).all()
        assert labels.dtype == np.int64
    np.testing.assert_array_equal(values, before)


@given(points_and_k(max_d=1), st.integers(0, 2**32 - 1))
def test_the_order_of_the_records_does_not_matter_for_values_without_ties(case, seed):
    points, k = case
    values = np.unique(points[:, 0])
    if values.size < k:
        return
    order = np.random.default_rng(seed).permutation(values.size)
    np.testing.assert_array_equal(optimal_1d(values[order], k), optimal_1d(values, k)[order])


def small(values):
    """The values between -1 and 1."""
    return values / (np.abs(values).max() or 1.0)


@given(points_and_k(max_d=1))
def test_moving_and_scaling_change_nothing_where_they_are_exact(case):
    values = np.round(small(case[0][:, 0]) * 2.0**20)
    np.testing.assert_array_equal(optimal_1d(values, case[1]), optimal_1d(8 * values + 2.0**40, case[1]))


@given(points_and_k(max_d=1))
def test_changing_the_sign_exchanges_rounding_up_and_down(case):
    values, k = np.round(small(case[0][:, 0]), 3), case[1]

    def cost(values, labels):
        return sum((values[labels == g].max() - values[labels == g]).sum() for g in range(labels.max() + 1))

    up = cost(values, optimal_1d(values, k, "round-up"))
    assert up == pytest.approx(cost(values, optimal_1d(-values, k, "round-down")), rel=1e-9, abs=1e-12)


def test_cost_never_falls_with_k(rng):
    values = rng.normal(size=200)
    costs = []
    for k in range(2, 60):
        labels = optimal_1d(values, k)
        means = np.bincount(labels, weights=values) / np.bincount(labels)
        costs.append(((values - means[labels]) ** 2).sum())
    assert (np.diff(costs) >= -1e-12).all()


@pytest.mark.parametrize("n", [5, 9])
def test_fewer_than_2k_values_make_one_group(n, rng):
    assert set(optimal_1d(rng.normal(size=n), 5)) == {0}


def test_equal_values_in_number_order_where_a_cut_goes_through_them():
    np.testing.assert_array_equal(optimal_1d([7, 7, 7, 7], 2), [0, 0, 1, 1])


YEARS = [1999, 2003, 1998, 2004]
DAYS = [date(year, 1, 1) for year in YEARS]


@pytest.mark.parametrize(
    "values",
    [
        YEARS,
        tuple(map(float, YEARS)),
        np.array(YEARS, np.int16),
        np.array(YEARS, np.uint64),
        np.array(YEARS, np.uint64) + np.uint64(2**63),
        np.array(YEARS, np.float32),
        np.array(YEARS)[:, None],
        np.repeat(YEARS, 2)[::2],
        DAYS,
        np.array(DAYS, "datetime64[D]"),
        np.array(DAYS, "datetime64[ns]"),
        [timedelta(year) for year in YEARS],
        [Decimal(year) for year in YEARS],
        pd.Series(YEARS, index=[9, 8, 7, 6]),
        pd.Series(YEARS, dtype="Int64"),
        pd.to_datetime(pd.Series(DAYS)),
        pl.Series(YEARS),
        pl.Series(DAYS),
    ],
    ids=repr,
)
def test_numbers_and_dates_of_every_kind(values):
    np.testing.assert_array_equal(optimal_1d(values, 2), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nan, 2.0, np.inf],
        np.array(["2020-01-01", "NaT", "2020-01-02", "NaT"], "datetime64[D]"),
        pd.Series([1, None, 2, None], dtype="Int64"),
        pl.Series([1.5, None, 2.5, None]),
        [1, None, 2, None],
        [date(2020, 1, 1), None, date(2020, 1, 1), pd.NaT],
    ],
    ids=repr,
)
def test_missing_values_raise_an_error_that_counts_them(values):
    with pytest.raises(DataError, match="2 of 4 values are missing or infinite; remove or fill in these records"):
        optimal_1d(values, 2)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["a", "b"], "values must be numbers or dates, not <U1"),
        ([1 + 2j, 3], "values must be numbers or dates, not complex128"),
        ([{}, 3], "values must be numbers or dates, not dict, int"),
        (np.zeros((3, 2)), "values must be one column, not an array of 2 dimensions"),
    ],
)
def test_other_values_than_numbers_and_dates_raise_an_error(values, text):
    with pytest.raises(DataError, match=text.replace("<", ".")):
        optimal_1d(values, 2)


@pytest.mark.parametrize(
    ("k", "text"), [(1, "k must be at least 2"), (5, "needs at least 5 records"), (2.5, "k must be an integer")]
)
def test_an_impossible_k_raises_an_error(k, text):
    with pytest.raises(ParameterError, match=text):
        optimal_1d([1, 2, 3, 4], k)


def test_points_in_a_given_order_must_be_finite():
    with pytest.raises(DataError, match="points must be finite numbers"):
        optimal_ordered([[1.0], [np.nan]], 2)


def test_the_method_has_no_option_that_allows_groups_below_k():
    assert "shortage_cost" not in get_method("optimal-1d").options
    outcome = run("optimal-1d", np.array([[1.0], [9.0], [2.0], [8.0]]), 2, cost="sae")
    np.testing.assert_array_equal(outcome.labels, [0, 1, 0, 1])
    assert outcome.diagnostics == {"search": "simple+", "groups": 2}


@pytest.mark.parametrize("cost", [*COSTS, "rounded-mean"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_objective_is_the_exact_optimum(cost, k):
    for seed in range(20):
        values = np.random.default_rng(seed).integers(-20, 20, 11)
        objective = run("optimal-1d", values.astype(float), k, cost=cost).objective
        exact = Fraction(naive.cut_costs(sorted(values.tolist()), naive.COSTS[cost], k)[0][0], naive.COMMON_MULTIPLE)
        assert objective.name == cost
        assert objective.value == pytest.approx(float(exact), rel=1e-13)
        assert objective.scope == "all groupings"
        assert objective.bound == (None if cost == "rounded-mean" else objective.value)


def test_the_scope_of_the_bound_names_the_limits(rng):
    values = rng.normal(size=50)

    def scope(**options):
        return run("optimal-1d", values, 3, **options).objective.scope

    assert scope(max_size=5) == "all groupings"
    assert scope(max_size=4) == "groupings with at most 4 records in a group"
    assert scope(max_groups=4) == "groupings with at most 4 groups"
    assert scope(group_cost=1e9, max_size=50) == "groupings with 1 groups"
    assert scope(max_groups=9, max_size=7) == "groupings with at most 9 groups, at most 7 records in a group"


def test_the_bound_holds_for_the_number_of_groups_that_a_group_cost_gives():
    values = [1, 2, 4, 7, 11, 12, 13, 20, 21, 30, 30, 31]
    outcome = run("optimal-1d", np.array(values, float), 2, group_cost=30.0)
    groups = outcome.diagnostics["groups"]
    same = [cost for cost, cuts in naive.cut_costs(values, naive.sse, 2) if len(cuts) - 1 == groups]
    assert outcome.objective.bound == pytest.approx(min(same) / naive.COMMON_MULTIPLE)


def test_protect_limits_the_size_of_groups_of_one_column(rng):
    people = pl.DataFrame({"income": rng.normal(size=62)})
    release = shoal.protect(people, 3, quasi=["income"], max_size=4, method="optimal-1d")
    assert release.grouping.sizes.max() <= 4


def test_costs_that_need_integers_are_listed(rng):
    values = rng.normal(size=20)
    for cost in COLUMN_COSTS:
        if cost in INTEGER_COSTS:
            with pytest.raises(ParameterError, match="needs integers"):
                run("optimal-1d", values, 3, cost=cost)
        else:
            run("optimal-1d", values, 3, cost=cost)


@pytest.mark.parametrize(
    "kind",
    [
        "normal",
        "ties",
        "offset",
        "outlier",
        "integers",
        "wide integers",
        "all integers",
        "sorted",
        "zeros",
        "near ties",
        "counts",
        "one half",
    ],
)
@pytest.mark.parametrize("in_halves", [False, True])
def test_sorting_equals_a_stable_argsort(kind, in_halves, rng, monkeypatch):
    n = 5000
    if in_halves:
        monkeypatch.setattr("shoal.methods.univariate.sorting.PARALLEL_VALUES", 1000)
    values = {
        "normal": rng.normal(size=n),
        "ties": rng.integers(-9, 9, n) / 2,
        "offset": 1e9 + rng.normal(size=n),
        "outlier": np.append(1e15 + rng.integers(0, 4000, n) / 8, -1e300),  # has to fall back to argsort
        "integers": rng.integers(-1000, 1000, n),
        "wide integers": rng.integers(-(2**62), 2**62, n),
        "all integers": rng.integers(-(2**63), 2**63 - 1, n),
        "sorted": np.sort(rng.normal(size=n)),
        "near ties": np.append(rng.integers(1, 2000, n) * (1 + rng.integers(0, 2, n) * 2.0**-52), -1e300),
        "counts": rng.integers(-40, 900, n).astype(float),
        "one half": np.append(rng.integers(0, 30, n), 2.5),
        "zeros": rng.choice([0.0, -0.0, 1.0, -1.0], n),
    }[kind]
    ordered, order = sort_values(values)
    expected = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(ordered, values[expected])


def test_an_array_of_floats_is_not_copied():
    values = np.array([3.0, 1.0])
    assert numbers(values) is values


def test_importing_compiles_nothing_and_loads_no_compiler():
    code = (
        "import sys, shoal.methods.univariate.optimal_1d, shoal.methods.univariate.projection;"
        "sys.exit(bool({'numba', 'scipy', 'pandas', 'polars'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_second_process_compiles_nothing(tmp_path):
    code = """
import numpy as np
from shoal.core.compiled import when_compiling
from shoal.methods.univariate.optimal_1d import optimal_1d
messages = []
with when_compiling(messages.append):
    for search in ("direct", "divide", "wilber"):
        optimal_1d(np.array([3.0, 1.0, 2.0, 4.0, 9.0]), 2, search=search)
print(*messages)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment).stdout
        for _ in range(2)
    )
    assert "direct" in first
    assert second.strip() == ""
