"""Swaps: two neighbouring groups exchange a record each, or one passes a record on, wherever that lowers the loss.

Not in the papers. A search that only passes records on is stuck where all groups around have k records; an exchange
leaves sizes as they are. With δ = s - r, exchanging r of A (centroid a, size m) for s of B (centroid b, size l)
lowers the squared error by 2 (a - b)·δ + |δ|² (1/m + 1/l), which follows from the sums alone. Only the nearest groups
are looked at: O(g t k² d) for g groups with t neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import distance
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.tree import nearest, plant


@inner
def _centre(points: Any, members: Any, size: int, centroid: Any) -> None:
    """Compute the centroid of a group from its members, so that nothing drifts."""
    for j in range(centroid.size):
        centroid[j] = 0.0
    for i in range(size):
        row = points[members[i]]
        for j in range(centroid.size):
            centroid[j] += row[j]
    for j in range(centroid.size):
        centroid[j] /= size


@inner
def _best_exchange(points: Any, members: Any, sizes: Any, centroids: Any, a: int, b: int, k: int, least: float) -> Any:
    """Return the places of the records of two groups whose exchange gains most.

    A place of -1 means that only the other record moves, two of them that nothing pays.
    """
    d = points.shape[1]
    m = sizes[a]
    l = sizes[b]
    weight = 1.0 / m + 1.0 / l
    across = np.empty(d)
    for j in range(d):
        across[j] = centroids[a, j] - centroids[b, j]
    along = np.empty(l)
    highest = -np.inf
    for y in range(l):
        total = 0.0
        row = points[members[b, y]]
        for j in range(d):
            total += across[j] * (row[j] - centroids[b, j])
        along[y] = total
        highest = max(highest, total)
    best = least
    give = -1
    get = -1
    radius = 0.0
    for y in range(l):
        row = points[members[b, y]]
        near = distance(row, centroids[b])
        radius = max(radius, near)
        if l > k and m < 2 * k - 1:
            gain = l / (l - 1.0) * near - m / (m + 1.0) * distance(row, centroids[a])
            if gain > best:
                best = gain
                get = y
    radius = np.sqrt(radius)
    for x in range(m):
        row = points[members[a, x]]
        own = 0.0
        for j in range(d):
            own += across[j] * (row[j] - centroids[b, j])
        far = distance(row, centroids[b])
        if m > k and l < 2 * k - 1:
            gain = m / (m - 1.0) * distance(row, centroids[a]) - l / (l + 1.0) * far
            if gain > best:
                best = gain
                give = x
                get = -1
        reach = np.sqrt(far) + radius
        if 2.0 * (highest - own) + weight * reach * reach <= best:
            continue
        for y in range(l):
            gain = 2.0 * (along[y] - own)
            if gain + weight * reach * reach > best:
                gain += weight * distance(row, points[members[b, y]])
                if gain > best:
                    best = gain
                    give = x
                    get = y
    return give, get


@inner
def _pass_on(labels: Any, members: Any, sizes: Any, a: int, place: int, b: int) -> None:
    """Give the record at this place of group a to group b."""
    labels[members[a, place]] = b
    members[b, sizes[b]] = members[a, place]
    sizes[b] += 1
    sizes[a] -= 1
    members[a, place] = members[a, sizes[a]]


@compiled
def swap_all(points: Any, labels: Any, members: Any, sizes: Any, k: int, around: int, least: float, rounds: int) -> int:
    """Exchange records between each group and its nearest groups while that gains more than ``least``.

    Changes ``labels``, ``members`` and ``sizes``; returns how many exchanges were made.
    """
    count = sizes.size
    d = points.shape[1]
    centroids = np.empty((count, d))
    for g in range(count):
        _centre(points, members[g], sizes[g], centroids[g])
    around = min(around, count - 1)
    neighbours = np.empty((count, around), np.int64)
    tree = plant(centroids, np.arange(count))
    distances = np.empty(around + 1)
    found = np.empty(around + 1, np.int64)
    for g in range(count):
        distances[around] = np.inf
        nearest(tree, centroids[g], g, distances, found)
        for i in range(around):
            neighbours[g, i] = found[i + 1]
    restless = np.ones(count, np.int8)
    done = 0
    for _ in range(rounds):
        before = done
        for a in range(count):
            if restless[a] == 0:
                continue
            restless[a] = 0
            for i in range(around):
                b = neighbours[a, i]
                limit = 2 * k
                while limit:
                    limit -= 1
                    give, get = _best_exchange(points, members, sizes, centroids, a, b, k, least)
                    if give < 0 and get < 0:
                        break
                    if get < 0:
                        _pass_on(labels, members, sizes, a, give, b)
                    elif give < 0:
                        _pass_on(labels, members, sizes, b, get, a)
                    else:
                        r = members[a, give]
                        s = members[b, get]
                        labels[r] = b
                        labels[s] = a
                        members[a, give] = s
                        members[b, get] = r
                    _centre(points, members[a], sizes[a], centroids[a])
                    _centre(points, members[b], sizes[b], centroids[b])
                    restless[a] = 1
                    restless[b] = 1
                    done += 1
        if done == before:
            break
    return done
