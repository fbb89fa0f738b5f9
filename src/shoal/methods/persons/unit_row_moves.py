"""Groups of rows with at least k units each inside given nodes: split, pass on, exchange, dissolve.

A group may be cut in two if and only if the sum over its units of min(rows, 2) is at least 2k; there is no upper limit
on its rows. A row may leave a group if more than k units remain or its unit has another row there; joining is always
allowed. All changes of the weighted squared error are exact: with total weight W and centroid c, a row x of weight w
costs W w / (W + w) |x - c|² where it joins, and saves W w / (W - w) |x - c|² where it leaves. Only groups of the same
node are considered, so that groups never cross nodes. Cost O(m t s d) per round for m rows, t near groups of s rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

JOINED, EXCHANGED = 16, 6
"""How many near groups a row may join, and exchange rows with."""
PARTNERS = 16
"""Of a group, at most so many times k rows are considered for an exchange."""
FEW = 1_000
"""The rounds of a node end when fewer than one in so many rows has changed."""
SMALL = 6
"""A group of up to so many times k rows is cut along its longest distance, a larger one along a coordinate."""


class RowGroups(NamedTuple):
    """The groups of rows while they change.

    Parameters
    ----------
    points, weights, units
        Coordinates, weight and unit of each row; the rows of a node are consecutive, units are numbered per node.
    unit_starts, unit_rows
        The rows of each unit: ``unit_rows[unit_starts[u] : unit_starts[u + 1]]``.
    labels
        The group of each row.
    head, following, previous
        The members of each group as a chain: its first row, and the next and previous row of each row; -1 ends it.
    counts
        Rows and units of each group.
    totals
        Weight of each group.
    centroids
        Centroid of each group.
    stamps
        For each unit a scratch counter.
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    units: NDArray[np.int64]
    unit_starts: NDArray[np.int64]
    unit_rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    head: NDArray[np.int64]
    following: NDArray[np.int64]
    previous: NDArray[np.int64]
    counts: NDArray[np.int64]
    totals: NDArray[np.float64]
    centroids: NDArray[np.float64]
    stamps: NDArray[np.int64]


class RowScratch(NamedTuple):
    """Work arrays: positions of rows along a line, sums of a cut, near groups, numbers without a group."""

    keys: NDArray[np.float64]
    order: NDArray[np.int64]
    units_before: NDArray[np.int64]
    sums: NDArray[np.float64]
    near: NDArray[np.int64]
    distances: NDArray[np.float64]
    free: NDArray[np.int64]


def open_row_groups(
    points: NDArray[np.float64], weights: NDArray[np.float64], units: NDArray[np.int64], groups: int
) -> tuple[RowGroups, RowScratch]:
    """Return the state without groups, with the capacity for that many."""
    m, d = points.shape
    count = int(units.max()) + 1
    state = RowGroups(
        points, weights, units, np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(units, minlength=count))]),
        np.argsort(units, kind="stable"), np.full(m, -1, np.int64), np.full(groups, -1, np.int64),
        np.full(m, -1, np.int64), np.full(m, -1, np.int64), np.zeros((groups, 2), np.int64), np.zeros(groups),
        np.zeros((groups, d)), np.zeros(count, np.int64),
    )  # fmt: skip
    scratch = RowScratch(
        np.empty(m), np.empty(m, np.int64), np.empty(m + 1, np.int64), np.empty((3, d)),
        np.full((groups, JOINED), -1, np.int64), np.empty(JOINED),
        np.empty(groups, np.int64),
    )  # fmt: skip
    return state, scratch


@inner
def rows_of_unit(state: Any, u: int, g: int) -> int:
    """Return how many rows of a unit are in a group, at most 2; the shorter of the two lists is scanned."""
    found = 0
    first, last = state.unit_starts[u], state.unit_starts[u + 1]
    if last - first <= state.counts[g, 0]:
        for i in range(first, last):
            if state.labels[state.unit_rows[i]] == g:
                found += 1
                if found == 2:
                    break
    else:
        r = state.head[g]
        while r >= 0:
            if state.units[r] == u:
                found += 1
                if found == 2:
                    break
            r = state.following[r]
    return found


