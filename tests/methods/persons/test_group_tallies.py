"""Counted values against sorted values and against a recount, and the wrong versions that this catches."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.hierarchy import Hierarchy
from shoal.core.requirement_violation import no_requirements
from shoal.core.threads import set_threads
from shoal.methods.persons import group_tallies, priced_groups, priced_moves, rising_price, unit_row_moves
from shoal.methods.persons.group_tallies import MOST_PREFIXES, MOST_SETS, countable, open_tallies
from shoal.methods.persons.priced_groups import NEAR, PARTNERS, Limits, open_groups
from shoal.methods.persons.priced_moves import dissolve_groups, visit_rows
from shoal.methods.persons.rising_price import Constraints, raise_price, refine_within
from shoal.methods.running import run
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import count_violating, repair_violating, satisfy_requirements
from shoal.privacy.ground_distances import ORDERED, equal_distance, hierarchical_distance
from shoal.privacy.requirement_table import build_requirement_table
from shoal.schema.requirements import Requirements

from naive import priced, privacy

TREE = Hierarchy([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "y")])
REQUESTED = [
    {"l": 3}, {"l": 2, "l_kind": "entropy"}, {"alpha": 0.5}, {"beta": 1.0}, {"t": 0.3}, {"l": 3, "t": 0.3},
    {"p": 2, "alpha": 0.6, "t": 0.2},
]  # fmt: skip


def case(seed, requested, distance, n=40):
    """Points, confidential values that depend on them, and the table of requirements."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    codes = np.clip(np.rint(points[:, 0] + 0.7 * rng.normal(size=n)).astype(np.int64) + 2, 0, 4)
    codes[:5] = np.arange(5)
    ground = {"ordered": ORDERED, "equal": equal_distance(5), "tree": hierarchical_distance(TREE, np.arange(5))}
    table = build_requirement_table(Requirements(**requested), [Values("s", codes, 5, ground[distance])])
    return points, codes, table


