"""nearest-neighbour-forest: random trees of near neighbours, decomposed at random records into groups of at least k.

Domingo-Ferrer, Sebé & Solanas 2008 ("A polynomial-time approximation to optimal multivariate microaggregation"), the
baseline of Stamm & Schaub 2024, section 5.2, in their disjoint version: every record belongs to one group, so a tree
is cut only where both sides have k records of their own. A component grows by an edge from a random record to a random
one of its k nearest; a tree of more than max(2k-1, 3k-5) records is cut at a random pivot, and groups of 2k or more are
split. O(n k log n) for the trees, and O(s² / k) for a tree of s records. Good for k below about 5, poor from 20 on;
``leaf-cut-forest`` loses less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.registry import method
from shoal.methods.univariate.neighbour_trees import Tree, neighbour_trees, split_far_records


@method(
    "nearest-neighbour-forest",
    title="Random trees of near neighbours, cut into groups at random records",
    complexity="n k log n",
    reference="Domingo-Ferrer, Sebé & Solanas 2008; Stamm & Schaub 2024, section 5.2",
    when="comparison with published figures",
    max_size=lambda k: 2 * k - 1,
)
def nearest_neighbour_forest(
    points: NDArray[np.float64], k: int, *, seed: int = 0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group records by decomposing trees of near neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_neighbour_forest(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = points.shape[0]
    progress.stage("grouping (nearest-neighbour-forest)", n)
    rng = np.random.default_rng(seed)
    centred = points - points.mean(axis=0)
    labels = np.full(n, -1, np.int64)
    number = 0
    for tree in neighbour_trees(centred, k, rng, nearest=False):
        for group in decompose_at_pivots(tree, k, rng):
            for part in split_far_records(centred, np.array(sorted(group)), k):
                labels[part] = number
                number += 1
                progress.advance(part.size)
    return labels


def decompose_at_pivots(tree: Tree, k: int, rng: np.random.Generator) -> list[list[int]]:
    """Cut a tree at random pivots until no part has more than max(2k-1, 3k-5) records, or no cut is possible.

    A pivot is a record with two neighbours or more. If its largest branch and the rest have k records each, the edge
    between them is cut; otherwise branches of the pivot are collected until they have k records, and are cut off if k
    records stay. A tree in which no pivot allows a cut remains whole.

    Examples
    --------
    >>> path = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}
    >>> sorted(map(sorted, decompose_at_pivots(path, 2, np.random.default_rng(0))))
    [[0, 1], [2, 3]]
    """
    waiting, groups = [tree], []
    while waiting:
        part = waiting.pop()
        removed = set() if len(part) <= max(2 * k - 1, 3 * k - 5) else _removed(part, k, rng)
        if not removed:
            groups.append(list(part))
            continue
        for side in (removed, part.keys() - removed):
            rest = {record: [other for other in part[record] if other in side] for record in part if record in side}
            if len(_reached(rest, next(iter(rest)))) == len(rest):
                waiting.append(rest)
            else:  # branches that only the pivot connected
                groups.append(list(rest))
    return groups


def _removed(tree: Tree, k: int, rng: np.random.Generator) -> set[int]:
    """Return the records that a cut at a random pivot takes off; empty if no pivot allows one."""
    root = next(iter(tree))
    order = _reached(tree, root)
    above = {root: root}
    for record in order:
        above.update({other: record for other in tree[record] if other != above[record]})
    below = dict.fromkeys(order, 1)
    for record in reversed(order[1:]):
        below[above[record]] += below[record]
    pivots = [record for record in order if len(tree[record]) > 1]
    for place in rng.permutation(len(pivots)):
        pivot = pivots[int(place)]
        sizes = [below[other] if above[other] == pivot else len(tree) - below[pivot] for other in tree[pivot]]
        largest = max(sizes)
        if len(tree) - largest < k:
            continue
        if largest >= k:
            return set(_reached(tree, tree[pivot][sizes.index(largest)], pivot))
        collected: list[int] = []
        for other in tree[pivot]:
            collected += _reached(tree, other, pivot)
            if len(collected) >= k:
                break
        if len(collected) >= k and len(tree) - len(collected) >= k:
            return set(collected)
    return set()


def _reached(tree: Tree, start: int, without: int | None = None) -> list[int]:
    """Return the records that are connected with one, without crossing another, nearest first."""
    seen = {start, without}
    order = [start]
    for record in order:
        new = [other for other in tree[record] if other not in seen]
        seen.update(new)
        order += new
    return order
