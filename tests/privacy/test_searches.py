"""Searches for groups that satisfy requirements, group by group against the obvious search (``naive.enforcement``)."""

import numpy as np
import pytest

from shoal.core.grouping import canonical_labels
from shoal.core.requirement_violation import violations
from shoal.privacy import enforcement
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import count_violating, merge_groups, repair_violating, satisfy_requirements
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_requirement_table
from shoal.schema.requirements import Requirements

from naive import enforcement as naive

RULES = [{"l": 2}, {"l": 3, "l_kind": "entropy"}, {"l": 2, "l_kind": "recursive", "c": 1.3}, {"alpha": 0.55},
         {"beta": 0.83}, {"t": 0.173}, {"l": 2, "t": 0.223}]  # fmt: skip


def scene(seed, requested, n=28, d=2, k=3, different=4, lumps=1.0):
    """Points, groups of k neighbours along one axis, codes that depend on place, and the rules."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    labels = np.empty(n, np.int64)
    labels[np.argsort(points[:, 0] + 0.3 * rng.normal(size=n))] = np.minimum(np.arange(n) // k, n // k - 1)
    place = points[:, 0] + lumps * rng.normal(size=n)
    first = np.argsort(np.argsort(place)) * different // n
    codes = np.column_stack([first, rng.integers(0, 3, n)]).astype(np.int64)
    columns = [Values("a", codes[:, 0], different, ORDERED), Values("b", codes[:, 1], 3, equal_distance(3))]
    table = build_requirement_table(Requirements(**requested), columns)

    def violation(rows):
        rows = np.array(rows, np.int64)
        return float(violations(codes, rows, np.zeros(1, np.int64), np.array([rows.size]), table)[0])

    return points, labels, codes, table, violation


def same_groups(found, expected):
    np.testing.assert_array_equal(canonical_labels(found), canonical_labels(expected))


@pytest.mark.parametrize("requested", RULES, ids=str)
def test_enforcement_equals_the_obvious_search(requested):
    points, labels, codes, table, violation = scene(0, requested, lumps=0.4)
    found = satisfy_requirements(points, labels, 3, codes, table)
    expected, steps = naive.satisfy(points, labels, 3, violation)
    same_groups(found.labels, expected)
    assert (found.exchanges, found.merges, found.splits) == steps
    assert found.exchanges > 0
    violating = naive.State(points, labels, violation).violating()
    assert found.groups_violating == count_violating(labels, codes, table) == len(violating)


@pytest.mark.parametrize("requested", [{"l": 2}, {"t": 0.3}], ids=str)
def test_splits_of_large_groups_equal_the_obvious_search(requested):
    points, labels, codes, table, violation = scene(1, requested, n=54, k=18)
    codes[labels == 0] = 0
    found = satisfy_requirements(points, labels, 4, codes, table)
    expected, steps = naive.satisfy(points, labels, 4, violation)
    same_groups(found.labels, expected)
    assert (found.exchanges, found.merges, found.splits) == steps
    assert found.splits > 2


def test_large_groups_exchange_with_few_records_and_few_steps():
    """Two groups of 40 records that overlap: 24 candidates, 16 steps a round; a group above 64 records is only cut."""
    points, labels, codes, table, violation = scene(3, {"l": 2}, n=80, k=40)
    labels = np.random.default_rng(0).permutation(labels)
    codes[:, 0][labels == 0] = 0
    found = satisfy_requirements(points, labels, 39, codes, table)
    expected, steps = naive.satisfy(points, labels, 39, violation)
    same_groups(found.labels, expected)
    assert (found.exchanges, found.merges, found.splits) == steps
    assert steps[0] > naive.STEPS


def test_a_group_takes_at_most_16_steps_before_its_neighbours_are_sought_again(monkeypatch):
    """A group of one value that needs twenty, beside a group of forty different ones: 19 exchanges in two calls."""
    points = np.random.default_rng(0).normal(size=(80, 2))
    labels, values = np.repeat([0, 1], 40), np.concatenate([np.zeros(40, np.int64), np.arange(40)])
    table = build_requirement_table(Requirements(l=20), [Values("a", values, 40, equal_distance(40))])
    calls, usual = [], enforcement.exchange

    def exchange(*arguments):
        calls.append(usual(*arguments))
        return calls[-1]

    monkeypatch.setattr(enforcement, "exchange", exchange)
    found = repair_violating(points, labels, 40, values[:, None], table)
    assert calls[:2] == [naive.STEPS, 19 - naive.STEPS]
    assert (found.exchanges, found.merges) == (19, 0)


@pytest.mark.parametrize(("largest", "steps"), [(64, (2, 0)), (65, (0, 1))])
def test_groups_above_64_records_are_only_merged(largest, steps):
    points, labels, codes, table, violation = scene(3, {"l": 2}, n=5 + largest, k=5)
    labels = np.minimum(labels, 1)
    codes[:, 0][labels == 0] = 0
    codes[:, 1][labels == 0] = 0
    found = repair_violating(points, labels, 5, codes, table)
    expected = naive.repair_near(points, labels, 5, violation)
    same_groups(found.labels, expected[0])
    assert expected[1] == steps
    assert (np.bincount(labels).max(), found.exchanges, found.merges) == (largest, *steps)


@pytest.mark.parametrize("requested", [{"l": 3}, {"alpha": 0.5}, {"t": 0.173}], ids=str)
def test_repairs_near_violating_groups_equal_the_obvious_search(requested):
    for seed in range(2):
        points, labels, codes, table, violation = scene(seed, requested, n=51, lumps=0.2)
        found = repair_violating(points, labels, 3, codes, table)
        expected, steps = naive.repair_near(points, labels, 3, violation)
        same_groups(found.labels, expected)
        assert (found.exchanges, found.merges) == steps
        assert found.groups_violating == count_violating(labels, codes, table) > 0
        assert np.bincount(found.labels).all()


@pytest.mark.parametrize("d", [2, 10])
def test_merges_of_whole_groups_equal_the_obvious_search(d):
    points, labels, codes, table, violation = scene(5, {"l": 3}, n=90, d=d, lumps=0.4)
    points[:, :2] *= 0.01  # of ten columns these two are not searched
    found = merge_groups(points, labels, codes, table)
    expected, merges = naive.merge_whole(points, labels, violation)
    same_groups(found.labels, expected)
    assert found.merges == merges > 3


def test_of_equal_records_the_first_is_exchanged():
    points = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    codes, labels = np.array([[0], [0], [0], [1], [1], [1]]), np.array([0, 0, 0, 1, 1, 1])
    table = build_requirement_table(Requirements(l=2), [Values("a", codes[:, 0], 2, equal_distance(2))])
    found = satisfy_requirements(points, labels, 3, codes, table)
    assert found.labels.tolist() == [1, 0, 0, 0, 1, 1]
    assert (found.groups_violating, found.exchanges, found.merges, found.splits) == (2, 1, 0, 0)


def test_of_equal_exchanges_that_lower_the_cost_the_first_is_taken():
    """Two records of each group lie among those of the other one; one exchange is enough for two values in each."""
    points = np.repeat([0.0, 1.0, 1.0, 0.0], [4, 2, 4, 2])[:, None]
    labels, codes = np.repeat([0, 1], 6), np.repeat([0, 1], 6)[:, None]
    table = build_requirement_table(Requirements(l=2), [Values("a", codes[:, 0], 2, equal_distance(2))])
    found = repair_violating(points, labels, 6, codes, table)
    same_groups(found.labels, np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1]))
    assert (found.exchanges, found.merges) == (1, 0)


def test_one_group_that_violates_is_returned_as_it_is():
    codes, points = np.zeros((4, 1), np.int64), np.arange(4.0)[:, None]
    table = build_requirement_table(Requirements(l=2), [Values("a", codes[:, 0], 1, equal_distance(1))])
    for search in (satisfy_requirements, repair_violating):
        found = search(points, np.zeros(4, np.int64), 2, codes, table)
        assert (found.labels == 0).all()
        assert (found.groups_violating, found.exchanges, found.merges) == (1, 0, 0)
    assert merge_groups(points, np.zeros(4, np.int64), codes, table).merges == 0


def test_only_groups_near_violating_ones_are_read(monkeypatch):
    points, labels, codes, _, _ = scene(0, {"l": 2}, n=150, k=5)
    codes[:, 0] = np.random.default_rng(0).permutation(np.arange(150) % 4)
    codes[labels == 0, 0] = 3
    table = build_requirement_table(Requirements(l=2), [Values("a", codes[:, 0], 4, ORDERED)])
    parts, usual = [], enforcement._repair

    def repair(state, *others):
        parts.append(len(state.points))
        return usual(state, *others)

    monkeypatch.setattr(enforcement, "_repair", repair)
    found = repair_violating(points, labels, 5, codes[:, :1], table)
    assert found.groups_violating == 1
    assert count_violating(found.labels, codes[:, :1], table) == 0
    assert len(parts) == 1
    assert parts[0] < 100
