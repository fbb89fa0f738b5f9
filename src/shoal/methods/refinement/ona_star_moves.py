"""Refinement: the rounds of ONA*, for any grouping; the loss never rises.

Thaeter 2021, Algorithms 15 to 17 (section 6.4); Thaeter & Reischuk 2021, Algorithm 3. A round dissolves groups of k
where their records fit better elsewhere, then passes records of larger groups on; groups of 2k are split. Cost O((n² +
n k²) d) per round at worst; bounds and a tree over the centroids make it far less. Use it after any method, it costs
little. With all moves, which is not in the papers, neighbouring groups also exchange records (see
``shoal.methods.refinement.sse_exchange``), and the rounds begin again until nothing pays any more.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.distance.mdav_plus import mdav_plus
from shoal.methods.kernels import small_mdav as plain
from shoal.methods.kernels import small_ona_star as plain_rounds
from shoal.methods.kernels.box_tree import no_stack
from shoal.methods.kernels.centroid_index import index_groups, overdue
from shoal.methods.kernels.centroids import Groups, spread, total_cost
from shoal.methods.kernels.group_moves import (
    DISSOLVED,
    LARGE,
    PASSED_ON,
    SPLIT,
    VISITED,
    Trade,
    make_room_for_news,
    open_trade,
    scratch_for,
    trade_some,
    with_more_room,
)
from shoal.methods.kernels.halve import halve
from shoal.methods.kernels.projected_points import Cloud, cloud_of

Place = Literal["end", "origin"]
Moves = Literal["ona-star", "all"]
SMALL = 1e-10


def refine(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    max_rounds: int = 30,
    place: Place = "end",
    closest: Literal["cost", "centroid"] = "cost",
    moves: Moves = "ona-star",
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Return a grouping that is at least as good, by the rounds of ONA*.

    Parameters
    ----------
    points
        n x d, standardised.
    labels
        The group of each record; groups are visited in the order of their labels. None may have fewer than k records.
    k
        The smallest group allowed.
    max_rounds
        After so many rounds the search stops even if it could go on.
    place
        Where the halves of a split group stand in the order of visits: at the ``end`` or at the place of their
        ``origin``.
    closest
        Which group a split by MDAV* regards as closest to a record, as for ``mdav-star``.
    moves
        ``ona-star``: those of the paper; ``all``: groups also exchange records with their five nearest groups.
    progress
        Hears which round it is.
    facts
        Receives ``rounds`` (those that changed something) and how many groups were dissolved, records passed on and
        groups split; with all moves also how many exchanges there were.

    Returns
    -------
    labels
        The group of each record; all groups have k to 2k-1 records.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [2.0], [8.0], [9.0]])
    >>> refine(points, np.array([0, 0, 1, 1, 1]), 2)
    array([0, 0, 0, 1, 1])
    """
    points = np.ascontiguousarray(points, np.float64)
    if max_rounds < 0:
        raise ParameterError(f"max_rounds={max_rounds} is not possible; choose 0 or more")
    if moves == "all":
        return _with_exchanges(points, labels, k, max_rounds, place, closest, progress, facts)
    Grouping(labels, k)  # refuses groups below k
    labels = split_large(points, in_order(np.asarray(labels)), k)
    if len(points) <= plain.FEW and place == "end":
        return _refine_plainly(points, labels, k, max_rounds, closest == "cost", facts)
    cloud = cloud_of(points)
    groups, trade = open_trade(cloud, labels, k)
    tally = trade.tally
    rounds = 0
    while rounds < max_rounds:
        changes = int(tally[DISSOLVED] + tally[PASSED_ON])
        progress.stage(f"refining, round {rounds + 1}", 2 * int((groups.sizes > 0).sum()))
        for dissolving in (True, False):
            groups, trade = _visit_all(cloud, groups, trade, k, dissolving, closest == "cost", place, progress)
        if tally[DISSOLVED] + tally[PASSED_ON] == changes:
            break
        rounds += 1
    if facts is not None:
        facts["rounds"] = rounds
        facts["dissolved groups"] = int(tally[DISSOLVED])
        facts["records passed on"] = int(tally[PASSED_ON])
        facts["split groups"] = int(tally[SPLIT])
    alive = _alive(groups, trade, place)
    number = np.empty(groups.sizes.size, np.int64)
    number[alive] = np.arange(alive.size)
    return number[trade.labels]


