"""Dissolving: a group ends where its records fit better into the groups around it; the moves of ONA* among neighbours.

The moves of Thaeter 2021, Algorithms 15 to 17 (section 6.4): the records of a group of k join other groups if that
costs less than the group does; a larger group passes records on; a group of 2k or more is split. There a record looks
at all groups, here only at the nearest ones of its own group, which are looked up once. Gains are exact all the same:
a record x costs m/(m+1) δ(x, c)² in a group of m with centroid c, one record after the other. Cost O(g t k d) per
round for g groups with t neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.core.inner import inner
from shoal.methods.kernels.centroids import distance
from shoal.methods.refinement.sse_exchange import centre


@inner
def _closest(points: Any, record: int, sizes: Any, centroids: Any, neighbours: Any, a: int, k: int, most: float) -> Any:
    """Return the neighbour of a group that a record joins at the least cost below ``most``; -1 if there is none."""
    target = np.int64(-1)
    for i in range(neighbours.shape[1]):
        b = neighbours[a, i]
        l = sizes[b]
        if b != a and 0 < l < 3 * k:
            rise = l / (l + 1.0) * distance(points[record], centroids[b])
            if rise < most:
                most = rise
                target = b
    return target


@inner
def _dissolve(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, kept: Any, joined: Any, a: int, k: int,
    least: float,
) -> bool:  # fmt: skip
    """Let the records of a group join its neighbours if that lowers the cost; ``joined`` has the group of each."""
    left = -least
    for x in range(k):
        left += distance(points[members[a, x]], centroids[a])
    for x in range(k):
        record = members[a, x]
        b = _closest(points, record, sizes, centroids, neighbours, a, k, left)
        if b < 0:
            for y in range(x - 1, -1, -1):
                sizes[joined[y]] -= 1
                for j in range(centroids.shape[1]):
                    centroids[joined[y], j] = kept[y, j]
            return False
        left -= sizes[b] / (sizes[b] + 1.0) * distance(points[record], centroids[b])
        joined[x] = b
        members[b, sizes[b]] = record
        sizes[b] += 1
        for j in range(centroids.shape[1]):
            kept[x, j] = centroids[b, j]
            centroids[b, j] += (points[record, j] - centroids[b, j]) / sizes[b]
    sizes[a] = 0
    for x in range(k):
        centre(points, members, sizes, centroids, joined[x])
    return True


@inner
def _split(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, free: Any, far: Any, a: int, k: int
) -> None:
    """Split groups of k off a group that is too large: the record farthest from the centroid and its nearest ones."""
    while sizes[a] >= 2 * k:
        b = free[free[0]]
        free[0] -= 1
        seed = 0
        for x in range(sizes[a]):
            far[x] = distance(points[members[a, x]], centroids[a])
            if far[x] > far[seed]:
                seed = x
        origin = members[a, seed]
        for x in range(sizes[a]):
            far[x] = -1.0 if x == seed else distance(points[members[a, x]], points[origin])
        for place in range(k):
            nearest = 0
            for x in range(1, sizes[a]):
                if far[x] < far[nearest]:
                    nearest = x
            members[b, place] = members[a, nearest]
            sizes[a] -= 1
            members[a, nearest] = members[a, sizes[a]]
            far[nearest] = far[sizes[a]]
        sizes[b] = k
        centre(points, members, sizes, centroids, a)
        centre(points, members, sizes, centroids, b)
        neighbours[b, 0] = a
        for i in range(1, neighbours.shape[1]):
            neighbours[b, i] = a if neighbours[a, i - 1] == b else neighbours[a, i - 1]
        neighbours[a, neighbours.shape[1] - 1] = b


@inner
def _pass_on(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, free: Any, far: Any, a: int, k: int,
    least: float,
) -> int:  # fmt: skip
    """Let a group of more than k pass records on to its neighbours, the best one first; return how many went."""
    gone = 0
    while sizes[a] > k:
        best = least
        place: Any = np.int64(-1)  # a plain -1 would compile every callee twice
        target = np.int64(-1)
        for x in range(sizes[a]):
            record = members[a, x]
            saved = sizes[a] / (sizes[a] - 1.0) * distance(points[record], centroids[a])
            b = _closest(points, record, sizes, centroids, neighbours, a, k, saved - best)
            if b >= 0:
                best = saved - sizes[b] / (sizes[b] + 1.0) * distance(points[record], centroids[b])
                place = x
                target = b
        if place < 0:
            break
        sizes[a] -= 1
        members[target, sizes[target]] = members[a, place]
        members[a, place] = members[a, sizes[a]]
        sizes[target] += 1
        centre(points, members, sizes, centroids, a)
        centre(points, members, sizes, centroids, target)
        _split(points, members, sizes, centroids, neighbours, free, far, target, k)
        gone += 1
    return gone


@compiled
def dissolve_all(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, free: Any, kept: Any, far: Any, joined: Any,
    k: int, least: float, rounds: int,
) -> int:  # fmt: skip
    """Split groups of 2k and more, then dissolve groups and pass records on while that gains more than ``least``.

    ``neighbours`` has the nearest groups of each group. The first element of ``free`` says how many rows of ``members``
    no group has, the others which; ``kept``, ``far`` and ``joined`` are room to work in. Changes all arrays but the
    points; a group without records is gone. Returns how many records moved.
    """
    moved = 0
    before = 0
    for a in range(sizes.size):
        _split(points, members, sizes, centroids, neighbours, free, far, a, k)
    for phase in range(2 * rounds):
        if phase % 2 == 0:
            if phase and moved == before:
                break
            before = moved
        for a in range(sizes.size):
            if phase % 2 == 0:
                if sizes[a] == k and _dissolve(
                    points, members, sizes, centroids, neighbours, kept, joined, a, k, least
                ):
                    free[0] += 1
                    free[free[0]] = a
                    moved += k
                    for x in range(k):
                        _split(points, members, sizes, centroids, neighbours, free, far, joined[x], k)
            else:
                moved += _pass_on(points, members, sizes, centroids, neighbours, free, far, a, k, least)
    return moved
