"""All searches against every possible way to cut, in exact arithmetic; in the long set 21,000 small inputs."""

from itertools import pairwise

import numpy as np
import pytest

from shoal.core.progress import SILENT
from shoal.methods.univariate.costs import COLUMN_COSTS, COSTS
from shoal.methods.univariate.optimal_1d import _cuts, optimal_1d
from shoal.methods.univariate.searches import LARGEST_DIRECT_K, SEARCHES
from shoal.methods.univariate.uncapped import Terms

from naive import univariate as naive

INPUTS_PER_COST = 3500


def random_input(rng, *, integer):
    """Ties, constants, negative numbers, large offsets, floats of any size; k up to n."""
    n = int(rng.integers(2, 12))
    k = int(rng.integers(2, min(n, 5) + 1))
    kind = rng.integers(4 if integer else 7)
    values = [
        lambda: rng.integers(-4, 5, n),
        lambda: rng.integers(0, 2, n),
        lambda: rng.integers(-(10**6), 10**6, n),
        lambda: 2**52 + rng.integers(0, 30, n),
        lambda: rng.normal(size=n),
        lambda: 1e12 + rng.integers(0, 9, n) / 8,
        lambda: np.exp(rng.normal(scale=10, size=n)) * rng.choice([-1, 1], n),
    ][kind]()
    return values, k


def searches_for(cost, k):
    names = [name for name in SEARCHES if name != "direct" or (cost == "sse" and k <= LARGEST_DIRECT_K)]
    return ["auto", *names]


@pytest.mark.parametrize("cost", COLUMN_COSTS)
def test_all_searches_find_the_cheapest_of_all_cuts(cost, repetitions):
    for seed in range(repetitions(INPUTS_PER_COST)):
        rng = np.random.default_rng(seed)
        values, k = random_input(rng, integer=cost == "rounded-mean")
        integers = sorted(naive.integers(values.tolist())[0])
        optimum = naive.cut_costs(integers, naive.COSTS[cost], k)[0][0]
        found = set()
        for search in searches_for(cost, k):
            cuts, _ = _cuts(np.sort(values), np.empty(0), COSTS[cost], search, Terms(k), SILENT)
            assert np.diff(cuts).min() >= k, (seed, search)
            found.add((search, tuple(cuts.tolist())))
        for cuts in {cuts for _, cuts in found}:
            found_cost = sum(naive.COSTS[cost](integers[a:b]) for a, b in pairwise(cuts))
            allowed = 0 if values.dtype == np.int64 else optimum // 10**12
            assert optimum <= found_cost <= optimum + allowed, (seed, [name for name, same in found if same == cuts])


@pytest.mark.parametrize("cost", COLUMN_COSTS)
def test_no_partition_at_all_is_cheaper_than_neighbours(cost):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(4, 9)), int(rng.integers(2, 4))
        values = rng.integers(0, 12, n)
        labels = optimal_1d(values, k, cost)
        group_cost = naive.COSTS[cost]
        optimum = min(sum(map(group_cost, groups)) for groups in naive.set_partitions(values.tolist(), k))
        assert naive.cost_of_labels(values.tolist(), labels, group_cost) == optimum, seed


def same_representatives(ordered, cuts, cost):
    """Whether no value is replaced by two different ones."""
    starts = np.array(cuts[:-1])
    replaced = np.repeat(COSTS[cost].representatives(np.array(ordered, float), starts, None), np.diff(cuts))
    return all(replaced[a] == replaced[a + 1] for a in range(len(ordered) - 1) if ordered[a] == ordered[a + 1])


@pytest.mark.parametrize("cost", ["sse", "sae", "max-distance", "round-up", "round-down"])
def test_ties_are_split_only_where_every_optimum_splits_them(cost):
    kept = 0
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(4, 13)), int(rng.integers(2, 4))
        ordered = sorted(rng.integers(0, 5, n).tolist())
        ways = naive.cut_costs(ordered, naive.COSTS[cost], k, 2 * k - 1)
        best = [cuts for cost_of_cuts, cuts in ways if cost_of_cuts == ways[0][0]]
        wholly = [cuts for cuts in best if all(c in {0, n} or ordered[c - 1] != ordered[c] for c in cuts)]
        for search in searches_for(cost, k):
            cuts = (0, *np.cumsum(np.bincount(optimal_1d(np.array(ordered), k, cost, search=search))).tolist())
            if wholly:
                assert same_representatives(ordered, cuts, cost), (seed, search)
        kept += bool(wholly) and len(best) > len(wholly)
    assert kept > 10  # there was something to decide


def test_searches_agree_on_a_long_column(rng):
    for values in (rng.normal(size=12_000), rng.integers(0, 300, 12_000), 1e9 + rng.lognormal(size=12_000)):
        for cost in ("sse", "sae", "max-distance", "round-up", "round-down"):
            for k in (3, 47, 1500):
                totals = []
                for search in ("simple+", "divide", "staggered", "wilber", "galil-park"):
                    labels = optimal_1d(values, k, cost, search=search)
                    ordered = np.sort(values) - values.min()
                    cuts = np.cumsum(np.bincount(labels, minlength=1))
                    totals.append(total(ordered, (0, *cuts), cost))
                assert max(totals) <= min(totals) * (1 + 1e-12), (cost, k, totals)


def total(ordered, cuts, cost):
    groups = [ordered[a:b] for a, b in pairwise(cuts)]
    group_cost = {
        "sse": lambda g: ((g - g.mean()) ** 2).sum(),
        "sae": lambda g: np.abs(g - np.median(g)).sum(),
        "max-distance": lambda g: (g[-1] - g[0]) / 2,
        "round-up": lambda g: (g[-1] - g).sum(),
        "round-down": lambda g: (g - g[0]).sum(),
    }[cost]
    return sum(group_cost(g) for g in groups)


@pytest.mark.parametrize("k", [2, 7, 40, 3000])
@pytest.mark.parametrize("cost", ["sse", "sae", "round-up"])
def test_two_threads_find_what_one_finds(k, cost, rng, monkeypatch):
    values = np.sort(rng.normal(size=60_000))
    alone = optimal_1d(values, k, cost)
    monkeypatch.setattr("shoal.methods.univariate.capped.PARALLEL_VALUES", 1000)
    together = optimal_1d(values, k, cost)
    costs = [total(values, (0, *np.cumsum(np.bincount(labels))), cost) for labels in (alone, together)]
    assert costs[1] == pytest.approx(costs[0], rel=1e-13)
    assert np.bincount(together).min() >= k
    assert np.bincount(together).max() < 2 * k


def test_two_threads_treat_ties_as_one_does(monkeypatch):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values = np.sort(rng.integers(0, 12, int(rng.integers(40, 60))))
        cuts = []
        for large in (10**6, 1):
            monkeypatch.setattr("shoal.methods.univariate.capped.PARALLEL_VALUES", large)
            cuts.append((0, *np.cumsum(np.bincount(optimal_1d(values, 2))).tolist()))
        costs = [sum(naive.sse(values[a:b].tolist()) for a, b in pairwise(places)) for places in cuts]
        assert costs[0] == costs[1], seed
        alone, together = (same_representatives(values.tolist(), places, "sse") for places in cuts)
        assert alone == together, seed
