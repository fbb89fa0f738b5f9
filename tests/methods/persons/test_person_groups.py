"""Constant columns stay constant, and every class has k units."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, ParameterError
from shoal.methods.persons import person_groups as person_groups_file
from shoal.methods.persons.owner_tree import cut_owners
from shoal.methods.persons.person_groups import most_row_groups, person_groups
from shoal.methods.persons.unit_row_moves import group_nodes, open_row_groups

from naive import persons as naive


def table(seed, sizes, constants=2, varying=2, *, scale=1.0, shift=0.0, grid=None):
    """Rows of units with so many rows each, in random order."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(len(sizes)), sizes)
    own = rng.normal(size=(len(sizes), constants))
    rows = rng.normal(size=(units.size, varying)) + 0.5 * own[units, :1]
    if grid:
        own, rows = np.round(own * grid), np.round(rows * grid)
    order = rng.permutation(units.size)
    return shift + scale * own[units][order], shift + scale * rows[order], units[order]


def check(found, constant, units, k, owners=None):
    """Recount what the result states, without the code that made it."""
    owners = units if owners is None else owners
    assert min(naive.units_per_group(found.row_groups, units).values()) >= k
    first = {}
    for owner in owners.tolist():
        first.setdefault(owner, len(first))
    group = found.owner_groups[[first[owner] for owner in owners.tolist()]]
    inside = {}
    for row_group, owner_group in zip(found.row_groups.tolist(), group.tolist(), strict=True):
        assert inside.setdefault(row_group, owner_group) == owner_group
    return group


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 20), min_size=2, max_size=24),
    st.integers(2, 5),
    st.sampled_from(["rows", "persons"]),
    st.sampled_from([None, 1]),
)
def test_classes_have_k_units_and_lie_in_one_group_of_persons(seed, sizes, k, weighting, grid):
    constant, varying, units = table(seed, sizes, grid=grid)
    if len(sizes) < k:
        with pytest.raises(ParameterError, match="k="):
            person_groups(constant, varying, units, k, weighting=weighting)
        return
    found = person_groups(constant, varying, units, k, weighting=weighting)
    group = check(found, constant, units, k)
    weights = np.ones(units.size) if weighting == "rows" else 1.0 / np.bincount(units)[units]
    assert found.constant_cost == pytest.approx(naive.weighted_cost(constant, weights, group), abs=1e-8)
    assert found.varying_cost == pytest.approx(naive.weighted_cost(varying, weights, found.row_groups), abs=1e-8)
    assert found.weighting == weighting


def test_constants_averaged_per_row_group_are_caught():
    constant, varying, units = table(3, [4] * 40)
    found = person_groups(constant, varying, units, 3)
    group = check(found, constant, units, 3)

    def several(labels):
        means = {g: constant[labels == g].mean(axis=0) for g in set(labels.tolist())}
        return any(
            len({tuple(means[g]) for g in set(labels[units == unit].tolist())}) > 1 for unit in set(units.tolist())
        )

    assert not several(group)
    assert several(found.row_groups)


def test_a_row_group_of_k_rows_of_fewer_units_is_caught():
    units = np.array([0, 0, 1, 2])
    assert naive.units_per_group(np.zeros(3, int), units[:3])[0] == 2
    wrong = person_groups(np.zeros((4, 1)), np.zeros((4, 1)), units, 3)._replace(row_groups=np.array([0, 0, 0, 1]))
    with pytest.raises(AssertionError):
        check(wrong, np.zeros((4, 1)), units, 3)


@pytest.mark.parametrize("k", [2, 3])
def test_the_rule_for_the_number_of_row_groups_agrees_with_every_assignment(k):
    for rows in product(range(1, 4), repeat=4):
        most = most_row_groups(np.array(rows), k)
        for count in (1, 2, 3):
            assert naive.can_be_divided(rows, k, count) == (count <= most), (rows, count)


def test_k_units_of_two_rows_each_are_split_in_two():
    for k in range(2, 7):
        units = np.tile(np.arange(k), 2)
        varying = np.repeat([[0.0], [9.0]], k, axis=0)
        found = person_groups(np.zeros((2 * k, 1)), varying, units, k)
        assert found.varying_cost == 0.0
        assert np.unique(found.row_groups).size == 2


