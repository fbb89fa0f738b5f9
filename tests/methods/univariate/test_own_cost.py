"""Costs that users write: their properties, the searches that these allow, and the published counterexamples."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import OwnCost, check_cost, optimal_1d
from shoal.errors import ParameterError

from naive import univariate as naive


def median(group):
    return sorted(group)[len(group) // 2]


def discounted(group):
    """Twice the mean of the upper half: splitting never pays (Stamm & Schaub 2024, appendix B.7)."""
    return 2 * sum(sorted(group)[len(group) // 2 :]) / len(group)


NOT_ORDERED = {  # function, column, best of neighbours, best of all for k = 2; Stamm & Schaub 2024, section 3, B.6
    "mean absolute error": (
        lambda g: sum(abs(x - median(g)) for x in g) / len(g),
        [0, 1, 1, 1, 2, 6, 6, 18],
        Fraction(29, 8),
        Fraction(19, 6),
    ),
    "mean round down": (
        lambda g: sum(x - min(g) for x in g) / len(g),
        [0, 1, 1, 2, 3, 3, 7],
        Fraction(7, 3),
        Fraction(11, 5),
    ),
    "mean round up": (
        lambda g: sum(max(g) - x for x in g) / len(g),
        [0, 4, 4, 5, 6, 6, 7],
        Fraction(7, 3),
        Fraction(11, 5),
    ),
    "smallest value": (min, [-4, -3, -2, -1], -6, -7),
    "root of SSE": (lambda g: np.sqrt(len(g) * np.var(g)), [0, 1, 1, 1, 3], 2.19089, 2.12132),
}
PROPER = {
    "sse": lambda g: len(g) * float(np.var(g)),
    "sae": lambda g: float(np.abs(g - np.median(g)).sum()),
    "max-distance": lambda g: (g[-1] - g[0]) / 2,
    "round-up": lambda g: float((g[-1] - g).sum()),
    "round-down": lambda g: float((g - g[0]).sum()),
}


def total(values, labels, function):
    groups = [np.sort(np.asarray(values, float)[labels == label]) for label in np.unique(labels)]
    return sum(function(group) for group in groups)


@pytest.mark.parametrize("name", NOT_ORDERED)
def test_the_optimum_of_neighbours_is_found_and_called_not_ordered(name):
    function, values, neighbours, overall = NOT_ORDERED[name]
    cost = OwnCost(function, name)
    assert total(values, optimal_1d(values, 2, cost), function) == pytest.approx(float(neighbours), abs=1e-5)
    assert min(
        sum(function(np.array(group, float)) for group in groups) for groups in naive.set_partitions(values, 2)
    ) == pytest.approx(float(overall), abs=1e-5)
    assert not check_cost(cost, values).ordered


@pytest.mark.parametrize("name", PROPER)
def test_the_costs_of_the_paper_have_all_properties(name, rng):
    found = check_cost(OwnCost(PROPER[name], name), rng.normal(size=300))
    assert found.concave
    assert found.splitting
    assert found.wide_is_worse
    assert found.ordered
    assert found.search == "simple+"


def test_discounted_halves_are_never_split(rng):
    cost = OwnCost(discounted, "discounted halves")
    for _ in range(4):
        values = rng.integers(0, 20, 12)
        found = check_cost(cost, values)
        assert not found.splitting
        assert found.search.startswith("quadratic")
        assert optimal_1d(values, 2, cost).max() == 0


def test_what_is_stated_and_refuted_raises_an_error(rng):
    with pytest.raises(ParameterError, match='"halves" is stated to have splitting=True, and this column refutes it'):
        optimal_1d(rng.integers(0, 20, 30), 2, OwnCost(discounted, "halves", splitting=True))


def test_a_search_for_splitting_costs_is_wrong_for_others(rng):
    """The wrong version: groups of up to 2k-1 only, for a cost that is not better after a split."""
    values = np.sort(rng.integers(0, 20, 12)).astype(float)
    right = total(values, optimal_1d(values, 2, OwnCost(discounted)), discounted)
    capped = total(values, optimal_1d(values, 2, OwnCost(discounted), max_size=3), discounted)
    assert right < capped


@pytest.mark.parametrize("name", PROPER)
@given(values=st.lists(st.integers(-9, 9), min_size=2, max_size=14), k=st.integers(2, 4), capped=st.booleans())
@settings(max_examples=10)
def test_the_optimum_equals_that_of_the_built_in_cost(name, values, k, capped):
    if len(values) < k:
        return
    largest = 3 * k if capped else None
    own = optimal_1d(values, k, OwnCost(PROPER[name], name), max_size=largest)
    built_in = optimal_1d(values, k, name, max_size=largest)
    assert total(values, own, PROPER[name]) == pytest.approx(total(values, built_in, PROPER[name]), rel=1e-9, abs=1e-9)
    assert np.bincount(own).min() >= k


def test_a_cost_that_is_not_a_number_is_refused():
    with pytest.raises(ParameterError, match=r'the cost "broken" of a group of \d+ values is not a finite number'):
        optimal_1d([1.0, 2.0, 3.0, 4.0], 2, OwnCost(lambda _: float("nan"), "broken"))
    with pytest.raises(ParameterError, match="combined with max_size only"):
        optimal_1d([1.0, 2.0, 3.0, 4.0], 2, OwnCost(min), max_groups=1)


@given(values=st.lists(st.integers(-9, 9), min_size=4, max_size=11), k=st.integers(1, 3), groups=st.integers(1, 4))
@settings(max_examples=60)
def test_exactly_so_many_groups_cost_the_least_of_all_such_cuts(values, k, groups):
    if groups * k > len(values):
        with pytest.raises(ParameterError, match="cannot be cut into"):
            optimal_1d(values, k, groups=groups)
        return
    labels = optimal_1d(values, k, groups=groups)
    assert np.bincount(labels).size == groups
    assert np.bincount(labels).min() >= k
    ordered = sorted(values)
    cuts = [cut for cut in naive.all_cuts(len(values), k, len(values)) if len(cut) == groups + 1]
    least = min(sum(naive.sse(ordered[i:j]) for i, j in pairwise(cut)) for cut in cuts)
    assert naive.cost_of_labels(values, labels, naive.sse) == least


def test_k_means_of_one_column_is_k_equal_to_one():
    values = [0, 1, 2, 50, 51, 90]
    np.testing.assert_array_equal(optimal_1d(values, 1, max_groups=3), [0, 0, 0, 1, 1, 2])
    with pytest.raises(ParameterError, match="k must be at least 2, got 1"):
        optimal_1d(values, 1)
    with pytest.raises(ParameterError, match="state one of them"):
        optimal_1d(values, 2, groups=2, max_groups=3)


def test_exactly_is_more_than_at_most_where_fewer_groups_cost_less():
    """With a cost per group the cheapest number of groups is one; the wrong version returns at most the number."""
    values = [0, 1, 2, 3, 4, 5, 6, 7]
    assert optimal_1d(values, 2, group_cost=1000.0, max_groups=3).max() == 0
    assert optimal_1d(values, 2, group_cost=1000.0, groups=3).max() == 2
