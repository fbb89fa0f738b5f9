"""The closest group of a record: a tree over centroids that move, with room for the newest groups.

``clos`` of the thesis (section 5) is the group with the nearest centroid, ``clos''`` the one whose cost rises least;
both ask the same tree, since the factor m/(m+1) between the two lies in k/(k+1)..1. Ties go to the group made first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.inner import inner
from shoal.methods.kernels.box_tree import FIRST, LEAF, LEVELS, PLANTED, ROOM, SPARE, WIDE, Tree, plant
from shoal.methods.kernels.centroids import Groups


def index_groups(groups: Groups) -> Tree:
    """Return an index of all groups that have members, with room for some new ones."""
    count = int(groups.used[0])
    return plant(groups.shades, np.flatnonzero(groups.sizes[:count]), 4 * LEAF + count // 16)


def overdue(index: Tree, groups: Groups, soon: int = 0) -> bool:
    """Say whether the index has no room for one more group, or for so many."""
    return bool(groups.used[0] + soon >= index.plan[ROOM])


@inner
def follow(axes: Any, centroids: Any, shades: Any, g: int, cells: Any, numbers: Any, plan: Any, places: Any) -> None:
    """Tell the index that the centroid of a group has moved, or that there is a new group; boxes only grow.

    A new group must find room, see ``overdue``.
    """
    width = cells.shape[1]
    if axes.shape[0] > 0:  # else the centroid is its own shade
        rest = 0.0
        for a in range(width):
            shades[g, a] = 0.0
        for j in range(axes.shape[0]):
            for a in range(1, width):
                shades[g, a - 1] += (centroids[g, j] - axes[j, 0]) * axes[j, a]
        for j in range(axes.shape[0]):
            left = centroids[g, j] - axes[j, 0]
            for a in range(1, width):
                left -= shades[g, a - 1] * axes[j, a]
            rest += left * left
        shades[g, width - 1] = np.sqrt(rest)
    if places[g] < 0:
        box = plan[SPARE] + ((g - plan[PLANTED]) >> 5)
        slot = numbers[box, LEAF]
        numbers[box, slot] = g
        numbers[box, LEAF] = slot + 1
        places[g] = (box << 5) + slot
    box = places[g] >> 5
    for j in range(width):
        cells[box, j, places[g] & 31] = shades[g, j]
    for level in range(plan[LEVELS]):
        block = plan[FIRST + level] + (box >> 4)
        lane = box & 15
        inside = True
        for j in range(width):
            if shades[g, j] < cells[block, j, lane]:
                cells[block, j, lane] = shades[g, j]
                inside = False
            if shades[g, j] > cells[block, j, WIDE + lane]:
                cells[block, j, WIDE + lane] = shades[g, j]
                inside = False
        if inside:
            break
        box >>= 4
