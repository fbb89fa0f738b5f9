"""The state of groups while they grow, shrink and trade records: sizes, sums, centroids, and the cost of any change.

Sums are kept exactly (see ``sums``), so a centroid is the correctly rounded mean of the members however long the
history of the group is. The cost of a change follows from sizes and centroids alone (Thaeter 2021, theorems 2.15 and
2.19): a record x costs m/(m+1) δ(x, c)² in a group of m, and saves m/(m-1) δ(x, c)² where it leaves. The cost of a set
is computed relative to one of its members, so that equal records cost exactly nothing.

Groups are numbered in the order of their creation; a group that is dissolved keeps its number and has size 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.sums import add_exactly


class Groups(NamedTuple):
    """Sizes, sums with their rounding errors, and centroids of groups; ``used`` has one element: numbers in use."""

    sizes: NDArray[np.int64]
    totals: NDArray[np.float64]
    errors: NDArray[np.float64]
    centroids: NDArray[np.float64]
    used: NDArray[np.int64]


def no_groups(room: int, d: int) -> Groups:
    """Return a state without groups, with room for that many."""
    return Groups(
        np.zeros(room, np.int64), np.zeros((room, d)), np.zeros((room, d)), np.zeros((room, d)), np.zeros(1, np.int64)
    )


def centre(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the records, from sums that are rounded once.

    Examples
    --------
    >>> centre(np.array([[1e16], [1.0], [-1e16]])) * 3
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


def spread(points: NDArray[np.float64]) -> float:
    """Return the mean variance of the attributes: the unit in which gains are small or not.

    Examples
    --------
    >>> spread(np.array([[-1.0, 5.0], [1.0, 5.0]]))
    0.5
    """
    return float(points.var(axis=0).mean())


@inner
def distance(left: Any, right: Any) -> float:
    """Return the squared distance of two points."""
    total = 0.0
    for j in range(left.size):
        difference = left[j] - right[j]
        total += difference * difference
    return total


@inner
def cost_of(points: Any, members: Any) -> float:
    """Return the cost of these records as a group, computed relative to the first of them."""
    size = members.size
    total = 0.0
    for j in range(points.shape[1]):
        reference = points[members[0], j]
        mean = 0.0
        for i in range(size):
            mean += points[members[i], j] - reference
        mean /= size
        for i in range(size):
            difference = points[members[i], j] - reference - mean
            total += difference * difference
    return total


@inner
def add(groups: Any, g: int, point: Any) -> None:
    """Put a record into a group."""
    groups.sizes[g] += 1
    for j in range(point.size):
        add_exactly(groups.totals[g], groups.errors[g], j, point[j])
        groups.centroids[g, j] = groups.totals[g, j] / groups.sizes[g]


@inner
def drop(groups: Any, g: int, point: Any) -> None:
    """Take a record out of a group."""
    groups.sizes[g] -= 1
    for j in range(point.size):
        add_exactly(groups.totals[g], groups.errors[g], j, -point[j])
        groups.centroids[g, j] = groups.totals[g, j] / groups.sizes[g]


@inner
def open_group(groups: Any, points: Any, members: Any) -> int:
    """Make a new group of these records and return its number."""
    g = groups.used[0]
    groups.used[0] = g + 1
    groups.sizes[g] = 0
    for j in range(points.shape[1]):
        groups.totals[g, j] = 0.0
        groups.errors[g, j] = 0.0
    for i in range(members.size):
        add(groups, g, points[members[i]])
    return g


@inner
def cost_of_joining(groups: Any, g: int, points: Any, members: Any) -> float:
    """Return by how much the cost of a group rises if these records join it together."""
    d = points.shape[1]
    size = members.size
    merged = np.empty(d)
    for j in range(d):
        total = groups.totals[g, j]
        for i in range(size):
            total += points[members[i], j]
        merged[j] = total / (groups.sizes[g] + size)
    rise = groups.sizes[g] * distance(groups.centroids[g], merged)
    for i in range(size):
        rise += distance(points[members[i]], merged)
    return rise
