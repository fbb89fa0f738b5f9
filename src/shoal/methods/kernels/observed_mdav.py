"""MDAV where cells are missing: distances and centroids over the known cells.

The distance of a record to a point is the sum of squared differences over the known cells of the record (partial
distance; Dixon 1979, without the factor for the number of cells, so that it is what the record would lose there). The
points that records are compared with are complete: the centroid has the mean of the known cells of the free records in
each attribute, and a record that founds a group has the centroid in place of its missing cells. Without missing cells
this is MDAV. Cost O(n² d / k).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.small_mdav import close_group


def mdav_of_known_cells(points: NDArray[np.float64], observed: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Return the labels of MDAV over the known cells.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [9.0, 5.0], [1.0, 0.0], [8.0, 0.0]])
    >>> observed = np.array([[True, True], [True, False], [True, True], [True, True]])
    >>> mdav_of_known_cells(points, observed, 2)
    array([0, 1, 0, 1])
    """
    n, d = points.shape
    labels = np.full(n, -1)
    _mdav(points, observed, k, labels, np.ones(n, np.bool_), np.empty(k, np.int64), np.empty(k), np.empty((3, d)))
    return labels


@inner
def _distance(points: Any, observed: Any, i: int, reference: Any) -> Any:
    """Return the squared distance over the known cells of a record."""
    total = 0.0
    for j in range(reference.size):
        if observed[i, j]:
            difference = points[i, j] - reference[j]
            total += difference * difference
    return total


@inner
def _centroid(points: Any, observed: Any, free: Any, out: Any) -> None:
    """Write the means of the known cells of the free records; 0, the mean of the table, where none is known."""
    for j in range(out.size):
        first = 0.0
        total = 0.0
        count = 0
        for i in range(free.size):
            if free[i] and observed[i, j]:
                if count == 0:
                    first = points[i, j]
                total += points[i, j] - first
                count += 1
        out[j] = first + total / count if count > 0 else 0.0


@inner
def _farthest(points: Any, observed: Any, free: Any, reference: Any) -> int:
    """Return the free record farthest from the reference, the lowest number among equals."""
    best = -1
    longest = -1.0
    for i in range(free.size):
        if free[i]:
            d = _distance(points, observed, i, reference)
            if d > longest:
                longest = d
                best = i
    return best


@inner
def _nearest(points: Any, observed: Any, free: Any, record: int, reference: Any, distance: Any, members: Any) -> None:
    """Write the record and the free others nearest to the reference; ties go to the lowest number."""
    size = members.size
    members[0] = record
    filled = 1
    for i in range(free.size):
        if not free[i] or i == record:
            continue
        d = _distance(points, observed, i, reference)
        if filled == size and d >= distance[size - 1]:
            continue
        position = min(filled, size - 1)
        while position > 1 and distance[position - 1] > d:
            distance[position] = distance[position - 1]
            members[position] = members[position - 1]
            position -= 1
        if position < size:
            distance[position] = d
            members[position] = i
            filled = min(filled + 1, size)


@inner
def _completed(points: Any, observed: Any, i: int, centroid: Any, out: Any) -> None:
    """Write a record with the centroid in place of its missing cells."""
    for j in range(out.size):
        out[j] = points[i, j] if observed[i, j] else centroid[j]


@compiled
def _mdav(points: Any, observed: Any, k: int, labels: Any, free: Any, members: Any, distance: Any, work: Any) -> None:
    """Write the labels; the arrays after them are work arrays, with all records free."""
    centroid = work[0]
    first = work[1]
    second = work[2]
    left = free.size
    groups = np.int64(0)
    while left >= 2 * k:
        _centroid(points, observed, free, centroid)
        r = _farthest(points, observed, free, centroid)
        _completed(points, observed, r, centroid, first)
        s = _farthest(points, observed, free, first)
        _nearest(points, observed, free, r, first, distance, members)
        close_group(free, members, labels, groups)
        groups += 1
        left -= k
        if left >= 2 * k:
            if not free[s]:
                s = _farthest(points, observed, free, first)
            _completed(points, observed, s, centroid, second)
            _nearest(points, observed, free, s, second, distance, members)
            close_group(free, members, labels, groups)
            groups += 1
            left -= k
    for i in range(free.size):
        if free[i]:
            labels[i] = groups
