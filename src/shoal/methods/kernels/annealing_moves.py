"""Annealing of records: one visit of every record, with moves that change the squared error by a computed amount.

A visit draws one neighbouring group and tries to shift the record there, to pull another record into the place that it
leaves, or to exchange it with a record of the other group. Now and then a group of k is dissolved, or a new group is
founded. A change is accepted if it raises the squared error by less than a random limit, which the temperature scales.

With groups a and b of m and l records, centroids a and b, a record x of a and a record y of b (Thaeter 2021, theorems
2.15 and 2.19, applied to both groups):

- shift x to b:       l/(l+1) |x-b|² - m/(m-1) |x-a|²
- exchange x and y:   (y-x) · (2(b-a) - (1/m + 1/l) (y-x))
- x to b, y of c to a: l/(l+1) |x-b|² - |x-a|² + |y-a|² - |y-x|²/m - n/(n-1) |y-c|² for a group c of n records

Cost O(k d) per visit. All arrays are passed in, so that the loops compile quickly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.random_numbers import random_bits

RARE = 1311
"""Of 65,536 visits, how many try to dissolve a group, and as many to found one: 2 per cent."""
JOINABLE = 4
"""The nearest groups of a record, of which a visit draws one."""


@inner
def _distance(points: Any, i: int, centroids: Any, g: int) -> Any:
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[i, j] - centroids[g, j]
        total += difference * difference
    return total


@inner
def _between(points: Any, i: int, y: int) -> Any:
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[i, j] - points[y, j]
        total += difference * difference
    return total


@inner
def _leave(points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, i: int) -> None:
    """Take a record out of its group."""
    a = group[i]
    last = sizes[a] - 1
    other = members[a, last]
    members[a, place[i]] = other
    place[other] = place[i]
    sizes[a] = last
    if last > 0:
        for j in range(points.shape[1]):
            centroids[a, j] += (centroids[a, j] - points[i, j]) / last


@inner
def _join(points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, i: int, b: int) -> None:
    """Put a record that belongs to no group into a group."""
    size = sizes[b] + 1
    members[b, size - 1] = i
    place[i] = size - 1
    group[i] = b
    sizes[b] = size
    for j in range(points.shape[1]):
        centroids[b, j] += (points[i, j] - centroids[b, j]) / size


@inner
def _save(centroids: Any, saved: Any, s: int, g: int) -> None:
    for j in range(centroids.shape[1]):
        saved[s, j] = centroids[g, j]


@inner
def _restore(centroids: Any, saved: Any, s: int, g: int) -> None:
    for j in range(centroids.shape[1]):
        centroids[g, j] = saved[s, j]


@inner
def _dissolve(
    points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, near: Any, free: Any, saved: Any,
    moved: Any, a: int, largest: int, limit: float,
) -> Any:  # fmt: skip
    """Distribute the records of a group over their nearest groups; undone if that costs the limit or more."""
    k = sizes[a]
    change = 0.0
    for p in range(k):
        moved[p] = members[a, p]
        change -= _distance(points, members[a, p], centroids, a)
    _save(centroids, saved, k, a)
    done = np.int64(0)
    while done < k:
        i = moved[done]
        best = np.inf
        target = np.int64(-1)
        for q in range(near.shape[1]):
            b = near[i, q]
            size = sizes[b]
            if b != a and 0 < size < largest:
                rise = size / (size + 1.0) * _distance(points, i, centroids, b)
                if rise < best:
                    best = rise
                    target = b
        change += best
        if target < 0 or change >= limit:
            break
        _leave(points, group, place, members, sizes, centroids, i)
        _save(centroids, saved, done, target)
        _join(points, group, place, members, sizes, centroids, i, target)
        done += 1
    if done == k:
        free[0] += 1
        free[free[0]] = a
        return True
    while done > 0:
        done -= 1
        i = moved[done]
        target = group[i]
        _leave(points, group, place, members, sizes, centroids, i)
        _restore(centroids, saved, done, target)
        _join(points, group, place, members, sizes, centroids, i, a)
    _restore(centroids, saved, k, a)
    return False


@inner
def _found(
    points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, near: Any, free: Any, saved: Any,
    moved: Any, origin: Any, i: int, k: int, limit: float,
) -> Any:  # fmt: skip
    """Found a group with a record and the cheapest records of the groups around it that can spare one."""
    if free[0] == 0:
        return False
    new = free[free[0]]
    own = group[i]
    change = -sizes[own] / (sizes[own] - 1.0) * _distance(points, i, centroids, own)
    done = np.int64(0)
    y: Any = i
    while True:
        moved[done] = y
        origin[done] = group[y]
        _save(centroids, saved, done, group[y])
        _leave(points, group, place, members, sizes, centroids, y)
        _join(points, group, place, members, sizes, centroids, y, new)
        done += 1
        if done == k:
            break
        best = np.inf
        y = np.int64(-1)
        for q in range(-1, near.shape[1]):
            c = own if q < 0 else near[i, q]
            size = sizes[c]
            if size > k and c != new:
                for p in range(size):
                    z = members[c, p]
                    rise = done / (done + 1.0) * _distance(points, z, centroids, new)
                    rise -= size / (size - 1.0) * _distance(points, z, centroids, c)
                    if rise < best:
                        best = rise
                        y = z
        change += best
        if y < 0:
            break
    if done == k and change < limit:
        free[0] -= 1
        return True
    while done > 0:
        done -= 1
        z = moved[done]
        _leave(points, group, place, members, sizes, centroids, z)
        _join(points, group, place, members, sizes, centroids, z, origin[done])
        _restore(centroids, saved, done, origin[done])
    return False


@inner
def _exchange(
    points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, direction: Any, i: int, b: int,
    limit: float,
) -> Any:  # fmt: skip
    """Exchange a record with the record of another group that suits best, if that costs less than the limit."""
    a = group[i]
    d = points.shape[1]
    m, l = sizes[a], sizes[b]
    share = 1.0 / m + 1.0 / l
    for j in range(d):
        direction[j] = 2.0 * (centroids[b, j] - centroids[a, j])
    best = limit
    y = np.int64(-1)
    for p in range(l):
        z = members[b, p]
        change = 0.0
        for j in range(d):
            step = points[z, j] - points[i, j]
            change += step * (direction[j] - share * step)
        if change < best:
            best = change
            y = z
    if y < 0:
        return False
    for j in range(d):
        step = points[y, j] - points[i, j]
        centroids[a, j] += step / m
        centroids[b, j] -= step / l
    members[a, place[i]] = y
    members[b, place[y]] = i
    kept = place[i]
    place[i] = place[y]
    place[y] = kept
    group[i] = b
    group[y] = a
    return True


@inner
def _pull(
    points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, i: int, b: int, c: int,
    limit: float,
) -> Any:  # fmt: skip
    """Shift a record to another group and replace it by a record of a third one, if that costs less than the limit."""
    a = group[i]
    m, l, n = sizes[a], sizes[b], sizes[c]
    base = l / (l + 1.0) * _distance(points, i, centroids, b) - _distance(points, i, centroids, a)
    best = limit
    y = np.int64(-1)
    for p in range(n):
        z = members[c, p]
        change = base + _distance(points, z, centroids, a)
        change -= _between(points, z, i) / m + n / (n - 1.0) * _distance(points, z, centroids, c)
        if change < best:
            best = change
            y = z
    if y < 0:
        return False
    _leave(points, group, place, members, sizes, centroids, i)
    _join(points, group, place, members, sizes, centroids, i, b)
    _leave(points, group, place, members, sizes, centroids, y)
    _join(points, group, place, members, sizes, centroids, y, a)
    return True


@compiled
def sweep(
    points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, near: Any, near_groups: Any,
    unit: Any, free: Any, saved: Any, moved: Any, origin: Any, direction: Any, exponentials: Any, state: Any, k: int,
    largest: int, temperature: float,
) -> int:  # fmt: skip
    """Visit every record once; return how many changes were accepted.

    Parameters
    ----------
    points
        n x d.
    group, place
        The group of each record, and its position in the row of the group.
    members, sizes, centroids
        The records of each group, how many there are, and their mean; an unused row has size 0.
    near
        The nearest groups of each record (n x 4).
    near_groups
        The nearest groups of each group.
    unit
        The squared error per record around each record: the scale of the temperature.
    free
        How many rows are unused, and their numbers.
    saved, moved, origin, direction
        Work arrays of (k+1) x d, k, k and d elements.
    exponentials
        The table of -ln u.
    state
        One uint64, the state of the random numbers.
    """
    changes = 0
    for i in range(points.shape[0]):
        bits = random_bits(state)
        a = group[i]
        m = sizes[a]
        limit = temperature * unit[i] * exponentials[np.int64(bits & np.uint64(1023))]
        choice = np.int64((bits >> np.uint64(10)) & np.uint64(0xFFFF))
        if choice < RARE and m == k:
            if _dissolve(
                points, group, place, members, sizes, centroids, near, free, saved, moved, a, largest, limit
            ):  # fmt: skip
                changes += 1
            continue
        if RARE <= choice < 2 * RARE and m > k:
            if _found(
                points, group, place, members, sizes, centroids, near, free, saved, moved, origin, i, k, limit
            ):  # fmt: skip
                changes += 1
            continue
        u = (bits >> np.uint64(26)) & np.uint64(0xFFFF)
        q = np.int64((u * u) >> np.uint64(30))  # floor(4 u²): near groups are drawn more often
        b = near[i, q]
        l = sizes[b]
        if b == a or l == 0:
            continue
        if m > k and l < largest:
            change = l / (l + 1.0) * _distance(points, i, centroids, b)
            change -= m / (m - 1.0) * _distance(points, i, centroids, a)
            if change < limit:
                _leave(points, group, place, members, sizes, centroids, i)
                _join(points, group, place, members, sizes, centroids, i, b)
                near[i, q] = a
                changes += 1
                continue
        if l < largest and (bits >> np.uint64(42)) & np.uint64(3) == 0:
            c = near_groups[a, np.int64((bits >> np.uint64(44)) & np.uint64(7))]
            fits = sizes[c] > k and c not in (a, b)
            if fits and _pull(points, group, place, members, sizes, centroids, i, b, c, limit):
                near[i, q] = a
                changes += 1
            continue
        if _exchange(points, group, place, members, sizes, centroids, direction, i, b, limit):
            near[i, q] = a
            changes += 1
    return changes


@compiled
def descend(
    points: Any, group: Any, place: Any, members: Any, sizes: Any, centroids: Any, near: Any, direction: Any,
    k: int, largest: int, least: float,
) -> int:  # fmt: skip
    """Visit every record once, with all of its near groups, and accept only changes that lower the squared error."""
    changes = 0
    for i in range(points.shape[0]):
        for q in range(near.shape[1]):
            a = group[i]
            b = near[i, q]
            l = sizes[b]
            if b == a or l == 0:
                continue
            m = sizes[a]
            if m > k and l < largest:
                change = l / (l + 1.0) * _distance(points, i, centroids, b)
                change -= m / (m - 1.0) * _distance(points, i, centroids, a)
                if change < -least:
                    _leave(points, group, place, members, sizes, centroids, i)
                    _join(points, group, place, members, sizes, centroids, i, b)
                    near[i, q] = a
                    changes += 1
                    continue
            if _exchange(points, group, place, members, sizes, centroids, direction, i, b, -least):
                near[i, q] = a
                changes += 1
    return changes
