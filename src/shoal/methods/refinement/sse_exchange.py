"""Exchanges: two neighbouring groups exchange a record each, or one record is reassigned, where that lowers the loss.

Not in the papers. A search that only reassigns single records is stuck where all neighbouring groups have k records; an
exchange leaves sizes as they are. With δ = s - r, exchanging r of A (centroid a, size m) for s of B (centroid b, size
l) lowers the squared error by 2 (a - b)·δ + |δ|² (1/m + 1/l), which follows from the sums alone. Only the nearest
groups are considered: O(g t k² d) for g groups with t neighbours.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.methods.contract import Outcome
from shoal.methods.kernels.centroids import gain_tolerance
from shoal.methods.kernels.small_mdav import squared_distance
from shoal.methods.options import Range
from shoal.methods.refinement.step_options import check_step_options


def exchange_records(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    neighbours: Annotated[int, Range(1)] = 5,
    rounds: Annotated[int, Range(0)] = 5,
) -> Outcome:
    """Exchange records between neighbouring groups while the loss falls.

    Parameters
    ----------
    points
        Standardised coordinates of the records, n x d.
    labels
        The group number of each record: 0, 1, ... without gaps; groups have k to 2k-1 records.
    k
        Minimum group size.
    neighbours
        Number of nearest groups that a group may exchange records with.
    rounds
        Maximum number of visits of all groups.

    Returns
    -------
    outcome
        Labels of groups of k to 2k-1 records. Diagnostics: ``exchanges``.

    Examples
    --------
    >>> outcome = exchange_records(np.array([[0.0], [9.0], [1.0], [8.0]]), np.array([0, 0, 1, 1]), 2)
    >>> outcome.labels, outcome.diagnostics["exchanges"]
    (array([1, 0, 1, 0]), 1)
    """
    check_step_options(exchange_records, neighbours=neighbours, rounds=rounds)
    labels = labels.copy()
    sizes = np.bincount(labels)
    if sizes.size < 2:
        return Outcome(labels, diagnostics={"exchanges": 0})
    order = np.argsort(labels, kind="stable")
    width = max(2 * k, int(sizes.max()))
    members, sizes, centroids = members_in_rows(points, order, labels[order], sizes, sizes.size, width)
    near = nearest_groups(centroids, min(neighbours, sizes.size - 1))
    to_visit = np.ones(sizes.size, np.int8)
    least = gain_tolerance(points)
    made = int(exchange_all(points, labels, members, sizes, near, centroids, to_visit, k, least, rounds))
    return Outcome(labels, diagnostics={"exchanges": made})


def members_in_rows(
    points: NDArray[np.float64],
    order: NDArray[np.int64],
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rows: int,
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the members of each group in one row, the sizes and the centroids; rows beyond the groups are empty.

    ``order`` has the records group after group, ``labels`` their groups, in the same order.
    """
    starts = np.cumsum(sizes) - sizes
    members = np.zeros((rows, width), np.int64)
    members[labels, np.arange(labels.size) - starts[labels]] = order
    centroids = np.zeros((rows, points.shape[1]))
    centroids[: sizes.size] = np.add.reduceat(points[order], starts, axis=0) / sizes[:, None]
    return members, np.concatenate([sizes, np.zeros(rows - sizes.size, np.int64)]), centroids


def nearest_groups(centroids: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the nearest other groups of each group, the nearest first."""
    from scipy.spatial import KDTree

    tree = KDTree(centroids, 64, compact_nodes=False, balanced_tree=False)
    found = np.asarray(tree.query(centroids, count + 1)[1], np.int64)
    own = found == np.arange(len(found))[:, None]
    own[:, -1] |= ~own.any(axis=1)  # among many equal centroids the search may not return the group itself
    return np.ascontiguousarray(found[~own].reshape(len(found), count))


@inner
def update_centroid(points: Any, members: Any, sizes: Any, centroids: Any, g: int) -> None:
    """Compute the centroid of a group from its members, so that rounding errors do not accumulate."""
    for j in range(centroids.shape[1]):
        total = 0.0
        for i in range(sizes[g]):
            total += points[members[g, i], j]
        centroids[g, j] = total / sizes[g]


@inner
def _best_exchange(points: Any, members: Any, sizes: Any, centroids: Any, a: int, b: int, k: int, least: float) -> Any:
    """Return the positions of the records of two groups whose exchange lowers the loss most.

    A position of -1 means that only the other record moves, two of them that no exchange lowers the loss.
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
        near = squared_distance(row, centroids[b])
        radius = max(radius, near)
        if l > k and m < 2 * k - 1:
            gain = l / (l - 1.0) * near - m / (m + 1.0) * squared_distance(row, centroids[a])
            if gain > best:
                best = gain
                get = y
    radius = np.sqrt(radius)
    for x in range(m):
        row = points[members[a, x]]
        own = 0.0
        for j in range(d):
            own += across[j] * (row[j] - centroids[b, j])
        far = squared_distance(row, centroids[b])
        if m > k and l < 2 * k - 1:
            gain = m / (m - 1.0) * squared_distance(row, centroids[a]) - l / (l + 1.0) * far
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
                gain += weight * squared_distance(row, points[members[b, y]])
                if gain > best:
                    best = gain
                    give = x
                    get = y
    return give, get


@inner
def _exchange(labels: Any, members: Any, sizes: Any, a: int, b: int, give: int, get: int) -> None:
    """Exchange the records at these positions of two groups; if one position is -1, reassign the other record only."""
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
def exchange_all(
    points: Any, labels: Any, members: Any, sizes: Any, neighbours: Any, centroids: Any, to_visit: Any, k: int,
    least: float, rounds: int,
) -> int:  # fmt: skip
    """Exchange records between each group and its nearest groups while that gains more than ``least``.

    ``neighbours`` has the nearest groups of each group, ``to_visit`` a 1 for every group that is to be visited; a group
    without records is skipped. Changes ``labels``, ``members``, ``sizes`` and ``centroids``; returns how many
    exchanges were made.
    """
    done = 0
    for _ in range(rounds):
        before = done
        for a in range(sizes.size):
            if to_visit[a] == 0 or sizes[a] == 0:
                continue
            to_visit[a] = 0
            for i in range(neighbours.shape[1]):
                b = neighbours[a, i]
                limit = 0 if b == a or sizes[b] == 0 else 2 * k
                while limit:
                    limit -= 1
                    give, get = _best_exchange(points, members, sizes, centroids, a, b, k, least)
                    if give < 0 and get < 0:
                        break
                    _exchange(labels, members, sizes, a, b, give, get)
                    update_centroid(points, members, sizes, centroids, a)
                    update_centroid(points, members, sizes, centroids, b)
                    to_visit[a] = 1
                    to_visit[b] = 1
                    done += 1
        if done == before:
            break
    return done
