"""Groups joined until requirements by persons hold, group by group against the obvious search."""

import numpy as np
import pytest

from shoal.core.grouping import canonical_labels
from shoal.privacy import person_joins
from shoal.privacy.confidential import Values
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.person_joins import PersonRequirements, join_groups
from shoal.schema.requirements import Requirements

from naive import person_joins as naive

RULES = [
    ({"l": 3}, {"l": 3}),
    ({"p": 3, "max_share": 0.4}, {"p": 3, "max_share": 0.4}),
    ({"l": 2.2, "l_kind": "entropy"}, {"entropy": 2.2}),
    ({"l": 2, "l_kind": "recursive", "c": 1.3}, {"recursive": (1.3, 2)}),
    ({"alpha": 0.55}, {"alpha": 0.55}),
    ({"beta": 0.83}, {"beta": 0.83}),
    ({"t": 0.17, "alpha": 0.7}, {"alpha": 0.7, "t": 0.17}),
]


def visits(seed, n=84, groups=21, d=2):
    """Rows of 30 persons in groups along the first axis, with two confidential columns that depend on place."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    labels = np.empty(n, np.int64)
    labels[np.argsort(points[:, 0])] = np.arange(n) * groups // n
    first = np.argsort(np.argsort(points[:, 0] + 0.8 * rng.normal(size=n))) * 4 // n
    return points, labels, rng.permutation(np.arange(n) % 30), (first, rng.integers(0, 3, n))


def rule_of(units, codes, requested):
    columns = Values("a", codes[0], 4, ORDERED), Values("b", codes[1], 3, equal_distance(3))
    return PersonRequirements(Requirements(**requested), units, columns)


@pytest.mark.parametrize(("requested", "terms"), RULES, ids=str)
def test_joins_equal_the_obvious_search(requested, terms, monkeypatch):
    monkeypatch.setattr(person_joins, "_ROWS_AT_ONCE", 40)
    points, labels, units, codes = visits(len(str(requested)))
    rule = rule_of(units, codes, requested)
    columns = [(codes[0].tolist(), True), (codes[1].tolist(), False)]
    every = [np.flatnonzero(labels == group).tolist() for group in range(21)]
    settled = np.arange(21) % 5 == 0
    measured = {}

    def measure(rows):
        found = measured.get(tuple(rows))
        if found is None:
            found = measured[tuple(rows)] = naive.excess(rows, units.tolist(), columns, terms)
        return found

    assert rule.violation(labels) == pytest.approx([measure(rows) for rows in every], abs=1e-12)
    for calm in (None, settled):
        found, joins = join_groups(points, labels, rule, np.arange(84), settled=calm)
        expected, steps = naive.join(points, labels, measure, () if calm is None else np.flatnonzero(calm).tolist())
        assert found.tolist() == canonical_labels(expected).tolist()
        assert joins == steps > 2
    part = np.flatnonzero(labels < 15)
    found, _ = join_groups(points[part], labels[part], rule, part)
    expected, _ = naive.join(points[part], labels[part], lambda rows: measure(part[rows].tolist()))
    assert found.tolist() == canonical_labels(expected).tolist()


def test_of_ten_columns_the_eight_of_largest_variance_are_searched():
    points, labels, units, codes = visits(3, d=10)
    points[:, :3] *= 0.05
    rule = rule_of(units, codes, {"l": 3})
    columns = [(codes[0].tolist(), True), (codes[1].tolist(), False)]
    found, joins = join_groups(points, labels, rule, np.arange(84))
    expected, steps = naive.join(points, labels, lambda rows: naive.excess(rows, units.tolist(), columns, {"l": 3}))
    assert found.tolist() == canonical_labels(expected).tolist()
    assert joins == steps


def test_the_worst_figure_is_named_with_its_requirement():
    units, labels = np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])
    codes = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1])
    assert rule_of(units, codes, {"alpha": 0.6}).violated(labels) == ("alpha", "a", 0.6, 1.0)
    assert rule_of(units, codes, {"alpha": 0.6}).violated(labels, growing=True) is None
    assert rule_of(units, codes, {"l": 2}).violated(labels, growing=True) == ("l", "a", 2.0, 1.0)
    assert rule_of(units, codes, {"l": 1.5, "l_kind": "entropy"}).violated(labels) == ("l", "a", 1.5, 1.0)
    assert rule_of(units, codes, {"max_share": 0.4}).violated(labels) == ("max_share", "", 0.4, 0.5)
    assert rule_of(units, codes, {"l": 1}).violated(labels) is None


def test_only_matchings_and_shares_of_persons_survive_every_join():
    units, codes = np.arange(2), (np.arange(2), np.arange(2))
    safe = [{"l": 2}, {"p": 2}, {"l": 2, "p": 2}, {"l": 2, "max_share": 0.4}]
    unsafe = [{"l": 2, "l_kind": "entropy"}, {"l": 2, "alpha": 0.5}, {"t": 0.2}]
    assert all(rule_of(units, codes, each).joining_is_safe for each in safe)
    assert not any(rule_of(units, codes, each).joining_is_safe for each in unsafe)
