"""nearest-neighbour-forest: trees of near neighbours, cut into groups of at least k.

Domingo-Ferrer, Sebé & Solanas 2008 ("A polynomial-time approximation to optimal multivariate microaggregation"), the
baseline of Stamm & Schaub 2024, section 5.2, in their disjoint version: every record belongs to one group. Components
grow along nearest-neighbour edges until each has k records; each tree is then cut from its leaves, and groups of 2k or
more are split. O(n k log n). Good for k below about 5, poor from 20 on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.registry import method


@method(
    "nearest-neighbour-forest",
    title="Trees of nearest neighbours, cut into groups",
    complexity="n k log n",
    reference="Domingo-Ferrer, Sebé & Solanas 2008; Stamm & Schaub 2024, section 5.2",
    when="comparison with published figures; k below about 5",
    max_size=lambda k: 2 * k - 1,
)
def nearest_neighbour_forest(
    points: NDArray[np.float64], k: int, *, seed: int = 0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group records by cutting trees of nearest neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_neighbour_forest(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = points.shape[0]
    progress.stage("grouping (nearest-neighbour-forest)", n)
    centred = points - points.mean(axis=0)
    labels = np.full(n, -1, np.int64)
    number = 0
    for tree in _forest(centred, k, np.random.default_rng(seed)):
        for group in _cut(tree, k):
            for part in _split(centred, np.array(sorted(group)), k):
                labels[part] = number
                number += 1
                progress.advance(part.size)
    return labels


def _forest(points: NDArray[np.float64], k: int, rng: np.random.Generator) -> list[dict[int, list[int]]]:
    """Join records with near neighbours until every component has k; return each as a tree of adjacent records."""
    from scipy.spatial import KDTree

    n = points.shape[0]
    near = KDTree(points).query(points, k=list(range(1, min(k + 1, n) + 1)))[1]
    parent = list(range(n))
    members = [[record] for record in range(n)]
    idle = [[record] for record in range(n)]  # members without an outgoing edge, per component
    edges: list[list[int]] = [[] for _ in range(n)]

    def root(record: int) -> int:
        while parent[record] != record:
            parent[record] = parent[parent[record]]
            record = parent[record]
        return record

    waiting = [int(record) for record in rng.permutation(n)]
    while waiting:
        home = root(waiting.pop())
        if len(members[home]) >= k:
            continue
        record = idle[home].pop()
        other = next(int(j) for j in near[record] if root(int(j)) != home)
        edges[record].append(other)
        edges[other].append(record)
        away = root(other)
        large, small = (home, away) if len(members[home]) >= len(members[away]) else (away, home)
        parent[small] = large
        members[large] += members[small]
        idle[large] += idle[small]
        members[small], idle[small] = [], []
        if len(members[large]) < k:
            waiting.append(large)
    return [{record: edges[record] for record in component} for component in members if component]


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


def _split(points: NDArray[np.float64], group: NDArray[np.int64], k: int) -> list[NDArray[np.int64]]:
    """Split a group of 2k or more: the record farthest from the centroid with its k-1 nearest, and the rest."""
    parts = []
    while group.size >= 2 * k:
        inside = points[group]
        far = int(np.argmax(((inside - inside.mean(axis=0)) ** 2).sum(axis=1)))
        order = np.argsort(((inside - inside[far]) ** 2).sum(axis=1), kind="stable")
        parts.append(group[order[:k]])
        group = group[order[k:]]
    return [*parts, group]
