"""The closest group of a record: a tree over centroids that move, with capacity for new groups.

``clos`` of Thaeter 2021 (section 5) is the group with the nearest centroid, ``clos''`` the one whose cost rises least;
both search the same tree, since the factor m/(m+1) between the two lies in k/(k+1)..1. Ties go to the group made first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import inner
from shoal.methods.kernels.box_tree import CAPACITY, FIRST, FIRST_NEW, LEAF, LEVELS, SPARE, WIDE, Tree, build_tree
from shoal.methods.kernels.centroids import Groups


def index_groups(groups: Groups) -> Tree:
    """Return an index of all groups that have members, with capacity for new ones."""
    count = int(groups.used[0])
    return build_tree(groups.projections, np.flatnonzero(groups.sizes[:count]), 4 * LEAF + count // 16)


def needs_rebuilding(index: Tree, groups: Groups, soon: int = 0) -> bool:
    """Return whether the index lacks the capacity for one more group, or for ``soon`` more."""
    return bool(groups.used[0] + soon >= index.layout[CAPACITY])


@inner
def update_index(
    axes: Any, centroids: Any, projections: Any, g: int, cells: Any, numbers: Any, layout: Any, positions: Any
) -> None:
    """Update the index where the centroid of a group has moved, or for a new group; boxes only grow.

    There must be capacity for a new group, see ``needs_rebuilding``.
    """
    width = cells.shape[1]
    if axes.shape[0] > 0:  # otherwise the centroid is its own projection
        rest = 0.0
        for a in range(width):
            projections[g, a] = 0.0
        for j in range(axes.shape[0]):
            for a in range(1, width):
                projections[g, a - 1] += (centroids[g, j] - axes[j, 0]) * axes[j, a]
        for j in range(axes.shape[0]):
            left = centroids[g, j] - axes[j, 0]
            for a in range(1, width):
                left -= projections[g, a - 1] * axes[j, a]
            rest += left * left
        projections[g, width - 1] = np.sqrt(rest)
    if positions[g] < 0:
        box = layout[SPARE] + ((g - layout[FIRST_NEW]) >> 5)
        slot = numbers[box, LEAF]
        numbers[box, slot] = g
        numbers[box, LEAF] = slot + 1
        positions[g] = (box << 5) + slot
    box = positions[g] >> 5
    for j in range(width):
        cells[box, j, positions[g] & 31] = projections[g, j]
    for level in range(layout[LEVELS]):
        block = layout[FIRST + level] + (box >> 4)
        lane = box & 15
        inside = True
        for j in range(width):
            if projections[g, j] < cells[block, j, lane]:
                cells[block, j, lane] = projections[g, j]
                inside = False
            if projections[g, j] > cells[block, j, WIDE + lane]:
                cells[block, j, WIDE + lane] = projections[g, j]
                inside = False
        if inside:
            break
        box >>= 4
