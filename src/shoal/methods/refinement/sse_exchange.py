"""Swaps: two neighbouring groups exchange a record each, or one passes a record on, wherever that lowers the loss.

Not in the papers. A search that only passes records on is stuck where all groups around have k records; an exchange
leaves sizes as they are. With δ = s - r, exchanging r of A (centroid a, size m) for s of B (centroid b, size l)
lowers the squared error by 2 (a - b)·δ + |δ|² (1/m + 1/l), which follows from the sums alone. Only the nearest groups
are looked at: O(g t k² d) for g groups with t neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.core.inner import inner
from shoal.methods.kernels.centroids import distance


@inner
def centre(points: Any, members: Any, sizes: Any, centroids: Any, g: int) -> None:
    """Compute the centroid of a group from its members, so that nothing drifts."""
    for j in range(centroids.shape[1]):
        total = 0.0
        for i in range(sizes[g]):
            total += points[members[g, i], j]
        centroids[g, j] = total / sizes[g]


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
def _exchange(labels: Any, members: Any, sizes: Any, a: int, b: int, give: int, get: int) -> None:
    """Exchange the records at these places of two groups; where one place is -1, the other record is passed on."""
    if get < 0:
        a, b, give, get = b, a, get, give
    s = members[b, get]
    labels[s] = a
    if give >= 0:
        r = members[a, give]
        labels[r] = b
        members[a, give] = s
        members[b, get] = r
    else:
        members[a, sizes[a]] = s
        sizes[a] += 1
        sizes[b] -= 1
        members[b, get] = members[b, sizes[b]]


@compiled
def swap_all(
    points: Any, labels: Any, members: Any, sizes: Any, neighbours: Any, centroids: Any, restless: Any, k: int,
    least: float, rounds: int,
) -> int:  # fmt: skip
    """Exchange records between each group and its nearest groups while that gains more than ``least``.

    ``neighbours`` has the nearest groups of each group, ``restless`` a 1 for every group that is to be visited; a group
    without records is passed over. Changes ``labels``, ``members``, ``sizes`` and ``centroids``; returns how many
    exchanges were made.
    """
    done = 0
    for _ in range(rounds):
        before = done
        for a in range(sizes.size):
            if restless[a] == 0 or sizes[a] == 0:
                continue
            restless[a] = 0
            for i in range(neighbours.shape[1]):
                b = neighbours[a, i]
                limit = 0 if b == a or sizes[b] == 0 else 2 * k
                while limit:
                    limit -= 1
                    give, get = _best_exchange(points, members, sizes, centroids, a, b, k, least)
                    if give < 0 and get < 0:
                        break
                    _exchange(labels, members, sizes, a, b, give, get)
                    centre(points, members, sizes, centroids, a)
                    centre(points, members, sizes, centroids, b)
                    restless[a] = 1
                    restless[b] = 1
                    done += 1
        if done == before:
            break
    return done
