"""Counts of confidential values in each group, so that what a group lacks after one exchange follows in constant time.

The amount that a group of s rows lacks for a requirement is, but for recursive l-diversity, a function of one sum over
sets of values: f(c, s) for the count c of the rows whose value is in the set. The sets are the single values (distinct
and entropy l-diversity, alpha, beta, t-closeness of nominal values), the nodes of a tree (t-closeness with a hierarchy)
or the prefixes of an order (t-closeness of ordered values). The counts and the sums for s - 1, s and s + 1 rows are
kept for each group. If one row leaves and another comes, only the sets that contain their values change: two for a
nominal column. Columns with many values are not counted; there the sorted values of a group are compared
(``priced_groups``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import inner
from shoal.core.requirement_violation import (
    ALPHA,
    BETA,
    DISTINCT,
    ENTROPY,
    NESTED,
    ORDERED,
    RECURSIVE,
    SATISFIED,
    RequirementTable,
)

MOST_SETS = 256
"""With more sets of values than this, over all requirements, none is counted: the counts of a block would be large."""
MOST_PREFIXES = 16
"""An exchange changes the counts of all prefixes between two values; with more values sorted values are compared."""


class GroupTallies(NamedTuple):
    """The counts of each group, with the sets that are counted; no sets where values are sorted instead.

    Parameters
    ----------
    levels
        For each collection of disjoint sets its first one for a requirement, and one more at the end: the collections
        of requirement r are ``levels[r]`` to ``levels[r + 1]``.
    sets
        For each collection and value the set that contains the value, -1 if none does.
    first
        The first set of each requirement, and one more at the end.
    terms
        Two rows: weight and share of each set.
    counts
        For each group and set the rows whose value is in the set.
    sums
        For each group and requirement the sum over the sets if the group had one row less, as many, and one more.
    """

    levels: NDArray[np.int64]
    sets: NDArray[np.int64]
    first: NDArray[np.int64]
    terms: NDArray[np.float64]
    counts: NDArray[np.int32]
    sums: NDArray[np.float64]


def countable(table: RequirementTable) -> bool:
    """Return whether requirements are about so few sets of values that these are counted.

    Examples
    --------
    >>> from shoal.core.requirement_violation import no_requirements
    >>> countable(no_requirements())
    False
    """
    sets = 0
    for kind, _, _, first, last, _, values in table.rows.tolist():
        if kind == RECURSIVE or (kind == ORDERED and values > MOST_PREFIXES):
            return False
        levels = range(first, last) if kind == NESTED else ()
        sets += sum(np.unique(table.nodes[level, :values]).size for level in levels) if levels else values
    return 0 < sets <= MOST_SETS


def open_tallies(table: RequirementTable, capacity: int) -> GroupTallies:
    """Return empty counts for requirements and so many groups; without sets where these are not counted."""
    rows = len(table.rows) if countable(table) else 0
    width = max((int(row[6]) for row in table.rows), default=1)
    levels, first = [0], [0]
    sets: list[NDArray[np.int64]] = []
    terms: list[NDArray[np.float64]] = [np.zeros((2, 0))]
    for row in range(rows):
        collections, added = _sets_of(table, row)
        for collection in collections:
            inside = np.where(collection >= 0, collection + first[-1], -1)
            sets.append(np.append(inside, np.full(width - inside.size, -1)))
        terms.append(added)
        levels.append(len(sets))
        first.append(first[-1] + added.shape[1])
    return GroupTallies(
        np.array(levels, np.int64), np.array(sets, np.int64).reshape(len(sets), width), np.array(first, np.int64),
        np.ascontiguousarray(np.hstack(terms)), np.zeros((capacity, first[-1]), np.int32),
        np.zeros((capacity, rows, 3)),
    )  # fmt: skip


def _sets_of(table: RequirementTable, row: int) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Return the collections of disjoint sets of a requirement, numbered from 0, and weight and share of each set."""
    kind, _, _, begin, end, low, values = table.rows[row].tolist()
    if kind == ORDERED:
        last = values - 1
        prefixes = [np.where(np.arange(values) <= prefix, prefix, -1) for prefix in range(last)]
        return prefixes, np.vstack([np.full(last, 1 / max(last, 1)), table.shares[1, low : low + last]])
    if kind == NESTED:
        nodes = [table.nodes[level, :values] for level in range(begin, end)]
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *nodes]))
        used = used[table.sets[0, used] > 0]
        places = [np.where(np.isin(each, used), np.searchsorted(used, each), -1) for each in nodes]
        return places, table.sets[:, used]
    return [np.arange(values)], np.vstack([np.ones(values), table.shares[0, low : low + values]])


