"""The search by exact loss: compared with a slow version, with the reported loss, and with wrong costs."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.core.threads import set_threads
from shoal.methods.contract import ColumnCost
from shoal.methods.kernels.mixed_moves import mixed_sweep
from shoal.methods.mixed_effort import mixed_work, mixed_work_within
from shoal.methods.refinement import mixed_search
from shoal.methods.refinement.mixed_search import MixedChain, anneal_mixed
from shoal.methods.refinement.mixed_table import exact_crossover, group_figures, mixed_table
from shoal.methods.registry import get_method
from shoal.methods.running import run

from naive import annealing as naive_annealing
from naive import mixed as naive

TREE = ColumnCost(
    "hierarchy",
    ancestors=np.array([[0, 1, 2, 3], [4, 4, 5, 5], [6, 6, 6, 6]]),
    options=np.array([[1.0, 1, 1, 1], [2, 2, 2, 2], [4, 4, 4, 4]]),
)
REGIONS = shoal.Hierarchy([("north", "cold"), ("east", "cold"), ("south", "warm"), ("west", "warm")])
KINDS = {
    "means and modes": ["mean", "mean", "mode", "mode"],
    "modes only": ["mode", "mode", "mode"],
    "medians": ["median", "mean", "mode"],
    "positions": ["position", "mean", "mode", "mode"],
    "ranges": ["range", "min", "max", "mean", "mode"],
    "general": ["mean", "set", "suppress", TREE, "suppressed number"],
}


def case(rng, names, n, weighted):
    """A table with columns of these costs."""
    costs, nominal, columns = [], [], []
    for name in names:
        code = name in {"mode", "set", "suppress"} or name is TREE
        nominal.append(code)
        columns.append(rng.integers(0, 4, n).astype(float) if code else rng.normal(size=n))
        if name == "position":
            costs.append(ColumnCost("median", ordinal=True))
            columns[-1] = np.round(columns[-1] * 2) / 2
        else:
            costs.append(name if name is TREE else ColumnCost("suppress" if name == "suppressed number" else name))
    weights = rng.uniform(1, 4, n) if weighted else None
    prices = np.ones(len(names)) if "mean" not in names else rng.uniform(0.5, 2, len(names))
    return np.column_stack(columns), np.array(nominal), costs, prices, weights


def loss_of(mixed, nominal, costs, prices, weights):
    weights = np.ones(len(mixed)) if weights is None else weights / weights.mean()
    return lambda members: naive.group_loss(mixed, nominal, costs, prices, weights, list(members))


def table_of(mixed, nominal, costs, prices, weights):
    return mixed_table(mixed, nominal, column_weights=prices, record_weights=weights, column_costs=costs)


def both(seed, names, k=3, *, weighted=False, sweeps=2, wrong=None):
    """The groups that the compiled and the slow search find from the same lists and random numbers."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(k, 2 * k, 10)
    data = case(rng, names, int(sizes.sum()), weighted)
    chain = MixedChain(table_of(*data), sizes, k, (seed,))
    chain.renew()
    unused = chain.free[1 : chain.free[0] + 1].tolist()
    starts = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
    slow = naive.MixedAnnealing(wrong(*data) if wrong else loss_of(*data), starts, k, chain.near, chain.unit, unused)
    bits = naive_annealing.RandomBits(chain.state[0])
    for number in range(sweeps):
        mixed_sweep(
            *chain.records, *chain.groups, chain.near, chain.unit, chain.free, *chain.work, chain.exponentials,
            chain.state, k, 2 * k - 1, 0.4 * 0.5**number, None,
        )  # fmt: skip
        slow.sweep(bits, chain.exponentials, 0.4 * 0.5**number)
    compiled = {frozenset(np.flatnonzero(chain.groups[0] == g).tolist()) for g in np.flatnonzero(chain.sizes)}
    return compiled, {frozenset(members) for members in slow.groups.values() if members}


@pytest.mark.parametrize("kinds", KINDS)
def test_sweeps_make_the_moves_of_the_slow_version(kinds, repetitions):
    for seed in range(repetitions(30)):
        weighted = kinds != "modes only" and seed % 2 == 1
        compiled, slow = both(seed, KINDS[kinds], weighted=weighted)
        assert compiled == slow, seed


