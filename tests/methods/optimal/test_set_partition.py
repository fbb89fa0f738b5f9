"""Annealing, pricing, bounds and their combination, against enumeration."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial import cKDTree

from shoal.core.deadline import Deadline
from shoal.core.progress import Progress
from shoal.core.threads import set_threads
from shoal.errors import ParameterError
from shoal.methods.contract import Outcome
from shoal.methods.effort import search_work
from shoal.methods.kernels.centroids import group_costs
from shoal.methods.optimal.linear_bound import GroupRelaxation
from shoal.methods.optimal.set_partition import set_partition
from shoal.methods.optimal.sse_pricing import SsePricer, column_costs
from shoal.methods.programs.restricted_master import Cuts, Duals, no_cuts
from shoal.methods.refinement.sse_annealing import NEIGHBOURS, anneal, nearest_of_few
from shoal.methods.running import run

from naive.optimal import small_instance, small_optimum
from strategies import points_and_k


def all_groups(n, k):
    return [group for m in range(k, min(2 * k, n + 1)) for group in combinations(range(n), m)]


def sse(points, group):
    own = points[list(group)]
    return ((own - own.mean(axis=0)) ** 2).sum()


def reduced_cost(points, group, duals):
    value = sse(points, group) - duals.elements[list(group)].sum()
    for inside, divisor, dual_value in zip(*duals.cuts, strict=True):
        value += dual_value * (inside[list(group)].sum() // divisor)
    return value


def random_duals(rng, n, scale, cuts):
    members = np.zeros((cuts, n), bool)
    divisors = rng.integers(2, 4, cuts)
    for line, divisor in zip(members, divisors, strict=True):
        line[rng.choice(n, int(rng.integers(divisor, min(n, 2 * divisor + 2) + 1)), replace=False)] = True
    return Duals(rng.normal(scale, scale, n), Cuts(members, divisors, rng.exponential(scale, cuts)))


@pytest.mark.parametrize("seed", range(60))
def test_pricing_finds_the_cheapest_group_of_every_root(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    n = int(rng.integers(max(k, 3), 12))
    points = rng.normal(size=(n, int(rng.integers(1, 4))))
    if seed % 3 == 0:
        points = points[rng.integers(0, n, n)]
    duals = random_duals(rng, n, 1.0 + seed % 2, cuts=seed % 5)
    found = SsePricer(points, k).price(duals, keep=50)
    rank = np.argsort(np.argsort(-duals.elements, kind="stable"))
    cheapest = np.zeros(n)
    for group in all_groups(n, k):
        root = min(group, key=lambda j: rank[j])
        cheapest[root] = min(cheapest[root], reduced_cost(points, group, duals))
    np.testing.assert_allclose(np.minimum(found.slack, 0.0), cheapest, atol=1e-7)
    for column, cost in zip(found.columns, found.costs, strict=True):
        group = column[column >= 0]
        assert k <= group.size < 2 * k
        assert np.unique(group).size == group.size
        assert cost == pytest.approx(sse(points, group), abs=1e-12)
        assert reduced_cost(points, group, duals) < 0


@pytest.mark.parametrize("seed", range(40))
def test_every_group_below_a_ceiling_is_listed(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    n = int(rng.integers(max(k, 4), 11))
    points = rng.normal(size=(n, 2))
    duals = random_duals(rng, n, 1.0, cuts=seed % 4)
    ceiling = float(rng.exponential(0.5))
    found = SsePricer(points, k).all_below(duals, ceiling, keep=5_000, limit=10**6)
    groups = {tuple(sorted(column[column >= 0].tolist())) for column in found}
    assert groups == {group for group in all_groups(n, k) if reduced_cost(points, group, duals) < ceiling}
    assert len(groups) == len(found)
    if len(groups) > 3:
        assert SsePricer(points, k).all_below(duals, ceiling, keep=1, limit=10**6) is None or len(found) <= n


def test_pricing_some_roots_with_a_higher_order_agrees_with_pricing_all(rng):
    points = rng.normal(size=(60, 2))
    high = rng.uniform(0.1, 0.6, 60)
    lowered = Duals(high - rng.uniform(0.0, 0.05, 60), no_cuts(60))
    pricer = SsePricer(points, 3)
    every = pricer.price(lowered, high=high)
    some = np.sort(rng.choice(60, 20, replace=False))
    part = pricer.price(lowered, high=high, roots=some)
    np.testing.assert_array_equal(part.slack[some], every.slack[some])
    assert (np.delete(part.slack, some) == 0.0).all()
    assert every.slack.min() == pytest.approx(pricer.price(lowered).slack.min(), abs=1e-12)


@pytest.mark.parametrize("limit", [0, 1, 3, 10, 40])
def test_pricing_with_too_few_nodes_still_bounds(limit):
    for seed in range(20):
        rng = np.random.default_rng([limit, seed])
        k, n = 3, 11
        points = rng.normal(size=(n, 2))
        duals = random_duals(rng, n, 2.0, cuts=seed % 3)
        pricer = SsePricer(points, k)
        short, long = pricer.price(duals, limit=limit), pricer.price(duals)
        assert (short.slack <= long.slack + 1e-12).all()


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_of_any_dual_values_is_below_the_optimum_and_the_last_are_feasible(seed):
    points, k = small_instance(seed)
    n = points.shape[0]
    points = points - points.mean(axis=0)
    scale = max(float((points**2).sum()) / n, 1e-300)
    start = np.array_split(np.arange(n), n // k)
    columns = np.full((len(start), 2 * k - 1), -1, np.int32)
    for line, group in zip(columns, start, strict=True):
        line[: group.size] = group
    relaxation = GroupRelaxation(points / np.sqrt(scale), k, columns, column_costs(points / np.sqrt(scale), columns))
    optimum = float(small_optimum(seed)) / scale
    relaxation.solve(Deadline(None))
    for entry in relaxation.log:
        assert entry[2] <= optimum * (1 + 1e-9) + 1e-9
    while relaxation.cut():
        relaxation.solve(Deadline(None))
        assert relaxation.bound <= optimum * (1 + 1e-9) + 1e-9
    best = relaxation.best
    slack = relaxation.pricer.price(best).slack
    lowered = Duals(best.elements + np.minimum(slack, 0.0), best.cuts)
    for group in all_groups(n, k):
        assert reduced_cost(points / np.sqrt(scale), group, lowered) >= -1e-7


@pytest.mark.parametrize("seed", range(150))
def test_small_tables_are_solved_to_the_optimum(seed):
    points, k = small_instance(seed)
    outcome = set_partition(points, k)
    optimum = float(small_optimum(seed))
    assert group_costs(points, outcome.labels).sum() == pytest.approx(
        optimum, rel=1e-6, abs=1e-9 * (1 + np.abs(points).max() ** 2)
    )
    assert outcome.objective.bound <= optimum * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_small_tables_are_solved_to_the_optimum(part):
    for seed in range(1000 + 150 * part, 1000 + 150 * (part + 1)):
        test_small_tables_are_solved_to_the_optimum(seed)


@settings(max_examples=40, deadline=None)
@given(points_and_k(max_n=40, max_k=4))
def test_annealing_never_loses_and_keeps_sizes(problem):
    points, k = problem
    points = points - points.mean(axis=0)
    labels = np.unique(run("mdav", points, k).labels, return_inverse=True)[1]
    better = anneal(points, labels, k, steps_per_record=20.0)
    sizes = np.bincount(better)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert group_costs(points, better).sum() <= group_costs(points, labels).sum() * (1 + 1e-9)


def test_cells_of_a_large_table_hold_complete_groups(monkeypatch, rng):
    monkeypatch.setattr("shoal.methods.refinement.sse_annealing.CELL_RECORDS", 60)
    points = rng.normal(size=(500, 3))
    labels = np.unique(run("mdav", points, 4).labels, return_inverse=True)[1]
    better = anneal(points, labels, 4, steps_per_record=30.0)
    assert np.bincount(better).min() >= 4
    assert group_costs(points, better).sum() < 0.95 * group_costs(points, labels).sum()


def test_the_same_groups_with_any_number_of_threads(rng):
    points = rng.normal(size=(300, 3))
    found = []
    for threads in (1, 2, 5):
        set_threads(threads)
        try:
            found.append(set_partition(points, 3, steps_per_record=20.0, seed=5).labels)
        finally:
            set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_never_worse_than_ona_star(rng):
    points = rng.lognormal(size=(200, 4))
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    for k in (2, 3, 6):
        outcome = set_partition(points, k, steps_per_record=20.0)
        rival = np.unique(run("ona-star", points, k).labels, return_inverse=True)[1]
        assert group_costs(points, outcome.labels).sum() <= group_costs(points, rival).sum() * (1 + 1e-12)
        assert 0.0 <= outcome.objective.gap < 0.5


class Impatient(Progress):
    """Presses Ctrl-C after some steps."""

    def __init__(self, patience):
        super().__init__()
        self.patience = patience

    def advance(self, steps=1):
        self.patience -= steps > 0
        if self.patience == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("patience", [45, 60, 85, 100])
def test_an_interrupt_returns_the_best_grouping_so_far(patience, rng, monkeypatch):
    points = rng.normal(size=(120, 3))
    start = np.unique(run("mdav", points, 3).labels, return_inverse=True)[1]
    monkeypatch.setattr("shoal.methods.optimal.set_partition._first_groups", lambda *_: Outcome(start))
    outcome = set_partition(points, 3, steps_per_record=20.0, progress=Impatient(patience))
    assert outcome.stopped == "interrupted"
    assert np.bincount(outcome.labels).min() >= 3
    assert group_costs(points, outcome.labels).sum() <= group_costs(points, start).sum()


def test_a_time_limit_is_reported(rng):
    outcome = set_partition(rng.normal(size=(300, 3)), 3, time_limit=0.5)
    assert np.bincount(outcome.labels).min() >= 3
    assert outcome.stopped in {"finished", "time limit"}
    assert outcome.objective.gap >= 0
    assert set_partition(rng.normal(size=(300, 3)), 3, time_limit=1e-3).stopped == "time limit"


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_gap_does_not_depend_on_the_scale(scale, rng):
    points = 1e3 + rng.normal(size=(60, 2))
    plain = set_partition(points, 3, steps_per_record=20.0).objective
    scaled = set_partition(points * scale, 3, steps_per_record=20.0).objective
    assert scaled.gap == pytest.approx(plain.gap, abs=1e-4)
    assert scaled.bound == pytest.approx(plain.bound * scale**2, rel=1e-3)


def test_equal_records_cost_nothing():
    outcome = set_partition(np.ones((7, 2)), 3)
    assert np.bincount(outcome.labels).min() >= 3
    assert outcome.objective.optimal


def test_wrong_options_raise(rng):
    points = rng.normal(size=(10, 2))
    with pytest.raises(ParameterError, match="time_limit=-1 is not possible"):
        run("set-partition", points, 2, time_limit=-1)
    with pytest.raises(ParameterError, match="steps_per_record=0 is not possible; choose a number above 0"):
        run("set-partition", points, 2, steps_per_record=0)


def test_a_search_that_starts_with_annealing_is_never_worse_than_annealing(rng):
    points = rng.normal(size=(150, 3))
    better = set_partition(points, 4, steps_per_record=1.0, bound="none", start="annealing")
    rival = run("annealing", points, 4, **search_work(150, 4, "balanced", d=3).options)
    assert group_costs(points, better.labels).sum() <= group_costs(points, rival.labels).sum() * (1 + 1e-12)
    plain = set_partition(points, 4, steps_per_record=1.0, bound="none")
    assert group_costs(points, plain.labels).sum() > group_costs(points, rival.labels).sum()


def test_the_nearest_records_of_small_tables_are_those_of_a_tree(repetitions):
    """Without SciPy, and only where no two distances of a record are so near that a tree may order them otherwise."""
    rng, answered = np.random.default_rng(5), 0
    for number in range(repetitions(2_000)):
        n, d = int(rng.integers(1, 120)), int(rng.integers(1, 9))
        points = rng.normal(size=(n, d))
        if number % 4 == 1:
            points = np.round(3 * points)
        elif number % 4 == 2:
            points *= 10.0 ** rng.integers(-9, 9, size=d)
        elif number % 4 == 3:
            points += 1e6 * rng.normal()
        wanted = min(NEIGHBOURS + 1, n)
        found = nearest_of_few(points, wanted)
        if found is not None:
            answered += 1
            assert (found == cKDTree(points).query(points, k=np.arange(1, wanted + 1))[1]).all()
    assert answered > number / 2


def test_nearest_records_that_are_equally_near_are_left_to_the_tree():
    grid = np.array([[x, y] for x in range(5) for y in range(5)], float)
    assert nearest_of_few(grid, 3) is None
    assert nearest_of_few(np.array([[0.0], [0.0], [5.0], [9.0]]), 2) is None  # a record that is not its own nearest
    assert nearest_of_few(np.random.default_rng(0).normal(size=(1_300, 2)), 3) is None
