"""MDAV with distances in single precision, as sdcMicro computes them, to reproduce its results exactly.

Differences are rounded to float32, squared and summed in float32; among equally near records those with the highest
numbers are taken. On data with many ties (Credit Card) this changes some groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner


@inner
def single_squared(left: Any, right: Any) -> Any:
    """Return the squared distance in float32."""
    total = np.float32(0.0)
    for j in range(left.size):
        difference = np.float32(left[j] - right[j])
        total += difference * difference
    return total


@inner
def single_farthest(points: Any, free: Any, count: int, reference: Any) -> int:
    """Return the free record farthest from the reference, the lowest number among equals."""
    best = free[0]
    longest = np.float32(-1.0)
    for i in range(count):
        d = single_squared(points[free[i]], reference)
        if d > longest:
            longest = d
            best = free[i]
    return best


@inner
def single_group(points: Any, free: Any, count: int, seed: int, k: int, distance: Any, labels: Any, group: int) -> int:
    """Form the group of the seed and its nearest records; return the number of records that remain free."""
    filled = 0
    members = np.empty(k, np.int64)
    for i in range(count):
        d = np.float32(-1.0) if free[i] == seed else single_squared(points[free[i]], points[seed])
        if filled == k and d > distance[k - 1]:
            continue
        position = min(filled, k - 1)
        while position > 0 and distance[position - 1] >= d:  # a later record goes before its equals
            distance[position] = distance[position - 1]
            members[position] = members[position - 1]
            position -= 1
        distance[position] = d
        members[position] = free[i]
        filled = min(filled + 1, k)
    for i in range(k):
        labels[members[i]] = group
    kept = 0
    for i in range(count):
        if labels[free[i]] < 0:
            free[kept] = free[i]
            kept += 1
    return kept


@compiled
def single_rounds(points: Any, free: Any, count: int, k: int, labels: Any, groups: int, limit: int) -> Any:
    """Make groups while at least 2k records are free, in up to ``limit`` rounds; return free records and groups."""
    distance = np.empty(k, np.float32)
    centroid = np.empty(points.shape[1])
    for _ in range(limit):
        if count < 2 * k:
            break
        for j in range(centroid.size):
            centroid[j] = 0.0
            for i in range(count):
                centroid[j] += points[free[i], j]
            centroid[j] /= count
        r = single_farthest(points, free, count, centroid)
        s = single_farthest(points, free, count, points[r])
        two = count >= 3 * k
        count = single_group(points, free, count, r, k, distance, labels, groups)
        groups += 1
        if two:
            if labels[s] >= 0:
                s = single_farthest(points, free, count, points[r])
            count = single_group(points, free, count, s, k, distance, labels, groups)
            groups += 1
    return count, groups
