"""The properties of the costs, and errors for costs without them."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.univariate.costs import COLUMN_COSTS, COSTS
from shoal.methods.univariate.optimal_1d import optimal_1d, representatives
from shoal.methods.univariate.prefix_sums import prefix_sums
from shoal.methods.univariate.searches import choose

from naive import univariate as naive

ROUNDING = 1e-9


def group_costs(cost, values):
    """The cost of a group of the sorted values from one position to another, as the searches compute it."""
    values = np.sort(values).astype(float)
    sums = prefix_sums(values, np.empty(0))
    return lambda i, j: COSTS[cost].cost(values, sums, i, j)


@pytest.mark.parametrize("cost", COLUMN_COSTS)
def test_concave_and_splitting_is_beneficial_and_wide_is_worse(cost):
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        of = group_costs(cost, rng.integers(-20, 20, 11))
        a, b, c, d = np.sort(rng.choice(12, 4, replace=False)).tolist()
        assert of(a, c) + of(b, d) <= of(a, d) + of(b, c) + ROUNDING, seed
        assert of(a, b) + of(b, c) <= of(a, c) + ROUNDING, seed
        assert max(of(a, b), of(b, c)) <= of(a, c) + ROUNDING, seed


def test_a_cost_that_is_not_concave_is_noticed():
    """The wrong version: the mean of a group instead of its sum."""
    of = group_costs("sse", np.array([0, 1, 5, 9, 9, 14, 20]))
    mean = lambda i, j: of(i, j) / (j - i)  # noqa: E731
    assert any(mean(a, c) + mean(b, d) > mean(a, d) + mean(b, c) + ROUNDING for a, b, c, d in combinations(range(8), 4))


def test_maximum_distance_is_concave_with_equality():
    of = group_costs("max-distance", np.array([0, 1, 5, 9, 9, 14, 20]))
    assert of(0, 4) + of(2, 7) == of(0, 7) + of(2, 4)


@pytest.mark.parametrize("cost", COLUMN_COSTS)
@pytest.mark.parametrize("offset", [0, 10**12])
def test_costs_in_constant_time_equal_the_definition(cost, offset, rng):
    values = np.sort(rng.integers(0, 50, 12)) + offset
    sums = prefix_sums(values.astype(float), np.empty(0))
    for i in range(12):
        for j in range(i + 1, 13):
            exact = Fraction(naive.COSTS[cost](values[i:j].tolist()), naive.COMMON_MULTIPLE)
            assert COSTS[cost].cost(values.astype(float), sums, i, j) == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("cost", COLUMN_COSTS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_sums_around_an_edge_equal_the_definition_for_every_legal_group(cost, k, rng):
    values = np.sort(rng.integers(0, 50, 12)).astype(float)
    kernels = COSTS[cost]
    for b in range(k, 13, k):
        rows = min(k, 13 - b)
        lefts = min(2 * k - 1, b)
        sums, mass, head, tail = np.zeros(3 * k + 1), np.zeros(3 * k + 1), np.zeros(2 * k), np.zeros(k)
        kernels.fill(values, np.empty(0), b, lefts, rows, 2 * k, sums, mass, head, tail)
        for v in range(rows):
            for u in range(k - v, min(2 * k - 1 - v, lefts) + 1):
                exact = Fraction(naive.COSTS[cost](values[b - u : b + v].astype(int).tolist()), naive.COMMON_MULTIPLE)
                found = head[u] + tail[v] + kernels.cross(sums, mass, 2 * k, u, v)
                assert found == pytest.approx(float(exact), rel=1e-13, abs=1e-11)


@pytest.mark.parametrize("search", ["simple+", "divide", "staggered", "wilber", "galil-park"])
def test_searches_that_need_concavity_raise_an_error_for_other_costs(search):
    with pytest.raises(ParameterError, match=f'search="{search.replace("+", ".")}" needs a concave cost'):
        choose(search, COSTS["ordered-sse"], 3, splitting=True, largest=None)


@pytest.mark.parametrize("search", ["direct", "simple", "simple+", "divide", "staggered"])
def test_capped_searches_raise_an_error_with_a_group_cost(search):
    with pytest.raises(ParameterError, match="tries only groups of up to 2k-1 records"):
        optimal_1d([1, 2, 3, 4], 2, search=search, group_cost=1.0)


def test_sae_is_twice_the_maximum_distance_for_pairs_and_triples(rng):
    values = rng.integers(0, 1000, 101)
    sae, distance = (
        naive.cost_of_labels(values.tolist(), optimal_1d(values, 2, cost), naive.COSTS[cost])
        for cost in ("sae", "max-distance")
    )
    assert sae == 2 * distance


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        ("sse", [4.0, 12.0]),
        ("sae", [2.0, 10.0]),
        ("max-distance", [5.0, 12.0]),
        ("round-up", [9.0, 14.0]),
        ("round-down", [1.0, 10.0]),
        ("rounded-mean", [4.0, 12.0]),
    ],
)
def test_representatives(cost, expected):
    values = np.array([10.0, 1.0, 2.0, 9.0, 14.0])
    np.testing.assert_array_equal(representatives(values, np.array([1, 0, 0, 0, 1]), cost), expected)


def test_weighted_representative():
    assert representatives([0.0, 4.0], np.array([0, 0]), weights=[3.0, 1.0]) == pytest.approx([1.0])
