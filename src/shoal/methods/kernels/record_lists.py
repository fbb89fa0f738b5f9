"""Lists of the groups nearest to each record, for the annealing of records with many attributes.

With few attributes the groups near a record are near its group too. With many attributes they are not: most records lie
on the rim of their group, and the groups near the centroid say little about the groups near the record. So every record
is compared with all groups now and then, and in between it chooses among the groups that it found last and those near
its group.

Distances to all groups are summed column by column, for four records at a time and a few hundred groups at a time, so
that the compiler uses vector instructions without changing the order of any sum and the centroids are read from the
cache. They are in single precision, which is enough for a list; the list itself is ordered by exact distances.
Cost O(n g d) for g groups where all are compared, O(n d) otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner

REMEMBERED = 8
"""The nearest groups that a record remembers."""
RECORDS = 4
GROUPS = 512
"""Records and groups between which distances are computed at a time."""


@inner
def _distances(points: Any, first: int, columns: Any, begin: int, end: int, distances: Any) -> None:
    """Write the squared distances between four records and some groups."""
    nothing = np.float32(0.0)
    one, two, three, four = distances[0], distances[1], distances[2], distances[3]
    count = end - begin
    for t in range(count):
        one[t] = nothing
        two[t] = nothing
        three[t] = nothing
        four[t] = nothing
    for j in range(columns.shape[0]):
        row = columns[j, begin:end]
        a, b, c, e = points[first, j], points[first + 1, j], points[first + 2, j], points[first + 3, j]
        for t in range(count):
            middle = row[t]
            one[t] += (middle - a) * (middle - a)
            two[t] += (middle - b) * (middle - b)
            three[t] += (middle - c) * (middle - c)
            four[t] += (middle - e) * (middle - e)


@compiled
def find_groups(points: Any, columns: Any, alive: Any, own: Any, remembered: Any, lengths: Any, distances: Any) -> None:
    """Find the nearest groups of each record among all groups.

    Parameters
    ----------
    points
        The records in single precision; their number is a multiple of four.
    columns
        The centroids of the groups that are alive, d x g, in single precision.
    alive
        Their numbers.
    own
        By record, the place of its own group in ``alive``, which is left out.
    remembered
        By record, the nearest groups in ascending order; ties in the order of ``alive``, and -1 where there are fewer.
    lengths
        By record, a work array for their distances.
    distances
        A work array, four times ``GROUPS``.
    """
    count = columns.shape[1]
    wanted = remembered.shape[1]
    for first in range(0, points.shape[0], 4):
        for i in range(first, first + 4):
            for p in range(wanted):
                remembered[i, p] = -1
                lengths[i, p] = np.inf
        for begin in range(0, count, distances.shape[1]):
            end = min(count, begin + distances.shape[1])
            _distances(points, first, columns, begin, end, distances)
            for i in range(first, first + 4):
                row = distances[i - first]
                limit = lengths[i, wanted - 1]
                for t in range(end - begin):
                    if row[t] >= limit or begin + t == own[i]:
                        continue
                    p = wanted - 1
                    while p > 0 and lengths[i, p - 1] > row[t]:
                        lengths[i, p] = lengths[i, p - 1]
                        remembered[i, p] = remembered[i, p - 1]
                        p -= 1
                    lengths[i, p] = row[t]
                    remembered[i, p] = alive[begin + t]
                    limit = lengths[i, wanted - 1]


@compiled
def choose_groups(
    points: Any, group: Any, sizes: Any, centroids: Any, costs: Any, near_groups: Any, remembered: Any, near: Any,
    unit: Any, unit_groups: int,
) -> None:  # fmt: skip
    """Choose the nearest groups of each record, and compute the scale of its temperature."""
    d = points.shape[1]
    wanted = near.shape[1]
    listed = near_groups.shape[1]
    lengths = np.empty(wanted)
    for i in range(points.shape[0]):
        a = group[i]
        total = costs[a] / sizes[a]
        for p in range(unit_groups):
            g = near_groups[a, p]
            total += costs[g] / sizes[g]
        unit[i] = total / (unit_groups + 1)
        found = 0
        for p in range(listed + remembered.shape[1]):
            g = near_groups[a, p] if p < listed else remembered[i, p - listed]
            if g < 0 or g == a or sizes[g] == 0:
                continue
            distance = 0.0
            for j in range(d):
                difference = points[i, j] - centroids[g, j]
                distance += difference * difference
            if found == wanted and distance >= lengths[wanted - 1]:
                continue
            known = False
            for q in range(found):
                known |= near[i, q] == g
            if known:
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
        for q in range(found, wanted):
            near[i, q] = a
