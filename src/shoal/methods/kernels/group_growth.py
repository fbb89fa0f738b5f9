"""Growing groups around records in a fixed order: the common ground of MDAV⁺, MDAV* and their relatives.

Records wait in an order (farthest from the centre first); the first free one either gathers its nearest free neighbours
into a new group or joins a group that exists. What is left at the end joins the closest groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import Progress
from shoal.methods.kernels.box_tree import NOBODY, ROOM, apart, no_stack, plant, remove, search
from shoal.methods.kernels.centroid_index import follow, index_groups, overdue
from shoal.methods.kernels.centroids import Groups, add, centre, cost_of, cost_of_joining, no_groups, squared_distances
from shoal.methods.kernels.projected_points import Cloud, cloud_of

FREE = -1
NEVER = -1.0
"""The gain factor at which no group is ever extended."""


class Growth(NamedTuple):
    """The state of a method that grows groups.

    Parameters
    ----------
    orders
        The orders in which records lead, one a row; groups take their leaders from the rows in turn.
    done
        How far each order is done, and at the end how many records are free.
    labels
        The group of each record, -1 while it is free.
    """

    orders: NDArray[np.int64]
    done: NDArray[np.int64]
    labels: NDArray[np.int64]


class Rule(NamedTuple):
    """When a record joins a group instead of opening one: see ``grow_some``.

    The factor is 1 if the closest group is the one with the nearest centroid, k/(k+1) if it is the one whose cost rises
    least.
    """

    gamma: float
    with_neighbour: bool
    factor: float
    tolerance: float


def never_join() -> Rule:
    """Return the rule of methods whose groups all have k records."""
    return Rule(NEVER, False, 1.0, 0.0)


def farthest_first(points: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the records in the order of falling distance to the reference, ties to the lowest number.

    Examples
    --------
    >>> farthest_first(np.array([[1.0], [3.0], [-3.0]]), np.zeros(1))
    array([1, 2, 0])
    """
    return np.argsort(-squared_distances(points, reference), kind="stable")


def begin(points: NDArray[np.float64], k: int, *orders: NDArray[np.int64]) -> tuple[Cloud, Growth, Groups]:
    """Return the state before the first group; without orders the records farthest from the centre lead first."""
    n = len(points)
    cloud = cloud_of(points)
    rows = np.array(orders or [farthest_first(points, centre(points))])
    done = np.zeros(len(rows) + 1, np.int64)
    done[FREE] = n
    return cloud, Growth(rows, done, np.full(n, -1, np.int64)), no_groups(n // k, cloud)


def grow(cloud: Cloud, growth: Growth, groups: Groups, k: int, rule: Rule, least: int, progress: Progress) -> None:
    """Make groups until fewer than ``least`` records are free; trees are planted anew as they fit less and less."""
    index = index_groups(groups)
    found = np.empty((2, k), np.int64)
    host = np.empty(1, np.int64)
    far = np.empty(k)
    stack = no_stack()
    while growth.done[FREE] >= least:
        tree = plant(cloud.shades, np.flatnonzero(growth.labels < 0))
        stop = max(least, int(growth.done[FREE]) // 2)
        while growth.done[FREE] >= stop:
            before = int(growth.done[FREE])
            grow_some(cloud, tree, growth, groups, index, rule, k, stop, found[0], found[1], host, far, stack)
            if rule.gamma >= 0.0 and overdue(index, groups):
                index = index_groups(groups)
            progress.advance(before - int(growth.done[FREE]))


@compiled
def grow_some(
    cloud: Any, tree: Any, growth: Any, groups: Any, index: Any, rule: Any, k: int, stop: int, members: Any,
    others: Any, host: Any, far: Any, stack: Any,
) -> None:  # fmt: skip
    """Serve up to 200 records while ``stop`` are free and the index has room.

    A record joins a group if that is cheaper per record (thesis, Alg. 5 and 6): the rise of cost plus the cost of the
    group that could then be made around its nearest neighbour v, over k+1 records, against the cost of its own group
    over k; or, with the neighbour, if both together raise the cost of the group by less. Bounds spare most of the work.
    """
    points, shades, axes, slack = cloud
    cells, numbers, plan, places = tree
    orders, done, labels = growth
    sizes, sums, centroids, group_shades, used = groups
    index_cells, index_numbers, index_plan, index_places = index
    gamma, with_neighbour, factor, tolerance = rule
    one = np.int64(1)
    for _ in range(200):
        free = done[-1]
        if free < stop or (gamma >= 0.0 and used[0] >= index_plan[ROOM]):
            break
        turn = used[0] % orders.shape[0]
        r = orders[turn, done[turn]]
        if labels[r] >= 0:
            done[turn] += 1
            continue
        members[0] = r
        far[k - 1] = np.inf
        search(points, shades, r, points, sizes, cells, numbers, plan, slack, 1.0, r, one, far, members, stack)
        remove(cells, numbers, plan, places, r)
        g = used[0]
        joins = False
        if free > k and gamma >= 0.0:
            own = cost_of(points, members, one - 1, k) / k
            reach = gamma * own * (k + 1) * (k + 1) / k
            if with_neighbour:
                reach = max(reach, 2.0 * own * (k + 2) / k)
            far[0] = 1.000001 * reach
            host[0] = NOBODY
            if reach > 0.0:
                search(
                    points, shades, r, centroids, sizes, index_cells, index_numbers, index_plan, slack, factor, -one,
                    one - 1, far, host, stack,
                )  # fmt: skip
            if host[0] < g:
                size = sizes[host[0]]
                rise = size / (size + 1.0) * apart(points, r, centroids, host[0])
                if with_neighbour:
                    both = cost_of_joining(sizes, sums, centroids, host[0], points, members, one + 1)
                    joins = both / 2 + tolerance < own
                if not joins and rise / (k + 1) + tolerance < gamma * own:
                    v = members[1]
                    others[0] = v
                    far[k - 1] = np.inf
                    search(
                        points, shades, v, points, sizes, cells, numbers, plan, slack, 1.0, v, one, far, others, stack
                    )  # fmt: skip
                    joins = (rise + cost_of(points, others, one - 1, k)) / (k + 1) + tolerance < gamma * own
        if joins:
            g = host[0]
        else:
            used[0] = g + 1
        count = one if joins else k
        for i in range(count):
            add(sizes, sums, centroids, g, points, members[i], one)
            labels[members[i]] = g
            if i > 0:
                remove(cells, numbers, plan, places, members[i])
        done[-1] = free - count
        if gamma >= 0.0:
            follow(axes, centroids, group_shades, g, index_cells, index_numbers, index_plan, index_places)


def join_closest(points: NDArray[np.float64], groups: Groups, labels: NDArray[np.int64], by_cost: bool) -> None:
    """Put every record without a group into its closest one, in the order of their numbers; centroids follow."""
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
