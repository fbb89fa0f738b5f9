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

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.spanning_tree import split_by_mdav
from shoal.methods.kernels.box_tree import no_stack, plant, remove, search
from shoal.methods.kernels.centroids import add, cost_of, spread
from shoal.methods.kernels.group_growth import FREE, begin, join_closest
from shoal.methods.kernels.scatter import scatter
from shoal.methods.refinement.ona_star_moves import SMALL, in_order
from shoal.methods.registry import method


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
    cloud, growth, groups = begin(points, k)
    labels, done = growth.labels, growth.done
    around = np.empty((n, k), np.int64)
    costs = np.full(n, -1.0)
    scratch = np.empty(k), no_stack()
    while done[FREE] >= k:
        tree = plant(cloud.shades, np.flatnonzero(labels < 0))
        stop = max(k, int(done[FREE]) // 2)
        while done[FREE] >= stop:
            before = int(done[FREE])
            _rounds(cloud, tree, groups, labels, done, around, costs, stop, *scratch)
            progress.advance(before - int(done[FREE]))
    join_closest(points, groups, labels, by_cost=False)
    count = int(groups.used[0])
    labels = scatter(points, labels, np.arange(count)[::-1], k, SMALL * spread(points))
    return split_by_mdav(points, in_order(labels), k)


@compiled
def _rounds(
    cloud: Any, tree: Any, groups: Any, labels: Any, done: Any, around: Any, costs: Any, stop: int, distances: Any,
    stack: Any,
) -> None:  # fmt: skip
    """Make up to 50 groups while ``stop`` records are free; a cost of -1 has to be computed."""
    points, shades, _, slack = cloud
    cells, numbers, plan, places = tree
    sizes, sums, centroids, _, used = groups
    k = around.shape[1]
    zero = np.int64(0)
    one = np.int64(1)
    for _ in range(50):
        if done[-1] < stop:
            break
        best: Any = zero - 1
        for r in range(costs.size):
            if labels[r] >= 0:
                continue
            members = around[r]
            if costs[r] < 0.0:
                members[0] = r
                distances[k - 1] = np.inf
                search(
                    points, shades, r, points, sizes, cells, numbers, plan, slack, 1.0, r, one, distances, members,
                    stack,
                )  # fmt: skip
                costs[r] = cost_of(points, members, zero, k)
            if best < 0 or costs[r] < costs[best]:
                best = r
        g = used[0]
        used[0] = g + 1
        for i in range(k):
            add(sizes, sums, centroids, g, points, around[best, i], one)
            labels[around[best, i]] = g
            remove(cells, numbers, plan, places, around[best, i])
        done[-1] -= k
        for r in range(costs.size):
            if labels[r] < 0:
                for i in range(k):
                    if labels[around[r, i]] >= 0:
                        costs[r] = -1.0
                        break