@inner
def enter(state: Any, r: int, g: int) -> None:
    """Add a row that is in no group to a group."""
    if rows_of_unit(state, state.units[r], g) == 0:
        state.counts[g, 1] += 1
    state.labels[r] = g
    h = state.head[g]
    state.following[r] = h
    state.previous[r] = -1
    if h >= 0:
        state.previous[h] = r
    state.head[g] = r
    state.counts[g, 0] += 1
    w = state.weights[r]
    state.totals[g] += w
    for j in range(state.centroids.shape[1]):
        state.centroids[g, j] += (state.points[r, j] - state.centroids[g, j]) * (w / state.totals[g])


@inner
def leave(state: Any, r: int) -> None:
    """Take a row out of its group; a group without rows has weight 0."""
    g = state.labels[r]
    before, after = state.previous[r], state.following[r]
    if before >= 0:
        state.following[before] = after
    else:
        state.head[g] = after
    if after >= 0:
        state.previous[after] = before
    state.labels[r] = -1
    state.counts[g, 0] -= 1
    w = state.weights[r]
    if state.counts[g, 0] == 0:
        state.totals[g] = 0.0
        state.counts[g, 1] = 0
        for j in range(state.centroids.shape[1]):
            state.centroids[g, j] = 0.0
        return
    if rows_of_unit(state, state.units[r], g) == 0:
        state.counts[g, 1] -= 1
    state.totals[g] -= w
    for j in range(state.centroids.shape[1]):
        state.centroids[g, j] -= (state.points[r, j] - state.centroids[g, j]) * (w / state.totals[g])


@inner
def renew(state: Any, g: int) -> float:
    """Compute weight and centroid of a group from its rows, so that rounding errors do not add up; return its cost."""
    d = state.centroids.shape[1]
    total = 0.0
    for j in range(d):
        state.centroids[g, j] = 0.0
    first = state.head[g]
    r = first
    while r >= 0:
        total += state.weights[r]
        for j in range(d):
            state.centroids[g, j] += state.weights[r] * (state.points[r, j] - state.points[first, j])
        r = state.following[r]
    state.totals[g] = total
    if total == 0.0:
        return 0.0
    for j in range(d):
        state.centroids[g, j] = state.points[first, j] + state.centroids[g, j] / total
    cost = 0.0
    r = first
    while r >= 0:
        for j in range(d):
            gap = state.points[r, j] - state.centroids[g, j]
            cost += state.weights[r] * gap * gap
        r = state.following[r]
    return cost


@inner
def apart(state: Any, r: int, g: int) -> float:
    """Return the squared distance of a row to the centroid of a group."""
    total = 0.0
    for j in range(state.centroids.shape[1]):
        gap = state.points[r, j] - state.centroids[g, j]
        total += gap * gap
    return total


@inner
def sort_keys(keys: Any, order: Any, size: int) -> None:
    """Sort rows by their keys, equal keys by the number of the row (heap sort)."""
    for phase in range(2):
        start = size // 2 - 1 if phase == 0 else size - 1
        while start >= phase:
            if phase == 1:
                keys[0], keys[start] = keys[start], keys[0]
                order[0], order[start] = order[start], order[0]
            end = size if phase == 0 else start
            i = start if phase == 0 else 0
            while True:
                child = 2 * i + 1
                if child >= end:
                    break
                if child + 1 < end and (
                    keys[child + 1] > keys[child]
                    or (keys[child + 1] == keys[child] and order[child + 1] > order[child])
                ):
                    child += 1
                if keys[child] < keys[i] or (keys[child] == keys[i] and order[child] < order[i]):
                    break
                keys[i], keys[child] = keys[child], keys[i]
                order[i], order[child] = order[child], order[i]
                i = child
            start -= 1