def one_hot_loss(mixed, nominal, costs, prices, weights):
    """The neighbouring wrong cost: the squared error of one coordinate per category."""

    def loss(members):
        total = 0.0
        for j, code in enumerate(nominal):
            values = mixed[members, j]
            if code:
                shares = np.unique(values, return_counts=True)[1] / len(values)
                total += prices[j] * len(values) * (1 - (shares**2).sum()) / 2
            else:
                total += ((values - values.mean()) ** 2).sum()
        return total

    return loss


def means_for_medians(mixed, nominal, costs, prices, weights):
    return loss_of(mixed, nominal, [ColumnCost("mode" if code else "mean") for code in nominal], prices, weights)


def without_weights(mixed, nominal, costs, prices, weights):
    return loss_of(mixed, nominal, costs, prices, None)


@pytest.mark.parametrize(
    ("kinds", "wrong"),
    [
        ("means and modes", one_hot_loss), ("modes only", one_hot_loss), ("positions", means_for_medians),
        ("ranges", means_for_medians), ("general", means_for_medians), ("means and modes", without_weights),
    ],
)  # fmt: skip
def test_a_wrong_cost_is_noticed(kinds, wrong):
    pairs = [both(seed, KINDS[kinds], wrong=wrong, weighted=wrong is without_weights) for seed in range(3)]
    assert any(compiled != slow for compiled, slow in pairs)


@st.composite
def tables(draw):
    k = draw(st.integers(2, 4))
    n = draw(st.sampled_from([k, 2 * k - 1, 2 * k, 3 * k + 1, 40]))
    names = draw(st.sampled_from(list(KINDS.values())))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    data = case(rng, names, n, draw(st.booleans()))
    offset, scale, constant = draw(st.sampled_from([(0, 1, False), (1e6, 1, False), (0, 1e-9, False), (0, 1, True)]))
    mixed = np.where(data[1], data[0], data[0] * scale + offset)
    if constant:
        mixed[:, 0] = mixed[0, 0]
    if draw(st.booleans()):
        mixed[n // 2 :] = mixed[: n - n // 2]  # duplicates
    labels = np.minimum(rng.permutation(n) // k, n // k - 1)
    return (mixed, *data[1:]), labels, k


@given(tables(), st.integers(0, 3))
@settings(max_examples=30)
def test_the_result_is_never_worse_and_its_cost_is_the_loss(drawn, seed):
    data, labels, k = drawn
    table = table_of(*data)
    found = anneal_mixed(table, labels, k, passes=1, sweeps=4, seed=seed).labels
    grouping = Grouping(found, k)
    assert grouping.sizes.max() <= 2 * k - 1
    before, after = (float(group_figures(table, part).costs.sum()) for part in (labels, found))
    assert after <= before * (1 + 1e-9) + 1e-12 * (1 + np.abs(data[0]).max() ** 2)
    loss = loss_of(*data)
    slow = sum(loss(np.flatnonzero(found == g)) for g in range(len(grouping)))
    assert after == pytest.approx(slow, rel=1e-6, abs=1e-6 * (1 + 1e-9 * np.abs(data[0]).max() ** 2))


def test_a_search_without_crossover_is_worse_somewhere(rng):
    data = case(rng, KINDS["means and modes"], 40, weighted=False)
    table = table_of(*data)
    start = run("mixed-annealing", data[0], 3, nominal=data[1], column_weights=data[3], reheats=5).labels
    worse = False
    for seed in range(10):
        order = np.argsort(start, kind="stable")
        chain = MixedChain(table.part(order), np.bincount(start), 3, (seed,))
        chain.walk(3, 0.5, 1.0)
        found = np.empty(40, np.int64)
        found[order] = chain.labels()
        cost = float(group_figures(table, found).costs.sum())
        worse |= cost > float(group_figures(table, start).costs.sum())
        kept = exact_crossover(table, start, found)
        assert float(group_figures(table, kept).costs.sum()) <= float(group_figures(table, start).costs.sum()) + 1e-9
    assert worse


def survey(rng, n):
    region = rng.choice(["north", "south", "east", "west"], n)
    sex = rng.choice(["f", "m"], n)
    age = np.round(rng.normal(45, 12, n) + 8 * (region == "north"))
    income = rng.lognormal(10, 0.5, n)
    level = rng.integers(1, 6, n)
    return pl.DataFrame({"age": age, "income": income, "region": region, "sex": sex, "level": level})


@pytest.mark.parametrize(
    "settings_",
    [
        {}, {"kinds": {"level": "ordinal"}}, {"recode": {"age": "median", "region": "suppress"}},
        {"recode": {"age": "range", "sex": "set"}}, {"column_weights": {"region": 3.0}},
        {"hierarchies": {"region": REGIONS}},
    ],
)  # fmt: skip
def test_the_objective_is_the_reported_loss(rng, settings_):
    """Of the release that is made, with its recodes; rounding of means aside."""
    people = survey(rng, 60)
    release = shoal.protect(
        people, k=4, quasi=people.columns, kinds={"level": "ordinal"} | settings_.get("kinds", {}), sums="exact",
        decimals="full", options={"effort": "fast"}, **{n: v for n, v in settings_.items() if n != "kinds"},
    )  # fmt: skip
    weights = settings_.get("column_weights", {})
    reported = sum(weights.get(name, 1.0) * column.sse for name, column in release.loss.columns.items())
    assert release.loss.objective.name == "reported loss"
    assert release.loss.objective.value == pytest.approx(reported, rel=1e-6)


def test_auto_loses_no_more_than_its_start_and_annealing_by_coordinates(rng):
    people = survey(rng, 400)
    losses = {
        method: shoal.protect(people, k=5, quasi=people.columns, method=method).loss.information_loss
        for method in ("auto", "annealing", "ona-star")
    }
    assert losses["auto"] < losses["annealing"] < losses["ona-star"]


def test_the_groups_are_the_same_for_any_number_of_threads(rng, monkeypatch):
    mixed = np.column_stack([rng.normal(size=(2_500, 2)), rng.integers(0, 5, (2_500, 3))])
    table = mixed_table(mixed, np.array([False, False, True, True, True]))
    start = np.arange(2_500) // 5
    monkeypatch.setattr(mixed_search, "ONE_BLOCK_RECORDS", 0)
    found = []
    for threads in (1, 2):
        set_threads(threads)
        try:
            found.append(anneal_mixed(table, start, 5, passes=2, sweeps=3, block=600).labels)
        finally:
            set_threads(None)
    assert np.array_equal(*found)
    assert group_figures(table, found[0]).costs.sum() < group_figures(table, start).costs.sum()


def test_a_time_limit_is_filled_and_repeated_without_a_clock(rng):
    mixed = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, (60, 2))])
    nominal = np.array([False, False, True, True])
    limited = run("mixed-annealing", mixed, 3, nominal=nominal, time_limit=0.3, sweeps=5, reheat_sweeps=5)
    assert limited.stopped == "time limit"
    assert limited.options["reheats"] > 0
    again = run("mixed-annealing", mixed, 3, nominal=nominal, **limited.options)
    assert np.array_equal(again.labels, limited.labels)


