"""The closest group of a record: a tree over centroids that move, with the newest groups in a short list beside it.

``clos`` of the thesis (section 5) is the group with the nearest centroid, ``clos''`` the one whose cost rises least;
both ask the same tree, since the factor m/(m+1) between the two lies in k/(k+1)..1. Ties go to the group made first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import Groups, distance
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.tree import LEAF, WIDE, Tree, box_distances, distances_within, lowest, move, plant, remove


class Index(NamedTuple):
    """A tree over the groups numbered below ``planted``; the others are looked at one by one."""

    tree: Tree
    planted: NDArray[np.int64]


def index_groups(groups: Groups) -> Index:
    """Return an index of all groups that have members."""
    count = int(groups.used[0])
    return Index(plant(groups.centroids, np.flatnonzero(groups.sizes[:count])), np.array([count]))


@compiled
def overdue(index: Any, groups: Any) -> bool:
    """Say whether so many groups are new that the index should be made again."""
    return groups.used[0] - index.planted[0] > 2 * LEAF + index.planted[0] // 16


@inner
def moved(index: Any, groups: Any, g: int) -> None:
    """Tell the index that the centroid of a group has moved."""
    if g < index.planted[0]:
        move(index.tree, g, groups.centroids[g])


@inner
def closed(index: Any, groups: Any, g: int) -> None:
    """Tell the index that a group is gone."""
    groups.sizes[g] = 0
    if g < index.planted[0]:
        remove(index.tree, g)


@inner
def closest(index: Any, groups: Any, query: Any, without: int, by_cost: bool, factor: float, limit: float) -> Any:
    """Return the closest group and its squared distance (or its rise of cost); -1 if none is within the limit.

    ``factor`` is a lower bound of what turns a distance into a rise of cost: k/(k+1), or 1 if distances are compared.
    """
    tree = index.tree
    out = np.empty(tree.numbers.shape[1])
    best = -1
    for g in range(index.planted[0], groups.used[0]):
        if groups.sizes[g] > 0 and g != without:
            score = distance(query, groups.centroids[g])
            if by_cost:
                score *= groups.sizes[g] / (groups.sizes[g] + 1.0)
            if score < limit or (score == limit and best < 0):
                limit = score
                best = g
    levels = tree.starts.size
    bounds = np.empty((levels, WIDE))
    blocks = np.zeros(levels, np.int64)
    level = levels - 1
    box_distances(tree, tree.starts[level], query, bounds[level])
    while level < levels:
        lane = lowest(bounds[level])
        if factor * bounds[level, lane] > limit or bounds[level, lane] == np.inf:
            level += 1
            continue
        bounds[level, lane] = np.inf
        box = blocks[level] * WIDE + lane
        if level > 0:
            level -= 1
            blocks[level] = box
            box_distances(tree, tree.starts[level] + box, query, bounds[level])
            continue
        if not distances_within(tree.blocks[box], tree.counts[box], query, 1.000001 * limit / factor, out):
            continue
        for i in range(tree.counts[box]):
            if factor * out[i] <= limit:
                g = tree.numbers[box, i]
                score = out[i]
                if by_cost:
                    score *= groups.sizes[g] / (groups.sizes[g] + 1.0)
                if g != without and (score < limit or (score == limit and (best < 0 or g < best))):
                    limit = score
                    best = g
    return best, limit