@given(st.integers(0, 10**6), st.lists(st.integers(1, 6), min_size=3, max_size=12), st.integers(2, 3))
def test_row_groups_reach_the_rule_of_two_and_costs_are_exact(seed, sizes, k):
    _, varying, units = table(seed, sizes)
    weights = np.random.default_rng(seed).uniform(0.2, 2.0, units.size)
    state, scratch = open_row_groups(varying, weights, units, units.size // k + 2)
    costs = np.zeros(1)
    group_nodes(state, scratch, np.array([0, units.size]), costs, k, 1e-12, 8)
    assert min(naive.units_per_group(state.labels, units).values()) >= k
    assert costs[0] == pytest.approx(naive.weighted_cost(varying, weights, state.labels), abs=1e-9)
    for group, count in naive.units_per_group(state.labels, units).items():
        inside = np.bincount(units[state.labels == group])
        assert state.counts[group].tolist() == [inside.sum(), count]


@given(st.integers(0, 10**6), st.integers(4, 30), st.integers(2, 4))
def test_the_first_cut_of_the_tree_lowers_the_error_most(seed, owners, k):
    rng = np.random.default_rng(seed)
    constant, weights = np.round(rng.normal(size=(owners, 2)), 1), rng.integers(1, 5, owners).astype(float)
    counted = (np.arange(owners + 1), np.arange(owners))
    tree = cut_owners(constant, np.zeros((owners, 1)), weights, counted, k, 10**6)
    assert all(tree.stops - tree.starts >= k)
    best = naive.best_cut(constant, weights, k)
    if tree.children[0] >= 0 and best > 0:
        side = np.zeros(owners, int)
        side[tree.order[tree.starts[2] : tree.stops[2]]] = 1
        whole = naive.weighted_cost(constant, weights, np.zeros(owners, int))
        assert whole - naive.weighted_cost(constant, weights, side) == pytest.approx(best)
    else:
        assert best == pytest.approx(0.0, abs=1e-12)


def test_household_columns_stay_constant_while_k_counts_persons():
    rng = np.random.default_rng(1)
    households = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    income, age = rng.normal(size=(40, 1))[households], rng.normal(size=(households.size, 2))
    found = person_groups(income, age, np.arange(households.size), 5, owners=households)
    check(found, income, np.arange(households.size), 5, households)


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e6)])
def test_scales_and_offsets_change_no_group(scale, shift):
    sizes = [1, 2, 3, 4, 5] * 6
    plain = person_groups(*table(5, sizes), 3)
    other = person_groups(*table(5, sizes, scale=scale, shift=shift), 3)
    assert other.row_groups.tolist() == plain.row_groups.tolist()


def test_renaming_units_changes_nothing():
    constant, varying, units = table(8, [3, 1, 4, 2] * 8)
    names = np.random.default_rng(0).permutation(1000)[units]
    found, renamed = (person_groups(constant, varying, u, 3) for u in (units, names))
    assert found.row_groups.tolist() == renamed.row_groups.tolist()


def test_degenerate_tables():
    ones = np.ones((6, 1))
    units = np.array([0, 0, 1, 1, 2, 2])
    assert person_groups(ones, ones, units, 3).cost == 0.0
    assert person_groups(ones, np.empty((6, 0)), units, 3).varying_cost == 0.0
    with pytest.raises(ParameterError, match="k=2 needs at least 2"):
        person_groups(ones, ones, np.zeros(6, int), 2)
    with pytest.raises(DataError, match="several values in one unit"):
        person_groups(np.arange(6.0)[:, None], ones, units, 2)
    with pytest.raises(ParameterError, match="weighting="):
        person_groups(ones, ones, units, 2, weighting="pairs")


def test_each_group_of_persons_keeps_the_cheapest_of_several_searches():
    constant, varying, units = table(3, [4, 3, 5, 2, 6, 4, 3, 5, 1, 7, 4, 4])
    rows = person_groups_file._read(constant, varying, units, units, 3, "rows")
    groups = np.arange(12) % 2
    forward, backward = np.arange(12), np.arange(12)[::-1]
    costs = [person_groups_file._rows_inside(rows, groups, [order])[1] for order in (forward, backward)]
    labels, both = person_groups_file._rows_inside(rows, groups, [forward, backward])
    assert both <= min(costs) + 1e-12
    assert both == pytest.approx(naive.weighted_cost(rows.varying, np.ones(units.size), labels))
    assert min(naive.units_per_group(labels, units).values()) >= 3