def opened(points, labels, codes, table, *, counted=True):
    """The state of given groups, with all groups near each other, with counted or with sorted values."""
    capacity = max(int(labels.max()) + 1, len(points) // 3) + 1
    units = np.arange(len(points))
    state, scratch = open_groups(points.copy(), labels, units, codes[:, None], table, capacity)
    if not counted:
        state = state._replace(tallies=open_tallies(no_requirements(), capacity))
    near = np.tile(np.arange(capacity)[:, None], NEAR)
    for g in range(capacity):
        others = [h for h in range(capacity) if h != g][:NEAR]
        near[g, : len(others)] = others
    return state, scratch, near


def moved(state, scratch, near, price):
    """Dissolve groups and visit rows once at a price."""
    everything = np.ones(state.counts.shape[0], np.bool_)
    limits = Limits(3, 3, 1000, price, 1e-9, np.inf, True)
    dissolve_groups(state, scratch, near, everything, limits)
    visit_rows(state, scratch, near, everything, limits)


@given(st.integers(0, 10**6), st.sampled_from(REQUESTED), st.sampled_from(["ordered", "equal", "tree"]))
@settings(max_examples=40)
def test_counted_and_sorted_values_lead_to_the_same_moves(seed, requested, distance):
    points, codes, table = case(seed, requested, distance)
    assert countable(table)
    labels = run("mdav", points, 3).labels
    one, two = (opened(points, labels, codes, table, counted=counted) for counted in (True, False))
    np.testing.assert_allclose(one[0].amounts, two[0].amounts, atol=1e-9)
    for price in (0.1, 0.5, 3.0):
        moved(*one, price)
        moved(*two, price)
        if one[0].counts[:, 0].max() > PARTNERS:  # of sorted values not every row is compared
            return
        np.testing.assert_array_equal(one[0].labels, two[0].labels)
        np.testing.assert_allclose(one[0].amounts, two[0].amounts, atol=1e-9)


def amounts_are_right(state, codes, requested):
    """Whether what all groups lack equals a recount."""
    found = 0.0
    if "l" in requested:
        found += priced.lacking_values(state.labels, codes, requested["l"])
    if "t" in requested:
        found += priced.excess_of_closeness(state.labels, codes, requested["t"], privacy.equal_ground(5))
    return np.isclose(state.amounts.sum(), found, atol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from([{"l": 3}, {"t": 0.3}, {"l": 2, "t": 0.1}]))
@settings(max_examples=20)
def test_amounts_equal_a_recount_after_moves(seed, requested):
    points, codes, table = case(seed, requested, "equal")
    opening = opened(points, run("mdav", points, 3).labels, codes, table)
    assert amounts_are_right(opening[0], codes, requested)
    for price in (0.1, 1.0, 10.0):
        moved(*opening, price)
        assert amounts_are_right(opening[0], codes, requested)


def test_moves_keep_no_reference_to_an_array():
    """References are not counted in these loops, so one that is kept would never be given back."""
    points, codes, table = case(1, {"t": 0.3}, "equal")
    opening = opened(points, run("mdav", points, 3).labels, codes, table)
    arrays = [array for array in opening[0] if isinstance(array, np.ndarray)]
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(3):
        moved(*opening, 0.5)
    assert [sys.getrefcount(array) for array in arrays] == before


def plain(monkeypatch, **replaced):
    """Run the moves as plain Python, with parts replaced; return whether the amounts seen on the way were right."""
    points, codes, table = case(3, {"l": 2, "t": 0.3}, "equal", n=18)
    state, scratch, near = opened(points, run("mdav", points, 3).labels, codes, table)
    for module in (unit_row_moves, group_tallies, priced_groups, priced_moves):
        for name, value in list(vars(module).items()):
            if hasattr(value, "dispatcher") and hasattr(value, "function"):
                monkeypatch.setattr(module, name, replaced.get(name, value.function))
    after, right = group_tallies.counted_amount_after, True

    def checked(state, g, old, new):
        nonlocal right
        found = after(state, g, old, new)
        inside = np.flatnonzero(state.labels == g)
        changed = np.append(inside[inside != old], [new] if new >= 0 else []).astype(np.int64)
        expected = 0.0
        if changed.size:
            expected = max(0.0, 2 - np.unique(codes[changed]).size)
            shares = np.bincount(codes[changed], minlength=5) / changed.size
            distance = privacy.earth_mover(shares, np.bincount(codes) / codes.size, privacy.equal_ground(5))
            expected += max(0.0, distance - 0.3) * changed.size
        right &= bool(np.isclose(found, expected, atol=1e-9))
        return found

    for module in (group_tallies, priced_groups, priced_moves):
        monkeypatch.setattr(module, "counted_amount_after", checked)
    for price in (0.1, 1.0):
        priced_moves.visit_rows(
            state, scratch, near, np.ones(state.counts.shape[0], np.bool_),
            Limits(3, 2, len(points), price, 1e-9, np.inf, True),
        )  # fmt: skip
    return right


def test_amounts_seen_on_the_way_equal_a_recount(monkeypatch):
    assert plain(monkeypatch)


def test_counts_that_are_not_renewed_after_a_move_are_caught(monkeypatch):
    right = group_tallies.count_group.function
    amounts = {}

    def count_group(state, g):
        return amounts.setdefault(g, right(state, g)) if g not in amounts else amounts[g]

    assert not plain(monkeypatch, count_group=count_group)


def test_sums_for_the_old_size_are_caught(monkeypatch):
    right = group_tallies.count_group.function

    def count_group(state, g):
        amount = right(state, g)
        state.tallies.sums[g, :, 0] = state.tallies.sums[g, :, 2] = state.tallies.sums[g, :, 1]
        return amount

    assert not plain(monkeypatch, count_group=count_group)


@given(st.integers(0, 10**6), st.sampled_from(REQUESTED), st.sampled_from(["ordered", "equal", "tree"]))
@settings(max_examples=20)
def test_no_group_violates_anything_and_refining_never_loses_more(seed, requested, distance):
    points, codes, table = case(seed, requested, distance, n=90)
    codes = codes[:, None]
    if count_violating(np.zeros(len(points), np.int64), codes, table):
        return
    labels = run("mdav", points, 3).labels
    constraints = Constraints(3, None, codes, table)
    repaired = repair_violating(points, raise_price(points, labels, constraints), 3, codes, table).labels
    found = refine_within(points, repaired, labels, constraints)
    assert count_violating(found, codes, table) == 0
    assert np.bincount(found).min() >= 3
    assert priced.squared_error(points, found) <= priced.squared_error(points, repaired) + 1e-9


@pytest.mark.parametrize("requested", [{"t": 0.3}, {"l": 3, "t": 0.3}])
def test_blocks_with_counted_values_satisfy_everything_for_any_number_of_threads(monkeypatch, requested):
    monkeypatch.setattr(rising_price, "ONE_BLOCK_GROUPS", 50)
    monkeypatch.setattr(rising_price, "BLOCK_GROUPS", 40)
    monkeypatch.setattr(rising_price, "SHORT_FROM", 100)
    points, codes, table = case(7, requested, "equal", n=600)
    codes, labels = codes[:, None], run("mdav", points, 3).labels
    constraints, found = Constraints(3, None, codes, table), []
    try:
        for threads in (1, 2):
            set_threads(threads)
            groups = repair_violating(points, raise_price(points, labels, constraints), 3, codes, table).labels
            found.append(refine_within(points, groups, labels, constraints))
    finally:
        set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])
    assert count_violating(found[0], codes, table) == 0
    enforced = satisfy_requirements(points, labels, 3, codes, table).labels
    assert priced.squared_error(points, found[0]) < priced.squared_error(points, enforced)


def test_many_values_are_not_counted():
    codes = np.arange(MOST_SETS + 1)
    for distance, values, counted in ((ORDERED, MOST_PREFIXES, True), (ORDERED, MOST_PREFIXES + 1, False),
                                      (equal_distance(MOST_SETS), MOST_SETS, True),
                                      (equal_distance(MOST_SETS + 1), MOST_SETS + 1, False)):  # fmt: skip
        column = Values("s", codes[:values], values, distance)
        assert countable(build_requirement_table(Requirements(t=0.2), [column])) == counted
    recursive = Requirements(l=2, l_kind="recursive", c=3)
    assert not countable(build_requirement_table(recursive, [Values("s", codes[:4], 4, ORDERED)]))
