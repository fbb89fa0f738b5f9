"""ONA: records move to the nearest centroid, groups of k dissolve, from a random start; best of several runs.

Thaeter 2021, Algorithm 14 (section 6.4); Soria-Comas, Domingo-Ferrer & Mulero 2019. A record in a group of more than k
moves without asking the cost, so the loss may rise and a run may not settle: it stops after 30 rounds. A group of 2k is
split by ONA itself (10 rounds; a third level would return its random start, but 2k to 3k-1 records never reach it).
Cost O(runs ζ (n² + n k²) d) time, O(n d) memory. Use it to compare with published figures; ona-star is better and not
random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.best_of import best_of
from shoal.methods.kernels.box_tree import NOBODY, apart, no_stack, search
from shoal.methods.kernels.centroid_index import follow, index_groups, overdue
from shoal.methods.kernels.centroids import add, cost_of, spread
from shoal.methods.kernels.group_moves import (
    DISSOLVED,
    LARGE,
    NEWS,
    PASSED_ON,
    VISITED,
    open_trade,
    rise_of,
    scratch_for,
    transfer,
    with_more_room,
)
from shoal.methods.kernels.projected_points import cloud_of
from shoal.methods.kernels.random_numbers import shuffle
from shoal.methods.refinement.ona_star_moves import SMALL, in_order
from shoal.methods.registry import method


@method(
    "ona",
    title="Records move to the nearest centroid from a random start; best of several runs",
    cost="runs rounds n² d",
    guarantee="groups have k to 2k-1 records",
    reference="Thaeter 2021, Alg. 14; Soria-Comas et al. 2019",
    when="to compare with published figures; a few thousand records",
    max_size=lambda k: 2 * k - 1,
)
def ona(
    points: NDArray[np.float64],
    k: int,
    *,
    runs: int = 10,
    max_rounds: int = 30,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by ONA.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    runs
        How many random starts are tried; the cheapest result is kept.
    max_rounds
        After so many rounds a run stops even if it could go on.
    seed
        Where the random numbers begin.
    progress
        Hears how far the work is.
    facts
        Receives the spread of the losses and of the rounds over all runs.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.grouping import Grouping
    >>> Grouping(ona(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2), k=2).labels
    array([0, 1, 0, 1, 0])
    """

    def run(chance: np.random.Generator, listener: Progress) -> tuple[NDArray[np.int64], int]:
        labels = random_start(len(points), k, chance)
        state = chance.integers(2**64, size=1, dtype=np.uint64)
        return local_search(points, labels, k, max_rounds, state, listener)

    return best_of("ona", run, points, runs, seed, progress, facts)


