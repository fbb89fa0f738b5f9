"""DBA: the densest group of k first, then groups are dissolved where that lowers the cost, in reverse order.

Thaeter 2021, Algorithm 21 (section 8.3); Lin, Wen, Hsieh & Chang 2010, doi:10.1016/j.eswa.2009.09.054. In each round
the record whose k-1 nearest free neighbours make the cheapest group forms it. The papers visit all records in each
round, O(n³ d); here a record is visited again only when a neighbour in its group is no longer free. Cost O(n²) and the
searches, O(n k) memory. Good where dense clusters lie in sparse regions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.mdav import mdav
from shoal.methods.kernels.box_tree import build_tree, remove, search, search_stack
from shoal.methods.kernels.centroids import add, gain_tolerance
from shoal.methods.kernels.group_growth import FREE, begin, join_closest
from shoal.methods.kernels.scatter import scatter
from shoal.methods.kernels.small_mdav import cost_of
from shoal.methods.refinement.split import split_large
from shoal.methods.registry import method


@method(
    "density",
    title="The densest group of k first, then groups are dissolved where that lowers the loss",
    complexity="n²",
    reference="Thaeter 2021, Alg. 21; Lin et al. 2010",
    when="dense clusters in sparse regions; up to about 50,000 records",
    max_size=lambda k: 2 * k - 1,
)
def density(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by density.

    Examples
    --------
    >>> import numpy as np
    >>> density(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([0, 1, 0, 1, 0])
    """
    n = len(points)
    progress.stage("grouping (density)", n)
    projected, growth, groups = begin(points, k)
    labels, done = growth.labels, growth.done
    around = np.empty((n, k), np.int64)
    costs = np.full(n, -1.0)
    scratch = np.empty(k), search_stack()
    while done[FREE] >= k:
        tree = build_tree(projected.projections, np.flatnonzero(labels < 0))
        stop = max(k, int(done[FREE]) // 2)
        while done[FREE] >= stop:
            before = int(done[FREE])
            _rounds(projected, tree, groups, labels, done, around, costs, stop, *scratch)
            progress.advance(before - int(done[FREE]))
    join_closest(points, groups, labels, by_cost=False)
    count = int(groups.used[0])
    labels = scatter(points, labels, np.arange(count)[::-1], k, gain_tolerance(points))
    return split_large(points, ordered_labels(labels), k, mdav)


@compiled
def _rounds(
    projected: Any, tree: Any, groups: Any, labels: Any, done: Any, around: Any, costs: Any, stop: int, distances: Any,
    stack: Any,
) -> None:  # fmt: skip
    """Make up to 50 groups while ``stop`` records are free; a cost of -1 is computed anew."""
    points, projections, _, margin = projected
    cells, numbers, layout, positions = tree
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
                    points, projections, r, points, sizes, cells, numbers, layout, margin, 1.0, r, one, distances,
                    members, stack,
                )  # fmt: skip
                costs[r] = cost_of(points, members, k)
            if best < 0 or costs[r] < costs[best]:
                best = r
        g = used[0]
        used[0] = g + 1
        for i in range(k):
            add(sizes, sums, centroids, g, points, around[best, i], one)
            labels[around[best, i]] = g
            remove(cells, numbers, layout, positions, around[best, i])
        done[-1] -= k
        for r in range(costs.size):
            if labels[r] < 0:
                for i in range(k):
                    if labels[around[r, i]] >= 0:
                        costs[r] = -1.0
                        break
