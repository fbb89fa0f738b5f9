"""DBA: the densest group of k first, then groups are scattered in reverse order.

Thaeter 2021, Algorithm 21 (section 8.3); Lin, Wen, Hsieh & Chang 2010, doi:10.1016/j.eswa.2009.09.054. In each round
the record whose k-1 nearest free neighbours make the cheapest group takes them. The papers look at all records in each
round, O(n³ d); here a record is looked at again only when a neighbour of its group is gone. Cost O(n²) and the
searches, O(n k) memory. Good where dense clumps lie in sparse ground.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.distance.spanning_tree import split_by_mdav
from shoal.methods.kernels.closest import index_groups
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import cost_of, open_group, spread
from shoal.methods.kernels.growth import Growth, from_the_centre, join_closest
from shoal.methods.kernels.scatter import scatter
from shoal.methods.kernels.tree import nearest, plant, remove
from shoal.methods.refine import SMALL, in_order
from shoal.methods.registry import method
from shoal.progress import SILENT, Progress


@method(
    "density",
    title="The densest group of k first, then groups are scattered in reverse order",
    cost="n²",
    guarantee="groups have k to 2k-1 records",
    reference="Thaeter 2021, Alg. 21; Lin et al. 2010",
    when="dense clumps in sparse ground; up to about 50,000 records",
    max_size=lambda k: 2 * k - 1,
)
def density(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by density.

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
    >>> density(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([0, 1, 0, 1, 0])
    """
    n = len(points)
    progress.stage("grouping (density)", n)
    growth = from_the_centre(points, k)
    around = np.empty((n, k), np.int64)
    costs = np.full(n, -1.0)
    while growth.done[1] >= k:
        tree = plant(points, np.flatnonzero(growth.labels < 0))
        stop = max(k, int(growth.done[1]) // 2)
        while growth.done[1] >= stop:
            before = int(growth.done[1])
            _rounds(growth, tree, around, costs, k, stop, 50)
            progress.advance(before - int(growth.done[1]))
    join_closest(growth, index_groups(growth.groups), False, 1.0)
    count = int(growth.groups.used[0])
    labels = scatter(points, growth.labels, np.arange(count)[::-1], k, SMALL * spread(points))
    return split_by_mdav(points, in_order(labels), k)


@compiled
def _rounds(growth: Growth, tree: Any, around: Any, costs: Any, k: int, stop: int, limit: int) -> None:
    """Make up to ``limit`` groups while ``stop`` records are free; a cost of -1 has to be computed."""
    points = growth.points
    distances = np.empty(k)
    for _ in range(limit):
        if growth.done[1] < stop:
            break
        best: Any = np.int64(-1)
        for r in range(costs.size):
            if growth.labels[r] >= 0:
                continue
            if costs[r] < 0.0:
                distances[k - 1] = np.inf
                nearest(tree, points[r], r, distances, around[r])
                costs[r] = cost_of(points, around[r])
            if best < 0 or costs[r] < costs[best]:
                best = r
        g = open_group(growth.groups, points, around[best])
        for i in range(k):
            growth.labels[around[best, i]] = g
            remove(tree, around[best, i])
        growth.done[1] -= k
        for r in range(costs.size):
            if growth.labels[r] < 0:
                for i in range(k):
                    if growth.labels[around[r, i]] >= 0:
                        costs[r] = -1.0
                        break
