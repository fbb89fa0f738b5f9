"""The loss of a group where its representative is neither the mean nor the mode, computed from its records.

Numbers: the squared distance to the median, the middle of the range, the minimum or the maximum; a column that is
suppressed in groups of different values is replaced by the mean of the column, which is 0. Categories: all cells of a
group are wrong where they are suppressed because they differ, and all but one in c are wrong where the released set, or
the released node of a hierarchy, represents c categories. Cost O(k) for each column, O(k²) for medians.

A column with missing cells is one of these columns whatever represents it. Only its known cells cost anything: they
are compared with the representative of the known cells of the group or, where a group that mixes known and missing
cells is emptied, with the mean of the column (a category is then wrong).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import inner

MEAN, LOWER_MEDIAN, MEDIAN, MIDRANGE, MINIMUM, MAXIMUM, SUPPRESSED_NUMBER = range(7)
MODE, SUPPRESSED, SET, HIERARCHY = range(4)
NEAR_HALF = 1e-9
"""How close to a half a share of the weight counts as a half."""


@inner
def special_cost(rows: Any, prices: Any, shape: Any, special: Any, g: int, out: int, into: int) -> Any:
    """Return the cost of the columns after the first ``means`` and ``modes``, if one record leaves and another joins.

    ``special`` holds the members and the sizes of the groups, the costs of numbers and of codes, for hierarchies the
    ancestors (m x levels x categories) and the number of categories that each represents, two work arrays of more
    than the maximum group size, and ``partial``: None, or which cells are known (n x (d + m)), which columns are
    emptied in groups that mix known and missing cells, and a further work array.
    """
    members, sizes, number_costs, code_costs, ancestors, options, values, present, partial = special
    d, m, means, modes = shape
    total = 0.0
    count = 0
    for p in range(sizes[g] + 1):
        i = into if p == sizes[g] else members[g, p]
        if i < 0 or (p < sizes[g] and i == out):
            continue
        present[count] = i
        count += 1
    everyone = count
    if everyone == 0:
        return total
    inside = known_members(partial, present)
    for j in range(means, d):
        kind = number_costs[j]
        count = count_known(partial, present, everyone, j)
        if count == 0:
            continue
        if is_emptied(partial, count, everyone, j):
            middle = 0.0
        elif kind == MEAN:
            middle = _mean(rows, inside, count, j)
        elif kind in (LOWER_MEDIAN, MEDIAN):
            middle = _median(rows, values, inside, count, j, kind == LOWER_MEDIAN)
        else:
            middle = _between(rows, inside, count, j, kind)
        for p in range(count):
            difference = rows[inside[p], 1 + j] - middle
            total += rows[inside[p], 0] * difference * difference
    for j in range(modes, m):
        count = count_known(partial, present, everyone, d + j)
        if count == 0:
            continue
        if is_emptied(partial, count, everyone, d + j):
            for p in range(count):
                total += prices[j] * rows[inside[p], 0]
            continue
        if code_costs[j] == MODE:
            total += prices[j] * _other_than_mode(rows, inside, count, 1 + d + j)
            continue
        represented = _represented(rows, code_costs[j], ancestors, options, inside, count, j, 1 + d + j)
        if represented > 1.0:
            wrong = 1.0 if code_costs[j] == SUPPRESSED else 1.0 - 1.0 / represented
            for p in range(count):
                total += prices[j] * wrong * rows[inside[p], 0]
    return total


@inner
def known_members(partial: Any, present: Any) -> Any:
    """Return the array that holds the members whose cell of a column is known."""
    if partial is None:
        return present
    return partial[2]


@inner
def count_known(partial: Any, present: Any, count: int, column: int) -> Any:
    """Write the members whose cell of a column is known, and return how many there are; all, if no cell is missing."""
    if partial is None:
        return count
    observed, _, known = partial
    found = 0
    for p in range(count):
        known[found] = present[p]
        found += observed[present[p], column]
    return found


@inner
def is_emptied(partial: Any, known: int, count: int, column: int) -> Any:
    """Return whether a column is emptied in a group with so many known cells."""
    if partial is None:
        return False
    return known < count and partial[1][column]


@inner
def _mean(rows: Any, inside: Any, count: int, j: int) -> Any:
    """Return the weighted mean."""
    first = rows[inside[0], 1 + j]
    weight = 0.0
    total = 0.0
    for p in range(count):
        weight += rows[inside[p], 0]
        total += rows[inside[p], 0] * (rows[inside[p], 1 + j] - first)
    return first + total / weight


@inner
def _other_than_mode(rows: Any, inside: Any, count: int, column: int) -> Any:
    """Return the weight of the records that have another than the most frequent category."""
    most = 0.0
    total = 0.0
    for p in range(count):
        total += rows[inside[p], 0]
        weight = 0.0
        for q in range(count):
            if rows[inside[q], column] == rows[inside[p], column]:
                weight += rows[inside[q], 0]
        most = max(most, weight)
    return total - most


@inner
def _between(rows: Any, inside: Any, count: int, j: int, kind: int) -> Any:
    """Return the minimum, the maximum or the middle of the range; 0, the mean of the column, where it is suppressed."""
    low = rows[inside[0], 1 + j]
    high = low
    for p in range(1, count):
        low = min(low, rows[inside[p], 1 + j])
        high = max(high, rows[inside[p], 1 + j])
    if kind == MINIMUM or low == high:
        return low
    if kind == MAXIMUM:
        return high
    return low / 2 + high / 2 if kind == MIDRANGE else 0.0


@inner
def _median(rows: Any, values: Any, inside: Any, count: int, j: int, lower: bool) -> Any:
    """Return the median: the value where half of the weight is reached, or the middle between two."""
    total = 0.0
    for p in range(count):
        i = inside[p]
        total += rows[i, 0]
        q = p
        while q > 0 and values[q - 1, 0] > rows[i, 1 + j]:
            values[q, 0] = values[q - 1, 0]
            values[q, 1] = values[q - 1, 1]
            q -= 1
        values[q, 0] = rows[i, 1 + j]
        values[q, 1] = rows[i, 0]
    low = values[count - 1, 0]
    high = low
    reached = False
    summed = 0.0
    for p in range(count):
        summed += values[p, 1] / total
        if not reached and summed >= 0.5 - NEAR_HALF:
            low = values[p, 0]
            reached = True
        if summed > 0.5 + NEAR_HALF:
            high = values[p, 0]
            break
    return low if lower or low == high else low / 2 + high / 2


@inner
def _represented(
    rows: Any, kind: int, ancestors: Any, options: Any, inside: Any, count: int, j: int, column: int
) -> Any:
    """Return how many categories the released text of a group represents."""
    if kind == HIERARCHY:
        first = np.int64(rows[inside[0], column])
        for level in range(ancestors.shape[1]):
            p = 1
            while p < count and (ancestors[j, level, np.int64(rows[inside[p], column])] == ancestors[j, level, first]):
                p += 1
            if p == count:
                return options[j, level, first]
    found = 0.0
    for p in range(count):
        q = 0
        while rows[inside[q], column] != rows[inside[p], column]:
            q += 1
        if q == p:
            found += 1.0
    return found
