"""The violation of requirements on confidential values by a group, as compiled functions that several searches share.

Requirements are rows of a table (``RequirementTable``). The violation of a group is the sum over them of its distance
from each, computed from the sorted values of its members; 0 if it satisfies all. No violation arises when two groups
that satisfy the requirements are merged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

DISTINCT, ENTROPY, RECURSIVE, ALPHA, ORDERED, NESTED, BETA = range(7)
SATISFIED = 1e-10
"""A violation up to this is a rounding error."""


class RequirementTable(NamedTuple):
    """Requirements as a few arrays, which compile faster than many.

    Parameters
    ----------
    rows
        One row per requirement: kind, column, l, first and last level of nested sets, first index of the column in
        ``shares``, and its number of values.
    thresholds
        One row per requirement: the threshold, and the distance of an empty group for nested sets.
    shares
        Three rows: the share of each value, the share of all values up to it, and the sum of the latter over all values
        below. Each column has one entry more than it has values.
    nodes
        For each level the set that each value belongs to.
    sets
        Two rows: weight and share of each set.
    """

    rows: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    shares: NDArray[np.float64]
    nodes: NDArray[np.int64]
    sets: NDArray[np.float64]


def no_requirements() -> RequirementTable:
    """Return a table without requirements.

    Examples
    --------
    >>> len(no_requirements().rows)
    0
    """
    rows, nodes = np.zeros((0, 7), np.int64), np.zeros((0, 1), np.int64)
    return RequirementTable(rows, np.zeros((0, 2)), np.zeros((3, 1)), nodes, np.zeros((2, 1)))


@inner
def sort_values(values: Any, size: int) -> None:
    """Sort in place; shell sort, because groups are small."""
    gap = size // 2
    while gap > 0:
        for i in range(gap, size):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 2


@inner
def _ordered(values: Any, size: int, table: Any, row: int) -> float:
    """Return the earth mover's distance of sorted values to the table, by the order of the values."""
    low, n_values = table.rows[row, 5], table.rows[row, 6]
    if n_values < 2:
        return 0.0
    below, area = table.shares[1], table.shares[2]
    total = area[low + values[0]]
    i = 0
    while i < size:
        value = values[i]
        while i < size and values[i] == value:
            i += 1
        end = values[i] if i < size else n_values
        reached = i / size
        left, right = value, end
        while left < right:
            middle = (left + right) // 2
            if below[low + middle] < reached:
                left = middle + 1
            else:
                right = middle
        total += reached * (2 * left - value - end) - 2 * area[low + left] + area[low + value] + area[low + end]
    return total / (n_values - 1)


@inner
def _nested(values: Any, size: int, table: Any, row: int) -> float:
    """Return the earth mover's distance of sorted values to the table, by nested sets of values."""
    total = table.thresholds[row, 1]
    for level in range(table.rows[row, 3], table.rows[row, 4]):
        i = 0
        while i < size:
            node = table.nodes[level, values[i]]
            j = i
            while j < size and table.nodes[level, values[j]] == node:
                j += 1
            share = table.sets[1, node]
            total += table.sets[0, node] * (abs((j - i) / size - share) - share)
            i = j
    return total


@inner
def _violation(values: Any, size: int, table: Any, row: int, counts: Any) -> float:
    """Return the distance of sorted values from satisfying one requirement; 0 if they satisfy it."""
    kind, threshold = table.rows[row, 0], table.thresholds[row, 0]
    if kind == ORDERED:
        return max(0.0, _ordered(values, size, table, row) - threshold)
    if kind == NESTED:
        return max(0.0, _nested(values, size, table, row) - threshold)
    low = table.rows[row, 5]
    different, first = 0, 0
    total = 0.0
    i = 0
    while i < size:
        j = i
        while j < size and values[j] == values[i]:
            j += 1
        count = j - i
        counts[different] = count
        different += 1
        first = max(first, count)
        if kind == ENTROPY:
            total += count * np.log(count)
        elif kind == ALPHA:
            total += max(0.0, count / size - threshold)
        elif kind == BETA:
            total += max(0.0, count / size - threshold * table.shares[0, low + values[i]])
        i = j
    if kind == DISTINCT:
        return max(0.0, threshold - different) / threshold
    if kind == ENTROPY:
        return max(0.0, threshold - (np.log(size) - total / size))
    if kind == RECURSIVE:
        rest = size
        for _ in range(table.rows[row, 2] - 1):
            best = 0
            for position in range(different):
                if counts[position] > counts[best]:
                    best = position
            rest -= counts[best]
            counts[best] = 0
        if first >= threshold * rest:
            return (first - threshold * rest) / size + 1e-6
        return 0.0
    return total


@inner
def total_violation(values: Any, size: int, table: Any, counts: Any, most: float) -> float:
    """Return the violation of all requirements; stops where it exceeds ``most``."""
    total = 0.0
    for row in range(len(table.rows)):
        total += _violation(values[table.rows[row, 1]], size, table, row, counts)
        if total > most:
            break
    return total


@inner
def violation_amount(values: Any, size: int, table: Any, counts: Any) -> float:
    """Return about how many records must change until a group satisfies all requirements; 0 if it satisfies them.

    These are the missing different values for distinct l, and the violation times the size for all others, which are
    about shares.
    """
    total, amount = 0.0, 0.0
    for row in range(len(table.rows)):
        found = _violation(values[table.rows[row, 1]], size, table, row, counts)
        total += found
        amount += found * (table.thresholds[row, 0] if table.rows[row, 0] == DISTINCT else size)
    return amount if total > SATISFIED else 0.0


@inner
def read_group_values(codes: Any, members: Any, size: int, values: Any) -> None:
    """Write the sorted values of a group, one row per column."""
    for column in range(codes.shape[1]):
        for i in range(size):
            values[column, i] = codes[members[i], column]
        sort_values(values[column], size)


@inner
def replaced_values(values: Any, size: int, codes: Any, old: int, new: int, result: Any) -> int:
    """Write the sorted values after one record leaves (-1: none) and another comes (-1: none); return their number."""
    for column in range(codes.shape[1]):
        leaves = codes[old, column] if old >= 0 else -1
        comes = codes[new, column] if new >= 0 else -1
        position = 0
        line, target = values[column], result[column]
        for i in range(size):
            value = line[i]
            if value == leaves:
                leaves = -1
                continue
            if 0 <= comes <= value:
                target[position] = comes
                position += 1
                comes = -1
            target[position] = value
            position += 1
        if comes >= 0:
            target[position] = comes
    return size - (1 if old >= 0 else 0) + (1 if new >= 0 else 0)


@compiled(error_model="numpy")
def violations(codes: Any, members: Any, starts: Any, sizes: Any, table: Any) -> Any:
    """Return the violation of each group; ``members[starts[g] : starts[g] + sizes[g]]`` are its records."""
    largest = sizes.max()
    values = np.empty((codes.shape[1], largest), np.int64)
    counts = np.empty(largest, np.int64)
    found = np.zeros(sizes.size)
    for g in range(sizes.size):
        if sizes[g]:
            read_group_values(codes, members[starts[g] : starts[g] + sizes[g]], sizes[g], values)
            found[g] = total_violation(values, sizes[g], table, counts, np.inf)
    return found
