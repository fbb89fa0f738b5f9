"""Trees of near neighbours with at least k records each, and the split of groups that are too large.

Domingo-Ferrer, Sebé & Solanas 2008; Stamm & Schaub 2024, section 5.2. Cost O(n k log n) with a k-d tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Tree = dict[int, list[int]]
"""The neighbours of each record."""


def neighbour_trees(points: NDArray[np.float64], k: int, rng: np.random.Generator, *, nearest: bool) -> list[Tree]:
    """Join records with near neighbours until every component has k records; return each component as a tree.

    Parameters
    ----------
    points
        n x d.
    k
        Minimum number of records of a component.
    rng
        The order in which components grow, and which of their records and neighbours are joined.
    nearest
        Whether a record is joined with the nearest record outside of its component, or with a random one of its k
        nearest records that are outside.

    Examples
    --------
    >>> trees = neighbour_trees(np.array([[0.0], [1.0], [7.0], [9.0]]), 2, np.random.default_rng(0), nearest=True)
    >>> sorted(map(sorted, trees))
    [[0, 1], [2, 3]]
    """
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
        if nearest:
            record = idle[home].pop()
            other = next(int(j) for j in near[record] if root(int(j)) != home)
        else:
            record = idle[home].pop(int(rng.integers(len(idle[home]))))
            outside = [int(j) for j in near[record] if root(int(j)) != home]
            other = outside[int(rng.integers(len(outside)))]
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


def split_far_records(points: NDArray[np.float64], group: NDArray[np.int64], k: int) -> list[NDArray[np.int64]]:
    """Split a group of 2k or more records: the record farthest from the centroid with its k-1 nearest, and the rest.

    Examples
    --------
    >>> split_far_records(np.array([[0.0], [1.0], [8.0], [9.0]]), np.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    parts = []
    while group.size >= 2 * k:
        inside = points[group]
        far = int(np.argmax(((inside - inside.mean(axis=0)) ** 2).sum(axis=1)))
        order = np.argsort(((inside - inside[far]) ** 2).sum(axis=1), kind="stable")
        parts.append(group[order[:k]])
        group = group[order[k:]]
    return [*parts, group]
