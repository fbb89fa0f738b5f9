"""Growing groups around records in a fixed order, as MDAV⁺, MDAV* and related methods do.

Records are visited in an order (farthest from the centre first); the first free one either forms a new group with its
nearest free neighbours or joins an existing group. The records left at the end join the closest groups.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels import small_mdav
from shoal.methods.kernels.box_tree import CAPACITY, NOT_FOUND, build_tree, remove, search, search_stack
from shoal.methods.kernels.centroid_index import index_groups, needs_rebuilding, update_index
from shoal.methods.kernels.centroids import (
    Groups,
    add,
    cost_of_joining,
    empty_groups,
    mean_of_records,
    squared_distances,
)
from shoal.methods.kernels.projected_points import ProjectedPoints, project
from shoal.methods.kernels.small_mdav import cost_of, squared_distance

FREE = -1
Closest = Literal["centroid", "cost"]
"""Which group is closest to a record: the one with the nearest centroid, or the one whose cost rises least."""


class Growth(NamedTuple):
    """The state of a method that grows groups.

    Parameters
    ----------
    orders
        The orders in which records become centres of groups, one in each row; the rows are used in turn.
    done
        How many records of each order are done, and as the last element how many records are free.
    labels
        The group of each record, -1 while it is free.
    """

    orders: NDArray[np.int64]
    done: NDArray[np.int64]
    labels: NDArray[np.int64]


class Rule(NamedTuple):
    """The condition under which a record joins a group instead of forming one: see ``grow_some``.

    The factor is 1 if the closest group is the one with the nearest centroid, k/(k+1) if it is the one whose cost rises
    least.
    """

    gamma: float
    with_neighbour: bool
    factor: float
    tolerance: float


def never_join() -> Rule:
    """Return the rule of methods whose groups all have k records."""
    return Rule(small_mdav.NO_EXTENSION, False, 1.0, 0.0)


def farthest_first(points: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the records in the order of decreasing distance to the reference, ties to the lowest number.

    Examples
    --------
    >>> farthest_first(np.array([[1.0], [3.0], [-3.0]]), np.zeros(1))
    array([1, 2, 0])
    """
    return np.argsort(-squared_distances(points, reference), kind="stable")