@inner
def line_up(state: Any, scratch: Any, g: int, k: int) -> int:
    """Sort the rows of a group along its longest distance, or along its widest coordinate; return their number."""
    d = state.centroids.shape[1]
    size = 0
    r = state.head[g]
    while r >= 0:
        scratch.order[size] = r
        size += 1
        r = state.following[r]
    if size > SMALL * k:
        widest, most = 0, -1.0
        for j in range(d):
            total = 0.0
            for i in range(size):
                gap = state.points[scratch.order[i], j] - state.centroids[g, j]
                total += state.weights[scratch.order[i]] * gap * gap
            if total > most:
                most = total
                widest = j
        for i in range(size):
            scratch.keys[i] = state.points[scratch.order[i], widest]
    else:
        first, most = scratch.order[0], -1.0
        for i in range(size):
            r = scratch.order[i]
            far = apart(state, r, g)
            if far > most or (far == most and r < first):
                most = far
                first = r
        last, most = first, -1.0
        for i in range(size):
            r = scratch.order[i]
            far = 0.0
            for j in range(d):
                gap = state.points[r, j] - state.points[first, j]
                far += gap * gap
            if far > most or (far == most and r < last):
                most = far
                last = r
        for i in range(size):
            along = 0.0
            for j in range(d):
                along += (state.points[last, j] - state.points[first, j]) * (
                    state.points[scratch.order[i], j] - state.centroids[g, j]
                )
            scratch.keys[i] = along
    sort_keys(scratch.keys, scratch.order, size)
    return size


@inner
def best_cut(state: Any, scratch: Any, g: int, size: int, k: int) -> int:
    """Return how many rows of the sorted group come first in the cut that lowers the cost most, or -1.

    Both sides have at least k units, and at least a tenth of the rows where the group is large.
    """
    d = state.centroids.shape[1]
    order = scratch.order
    for i in range(size):
        state.stamps[state.units[order[i]]] = 0
    behind = 0
    for i in range(size - 1, -1, -1):
        if state.stamps[state.units[order[i]]] == 0:
            behind += 1
        state.stamps[state.units[order[i]]] += 1
        scratch.units_before[i] = behind  # units of the rows from i on
    for i in range(size):
        state.stamps[state.units[order[i]]] = 0
    for j in range(d):
        scratch.sums[0, j] = 0.0
    least = size // 10 if size > SMALL * k else 0
    seen = 0
    weight = 0.0
    best, where = -1.0, -1
    for i in range(size - 1):
        r = order[i]
        if state.stamps[state.units[r]] == 0:
            seen += 1
            state.stamps[state.units[r]] = 1
        w = state.weights[r]
        weight += w
        square = 0.0
        for j in range(d):
            scratch.sums[0, j] += w * (state.points[r, j] - state.centroids[g, j])
            square += scratch.sums[0, j] * scratch.sums[0, j]
        if seen >= k and scratch.units_before[i + 1] >= k and i + 1 >= least and size - i - 1 >= least:
            gain = square * (1.0 / weight + 1.0 / (state.totals[g] - weight))
            if gain > best:
                best = gain
                where = i + 1
    return where


@inner
def force_cut(state: Any, scratch: Any, size: int, k: int) -> int:
    """Reorder a sorted group so that a cut leaves k units on both sides; return the number of rows that come first.

    Returns -1 where the rule forbids it. Every unit with two rows or more gives its first row to the first side and
    its last row to the other; of the units with one row the first and the last ones complete the sides. Rows that
    are free go to the side of the line that they are on.
    """
    order, side = scratch.order, scratch.units_before
    for i in range(size):
        state.stamps[state.units[order[i]]] = 0
    several, single = 0, 0
    for i in range(size):
        state.stamps[state.units[order[i]]] += 1
        if state.stamps[state.units[order[i]]] == 1:
            single += 1
        elif state.stamps[state.units[order[i]]] == 2:
            single -= 1
            several += 1
    if 2 * several + single < 2 * k:
        return -1
    need = max(0, k - several)
    passed = 0
    for i in range(size):
        u = state.units[order[i]]
        side[i] = 0 if 2 * i < size else 1
        if state.stamps[u] == 1:
            if passed < need:
                side[i] = 0
            elif passed >= single - need:
                side[i] = 1
            passed += 1
        elif state.stamps[u] > 1:
            side[i] = 0
            state.stamps[u] = -state.stamps[u] + 1  # rows of the unit that are still to come, as a negative number
        else:
            state.stamps[u] += 1
            if state.stamps[u] == 0:
                side[i] = 1
    first = 0
    for i in range(size):
        first += 1 - side[i]
    for i in range(size):
        scratch.keys[i] = side[i] * np.float64(size) + i
    sort_keys(scratch.keys, order, size)
    return first


