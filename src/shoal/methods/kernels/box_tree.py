"""A tree of boxes over points that are added and removed; its nearest-neighbour searches read few of the points.

The tree holds projections of the points (see ``projected_points``; with few attributes a point is its own projection).
They are cut in halves along a direction of large variance until at most 32 are left; such a leaf holds them direction
by direction. The boxes around 16 neighbouring leaves are stored direction by direction in a block of the same form, low
sides before high sides, the boxes around 16 such blocks in the next, and so on. So bounds are computed for a whole
block at a time with wide registers, and the true distance only where the projection is near enough.

A bound that is computed from a box with the same operations in the same order as a distance of projections can never
contradict it, rounding included, because every operation is monotone; between projections and points lies a margin that
is wider than all rounding errors. So the results are those of a scan over all points, ties to the lowest number.

Trees are built by numpy, and the kernels are few and take plain arrays: each of them costs a user time when it is
compiled for the first time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import inner

LEAF = 32
WIDE = 16
LEVELS, SPARE, FIRST_NEW, CAPACITY, FIRST = range(5)
NOT_FOUND = 2**62
"""The number of a point that was not found."""
DEPTH = 9


class Tree(NamedTuple):
    """The arrays of a tree.

    Parameters
    ----------
    cells
        Blocks x directions x 32: the projections of each leaf, then level by level the boxes, 16 low and 16 high sides;
        inf and -inf where there is no point. Box b of a level is the one around block b of the level below.
    numbers
        Leaves x 33: the number of each point, and at the end how many there are.
    layout
        The number of levels of boxes, the first leaf for points that are added later, the number of the first of them,
        the first number beyond the capacity, and the first block of each level.
    positions
        For each number, 32 * leaf + position in the leaf; -1 if it is not in the tree.
    """

    cells: NDArray[np.float64]
    numbers: NDArray[np.int64]
    layout: NDArray[np.int64]
    positions: NDArray[np.int64]


def search_stack() -> NDArray[np.float64]:
    """Return the work array of searches: distances in a leaf, then the bounds of a block for each level."""
    return np.empty((DEPTH + 1, LEAF))


def build_tree(projections: NDArray[np.float64], numbers: NDArray[np.int64], newcomers: int = 0) -> Tree:
    """Return a tree over the rows of ``projections`` with these numbers, and with capacity for new ones."""
    width = projections.shape[1]
    rows = _arrange(projections, numbers)
    leaves = len(rows)
    total = leaves + -(-newcomers // LEAF)
    first_new = int(numbers.max(initial=-1)) + 1
    layout = np.array([0, leaves, first_new, first_new + (total - leaves) * LEAF, *[0] * DEPTH])
    blocks, boxes = total, total
    while layout[LEVELS] == 0 or boxes > 1:
        layout[FIRST + layout[LEVELS]] = blocks
        layout[LEVELS] += 1
        boxes = -(-boxes // WIDE)
        blocks += boxes
    taken = rows >= 0
    held = np.full((total, LEAF + 1), -1, np.int64)
    held[:leaves, : rows.shape[1]] = rows
    held[:leaves, LEAF] = taken.sum(axis=1)
    held[leaves:, LEAF] = 0
    positions = np.full(max(len(projections), layout[CAPACITY]), -1, np.int64)
    leaf, slot = np.nonzero(taken)
    positions[rows[taken]] = leaf * LEAF + slot
    cells = np.zeros((blocks, width, LEAF))
    cells[total:, :, :WIDE] = np.inf
    cells[total:, :, WIDE:] = -np.inf
    inside = projections[rows].transpose(0, 2, 1)
    cells[:leaves, :, : rows.shape[1]] = inside
    low = np.where(taken[:, None, :], inside, np.inf).min(axis=2)
    high = np.where(taken[:, None, :], inside, -np.inf).max(axis=2)
    for level in range(layout[LEVELS]):
        box = np.arange(len(low))
        cells[layout[FIRST + level] + box // WIDE, :, box % WIDE] = low
        cells[layout[FIRST + level] + box // WIDE, :, WIDE + box % WIDE] = high
        above = layout[FIRST + level] + np.arange(-(-len(low) // WIDE))
        low, high = cells[above, :, :WIDE].min(axis=2), cells[above, :, WIDE:].max(axis=2)
    return Tree(cells, held, layout, positions)


def _arrange(projections: NDArray[np.float64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in rows of at most 32 that lie close together, -1 after them where a row is not full.

    All parts are halved at once, each along the direction of largest variance of a few of its points.
    """
    leaves = 1
    while leaves * LEAF < numbers.size:
        leaves *= 2
    rows = np.full((1, leaves * max(1, -(-numbers.size // leaves))), -1, np.int64)
    rows[0, : numbers.size] = numbers
    while len(rows) < leaves:
        half = rows.shape[1] // 2
        few = projections[rows[:, :: max(1, half // 8)]]
        few = few - few[:, :1]
        variance = (few * few).mean(axis=1) - few.mean(axis=1) ** 2
        values = projections[rows, variance.argmax(axis=1)[:, None]]
        values[rows < 0] = np.inf
        rows = np.take_along_axis(rows, np.argpartition(values, half, axis=1), axis=1).reshape(-1, half)
    return np.take_along_axis(rows, np.argsort(rows < 0, axis=1, kind="stable"), axis=1)


@inner
def search(
    points: Any, projections: Any, q: int, table: Any, sizes: Any, cells: Any, numbers: Any, layout: Any, margin: float,
    factor: float, without: int, first: int, distances: Any, found: Any, stack: Any,
) -> None:  # fmt: skip
    """Write the numbers of the rows of the table nearest to point q into ``found``, from ``first`` on, nearest first.

    The last of the distances is the initial limit: farther points are not found, and elements that stay empty have the
    number NOT_FOUND. The point ``without`` does not count. With a factor below 1 distances are weighted: increases of
    cost are compared, size/(size+1) of the squared distance, and the factor is a lower bound of that.
    """
    last = found.size - 1
    limit = distances[last]
    for i in range(first, last + 1):
        distances[i] = limit
        found[i] = NOT_FOUND
    side = np.sqrt(limit / factor) + margin  # no point within the limit has a projection beyond this
    wide = 1.000000001 * side * side
    lanes = cells.shape[2] >> 1  # always 16, but loops of unknown length are compiled to wide registers
    level = layout[LEVELS] - 1
    block = layout[FIRST + level]
    down = True
    while True:
        row = level + 1
        if down:
            stack[row, WIDE] = block
            for i in range(lanes):
                stack[row, i] = 0.0
            for j in range(cells.shape[1]):
                centre = projections[q, j]
                for i in range(lanes):
                    gap = max(cells[block, j, i] - centre, centre - cells[block, j, lanes + i], 0.0)
                    stack[row, i] += gap * gap
        lane = 0
        for i in range(1, lanes):
            if stack[row, i] < stack[row, lane]:
                lane = i
        if stack[row, lane] > wide or stack[row, lane] == np.inf:
            level += 1
            down = False
            if level == layout[LEVELS]:
                return
            continue
        stack[row, lane] = np.inf
        box = (np.int64(stack[row, WIDE]) - layout[FIRST + level]) * WIDE + lane
        down = level > 0
        if down:
            level -= 1
            block = layout[FIRST + level] + box
            continue
        for i in range(2 * lanes):
            stack[0, i] = 0.0
        for j in range(cells.shape[1]):
            centre = projections[q, j]
            for i in range(2 * lanes):
                gap = cells[box, j, i] - centre
                stack[0, i] += gap * gap
        for i in range(numbers[box, LEAF]):
            if stack[0, i] > wide:
                continue
            number = numbers[box, i]
            score = 0.0
            for j in range(points.shape[1]):
                gap = points[q, j] - table[number, j]
                score += gap * gap
            if factor < 1.0:
                score *= sizes[number] / (sizes[number] + 1.0)
            if number == without or score > limit or (score == limit and number > found[last]):
                continue
            position = last
            while position > first and (
                distances[position - 1] > score or (distances[position - 1] == score and found[position - 1] > number)
            ):
                distances[position] = distances[position - 1]
                found[position] = found[position - 1]
                position -= 1
            distances[position] = score
            found[position] = number
            limit = distances[last]
            side = np.sqrt(limit / factor) + margin
            wide = 1.000000001 * side * side


@inner
def remove(cells: Any, numbers: Any, layout: Any, positions: Any, number: int) -> None:
    """Remove a point from the tree; a leaf that becomes empty loses its box, the other boxes stay."""
    leaf = positions[number] >> 5
    slot = positions[number] & 31
    last = numbers[leaf, LEAF] - 1
    other = numbers[leaf, last]
    block = layout[FIRST] + (leaf >> 4)
    for j in range(cells.shape[1]):
        cells[leaf, j, slot] = cells[leaf, j, last]
        if last == 0:
            cells[block, j, leaf & 15] = np.inf
            cells[block, j, WIDE + (leaf & 15)] = -np.inf
    numbers[leaf, slot] = other
    numbers[leaf, LEAF] = last
    positions[other] = (leaf << 5) + slot
    positions[number] = -1
