"""The rising price: counters, moves and constraints against a recount, and the wrong versions that this catches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.grouping import canonical_labels
from shoal.core.requirement_violation import no_requirements
from shoal.core.threads import set_threads
from shoal.methods.persons import priced_moves, rising_price, unit_row_moves
from shoal.methods.persons.priced_groups import NEAR, Limits, open_groups
from shoal.methods.persons.priced_moves import dissolve_groups, visit_rows
from shoal.methods.persons.rising_price import Constraints, raise_price, refine_within
from shoal.methods.running import run
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import count_violating, repair_violating, satisfy_requirements
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_requirement_table, require_units
from shoal.schema.requirements import Requirements

from naive import persons as naive
from naive import priced, privacy


def near_persons(rng, persons, most=6, noise=0.2):
    """Rows of persons that lie near each other, and one person with many rows."""
    rows = rng.integers(1, most + 1, persons)
    rows[0] = rows.sum() // 2
    unit = rng.permutation(np.repeat(np.arange(persons), rows))
    points = rng.normal(size=(persons, 2))[unit] + noise * rng.normal(size=(unit.size, 2))
    return (points - points.mean(axis=0)) / points.std(axis=0), unit


def state_of(points, labels, units, k):
    """The state of given groups, with all groups near each other."""
    empty = np.zeros((len(points), 0), np.int64)
    capacity = max(int(labels.max()) + 1, len(points) // k) + 1
    state, scratch = open_groups(points.copy(), labels, units, empty, no_requirements(), capacity)
    near = np.tile(np.arange(capacity)[:, None], NEAR)
    for g in range(capacity):
        others = [h for h in range(capacity) if h != g][:NEAR]
        near[g, : len(others)] = others
    return state, scratch, near


def recount(state):
    """Whether counters and centroids equal a fresh count."""
    found = naive.units_per_group(state.labels, state.units)
    for g in range(state.counts.shape[0]):
        inside = np.flatnonzero(state.labels == g)
        if state.counts[g].tolist() != [inside.size, found.get(g, 0)]:
            return False
        if inside.size and not np.allclose(state.centroids[g], state.points[inside].mean(axis=0)):
            return False
    return True


def walk(seed, k):
    """Rounds of moves at rising prices, and whether every count was right after each."""
    rng = np.random.default_rng(seed)
    points, units = near_persons(rng, int(rng.integers(k + 2, 30)))
    labels = run("mdav", points, k).labels
    state, scratch, near = state_of(points, labels, units, k)
    everything = np.ones(state.counts.shape[0], np.bool_)
    right = recount(state)
    for price in (0.0, 0.1, 1.0, 10.0):
        limits = Limits(k, k, len(points), price, 1e-9, 0.0, True)
        dissolve_groups(state, scratch, near, everything, limits)
        right &= recount(state)
        visit_rows(state, scratch, near, everything, limits)
        right &= recount(state)
    return right


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_counters_equal_a_fresh_count_after_every_round(k):
    assert all(walk(seed, k) for seed in range(12))


def small_walk(monkeypatch, **replaced):
    """Run the moves as plain Python, with parts replaced by wrong versions; return whether the counts are right."""
    rng = np.random.default_rng(1)
    points, units = near_persons(rng, 6, most=3)
    state, scratch, near = state_of(points, run("mdav", points, 3).labels, units, 3)
    for module in (unit_row_moves, priced_moves):
        for name, value in list(vars(module).items()):
            if hasattr(value, "dispatcher") and hasattr(value, "function"):
                monkeypatch.setattr(module, name, replaced.get(name, value.function))
    everything = np.ones(state.counts.shape[0], np.bool_)
    for price in (0.1, 1.0, 10.0):
        priced_moves.visit_rows(state, scratch, near, everything, Limits(3, 2, len(points), price, 1e-9, 0.0, True))
    return recount(state)


def test_plain_moves_count_right(monkeypatch):
    monkeypatch.setattr(priced_moves, "renew_amount", lambda *_: None)
    assert small_walk(monkeypatch)


def test_a_counter_that_misses_the_last_row_is_caught(monkeypatch):
    right = unit_row_moves.leave.function

    def leave(state, r):
        g = state.labels[r]
        units = state.counts[g, 1]
        right(state, r)
        state.counts[g, 1] = units  # the unit stays counted though its last row has left

    monkeypatch.setattr(priced_moves, "renew_amount", lambda *_: None)
    assert not small_walk(monkeypatch, leave=leave)


def test_a_counter_that_misses_the_first_row_is_caught(monkeypatch):
    right = unit_row_moves.enter.function

    def enter(state, r, g):
        units = state.counts[g, 1]
        right(state, r, g)
        state.counts[g, 1] = units  # a unit is not counted when its first row enters

    monkeypatch.setattr(priced_moves, "renew_amount", lambda *_: None)
    assert not small_walk(monkeypatch, enter=enter)


def exchange_rows_of_a_unit(monkeypatch, leave):
    """Whether the counts are right after two rows of one unit in two groups have changed places."""
    points = np.array([[0.0], [1.0], [2.0], [3.0]])
    units, labels = np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1])
    state, *_ = state_of(points, labels, units, 2)
    for name, value in list(vars(unit_row_moves).items()):
        if hasattr(value, "dispatcher") and hasattr(value, "function"):
            monkeypatch.setattr(unit_row_moves, name, value.function)
    leave(state, 0)
    leave(state, 2)
    unit_row_moves.enter(state, 2, 0)
    unit_row_moves.enter(state, 0, 1)
    return recount(state)


def test_a_double_decrement_in_an_exchange_is_caught(monkeypatch):
    right = unit_row_moves.leave.function
    assert exchange_rows_of_a_unit(monkeypatch, right)

    def leave(state, r):
        g, before = state.labels[r], state.counts[state.labels[r], 1]
        right(state, r)
        if state.counts[g, 1] < before:
            state.counts[g, 1] -= 1  # once for the row, and once more for its partner of the same unit

    assert not exchange_rows_of_a_unit(monkeypatch, leave)


def in_order_of_units(points, labels, constraints):
    """A wrong version: rows are visited in the order of the numbers of their units."""
    order = np.argsort(constraints.units, kind="stable")
    found = np.empty(labels.size, np.int64)
    found[order] = raise_price(points[order], labels[order], Constraints(constraints.k, constraints.units[order]))
    return found


def test_unit_numbers_in_the_order_of_visits_are_caught():
    points, units = near_persons(np.random.default_rng(5), 60)
    labels, renamed = run("mdav", points, 3).labels, int(units.max()) - units
    for search, same in ((raise_price, True), (in_order_of_units, False)):
        one, two = (search(points, labels, Constraints(3, names)) for names in (units, renamed))
        assert np.array_equal(canonical_labels(one), canonical_labels(two)) == same


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.1, 0.3, 3.0]))
@settings(max_examples=25)
def test_a_visit_lowers_the_objective_until_no_single_move_does(seed, k, price):
    rng = np.random.default_rng(seed)
    points, units = near_persons(rng, int(rng.integers(k + 1, 7)), most=2)
    labels = run("mdav", points, k).labels
    state, scratch, near = state_of(points, labels, units, k)
    limits = Limits(k, k, len(points), price, 1e-9, 0.0, True)
    last = priced.objective(points, labels, units, k, price)
    for _ in range(50):
        changed = visit_rows(state, scratch, near, np.ones(state.counts.shape[0], np.bool_), limits)
        now = priced.objective(points, state.labels, units, k, price)
        assert now <= last + 1e-9
        last = now
        if not changed:
            break
    groups = np.unique(state.labels).size
    if groups <= 7 and np.bincount(state.labels).max() <= 8:  # then every partner is considered
        lowest = min(priced.best_move(points, state.labels, units, k, price, row, k) for row in range(len(points)))
        assert lowest >= last - 1e-6


def whole(points, units, k, labels):
    """Groups of k units: price, repair, refinement."""
    constraints = Constraints(k, units)
    table = require_units(k, int(units.max()) + 1)
    if not count_violating(labels, units[:, None], table):
        return labels
    repaired = repair_violating(points, raise_price(points, labels, constraints), k, units[:, None], table)
    return refine_within(points, repaired.labels, labels, constraints)


@given(st.integers(0, 10**6), st.integers(2, 5))
@settings(max_examples=25)
def test_every_group_has_k_units_and_names_do_not_matter(seed, k):
    rng = np.random.default_rng(seed)
    points, units = near_persons(rng, int(rng.integers(k + 1, 40)))
    labels = run("mdav", points, k).labels
    found = whole(points, units, k, labels)
    assert min(naive.units_per_group(found, units).values()) >= k
    renamed = rng.permutation(1000)[units]
    np.testing.assert_array_equal(whole(points, renamed, k, labels), found)


def test_one_row_a_unit_changes_nothing():
    points = np.random.default_rng(2).normal(size=(300, 3))
    labels = run("mdav", points, 5).labels
    constraints = Constraints(5, np.arange(300))
    np.testing.assert_array_equal(raise_price(points, labels, constraints), labels)
    np.testing.assert_array_equal(refine_within(points, labels, labels, constraints), labels)


def test_a_final_round_that_always_runs_is_caught():
    points = np.random.default_rng(2).normal(size=(300, 3))
    labels = run("mdav", points, 5).labels
    always = refine_within(points, labels, np.zeros(300, np.int64), Constraints(5, np.arange(300)))
    assert not np.array_equal(always, labels)


def test_copies_of_a_row_and_exchanges_within_a_unit_change_no_counter():
    rng = np.random.default_rng(3)
    points, units = near_persons(rng, 12, most=3)
    labels = run("mdav", points, 3).labels
    groups = int(labels.max()) + 1
    counts = state_of(points, labels, units, 3)[0].counts[:groups]
    copied = np.append(np.arange(len(points)), np.repeat(4, 10))
    again = state_of(points[copied], labels[copied], units[copied], 3)[0].counts[:groups]
    np.testing.assert_array_equal(counts[:, 1], again[:, 1])
    assert again[labels[4], 0] == counts[labels[4], 0] + 10  # a version that counts rows sees ten more
    pairs = ((i, j) for i in range(len(points)) for j in range(len(points)) if units[i] == units[j])
    first, second = next((i, j) for i, j in pairs if labels[i] != labels[j])
    swapped = labels.copy()
    swapped[[first, second]] = labels[[second, first]]
    np.testing.assert_array_equal(counts, state_of(points, swapped, units, 3)[0].counts[:groups])


def test_k_units_of_two_rows_each_are_split():
    """The wrong version splits groups of 2k units only, and leaves these together."""
    points = np.repeat([[0.0], [9.0]], 4, axis=0) + np.arange(8)[:, None] / 100
    units = np.tile(np.arange(4), 2)
    found = refine_within(points, np.zeros(8, np.int64), np.arange(8) // 4, Constraints(4, units))
    assert found.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert np.unique(units).size < 2 * 4


@given(st.lists(st.integers(1, 3), min_size=3, max_size=5), st.integers(2, 3))
@settings(max_examples=25)
def test_no_group_is_split_against_the_rule(rows, k):
    units = np.repeat(np.arange(len(rows)), rows)
    points = np.random.default_rng(len(units)).normal(size=(units.size, 2))
    found = refine_within(points, np.zeros(units.size, np.int64), np.arange(units.size), Constraints(k, units))
    assert found.max() == 0 or naive.can_be_divided(rows, k, 2)
    assert min(naive.units_per_group(found, units).values()) >= k


REQUESTED = [{"l": 2}, {"l": 3}, {"alpha": 0.6}, {"beta": 1.5}, {"t": 0.3}, {"l": 2, "t": 0.4}]


@given(st.integers(0, 10**6), st.sampled_from(REQUESTED), st.booleans(), st.booleans())
@settings(max_examples=30)
def test_requirements_and_units_hold_together(seed, requested, ordered, with_units):
    rng = np.random.default_rng(seed)
    k = 3
    points, units = near_persons(rng, 30, most=4)
    codes = np.clip((points[:, 0] + rng.normal(size=len(points))).round().astype(np.int64) + 1, 0, 3)
    codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    m = int(codes.max()) + 1
    values = Values("s", codes, m, ORDERED if ordered else equal_distance(m))
    table, columns = build_requirement_table(Requirements(**requested), [values]), codes[:, None]
    if count_violating(np.zeros(len(points), np.int64), columns, table):
        return
    constraints = Constraints(k, units if with_units else None, columns, table)
    if with_units:
        table = require_units(k, int(units.max()) + 1, beside=table, column=1)
        columns = np.column_stack([codes, units])
    labels = run("mdav", points, k).labels
    repaired = repair_violating(points, raise_price(points, labels, constraints), k, columns, table)
    found = refine_within(points, repaired.labels, labels, constraints)
    ground = privacy.ordered_ground(m) if ordered else privacy.equal_ground(m)
    totals = np.bincount(codes).tolist()
    for group in range(int(found.max()) + 1):
        assert privacy.satisfies(codes[found == group].tolist(), totals, requested, ground)
        assert (found == group).sum() >= k
    if with_units:
        assert min(naive.units_per_group(found, units).values()) >= k


def test_blocks_satisfy_everything_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(rising_price, "ONE_BLOCK_GROUPS", 50)
    monkeypatch.setattr(rising_price, "BLOCK_GROUPS", 40)
    points, units = near_persons(np.random.default_rng(4), 400, most=4)
    labels = run("mdav", points, 3).labels
    found = []
    try:
        for threads in (1, 2):
            set_threads(threads)
            found.append(whole(points, units, 3, labels))
    finally:
        set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])
    assert min(naive.units_per_group(found[0], units).values()) >= 3


def test_the_price_loses_less_than_enforcement_alone():
    points, units = near_persons(np.random.default_rng(5), 300, most=6, noise=0.1)
    labels = run("mdav", points, 4).labels
    found = whole(points, units, 4, labels)
    other = satisfy_requirements(points, labels, 4, units[:, None], require_units(4, 300)).labels
    assert priced.squared_error(points, found) < priced.squared_error(points, other)


def test_a_largest_group_is_respected_by_the_price():
    points, units = near_persons(np.random.default_rng(6), 60, most=3)
    labels = run("mdav", points, 3).labels
    assert np.bincount(raise_price(points, labels, Constraints(3, units, max_size=7))).max() <= 7
