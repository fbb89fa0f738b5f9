"""Lists of the groups nearest to each record, against all distances; and the search that uses them."""

import numpy as np
import pytest

from shoal.core.threads import set_threads
from shoal.methods.auto import choose
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.kernels.record_lists import GROUPS
from shoal.methods.refinement.record_annealing import RENEWALS_PER_SEARCH, Chain, RecordLists, anneal_records, cooled
from shoal.methods.running import run

from naive import record_lists as naive


def whole_numbers(rng, n, d, spread=4):
    """Coordinates whose squared distances are exact in single precision, with many ties."""
    return rng.integers(-spread, spread + 1, size=(n, d)).astype(np.float64)


def found(points, labels, alive, centroids):
    lists = RecordLists(points)
    lists.renew(np.ascontiguousarray(centroids[alive].T, np.float32), alive, labels)
    return lists.remembered[: len(points)]


def expected(points, labels, alive, centroids, wanted=8):
    lists = naive.nearest_groups(points, labels, alive, centroids, wanted)
    return [row + [-1] * (wanted - len(row)) for row in lists]


@pytest.mark.parametrize(("n", "groups", "d"), [(1, 1, 1), (7, 3, 2), (50, 9, 1), (33, 40, 13), (30, GROUPS + 5, 4)])
def test_the_nearest_of_all_groups_are_those_of_a_scan(rng, repetitions, n, groups, d):
    for _ in range(repetitions(30)):
        points, centroids = whole_numbers(rng, n, d), whole_numbers(rng, groups + 3, d)
        alive = np.sort(rng.choice(groups + 3, groups, replace=False))
        labels = alive[rng.integers(0, groups, n)]
        assert found(points, labels, alive, centroids).tolist() == expected(points, labels, alive, centroids)


def test_lists_of_the_groups_of_the_record_would_differ(rng):
    """The lists that renew_record_lists makes, from the groups near the own group, are not these."""
    chain = Chain(rng.normal(size=(400, 30)), np.full(80, 5), 5, 9, (0,))
    chain._renew()
    by_record = Chain(rng.normal(size=(400, 30)), np.full(80, 5), 5, 9, (0,), "record")
    by_record.points[...] = chain.points
    by_record.lists.points[:400] = chain.points
    by_record._renew()
    alive = np.arange(80)
    nearest = expected(chain.points, chain.group, alive, by_record.centroids, 4)
    assert (by_record.near == nearest).mean() > 0.999  # single precision may exchange two groups at equal distances
    assert (chain.near == nearest).mean() < 0.8


def test_a_record_is_compared_with_all_groups_every_few_renewals(rng):
    points, centroids = whole_numbers(rng, 8, 3), whole_numbers(rng, 20, 3)
    columns, labels = np.ascontiguousarray(centroids.T, np.float32), np.zeros(8, np.int64)
    lists = RecordLists(points)
    for number in range(2 * RENEWALS_PER_SEARCH):
        lists.remembered[:] = -1
        lists.renew(columns, np.arange(20), labels)
        assert (lists.remembered[:8] >= 0).all() == (number % RENEWALS_PER_SEARCH == 0)


def test_groups_that_have_vanished_and_the_own_group_are_not_chosen(rng):
    points = rng.normal(size=(40, 3))
    chain = Chain(points, np.full(8, 5), 5, 9, (0,), "record")
    chain._renew()
    chain.lists.remembered[:, 0] = 3  # remembered from an earlier renewal, since then dissolved
    gone = chain.members[3].copy()[:5]
    for i in gone:
        chain.group[i] = 0
    chain.sizes[3] = 0
    chain.near_groups[:] = np.where(chain.near_groups == 3, 4, chain.near_groups)
    chain._renew()
    assert not (chain.near == 3).any()
    assert not (chain.near == chain.group[:, None]).any()


def test_the_temperature_falls_with_the_share_of_the_variance_inside_groups(rng, repetitions):
    for _ in range(repetitions(20)):
        points, labels = rng.normal(size=(60, 4)), np.repeat(np.arange(12), 5)
        points += rng.choice([0, 3]) * rng.normal(size=(12, 4))[labels]
        assert cooled(points, labels) == pytest.approx(naive.share_between(points, labels) ** 2, abs=0.0006)
    assert cooled(np.ones((10, 2)), np.repeat([0, 1], 5)) == 1.0


TABLES = {
    "sphere": lambda rng: (x := rng.normal(size=(300, 25))) / np.linalg.norm(x, axis=1)[:, None],
    "ties": lambda rng: rng.integers(0, 2, size=(300, 14)).astype(float),
    "constant columns": lambda rng: np.column_stack([np.ones((300, 11)), rng.normal(size=(300, 3))]),
    "zeros": lambda rng: rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.1),
    "one far record": lambda rng: np.concatenate([rng.normal(size=(299, 13)), np.full((1, 13), 1e12)]),
    "huge offset": lambda rng: 1e9 + rng.normal(size=(300, 13)),
    "tiny": lambda rng: 1e-200 * rng.normal(size=(300, 13)),
    "equal": lambda _rng: np.ones((300, 13)),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [2, 5, 140])
def test_the_search_keeps_k_and_is_never_worse_than_its_start(rng, name, k):
    points = TABLES[name](rng)
    start = run("mdav", points, k).labels
    labels = anneal_records(points, start, k, passes=2, sweeps=6, costly_sweeps=4, neighbours="record").labels
    assert k <= np.bincount(labels).min() <= np.bincount(labels).max() <= 2 * k - 1
    assert total_cost(points, labels) <= total_cost(points, start) * (1 + 1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_the_smallest_tables_are_searched(rng, n):
    labels = run("annealing", rng.normal(size=(n, 20)), 2, neighbours="record").labels
    assert np.bincount(labels).min() >= min(n, 2)


def test_many_attributes_lose_less_with_lists_of_each_record(rng):
    points = rng.normal(size=(1_500, 40))
    lost = {
        which: total_cost(points, run("annealing", points, 5, sweeps=20, passes=1, neighbours=which).labels)
        for which in ("group", "record")
    }
    assert lost["record"] < 0.985 * lost["group"]


def test_groups_do_not_depend_on_the_number_of_threads(rng):
    points = rng.normal(size=(15_500, 13))
    options = {"start": "mona-plus", "start_block": 2_500, "start_rounds": 0, "passes": 1, "sweeps": 2,
               "costly_sweeps": 0, "neighbours": "record"}  # fmt: skip
    labels = []
    for threads in (1, 2):
        set_threads(threads)
        labels.append(run("annealing", points, 5, **options).labels)
    set_threads(None)
    assert (labels[0] == labels[1]).all()


@pytest.mark.parametrize(("effort", "few"), [("fast", 20), ("balanced", 12), ("best", 12)])
def test_auto_uses_them_for_many_attributes_only(effort, few):
    assert "neighbours" not in choose(50_000, few, 5, effort=effort).options
    for n in (2_000, 50_000, 500_000):
        assert choose(n, few + 1, 5, effort=effort).options["neighbours"] == "record"
    blocks = [choose(50_000, d, 5, effort=effort).options["start_block"] for d in (13, 50, 200, 2_000)]
    assert blocks == [50_000, 16_000, 4_000, 2_500]