class Interrupting(Progress):
    """Interrupts when the search by exact loss has made some sweeps."""

    def __init__(self):
        self.stages, self.steps = [], 0

    def stage(self, name, total=None):  # noqa: ARG002
        self.stages.append(name)

    def advance(self, amount=1):  # noqa: ARG002
        if "exact loss" in self.stages[-1]:
            self.steps += 1
            if self.steps == 3:
                raise KeyboardInterrupt


def test_an_interrupt_returns_the_best_groups_so_far(rng):
    mixed = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, (60, 2))])
    progress = Interrupting()
    outcome = run("mixed-annealing", mixed, 3, nominal=np.array([False, False, True, True]), progress=progress)
    assert outcome.stopped == "interrupted"
    assert outcome.options["passes"] == 0
    assert Grouping(outcome.labels, 3).sizes.min() >= 3
    assert progress.steps == 3


@pytest.mark.parametrize(("n", "k"), [(5, 5), (9, 5), (10, 5), (4, 2)])
def test_tables_of_few_records(n, k, rng):
    codes = rng.integers(0, 2, (n, 1)).astype(np.int32)
    labels = run(get_method("auto", "codes"), codes, k).labels
    assert np.bincount(labels).min() >= k


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_the_planned_work_of_a_record_does_not_grow_with_the_table(effort):
    visits = []
    for n in (10_000, 60_000, 200_000, 2_000_000):
        work = mixed_work(n, 100, effort)
        visits.append(work["passes"] * work["sweeps"])
    assert visits == sorted(visits, reverse=True)
    assert mixed_work_within(2_000_000, 100, 14, 5, 1.0)["passes"] == 0