def _refine_plainly(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    by_cost: bool,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    """Refine a small table by loops that compile quickly; the answer is the same."""
    slots = plain_rounds.open_slots(points, labels, k)
    rounds = 0
    while rounds < max_rounds:
        changes = int(slots.tally[: plain_rounds.SPLIT].sum())
        plain_rounds.plain_round(points, slots, k, by_cost, SMALL * spread(points))
        if slots.tally[: plain_rounds.SPLIT].sum() == changes:
            break
        rounds += 1
    if facts is not None:
        facts["rounds"] = rounds
        facts["dissolved groups"] = int(slots.tally[plain_rounds.DISSOLVED])
        facts["records passed on"] = int(slots.tally[plain_rounds.PASSED_ON])
        facts["split groups"] = int(slots.tally[plain_rounds.SPLIT])
    refined = np.empty(len(points), np.int64)
    for number, slot in enumerate(plain_rounds.in_order_of_visits(slots)):
        refined[slots.members[slot, : slots.sizes[slot]]] = number
    return refined


def _with_exchanges(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    place: Place,
    closest: Literal["cost", "centroid"],
    progress: Progress,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    """Refine and exchange in turn until neither changes anything; every single change lowers the cost."""
    from shoal.methods.refinement.block_refinement import swap  # which itself refines

    total: dict[str, Any] = {}
    exchanges = 0
    while True:
        found: dict[str, Any] = {}
        labels = refine(
            points, labels, k, max_rounds=max_rounds, place=place, closest=closest, progress=progress, facts=found
        )
        total = {name: total.get(name, 0) + count for name, count in found.items()}
        if total["rounds"] >= max_rounds:
            break
        before = labels.copy()
        swapped = swap(points, labels, k)
        if not swapped:
            break
        if not total_cost(points, labels) < total_cost(points, before):  # gains that are rounding errors
            labels = before
            break
        exchanges += swapped
    if facts is not None:
        facts |= total
        facts["exchanges"] = exchanges
    return labels


def in_order(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labels as 0, 1, ... without changing their order.

    Examples
    --------
    >>> in_order(np.array([7, 7, 3]))
    array([1, 1, 0])
    """
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def split_large(points: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the labels with every group of 2k or more replaced by the groups of MDAV⁺, which are numbered last.

    Examples
    --------
    >>> split_large(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 0, 0]), 2)
    array([0, 0, 1, 1])
    """
    labels = labels.copy()
    sizes = np.bincount(labels)
    count = sizes.size
    for g in np.flatnonzero(sizes >= 2 * k):
        members = np.flatnonzero(labels == g)
        parts = mdav_plus(points[members], k)
        labels[members] = count + parts
        count += int(parts.max()) + 1
    return in_order(labels)


def _visit_all(
    cloud: Cloud,
    groups: Groups,
    trade: Trade,
    k: int,
    dissolving: bool,
    by_cost: bool,
    place: Place,
    progress: Progress,
) -> tuple[Groups, Trade]:
    """Run one of the two phases; return the state, which may have moved to arrays with more room."""
    index = index_groups(groups)
    visits = _alive(groups, trade, place)
    scratch, stack = scratch_for(k), no_stack()
    tolerance = SMALL * spread(cloud.points)
    nothing = np.empty(0, np.int64)
    trade.tally[VISITED] = 0
    while trade.tally[VISITED] < visits.size:
        before = int(trade.tally[VISITED])
        make_room_for_news(trade, k)
        trade_some(cloud, groups, trade, index, scratch, visits, -1, nothing, k, dissolving, tolerance, stack)
        for g in dict.fromkeys(scratch.large[: trade.tally[LARGE]].tolist()):
            if groups.used[0] + 2 > groups.sizes.size:
                groups, trade = with_more_room(groups, trade)
            if overdue(index, groups, soon=2):
                index = index_groups(groups)
            make_room_for_news(trade, k)
            inside = cloud.points[trade.members[g, : groups.sizes[g]]]
            parts = halve(inside, groups.centroids[g], k, by_cost, tolerance)
            trade_some(cloud, groups, trade, index, scratch, visits, g, parts, k, dissolving, tolerance, stack)
        progress.advance(int(trade.tally[VISITED]) - before)
    return groups, trade


def _alive(groups: Groups, trade: Trade, place: Place) -> NDArray[np.int64]:
    """Return the groups that have members, in the order of visits."""
    alive = np.flatnonzero(groups.sizes[: groups.used[0]])
    return alive if place == "end" else alive[np.argsort(trade.origin[alive], kind="stable")]