@inner
def set_term(table: Any, tallies: Any, row: int, s: int, count: int, size: int) -> float:
    """Return what a set with so many rows of a group adds to the sum of a requirement."""
    kind = table.rows[row, 0]
    if kind == DISTINCT:
        return 1.0 if count > 0 else 0.0
    if kind == ENTROPY:
        return count * np.log(count) if count > 0 else 0.0
    if kind == ALPHA:
        return max(0.0, count - table.thresholds[row, 0] * size)
    if kind == BETA:
        return max(0.0, count - table.thresholds[row, 0] * tallies.terms[1, s] * size)
    return tallies.terms[0, s] * abs(count - tallies.terms[1, s] * size)


@inner
def amount_of_sum(table: Any, row: int, total: float, size: int) -> float:
    """Return what a group of so many rows lacks for a requirement, from the sum over the sets."""
    kind, threshold = table.rows[row, 0], table.thresholds[row, 0]
    if kind == DISTINCT:
        return max(0.0, threshold - total)
    if kind == ENTROPY:
        found = total - size * (np.log(size) - threshold)
    elif kind == ALPHA:
        found = total
    elif kind == BETA:
        found = total
        found = total
    else:
        found = total - threshold * size
    return found if found > 0.5 * SATISFIED * size else 0.0


@inner
def count_group(state: Any, g: int) -> float:
    """Count the values of a group anew; return what it lacks for all requirements."""
    tallies, table = state.tallies, state.table
    size = state.counts[g, 0]
    for s in range(tallies.counts.shape[1]):
        tallies.counts[g, s] = 0
    if size == 0:
        return 0.0
    r = state.head[g]
    while r >= 0:
        for row in range(len(table.rows)):
            value = state.codes[r, table.rows[row, 1]]
            for level in range(tallies.levels[row], tallies.levels[row + 1]):
                s = tallies.sets[level, value]
                if s >= 0:
                    tallies.counts[g, s] += 1
        r = state.following[r]
    amount = 0.0
    for row in range(len(table.rows)):
        for i in range(3):
            total = 0.0
            for s in range(tallies.first[row], tallies.first[row + 1]):
                total += set_term(table, tallies, row, s, tallies.counts[g, s], size + i - 1)
            tallies.sums[g, row, i] = total
        amount += amount_of_sum(table, row, tallies.sums[g, row, 1], size)
    return amount


@inner
def counted_amount_after(state: Any, g: int, old: int, new: int) -> float:
    """Return what a group would lack if a row left (-1: none) and another came (-1: none), from its counts."""
    tallies, table = state.tallies, state.table
    change = (1 if new >= 0 else 0) - (1 if old >= 0 else 0)
    size = state.counts[g, 0] + change
    amount = 0.0
    for row in range(len(table.rows)):
        column = table.rows[row, 1]
        total = tallies.sums[g, row, 1 + change]
        for level in range(tallies.levels[row], tallies.levels[row + 1]):
            leaves = tallies.sets[level, state.codes[old, column]] if old >= 0 else -1
            comes = tallies.sets[level, state.codes[new, column]] if new >= 0 else -1
            if leaves == comes:
                continue
            if leaves >= 0:
                count = tallies.counts[g, leaves]
                total += set_term(table, tallies, row, leaves, count - 1, size)
                total -= set_term(table, tallies, row, leaves, count, size)
            if comes >= 0:
                count = tallies.counts[g, comes]
                total += set_term(table, tallies, row, comes, count + 1, size)
                total -= set_term(table, tallies, row, comes, count, size)
        amount += amount_of_sum(table, row, total, size)
    return amount