@inner
def try_split(state: Any, scratch: Any, g: int, new: int, k: int, least: float) -> bool:
    """Cut a group in two if both sides have k units and the cost falls by more than ``least``."""
    before = renew(state, g)
    if before <= least:
        return False
    size = line_up(state, scratch, g, k)
    first = best_cut(state, scratch, g, size, k)
    if first < 0:
        first = force_cut(state, scratch, size, k)
    if first < 0:
        return False
    for i in range(first, size):
        leave(state, scratch.order[i])
    for i in range(first, size):
        enter(state, scratch.order[i], new)
    if before - renew(state, g) - renew(state, new) > least:
        return True
    for i in range(first, size):
        leave(state, scratch.order[i])
        enter(state, scratch.order[i], g)
    renew(state, g)
    return False


@inner
def find_near(state: Any, scratch: Any, first: int, last: int) -> None:
    """Find the nearest groups of each group of a node, the nearest first; -1 where there are no more."""
    near, far = scratch.near, scratch.distances
    for g in range(first, last):
        found = 0
        for h in range(first, last):
            if h == g or state.counts[h, 0] == 0 or state.counts[g, 0] == 0:
                continue
            gap = 0.0
            for j in range(state.centroids.shape[1]):
                side = state.centroids[g, j] - state.centroids[h, j]
                gap += side * side
            if found == JOINED and gap >= far[JOINED - 1]:
                continue
            i = min(found, JOINED - 1)
            while i > 0 and far[i - 1] > gap:
                far[i] = far[i - 1]
                near[g, i] = near[g, i - 1]
                i -= 1
            far[i] = gap
            near[g, i] = h
            found = min(found + 1, JOINED)
        for i in range(found, JOINED):
            near[g, i] = -1


@inner
def exchange_gain(state: Any, r: int, g: int, s: int, h: int) -> float:
    """Return how much the cost falls if row r of group g and row s of group h change places."""
    own, other, along = 0.0, 0.0, 0.0
    back, home, across = 0.0, 0.0, 0.0
    for j in range(state.centroids.shape[1]):
        x, y = state.points[r, j], state.points[s, j]
        a, b = x - state.centroids[g, j], y - state.centroids[g, j]
        own += a * a
        other += b * b
        along += a * b
        a, b = y - state.centroids[h, j], x - state.centroids[h, j]
        home += a * a
        back += b * b
        across += a * b
    w, v = state.weights[r], state.weights[s]
    rest = state.totals[g] - w
    part = w / rest
    gain = state.totals[g] * part * own
    gain -= rest * v / (rest + v) * (other + 2.0 * part * along + part * part * own)
    rest = state.totals[h] - v
    part = v / rest
    gain += state.totals[h] * part * home
    gain -= rest * w / (rest + w) * (back + 2.0 * part * across + part * part * home)
    return gain


@inner
def may_exchange(state: Any, r: int, g: int, s: int, h: int, k: int) -> bool:
    """Whether both groups keep k units if row r of g and row s of h change places."""
    u, v = state.units[r], state.units[s]
    if u == v:
        return True
    left = state.counts[g, 1] - (rows_of_unit(state, u, g) == 1) + (rows_of_unit(state, v, g) == 0)
    right = state.counts[h, 1] - (rows_of_unit(state, v, h) == 1) + (rows_of_unit(state, u, h) == 0)
    return left >= k and right >= k


