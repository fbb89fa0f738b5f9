"""MDAV and MDAV* without an index: loops over all records, for tables of up to a few thousand records.

The trees and bounds of the other kernels pay for large tables only, and compiling them takes many seconds on a new
machine. Here everything is a loop over plain arrays that compiles quickly. Distances, centroids, ties and tolerances
are those of the other kernels, so that the labels are equal; tests compare the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

SMALL_TABLE_RECORDS = 3_000
"""The largest table for which these loops are used."""
NO_EXTENSION = -1.0
"""The gain factor at which MDAV* never extends a group."""


@inner
def squared_distance(left: Any, right: Any) -> float:
    """Return the squared distance of two points, summed attribute by attribute."""
    total = 0.0
    for j in range(left.size):
        difference = left[j] - right[j]
        total += difference * difference
    return total


@inner
def cost_of(points: Any, members: Any, size: int) -> float:
    """Return the squared error of the first ``size`` of these records as a group, computed relative to the first."""
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
def mean_of(points: Any, members: Any, size: int, out: Any) -> None:
    """Write the mean of some records, from a sum that is rounded once."""
    for j in range(out.size):
        high = 0.0
        low = 0.0
        for i in range(size):
            value = points[members[i], j]
            total = high + value
            part = total - high
            low += (high - (total - part)) + (value - part)
            high = total
        out[j] = (high + low) / size


@inner
def nearest_free(points: Any, free: Any, record: int, size: int, distance: Any, members: Any) -> None:
    """Write the record and its size-1 nearest free others; ties go to the lowest number."""
    members[0] = record
    filled = 1
    for i in range(free.size):
        if not free[i] or i == record:
            continue
        d = squared_distance(points[i], points[record])
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
def farthest_free(points: Any, free: Any, reference: Any) -> int:
    """Return the free record farthest from the reference, the lowest number among equals."""
    best = -1
    longest = -1.0
    for i in range(free.size):
        if free[i]:
            d = squared_distance(points[i], reference)
            if d > longest:
                longest = d
                best = i
    return best


@inner
def close_group(free: Any, members: Any, labels: Any, group: int) -> None:
    """Assign the label to the members, which are no longer free."""
    for i in range(members.size):
        labels[members[i]] = group
        free[members[i]] = False


@inner
def closest_group(point: Any, centroids: Any, sizes: Any, count: int, by_cost: bool) -> int:
    """Return the group whose centroid is nearest or, by cost, whose cost rises least."""
    best = 0
    lowest = np.inf
    for g in range(count):
        score = squared_distance(point, centroids[g])
        if by_cost:
            score = sizes[g] / (sizes[g] + 1.0) * score
        if score < lowest:
            lowest = score
            best = g
    return best


@inner
def join_group(points: Any, members: Any, sizes: Any, centroids: Any, g: int, record: int) -> None:
    """Append a record to a group and compute the centroid anew."""
    members[g, sizes[g]] = record
    sizes[g] += 1
    mean_of(points, members[g], sizes[g], centroids[g])


def mdav_of_small_table(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the labels of MDAV."""
    n, d = points.shape
    labels = np.full(n, -1)
    _mdav(
        points, k, labels, np.ones(n, np.bool_), np.empty(n, np.int64), np.empty(k, np.int64), np.empty(k), np.empty(d)
    )
    return labels


@compiled
def _mdav(
    points: Any, k: int, labels: Any, free: Any, everything: Any, members: Any, distance: Any, centroid: Any
) -> None:
    """Write the labels of MDAV; the arrays after them are work arrays, with all records free."""
    n = free.size
    left = n
    groups = np.int64(0)
    while left >= 2 * k:
        count = np.int64(0)
        for i in range(n):
            if free[i]:
                everything[count] = i
                count += 1
        mean_of(points, everything, count, centroid)
        r = farthest_free(points, free, centroid)
        s = farthest_free(points, free, points[r])
        nearest_free(points, free, r, k, distance, members)
        close_group(free, members, labels, groups)
        groups += 1
        left -= k
        if left >= 2 * k:
            if not free[s]:
                s = farthest_free(points, free, points[r])
            nearest_free(points, free, s, k, distance, members)
            close_group(free, members, labels, groups)
            groups += 1
            left -= k
    for i in range(n):
        if free[i]:
            labels[i] = groups


def mdav_star_of_small_table(
    points: NDArray[np.float64], k: int, gamma: float, by_cost: bool, tolerance: float
) -> NDArray[np.int64]:
    """Return the labels of MDAV*; with a gamma below 0 no group is ever extended, which is MDAV⁺."""
    n, d = points.shape
    labels = np.full(n, -1)
    capacity = n // k + 1
    _star(
        points, k, gamma, by_cost, tolerance, labels, np.ones(n, np.bool_), np.arange(n),
        np.empty((capacity, n), np.int64), np.zeros(capacity, np.int64), np.empty((capacity, d)),
        np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64), np.empty(d),
    )  # fmt: skip
    return labels


@compiled
def _star(
    points: Any, k: int, gamma: float, by_cost: bool, tolerance: float, labels: Any, free: Any, everything: Any,
    members: Any, sizes: Any, centroids: Any, distance: Any, own: Any, others: Any, centre: Any,
) -> None:  # fmt: skip
    """Write the labels of MDAV*; the arrays after them are work arrays, with all records free and no groups."""
    n = free.size
    left = n
    mean_of(points, everything, left, centre)
    count = np.int64(0)
    while left >= k:
        r = farthest_free(points, free, centre)
        nearest_free(points, free, r, k, distance, own)
        joins = False
        target = 0
        if count > 0 and left > k and gamma >= 0.0:
            target = closest_group(points[r], centroids, sizes, count, by_cost)
            free[r] = False
            nearest_free(points, free, own[1], k, distance, others)
            free[r] = True
            rise = sizes[target] / (sizes[target] + 1.0) * squared_distance(points[r], centroids[target])
            average = (rise + cost_of(points, others, k)) / (k + 1)
            joins = average + tolerance < gamma * (cost_of(points, own, k) / k)
        if joins:
            join_group(points, members, sizes, centroids, target, r)
            labels[r] = target
            free[r] = False
            left -= 1
        else:
            close_group(free, own, labels, count)
            for i in range(k):
                members[count, i] = own[i]
            sizes[count] = k
            mean_of(points, own, k, centroids[count])
            count += 1
            left -= k
    for i in range(n):
        if free[i]:
            target = closest_group(points[i], centroids, sizes, count, by_cost)
            join_group(points, members, sizes, centroids, target, i)
            labels[i] = target
