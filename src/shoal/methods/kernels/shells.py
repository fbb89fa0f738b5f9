"""Farthest searches in a tree: each box also knows how far its points reach from a fixed centre.

The farthest records lie on the rim, where the corners of all boxes stick out and boxes alone exclude little. With s = q
- c, δ(x, q)² = δ(x, c)² + |s|² - 2 (x - c)·s: the first term is bounded by the reach of the box, the last by its box
or by Cauchy-Schwarz. The bound has other roundings than a distance, so it is widened by more than they can amount to;
the answers are those of a scan over all points, ties to the lowest number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import distance
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.tree import WIDE, Tree, block_distances, remove


class Shells(NamedTuple):
    """A tree, the centre, the squared distance of each record to it, and the greatest of them in each box."""

    tree: Tree
    centre: NDArray[np.float64]
    radii: NDArray[np.float64]
    reach: NDArray[np.float64]


@compiled
def draw_shells(tree: Any, points: Any, centre: Any) -> Any:
    """Return the tree with the reach of its boxes from the centre."""
    shells = Shells(tree, centre, np.empty(points.shape[0]), np.empty((tree.low.shape[0], WIDE)))
    for block in range(tree.low.shape[0]):
        for i in range(WIDE):
            shells.reach[block, i] = -1.0
    for leaf in range(tree.counts.size):
        for i in range(tree.counts[leaf]):
            number = tree.numbers[leaf, i]
            shells.radii[number] = distance(points[number], centre)
        _draw_leaf_reach(shells, leaf)
    for level in range(1, tree.starts.size):
        for box in range(tree.starts[level] - tree.starts[level - 1]):
            _draw_reach(shells, level, box)
    return shells


@inner
def _draw_leaf_reach(shells: Any, leaf: int) -> None:
    """Set the reach of a leaf; -1 if it is empty."""
    reach = -1.0
    for i in range(shells.tree.counts[leaf]):
        reach = max(reach, shells.radii[shells.tree.numbers[leaf, i]])
    shells.reach[leaf // WIDE, leaf % WIDE] = reach


@inner
def _draw_reach(shells: Any, level: int, box: int) -> bool:
    """Set the reach of a box of a level from the block below it; say whether it changed."""
    starts = shells.tree.starts
    reach = -1.0
    for i in range(WIDE):
        reach = max(reach, shells.reach[starts[level - 1] + box, i])
    changed = shells.reach[starts[level] + box // WIDE, box % WIDE] != reach
    shells.reach[starts[level] + box // WIDE, box % WIDE] = reach
    return changed


@inner
def leave(shells: Any, number: int) -> None:
    """Take a point out of the tree."""
    tree = shells.tree
    box = tree.places[number] // tree.numbers.shape[1]
    remove(tree, number)
    if shells.radii[number] < shells.reach[box // WIDE, box % WIDE]:
        return
    _draw_leaf_reach(shells, box)
    for level in range(1, tree.starts.size):
        box //= WIDE
        if not _draw_reach(shells, level, box):
            break


@inner
def _bounds(shells: Any, block: int, query: Any, shift: Any, length: float, out: Any) -> None:
    """Write upper bounds of the squared distances of the boxes' points to the query into ``out``; -1 without points."""
    along = np.zeros(WIDE)
    for i in range(WIDE):
        out[i] = 0.0
    for j in range(query.size):
        centre = query[j]
        step = shift[j]
        low = shells.tree.low[block, j]
        high = shells.tree.high[block, j]
        for i in range(WIDE):
            below = centre - low[i]
            above = high[i] - centre
            side = max(below, above)
            out[i] += side * side
            along[i] += max((below - step) * step, -(above + step) * step)
    for i in range(WIDE):
        reach = shells.reach[block, i]
        if reach < 0.0:
            out[i] = -1.0
        else:
            margin = 1e-13 * (query.size + 10) * (reach + length)
            out[i] = min(out[i], reach + length + 2.0 * min(along[i], np.sqrt(reach * length)) + margin)


@inner
def _highest(values: Any) -> int:
    """Return the place of the highest of the bounds of a block."""
    best = 0
    for i in range(1, WIDE):
        if values[i] > values[best]:
            best = i
    return best


@inner
def farthest(shells: Any, query: Any) -> Any:
    """Return the number of the point farthest from the query, and its squared distance; -1 in an empty tree."""
    tree = shells.tree
    shift = np.empty(query.size)
    length = 0.0
    for j in range(query.size):
        shift[j] = query[j] - shells.centre[j]
        length += shift[j] * shift[j]
    out = np.empty(tree.numbers.shape[1])
    levels = tree.starts.size
    bounds = np.empty((levels, WIDE))
    blocks = np.zeros(levels, np.int64)  # the block of each level that is being searched
    best = -1
    longest = -1.0
    level = levels - 1
    _bounds(shells, tree.starts[level], query, shift, length, bounds[level])
    while level < levels:
        lane = _highest(bounds[level])
        if bounds[level, lane] < longest or bounds[level, lane] < 0.0:
            level += 1
            continue
        bounds[level, lane] = -1.0
        box = blocks[level] * WIDE + lane
        if level > 0:
            level -= 1
            blocks[level] = box
            _bounds(shells, tree.starts[level] + box, query, shift, length, bounds[level])
            continue
        block_distances(tree.blocks[box], tree.counts[box], query, out)
        for i in range(tree.counts[box]):
            number = tree.numbers[box, i]
            if out[i] > longest or (out[i] == longest and number < best):
                longest = out[i]
                best = number
    return best, longest
