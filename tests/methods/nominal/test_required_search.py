"""The search of groups that satisfy requirements: compared with a slow version, with all groupings, and recounted."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.core.threads import set_threads
from shoal.flow.auto_search import better_groups
from shoal.methods.kernels.mixed_moves import GroupRule, mixed_sweep
from shoal.methods.refinement import mixed_search, required_search
from shoal.methods.refinement.crossover import group_costs_by_column
from shoal.methods.refinement.mixed_search import MixedChain
from shoal.methods.refinement.mixed_table import group_figures, mixed_table
from shoal.methods.refinement.required_search import (
    Required,
    required_work,
    search_windows,
    search_within,
    windows_work,
)
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import count_violating, satisfy_requirements
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_requirement_table
from shoal.schema.requirements import Requirements

from naive import annealing as naive_annealing
from naive import mixed as naive

CASES = (
    {"l": 2}, {"l": 3}, {"l": 2, "l_kind": "entropy"}, {"l": 2, "l_kind": "recursive", "c": 2.0}, {"t": 0.3},
    {"alpha": 0.6}, {"l": 2, "t": 0.4},
)  # fmt: skip


def case(seed, requested, n, k=3, values=4):
    """A table of two numbers and two categories, a requirement on a value that depends on them, groups that satisfy."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2))
    categories = rng.integers(0, 3, (n, 2)).astype(float)
    codes = np.searchsorted([-0.8, 0.2, 0.9][: values - 1], numbers[:, 0] + rng.normal(0, 0.7, n))
    distance = ORDERED if seed % 2 else equal_distance(values)
    found = Values("s", codes.astype(np.int64), values, distance)
    table = build_requirement_table(Requirements(k=k, **requested), [found])
    mixed = mixed_table(np.column_stack([numbers, categories]), np.array([False, False, True, True]))
    start = np.repeat(np.arange(n // k), k)
    start = np.append(start, np.full(n - start.size, start[-1]))
    points = np.column_stack([numbers, categories])
    labels = satisfy_requirements(points, start, k, codes[:, None], table).labels
    assert count_violating(np.unique(labels, return_inverse=True)[1], codes[:, None], table) == 0
    return mixed, np.unique(labels, return_inverse=True)[1], Required(k, codes[:, None], table)


def cost(table, labels):
    return float(group_figures(table, labels).costs.sum())


def satisfies(required, members):
    codes = required.codes[sorted(members)]
    return count_violating(np.zeros(len(members), np.int64), codes, required.table) == 0


@pytest.mark.parametrize("requested", CASES, ids=str)
def test_sweeps_make_the_moves_of_the_slow_version(requested, repetitions):
    refused = 0
    for seed in range(repetitions(30)):
        table, labels, required = case(seed, requested, 45)
        order = np.argsort(labels, kind="stable")
        sizes, codes = np.bincount(labels), np.ascontiguousarray(required.codes[order])
        largest = max(int(sizes.max()), 5)
        rule = GroupRule(
            codes, required.table, 9, np.zeros((1, largest + 2), np.int64), np.zeros(largest + 2, np.int64)
        )
        chain = MixedChain(table.part(order), sizes, 3, (seed,), largest=largest, rule=rule)
        chain.renew()
        unused = chain.free[1 : chain.free[0] + 1].tolist()
        starts = np.split(np.arange(45), np.cumsum(sizes)[:-1])
        inside = Required(3, codes, required.table)
        part = table.part(order)
        asked = []

        def allowed(members, inside=inside, asked=asked):
            asked.append(satisfies(inside, members))
            return asked[-1]

        def loss(members, part=part):
            some = part.part(np.array(sorted(members), np.int64))
            return cost(some, np.zeros(some.n, np.int64)) if members else 0.0

        slow = naive.MixedAnnealing(
            loss, starts, 3, chain.near, chain.unit, unused, allowed=allowed, most=9, largest=largest
        )
        bits = naive_annealing.RandomBits(chain.state[0])
        for number in range(2):
            temperature = 0.4 * 0.5**number
            mixed_sweep(
                *chain.records, *chain.groups, chain.near, chain.unit, chain.free, *chain.work, chain.exponentials,
                chain.state, 3, largest, temperature, rule,
            )  # fmt: skip
            slow.sweep(bits, chain.exponentials, temperature)
        compiled = {frozenset(np.flatnonzero(chain.groups[0] == g).tolist()) for g in np.flatnonzero(chain.sizes)}
        assert compiled == {frozenset(members) for members in slow.groups.values() if members}, seed
        refused += asked.count(False)
    assert refused  # the requirement mattered


@pytest.mark.parametrize("requested", CASES, ids=str)
def test_groups_satisfy_the_requirement_and_lose_less(requested, repetitions):
    less = 0
    for seed in range(repetitions(40)):
        table, labels, required = case(seed, requested, 120)
        found = search_within(table, labels, required, passes=1, sweeps=30, seed=seed)
        assert count_violating(found, required.codes, required.table) == 0
        assert np.bincount(found).min() >= 3
        assert cost(table, found) <= cost(table, labels) * (1 + 1e-12)
        less += cost(table, found) < 0.95 * cost(table, labels)
    assert less >= repetitions(40) // 2


def test_a_search_that_ends_worse_gives_the_groups_it_began_with(monkeypatch):
    """One sweep so hot that it destroys groups that a long search found."""
    for seed in range(4):
        table, labels, required = case(seed, {"l": 2}, 120)
        good = search_within(table, labels, required, passes=1, sweeps=200)
        with monkeypatch.context() as hot:
            hot.setattr(required_search, "HOT", 50.0)
            hot.setattr(required_search, "COLD", 50.0)
            found = search_within(table, good, required, passes=1, sweeps=1)
        assert cost(table, found) <= cost(table, good) * (1 + 1e-12)
        assert count_violating(found, required.codes, required.table) == 0


def test_of_two_starts_the_cheaper_groups_are_taken():
    class Start:
        def __init__(self, labels):
            self.grouping = SimpleNamespace(labels=labels)

        def regrouped(self, labels, _step):
            return labels

    points = np.random.default_rng(0).normal(size=(60, 2))
    near = np.argsort(np.argsort(points[:, 0])) // 4
    far = np.arange(60) // 4
    data = SimpleNamespace(points=lambda: points)
    for first, second in ((near, far), (far, near)):
        found = better_groups(Start(first), Start(second), data)
        assert group_costs_by_column(points, found).sum() <= group_costs_by_column(points, near).sum() * (1 + 1e-12)


def test_a_largest_size_is_kept(repetitions):
    for seed in range(repetitions(40)):
        table, labels, required = case(seed, {"l": 2}, 90)
        most = int(np.bincount(labels).max())
        bounded = Required(3, required.codes, required.table, most)
        assert np.bincount(search_within(table, labels, bounded, passes=1, sweeps=30)).max() <= most


def test_large_groups_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(required_search, "LARGEST", 6)
    table, labels, required = case(4, {"t": 0.25}, 120)
    found = search_within(table, labels, required, passes=1, sweeps=30)
    large = [frozenset(np.flatnonzero(labels == g)) for g in np.flatnonzero(np.bincount(labels) > 6)]
    assert large
    assert set(large) <= {frozenset(np.flatnonzero(found == g)) for g in range(int(found.max()) + 1)}


def groupings(records, k):
    """All divisions into groups of at least k records."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for size in range(k - 1, len(rest) + 1):
        for chosen in combinations(rest, size):
            left = [i for i in rest if i not in chosen]
            if not left or len(left) >= k:
                yield from ([(first, *chosen), *others] for others in groupings(left, k))


def test_small_tables_reach_the_optimum(repetitions):
    started = reached = 0
    tried = repetitions(60)
    for seed in range(tried):
        table, labels, required = case(seed, {"l": 2}, 9, k=2, values=3)
        best = np.inf
        for groups in groupings(list(range(9)), 2):
            if all(satisfies(required, group) for group in groups):
                inside = np.empty(9, np.int64)
                for number, group in enumerate(groups):
                    inside[list(group)] = number
                best = min(best, cost(table, inside))
        found = cost(table, search_within(table, labels, required, passes=1, sweeps=200))
        assert found >= best - 1e-9
        reached += found <= best + 1e-9
        started += cost(table, labels) <= best + 1e-9
    assert reached >= 0.6 * tried  # 40 of 60, from 15: with nine records, few moves violate nothing on the way
    assert started < reached


def test_blocks_and_threads_find_the_same_groups(monkeypatch):
    monkeypatch.setattr(mixed_search, "ONE_BLOCK_RECORDS", 100)
    monkeypatch.setattr(required_search, "BLOCK_RECORDS", 200)
    table, labels, required = case(1, {"l": 2}, 1_500)
    found = []
    for threads in (1, 2, 2):
        set_threads(threads)
        try:
            found.append(search_within(table, labels, required, passes=2, sweeps=5))
        finally:
            set_threads(None)
    assert (found[0] == found[1]).all()
    assert (found[1] == found[2]).all()
    assert count_violating(found[0], required.codes, required.table) == 0
    assert cost(table, found[0]) < cost(table, labels)


def test_the_work_grows_with_the_effort_and_is_bounded():
    for n in (100, 5_000, 20_000, 2_000_000):
        visits = [passes * sweeps for passes, sweeps in (required_work(n, e) for e in ("fast", "balanced", "best"))]
        assert visits == sorted(visits)
        assert visits[0] < visits[2]


def test_windows_find_groups_with_less_squared_error(repetitions):
    for seed in range(repetitions(30)):
        points = np.random.default_rng(seed).integers(0, 4, (150, 3)).astype(float)
        start = np.arange(150) // 5
        found = search_windows(points, start, 5, steps=10.0)
        assert np.bincount(found).min() >= 5
        assert np.bincount(found).max() <= 9
        assert group_costs_by_column(points, found).sum() < group_costs_by_column(points, start).sum()


def test_windows_are_left_out_where_they_would_take_long():
    assert windows_work(2_000, 5, 5, "fast") == 0
    assert 0 < windows_work(2_000, 5, 5, "balanced") < windows_work(2_000, 5, 5, "best")
    assert windows_work(100_000, 5, 5, "balanced") == 0


def steps(release):
    return [step["name"] for step in release.manifest["method"]["steps"]]


def test_tables_of_numbers_have_a_second_start_from_windows():
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 6, (1_200, 3))
    people = pl.DataFrame(numbers, schema=["a", "b", "c"]).with_columns(
        s=pl.Series(np.where(rng.random(1_200) < 0.8, "usual", np.where(numbers[:, 0] > 2, "rare", "other")))
    )
    roles = {"quasi": ["a", "b", "c"], "confidential": ["s"], "kinds": dict.fromkeys("abc", "numeric")}
    found = shoal.protect(people, 4, **roles, l=2, method="auto")
    assert steps(found) == ["requirements", "search in windows", "search within the requirements"]
    assert "search in windows" not in steps(shoal.protect(people, 4, **roles, l=2, method="auto", effort="fast"))
    assert "search in windows" not in steps(shoal.protect(people, 4, **roles, l=2, method="annealing"))
    again = shoal.protect(people, 4, **roles, l=2, method="auto")
    assert again.data.equals(found.data)


def release(method, **options):
    people = shoal.datasets.patients(600)
    return shoal.protect(
        people, 4, quasi=["age", "income", "sex"], confidential=["diagnosis"], unnamed="other", l=3, method=method,
        **options,
    )  # fmt: skip


def test_auto_searches_within_the_requirements_and_others_do_not():
    searched, plain = release("auto"), release("annealing")
    assert steps(searched)[-1] == "search within the requirements"
    assert "search within the requirements" not in str(plain.manifest["method"])
    assert searched.loss.information_loss < plain.loss.information_loss
    assert searched.loss.information_loss < release("auto", effort="fast").loss.information_loss


def test_without_a_violation_nothing_is_searched():
    people = shoal.datasets.patients(200)
    with_l = shoal.protect(
        people, 4, quasi=["age", "income"], confidential=["diagnosis"], unnamed="other", l=1, method="auto"
    )
    assert "search within" not in str(with_l.manifest["method"])
