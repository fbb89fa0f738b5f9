"""The search by exact loss with missing cells: compared with a slow version, and with costs that are wrong."""

from dataclasses import replace

import numpy as np
import pytest

from shoal.methods.contract import ColumnCost
from shoal.methods.kernels.mixed_moves import mixed_sweep
from shoal.methods.refinement.mixed_search import MixedChain, anneal_mixed
from shoal.methods.refinement.mixed_table import exact_crossover, group_figures, mixed_table
from shoal.methods.running import run

from naive import annealing as naive_annealing
from naive import mixed as naive

TREE = ColumnCost(
    "hierarchy",
    ancestors=np.array([[0, 1, 2, 3], [4, 4, 5, 5], [6, 6, 6, 6]]),
    options=np.array([[1.0, 1, 1, 1], [2, 2, 2, 2], [4, 4, 4, 4]]),
)
FILLED = {
    "numbers": [ColumnCost("mean"), ColumnCost("mean")],
    "categories": [ColumnCost("mode"), ColumnCost("mode"), ColumnCost("suppress")],
    "everything": [
        ColumnCost("mean"), ColumnCost("median"), ColumnCost("median", ordinal=True), ColumnCost("range"),
        ColumnCost("mode"), ColumnCost("set"), TREE,
    ],
}  # fmt: skip
CASES = FILLED | {
    f"{name}, emptied": [replace(cost, emptied=j % 2 == 1) for j, cost in enumerate(costs)]
    for name, costs in FILLED.items()
}
CODES = {"mode", "set", "hierarchy", "suppress"}


def case(rng, costs, n, weighted=False):
    """Records with a fifth of their cells missing, which hold arbitrary values; the first column is complete."""
    nominal = np.array([cost.recode in CODES for cost in costs])
    mixed = np.column_stack([rng.integers(0, 4, n) if code else rng.normal(size=n) for code in nominal])
    observed = rng.random(mixed.shape) > 0.2
    observed[:, 0] = True
    exact = nominal.all()  # costs of categories only are whole numbers, so that equal ones are equal
    weights = rng.uniform(1, 4, n) if weighted and not exact else None
    prices = np.ones(len(costs)) if exact else rng.uniform(0.5, 2, len(costs))
    return mixed.astype(float), nominal, costs, prices, weights, observed


def table_of(mixed, nominal, costs, prices, weights, observed):
    return mixed_table(
        mixed, nominal, column_weights=prices, record_weights=weights, column_costs=costs, observed=observed
    )


def loss_of(mixed, nominal, costs, prices, weights, observed):
    weights = np.ones(len(mixed)) if weights is None else weights / weights.mean()
    return lambda members: naive.group_loss(mixed, nominal, costs, prices, weights, list(members), observed)


def all_observed(mixed, nominal, costs, prices, weights, observed):
    """The wrong cost: values that stand in missing cells count."""
    return loss_of(mixed, nominal, costs, prices, weights, np.ones_like(observed))


def never_emptied(mixed, nominal, costs, prices, weights, observed):
    """The wrong cost: a column that will be emptied counts as if it were filled."""
    return loss_of(mixed, nominal, [replace(cost, emptied=False) for cost in costs], prices, weights, observed)


def both(seed, costs, k=3, *, weighted=False, wrong=None):
    """The groups that the compiled and the slow search find from the same lists and random numbers."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(k, 2 * k, 10)
    data = case(rng, costs, int(sizes.sum()), weighted)
    chain = MixedChain(table_of(*data), sizes, k, (seed,))
    chain.renew()
    starts = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
    unused = chain.free[1 : chain.free[0] + 1].tolist()
    slow = naive.MixedAnnealing((wrong or loss_of)(*data), starts, k, chain.near, chain.unit, unused)
    bits = naive_annealing.RandomBits(chain.state[0])
    for number in range(2):
        mixed_sweep(
            *chain.records, *chain.groups, chain.near, chain.unit, chain.free, *chain.work, chain.exponentials,
            chain.state, k, 2 * k - 1, 0.4 * 0.5**number, None,
        )  # fmt: skip
        slow.sweep(bits, chain.exponentials, 0.4 * 0.5**number)
    compiled = {frozenset(np.flatnonzero(chain.groups[0] == g).tolist()) for g in np.flatnonzero(chain.sizes)}
    return compiled, {frozenset(members) for members in slow.groups.values() if members}


@pytest.mark.parametrize("name", CASES)
def test_sweeps_make_the_moves_of_the_slow_version(name, repetitions):
    for seed in range(repetitions(12)):
        compiled, slow = both(seed, CASES[name], weighted=seed % 2 == 1)
        assert compiled == slow, seed


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("numbers", all_observed), ("categories", all_observed), ("numbers, emptied", never_emptied),
     ("categories, emptied", never_emptied)],
)  # fmt: skip
def test_a_wrong_cost_is_noticed(name, wrong):
    pairs = [both(seed, CASES[name], wrong=wrong) for seed in range(4)]
    assert any(compiled != slow for compiled, slow in pairs)


@pytest.mark.parametrize("name", CASES)
def test_figures_and_search_have_the_cost_of_the_slow_version(name):
    rng = np.random.default_rng(len(name))
    data = case(rng, CASES[name], 40)
    table, loss = table_of(*data), loss_of(*data)
    labels = np.arange(40) // 4
    costs = group_figures(table, labels).costs
    assert costs == pytest.approx([loss(np.flatnonzero(labels == g)) for g in range(10)])
    found = anneal_mixed(table, labels, 4, sweeps=20).labels
    total = [sum(loss(np.flatnonzero(part == g)) for g in np.unique(part)) for part in (labels, found)]
    assert total[1] < total[0]
    assert group_figures(table, found).costs.sum() == pytest.approx(total[1])
    assert exact_crossover(table, found, labels).shape == (40,)
    part = table.part(np.arange(20))
    assert group_figures(part, labels[:20]).costs == pytest.approx(costs[:5])


@pytest.mark.parametrize("name", CASES)
def test_values_in_missing_cells_do_not_change_the_cost(name):
    rng = np.random.default_rng(7)
    mixed, nominal, costs, prices, weights, observed = case(rng, CASES[name], 30)
    other = np.where(observed, mixed, np.where(nominal, (mixed + 1) % 4, mixed + 100.0))
    labels = np.arange(30) // 5
    figures = [group_figures(table_of(x, nominal, costs, prices, weights, observed), labels) for x in (mixed, other)]
    assert figures[0].costs == pytest.approx(figures[1].costs)


def test_the_objective_is_the_cost_of_known_cells():
    rng = np.random.default_rng(3)
    mixed, nominal, costs, prices, _, observed = case(rng, CASES["everything, emptied"], 60)
    given = {"nominal": nominal, "column_costs": costs, "column_weights": prices, "observed": observed}
    outcome = run("mixed-annealing", mixed, 3, **given)
    loss = loss_of(mixed, nominal, costs, prices, None, observed)
    groups = [np.flatnonzero(outcome.labels == g) for g in np.unique(outcome.labels)]
    assert outcome.objective.value == pytest.approx(sum(map(loss, groups)))
    assert {len(group) for group in groups} <= {3, 4, 5}
    assert np.array_equal(run("auto", mixed, 3, effort="fast", observed=np.ones_like(observed), **{
        name: value for name, value in given.items() if name != "observed"}).labels,
        run("auto", mixed, 3, effort="fast", **{n: v for n, v in given.items() if n != "observed"}).labels)  # fmt: skip
