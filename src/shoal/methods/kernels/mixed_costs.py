"""The exact loss of a group of numbers and categories, and how it changes when records leave and join.

A number that is represented by the mean of its group costs its squared distance to it, a category that is represented
by the most frequent one a price for each record that has another one; each record counts with its sampling weight. For
each group the means and the weights of the categories that occur in it are kept, so a change costs O(columns). Other
representatives are in ``special_costs``.

The arrays that describe a block; few and dense, because every visit of a record reads them:

- ``rows``: for each record its weight, its d numbers (already scaled by the weights of the columns), its m codes;
- ``prices``: what a wrong category costs in each column of codes;
- ``shape``: (d, m, means, modes): the first ``means`` numbers are represented by means, the first ``modes`` codes by
  modes;
- ``special``: None if these are all columns; otherwise what ``special_costs`` needs;
- ``summary``: for each group its weight, its number of records, the cost of its special columns, d means, and for each
  of the m columns the weight of the most frequent category;
- ``lists``: for each group and column of codes how many categories occur, then each with its weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.special_costs import special_cost

WEIGHT, SIZE, OTHERS, MEANS = range(4)
"""Columns of the summary of a group; the most frequent categories follow after the means."""


@inner
def cost_change(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, g: int, out: int, into: int
) -> Any:
    """Return by how much the cost of a group changes when one record leaves it and another joins; -1 for none."""
    d, _, means, modes = shape
    lost = 0.0
    gained = 0.0
    x = into
    y = out
    if out >= 0:
        lost = rows[out, 0]
        x = out
    if into >= 0:
        gained = rows[into, 0]
        y = into
    if into < 0 and summary[g, SIZE] == 1.0:
        return -summary[g, OTHERS]  # nothing is left
    change = 0.0
    moved = 0.0
    for j in range(means):
        centre = summary[g, MEANS + j]
        from_out = rows[x, 1 + j] - centre
        from_into = rows[y, 1 + j] - centre
        step = gained * from_into - lost * from_out
        change += gained * from_into * from_into - lost * from_out * from_out
        moved += step * step
    change -= moved / (summary[g, WEIGHT] - lost + gained)
    for j in range(modes):
        leaving = rows[x, 1 + d + j] if out >= 0 else -1.0
        joining = rows[y, 1 + d + j] if into >= 0 else -1.0
        if leaving == joining and lost == gained:
            continue
        top = gained
        for e in range(1, 2 * np.int64(lists[g, j, 0]), 2):
            count = lists[g, j, e + 1]
            if lists[g, j, e] == leaving:
                count -= lost
            if lists[g, j, e] == joining:
                count += gained
            top = max(top, count)
        change += prices[j] * (gained - lost + summary[g, MEANS + d + j] - top)
    if special is not None:
        change += special_cost(rows, prices, shape, special, g, out, into) - summary[g, OTHERS]
    return change


@inner
def move_record(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, i: int, b: int,
) -> None:  # fmt: skip
    """Take a record out of its group and put it into another one."""
    d, m = shape[0], shape[1]
    a = group[i]
    weight = rows[i, 0]
    last = sizes[a] - 1
    other = members[a, last]
    members[a, place[i]] = other
    place[other] = place[i]
    sizes[a] = last
    size = sizes[b]
    members[b, size] = i
    place[i] = size
    group[i] = b
    sizes[b] = size + 1
    summary[a, WEIGHT] = summary[a, WEIGHT] - weight if last > 0 else 0.0
    summary[b, WEIGHT] += weight
    summary[a, SIZE] -= 1.0
    summary[b, SIZE] += 1.0
    for j in range(d):
        value = rows[i, 1 + j]
        if last > 0:
            summary[a, MEANS + j] += (summary[a, MEANS + j] - value) * (weight / summary[a, WEIGHT])
        if size > 0:
            summary[b, MEANS + j] += (value - summary[b, MEANS + j]) * (weight / summary[b, WEIGHT])
        else:
            summary[b, MEANS + j] = value
    for j in range(m):
        code = rows[i, 1 + d + j]
        _remove(rows, summary, lists, members, a, j, d, code, weight)
        _add(summary, lists, b, j, d, code, weight)
    if special is not None:
        for g in (a, b):
            summary[g, OTHERS] = special_cost(rows, prices, shape, special, g, np.int64(-1), np.int64(-1))


@inner
def _add(summary: Any, lists: Any, g: int, j: int, d: int, code: float, weight: float) -> None:
    """Count a category."""
    end = 2 * np.int64(lists[g, j, 0]) + 1
    e = np.int64(1)
    while e < end and lists[g, j, e] != code:
        e += 2
    if e == end:
        lists[g, j, e] = code
        lists[g, j, e + 1] = 0.0
        lists[g, j, 0] += 1.0
    lists[g, j, e + 1] += weight
    summary[g, MEANS + d + j] = max(summary[g, MEANS + d + j], lists[g, j, e + 1])


@inner
def _remove(
    rows: Any, summary: Any, lists: Any, members: Any, g: int, j: int, d: int, code: float, weight: float
) -> None:
    """Count a category once less; one that no member has any more leaves the list."""
    e = np.int64(1)
    while lists[g, j, e] != code:
        e += 2
    lists[g, j, e + 1] -= weight
    size = np.int64(summary[g, SIZE])
    p = 0
    while p < size and rows[members[g, p], 1 + d + j] != code:
        p += 1
    if p == size:
        last = 2 * np.int64(lists[g, j, 0]) - 1
        lists[g, j, e] = lists[g, j, last]
        lists[g, j, e + 1] = lists[g, j, last + 1]
        lists[g, j, 0] -= 1.0
    top = 0.0
    for c in range(2, 2 * np.int64(lists[g, j, 0]) + 1, 2):
        top = max(top, lists[g, j, c])
    summary[g, MEANS + d + j] = top


@compiled(error_model="numpy")
def recount(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, members: Any, sizes: Any, costs: Any
) -> None:
    """Compute weights, means, counts and costs of all groups from their records."""
    d, m, means, modes = shape
    for g in range(sizes.size):
        size = sizes[g]
        costs[g] = 0.0
        for c in range(summary.shape[1]):
            summary[g, c] = 0.0
        for j in range(m):
            lists[g, j, 0] = 0.0
        if size == 0:
            continue
        summary[g, SIZE] = size
        for p in range(size):
            summary[g, WEIGHT] += rows[members[g, p], 0]
        first = members[g, 0]
        for j in range(d):
            total = 0.0
            for p in range(1, size):
                i = members[g, p]
                total += rows[i, 0] * (rows[i, 1 + j] - rows[first, 1 + j])
            middle = rows[first, 1 + j] + total / summary[g, WEIGHT]
            summary[g, MEANS + j] = middle
            if j < means:
                for p in range(size):
                    i = members[g, p]
                    difference = rows[i, 1 + j] - middle
                    costs[g] += rows[i, 0] * difference * difference
        for j in range(m):
            for p in range(size):
                i = members[g, p]
                _add(summary, lists, g, j, d, rows[i, 1 + d + j], rows[i, 0])
            if j < modes and lists[g, j, 0] > 1.0:
                costs[g] += prices[j] * (summary[g, WEIGHT] - summary[g, MEANS + d + j])
        if special is not None:
            summary[g, OTHERS] = special_cost(rows, prices, shape, special, g, np.int64(-1), np.int64(-1))
            costs[g] += summary[g, OTHERS]
