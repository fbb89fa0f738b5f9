"""A tree of blocks over points that come and go: searches for the nearest that touch few of them.

Points are seen by their shades (see ``shades``; with few attributes a point is its own shade). Shades are cut in halves
along a spread direction until at most 32 are left; such a leaf holds them direction by direction. The boxes around 16
neighbouring leaves stand direction by direction in a block of the same form, low sides before high sides, the boxes
around 16 such blocks in the next, and so on. So bounds are computed for a whole block at a time with wide registers,
and the true distance only where the shade is near enough.

A bound that is computed from a box with the same operations in the same order as a distance of shades can never
contradict it, rounding included, because every operation is monotone; between shades and points lies a slack that is
wider than all roundings. So the answers are those of a scan over all points, ties to the lowest number.

Trees are planted by numpy, and the kernels are few and take plain arrays: each one costs a user time when it is
compiled for the first time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.inner import inner

LEAF = 32
WIDE = 16
LEVELS, SPARE, PLANTED, ROOM, FIRST = range(5)
NOBODY = 2**62
"""The number of a point that was not found."""
DEPTH = 9


class Tree(NamedTuple):
    """The arrays of a tree.

    Parameters
    ----------
    cells
        Blocks x directions x 32: the shades of each leaf, then level by level the boxes, 16 low and 16 high sides; inf
        and -inf where there is no point. Box b of a level is the one around block b of the level below.
    numbers
        Leaves x 33: the number of each point, and at the end how many there are.
    plan
        How many levels of boxes there are, the first leaf for points that come later, the number of the first of them,
        the first number for which there is no room, and the first block of each level.
    places
        For each number, 32 * leaf + position in the leaf; -1 if it is not in the tree.
    """

    cells: NDArray[np.float64]
    numbers: NDArray[np.int64]
    plan: NDArray[np.int64]
    places: NDArray[np.int64]


def no_stack() -> NDArray[np.float64]:
    """Return what searches need as scratch: distances in a leaf, then the bounds of a block for each level."""
    return np.empty((DEPTH + 1, LEAF))


def plant(shades: NDArray[np.float64], numbers: NDArray[np.int64], newcomers: int = 0) -> Tree:
    """Return a tree over the rows of ``shades`` with these numbers, with room for so many with higher numbers."""
    width = shades.shape[1]
    rows = _arrange(shades, numbers)
    leaves = len(rows)
    total = leaves + -(-newcomers // LEAF)
    planted = int(numbers.max(initial=-1)) + 1
    plan = np.array([0, leaves, planted, planted + (total - leaves) * LEAF, *[0] * DEPTH])
    blocks, boxes = total, total
    while plan[LEVELS] == 0 or boxes > 1:
        plan[FIRST + plan[LEVELS]] = blocks
        plan[LEVELS] += 1
        boxes = -(-boxes // WIDE)
        blocks += boxes
    taken = rows >= 0
    held = np.full((total, LEAF + 1), -1, np.int64)
    held[:leaves, : rows.shape[1]] = rows
    held[:leaves, LEAF] = taken.sum(axis=1)
    held[leaves:, LEAF] = 0
    places = np.full(max(len(shades), plan[ROOM]), -1, np.int64)
    leaf, slot = np.nonzero(taken)
    places[rows[taken]] = leaf * LEAF + slot
    cells = np.zeros((blocks, width, LEAF))
    cells[total:, :, :WIDE] = np.inf
    cells[total:, :, WIDE:] = -np.inf
    inside = shades[rows].transpose(0, 2, 1)
    cells[:leaves, :, : rows.shape[1]] = inside
    low = np.where(taken[:, None, :], inside, np.inf).min(axis=2)
    high = np.where(taken[:, None, :], inside, -np.inf).max(axis=2)
    for level in range(plan[LEVELS]):
        box = np.arange(len(low))
        cells[plan[FIRST + level] + box // WIDE, :, box % WIDE] = low
        cells[plan[FIRST + level] + box // WIDE, :, WIDE + box % WIDE] = high
        above = plan[FIRST + level] + np.arange(-(-len(low) // WIDE))
        low, high = cells[above, :, :WIDE].min(axis=2), cells[above, :, WIDE:].max(axis=2)
    return Tree(cells, held, plan, places)


def _arrange(shades: NDArray[np.float64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in rows of at most 32 that lie close together, -1 after them where a row is not full.

    All parts are halved at once, each along the direction in which a few of its points are most spread.
    """
    leaves = 1
    while leaves * LEAF < numbers.size:
        leaves *= 2
    rows = np.full((1, leaves * max(1, -(-numbers.size // leaves))), -1, np.int64)
    rows[0, : numbers.size] = numbers
    while len(rows) < leaves:
        half = rows.shape[1] // 2
        few = shades[rows[:, :: max(1, half // 8)]]
        few = few - few[:, :1]
        spread = (few * few).mean(axis=1) - few.mean(axis=1) ** 2
        values = shades[rows, spread.argmax(axis=1)[:, None]]
        values[rows < 0] = np.inf
        rows = np.take_along_axis(rows, np.argpartition(values, half, axis=1), axis=1).reshape(-1, half)
    return np.take_along_axis(rows, np.argsort(rows < 0, axis=1, kind="stable"), axis=1)


@inner
def apart(left: Any, a: int, right: Any, b: int) -> float:
    """Return the squared distance of row a of the left table and row b of the right one."""
    total = 0.0
    for j in range(left.shape[1]):
        difference = left[a, j] - right[b, j]
        total += difference * difference
    return total


@inner
def search(
    points: Any, shades: Any, q: int, table: Any, sizes: Any, cells: Any, numbers: Any, plan: Any, slack: float,
    factor: float, without: int, first: int, distances: Any, found: Any, stack: Any,
) -> None:  # fmt: skip
    """Fill the places from ``first`` on with the numbers of the rows of the table nearest to point q, in their order.

    The last of the distances is the limit to begin with: farther points are not found, and places that stay empty have
    the number NOBODY. The point ``without`` does not count. With a factor below 1 distances are weighted: rises of
    cost are compared, size/(size+1) of the squared distance, and the factor is a lower bound of that.
    """
    last = found.size - 1
    limit = distances[last]
    for i in range(first, last + 1):
        distances[i] = limit
        found[i] = NOBODY
    side = np.sqrt(limit / factor) + slack  # no point within the limit has a shade beyond this
    wide = 1.000000001 * side * side
    lanes = cells.shape[2] >> 1  # always 16, but loops of unknown length are compiled to wide registers
    level = plan[LEVELS] - 1
    block = plan[FIRST + level]
    down = True
    while True:
        row = level + 1
        if down:
            stack[row, WIDE] = block
            for i in range(lanes):
                stack[row, i] = 0.0
            for j in range(cells.shape[1]):
                centre = shades[q, j]
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
            if level == plan[LEVELS]:
                return
            continue
        stack[row, lane] = np.inf
        box = (np.int64(stack[row, WIDE]) - plan[FIRST + level]) * WIDE + lane
        down = level > 0
        if down:
            level -= 1
            block = plan[FIRST + level] + box
            continue
        for i in range(2 * lanes):
            stack[0, i] = 0.0
        for j in range(cells.shape[1]):
            centre = shades[q, j]
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
            place = last
            while place > first and (
                distances[place - 1] > score or (distances[place - 1] == score and found[place - 1] > number)
            ):
                distances[place] = distances[place - 1]
                found[place] = found[place - 1]
                place -= 1
            distances[place] = score
            found[place] = number
            limit = distances[last]
            side = np.sqrt(limit / factor) + slack
            wide = 1.000000001 * side * side


@inner
def remove(cells: Any, numbers: Any, plan: Any, places: Any, number: int) -> None:
    """Take a point out of the tree; a leaf that is empty loses its box, the other boxes stay."""
    leaf = places[number] >> 5
    slot = places[number] & 31
    last = numbers[leaf, LEAF] - 1
    other = numbers[leaf, last]
    block = plan[FIRST] + (leaf >> 4)
    for j in range(cells.shape[1]):
        cells[leaf, j, slot] = cells[leaf, j, last]
        if last == 0:
            cells[block, j, leaf & 15] = np.inf
            cells[block, j, WIDE + (leaf & 15)] = -np.inf
    numbers[leaf, slot] = other
    numbers[leaf, LEAF] = last
    places[other] = (leaf << 5) + slot
    places[number] = -1
