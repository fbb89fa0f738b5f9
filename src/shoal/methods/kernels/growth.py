"""Growing groups around records in a fixed order: the common ground of MDAV⁺, MDAV* and their relatives.

Records wait in an order (farthest from the centre first); the first free one either gathers its nearest free neighbours
into a new group or joins a group that exists. What is left at the end joins the closest groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.closest import closest, index_groups, moved, overdue
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import (
    Groups,
    add,
    centre,
    cost_of,
    cost_of_joining,
    distance,
    no_groups,
    open_group,
    squared_distances,
)
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.tree import nearest, plant, remove
from shoal.progress import Progress


class Growth(NamedTuple):
    """Records, the order in which they lead, how far it is done (place in the order, free records), groups, labels."""

    points: NDArray[np.float64]
    order: NDArray[np.int64]
    done: NDArray[np.int64]
    groups: Groups
    labels: NDArray[np.int64]


class Rule(NamedTuple):
    """When a record joins a group instead of opening one: see ``host``."""

    gamma: float
    with_neighbour: bool
    by_cost: bool
    tolerance: float


def farthest_first(points: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the records in the order of falling distance to the reference, ties to the lowest number.

    Examples
    --------
    >>> farthest_first(np.array([[1.0], [3.0], [-3.0]]), np.zeros(1))
    array([1, 2, 0])
    """
    return np.argsort(-squared_distances(points, reference), kind="stable")


def from_the_centre(points: NDArray[np.float64], k: int) -> Growth:
    """Return the state before the first group, with the records farthest from the centre first."""
    n, d = points.shape
    order = farthest_first(points, centre(points))
    return Growth(points, order, np.array([0, n]), no_groups(n // k, d), np.full(n, -1, np.int64))


def grow(growth: Growth, k: int, rounds: Any, arguments: tuple[Any, ...], progress: Progress) -> None:
    """Run ``rounds`` until fewer than k records are free, planting trees anew as the old ones fit less and less."""
    index = index_groups(growth.groups)
    while growth.done[1] >= k:
        tree = plant(growth.points, np.flatnonzero(growth.labels < 0))
        stop = max(k, int(growth.done[1]) // 2)
        while growth.done[1] >= stop:
            before = int(growth.done[1])
            if rounds(growth, tree, index, k, *arguments, stop, 200):
                index = index_groups(growth.groups)
            progress.advance(before - int(growth.done[1]))


@inner
def leader(growth: Any, tree: Any) -> int:
    """Return the first free record of the order."""
    while tree.places[growth.order[growth.done[0]]] < 0:
        growth.done[0] += 1
    return growth.order[growth.done[0]]


@inner
def gather(growth: Any, tree: Any, members: Any) -> int:
    """Make a group of these records, of which the first has left the tree already."""
    g = open_group(growth.groups, growth.points, members)
    growth.labels[members[0]] = g
    for i in range(1, members.size):
        growth.labels[members[i]] = g
        remove(tree, members[i])
    growth.done[1] -= members.size
    return g


@compiled
def plus_rounds(growth: Any, tree: Any, index: Any, k: int, stop: int, limit: int) -> bool:
    """Make up to ``limit`` groups of k while ``stop`` records are free (MDAV⁺)."""
    distances = np.empty(k)
    members = np.empty(k, np.int64)
    for _ in range(limit):
        if growth.done[1] < stop:
            break
        r = leader(growth, tree)
        distances[k - 1] = np.inf
        nearest(tree, growth.points[r], r, distances, members)
        remove(tree, r)
        gather(growth, tree, members)
    return False


@compiled
def star_rounds(growth: Any, tree: Any, index: Any, k: int, rule: Any, stop: int, limit: int) -> bool:
    """Serve up to ``limit`` records while ``stop`` are free (MDAV*); say whether the groups need a new index."""
    points = growth.points
    groups = growth.groups
    distances = np.empty(k)
    members = np.empty(k, np.int64)
    for _ in range(limit):
        if growth.done[1] < stop:
            break
        r = leader(growth, tree)
        distances[k - 1] = np.inf
        nearest(tree, points[r], r, distances, members)
        remove(tree, r)
        g = host(growth, tree, index, k, rule, r, members, distances) if growth.done[1] > k else -1
        if g >= 0:
            add(groups, g, points[r])
            moved(index, groups, g)
            growth.labels[r] = g
            growth.done[1] -= 1
        else:
            gather(growth, tree, members)
            if overdue(index, groups):
                return True
    return False


@inner
def host(growth: Any, tree: Any, index: Any, k: int, rule: Any, r: int, members: Any, distances: Any) -> int:
    """Return the group that record r should join, -1 if it should open one with these k members.

    Joining wins if it is cheaper per record (thesis, Alg. 5 and 6): the rise of cost plus the cost of the group that
    could then be made around the nearest neighbour v, over k+1 records, against the cost of r's own group over k; or,
    with the neighbour, if r and v together raise the cost of the group by less. Bounds spare most of the work.
    """
    points = growth.points
    groups = growth.groups
    own = cost_of(points, members) / k
    reach = rule.gamma * own * (k + 1) * (k + 1) / k
    if rule.with_neighbour:
        reach = max(reach, 2.0 * own * (k + 2) / k)
    if reach <= 0.0:
        return -1
    factor = k / (k + 1.0) if rule.by_cost else 1.0
    g, _ = closest(index, groups, points[r], growth.labels[r], rule.by_cost, factor, 1.000001 * reach)
    if g < 0:
        return -1
    size = groups.sizes[g]
    rise = size / (size + 1.0) * distance(points[r], groups.centroids[g])
    if rule.with_neighbour and cost_of_joining(groups, g, points, members[:2]) / 2 + rule.tolerance < own:
        return g
    if rise / (k + 1) + rule.tolerance >= rule.gamma * own:
        return -1
    others = np.empty(k, np.int64)
    distances[k - 1] = np.inf
    v = members[1]
    nearest(tree, points[v], v, distances, others)
    return g if (rise + cost_of(points, others)) / (k + 1) + rule.tolerance < rule.gamma * own else -1


@compiled
def join_closest(growth: Any, index: Any, by_cost: bool, factor: float) -> None:
    """Put every record without a group into its closest one, in the order of their numbers; centroids follow."""
    groups = growth.groups
    for r in range(growth.labels.size):
        if growth.labels[r] < 0:
            g, _ = closest(index, groups, growth.points[r], growth.labels[r], by_cost, factor, np.inf)
            growth.labels[r] = g
            add(groups, g, growth.points[r])
            moved(index, groups, g)
