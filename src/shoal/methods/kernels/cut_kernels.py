"""Cuts by rank: the direction of a cut, and the lower half of the records along it, without sorting.

Thaeter 2021, sections 7.1 and 7.2 (Algorithms 18 and 19); Thaeter & Reischuk 2021, Algorithms 4 and 5. A cut puts the
first ⌊m/2⌋ of m records, ordered along a direction, on one side. The published runs sort stably and pass the new order
on, so records that are equal along a direction are in the order of the previous cut, those equal there in the order of
the cut before that one, and finally in the order of the table. A selection with that chain of comparisons finds the
same halves in O(m d) instead of O(m (d + log m)).

A direction is three numbers p, q, s: attribute p alone if s is 0, else attribute p plus s times attribute q.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

RANGE, VARIANCE, PAIRS = range(3)
NEARLY_EQUAL = 1e-9
STACK_SIZE = 64


def work_arrays(size: int, d: int) -> tuple[NDArray[Any], ...]:
    """Return the work arrays for ``size`` records: values, positions and sides of records, sums over attributes."""
    return np.empty((2, size)), np.empty(size, np.int64), np.empty(size, np.int8), np.empty((d + 4, d))


@inner
def _choose(
    points: Any, order: Any, start: int, stop: int, rule: int, weight: float, sums: Any, path: Any, level: int
) -> None:
    """Choose the direction of a cut: the attribute with the widest range, with the largest variance, or a pair.

    ``weight`` scales the variance of a sum or difference of two attributes. Scores that differ by rounding only count
    as equal (standardised data begin with a tie): the first attribute, sum or difference wins.
    """
    d = points.shape[1]
    for j in range(d):
        value = np.float64(points[order[start], j])
        sums[0, j] = 0.0 if rule == RANGE else value  # a record of the part as the origin keeps the digits of the sums
        sums[1, j] = value if rule == RANGE else 0.0
        sums[2, j] = sums[1, j]
        for q in range(d):
            sums[4 + j, q] = 0.0
    for i in range(start, stop):
        record = order[i]
        for j in range(d):
            value = points[record, j] - sums[0, j]
            sums[3, j] = value
            if rule == RANGE:
                sums[1, j] = min(sums[1, j], value)
                sums[2, j] = max(sums[2, j], value)
            else:
                sums[1, j] += value
                sums[2, j] += value * value
        if rule == PAIRS:
            for p in range(d):
                for q in range(d):  # the full square: a row of fixed length is faster than a triangle
                    sums[4 + p, q] += sums[3, p] * sums[3, q]
    m = stop - start
    for j in range(d):
        sums[2, j] -= sums[1, j] if rule == RANGE else sums[1, j] * sums[1, j] / m
    bound = -np.inf
    path[level, 1] = 0
    path[level, 2] = 0
    for turn in range(2):  # first the largest score, then the first that equals it
        for j in range(d):
            if turn == 0:
                bound = max(bound, sums[2, j])
            elif sums[2, j] >= bound:
                path[level, 0] = j
                return
        if rule == PAIRS:
            for sign in range(1, -2, -2):
                for p in range(d):
                    for q in range(p + 1, d):
                        both = sums[4 + p, q] - sums[1, p] * sums[1, q] / m
                        score = weight * (sums[2, p] + sums[2, q] + 2.0 * sign * both)
                        if turn == 0:
                            bound = max(bound, score)
                        elif score >= bound:
                            path[level, 0] = p
                            path[level, 1] = q
                            path[level, 2] = sign
                            return
        bound -= NEARLY_EQUAL * abs(bound)


@inner
def _select(both: Any, size: int, rank: int) -> float:
    """Return the value of this rank among the first ``size`` of the second row; rearranges them."""
    values = both[1]
    left = 0
    right = size - 1
    state = 1
    while right - left > 16:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        step = (right - left) // 4
        a = left + ((state >> 8) & 0xFFFF) * step // 0x10000  # pseudo-random pivots: no order of the records is slow
        pivot = max(min(values[a], values[a + step]), min(max(values[a], values[a + step]), values[a + 3 * step]))
        i = left
        j = right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            right = j
        elif rank >= i:
            left = i
        else:
            return values[rank]
    for i in range(left + 1, right + 1):
        value = values[i]
        j = i
        while j > left and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    return values[rank]


@inner
def _cut_by_rank(
    points: Any, order: Any, start: int, stop: int, path: Any, depth: int, values: Any, positions: Any, sides: Any
) -> int:
    """Move the first half of the records along ``path[depth]`` to the front; return where it ends.

    Before and after, the records of both sides are in the order of the table. ``path`` holds the directions of the
    cuts above.
    """
    m = stop - start
    for i in range(m):
        positions[i] = i
    missing = m // 2
    tied = m
    for level in range(depth, -1, -1):
        p = path[level, 0]
        q = path[level, 1]
        sign = path[level, 2]
        seen = False  # a later cut had the same direction: records tied there are tied here
        for later in range(level + 1, depth + 1):
            seen = seen or (path[later, 0] == p and path[later, 1] == q and path[later, 2] == sign)
        if seen:
            continue
        for i in range(tied):
            record = order[start + positions[i]]
            value = np.float64(points[record, p])
            if sign != 0:
                value += sign * np.float64(points[record, q])
            values[0, i] = value
            values[1, i] = value
        bound = _select(values, tied, missing - 1)
        still = 0
        for i in range(tied):
            if values[0, i] == bound:
                positions[still] = positions[i]
                still += 1
            else:
                below = values[0, i] < bound
                sides[positions[i]] = 0 if below else 1
                missing -= 1 if below else 0
        tied = still
        if missing == tied:
            break
    for i in range(tied):
        sides[positions[i]] = 0 if i < missing else 1
    front = start
    back = 0
    for i in range(m):
        record = order[start + i]
        if sides[i] == 0:
            order[front] = record
            front += 1
        else:
            positions[back] = record
            back += 1
    for i in range(back):
        order[front + i] = positions[i]
    return front


@inner
def _sort_by_cuts(points: Any, order: Any, start: int, stop: int, path: Any, depth: int, positions: Any) -> None:
    """Sort the records of a part by merging, as stable sorts along the cuts above would have left them."""
    width = 1
    while width < stop - start:
        for low in range(start, stop, 2 * width):
            middle = min(low + width, stop)
            high = min(low + 2 * width, stop)
            i = low
            j = middle
            for target in range(low, high):
                first = i < middle
                if first and j < high:
                    left = order[i]
                    right = order[j]
                    first = left < right
                    for level in range(depth - 1, -1, -1):
                        p = path[level, 0]
                        sign = path[level, 2]
                        own = np.float64(points[left, p])
                        other = np.float64(points[right, p])
                        if sign != 0:
                            own += sign * np.float64(points[left, path[level, 1]])
                            other += sign * np.float64(points[right, path[level, 1]])
                        if own != other:
                            first = bool(own < other)
                            break
                positions[target - start] = order[i] if first else order[j]
                i += 1 if first else 0
                j += 0 if first else 1
        for i in range(start, stop):
            order[i] = positions[i - start]
        width *= 2


@compiled
def cut_down(
    points: Any, order: Any, path: Any, depth: int, rule: int, weight: float, size: int, inherit: bool,
    values: Any, positions: Any, sides: Any, sums: Any, waiting: Any, ends: Any,
) -> int:  # fmt: skip
    """Cut the records of ``order`` into parts of at most ``size``; write where each part ends, return how many.

    With ``inherit``, the records of a part are left in the order that stable sorts along the cuts leave, else in that
    of the table.

    There are ``depth`` cuts above; their directions are in ``path``, which has capacity for more. If ``path[depth]``
    holds a direction (its first number is not negative), it is used for the first cut. The other arrays are work
    arrays (``work_arrays``); ``waiting`` holds the parts that are still to be cut.
    """
    count = 0
    waiting[0, 0] = 0
    waiting[0, 1] = order.size
    waiting[0, 2] = depth
    height = 1
    while height:
        height -= 1
        start = waiting[height, 0]
        stop = waiting[height, 1]
        level = waiting[height, 2]
        if stop - start <= size:
            if inherit:
                _sort_by_cuts(points, order, start, stop, path, level, positions)
            ends[count] = stop
            count += 1
            continue
        if level > depth or path[level, 0] < 0:
            _choose(points, order, start, stop, rule, weight, sums, path, level)
        middle = _cut_by_rank(points, order, start, stop, path, level, values, positions, sides)
        waiting[height, 0] = middle
        waiting[height, 1] = stop
        waiting[height, 2] = level + 1
        waiting[height + 1, 0] = start
        waiting[height + 1, 1] = middle
        waiting[height + 1, 2] = level + 1
        height += 2
    return count
