"""Spanning tree partitioning: cut the longest edges of the minimum spanning tree, never below k records.

Thaeter 2021, section 8.1; Laszlo & Mukherjee 2005, doi:10.1109/TKDE.2005.112. Edges are visited from the longest to the
shortest and cut if both parts keep k records; parts of 2k and more are then split by MDAV. Cost O(n² d) time, O(n d)
memory. Good where the data fall into separate clusters, otherwise like mdav.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.mdav import mdav
from shoal.methods.refinement.split import split_large
from shoal.methods.registry import method


@method(
    "spanning-tree",
    title="Cuts the longest edges of the minimum spanning tree, then mdav inside large parts",
    complexity="n² d",
    reference="Thaeter 2021, section 8.1; Laszlo & Mukherjee 2005",
    when="records in well separated clusters; up to about 50,000",
    max_size=lambda k: 2 * k - 1,
)
def spanning_tree(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by cutting the minimum spanning tree.

    Examples
    --------
    >>> import numpy as np
    >>> spanning_tree(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([0, 1, 0, 1, 0])
    """
    n = len(points)
    progress.stage("grouping (spanning-tree)", n)
    parents, lengths, order = np.full(n, -1, np.int64), np.full(n, np.inf), np.zeros(n, np.int64)
    rows = np.ascontiguousarray(points.T)
    steps = max(1, 20_000_000 // points.size)
    for start in range(0, n, steps):
        stop = min(start + steps, n)
        _reach(rows, parents, lengths, order, start, stop)
        progress.advance(stop - start)
    edges = np.lexsort((np.arange(n), -lengths))
    labels = _cut(parents, order, edges[edges != 0], k)
    return split_large(points, labels, k, mdav)


@compiled
def _reach(rows: Any, parents: Any, lengths: Any, order: Any, start: int, stop: int) -> None:
    """Take the steps start..stop-1 of Prim's algorithm from record 0; ``order`` lists the records as they are reached.

    A record that is reached keeps the length of the edge to its parent; ties go to the lowest number.
    """
    d, n = rows.shape
    outside = np.ones(n, np.bool_)
    for step in range(start):
        outside[order[step]] = False
    far = np.empty(n)
    for step in range(start, stop):
        best: Any = np.int64(0)
        if step > 0:
            shortest = np.inf
            for r in range(n):
                if outside[r] and lengths[r] < shortest:
                    shortest = lengths[r]
                    best = r
        order[step] = best
        outside[best] = False
        for r in range(n):
            far[r] = 0.0
        for j in range(d):
            centre = rows[j, best]
            for r in range(n):
                difference = rows[j, r] - centre
                far[r] += difference * difference
        for r in range(n):
            if outside[r] and far[r] < lengths[r]:
                lengths[r] = far[r]
                parents[r] = best


@compiled
def _cut(parents: Any, order: Any, edges: Any, k: int) -> Any:
    """Cut the edges (each named by its lower end) where both parts keep k records; return the part of each record."""
    n = parents.size
    below = np.ones(n, np.int64)  # records below an end, inside its part
    for step in range(n - 1, 0, -1):
        below[parents[order[step]]] += below[order[step]]
    is_cut = np.zeros(n, np.bool_)
    is_cut[order[0]] = True
    for edge in edges:
        if below[edge] < k:
            continue
        root = parents[edge]
        while not is_cut[root]:
            root = parents[root]
        if below[root] - below[edge] < k:
            continue
        is_cut[edge] = True
        end = parents[edge]
        below[end] -= below[edge]
        while not is_cut[end]:
            end = parents[end]
            below[end] -= below[edge]
    labels = np.empty(n, np.int64)
    count = 0
    for step in range(n):
        r = order[step]
        if is_cut[r]:
            labels[r] = count
            count += 1
        else:
            labels[r] = labels[parents[r]]
    return labels
