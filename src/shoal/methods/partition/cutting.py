"""Cuts by rank: the direction of a cut, and the lower half of the records along it, without sorting.

Thaeter 2021, sections 7.1 and 7.2 (Algorithms 18 and 19); Thaeter & Reischuk 2021, Algorithms 4 and 5. A cut puts the
first ⌊m/2⌋ of m records, ordered along a direction, on one side. The published runs sort stably and hand the new order
down, so records that are equal along a direction stand in the order of the cut before, those equal there in the order
of the cut before that one, and in the end in the order of the table. A selection with that chain of comparisons finds
the same halves in O(m d) instead of O(m (d + log m)).

A direction is three numbers p, q, s: attribute p alone if s is 0, else attribute p plus s times attribute q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.inner import inner

RANGE, VARIANCE, PAIRS = range(3)
NEARLY_EQUAL = 1e-9
DEEPEST = 64


class Room(NamedTuple):
    """Room to work in, for as many records as are cut."""

    values: NDArray[np.float64]
    scratch: NDArray[np.float64]
    places: NDArray[np.int64]
    sides: NDArray[np.int8]


def make_room(size: int) -> Room:
    """Return room for so many records."""
    return Room(np.empty(size), np.empty(size), np.empty(size, np.int64), np.empty(size, np.int8))


@inner
def widest_attribute(points: Any, order: Any, direction: Any) -> None:
    """Choose the attribute with the widest range among these records."""
    d = points.shape[1]
    low = np.empty(d)
    high = np.empty(d)
    for j in range(d):
        low[j] = points[order[0], j]
        high[j] = low[j]
    for i in range(order.size):
        row = points[order[i]]
        for j in range(d):
            low[j] = min(low[j], row[j])
            high[j] = max(high[j], row[j])
    for j in range(d):
        high[j] -= low[j]
    direction[0] = _first_of_the_largest(high)
    direction[1] = 0
    direction[2] = 0


@inner
def most_varied_attribute(points: Any, order: Any, direction: Any) -> None:
    """Choose the attribute with the largest variance among these records."""
    d = points.shape[1]
    shift = np.empty(d)
    total = np.zeros(d)
    squares = np.zeros(d)
    for j in range(d):
        shift[j] = points[order[0], j]  # a record of the node keeps the digits
    for i in range(order.size):
        row = points[order[i]]
        for j in range(d):
            value = row[j] - shift[j]
            total[j] += value
            squares[j] += value * value
    for j in range(d):
        squares[j] -= total[j] * total[j] / order.size
    direction[0] = _first_of_the_largest(squares)
    direction[1] = 0
    direction[2] = 0


@inner
def most_varied_pair(points: Any, order: Any, weight: float, direction: Any) -> None:
    """Choose the attribute, or the sum or difference of two, with the largest variance; ``weight`` scales pairs."""
    d = points.shape[1]
    shift = np.empty(d)
    total = np.zeros(d)
    value = np.empty(d)
    scatter = np.zeros((d, d))
    for j in range(d):
        shift[j] = points[order[0], j]
    for i in range(order.size):
        row = points[order[i]]
        for j in range(d):
            value[j] = row[j] - shift[j]
            total[j] += value[j]
        for p in range(d):
            for q in range(d):  # the full square: a row of fixed length is faster than a triangle
                scatter[p, q] += value[p] * value[q]
    scores = np.empty(d * d)
    count = d
    for p in range(d):
        for q in range(d):
            scatter[p, q] -= total[p] * total[q] / order.size
        scores[p] = scatter[p, p]
    for sign in (1.0, -1.0):
        for p in range(d):
            for q in range(p + 1, d):
                scores[count] = weight * (scatter[p, p] + scatter[q, q] + 2.0 * sign * scatter[p, q])
                count += 1
    best = _first_of_the_largest(scores)
    direction[0] = best
    direction[1] = 0
    direction[2] = 0
    count = d
    for sign in (1, -1):
        for p in range(d):
            for q in range(p + 1, d):
                if count == best:
                    direction[0] = p
                    direction[1] = q
                    direction[2] = sign
                count += 1


@inner
def _first_of_the_largest(scores: Any) -> int:
    """Return the first place whose score is the largest, give or take rounding (standardised data begin with a tie)."""
    largest = scores[0]
    for i in range(scores.size):
        largest = max(largest, scores[i])
    bound = largest - NEARLY_EQUAL * abs(largest)
    for i in range(scores.size):
        if scores[i] >= bound:
            return i
    return 0


@inner
def choose(points: Any, order: Any, rule: int, weight: float, direction: Any) -> None:
    """Choose the direction of the cut by one of the three rules."""
    if rule == RANGE:
        widest_attribute(points, order, direction)
    elif rule == VARIANCE:
        most_varied_attribute(points, order, direction)
    else:
        most_varied_pair(points, order, weight, direction)


@inner
def _project(points: Any, order: Any, places: Any, count: int, direction: Any, values: Any) -> None:
    """Write the values along the direction of the records at the first ``count`` places of the order."""
    p = direction[0]
    q = direction[1]
    sign = direction[2]
    for i in range(count):
        record = order[places[i]]
        value = np.float64(points[record, p])
        if sign != 0:
            value += sign * np.float64(points[record, q])
        values[i] = value


@inner
def _select(values: Any, size: int, rank: int) -> float:
    """Return the value of this rank among the first ``size``; rearranges them."""
    left = 0
    right = size - 1
    state = 1
    while right - left > 16:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        step = (right - left) // 4
        a = left + ((state >> 8) & 0xFFFF) * step // 0x10000  # pivots by chance: no order of records is slow
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
def cut_by_rank(points: Any, order: Any, path: Any, depth: int, room: Any) -> int:
    """Move the first half of the records along ``path[depth]`` to the front of the order; return how many they are.

    The order is that of the table, before and after, on both sides. ``path`` has the directions of the cuts above.
    """
    m = order.size
    places = room.places
    sides = room.sides
    for i in range(m):
        places[i] = i
    missing = m // 2
    tied = m
    for level in range(depth, -1, -1):
        if _seen(path, level, depth):
            continue
        _project(points, order, places, tied, path[level], room.values)
        for i in range(tied):
            room.scratch[i] = room.values[i]
        bound = _select(room.scratch, tied, missing - 1)
        still = 0
        for i in range(tied):
            if room.values[i] < bound:
                sides[places[i]] = 0
                missing -= 1
            elif room.values[i] > bound:
                sides[places[i]] = 1
            else:
                places[still] = places[i]
                still += 1
        tied = still
        if missing == tied:
            break
    for i in range(tied):
        sides[places[i]] = 0 if i < missing else 1
    front = 0
    back = 0
    for i in range(m):
        record = order[i]
        if sides[i] == 0:
            order[front] = record
            front += 1
        else:
            places[back] = record
            back += 1
    for i in range(back):
        order[front + i] = places[i]
    return front


@inner
def _seen(path: Any, level: int, depth: int) -> bool:
    """Say whether a later cut had the same direction, so that records tied there are tied here."""
    for later in range(level + 1, depth + 1):
        if path[later, 0] == path[level, 0] and path[later, 1] == path[level, 1] and path[later, 2] == path[level, 2]:
            return True
    return False


@inner
def _before(points: Any, left: int, right: int, path: Any, depth: int) -> bool:
    """Say whether a record stands before another one in the order that the cuts above hand down."""
    for level in range(depth - 1, -1, -1):
        first = np.float64(points[left, path[level, 0]])
        second = np.float64(points[right, path[level, 0]])
        if path[level, 2] != 0:
            first += path[level, 2] * np.float64(points[left, path[level, 1]])
            second += path[level, 2] * np.float64(points[right, path[level, 1]])
        if first != second:
            return bool(first < second)
    return left < right


@inner
def _sort_as_handed_down(points: Any, order: Any, path: Any, depth: int, places: Any) -> None:
    """Put the records of a part into the order that the cuts above hand down, by merging."""
    m = order.size
    width = 1
    while width < m:
        for start in range(0, m, 2 * width):
            middle = min(start + width, m)
            stop = min(start + 2 * width, m)
            i = start
            j = middle
            for target in range(start, stop):
                if j >= stop or (i < middle and not _before(points, order[j], order[i], path, depth)):
                    places[target] = order[i]
                    i += 1
                else:
                    places[target] = order[j]
                    j += 1
        for i in range(m):
            order[i] = places[i]
        width *= 2


@compiled
def cut_down(
    points: Any, order: Any, path: Any, depth: int, rule: int, weight: float, size: int, inherit: bool, room: Any
) -> Any:
    """Cut the records of ``order`` into parts of at most ``size``; return where each part ends.

    With ``inherit``, the records of a part are left in the order that the cuts hand down, else in that of the table.

    ``depth`` cuts lie above, their directions are in ``path``, which has room for more. A direction that stands in
    ``path[depth]`` already (its first number is not negative) is used for the first cut.
    """
    ends = np.empty(2 * (order.size // (size + 1)) + 2, np.int64)  # a part that is not cut has at least size / 2
    count = 0
    starts = np.empty(DEEPEST, np.int64)
    stops = np.empty(DEEPEST, np.int64)
    depths = np.empty(DEEPEST, np.int64)
    starts[0] = 0
    stops[0] = order.size
    depths[0] = depth
    height = 1
    while height:
        height -= 1
        start = starts[height]
        stop = stops[height]
        level = depths[height]
        if stop - start <= size:
            if inherit:
                _sort_as_handed_down(points, order[start:stop], path, level, room.places)
            ends[count] = stop
            count += 1
            continue
        if level > depth:
            path[level, 0] = -1
        node = order[start:stop]
        if path[level, 0] < 0:
            choose(points, node, rule, weight, path[level])
        middle = start + cut_by_rank(points, node, path, level, room)
        starts[height] = middle
        stops[height] = stop
        depths[height] = level + 1
        starts[height + 1] = start
        stops[height + 1] = middle
        depths[height + 1] = level + 1
        height += 2
    return ends[:count].copy()
