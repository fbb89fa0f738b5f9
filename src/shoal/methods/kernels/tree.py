"""A tree of blocks over records that come and go: nearest searches that touch few of them.

Records are cut in halves along the most spread attribute until few are left (a k-d tree); such a leaf holds a block of
points column by column. The boxes around 16 neighbouring leaves stand column by column in a block too, the boxes around
16 such blocks in the next, and so on. So distances to points and to boxes are computed for a whole block at a time with
wide registers. Boxes follow the points: they shrink when a point leaves and grow when it moves.

A bound that is computed from a box with the same operations in the same order as a distance can never contradict it,
rounding included, because every operation is monotone; so the answers are those of a scan over all points, ties to the
lowest number. Only the time depends on the shape of the tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.inner import inner

LEAF = 32
WIDE = 16
NOBODY = 2**62


class Tree(NamedTuple):
    """The arrays of a tree.

    Parameters
    ----------
    blocks
        The coordinates, leaves x d x room.
    numbers
        The number of each point, leaves x room.
    counts
        How many points each leaf has.
    low, high
        The boxes, blocks x d x 16: level by level from the leaves up; inf and -inf where there is no point. Box b of a
        level is the one around block b of the level below.
    starts
        The first block of each level.
    places
        For each number, leaf * room + position in the leaf; -1 if it is not in the tree.
    """

    blocks: NDArray[np.float64]
    numbers: NDArray[np.int64]
    counts: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    starts: NDArray[np.int64]
    places: NDArray[np.int64]


@compiled
def plant(points: Any, numbers: Any) -> Any:
    """Return a tree over the rows of ``points`` with these numbers."""
    m = numbers.size
    leaves = 1
    while leaves * LEAF < m:
        leaves *= 2
    order = np.empty(m, np.int64)
    for i in range(m):
        order[i] = numbers[i]
    bounds = np.empty(leaves + 1, np.int64)
    bounds[0] = 0
    bounds[leaves] = m
    step = leaves
    while step > 1:
        for first in range(0, leaves, step):
            middle = (bounds[first] + bounds[first + step]) // 2
            bounds[first + step // 2] = middle
            _split(points, order, bounds[first], middle, bounds[first + step])
        step //= 2
    return _fill(points, order, bounds)


@inner
def _split(points: Any, order: Any, start: int, middle: int, stop: int) -> None:
    """Move the records with the lower values of the most spread attribute before ``middle``."""
    best = 0
    widest = -1.0
    for j in range(points.shape[1]):
        shift = points[order[start], j]
        total = 0.0
        squares = 0.0
        for i in range(start, stop):
            value = points[order[i], j] - shift
            total += value
            squares += value * value
        spread = squares - total * total / (stop - start)
        if spread > widest:
            widest = spread
            best = j
    left = start
    right = stop - 1
    while left < right:
        pivot = points[order[(left + right) // 2], best]
        i = left
        j = right
        while i <= j:
            while points[order[i], best] < pivot:
                i += 1
            while points[order[j], best] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            break


@inner
def _fill(points: Any, order: Any, bounds: Any) -> Any:
    """Copy the records into the leaves and draw the boxes."""
    leaves = bounds.size - 1
    d = points.shape[1]
    room = 1
    for leaf in range(leaves):
        room = max(room, bounds[leaf + 1] - bounds[leaf])
    starts = np.empty(16, np.int64)
    levels = 0
    total = 0
    boxes = leaves
    while levels == 0 or boxes > 1:
        starts[levels] = total
        boxes = (boxes + WIDE - 1) // WIDE
        total += boxes
        levels += 1
    tree = Tree(
        np.empty((leaves, d, room)),
        np.empty((leaves, room), np.int64),
        np.empty(leaves, np.int64),
        np.empty((total, d, WIDE)),
        np.empty((total, d, WIDE)),
        starts[:levels],
        np.empty(points.shape[0], np.int64),
    )
    for i in range(points.shape[0]):
        tree.places[i] = -1
    for block in range(total):
        for j in range(d):
            for i in range(WIDE):
                tree.low[block, j, i] = np.inf
                tree.high[block, j, i] = -np.inf
    for leaf in range(leaves):
        for i in range(bounds[leaf + 1] - bounds[leaf]):
            number = order[bounds[leaf] + i]
            tree.numbers[leaf, i] = number
            tree.places[number] = leaf * room + i
            for j in range(d):
                tree.blocks[leaf, j, i] = points[number, j]
        tree.counts[leaf] = bounds[leaf + 1] - bounds[leaf]
        _draw_leaf_box(tree, leaf)
    for level in range(1, levels):
        for box in range(starts[level] - starts[level - 1]):
            _draw_box(tree, level, box)
    return tree


@inner
def _draw_leaf_box(tree: Any, leaf: int) -> bool:
    """Draw the box of a leaf from its points; say whether it changed."""
    block = leaf // WIDE
    lane = leaf % WIDE
    changed = False
    for j in range(tree.low.shape[1]):
        low = np.inf
        high = -np.inf
        for i in range(tree.counts[leaf]):
            value = tree.blocks[leaf, j, i]
            low = min(low, value)
            high = max(high, value)
        changed |= tree.low[block, j, lane] != low or tree.high[block, j, lane] != high
        tree.low[block, j, lane] = low
        tree.high[block, j, lane] = high
    return changed


@inner
def _draw_box(tree: Any, level: int, box: int) -> bool:
    """Draw a box of a level around the block of boxes below it; say whether it changed."""
    block = tree.starts[level] + box // WIDE
    lane = box % WIDE
    below = tree.starts[level - 1] + box
    changed = False
    for j in range(tree.low.shape[1]):
        low = np.inf
        high = -np.inf
        for i in range(WIDE):
            low = min(low, tree.low[below, j, i])
            high = max(high, tree.high[below, j, i])
        changed |= tree.low[block, j, lane] != low or tree.high[block, j, lane] != high
        tree.low[block, j, lane] = low
        tree.high[block, j, lane] = high
    return changed


@inner
def remove(tree: Any, number: int) -> None:
    """Take a point out of the tree."""
    room = tree.numbers.shape[1]
    leaf = tree.places[number] // room
    slot = tree.places[number] % room
    last = tree.counts[leaf] - 1
    touches = False
    for j in range(tree.low.shape[1]):
        value = tree.blocks[leaf, j, slot]
        touches |= value == tree.low[leaf // WIDE, j, leaf % WIDE] or value == tree.high[leaf // WIDE, j, leaf % WIDE]
        tree.blocks[leaf, j, slot] = tree.blocks[leaf, j, last]
    tree.numbers[leaf, slot] = tree.numbers[leaf, last]
    tree.places[tree.numbers[leaf, slot]] = leaf * room + slot
    tree.places[number] = -1
    tree.counts[leaf] = last
    changed = touches and _draw_leaf_box(tree, leaf)
    box = leaf
    for level in range(1, tree.starts.size):
        if not changed:
            break
        box //= WIDE
        changed = _draw_box(tree, level, box)


@inner
def move(tree: Any, number: int, point: Any) -> None:
    """Give a point of the tree new coordinates; boxes only grow."""
    room = tree.numbers.shape[1]
    leaf = tree.places[number] // room
    slot = tree.places[number] % room
    for j in range(point.size):
        tree.blocks[leaf, j, slot] = point[j]
    box = leaf
    for level in range(tree.starts.size):
        block = tree.starts[level] + box // WIDE
        lane = box % WIDE
        outside = False
        for j in range(point.size):
            if point[j] < tree.low[block, j, lane]:
                tree.low[block, j, lane] = point[j]
                outside = True
            if point[j] > tree.high[block, j, lane]:
                tree.high[block, j, lane] = point[j]
                outside = True
        if not outside:
            break
        box //= WIDE


@inner
def box_distances(tree: Any, block: int, query: Any, out: Any) -> None:
    """Write the squared distances of the boxes of a block to the query into ``out``; inf where there is no point."""
    for i in range(WIDE):
        out[i] = 0.0
    for j in range(query.size):
        centre = query[j]
        low = tree.low[block, j]
        high = tree.high[block, j]
        for i in range(WIDE):
            gap = max(low[i] - centre, centre - high[i], 0.0)
            out[i] += gap * gap


@inner
def distances_within(block: Any, count: int, query: Any, limit: float, out: Any) -> bool:
    """As ``block_distances``, but give up and return False as soon as all of them exceed the limit."""
    for i in range(count):
        out[i] = 0.0
    for start in range(0, query.size, 6):
        for j in range(start, min(start + 6, query.size)):
            centre = query[j]
            row = block[j]
            for i in range(count):
                difference = row[i] - centre
                out[i] += difference * difference
        near = False
        for i in range(count):
            near |= out[i] <= limit
        if not near:
            return False
    return True


@inner
def lowest(values: Any) -> int:
    """Return the place of the lowest of the bounds of a block."""
    best = 0
    for i in range(1, WIDE):
        if values[i] < values[best]:
            best = i
    return best


@inner
def block_distances(block: Any, count: int, query: Any, out: Any) -> None:
    """Write squared distances of the first points of a block to the query into ``out``."""
    for i in range(count):
        out[i] = 0.0
    for j in range(query.size):
        centre = query[j]
        row = block[j]
        for i in range(count):
            difference = row[i] - centre
            out[i] += difference * difference


@inner
def nearest(tree: Any, query: Any, first: int, distances: Any, numbers: Any) -> None:
    """Fill the numbers of the points nearest to the query and their squared distances, in ascending order.

    Point ``first`` comes before all others at its distance. The last value of ``distances`` is the limit: farther
    points are not found, and places that stay empty have number -1.
    """
    size = distances.size
    last = size - 1
    ranks = np.empty(size, np.int64)
    for i in range(size):
        distances[i] = distances[last]
        ranks[i] = NOBODY
        numbers[i] = -1
    out = np.empty(tree.numbers.shape[1])
    levels = tree.starts.size
    bounds = np.empty((levels, WIDE))
    blocks = np.zeros(levels, np.int64)  # the block of each level that is being searched
    level = levels - 1
    box_distances(tree, tree.starts[level], query, bounds[level])
    while level < levels:
        lane = lowest(bounds[level])
        if bounds[level, lane] > distances[last] or bounds[level, lane] == np.inf:
            level += 1
            continue
        bounds[level, lane] = np.inf
        box = blocks[level] * WIDE + lane
        if level > 0:
            level -= 1
            blocks[level] = box
            box_distances(tree, tree.starts[level] + box, query, bounds[level])
            continue
        if not distances_within(tree.blocks[box], tree.counts[box], query, distances[last], out):
            continue
        for i in range(tree.counts[box]):
            if out[i] <= distances[last]:
                number = tree.numbers[box, i]
                rank = -1 if number == first else number
                if out[i] < distances[last] or rank < ranks[last]:
                    insert(distances, ranks, numbers, out[i], rank, number)


@inner
def insert(distances: Any, ranks: Any, numbers: Any, distance: float, rank: int, number: int) -> None:
    """Put a point in its place in the ascending list; the last one falls out."""
    i = distances.size - 1
    while i > 0 and (distances[i - 1] > distance or (distances[i - 1] == distance and ranks[i - 1] > rank)):
        distances[i] = distances[i - 1]
        ranks[i] = ranks[i - 1]
        numbers[i] = numbers[i - 1]
        i -= 1
    distances[i] = distance
    ranks[i] = rank
    numbers[i] = number
