"""leaf-cut-forest: trees of nearest neighbours, cut from their leaves into groups of at least k.

Components grow along nearest-neighbour edges until each has k records, as in ``nearest-neighbour-forest``, but a record
is joined with the nearest record outside of its component, and each tree is cut as soon as the records below one of its
records are k. Both choices lower the loss. O(n k log n). Good for k below about 5, poor from 20 on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.registry import method
from shoal.methods.univariate.neighbour_trees import neighbour_trees, split_far_records


@method(
    "leaf-cut-forest",
    title="Trees of nearest neighbours, cut into groups from their leaves",
    complexity="n k log n",
    reference="after Domingo-Ferrer, Sebé & Solanas 2008",
    when="k below about 5, and a method that computes no distances between far records",
    max_size=lambda k: 2 * k - 1,
)
def leaf_cut_forest(
    points: NDArray[np.float64], k: int, *, seed: int = 0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group records by cutting trees of nearest neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> leaf_cut_forest(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = points.shape[0]
    progress.stage("grouping (leaf-cut-forest)", n)
    centred = points - points.mean(axis=0)
    labels = np.full(n, -1, np.int64)
    number = 0
    for tree in neighbour_trees(centred, k, np.random.default_rng(seed), nearest=True):
        for group in _cut(tree, k):
            for part in split_far_records(centred, np.array(sorted(group)), k):
                labels[part] = number
                number += 1
                progress.advance(part.size)
    return labels


def _cut(tree: dict[int, list[int]], k: int) -> list[list[int]]:
    """Cut a tree from its leaves: the records below a record become a group as soon as there are k of them."""
    start = next(iter(tree))
    order, above = [start], {start: start}
    for record in order:
        for neighbour in tree[record]:
            if neighbour != above[record]:
                above[neighbour] = record
                order.append(neighbour)
    groups: list[list[int]] = []
    pending: dict[int, list[int]] = {record: [] for record in order}
    for record in reversed(order):
        rest = [*pending[record], record]
        if len(rest) >= k:
            groups.append(rest)
            rest = []
        if record == start:
            break
        waiting = pending[above[record]]
        waiting += rest
        if len(waiting) >= k:
            groups.append(waiting)
            pending[above[record]] = []
    if rest and groups:
        groups[-1] = groups[-1] + rest
    elif rest:
        groups.append(rest)
    return groups
