"""MDAV* on 2k to 3k-1 records, which always makes two groups: how ONA* splits a group that has grown too large.

The same decisions as in ``growth``. The records are few and splits are rare, so numpy is fast enough and needs no
compiling. Sums are taken in the order of the records, as the kernels do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.centroids import centre, squared_distances


def halve(
    points: NDArray[np.float64], centroid: NDArray[np.float64], k: int, by_cost: bool, tolerance: float
) -> NDArray[np.int64]:
    """Return for each of the records whether it belongs to part 0 or 1.

    Examples
    --------
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0], [2.0]])
    >>> halve(points, points.mean(axis=0), 2, True, 0.0)
    array([1, 0, 1, 0, 1])
    """
    order = np.argsort(-squared_distances(points, centroid), kind="stable")
    parts = np.full(len(points), -1)
    parts[_nearest(points, parts, order[0], k)] = 0
    host = np.flatnonzero(parts == 0)
    middle = centre(points[host])
    for r in order:
        free = int((parts < 0).sum())
        if parts[r] >= 0 or free < k:
            continue
        members = _nearest(points, parts, r, k)
        own = _cost(points[members]) / k
        rise = host.size / (host.size + 1.0) * squared_distances(points[r : r + 1], middle)[0]
        if free > k and rise / (k + 1) + tolerance < own:
            parts[r] = 0
            others = _nearest(points, parts, members[1], k)
            if (rise + _cost(points[others])) / (k + 1) + tolerance < own:
                host = np.append(host, r)
                middle = centre(points[host])
                continue
        parts[members] = 1
    for r in np.flatnonzero(parts < 0):
        sizes = np.bincount(parts[parts >= 0])
        centres = np.array([centre(points[parts == part]) for part in (0, 1)])
        scores = squared_distances(centres, points[r])
        parts[r] = np.argmin(scores * (sizes / (sizes + 1.0)) if by_cost else scores)
    return parts


def _nearest(points: NDArray[np.float64], parts: NDArray[np.int64], seed: int, k: int) -> NDArray[np.int64]:
    """Return the seed and the free records nearest to it, in their order."""
    far = squared_distances(points, points[seed])
    far[parts >= 0] = np.inf
    far[seed] = -1.0
    return np.argsort(far, kind="stable")[:k]


def _cost(points: NDArray[np.float64]) -> float:
    """Return the cost of the records as a group, relative to the first of them."""
    moved = points - points[0]
    moved -= np.add.accumulate(moved)[-1] / len(points)
    return float(np.add.accumulate((moved * moved).T.ravel())[-1])
