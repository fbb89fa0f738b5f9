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

from shoal.methods.distance.best_of import best_of
from shoal.methods.kernels.chance import shuffle
from shoal.methods.kernels.closest import closest, index_groups, overdue
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import distance, spread
from shoal.methods.kernels.growth import Rule
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.trade import (
    DISSOLVED,
    PASSED_ON,
    VISITED,
    dissolve,
    open_trade,
    put,
    replace_by_two,
    take,
    with_more_room,
)
from shoal.methods.refine import SMALL, in_order
from shoal.methods.registry import method
from shoal.progress import SILENT, Progress


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
    >>> from shoal.grouping import Grouping
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
    rule = Rule(1.0, False, False, SMALL * spread(points))
    for rounds in range(max_rounds):
        trade = open_trade(points, labels, k)
        while trade.tally[VISITED] < len(points):
            if trade.groups.used[0] + 2 * k + 2 > trade.groups.sizes.size:
                trade = with_more_room(trade)
            _visit(trade, index_groups(trade.groups), k, rule, state, 1000)
        labels = in_order(trade.labels)
        if not trade.tally[DISSOLVED] and not trade.tally[PASSED_ON]:
            progress.advance(len(points))
            return labels, rounds
    progress.advance(len(points))
    return labels, max_rounds


@compiled
def _visit(trade: Any, index: Any, k: int, rule: Any, state: Any, limit: int) -> None:
    """Go on with the records in their order, until so many groups are new that the index should be made again."""
    groups = trade.groups
    targets = np.empty(k, np.int64)
    joining = np.empty(k, np.int64)
    nobody = -np.ones(1, np.int64)
    for _ in range(limit):
        if (
            trade.tally[VISITED] >= trade.labels.size
            or overdue(index, groups)
            or groups.used[0] + 2 * k + 2 > groups.sizes.size
        ):
            break
        r = trade.tally[VISITED]
        trade.tally[VISITED] += 1
        g = trade.labels[r]
        changed = 0
        if groups.sizes[g] > k:
            take(trade, index, r, g)
            targets[0], _ = closest(index, groups, trade.points[r], nobody[0], rule.by_cost, 1.0, np.inf)
            put(trade, index, r, targets[0])
            if targets[0] != g:
                trade.tally[PASSED_ON] += 1
                changed = 1
        elif dissolve(trade, index, g, rule, targets, joining):
            trade.tally[DISSOLVED] += 1
            changed = k
        for i in range(changed):
            target = targets[i]
            if groups.sizes[target] >= 2 * k:
                parts = _two_groups(trade.points, trade.members[target, : groups.sizes[target]], k, state)
                replace_by_two(trade, index, target, parts)


@inner
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
            part = 1 if distance(point, centroids[1]) < distance(point, centroids[0]) else 0
            parts[i] = part
            sizes[part] += 1
            for j in range(d):
                totals[part, j] += point[j]
            changed |= part != own
        if not changed:
            break
    return parts