def random_start(n: int, k: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Return n // k groups of nearly equal size, at random.

    Examples
    --------
    >>> np.bincount(random_start(11, 3, np.random.default_rng(0)))
    array([4, 4, 3])
    """
    labels = np.empty(n, np.int64)
    labels[chance.permutation(n)] = np.arange(n) * (n // k) // n
    return labels


def local_search(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    state: NDArray[np.uint64],
    progress: Progress,
) -> tuple[NDArray[np.int64], int]:
    """Return the labels after rounds of ONA, and how many rounds changed something."""
    cloud = cloud_of(points)
    tolerance = SMALL * spread(points)
    scratch, stack = scratch_for(k), no_stack()
    nothing = np.empty(0, np.int64)
    for rounds in range(max_rounds):
        groups, trade = open_trade(cloud, labels, k)
        index = index_groups(groups)
        while trade.tally[VISITED] < len(points):
            _visit(cloud, groups, trade, index, scratch, -1, nothing, k, tolerance, stack)
            for g in dict.fromkeys(scratch.large[: trade.tally[LARGE]].tolist()):
                if groups.used[0] + 2 > groups.sizes.size:
                    groups, trade = with_more_room(groups, trade)
                if overdue(index, groups, soon=2):
                    index = index_groups(groups)
                parts = _two_groups(points, trade.members[g, : groups.sizes[g]], k, state)
                _visit(cloud, groups, trade, index, scratch, g, parts, k, tolerance, stack)
        labels = in_order(trade.labels)
        if not trade.tally[DISSOLVED] and not trade.tally[PASSED_ON]:
            progress.advance(len(points))
            return labels, rounds
    progress.advance(len(points))
    return labels, max_rounds


@compiled
def _visit(
    cloud: Any, groups: Any, trade: Any, index: Any, scratch: Any, split: int, parts: Any, k: int, tolerance: float,
    stack: Any,
) -> None:  # fmt: skip
    """Go on with up to 1000 records in their order, until groups have become too large; or split a group first.

    A record in a group of more than k leaves it, and goes to the nearest group. ``split`` is -1 or a group that is
    replaced by two; parts: 0 or 1 for each of its members.
    """
    points, shades, axes, slack = cloud
    labels, members, _, tally, news, _, spheres, _ = trade
    sizes, sums, centroids, group_shades, used = groups
    cells, numbers, plan, places = index
    targets, joining, far, host, large = scratch
    zero = np.int64(0)
    moved = sizes[split]
    for _ in range(1000):
        g = split
        if split >= 0:
            for i in range(moved):
                joining[i] = members[split, i]
        else:
            if tally[VISITED] >= labels.size:
                break
            r = tally[VISITED]
            tally[VISITED] += 1
            tally[LARGE] = 0
            g = labels[r]
            moved = zero
            alone = sizes[g] > k
            if alone:  # the own group competes without the record
                add(sizes, sums, centroids, g, points, r, zero - 1)
                follow(axes, centroids, group_shades, g, cells, numbers, plan, places)
            for i in range(k):
                joining[i] = r if alone else members[g, i]
            own = cost_of(points, joining, zero, k)
            budget = 2.000001 * own
            for i in range(1 if alone else k):
                far[0] = np.inf if alone else budget
                host[0] = NOBODY
                if far[0] > 0.0:
                    without = zero - 1 if alone else g
                    search(
                        points, shades, joining[i], centroids, sizes, cells, numbers, plan, slack, 1.0, without, zero,
                        far, host, stack,
                    )  # fmt: skip
                if host[0] == NOBODY:
                    break
                budget -= far[0]
                targets[i] = host[0]
                moved += 1
            if alone:
                add(sizes, sums, centroids, g, points, r, zero + 1)
                follow(axes, centroids, group_shades, g, cells, numbers, plan, places)
                moved = zero if targets[0] == g else moved
                tally[PASSED_ON] += moved
            else:
                if (
                    moved < k
                    or own <= rise_of(points, sizes, sums, centroids, members, g, targets, joining) + tolerance
                ):
                    moved = zero
                for i in range(k):
                    joining[i] = members[g, i]
                tally[DISSOLVED] += moved > 0
        for i in range(moved):
            tally[NEWS] = 0  # nobody listens
            target = used[0] + parts[i] if split >= 0 else targets[i]
            transfer(
                points, axes, labels, members, tally, news, spheres, sizes, sums, centroids, group_shades, cells,
                numbers, plan, places, joining[i], target,
            )  # fmt: skip
        if split >= 0:
            used[0] += 2
            break
        for i in range(moved):
            if sizes[targets[i]] >= 2 * k:
                large[tally[LARGE]] = targets[i]
                tally[LARGE] += 1
        if tally[LARGE] > 0:
            break


@compiled
def _two_groups(points: Any, members: Any, k: int, state: Any) -> Any:
    """Return ONA's two groups of 2k to 3k-1 records (0 or 1 for each member), after at most 10 rounds.

    Neither group can dissolve: to merge the two never lowers the cost.
    """
    m = members.size
    d = points.shape[1]
    parts = np.empty(m, np.int64)
    order = np.arange(m)
    shuffle(state, order)
    totals = np.zeros((2, d))
    centroids = np.empty((2, d))
    sizes = np.zeros(2, np.int64)
    for i in range(m):
        part = i * 2 // m
        parts[order[i]] = part
        sizes[part] += 1
        for j in range(d):
            totals[part, j] += points[members[order[i]], j]
    for _ in range(10):
        changed = False
        for i in range(m):
            own = parts[i]
            if sizes[own] == k:
                continue
            point = points[members[i]]
            sizes[own] -= 1
            for j in range(d):
                totals[own, j] -= point[j]
                centroids[0, j] = totals[0, j] / sizes[0]
                centroids[1, j] = totals[1, j] / sizes[1]
            first = apart(points, members[i], centroids, np.int64(0))
            part = 1 if apart(points, members[i], centroids, np.int64(1)) < first else 0
            parts[i] = part
            sizes[part] += 1
            for j in range(d):
                totals[part, j] += point[j]
            changed |= part != own
        if not changed:
            break
    return parts
