"""A tree over owners (persons, households): cut in two where the squared error of their constant columns falls most.

Owners are sorted once along every coordinate; a node is a range of positions in all of these orders, and a cut keeps
both sides in order, so that a level costs O(p d²) for p owners and d coordinates. The gain of a cut is
|P|² (1/W₁ + 1/W₂), with P the weighted sum of one side relative to the mean of the node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

LEVELS = 48
"""The most cuts between the root and a leaf."""


class OwnerTree(NamedTuple):
    """A tree over owners.

    Parameters
    ----------
    order
        The owners, such that every node is a range of them.
    starts, stops
        The range of each node; node 0 is the root, and children have larger numbers than their parent.
    children
        The number of the first child of each node, whose sibling has the next number; -1 for a leaf.
    depths
        The number of cuts above each node.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    children: NDArray[np.int64]
    depths: NDArray[np.int64]


def cut_owners(
    constant: NDArray[np.float64],
    means: NDArray[np.float64],
    weights: NDArray[np.float64],
    counted: tuple[NDArray[np.int64], NDArray[np.int64]],
    k: int,
    largest: int,
) -> OwnerTree:
    """Return the tree.

    Parameters
    ----------
    constant
        The coordinates of each owner's constant columns.
    means
        The means of its varying columns, along which nodes are cut whose constant columns are equal.
    weights
        The weight of each owner.
    counted
        The units that k counts: the starts of each owner in a list, and the list of its units.
    k
        Minimum number of units on each side of a cut.
    largest
        Nodes with more owners than this are always cut, if need be along ``means`` or in halves.

    Returns
    -------
    tree
        Every node has at least k units.
    """
    owners = len(constant)
    points = np.ascontiguousarray(np.column_stack([constant, means]))
    starts, units = counted
    orders = np.empty((max(points.shape[1], 1), owners), np.int64)
    orders[0] = np.arange(owners)
    for j in range(points.shape[1]):
        orders[j] = np.argsort(points[:, j], kind="stable")
    capacity = 2 * owners + 1
    nodes = np.zeros((capacity, 4), np.int64)
    nodes[:, 2] = -1
    many = int(units.max()) + 1
    count = int(
        grow(
            points, constant.shape[1], weights, starts, units, k, largest, orders, nodes, np.zeros(many, np.int64),
            np.empty(owners + 1, np.int64), np.empty((2, points.shape[1])), np.empty(owners, np.int64),
        )
    )  # fmt: skip
    nodes = nodes[:count]
    return OwnerTree(orders[0], nodes[:, 0].copy(), nodes[:, 1].copy(), nodes[:, 2].copy(), nodes[:, 3].copy())


@inner
def count_sides(row: Any, starts: Any, units: Any, first: int, last: int, stamps: Any, behind: Any) -> None:
    """Write for each position of a range how many units its owners from there on have."""
    for i in range(first, last):
        for c in range(starts[row[i]], starts[row[i] + 1]):
            stamps[units[c]] = 0
    seen = 0
    for i in range(last - 1, first - 1, -1):
        for c in range(starts[row[i]], starts[row[i] + 1]):
            if stamps[units[c]] == 0:
                seen += 1
                stamps[units[c]] = 1
        behind[i] = seen
    for i in range(first, last):
        for c in range(starts[row[i]], starts[row[i] + 1]):
            stamps[units[c]] = 0


