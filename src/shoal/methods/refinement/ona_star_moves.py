"""Refinement: the rounds of ONA*, for any grouping; the loss never rises.

Thaeter 2021, Algorithms 15 to 17 (section 6.4); Thaeter & Reischuk 2021, Algorithm 3. A round dissolves groups of k
where their records fit better into other groups, then reassigns records of larger groups; groups of 2k are split. Cost
O((n² + n k²) d) per round at worst; bounds and a tree over the centroids make it far less. Use it after any method, it
costs little. With all moves, which is not in the papers, neighbouring groups also exchange records (see
``sse_exchange``), and the rounds begin again until no change lowers the loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping, check_k, ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError
from shoal.methods.contract import Outcome
from shoal.methods.kernels import small_mdav, small_ona_star
from shoal.methods.kernels.box_tree import search_stack
from shoal.methods.kernels.centroid_index import index_groups, needs_rebuilding
from shoal.methods.kernels.centroids import Groups, gain_tolerance, total_cost
from shoal.methods.kernels.group_growth import Closest
from shoal.methods.kernels.group_moves import (
    DISSOLVED,
    LARGE,
    REASSIGNED,
    SPLIT,
    VISITED,
    MoveState,
    begin_moves,
    clear_full_log,
    move_some,
    scratch_for,
    with_more_capacity,
)
from shoal.methods.kernels.projected_points import ProjectedPoints, project
from shoal.methods.options import Range
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.sse_exchange import exchange_records
from shoal.methods.refinement.step_options import check_step_options

SplitPosition = Literal["end", "origin"]
Moves = Literal["ona-star", "all"]
Phases = Literal["both", "dissolve", "reassign"]


PHASES: dict[str, tuple[bool, ...]] = {"both": (True, False), "dissolve": (True,), "reassign": (False,)}
"""Whether each phase dissolves groups or reassigns records."""


def refine(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    max_rounds: Annotated[int, Range(0)] = 30,
    split_position: SplitPosition = "end",
    closest: Closest = "cost",
    moves: Moves = "ona-star",
    phases: Phases = "both",
    progress: Progress = SILENT,
) -> Outcome:
    """Return a grouping that is at least as good, by the rounds of ONA*.

    Parameters
    ----------
    points
        Standardised coordinates of the records, n x d.
    labels
        The group number of each record; groups are visited in the order of their numbers. No group may have fewer than
        k records.
    k
        Minimum group size.
    max_rounds
        Maximum number of rounds.
    split_position
        Position of the two parts of a split group in the order of visits: at the ``end``, or that of their ``origin``.
    closest
        Which group a split by MDAV* regards as closest to a record, as for ``mdav-star``.
    moves
        ``ona-star``: those of the paper; ``all``: groups also exchange records with their five nearest groups.
    phases
        The phases of a round: ``dissolve`` groups of k, ``reassign`` records of larger groups, or ``both``.
    progress
        Progress callback.

    Returns
    -------
    outcome
        Labels of groups of k to 2k-1 records. Diagnostics: ``rounds`` (those that changed something),
        ``dissolved_groups``, ``reassigned_records`` and ``split_groups``; with all moves also ``exchanges``.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [2.0], [8.0], [9.0]])
    >>> outcome = refine(points, np.array([0, 0, 1, 1, 1]), 2)
    >>> outcome.labels, outcome.diagnostics["reassigned_records"]
    (array([0, 0, 0, 1, 1]), 1)
    """
    check_step_options(
        refine, max_rounds=max_rounds, split_position=split_position, closest=closest, moves=moves, phases=phases
    )
    chosen = PHASES[phases]
    check_k(k, len(labels))
    try:
        points = np.ascontiguousarray(points, np.float64)
    except (ValueError, TypeError):  # its text may quote values
        raise DataError("points must be an array of numbers with as many columns in each row") from None
    if points.ndim != 2 or len(points) != len(labels):
        raise DataError(f"{len(labels)} labels for {len(points)} records; there must be one label per record")
    Grouping(labels, k)  # raises GroupTooSmall for groups below k

    def run(start: NDArray[np.int64]) -> Outcome:
        start = split_large(points, ordered_labels(np.asarray(start)), k)
        if len(points) <= small_mdav.SMALL_TABLE_RECORDS and split_position == "end":
            return _refine_small_table(points, start, k, max_rounds, closest == "cost", chosen)
        return _refine_with_index(points, start, k, max_rounds, closest == "cost", split_position, chosen, progress)

    return run(labels) if moves == "ona-star" else _with_exchanges(points, labels, k, max_rounds, run)


def _refine_with_index(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    by_cost: bool,
    split_position: SplitPosition,
    phases: tuple[bool, ...],
    progress: Progress,
) -> Outcome:
    """Refine by searches in a tree over the centroids."""
    projected = project(points)
    groups, state = begin_moves(projected, labels, k)
    counters = state.counters
    rounds = 0
    while rounds < max_rounds:
        changes = int(counters[DISSOLVED] + counters[REASSIGNED])
        progress.stage(f"refining, round {rounds + 1}", len(phases) * int((groups.sizes > 0).sum()))
        for dissolving in phases:
            groups, state = _visit_all(projected, groups, state, k, dissolving, by_cost, split_position, progress)
        if counters[DISSOLVED] + counters[REASSIGNED] == changes:
            break
        rounds += 1
    alive = _alive(groups, state, split_position)
    number = np.empty(groups.sizes.size, np.int64)
    number[alive] = np.arange(alive.size)
    return _outcome(number[state.labels], rounds, counters[DISSOLVED], counters[REASSIGNED], counters[SPLIT])


def _refine_small_table(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    by_cost: bool,
    phases: tuple[bool, ...],
) -> Outcome:
    """Refine a small table by loops that compile quickly; the result is the same."""
    slots = small_ona_star.open_slots(points, labels, k)
    counters = slots.counters
    rounds = 0
    while rounds < max_rounds:
        changes = int(counters[: small_ona_star.SPLIT].sum())
        small_ona_star.run_round(points, slots, k, by_cost, gain_tolerance(points), phases)
        if counters[: small_ona_star.SPLIT].sum() == changes:
            break
        rounds += 1
    refined = np.empty(len(points), np.int64)
    for number, slot in enumerate(small_ona_star.in_order_of_visits(slots)):
        refined[slots.members[slot, : slots.sizes[slot]]] = number
    dissolved, reassigned, split = (
        counters[which] for which in (small_ona_star.DISSOLVED, small_ona_star.REASSIGNED, small_ona_star.SPLIT)
    )
    return _outcome(refined, rounds, dissolved, reassigned, split)


def _outcome(labels: NDArray[np.int64], rounds: int, dissolved: int, reassigned: int, split: int) -> Outcome:
    counts = {
        "rounds": rounds,
        "dissolved_groups": int(dissolved),
        "reassigned_records": int(reassigned),
        "split_groups": int(split),
    }
    return Outcome(labels, diagnostics=counts)


def _with_exchanges(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    run: Callable[[NDArray[np.int64]], Outcome],
) -> Outcome:
    """Refine and exchange in turn until neither changes anything; every single change lowers the cost."""
    counts: Counter[str] = Counter()
    exchanges = 0
    while True:
        refined = run(labels)
        labels = refined.labels
        counts.update(refined.diagnostics)
        if counts["rounds"] >= max_rounds:
            break
        exchanged = exchange_records(points, labels, k)
        made = int(exchanged.diagnostics["exchanges"])  # type: ignore[arg-type]
        # gains may be rounding errors; then the exchanges are not kept
        if not made or not total_cost(points, exchanged.labels) < total_cost(points, labels):
            break
        labels = exchanged.labels
        exchanges += made
    return Outcome(labels, diagnostics={**counts, "exchanges": exchanges})


def _visit_all(
    projected: ProjectedPoints,
    groups: Groups,
    state: MoveState,
    k: int,
    dissolving: bool,
    by_cost: bool,
    split_position: SplitPosition,
    progress: Progress,
) -> tuple[Groups, MoveState]:
    """Run one of the two phases; return the state, whose arrays may have been replaced by longer ones."""
    index = index_groups(groups)
    visits = _alive(groups, state, split_position)
    scratch, stack = scratch_for(k), search_stack()
    tolerance = gain_tolerance(projected.points)
    nothing = np.empty(0, np.int64)
    state.counters[VISITED] = 0
    while state.counters[VISITED] < visits.size:
        before = int(state.counters[VISITED])
        clear_full_log(state, k)
        move_some(projected, groups, state, index, scratch, visits, -1, nothing, k, dissolving, tolerance, stack)
        for g in dict.fromkeys(scratch.large[: state.counters[LARGE]].tolist()):
            if groups.used[0] + 2 > groups.sizes.size:
                groups, state = with_more_capacity(groups, state)
            if needs_rebuilding(index, groups, soon=2):
                index = index_groups(groups)
            clear_full_log(state, k)
            inside = projected.points[state.members[g, : groups.sizes[g]]]
            # 2k to 3k-1 records always make two groups
            parts = small_mdav.mdav_star_of_small_table(inside, k, 1.0, by_cost, tolerance)
            move_some(projected, groups, state, index, scratch, visits, g, parts, k, dissolving, tolerance, stack)
        progress.advance(int(state.counters[VISITED]) - before)
    return groups, state


def _alive(groups: Groups, state: MoveState, split_position: SplitPosition) -> NDArray[np.int64]:
    """Return the groups that have members, in the order of visits."""
    alive = np.flatnonzero(groups.sizes[: groups.used[0]])
    return alive if split_position == "end" else alive[np.argsort(state.origin[alive], kind="stable")]
