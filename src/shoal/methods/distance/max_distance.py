"""MD, maximum distance: groups around the two records that are farthest apart.

Thaeter 2021, Algorithm 1 (chapter 5); Mateo-Sanz & Domingo-Ferrer 1998. The papers keep all distances, O(n²) memory and
O(n³ / k) time. Here a record remembers its farthest partner: that distance stays an upper bound when records leave, so
only records whose bound stands at the top and whose partner is gone are looked at again; O(n d) memory. Use it to
compare with published figures; mdav is as good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.closest import index_groups
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import centre, open_group
from shoal.methods.kernels.growth import Growth, from_the_centre, join_closest
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.shells import draw_shells, farthest, leave
from shoal.methods.kernels.tree import nearest, plant
from shoal.methods.registry import method
from shoal.progress import SILENT, Progress


@method(
    "max-distance",
    title="Groups of k around the two records that are farthest apart",
    cost="n² d and more",
    guarantee="groups have k to 2k-1 records",
    reference="Thaeter 2021, Alg. 1; Mateo-Sanz & Domingo-Ferrer 1998",
    when="to compare with published figures",
    max_size=lambda k: 2 * k - 1,
)
def max_distance(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by the maximum distance method.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    progress
        Hears how many records are grouped.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> max_distance(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    n = len(points)
    progress.stage("grouping (max-distance)", n)
    growth = from_the_centre(points, k)
    bounds = np.full(n, np.inf)
    partners = np.full(n, -1, np.int64)
    while growth.done[1] >= 2 * k:
        tree = plant(points, np.flatnonzero(growth.labels < 0))
        shells = draw_shells(tree, points, centre(points[growth.labels < 0]))
        stop = max(2 * k, int(growth.done[1]) // 2)
        while growth.done[1] >= stop:
            before = int(growth.done[1])
            _rounds(growth, shells, bounds, partners, k, stop, 20)
            progress.advance(before - int(growth.done[1]))
    rest = np.flatnonzero(growth.labels < 0)
    if rest.size >= k:
        growth.labels[rest] = growth.groups.used[0]
    else:
        join_closest(growth, index_groups(growth.groups), False, 1.0)
    return growth.labels


@compiled
def _rounds(growth: Growth, shells: Any, bounds: Any, partners: Any, k: int, stop: int, limit: int) -> None:
    """Make up to ``limit`` pairs of groups while ``stop`` records are free."""
    points = growth.points
    distances = np.empty(k)
    members = np.empty(k, np.int64)
    for _ in range(limit):
        if growth.done[1] < stop:
            break
        r = _farthest_pair(growth, shells, bounds, partners)
        s = partners[r]
        for seed in (r, s):
            if growth.labels[seed] >= 0:  # only where ties have put s into the group of r
                seed, _ = farthest(shells, points[r])
            distances[k - 1] = np.inf
            nearest(shells.tree, points[seed], seed, distances, members)
            g = open_group(growth.groups, points, members)
            for i in range(k):
                growth.labels[members[i]] = g
                leave(shells, members[i])
        growth.done[1] -= 2 * k


@inner
def _farthest_pair(growth: Any, shells: Any, bounds: Any, partners: Any) -> int:
    """Return the record that has, with its partner, the greatest distance of all pairs of free records.

    Among equal pairs the first one in a scan of the lower triangle: the lowest larger number, then the lowest partner.
    """
    longest = -1.0
    for r in range(bounds.size):  # known distances first, so that few bounds lie above them
        if growth.labels[r] < 0 and bounds[r] > longest and partners[r] >= 0 and growth.labels[partners[r]] < 0:
            longest = bounds[r]
    for r in range(bounds.size):
        stale = partners[r] < 0 or growth.labels[partners[r]] >= 0
        if growth.labels[r] < 0 and stale and bounds[r] >= longest:
            partners[r], bounds[r] = farthest(shells, growth.points[r])
            longest = max(longest, bounds[r])
    r = 0
    while growth.labels[r] >= 0 or bounds[r] < longest or partners[r] >= r:
        r += 1
    return r
