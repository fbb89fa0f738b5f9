"""Lists for the annealing of records: exact centroids, the nearest groups of each group and of each record.

Distances between centroids are summed column by column, which the compiler turns into vector instructions without
changing the order of any sum. A list is sorted only among the groups that lie within the reach of the last list.
Cost O(g² d + n d) for g groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner

NEAR_GROUPS = 10
"""The nearest groups of a group."""
WIDENED = np.float32(1.21)
"""A list is looked for within its old radius, widened by a tenth (squared),"""
SAMPLING_STEP, SAMPLE_RANK = 8, 4
"""or, if there is no old one, within the distance of the fourth nearest of every eighth group: about 32 groups."""
UNIT_GROUPS = 6
"""Of these, how many are part of the scale of the temperature."""


@compiled
def renew_centroids(points: Any, members: Any, sizes: Any, centroids: Any, costs: Any) -> None:
    """Compute centroids and squared errors of all groups from their records."""
    d = points.shape[1]
    for g in range(sizes.size):
        size = sizes[g]
        costs[g] = 0.0
        if size == 0:
            continue
        first = members[g, 0]
        for j in range(d):
            total = 0.0
            for p in range(1, size):
                total += points[members[g, p], j] - points[first, j]
            middle = points[first, j] + total / size
            centroids[g, j] = middle
            for p in range(size):
                difference = points[members[g, p], j] - middle
                costs[g] += difference * difference


@inner
def _select(distances: Any, candidates: Any, count: int, chosen: Any, lengths: Any) -> None:
    """Write the nearest candidates and their distances in ascending order; ties in the order of the candidates."""
    wanted = chosen.size
    found = 0
    for s in range(count):
        c = candidates[s]
        distance = distances[c]
        if found == wanted and distance >= lengths[wanted - 1]:
            continue
        p = found if found < wanted else wanted - 1
        while p > 0 and lengths[p - 1] > distance:
            lengths[p] = lengths[p - 1]
            chosen[p] = chosen[p - 1]
            p -= 1
        lengths[p] = distance
        chosen[p] = c
        if found < wanted:
            found += 1


@compiled
def renew_group_lists(
    columns: Any, alive: Any, reach: Any, near_groups: Any, distances: Any, candidates: Any, lengths: Any
) -> None:
    """Find the nearest groups of each group.

    Parameters
    ----------
    columns
        The centroids of the groups that are alive, d x g, in single precision, which is enough for a list.
    alive
        Their numbers.
    reach
        By group number, the distance within which the list is looked for first; renewed for the next call.
    near_groups
        By group number, the nearest groups; a group that has fewer is named in place of the missing ones.
    distances, candidates, lengths
        Work arrays.
    """
    d, count = columns.shape
    wanted = min(near_groups.shape[1], count - 1)
    chosen = np.empty(wanted, np.int64)
    nothing = np.float32(0.0)
    for s in range(count):
        g = alive[s]
        for t in range(count):
            distances[t] = nothing
        for j in range(d):
            middle = columns[j, s]
            row = columns[j]
            for t in range(count):
                difference = row[t] - middle
                distances[t] += difference * difference
        distances[s] = np.inf
        found = 0
        limit = reach[g]
        if limit == nothing and wanted == near_groups.shape[1]:
            found = 0
            for t in range(0, count, SAMPLING_STEP):
                candidates[found] = t
                found += 1
            if found > SAMPLE_RANK:
                _select(distances, candidates, found, chosen[:SAMPLE_RANK], lengths[:SAMPLE_RANK])
                limit = lengths[SAMPLE_RANK - 1]
            found = 0
        for t in range(count):
            if distances[t] <= limit:
                candidates[found] = t
                found += 1
        if found < wanted:
            found = 0
            for t in range(count):
                if t != s:
                    candidates[found] = t
                    found += 1
        _select(distances, candidates, found, chosen, lengths[:wanted])
        for p in range(near_groups.shape[1]):
            near_groups[g, p] = alive[chosen[p]] if p < wanted else g
        if wanted > 0:
            reach[g] = WIDENED * lengths[wanted - 1]


@compiled
def renew_record_lists(
    points: Any, group: Any, sizes: Any, centroids: Any, costs: Any, near_groups: Any, near: Any, unit: Any,
    unit_groups: int,
) -> None:  # fmt: skip
    """Find the nearest groups of each record among those of its group, and the scale of its temperature."""
    n, d = points.shape
    wanted = near.shape[1]
    listed = near_groups.shape[1]
    lengths = np.empty(wanted)
    for i in range(n):
        a = group[i]
        total = costs[a] / sizes[a]
        for p in range(unit_groups):
            g = near_groups[a, p]
            total += costs[g] / sizes[g]
        unit[i] = total / (unit_groups + 1)
        found = 0
        for p in range(listed):
            g = near_groups[a, p]
            distance = 0.0
            for j in range(d):
                difference = points[i, j] - centroids[g, j]
                distance += difference * difference
            if found == wanted and distance >= lengths[wanted - 1]:
                continue
            q = found if found < wanted else wanted - 1
            while q > 0 and lengths[q - 1] > distance:
                lengths[q] = lengths[q - 1]
                near[i, q] = near[i, q - 1]
                q -= 1
            lengths[q] = distance
            near[i, q] = g
            if found < wanted:
                found += 1