@inner
def find_cut(
    points: Any, columns: Any, weights: Any, starts: Any, units: Any, k: int, share: int, orders: Any, first: int,
    last: int, stamps: Any, behind: Any, sums: Any,
) -> Any:  # fmt: skip
    """Return the coordinate and the position of the cut with the largest gain in these columns, or -1.

    A cut lies between two different values and leaves k units and ``share`` owners on both sides.
    """
    low, high = columns
    best = 0.0
    where: Any = np.int64(-1)
    axis: Any = np.int64(-1)
    total = 0.0
    for j in range(low, high):
        sums[1, j] = 0.0
    origin = orders[0, first]
    for i in range(first, last):
        p = orders[0, i]
        total += weights[p]
        for j in range(low, high):
            sums[1, j] += weights[p] * (points[p, j] - points[origin, j])
    for j in range(low, high):
        sums[1, j] = points[origin, j] + sums[1, j] / total
    for axis_tried in range(low, high):
        row = orders[axis_tried]
        if points[row[first], axis_tried] == points[row[last - 1], axis_tried]:
            continue
        count_sides(row, starts, units, first, last, stamps, behind)
        for j in range(low, high):
            sums[0, j] = 0.0
        seen = 0
        weight = 0.0
        for i in range(first, last - share):
            p = row[i]
            for c in range(starts[p], starts[p + 1]):
                if stamps[units[c]] == 0:
                    seen += 1
                    stamps[units[c]] = 1
            weight += weights[p]
            square = 0.0
            for j in range(low, high):
                sums[0, j] += weights[p] * (points[p, j] - sums[1, j])
                square += sums[0, j] * sums[0, j]
            if (
                i + 1 - first >= share
                and seen >= k
                and behind[i + 1] >= k
                and points[p, axis_tried] < points[row[i + 1], axis_tried]
            ):
                gain = square * (1.0 / weight + 1.0 / (total - weight))
                if gain > best:
                    best = gain
                    where = i + 1
                    axis = axis_tried
    return axis, where


@compiled
def grow(
    points: Any, constants: int, weights: Any, starts: Any, units: Any, k: int, largest: int, orders: Any, nodes: Any,
    stamps: Any, behind: Any, sums: Any, moved: Any,
) -> int:  # fmt: skip
    """Cut nodes until no cut is allowed; write start, stop, first child and depth of each; return their number."""
    zero = np.int64(0)
    d = points.shape[1]
    nodes[0, 1] = orders.shape[1]
    count = 1
    node = 0
    while node < count:
        first, last = nodes[node, 0], nodes[node, 1]
        size = last - first
        axis, where = np.int64(-1), np.int64(-1)
        if size >= 2 and nodes[node, 3] < LEVELS:
            share = max(1, size // 10)
            axis, where = find_cut(
                points, (zero, constants), weights, starts, units, k, share, orders, first, last, stamps, behind, sums
            )  # fmt: skip
            if where < 0 and share > 1:
                axis, where = find_cut(
                    points, (zero, constants), weights, starts, units, k, zero + 1, orders, first, last, stamps, behind,
                    sums,
                )  # fmt: skip
        if where < 0 and size > largest:
            axis, where = find_cut(
                points, (constants, d), weights, starts, units, k, zero + 1, orders, first, last, stamps, behind, sums
            )  # fmt: skip
            if where < 0:
                count_sides(orders[0], starts, units, first, last, stamps, behind)
                middle = (first + last) // 2
                if behind[middle] >= k:
                    seen = 0
                    for i in range(first, middle):
                        for c in range(starts[orders[0, i]], starts[orders[0, i] + 1]):
                            if stamps[units[c]] == 0:
                                seen += 1
                                stamps[units[c]] = 1
                    if seen >= k:
                        axis = zero
                        where = middle
        if where >= 0:
            for i in range(first, last):
                moved[orders[axis, i]] = 0 if i < where else 1
            for j in range(orders.shape[0]):
                if j == axis:
                    continue
                left, right = first, zero
                for i in range(first, last):
                    p = orders[j, i]
                    if moved[p] == 0:
                        orders[j, left] = p
                        left += 1
                    else:
                        behind[right] = p
                        right += 1
                for i in range(right):
                    orders[j, left + i] = behind[i]
            nodes[node, 2] = count
            for side in range(2):
                nodes[count, 0] = first if side == 0 else where
                nodes[count, 1] = where if side == 0 else last
                nodes[count, 3] = nodes[node, 3] + 1
                count += 1
        node += 1
    return count
