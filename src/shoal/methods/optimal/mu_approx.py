"""μ-Approx: the method with a proven factor, from a forest of near neighbours.

Thaeter 2021, section 9.1, Algorithms 22 and 23; Domingo-Ferrer, Sebé & Solanas 2008, doi:10.1016/j.camwa.2007.04.034.
Forest joins components of fewer than k records along edges to one of the k-1 nearest neighbours, Decompose cuts
components that are too large, MDAV halves what has 2k or more. Cost O(n k log n) with a k-d tree. The SSE is at most
2 (2k-1) max(2k-1, 3k-5)² times the optimum; most other methods lose less in practice, without a guarantee.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.threads import get_threads
from shoal.methods.contract import Outcome, WithinFactor
from shoal.methods.refinement.split import split_large
from shoal.methods.registry import method
from shoal.methods.running import run

Tree = dict[int, list[int]]


def guaranteed_factor(k: int) -> int:
    """Return how many times the optimum the SSE can be at most (Thaeter 2021, Theorem 9.5).

    Examples
    --------
    >>> guaranteed_factor(3), guaranteed_factor(5)
    (250, 1800)
    """
    return 2 * (2 * k - 1) * largest_component(k) ** 2


def largest_component(k: int) -> int:
    """Return the size up to which Decompose leaves a component alone."""
    return max(2 * k - 1, 3 * k - 5)


@method(
    "mu-approx",
    title="Near-neighbour trees cut into groups, with a proven factor to the optimum",
    complexity="n k log n",
    guarantees=(WithinFactor("SSE at most 2 (2k-1) max(2k-1, 3k-5)² times the optimum", guaranteed_factor),),
    reference="Thaeter 2021, Alg. 22 and 23; Domingo-Ferrer et al. 2008",
    when="a guarantee is wanted more than a small loss",
    max_size=lambda k: 2 * k - 1,
)
def mu_approx(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> Outcome:
    """Group records with a proven factor to the optimum.

    The diagnostics hold ``factor``: how many times the optimum the SSE can be at most.

    Examples
    --------
    >>> import numpy as np
    >>> mu_approx(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([0, 1, 0, 1, 0])
    """
    n = len(points)
    progress.stage("grouping (mu-approx)", n)
    labels = np.zeros(n, np.int64)
    count = 0
    for tree in components(forest(points, k)):
        for part in decompose(tree, k):
            labels[part] = count
            count += 1
        progress.advance(len(tree))
    return Outcome(
        split_large(points, labels, k, lambda part, k: run("mdav", part, k).labels),
        diagnostics={"factor": guaranteed_factor(k)},
    )


def forest(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return for each record the record its edge leads to, or -1; every component has at least k records.

    A component of fewer than k records has one record without an edge; it gets one to its nearest neighbour outside,
    which is among its k-1 nearest. All of these are at least as near as the farthest record of its group in the
    optimum, so no edge is long.

    Examples
    --------
    >>> forest(np.array([[0.0], [1.0], [5.0], [7.0]]), 2)
    array([ 1, -1,  3, -1])
    """
    n = len(points)
    around = _nearest(points, k - 1)
    edges = [-1] * n
    leader = list(range(n))  # union-find; the leader is also the record without an edge
    sizes = [1] * n

    def find(record: int) -> int:
        while leader[record] != record:
            leader[record] = leader[leader[record]]
            record = leader[record]
        return record

    for record in range(n):
        top = find(record)
        while sizes[top] < k:
            other, target = next((v, found) for v in around[top].tolist() if (found := find(v)) != top)
            edges[top] = other
            leader[top] = target
            sizes[target] += sizes[top]
            top = target
    return np.array(edges, np.int64)


def components(edges: NDArray[np.int64]) -> list[Tree]:
    """Return the trees of a forest, each as the list of neighbours of every vertex, in the order of first appearance.

    Examples
    --------
    >>> components(np.array([1, -1, 3, -1]))
    [{0: [1], 1: [0]}, {2: [3], 3: [2]}]
    """
    near: list[list[int]] = [[] for _ in range(len(edges))]
    for u, v in enumerate(edges.tolist()):
        if v >= 0:
            near[u].append(v)
            near[v].append(u)
    seen = [False] * len(edges)
    trees = []
    for start in range(len(edges)):
        if not seen[start]:
            seen[start] = True
            reached = [start]
            for u in reached:
                new = [v for v in near[u] if not seen[v]]
                for v in new:
                    seen[v] = True
                reached += new
            trees.append({u: near[u] for u in reached})
    return trees


def decompose(tree: Tree, k: int) -> list[list[int]]:
    """Return the vertices of a tree in parts of k to max(2k-1, 3k-5), as they are if the tree is not larger.

    Thaeter 2021 does not print the steps. Here: from the leaves up, branches of a vertex are collected until they have
    k vertices, and become a part if k vertices stay; what stays is connected and needs at most one cut. Each edge
    belongs to one part, where the vertex that joins the collected branches may be missing among the records (a Steiner
    point); the proof of the factor needs no more.

    Examples
    --------
    >>> star = {0: [1, 2, 3, 4], 1: [0], 2: [0], 3: [0], 4: [0]}
    >>> decompose(star, 2)
    [[1, 2], [0, 3, 4]]
    """
    if len(tree) <= largest_component(k):
        return [list(tree)]
    root = next(iter(tree))
    order, parent = _walk(tree, root)
    pending: dict[int, list[int]] = {}
    parts: list[list[int]] = []
    left = len(tree)
    for u in reversed(order):
        kept: list[int] = []
        collected: list[int] = []
        for v in tree[u]:
            if v != parent[u]:
                collected += pending.pop(v)
                if len(collected) >= k:
                    if left - len(collected) >= k:
                        parts.append(collected)
                        left -= len(collected)
                    else:
                        kept += collected
                    collected = []
        whole = [u, *kept, *collected]
        if len(whole) >= k and left - len(whole) >= k:
            parts.append(whole)
            left -= len(whole)
            whole = []
        pending[u] = whole
    rest = set(pending[root])
    return parts + _cut_once({u: [v for v in tree[u] if v in rest] for u in rest}, k) if rest else parts


def _cut_once(tree: Tree, k: int) -> list[list[int]]:
    """Return a tree of fewer than 4k vertices in one or two parts of k to max(2k-1, 3k-5)."""
    size = len(tree)
    if size <= largest_component(k):
        return [list(tree)]
    u = min(tree)
    while True:
        branches = sorted((_branch(tree, v, u) for v in tree[u]), key=lambda branch: (-len(branch), branch))
        longest = len(branches[0])
        if longest < k:
            break
        if size - longest >= k:
            return _two(tree, branches[0])
        u = next(v for v in tree[u] if v in set(branches[0]))
    for enough in (k, k - 1):  # without u first, so that it stays a record of the rest
        part: list[int] = []
        for branch in branches:
            part += branch
            if len(part) >= enough:
                break
        if len(part) < k:
            part.append(u)
        if size - len(part) >= k:
            return _two(tree, part)
    raise AssertionError("a tree of max(2k, 3k-4) vertices can be cut")


def _two(tree: Tree, part: list[int]) -> list[list[int]]:
    inside = set(part)
    return [part, [u for u in tree if u not in inside]]


def _branch(tree: Tree, start: int, without: int) -> list[int]:
    """Return the vertices on the side of ``start`` of the edge to ``without``."""
    return _walk(tree, start, without)[0]


def _walk(tree: Tree, root: int, without: int = -1) -> tuple[list[int], dict[int, int]]:
    """Return the vertices from the root on, parents before children, and the parent of each."""
    parent = {root: without}
    order = [root]
    for u in order:
        for v in tree[u]:
            if v != parent[u]:
                parent[v] = u
                order.append(v)
    return order, parent


def _nearest(points: NDArray[np.float64], width: int) -> NDArray[np.int64]:
    """Return the nearest other records of each record."""
    from scipy.spatial import cKDTree

    scale = float(np.abs(points).max(initial=0.0))
    scaled = points / 2.0 ** np.frexp(scale)[1] if scale > 0 else points
    found = cKDTree(scaled).query(scaled, width + 1, workers=get_threads())[1].astype(np.int64)
    own = found == np.arange(len(points))[:, None]
    own[~own.any(axis=1), -1] = True  # not found among equal records: drop the last one
    return found[~own].reshape(len(points), width)
