"""The search by annealing: compared with a slow version, never worse than its start, the same wherever it runs."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core import deadline
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.core.threads import set_threads
from shoal.errors import GroupTooSmall
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.kernels.logarithm_table import exponential_table
from shoal.methods.programs.group_selection import select_groups
from shoal.methods.refinement.crossover import crossover
from shoal.methods.refinement.record_annealing import Chain, anneal_records, power
from shoal.methods.running import run

from naive import annealing as naive


def block(rng, n, d, k):
    sizes = []
    while sum(sizes) < n:
        sizes.append(int(rng.integers(k, 2 * k)))
    return rng.normal(size=(sum(sizes), d)), np.array(sizes)


def both(rng, n, d, k, sweeps=3, *, rare=1311, temperature=0.5):
    """The groups that the compiled and the slow search find from the same lists and random numbers."""
    points, sizes = block(rng, n, d, k)
    chain = Chain(points.copy(), sizes, k, 2 * k - 1, (int(rng.integers(1000)),))
    chain._renew()
    unused = chain.free[1 : chain.free[0] + 1].tolist()
    slow = naive.Annealing(
        chain.points.copy(), np.split(np.arange(len(points)), np.cumsum(sizes)[:-1]), k, chain.near.copy(),
        chain.near_groups.copy(), chain.unit.copy(), unused,
    )  # fmt: skip
    bits = naive.RandomBits(chain.state[0])
    for number in range(sweeps):
        chain_sweep(chain, temperature * 0.7**number)
        slow.sweep(bits, chain.exponentials, temperature * 0.7**number, rare)
    compiled = {frozenset(np.flatnonzero(chain.group == g).tolist()) for g in np.flatnonzero(chain.sizes)}
    return compiled, {frozenset(members) for members in slow.groups.values() if members}


def chain_sweep(chain, temperature):
    from shoal.methods.kernels.annealing_moves import sweep

    sweep(
        chain.points, chain.group, chain.place, chain.members, chain.sizes, chain.centroids, chain.near,
        chain.near_groups, chain.unit, chain.free, *chain.work, chain.exponentials, chain.state, chain.k, chain.largest,
        temperature,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "d", "k"), [(30, 2, 2), (40, 3, 3), (60, 1, 3), (80, 5, 5)])
def test_sweeps_make_the_moves_of_the_slow_version(n, d, k, repetitions):
    for seed in range(repetitions(60)):
        compiled, slow = both(np.random.default_rng(seed), n, d, k)
        assert compiled == slow, seed


def test_a_search_without_dissolved_and_founded_groups_is_noticed():
    different = [compiled != slow for compiled, slow in (
        both(np.random.default_rng(seed), 80, 3, 3, 6, rare=0) for seed in range(4)
    )]  # fmt: skip
    assert any(different)


def test_a_wrong_cost_is_noticed(monkeypatch):
    monkeypatch.setattr(
        naive, "squared_error", lambda points, members: float(((points[members] - points[members][0]) ** 2).sum())
    )
    assert any(compiled != slow for compiled, slow in (both(np.random.default_rng(s), 40, 3, 3) for s in range(3)))


@st.composite
def groupings(draw):
    n, k = draw(st.integers(4, 60)), draw(st.integers(2, 4))
    n = max(n, k)
    d = draw(st.integers(1, 3))
    values = st.one_of(st.integers(-2, 2), st.floats(-1e3, 1e3, allow_subnormal=False))
    cells = draw(st.lists(values, min_size=n * d, max_size=n * d))
    offset, scale = draw(st.sampled_from([(0, 1), (1e6, 1), (0, 1e-9), (0, 1e9)]))
    points = np.array(cells, float).reshape(n, d) * scale + offset
    labels = np.minimum(np.random.default_rng(draw(st.integers(0, 99))).permutation(n) // k, max(n // k - 1, 0))
    return points, labels, k


@given(groupings(), st.integers(0, 3))
def test_the_result_is_never_worse_and_has_the_sizes(case, seed):
    points, labels, k = case
    found = anneal_records(points, labels, k, passes=2, sweeps=5, costly_sweeps=5, seed=seed).labels
    grouping = Grouping(found, k)
    assert grouping.sizes.max() <= 2 * k - 1 or len(points) < 2 * k
    before, after = total_cost(points, labels), total_cost(points, found)
    assert after <= before * (1 + 1e-9) + 1e-12 * (1 + np.abs(points).max() ** 2)


def test_a_search_that_keeps_the_last_groups_is_worse_somewhere(rng):
    """Without the crossover the claim above is false: hot chains end above good starts."""
    points = rng.normal(size=(60, 3))
    start = run("set-partition", points, 3).labels
    worse = False
    for seed in range(20):
        order = np.argsort(start, kind="stable")
        chain = Chain(points[order], np.bincount(start), 3, 5, (seed,))
        chain.walk(3, 0.5, 1.0)
        found = np.empty(60, np.int64)
        found[order] = chain.labels()
        worse |= total_cost(points, found) > total_cost(points, start)
    assert worse


def test_groups_below_k_are_an_error(rng):
    with pytest.raises(GroupTooSmall):
        anneal_records(rng.normal(size=(5, 2)), np.array([0, 0, 0, 0, 1]), 2)


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_a_crossover_takes_the_cheaper_groups_of_each_component(seed, n):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    first, second = (np.unique(rng.integers(0, max(1, n // 3), n), return_inverse=True)[1] for _ in range(2))
    found = crossover(points, first, second)
    for records in naive.components(first, second):
        costs = [
            sum(naive.squared_error(points, np.flatnonzero(labels == g)) for g in set(labels[records].tolist()))
            for labels in (first, second, found)
        ]
        assert costs[2] == pytest.approx(min(costs[:2]))


def test_the_selected_groups_are_the_cheapest_of_all_selections(rng):
    points = rng.normal(size=(12, 2))
    groupings = [np.array([0, 1, 2, 3])[rng.permutation(12) // 3] for _ in range(5)]
    groupings = [np.unique(labels, return_inverse=True)[1] for labels in groupings]
    groupings.append(np.concatenate([groupings[0][:6], groupings[0][6:]]))
    found = select_groups(points, groupings, 3, 100, 100)
    assert total_cost(points, found) <= min(total_cost(points, labels) for labels in groupings) + 1e-12
    allowed = {frozenset(np.flatnonzero(labels == g).tolist()) for labels in groupings for g in range(4)}
    assert {frozenset(np.flatnonzero(found == g).tolist()) for g in range(found.max() + 1)} <= allowed


def test_the_table_of_logarithms_is_right_to_its_last_digit():
    with localcontext() as context:
        context.prec = 40
        exact = [-(Decimal(2 * j + 1) / 2048).ln() * 2**28 for j in range(1024)]
    units = exponential_table() * 2.0**28
    assert all(abs(Decimal(float(unit)) - value) <= Decimal("0.5") for unit, value in zip(units, exact, strict=True))


def test_powers_do_not_depend_on_the_c_library():
    assert power(0.2, 3, 7) == pytest.approx(0.2 ** (3 / 7), rel=1e-15)


@pytest.mark.parametrize("n", [300, 16_000])
def test_the_groups_are_the_same_for_one_and_two_threads_and_on_repeat(n, rng):
    points = rng.normal(size=(n, 3))
    options = {"chains": 3, "program": True} if n == 300 else {"start": "mona-plus", "start_block": 3_000}
    found = []
    for threads in (1, 2, 2):
        set_threads(threads)
        found.append(run("annealing", points, 4, passes=2, sweeps=4, reheats=1, reheat_sweeps=3, **options).labels)
    set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[1], found[2])
    other = run("annealing", points, 4, passes=2, sweeps=4, reheats=1, reheat_sweeps=3, seed=1, **options).labels
    assert not np.array_equal(found[0], other)


def test_the_stated_options_repeat_a_search_that_a_time_limit_ended(rng, monkeypatch):
    points = rng.normal(size=(400, 3))
    monkeypatch.setattr(deadline, "now", Clock(0.01))
    timed = run("annealing", points, 3, passes=1, sweeps=20, reheat_sweeps=20, time_limit=0.6)
    monkeypatch.undo()
    assert timed.stopped == "time limit"
    assert timed.options["reheats"] >= 1
    again = run("annealing", points, 3, **timed.options)
    np.testing.assert_array_equal(timed.labels, again.labels)
    fewer = run("annealing", points, 3, **{**timed.options, "reheats": 0})
    assert total_cost(points, fewer.labels) >= total_cost(points, again.labels)


def test_an_interrupt_returns_the_best_groups_so_far(rng):
    class Impatient(Progress):
        stages = 0

        def stage(self, name, total=None):  # noqa: ARG002 - the protocol has it
            self.stages += "searching" in name
            if self.stages == 3:
                raise KeyboardInterrupt

    points = rng.normal(size=(300, 3))
    outcome = run("annealing", points, 3, passes=1, sweeps=10, costly_sweeps=0, reheats=50, progress=Impatient())
    assert outcome.stopped == "interrupted"
    assert outcome.options["reheats"] == 1
    np.testing.assert_array_equal(outcome.labels, run("annealing", points, 3, **outcome.options).labels)


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_auto_is_below_the_method_that_it_starts_from(effort, rng):
    points = rng.normal(size=(500, 4)) * [1, 2, 3, 10]
    start, found = run("ona-star", points, 4), run("auto", points, 4, effort=effort)
    assert found.method == "annealing"
    assert total_cost(points, found.labels) < total_cost(points, start.labels)


@settings(max_examples=20)
@given(st.integers(2, 6), st.integers(0, 9))
def test_degenerate_tables_are_grouped(k, extra):
    for n in (k, 2 * k - 1, 2 * k + extra):
        for points in (np.zeros((n, 2)), np.repeat(np.eye(2), n, axis=0)[:n], np.arange(2.0 * n).reshape(n, 2)):
            Grouping(shoal.group(points, k), k)


def test_windows_and_hotter_chains_find_what_moves_of_one_record_do_not():
    """On this table the chains of annealing@1 end above the optimum, which set-partition proves."""
    rng = np.random.default_rng(8)
    points = rng.normal(size=(32, 6)) * rng.exponential(size=(32, 1))
    costs = {
        name: total_cost(points, run("annealing", points, 5, chains=4, passes=1, sweeps=60, **options).labels)
        for name, options in {"moves": {}, "hotter": {"chain_heat": 1.5}, "windows": {"windows": 60.0}}.items()
    }
    proven = run("set-partition", points, 5)
    assert proven.objective.gap == pytest.approx(0.0, abs=1e-5)
    assert costs["windows"] == pytest.approx(proven.objective.value)
    assert costs["moves"] > proven.objective.value * (1 + 1e-6)
    assert costs["hotter"] != costs["moves"]


class Clock:
    """A clock that advances each time it is read."""

    def __init__(self, step):
        self.step, self.reads = step, 0

    def __call__(self):
        self.reads += 1
        return self.step * self.reads


def test_passes_that_a_deadline_leaves_out_are_stated_and_repeated(rng, monkeypatch):
    points = rng.normal(size=(200, 3))
    labels = np.arange(200) // 4
    before, seen = total_cost(points, labels), set()
    for limit in range(2, 50, 4):
        monkeypatch.setattr(deadline, "now", Clock(1.0))
        timed = anneal_records(
            points, labels, 4, passes=5, sweeps=3, costly_sweeps=2, deadline=deadline.Deadline(limit)
        )
        monkeypatch.undo()
        done = timed.diagnostics
        again = anneal_records(
            points, labels, 4, passes=5, sweeps=3, made=done["passes"], costly_sweeps=done["costly_sweeps"]
        )
        assert np.array_equal(timed.labels, again.labels)
        assert total_cost(points, timed.labels) <= before
        assert (timed.stopped == "finished") == (done["passes"] == 5 and done["costly_sweeps"] == 2)
        seen.add(done["passes"])
        if 0 < done["passes"] < 5:  # not those of another schedule
            other = anneal_records(points, labels, 4, passes=done["passes"], sweeps=3)
            assert not np.array_equal(timed.labels, other.labels)
    assert {0, 5} < seen