def begin(points: NDArray[np.float64], k: int, *orders: NDArray[np.int64]) -> tuple[ProjectedPoints, Growth, Groups]:
    """Return the state before the first group; without orders the records farthest from the centre come first."""
    n = len(points)
    projected = project(points)
    rows = np.array(orders or [farthest_first(points, mean_of_records(points))])
    done = np.zeros(len(rows) + 1, np.int64)
    done[FREE] = n
    return projected, Growth(rows, done, np.full(n, -1, np.int64)), empty_groups(n // k, projected)


def grow(
    projected: ProjectedPoints, growth: Growth, groups: Groups, k: int, rule: Rule, least: int, progress: Progress
) -> None:
    """Make groups until fewer than ``least`` records are free; trees are built anew as records leave them."""
    index = index_groups(groups)
    found = np.empty((2, k), np.int64)
    target = np.empty(1, np.int64)
    far = np.empty(k)
    stack = search_stack()
    while growth.done[FREE] >= least:
        tree = build_tree(projected.projections, np.flatnonzero(growth.labels < 0))
        stop = max(least, int(growth.done[FREE]) // 2)
        while growth.done[FREE] >= stop:
            before = int(growth.done[FREE])
            grow_some(projected, tree, growth, groups, index, rule, k, stop, found[0], found[1], target, far, stack)
            if rule.gamma >= 0.0 and needs_rebuilding(index, groups):
                index = index_groups(groups)
            progress.advance(before - int(growth.done[FREE]))


@compiled
def grow_some(
    projected: Any, tree: Any, growth: Any, groups: Any, index: Any, rule: Any, k: int, stop: int, members: Any,
    others: Any, target: Any, far: Any, stack: Any,
) -> None:  # fmt: skip
    """Visit up to 200 records while ``stop`` are free and the index has capacity.

    A record joins a group if that is cheaper per record (Thaeter 2021, Alg. 5 and 6): the rise of cost plus the cost of
    the
    group that could then be made around its nearest neighbour v, over k+1 records, against the cost of its own group
    over k; or, with the neighbour, if both together raise the cost of the group by less. Bounds avoid most of the work.
    """
    points, projections, axes, margin = projected
    cells, numbers, layout, positions = tree
    orders, done, labels = growth
    sizes, sums, centroids, group_projections, used = groups
    index_cells, index_numbers, index_layout, index_positions = index
    gamma, with_neighbour, factor, tolerance = rule
    one = np.int64(1)
    for _ in range(200):
        free = done[-1]
        if free < stop or (gamma >= 0.0 and used[0] >= index_layout[CAPACITY]):
            break
        turn = used[0] % orders.shape[0]
        r = orders[turn, done[turn]]
        if labels[r] >= 0:
            done[turn] += 1
            continue
        members[0] = r
        far[k - 1] = np.inf
        search(points, projections, r, points, sizes, cells, numbers, layout, margin, 1.0, r, one, far, members, stack)
        remove(cells, numbers, layout, positions, r)
        g = used[0]
        joins = False
        if free > k and gamma >= 0.0:
            own = cost_of(points, members, k) / k
            reach = gamma * own * (k + 1) * (k + 1) / k
            if with_neighbour:
                reach = max(reach, 2.0 * own * (k + 2) / k)
            far[0] = 1.000001 * reach
            target[0] = NOT_FOUND
            if reach > 0.0:
                search(
                    points, projections, r, centroids, sizes, index_cells, index_numbers, index_layout, margin, factor,
                    -one, one - 1, far, target, stack,
                )  # fmt: skip
            if target[0] < g:
                size = sizes[target[0]]
                rise = size / (size + 1.0) * squared_distance(points[r], centroids[target[0]])
                if with_neighbour:
                    both = cost_of_joining(sizes, sums, centroids, target[0], points, members, one + 1)
                    joins = both / 2 + tolerance < own
                if not joins and rise / (k + 1) + tolerance < gamma * own:
                    v = members[1]
                    others[0] = v
                    far[k - 1] = np.inf
                    search(
                        points, projections, v, points, sizes, cells, numbers, layout, margin, 1.0, v, one, far, others,
                        stack
                    )  # fmt: skip
                    joins = (rise + cost_of(points, others, k)) / (k + 1) + tolerance < gamma * own
        if joins:
            g = target[0]
        else:
            used[0] = g + 1
        count = one if joins else k
        for i in range(count):
            add(sizes, sums, centroids, g, points, members[i], one)
            labels[members[i]] = g
            if i > 0:
                remove(cells, numbers, layout, positions, members[i])
        done[-1] = free - count
        if gamma >= 0.0:
            update_index(
                axes, centroids, group_projections, g, index_cells, index_numbers, index_layout, index_positions
            )


def join_closest(points: NDArray[np.float64], groups: Groups, labels: NDArray[np.int64], by_cost: bool) -> None:
    """Assign every record without a group to its closest one, in the order of the records; centroids are updated."""
    count = int(groups.used[0])
    sizes, sums, centroids = groups.sizes[:count], groups.sums[:count], groups.centroids[:count]
    for r in np.flatnonzero(labels < 0):
        scores = squared_distances(centroids, points[r])
        g = int(np.argmin(scores * (sizes / (sizes + 1.0)) if by_cost else scores))
        labels[r] = g
        sizes[g] += 1
        total, error = sums[g].copy()
        high = total + points[r]
        part = high - total
        low = (total - (high - part)) + (points[r] - part) + error
        sums[g] = high + low, low - ((high + low) - high)
        centroids[g] = sums[g, 0] / sizes[g]


def fixed_size_groups(points: NDArray[np.float64], k: int, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Return the groups of MDAV⁺, numbered in the order in which they are made.

    Examples
    --------
    >>> fixed_size_groups(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    if len(points) <= small_mdav.SMALL_TABLE_RECORDS:
        labels = small_mdav.mdav_star_of_small_table(points, k, small_mdav.NO_EXTENSION, False, 0.0)
        progress.advance(len(points))
        return labels
    projected, growth, groups = begin(points, k)
    grow(projected, growth, groups, k, never_join(), k, progress)
    join_closest(points, groups, growth.labels, by_cost=False)
    return growth.labels
