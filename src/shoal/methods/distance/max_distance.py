"""MD, maximum distance: groups around the two records that are farthest apart.

Thaeter 2021, Algorithm 1 (chapter 5); Mateo-Sanz & Domingo-Ferrer 1998. The papers keep all distances, O(n²) memory and
O(n³ / k) time. Here the farthest partner of each record is stored: that distance stays an upper bound when records are
grouped, so only records with the highest bound whose partner is no longer free are visited again; O(n d) memory. Use it
to compare with published results; mdav is as good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels.box_tree import build_tree, search, search_stack
from shoal.methods.kernels.centroids import add, mean_of_records
from shoal.methods.kernels.group_growth import FREE, begin, join_closest
from shoal.methods.kernels.radial_bounds import farthest, radial_bounds_of, remove_and_tighten
from shoal.methods.kernels.small_mdav import squared_distance
from shoal.methods.registry import method


@method(
    "max-distance",
    title="Groups of k around the two records that are farthest apart",
    complexity="n² d and more",
    reference="Thaeter 2021, Alg. 1; Mateo-Sanz & Domingo-Ferrer 1998",
    when="comparison with published results",
    max_size=lambda k: 2 * k - 1,
)
def max_distance(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by the maximum distance method.

    Examples
    --------
    >>> import numpy as np
    >>> max_distance(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    n = len(points)
    progress.stage("grouping (max-distance)", n)
    _, growth, groups = begin(points, k)
    labels, done = growth.labels, growth.done
    bounds = np.full(n, np.inf)
    partners = np.full(n, -1, np.int64)
    scratch = np.empty(k), np.empty(k, np.int64), search_stack()
    while done[FREE] >= 2 * k:
        tree = build_tree(points, np.flatnonzero(labels < 0))
        radial = radial_bounds_of(tree, points, mean_of_records(points[labels < 0]))
        stop = max(2 * k, int(done[FREE]) // 2)
        while done[FREE] >= stop:
            before = int(done[FREE])
            _rounds(points, tree, radial, groups, labels, done, bounds, partners, k, stop, *scratch)
            progress.advance(before - int(done[FREE]))
    rest = np.flatnonzero(labels < 0)
    if rest.size >= k:
        labels[rest] = groups.used[0]
    else:
        join_closest(points, groups, labels, by_cost=False)
    return labels


@compiled
def _rounds(
    points: Any, tree: Any, radial: Any, groups: Any, labels: Any, done: Any, bounds: Any, partners: Any, k: int,
    stop: int, distances: Any, members: Any, stack: Any,
) -> None:  # fmt: skip
    """Make up to 20 pairs of groups while ``stop`` records are free.

    Of equal pairs the first one in a scan of the lower triangle is taken: the lowest larger number, then the lowest
    partner. Known distances are read first, so that few bounds lie above them.
    """
    cells, numbers, layout, positions = tree
    middle, radii, reach = radial
    sizes, sums, centroids, _, used = groups
    one = np.int64(1)
    for _ in range(20):
        if done[-1] < stop:
            break
        longest = -1.0
        for r in range(bounds.size):
            if labels[r] < 0 and bounds[r] > longest and partners[r] >= 0 and labels[partners[r]] < 0:
                longest = bounds[r]
        for r in range(bounds.size):
            stale = partners[r] < 0 or labels[partners[r]] >= 0
            if labels[r] < 0 and stale and bounds[r] >= longest:
                partners[r] = farthest(points, cells, numbers, layout, middle, reach, points[r], stack)
                bounds[r] = squared_distance(points[r], points[partners[r]])
                longest = max(longest, bounds[r])
        first = one - 1
        while labels[first] >= 0 or bounds[first] < longest or partners[first] >= first:
            first += 1
        seed = first
        for _ in range(2):
            if labels[seed] >= 0:  # only where ties have put the partner into the group of the first
                seed = farthest(points, cells, numbers, layout, middle, reach, points[first], stack)
            members[0] = seed
            distances[k - 1] = np.inf
            search(
                points, points, seed, points, positions, cells, numbers, layout, 0.0, 1.0, seed, one, distances,
                members, stack,
            )  # fmt: skip
            g = used[0]
            used[0] = g + 1
            for i in range(k):
                add(sizes, sums, centroids, g, points, members[i], one)
                labels[members[i]] = g
                remove_and_tighten(cells, numbers, layout, positions, radii, reach, members[i])
            seed = partners[first]
        done[-1] -= 2 * k
