"""Moves among neighbouring groups: a group ends where its records fit better into the groups around it.

The moves of Thaeter 2021, Algorithms 15 to 17 (section 6.4): the records of a group of k join other groups if that
costs less than the group does; records of a larger group are reassigned; a group of 2k or more is split. There all
groups are candidates for a record, here only the nearest ones of its own group, which are searched for once. Gains are
exact all the same: a record x costs m/(m+1) δ(x, c)² in a group of m with centroid c, one record after the other. Cost
O(g t k d) per round for g groups with t neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.small_mdav import squared_distance
from shoal.methods.refinement.sse_exchange import update_centroid


@inner
def _closest(points: Any, record: int, sizes: Any, centroids: Any, neighbours: Any, a: int, k: int, most: float) -> Any:
    """Return the neighbour of a group that a record joins at the least cost below ``most``, or -1."""
    target = np.int64(-1)
    for i in range(neighbours.shape[1]):
        b = neighbours[a, i]
        l = sizes[b]
        if b != a and 0 < l < 3 * k:
            rise = l / (l + 1.0) * squared_distance(points[record], centroids[b])
            if rise < most:
                most = rise
                target = b
    return target


@inner
def _dissolve(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, kept: Any, joined: Any, a: int, k: int,
    least: float,
) -> bool:  # fmt: skip
    """Assign the records of a group to its neighbours if that lowers the cost; ``joined`` has the group of each."""
    left = -least
    for x in range(k):
        left += squared_distance(points[members[a, x]], centroids[a])
    for x in range(k):
        record = members[a, x]
        b = _closest(points, record, sizes, centroids, neighbours, a, k, left)
        if b < 0:
            for y in range(x - 1, -1, -1):
                sizes[joined[y]] -= 1
                for j in range(centroids.shape[1]):
                    centroids[joined[y], j] = kept[y, j]
            return False
        left -= sizes[b] / (sizes[b] + 1.0) * squared_distance(points[record], centroids[b])
        joined[x] = b
        members[b, sizes[b]] = record
        sizes[b] += 1
        for j in range(centroids.shape[1]):
            kept[x, j] = centroids[b, j]
            centroids[b, j] += (points[record, j] - centroids[b, j]) / sizes[b]
    sizes[a] = 0
    for x in range(k):
        update_centroid(points, members, sizes, centroids, joined[x])
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
            far[x] = squared_distance(points[members[a, x]], centroids[a])
            if far[x] > far[seed]:
                seed = x
        origin = members[a, seed]
        for x in range(sizes[a]):
            far[x] = -1.0 if x == seed else squared_distance(points[members[a, x]], points[origin])
        for position in range(k):
            nearest = 0
            for x in range(1, sizes[a]):
                if far[x] < far[nearest]:
                    nearest = x
            members[b, position] = members[a, nearest]
            sizes[a] -= 1
            members[a, nearest] = members[a, sizes[a]]
            far[nearest] = far[sizes[a]]
        sizes[b] = k
        update_centroid(points, members, sizes, centroids, a)
        update_centroid(points, members, sizes, centroids, b)
        neighbours[b, 0] = a
        for i in range(1, neighbours.shape[1]):
            neighbours[b, i] = a if neighbours[a, i - 1] == b else neighbours[a, i - 1]
        neighbours[a, neighbours.shape[1] - 1] = b


@inner
def _reassign(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, free: Any, far: Any, a: int, k: int,
    least: float,
) -> int:  # fmt: skip
    """Reassign records of a group of more than k to its neighbours, the largest gain first; return their number."""
    gone = 0
    while sizes[a] > k:
        best = least
        position: Any = np.int64(-1)  # a plain -1 would compile every callee twice
        target = np.int64(-1)
        for x in range(sizes[a]):
            record = members[a, x]
            saved = sizes[a] / (sizes[a] - 1.0) * squared_distance(points[record], centroids[a])
            b = _closest(points, record, sizes, centroids, neighbours, a, k, saved - best)
            if b >= 0:
                best = saved - sizes[b] / (sizes[b] + 1.0) * squared_distance(points[record], centroids[b])
                position = x
                target = b
        if position < 0:
            break
        sizes[a] -= 1
        members[target, sizes[target]] = members[a, position]
        members[a, position] = members[a, sizes[a]]
        sizes[target] += 1
        update_centroid(points, members, sizes, centroids, a)
        update_centroid(points, members, sizes, centroids, target)
        _split(points, members, sizes, centroids, neighbours, free, far, target, k)
        gone += 1
    return gone


@compiled
def dissolve_all(
    points: Any, members: Any, sizes: Any, centroids: Any, neighbours: Any, free: Any, kept: Any, far: Any, joined: Any,
    k: int, least: float, rounds: int,
) -> int:  # fmt: skip
    """Split groups of 2k and more, then dissolve groups and reassign records while that gains more than ``least``.

    ``neighbours`` has the nearest groups of each group. The first element of ``free`` is the number of rows of
    ``members`` without a group, the others are these rows; ``kept``, ``far`` and ``joined`` are work arrays. Changes
    all
    arrays but the points; a group without records is dissolved. Returns the number of records that moved.
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
                moved += _reassign(points, members, sizes, centroids, neighbours, free, far, a, k, least)
    return moved
