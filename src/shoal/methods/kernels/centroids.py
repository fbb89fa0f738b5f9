"""The state of groups that change: sizes, sums, centroids, the cost of a group and of any change.

Sums are exact (see ``exact_sums``), so a centroid is the correctly rounded mean of the members however long the history
of the group is. The cost of a change follows from sizes and centroids alone (Thaeter 2021, theorems 2.15 and 2.19): a
record x costs m/(m+1) δ(x, c)² in a group of m, and saves m/(m-1) δ(x, c)² where it leaves. The cost of a set is
computed relative to one of its members, so that equal records cost exactly nothing.

Groups are numbered in the order of their creation; a group that is dissolved keeps its number and has size 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import inner
from shoal.methods.kernels.projected_points import ProjectedPoints, projections_of

GAIN_TOLERANCE = 1e-10
"""The smallest gain that counts, as a share of the mean variance of the attributes."""


class Groups(NamedTuple):
    """The arrays of a state.

    Parameters
    ----------
    sizes
        How many records each group has.
    sums
        Groups x 2 x d: the sum of the records, and its rounding error.
    centroids, projections
        The centroid of each group, and its projection (see ``projected_points``); the same array if a record is its own
        projection.
    used
        One element: how many numbers are in use.
    """

    sizes: NDArray[np.int64]
    sums: NDArray[np.float64]
    centroids: NDArray[np.float64]
    projections: NDArray[np.float64]
    used: NDArray[np.int64]


def empty_groups(capacity: int, projected: ProjectedPoints) -> Groups:
    """Return a state without groups that has the capacity for that many."""
    d = projected.points.shape[1]
    centroids = np.zeros((capacity, d))
    projections = np.zeros((capacity, projected.projections.shape[1])) if projected.axes.size else centroids
    return Groups(
        np.zeros(capacity, np.int64), np.zeros((capacity, 2, d)), centroids, projections, np.zeros(1, np.int64)
    )


def groups_of_labels(projected: ProjectedPoints, labels: NDArray[np.int64], capacity: int) -> Groups:
    """Return the state of the groups 0, 1, ... of these labels, none of which is empty."""
    groups = empty_groups(capacity, projected)
    sizes = np.bincount(labels)
    count = sizes.size
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    total, error = np.zeros((2, count, projected.points.shape[1]))
    for i in range(int(sizes.max())):  # the i-th member of all groups at once, as in ``add``
        g = np.flatnonzero(sizes > i)
        value = projected.points[order[starts[g] + i]]
        high = total[g] + value
        part = high - total[g]
        low = (total[g] - (high - part)) + (value - part) + error[g]
        total[g] = high + low
        error[g] = low - (total[g] - high)
    groups.sizes[:count] = sizes
    groups.sums[:count, 0] = total
    groups.sums[:count, 1] = error
    groups.centroids[:count] = total / sizes[:, None]
    groups.projections[:count] = projections_of(groups.centroids[:count], projected.axes)
    groups.used[0] = count
    return groups


def mean_of_records(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the records, from sums that are rounded once.

    Examples
    --------
    >>> mean_of_records(np.array([[1e16], [1.0], [-1e16]])) * 3
    array([1.])
    """
    return np.array([math.fsum(column) / len(points) for column in points.T.tolist()])


def squared_distances(points: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared distances, summed attribute by attribute as the kernels do.

    Examples
    --------
    >>> squared_distances(np.array([[3.0, 4.0]]), np.zeros(2))
    array([25.])
    """
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - reference[j]) ** 2
    return total


def total_cost(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the sum of squared distances of the records to the centroids of their groups (SSE).

    Examples
    --------
    >>> total_cost(np.array([[0.0], [2.0], [9.0], [9.0]]), np.array([0, 0, 1, 1]))
    2.0
    """
    first = np.zeros(int(labels.max()) + 1, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    sizes = np.bincount(labels)
    cost = 0.0
    for j in range(points.shape[1]):
        column = points[:, j] - points[first[labels], j]  # relative to a member, so that equal records cost nothing
        means = np.bincount(labels, column) / np.maximum(sizes, 1)
        cost += float(((column - means[labels]) ** 2).sum())
    return cost


def group_costs(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared error of each group, in the order of the labels.

    Examples
    --------
    >>> group_costs(np.array([[0.0], [2.0], [5.0], [5.0]]), np.array([0, 0, 1, 1]))
    array([2., 0.])
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(starts, append=labels.size)
    apart = points[order] - np.repeat(points[order[starts]], sizes, axis=0)
    apart -= np.repeat(np.add.reduceat(apart, starts) / sizes[:, None], sizes, axis=0)
    return np.asarray(np.add.reduceat((apart**2).sum(axis=1), starts))


def gain_tolerance(points: NDArray[np.float64]) -> float:
    """Return the gain up to which a change of groups may be a rounding error and is not made.

    Examples
    --------
    >>> gain_tolerance(np.array([[-1.0], [1.0]]))
    1e-10
    """
    return GAIN_TOLERANCE * mean_variance(points)


def mean_variance(points: NDArray[np.float64]) -> float:
    """Return the mean variance of the attributes: the unit of tolerances.

    Examples
    --------
    >>> mean_variance(np.array([[-1.0, 5.0], [1.0, 5.0]]))
    0.5
    """
    return float(points.var(axis=0).mean())


@inner
def add(sizes: Any, sums: Any, centroids: Any, g: int, points: Any, r: int, sign: int) -> None:
    """Add a record to a group (sign 1) or remove it (-1); sums are updated as by ``exact_sums.add_exactly``."""
    sizes[g] += sign
    for j in range(points.shape[1]):
        value = sign * points[r, j]
        total = sums[g, 0, j]
        high = total + value
        part = high - total
        low = (total - (high - part)) + (value - part) + sums[g, 1, j]
        total = high + low
        sums[g, 0, j] = total
        sums[g, 1, j] = low - (total - high)
        centroids[g, j] = total / sizes[g]


@inner
def cost_of_joining(sizes: Any, sums: Any, centroids: Any, g: int, points: Any, members: Any, size: int) -> float:
    """Return by how much the cost of a group rises if the first ``size`` of these records join it together."""
    shift = 0.0
    rise = 0.0
    for j in range(points.shape[1]):
        merged = sums[g, 0, j]
        for i in range(size):
            merged += points[members[i], j]
        merged /= sizes[g] + size
        gap = centroids[g, j] - merged
        shift += gap * gap
        for i in range(size):
            gap = points[members[i], j] - merged
            rise += gap * gap
    return sizes[g] * shift + rise
