"""Farthest searches in a tree: each box also has the greatest distance of its points from a fixed centre.

The farthest records lie on the rim, where the corners of all boxes stick out and boxes alone exclude little. With s = q
- c, δ(x, q)² = δ(x, c)² + |s|² - 2 (x - c)·s: the first term is bounded by the reach of the box, the last by its box
or by Cauchy-Schwarz. The bound is rounded differently from a distance, so it is widened by more than the rounding
errors can amount to; the results are those of a scan over all points, ties to the lowest number. Points must be their
own projections here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import inner
from shoal.methods.kernels.box_tree import FIRST, LEAF, LEVELS, WIDE, Tree, remove
from shoal.methods.kernels.centroids import squared_distances


class RadialBounds(NamedTuple):
    """The centre, the squared distance of each record to it, and the greatest of them in each box (-1: no points)."""

    centre: NDArray[np.float64]
    radii: NDArray[np.float64]
    reach: NDArray[np.float64]


def radial_bounds_of(tree: Tree, points: NDArray[np.float64], centre: NDArray[np.float64]) -> RadialBounds:
    """Return how far the boxes of a tree reach from the centre."""
    leaves = len(tree.numbers)
    inside = np.arange(LEAF) < tree.numbers[:, LEAF:]
    members = tree.numbers[:, :LEAF][inside]
    radii = np.zeros(len(points))
    radii[members] = squared_distances(points[members], centre)
    lanes = np.full((leaves, LEAF), -1.0)
    lanes[inside] = radii[members]
    reach = np.full((len(tree.cells) - leaves, WIDE), -1.0)
    far = lanes.max(axis=1)
    for level in range(tree.layout[LEVELS]):
        start = tree.layout[FIRST + level] - leaves
        blocks = -(-len(far) // WIDE)
        reach[start : start + blocks].ravel()[: len(far)] = far
        far = reach[start : start + blocks].max(axis=1)
    return RadialBounds(centre, radii, reach)


@inner
def remove_and_tighten(
    cells: Any, numbers: Any, layout: Any, positions: Any, radii: Any, reach: Any, number: int
) -> None:
    """Remove a point from the tree, and shrink the boxes and their reach."""
    box = positions[number] >> 5
    remove(cells, numbers, layout, positions, number)
    below = box
    count = numbers[box, LEAF]
    shift = np.int64(0)
    far = -1.0
    for i in range(count):
        far = max(far, radii[numbers[box, i]])
    for level in range(layout[LEVELS]):
        block = layout[FIRST + level] + (box >> 4)
        lane = box & 15
        row = block - layout[FIRST]
        same = reach[row, lane] == far
        reach[row, lane] = far
        for j in range(cells.shape[1]):
            low = np.inf
            high = -np.inf
            for i in range(count):
                low = min(low, cells[below, j, i])
                high = max(high, cells[below, j, shift + i])
            same &= cells[block, j, lane] == low and cells[block, j, WIDE + lane] == high
            cells[block, j, lane] = low
            cells[block, j, WIDE + lane] = high
        if same:
            break
        below = block
        count = np.int64(WIDE)
        shift = np.int64(WIDE)
        box >>= 4
        for i in range(WIDE):
            far = max(far, reach[row, i])


@inner
def farthest(
    points: Any, cells: Any, numbers: Any, layout: Any, centre: Any, reach: Any, query: Any, stack: Any
) -> int:  # fmt: skip
    """Return the number of the point farthest from the query, -1 in an empty tree."""
    d = query.size
    lanes = cells.shape[2] >> 1
    length = 0.0
    for j in range(d):
        length += (query[j] - centre[j]) * (query[j] - centre[j])
    best: Any = np.int64(-1)
    longest = 0.0
    level = layout[LEVELS] - 1
    block = layout[FIRST + level]
    down = True
    while True:
        row = level + 1
        if down:
            stack[row, WIDE] = block
            for i in range(lanes):
                stack[0, i] = 0.0
                stack[row, i] = 0.0
            for j in range(d):
                middle = query[j]
                step = middle - centre[j]
                for i in range(lanes):
                    below = middle - cells[block, j, i]
                    above = cells[block, j, lanes + i] - middle
                    side = max(below, above)
                    stack[row, i] += side * side
                    stack[0, i] += max((below - step) * step, -(above + step) * step)
            for i in range(lanes):
                far = reach[block - layout[FIRST], i]
                margin = 1e-13 * (d + 10) * (far + length)
                bound = far + length + 2.0 * min(stack[0, i], np.sqrt(max(far, 0.0) * length)) + margin
                stack[row, i] = min(stack[row, i], bound) if far >= 0.0 else -1.0
        lane = 0
        for i in range(1, lanes):
            if stack[row, i] > stack[row, lane]:
                lane = i
        if stack[row, lane] < longest:
            level += 1
            down = False
            if level == layout[LEVELS]:
                return best
            continue
        stack[row, lane] = -1.0
        box = (np.int64(stack[row, WIDE]) - layout[FIRST + level]) * WIDE + lane
        down = level > 0
        if down:
            level -= 1
            block = layout[FIRST + level] + box
            continue
        for i in range(2 * lanes):
            stack[0, i] = 0.0
        for j in range(d):
            middle = query[j]
            for i in range(2 * lanes):
                gap = cells[box, j, i] - middle
                stack[0, i] += gap * gap
        for i in range(numbers[box, LEAF]):
            if stack[0, i] > longest or (stack[0, i] == longest and (best < 0 or numbers[box, i] < best)):
                longest = stack[0, i]
                best = numbers[box, i]