@inner
def improve_row(state: Any, near: Any, r: int, k: int, least: float) -> bool:
    """Pass a row on, or exchange it for another one, whichever lowers the cost most."""
    g = state.labels[r]
    w = state.weights[r]
    best, target, partner = least, -1, -1
    if state.counts[g, 1] > k or rows_of_unit(state, state.units[r], g) == 2:
        saved = state.totals[g] * w / (state.totals[g] - w) * apart(state, r, g)
        for i in range(JOINED):
            h = near[g, i]
            if h < 0:
                break
            if state.counts[h, 0] == 0:
                continue
            gain = saved - state.totals[h] * w / (state.totals[h] + w) * apart(state, r, h)
            if gain > best:
                best = gain
                target = h
    for i in range(EXCHANGED):
        h = near[g, i]
        if h < 0:
            break
        s = state.head[h] if state.counts[h, 0] > 0 else -1
        scanned = 0
        while s >= 0 and scanned < PARTNERS * k:
            scanned += 1
            gain = exchange_gain(state, r, g, s, h)
            if gain > best and may_exchange(state, r, g, s, h, k):
                best = gain
                target = h
                partner = s
            s = state.following[s]
    if target < 0:
        return False
    leave(state, r)
    if partner >= 0:
        leave(state, partner)
        enter(state, partner, g)
    enter(state, r, target)
    return True


@inner
def try_dissolve(state: Any, scratch: Any, g: int, least: float) -> bool:
    """Pass all rows of a group on to near groups if that lowers the cost; otherwise everything stays."""
    left = renew(state, g) - least
    size = 0
    r = state.head[g]
    while r >= 0:
        scratch.order[size] = r
        size += 1
        r = state.following[r]
    moved = 0
    while moved < size:
        r = scratch.order[moved]
        w = state.weights[r]
        best, target = left, -1
        for i in range(JOINED):
            h = scratch.near[g, i]
            if h < 0:
                break
            if state.counts[h, 0] == 0:
                continue
            rise = state.totals[h] * w / (state.totals[h] + w) * apart(state, r, h)
            if rise < best:
                best = rise
                target = h
        if target < 0:
            break
        left -= best
        leave(state, r)
        enter(state, r, target)
        moved += 1
    if moved == size and size > 0:
        return True
    for i in range(moved):
        leave(state, scratch.order[i])
        enter(state, scratch.order[i], g)
    return False


@compiled
def group_nodes(
    state: Any, scratch: Any, bounds: Any, costs: Any, k: int, least: float, rounds: int
) -> int:  # fmt: skip
    """Group the rows of every node: split while possible, then rounds of changes that lower the cost.

    ``bounds`` has the bounds of the nodes among the rows; all rows of a node begin as one group. Writes the cost of
    each node and returns how many numbers of groups are in use; a group may have no rows.
    """
    used = 0
    for node in range(bounds.size - 1):
        first = used
        begin, end = bounds[node], bounds[node + 1]
        for r in range(begin, end):
            enter(state, r, first)
        used += 1
        free = 0
        for number in range(rounds + 1):
            g = first
            while g < used:
                new = scratch.free[free - 1] if free > 0 else used
                if state.counts[g, 0] >= 2 * k and try_split(state, scratch, g, new, k, least):
                    if free > 0:
                        free -= 1
                    else:
                        used += 1
                else:
                    g += 1
            if number == rounds:
                break
            changed = 0
            find_near(state, scratch, first, used)
            for g in range(first, used):
                if state.counts[g, 0] > 0 and try_dissolve(state, scratch, g, least):
                    scratch.free[free] = g
                    free += 1
                    changed += 1
            for r in range(begin, end):
                if improve_row(state, scratch.near, r, k, least):
                    changed += 1
            for g in range(first, used):
                renew(state, g)
            if FEW * changed < end - begin:
                break
        costs[node] = 0.0
        for g in range(first, used):
            costs[node] += renew(state, g)
    return used
