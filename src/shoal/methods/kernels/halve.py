"""MDAV* on 2k to 3k-1 records, which always makes two groups: how ONA* splits a group that has grown too large.

The same decisions as in ``growth``, by plain scans over the few records, because trees do not pay here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import Groups, add, cost_of, distance, open_group
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.tree import NOBODY, insert


@compiled
def halve(points: Any, members: Any, centroid: Any, k: int, by_cost: bool, tolerance: float) -> Any:
    """Return for each of the members, given in ascending order, whether it belongs to part 0 or 1."""
    m = members.size
    d = points.shape[1]
    order = _farthest_first(points, members, centroid)
    parts = np.full(m, -1)
    groups = Groups(np.zeros(2, np.int64), np.empty((2, d)), np.empty((2, d)), np.empty((2, d)), np.zeros(1, np.int64))
    found = np.empty(k, np.int64)
    others = np.empty(k, np.int64)
    chosen = np.empty(k, np.int64)
    free = m
    for r in order:
        if free < k:
            break
        if parts[r] >= 0:
            continue
        _nearest(points, members, parts, r, found)
        for i in range(k):
            chosen[i] = members[found[i]]
        joins = False
        if groups.used[0] == 1 and free > k:
            own = cost_of(points, chosen) / k
            size = groups.sizes[0]
            rise = size / (size + 1.0) * distance(points[members[r]], groups.centroids[0])
            parts[r] = 0
            if rise / (k + 1) + tolerance < own:
                _nearest(points, members, parts, found[1], others)
                for i in range(k):
                    others[i] = members[others[i]]
                joins = (rise + cost_of(points, others)) / (k + 1) + tolerance < own
        if joins:
            add(groups, 0, points[members[r]])
            free -= 1
        else:
            g = open_group(groups, points, chosen)
            for i in range(k):
                parts[found[i]] = g
            free -= k
    for i in range(m):
        if parts[i] < 0:
            parts[i] = _closer(groups, points[members[i]], by_cost)
            add(groups, parts[i], points[members[i]])
    return parts


@inner
def _farthest_first(points: Any, members: Any, centroid: Any) -> Any:
    """Return the places of the members in the order of falling distance to the centroid."""
    order = np.empty(members.size, np.int64)
    far = np.empty(members.size)
    for i in range(members.size):
        value = distance(points[members[i]], centroid)
        place = i
        while place > 0 and far[place - 1] < value:
            far[place] = far[place - 1]
            order[place] = order[place - 1]
            place -= 1
        far[place] = value
        order[place] = i
    return order


@inner
def _nearest(points: Any, members: Any, parts: Any, seed: int, found: Any) -> None:
    """Fill the places of the free members nearest to the one at place ``seed``, which comes first."""
    distances = np.empty(found.size)
    ranks = np.empty(found.size, np.int64)
    last = found.size - 1
    for i in range(found.size):
        distances[i] = np.inf
        ranks[i] = NOBODY
    for i in range(members.size):
        if parts[i] < 0:
            far = distance(points[members[i]], points[members[seed]])
            rank = -1 if i == seed else i
            if far < distances[last] or (far == distances[last] and rank < ranks[last]):
                insert(distances, ranks, found, far, rank, i)


@inner
def _closer(groups: Any, point: Any, by_cost: bool) -> int:
    """Return which of the two groups is closer, the first if both are."""
    first = distance(point, groups.centroids[0])
    second = distance(point, groups.centroids[1])
    if by_cost:
        first *= groups.sizes[0] / (groups.sizes[0] + 1.0)
        second *= groups.sizes[1] / (groups.sizes[1] + 1.0)
    return 1 if second < first else 0
