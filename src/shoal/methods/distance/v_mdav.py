"""V-MDAV: groups of k that grow while the next record is nearer to them than to any other free record.

Thaeter 2021, Algorithm 4 (section 5.1); Solanas & Martínez-Ballesté 2006. Cost O(n² k d) time at worst, O(n d) memory.
Good on clustered data with the right gain factor, which has to be searched for; mdav-star-gamma is usually better.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import FewExtraRecords, Outcome
from shoal.methods.distance.repeats import best_gain_factor
from shoal.methods.kernels.box_tree import build_tree, remove, search, search_stack
from shoal.methods.kernels.centroids import add
from shoal.methods.kernels.group_growth import FREE, begin, join_closest
from shoal.methods.options import Range
from shoal.methods.registry import method


@method(
    "v-mdav",
    title="mdav-plus whose groups grow to 2k-1 where records are close, by a gain factor",
    complexity="21 n² k d",
    guarantees=(FewExtraRecords("fewer than k records enlarge groups of 2k-1", doubled=True),),
    reference="Thaeter 2021, Alg. 4; Solanas & Martínez-Ballesté 2006",
    when="comparison with published results; clustered data",
)
def v_mdav(
    points: NDArray[np.float64],
    k: int,
    *,
    gamma: Annotated[float, Range(0)] | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by V-MDAV.

    Parameters
    ----------
    gamma
        The gain factor; 0 gives MDAV⁺, the authors advise 0.2 for scattered and 1.1 for clustered data; None tries 0.0,
        0.1, ..., 2.0 and keeps the cheapest grouping, the lowest factor among equals.

    Examples
    --------
    >>> import numpy as np
    >>> v_mdav(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]), 2, gamma=0.2).labels
    array([1, 1, 1, 0, 0, 0])
    """

    def run(factor: float, shared: Progress) -> NDArray[np.int64]:
        projected, growth, groups = begin(points, k)
        scratch = (
            np.empty(2 * k),
            np.empty(2 * k),
            np.empty((2, 2 * k), np.int64),
            np.empty(1, np.int64),
            search_stack(),
        )
        while growth.done[FREE] >= k:
            tree = build_tree(projected.projections, np.flatnonzero(growth.labels < 0))
            stop = max(k, int(growth.done[FREE]) // 2)
            while growth.done[FREE] >= stop:
                before = int(growth.done[FREE])
                _rounds(projected, tree, growth, groups, k, float(factor), stop, *scratch)
                shared.advance(before - int(growth.done[FREE]))
        join_closest(points, groups, growth.labels, by_cost=False)
        return growth.labels

    return best_gain_factor("v-mdav", run, points, gamma, progress)


@compiled
def _rounds(
    projected: Any, tree: Any, growth: Any, groups: Any, k: int, gamma: float, stop: int, near: Any, far: Any, records:
    Any, found: Any, stack: Any,
) -> None:  # fmt: skip
    """Make up to 200 groups of k to 2k-1 while ``stop`` records are free.

    For each member, ``near`` is the distance to the nearest free record, whose number is in the second row of
    ``records``.
    """
    points, projections, _, margin = projected
    cells, numbers, layout, positions = tree
    orders, done, labels = growth
    sizes, sums, centroids, _, used = groups
    members = records[0]
    neighbours = records[1]
    zero = np.int64(0)
    one = np.int64(1)
    for _ in range(200):
        free = done[-1]
        if free < stop:
            break
        r = orders[0, done[0]]
        if labels[r] >= 0:
            done[0] += 1
            continue
        g = used[0]
        used[0] = g + 1
        members[0] = r
        far[k - 1] = np.inf
        search(
            points, projections, r, points, sizes, cells, numbers, layout, margin, 1.0, r, one, far, members[:k], stack
        )
        size = zero
        while True:
            q = members[size]
            labels[q] = g
            neighbours[size] = r  # not known yet, for r is no longer free
            remove(cells, numbers, layout, positions, q)
            add(sizes, sums, centroids, g, points, q, one)
            size += 1
            if size < k:
                continue
            if size == 2 * k - 1 or free == size or gamma <= 0.0:
                break
            best = zero
            for i in range(size + 1):  # the last search is for the nearest neighbour of the candidate
                q = neighbours[best] if i == size else members[i]
                if i == size or labels[neighbours[i]] >= 0:
                    far[0] = np.inf
                    search(
                        points, projections, q, points, sizes, cells, numbers, layout, margin, 1.0, q, zero, far, found,
                        stack
                    )  # fmt: skip
                    near[i] = far[0]
                    neighbours[i] = found[0]
                if i < size and (near[i] < near[best] or (near[i] == near[best] and neighbours[i] < neighbours[best])):
                    best = np.int64(i)
            if near[best] >= gamma * near[size]:  # which is infinite if no other record is free
                break
            members[size] = neighbours[best]
        done[-1] = free - size
