"""Optimal up to rounding for any location of the data; the errors of other packages are tests here."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from shoal.methods.univariate.optimal_1d import optimal_1d

from naive import univariate as naive


def exact_sse(values):
    """The SSE of values i..j-1 as a fraction, from exact prefix sums of integers."""
    whole, scale = naive.integers(np.sort(values).tolist())
    whole = [x - whole[len(whole) // 2] for x in whole]
    first, second = [0], [0]
    for x in whole:
        first.append(first[-1] + x)
        second.append(second[-1] + x * x)

    def cost(i, j):
        total = first[j] - first[i]
        return Fraction((j - i) * (second[j] - second[i]) - total * total, (j - i) * scale * scale)

    return cost


def exact_ratio(values, k, **options):
    """The exact SSE of our groups over the exact optimum."""
    cost = exact_sse(values)
    labels = optimal_1d(values, k, **options)
    cuts = [0, *np.cumsum(np.bincount(labels)).tolist()]
    assert min(np.diff(cuts)) >= k
    optimum = naive.dynamic_program(range(len(values)), k, cost)
    found = sum(cost(i, j) for i, j in pairwise(cuts))
    return 1.0 if found == optimum else float(found / optimum)


SEARCHES = ["auto", "simple", "simple+", "divide", "staggered", "wilber", "galil-park"]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("mean", [0.0, 1e6, -1e9, 1e12])
def test_optimal_up_to_rounding_for_means_up_to_10_to_the_12_deviations(search, mean, rng):
    values = mean + rng.normal(size=400)
    for k in (2, 5, 20):
        assert exact_ratio(values, k, search=search) <= 1 + 1e-12


@pytest.mark.parametrize(("n", "k"), [(100, 3), (1000, 5), (2500, 15)])
def test_default_settings_are_optimal_where_cells_of_k_values_fail(n, k):
    """A group of up to 2k-1 values may touch three cells of k values; another package forgets the middle one."""
    for seed in range(5):
        assert exact_ratio(np.random.default_rng(seed).normal(size=n), k) <= 1 + 1e-13


def test_the_22_values_on_which_a_peer_fails():
    values = np.repeat([0, 1, 2, 3, 4, 5], [4, 3, 5, 1, 6, 3])
    labels = optimal_1d(values, 5)
    cost = Fraction(
        sum(naive.sse(values[labels == g].tolist()) for g in range(labels.max() + 1)), naive.COMMON_MULTIPLE
    )
    assert cost == Fraction(26, 7)


def test_a_large_mean_does_not_change_the_loss(rng):
    """100,000 values with mean 10⁶ and unit spread: another package loses 8 to 74 %."""
    values = rng.normal(size=100_000)
    shifted = np.round(1e6 + values, 9)
    labels = optimal_1d(shifted, 10)
    centred = optimal_1d(shifted - 1e6, 10)
    assert sse(shifted - 1e6, labels) == pytest.approx(sse(shifted - 1e6, centred), rel=1e-12)


def sse(values, labels):
    means = np.bincount(labels, weights=values) / np.bincount(labels)
    return ((values - means[labels]) ** 2).sum()


@pytest.mark.parametrize(("n", "k"), [(1_000_001, 3), (1_000_001, 7), (300_007, 1000)])
def test_equally_spaced_integers_reach_the_known_optimum(n, k):
    """Plain prefix sums lose up to 53 % here; the first wrong triple begins at 300,079."""
    sizes = np.bincount(optimal_1d(np.arange(n), k))
    groups = n // k
    small, more = divmod(n, groups)
    optimum = (groups - more) * (small**3 - small) + more * ((small + 1) ** 3 - small - 1)
    assert (sizes.astype(object) ** 3 - sizes).sum() == optimum


@pytest.mark.parametrize("search", SEARCHES)
def test_distant_outliers_do_not_reduce_the_accuracy_of_the_rest(search):
    """Six values near -10⁹, then thirty in [0, 1]: restarted sums without rebasing fail on all of these."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        values = np.concatenate([-1e9 + rng.random(6), rng.random(30)])
        cost = exact_sse(values)
        labels = optimal_1d(values, 2, search=search)
        cuts = [0, *np.cumsum(np.bincount(labels)).tolist()]
        found = sum(cost(i, j) for i, j in pairwise(cuts))
        assert float(found / naive.dynamic_program(range(36), 2, cost)) <= 1 + 1e-8, seed


@pytest.mark.parametrize("search", ["auto", "simple", "simple+", "divide", "staggered"])
@pytest.mark.parametrize("k", [2, 7])
def test_groups_of_high_cost_do_not_reduce_the_accuracy_of_later_ones(search, k, rng):
    """Totals of 10¹⁷ would absorb all costs of the tail, about 10⁻³, if they were not rebased."""
    tail = np.sort(2e10 + np.round(rng.random(200), 4))
    labels = optimal_1d(np.concatenate([1e9 * rng.random(50), tail]), k, search=search)
    cuts = np.cumsum(np.bincount(labels)) - 50
    cuts = cuts[cuts >= 6 * k]  # a few groups after the last one of high cost
    cost = exact_sse(tail[cuts[0] :])
    found = sum(cost(i, j) for i, j in pairwise((cuts - cuts[0]).tolist()))
    optimum = naive.dynamic_program(range(200 - cuts[0]), k, cost)
    assert found <= optimum * (1 + Fraction(1, 10**12))


def test_two_far_clusters_within_one_block_are_cut_at_their_own_optimum(rng):
    values = np.concatenate([rng.random(50), 1e9 + np.round(rng.random(50), 6), [1e15] * 3])
    for k in (3, 10, 17):
        assert exact_ratio(values, k) <= 1 + 1e-12


@pytest.mark.parametrize("span", [1 << 20, 1 << 30, 1 << 52])
def test_integers_are_exact(span):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, span, 60)
        values[::7] = values[0]
        for k in (2, 3, 7):
            assert exact_ratio(values, k) == 1.0


@pytest.mark.parametrize("cost", ["sae", "max-distance", "round-up", "round-down", "rounded-mean"])
def test_integer_costs_of_integers_are_exact(cost):
    group_cost = naive.COSTS[cost]
    for seed in range(20):
        values = np.sort(np.random.default_rng(seed).integers(0, 10**6, 12) + 2**52).tolist()
        labels = optimal_1d(values, 2, cost)
        assert naive.cost_of_labels(values, labels, group_cost) == naive.cut_costs(values, group_cost, 2)[0][0]


def test_nanoseconds_beyond_2_to_the_53_are_distinguished():
    start = np.datetime64("2020-01-01T00:00:00", "ns")
    times = start + np.array([0, 1, 2, 10, 11, 12, 10**18, 10**18 + 1, 10**18 + 2]).astype("m8[ns]")
    np.testing.assert_array_equal(optimal_1d(times, 3), np.repeat([0, 1, 2], 3))


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e307])
def test_values_of_extreme_size(scale):
    values = np.array([1.0, 1.1, 1.2, 5.0, 5.1, 5.2, -9.0, -9.1]) * scale
    np.testing.assert_array_equal(optimal_1d(values, 2), [1, 1, 1, 2, 2, 2, 0, 0])
    np.testing.assert_array_equal(optimal_1d(values, 2, search="wilber"), [1, 1, 1, 2, 2, 2, 0, 0])


def test_zero_mean_data_never_give_groups_below_k():
    """Another package's cheap form of SSE returns a group of one here."""
    labels = optimal_1d([0.5, -0.6, -0.5, 0.2, -0.6, 1.0], 2)
    assert np.bincount(labels).min() >= 2
