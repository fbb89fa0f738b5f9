"""Further costs and limits: group cost, cost of missing records, number and size of groups, weights, given order."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.methods.univariate.optimal_1d import optimal_1d, optimal_ordered

from naive import univariate as naive


def small_input(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    return rng, np.sort(rng.integers(0, 15, n)), int(rng.integers(2, min(n, 4) + 1))


def cost_of(values, labels, cost="sse"):
    return Fraction(naive.cost_of_labels(values.tolist(), labels, naive.COSTS[cost]), naive.COMMON_MULTIPLE)


@pytest.mark.parametrize("search", ["auto", "wilber", "galil-park", "quadratic"])
@pytest.mark.parametrize("cost", ["sse", "sae", "round-up"])
def test_group_cost_equals_trying_every_cut(search, cost):
    for seed in range(150):
        rng, values, k = small_input(seed)
        delta = int(rng.integers(0, 40))
        labels = optimal_1d(values, k, cost, group_cost=delta, search=search)
        found = cost_of(values, labels, cost) + delta * (labels.max() + 1)
        best = min(
            Fraction(total, naive.COMMON_MULTIPLE) + delta * (len(cuts) - 1)
            for total, cuts in naive.cut_costs(values.tolist(), naive.COSTS[cost], k)
        )
        assert found == best, seed
        assert np.bincount(labels).min() >= k


def test_a_negative_group_cost_asks_for_more_groups():
    for seed in range(100):
        _, values, k = small_input(seed)
        labels = optimal_1d(values, k, group_cost=-5, search="wilber")
        best = min(
            Fraction(total, naive.COMMON_MULTIPLE) - 5 * (len(cuts) - 1)
            for total, cuts in naive.cut_costs(values.tolist(), naive.sse, k)
        )
        assert cost_of(values, labels) - 5 * (labels.max() + 1) == best, seed


@pytest.mark.parametrize("search", ["auto", "galil-park", "quadratic"])
def test_a_cost_of_missing_records(search):
    for seed in range(150):
        rng, values, k = small_input(seed)
        charge = int(rng.integers(0, 30))
        labels = optimal_1d(values, k, shortage_cost=charge, search=search)
        sizes = np.bincount(labels)
        found = cost_of(values, labels) + charge * int(np.maximum(k - sizes, 0).sum())
        best = min(
            Fraction(total, naive.COMMON_MULTIPLE) + charge * sum(max(k - (j - i), 0) for i, j in pairwise(cuts))
            for total, cuts in naive.cut_costs(values.tolist(), naive.sse, 1)
        )
        assert found == best, seed


def test_no_shortage_cost_makes_groups_of_one_and_a_high_one_none_below_k():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(optimal_1d(values, 2, shortage_cost=0.0), [0, 1, 2, 3])
    np.testing.assert_array_equal(optimal_1d(values, 2, shortage_cost=1e9), [0, 0, 1, 1])


@pytest.mark.parametrize("cost", ["sse", "sae", "max-distance"])
def test_the_number_of_groups_is_limited(cost):
    for seed in range(150):
        rng, values, k = small_input(seed)
        most = int(rng.integers(1, 5))
        labels = optimal_1d(values, k, cost, max_groups=most)
        best = min(t for t, cuts in naive.cut_costs(values.tolist(), naive.COSTS[cost], k) if len(cuts) - 1 <= most)
        assert cost_of(values, labels, cost) * naive.COMMON_MULTIPLE == best, seed
        assert labels.max() < most
        assert np.bincount(labels).min() >= k


def test_a_maximum_size():
    impossible = 0
    for seed in range(300):
        rng, values, k = small_input(seed)
        largest = k + int(rng.integers(0, 3))
        ways = naive.cut_costs(values.tolist(), naive.sse, k, largest)
        if not ways:
            impossible += 1
            with pytest.raises(ParameterError, match=f"cannot be cut into groups of {k} to {largest}"):
                optimal_1d(values, k, max_size=largest)
            continue
        labels = optimal_1d(values, k, max_size=largest)
        assert cost_of(values, labels) * naive.COMMON_MULTIPLE == ways[0][0], seed
        assert np.bincount(labels).max() <= largest
    assert impossible > 5


def test_all_limits_at_once():
    solved = 0
    for seed in range(300):
        rng, values, k = small_input(seed)
        largest, most, delta = k + int(rng.integers(1, 6)), int(rng.integers(2, 5)), int(rng.integers(1, 9))
        ways = [
            Fraction(t, naive.COMMON_MULTIPLE) + delta * (len(cuts) - 1)
            for t, cuts in naive.cut_costs(values.tolist(), naive.sse, k, largest)
            if len(cuts) - 1 <= most
        ]
        try:
            labels = optimal_1d(values, k, max_size=largest, max_groups=most, group_cost=delta)
        except ParameterError:
            assert not ways, seed
            continue
        solved += 1
        assert cost_of(values, labels) + delta * (labels.max() + 1) == min(ways), seed
        assert np.bincount(labels).max() <= largest
        assert labels.max() < most
    assert solved > 100


@pytest.mark.parametrize("search", ["auto", "simple", "divide", "staggered", "wilber", "galil-park", "quadratic"])
def test_integer_weights_are_repetitions_that_stay_together(search):
    for seed in range(80):
        rng, values, k = small_input(seed)
        weights = rng.integers(1, 4, values.size)
        labels = optimal_1d(values, k, weights=weights, search=search)

        def group_cost(a, b, values=values, weights=weights):
            pairs = list(zip(weights[a:b].tolist(), values[a:b].tolist(), strict=True))
            total = sum(w * x for w, x in pairs)
            return sum(w * x * x for w, x in pairs) - Fraction(total * total, sum(w for w, _ in pairs))

        def total(cuts, group_cost=group_cost):
            return sum(group_cost(a, b) for a, b in pairwise(cuts))

        best = min(total(cuts) for cuts in naive.all_cuts(values.size, k, values.size))
        cuts = (0, *np.cumsum(np.bincount(labels)).tolist())
        assert float(total(cuts)) == pytest.approx(float(best), rel=1e-12, abs=1e-12), seed


def test_equal_weights_change_nothing(rng):
    values = rng.normal(size=300)
    np.testing.assert_array_equal(optimal_1d(values, 4, weights=np.full(300, 7.0)), optimal_1d(values, 4))


def test_large_group_cost_makes_one_group_of_a_long_column(rng):
    values = rng.normal(size=30_000)
    assert optimal_1d(values, 5, group_cost=1e9).max() == 0
    assert 0 < optimal_1d(values, 5, group_cost=10.0).max() < optimal_1d(values, 5, group_cost=0.1).max()


def test_records_in_a_given_order():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
        k = int(rng.integers(2, min(n, 4) + 1))
        points = rng.integers(0, 9, (n, d))
        labels = optimal_ordered(points, k)
        assert (np.diff(labels) >= 0).all()

        def total(cuts, points=points):
            return sum(naive.sse(column[a:b]) for column in points.T.tolist() for a, b in pairwise(cuts))

        best = min(map(total, naive.all_cuts(n, k, n)))
        assert total((0, *np.cumsum(np.bincount(labels)).tolist())) == best, seed


def test_a_given_order_is_not_concave():
    """On these eleven values a search that assumes concavity stops at 341/12."""
    values = np.array([1, 1, 1, 6, 1, 0, 1, 4, 0, 1, 1])
    labels = optimal_ordered(values[:, None], 3)
    assert np.bincount(labels).tolist() == [3, 5, 3]
    assert cost_of(values, labels) == Fraction(388, 15)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_size": 1}, "max_size=1 is below k=2"),
        ({"max_groups": 0}, "max_groups=0 is not possible; choose an integer at least 1"),
        ({"group_cost": float("nan")}, "group_cost=nan is not possible"),
        ({"group_cost": float("inf")}, "group_cost=inf is not possible"),
        ({"shortage_cost": -1.0}, "shortage_cost=-1.0 is not possible"),
        ({"cost": "round_up"}, 'cost="round_up" is not possible; .*did you mean "round-up"'),
        ({"search": "simpl"}, 'search="simpl" is not possible; .*did you mean "simple"'),
        ({"cost": "sae", "weights": [1, 1, 1, 1]}, 'cost="sae" has no weighted form'),
        ({"cost": "rounded-mean"}, "needs integers"),
    ],
)
def test_wrong_options_raise_an_error_that_names_them(options, text):
    with pytest.raises(ParameterError, match=text):
        optimal_1d([1.5, 2.0, 3.0, 4.0], 2, **options)


@pytest.mark.parametrize(
    ("weights", "text"), [([1, 1, 1], "there are 3 weights for 4"), ([1, 0, 1, -1], "2 of 4 weights are not positive")]
)
def test_wrong_weights_raise_an_error(weights, text):
    with pytest.raises(DataError, match=text):
        optimal_1d([1.5, 2.0, 3.0, 4.0], 2, weights=weights)


def test_a_table_of_layers_that_would_not_fit_raises_an_error():
    with pytest.raises(ParameterError, match="max_groups=30000 for 300000 records needs a table of 36 GB"):
        optimal_1d(np.arange(300_000), 2, max_groups=30_000)
