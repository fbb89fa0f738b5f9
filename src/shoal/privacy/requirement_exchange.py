"""Compiled loops that repair groups: exchange records with neighbours until every group satisfies the requirements.

A group that violates a requirement examines the groups around it and takes the cheapest step per amount of violation
that it removes: exchange a record for another, take one in, give one away, or merge with the whole group. The cost of a
step is the change of the squared error, which follows from centroids alone (Thaeter 2021, theorems 2.15 and 2.19):
exchanging x of g for y of h changes it by -2 (y-x)(c_g-c_h) - |y-x|² (1/|g| + 1/|h|). Where nothing is violated the
same loop takes the steps that lower the squared error and violate nothing.

Requirements are rows of a table (``RequirementTable``). The violation of a group is the sum over them of its distance
from each, computed from the sorted values of its members. No violation arises when two groups that satisfy the
requirements are merged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

DISTINCT, ENTROPY, RECURSIVE, ALPHA, ORDERED, NESTED, BETA = range(7)
SATISFIED = 1e-10
"""A violation up to this is a rounding error."""
MAX_CANDIDATES = 24
"""The most records of a group that are considered for an exchange with one neighbour."""
LARGE_GROUP = 64
"""Groups with more records are only merged: one record changes little in them."""
MAX_STEPS = 16
"""The most steps of one group in one call."""
NO_STEP = -2
"""The merge target of a group for which no step helps."""


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


@inner
def _sort(values: Any, size: int) -> None:
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
def _total(values: Any, size: int, table: Any, counts: Any, most: float) -> float:
    """Return the violation of all requirements; stops where it exceeds ``most``."""
    total = 0.0
    for row in range(len(table.rows)):
        total += _violation(values[table.rows[row, 1]], size, table, row, counts)
        if total > most:
            break
    return total


@inner
def _read_values(codes: Any, members: Any, size: int, values: Any) -> None:
    """Write the sorted values of a group, one row per column."""
    for column in range(codes.shape[1]):
        for i in range(size):
            values[column, i] = codes[members[i], column]
        _sort(values[column], size)


@inner
def _replaced(values: Any, size: int, codes: Any, old: int, new: int, result: Any) -> int:
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
            _read_values(codes, members[starts[g] : starts[g] + sizes[g]], sizes[g], values)
            found[g] = _total(values, sizes[g], table, counts, np.inf)
    return found


@inner
def _closest(projected: Any, size: int, sign: float, chosen: Any) -> int:
    """Choose up to MAX_CANDIDATES records with the smallest signed projection; all of them in a small group."""
    if size <= MAX_CANDIDATES:
        for i in range(size):
            chosen[i] = i
        return size
    count = 0
    for i in range(size):
        value = sign * projected[i]
        if count == MAX_CANDIDATES and value >= sign * projected[chosen[MAX_CANDIDATES - 1]]:
            continue
        j = min(count, MAX_CANDIDATES - 1)
        while j > 0 and sign * projected[chosen[j - 1]] > value:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = i
        count = min(count + 1, MAX_CANDIDATES)
    return count


@compiled(error_model="numpy")
def exchange(
    points: Any, codes: Any, table: Any, members: Any, starts: Any, capacity: Any, sizes: Any, centroids: Any,
    violation: Any, queue: Any, around: Any, k: int, refining: bool, merge_target: Any,
) -> int:  # fmt: skip
    """Repair (or refine) the groups of a queue, one after the other; returns the number of steps taken.

    ``around[i]`` are the groups near the i-th of the queue (-1: none). ``capacity[g]`` is the number of members that
    group g may have in ``members``. ``violation`` is the violation of each group. A group that is better merged with
    another one is left as it is, and the other one is written into ``merge_target``, or NO_STEP if no step helps.
    """
    n_columns, d = codes.shape[1], points.shape[1]
    most = capacity.max() + 1
    own = np.empty((n_columns, most), np.int64)
    other = np.empty((n_columns, most), np.int64)
    left = np.empty((n_columns, 2 * most), np.int64)
    right = np.empty((n_columns, 2 * most), np.int64)
    counts = np.empty(2 * most, np.int64)
    own_along, other_along = np.empty(most), np.empty(most)
    own_chosen, other_chosen = np.empty(most, np.int64), np.empty(most, np.int64)
    between = np.empty(d)
    steps = 0
    for q in range(queue.size):
        g = queue[q]
        for _ in range(MAX_STEPS):
            size = sizes[g]
            if size == 0 or (violation[g] <= SATISFIED) != refining or (refining and size > LARGE_GROUP):
                break
            start = starts[g]
            _read_values(codes, members[start : start + size], size, own)
            best = -1e-9 if refining else np.inf
            partner, leaves, comes, merges = -1, -1, -1, False
            for position in range(around.shape[1]):
                h = around[q, position]
                if h < 0 or h == g or sizes[h] == 0 or (refining and violation[h] > SATISFIED):
                    continue
                their, begin = sizes[h], starts[h]
                _read_values(codes, members[begin : begin + their], their, other)
                apart = 0.0
                for j in range(d):
                    between[j] = centroids[g, j] - centroids[h, j]
                    apart += between[j] * between[j]
                for i in range(size):
                    along = 0.0
                    for j in range(d):
                        along += points[members[start + i], j] * between[j]
                    own_along[i] = along
                for i in range(their):
                    along = 0.0
                    for j in range(d):
                        along += points[members[begin + i], j] * between[j]
                    other_along[i] = along
                n_own = _closest(own_along, size, 1.0, own_chosen) if max(size, their) <= LARGE_GROUP else 0
                n_other = _closest(other_along, their, -1.0, other_chosen)
                together = violation[g] + violation[h]
                allowed = max(violation[h], SATISFIED)
                may_give = size > k and their + 1 < capacity[h]  # one entry stays free for exchanges
                may_take = their > k and size + 1 < capacity[g] and n_own > 0
                for a in range(-1, n_own):
                    if a == -1 and not may_take:
                        continue
                    x = members[start + own_chosen[a]] if a >= 0 else -1
                    for b in range(-1, n_other):
                        if b == -1 and (a == -1 or not may_give):
                            continue
                        y = members[begin + other_chosen[b]] if b >= 0 else -1
                        if x >= 0 and y >= 0:
                            squared = 0.0
                            for j in range(d):
                                step = points[y, j] - points[x, j]
                                squared += step * step
                            cost = 2.0 * (own_along[own_chosen[a]] - other_along[other_chosen[b]])
                            cost -= squared * (1.0 / size + 1.0 / their)
                        else:
                            record = max(x, y)
                            near_own, near_other = 0.0, 0.0
                            for j in range(d):
                                step = points[record, j] - centroids[g, j]
                                near_own += step * step
                                step = points[record, j] - centroids[h, j]
                                near_other += step * step
                            if x >= 0:
                                cost = near_other * their / (their + 1.0) - near_own * size / (size - 1.0)
                            else:
                                cost = near_own * size / (size + 1.0) - near_other * their / (their - 1.0)
                        if refining:
                            if cost >= best:
                                continue
                        elif cost > 0.0 and cost >= best * together:
                            continue
                        if x >= 0 and y >= 0 and not refining:
                            differ = False
                            for column in range(n_columns):
                                differ |= codes[x, column] != codes[y, column]
                            if not differ:
                                continue
                        largest = SATISFIED if refining else together - 1e-9
                        new_size = _replaced(own, size, codes, x, y, left)
                        new_own = _total(left, new_size, table, counts, largest)
                        if new_own > largest:
                            continue
                        new_size = _replaced(other, their, codes, y, x, right)
                        new_other = _total(right, new_size, table, counts, allowed)
                        if new_other > allowed or (not refining and new_own + new_other > largest):
                            continue
                        gain = together - new_own - new_other
                        score = cost
                        if not refining:
                            score = cost / gain if cost > 0.0 else cost * gain
                        if score < best:
                            best, partner, leaves, comes, merges = score, h, x, y, False
                if refining:
                    continue
                cost = apart * size * their / (size + their)
                if cost < best * together:
                    for column in range(n_columns):
                        for i in range(size):
                            left[column, i] = own[column, i]
                        for i in range(their):
                            left[column, size + i] = other[column, i]
                        _sort(left[column], size + their)
                    gain = together - _total(left, size + their, table, counts, together)
                    if gain > 1e-9 and cost / gain < best:
                        best, partner, merges = cost / gain, h, True
            if partner < 0 or merges:
                if not refining:
                    merge_target[g] = partner if merges else NO_STEP
                break
            steps += 1
            h = partner
            for turn in range(2):
                source, target, record = (g, h, leaves) if turn == 0 else (h, g, comes)
                if record < 0:
                    continue
                position = starts[source]
                while members[position] != record:
                    position += 1
                members[position] = members[starts[source] + sizes[source] - 1]
                for j in range(d):
                    total = centroids[source, j] * sizes[source] - points[record, j]
                    centroids[source, j] = total / (sizes[source] - 1.0)
                sizes[source] -= 1
                members[starts[target] + sizes[target]] = record
                for j in range(d):
                    total = centroids[target, j] * sizes[target] + points[record, j]
                    centroids[target, j] = total / (sizes[target] + 1.0)
                sizes[target] += 1
            for changed in (g, h):
                _read_values(codes, members[starts[changed] : starts[changed] + sizes[changed]], sizes[changed], left)
                violation[changed] = _total(left, sizes[changed], table, counts, np.inf)
    return steps
