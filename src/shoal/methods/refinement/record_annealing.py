"""Annealing of records: a search for groups with less squared error, for tables of any size.

Beyond the papers. The records of a block are visited in sweeps; a visit tries one move of one record at a cost of
O(k d) (see ``annealing_moves``). Blocks of complete groups are searched independently, on all cores, and the cuts
between them differ from pass to pass while the temperature falls across the passes. The amount of work is counted in
sweeps, never in seconds, and the random numbers of a block depend only on the seed, the pass and the block, so the
groups are the same for any number of threads.

With many attributes the groups near a record are not those near its group. So the lists can be made for each record
(see ``record_lists``); the temperature is then lower the more of the variance lies inside the groups, because all
distances are nearly the same where that share is large.

Much of the loss often lies in few groups. So the costliest groups can be searched once more, with more sweeps.

The result is never worse than the start: where the records of some groups of the start and of the result are the same
set of records, the cheaper groups are taken (see ``crossover``). Cost O(n k d) per sweep
for blocks of fixed size, linear in n; O(n) memory beside the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import Grouping, ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Outcome, Stopped
from shoal.methods.kernels.annealing_lists import (
    NEAR_GROUPS,
    UNIT_GROUPS,
    renew_centroids,
    renew_group_lists,
    renew_record_lists,
)
from shoal.methods.kernels.annealing_moves import JOINABLE, descend, sweep
from shoal.methods.kernels.centroids import gain_tolerance
from shoal.methods.kernels.cut_blocks import Cutting
from shoal.methods.kernels.logarithm_table import exponential_table
from shoal.methods.kernels.record_lists import GROUPS, RECORDS, REMEMBERED, choose_groups, find_groups
from shoal.methods.options import Range
from shoal.methods.refinement.block_refinement import blocks_of_whole_groups
from shoal.methods.refinement.crossover import crossover, group_costs_by_column
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.step_options import check_step_options

HOT, COLD = 0.4, 0.08
"""The temperature at the start and at the end, in units of the squared error per record around a record."""
BLOCK_RECORDS = 10_000
ONE_BLOCK_RECORDS = 15_000
"""Up to this size a table is one block."""
SWEEPS_PER_RENEWAL = 5
FINAL_SWEEPS = 2
COSTLY_SHARE = 0.3
"""The share of the records, those of the costliest groups, that are searched once more,"""
COSTLY_PASSES = 2
"""in so many passes."""
LAST_PASSES = 2.5
"""With less time left than so many passes take, the next one is the last."""
RENEWALS_PER_SEARCH = 4
"""With lists for each record: every so many renewals it is compared with all groups."""

Neighbours = Literal["group", "record"]
"""Whether the groups that a record may join are those near its group, or those near the record itself."""


@dataclass(frozen=True)
class Schedule:
    """How much work an annealing does.

    Parameters
    ----------
    passes
        How often the table is cut anew; the temperature falls across the passes.
    sweeps
        How often every record is visited in a pass.
    hot, cold
        The first and the last temperature.
    block
        Maximum number of records of a block.
    neighbours
        Which groups a record may join.
    """

    passes: int
    sweeps: int
    hot: float = HOT
    cold: float = COLD
    block: int = BLOCK_RECORDS
    neighbours: Neighbours = "group"

    def temperature(self, number: int) -> float:
        """Return the temperature before a pass, the same on every machine.

        Examples
        --------
        >>> [round(Schedule(2, 10, 0.4, 0.1).temperature(p), 3) for p in range(3)]
        [0.4, 0.2, 0.1]
        """
        return self.hot * power(self.cold / self.hot, number, self.passes)


def power(base: float, numerator: int, denominator: int) -> float:
    """Return base to the power of a fraction in decimal arithmetic, which does not depend on the processor.

    Examples
    --------
    >>> power(0.25, 1, 2)
    0.5
    """
    return float(Decimal(base) ** (Decimal(numerator) / Decimal(denominator)))


def anneal_records(
    points: NDArray[Any],
    labels: NDArray[np.int64],
    k: int,
    *,
    passes: Annotated[int, Range(0)] = 6,
    sweeps: Annotated[int, Range(1)] = 20,
    hot: Annotated[float, Range(0)] = HOT,
    cold: Annotated[float, Range(0)] = COLD,
    costly_sweeps: Annotated[int, Range(0)] = 0,
    made: Annotated[int, Range(0)] | None = None,
    block: Annotated[int, Range(1)] = BLOCK_RECORDS,
    neighbours: Neighbours = "group",
    max_size: int | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Return a grouping that is at least as good, by annealing in blocks that are cut anew in every pass.

    Parameters
    ----------
    points
        Standardised coordinates of the records, n x d; float64 or float32.
    labels
        The group number of each record; no group has fewer than k records.
    k
        Minimum group size.
    passes
        How often the table is cut anew.
    sweeps
        How often every record is visited in a pass.
    hot, cold
        The first and the last temperature, in units of the squared error per record around a record.
    costly_sweeps
        How often the records of the costliest groups are visited in each of two further passes.
    made
        How many of the passes are made: the first ones, and then the last, coldest one. None for all.
    block
        Maximum number of records of a block; a table of up to 15,000 records is one block.
    neighbours
        Which groups a record may join: those near its ``group``, or those near the ``record``, which takes longer and
        finds more where there are many attributes. The temperatures are then those given times the square of the
        share of the variance between the groups of the start.
    max_size
        Maximum group size, at most 2k-1; None for 2k-1.
    seed
        Seed of the random numbers.
    deadline
        The time that is left. When there is time for one pass more, this is the last, coldest one; a pass that the
        deadline interrupts is undone.
    progress
        Progress callback.

    Returns
    -------
    outcome
        Labels of groups of k to 2k-1 records. Diagnostics: ``passes`` (those that were made), ``sweeps``, and
        ``costly_sweeps`` (0 if there was no time for them). ``made=passes`` and these repeat the search without a
        deadline.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [9.5]])
    >>> anneal_records(points, np.array([0, 0, 1, 1, 1, 0]), 2, passes=1).labels
    array([0, 0, 0, 1, 1, 1])
    """
    check_step_options(
        anneal_records, passes=passes, sweeps=sweeps, hot=hot, cold=cold, costly_sweeps=costly_sweeps, made=made,
        block=block, neighbours=neighbours,
    )  # fmt: skip
    Grouping(labels, k)  # raises GroupTooSmall for groups below k
    largest = 2 * k - 1 if max_size is None else min(max_size, 2 * k - 1)
    deadline = Deadline(None) if deadline is None else deadline
    start = split_large(points, ordered_labels(np.asarray(labels)), k)
    search = _Search(k, largest, seed, deadline, progress)
    if neighbours == "record":
        factor = cooled(points, start)
        hot, cold = factor * hot, factor * cold
    found = search.passes(points, start, Schedule(passes, sweeps, hot, cold, block, neighbours), made)
    done = {"passes": search.made, "sweeps": sweeps, "costly_sweeps": 0}
    if costly_sweeps:
        rows = _costly_records(points, found)
        costly = Schedule(COSTLY_PASSES, costly_sweeps, hot, cold, block, neighbours)
        if deadline.left() > search.seconds_per_visit * rows.size * costly.passes * costly.sweeps:
            before = search.made
            inside = search.passes(points[rows], ordered_labels(found[rows]), costly, COSTLY_PASSES)
            if search.made == before + COSTLY_PASSES:
                done["costly_sweeps"] = costly_sweeps
                found[rows] = int(found.max()) + 1 + inside
                found = ordered_labels(found)
        search.late |= done["costly_sweeps"] == 0
    stopped: Stopped = "time limit" if search.late else "finished"
    return Outcome(crossover(points, start, found), diagnostics=done, stopped=stopped)


def cooled(points: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Return the square of the share of the variance between groups, in thousandths and at least one of them.

    Examples
    --------
    >>> cooled(np.array([[0.0], [0.0], [4.0], [4.0]]), np.array([0, 0, 1, 1]))
    1.0
    >>> cooled(np.array([[0.0], [4.0], [0.0], [4.0]]), np.array([0, 0, 1, 1]))
    0.001
    """
    inside = math.fsum(group_costs_by_column(points, labels).tolist())
    total = math.fsum(group_costs_by_column(points, np.zeros_like(labels)).tolist())
    between = 1.0 - inside / total if total > 0.0 else 1.0
    return max(round(1_000 * between * between), 1) / 1_000  # rounded, so that it is the same on every machine


def _costly_records(points: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the records of the costliest groups."""
    sizes = np.bincount(labels)
    order = np.argsort(-group_costs_by_column(points, labels), kind="stable")
    costly = np.zeros(sizes.size, bool)
    costly[order[np.cumsum(sizes[order]) <= max(COSTLY_SHARE * labels.size, sizes[order[:2]].sum())]] = True
    return np.flatnonzero(costly[labels])


class _Search:
    """Passes over tables, counted, so that each has random numbers of its own."""

    def __init__(self, k: int, largest: int, seed: int, deadline: Deadline, progress: Progress) -> None:
        self.k, self.largest, self.seed, self.deadline, self.progress = k, largest, seed, deadline, progress
        self.made = 0
        self.late = False
        self.seconds_per_visit = 0.0  # of a record, as measured in the last pass

    def passes(
        self, points: NDArray[Any], labels: NDArray[np.int64], schedule: Schedule, wanted: int | None
    ) -> NDArray[np.int64]:
        """Return what the passes find: all of them, the wanted number, or those that the deadline allows."""
        start, before = labels, self.made
        most = schedule.passes if wanted is None else min(wanted, schedule.passes)
        visits, number = len(points) * schedule.sweeps, 0
        while self.made - before < most:
            takes = self.seconds_per_visit * visits
            last = self.made - before == most - 1 or (wanted is None and self.deadline.left() < LAST_PASSES * takes)
            self.late |= last and wanted is None and number < schedule.passes - 1
            number = schedule.passes - 1 if last else number
            began = self.deadline.elapsed()
            self.progress.stage(f"searching for better groups, pass {number + 1} of {schedule.passes}", len(points))
            found = None if self.deadline.left() < takes else self._pass(points, labels, number, schedule)
            if found is None:  # what was not cooled to the end is of no use
                self.late, self.made = True, before
                return start
            labels = found
            self.seconds_per_visit = (self.deadline.elapsed() - began) / visits
            self.made += 1
            number += 1
            if last:
                break
        return labels

    def _pass(
        self, points: NDArray[Any], labels: NDArray[np.int64], number: int, schedule: Schedule
    ) -> NDArray[np.int64] | None:
        """Anneal every block of a new cut; return the new labels, or None if the deadline was in between."""
        n = len(points)
        if n <= max(ONE_BLOCK_RECORDS, schedule.block):
            order, bounds = np.arange(n), np.array([0, n])
        else:
            cutting = Cutting("pairs" if number % 2 == 0 else "variance", number % points.shape[1])
            order, bounds = blocks_of_whole_groups(points, labels, self.k, schedule.block, cutting)
        annealed = np.empty(n, np.int64)
        first, last = schedule.temperature(number), schedule.temperature(number + 1)
        factor = power(last / first, 1, schedule.sweeps)
        final = number == schedule.passes - 1

        def work(job: tuple[int, int, int]) -> int:
            which, begin, end = job
            if self.deadline.expired():
                return 0
            members = order[begin:end]
            members = members[np.argsort(labels[members], kind="stable")]  # group after group
            sizes = np.diff(np.flatnonzero(np.diff(labels[members], prepend=-1)), append=members.size)
            inside = points[members].astype(np.float64)
            chain = Chain(inside, sizes, self.k, self.largest, (self.seed, self.made, which), schedule.neighbours)
            chain.walk(schedule.sweeps, first, factor)
            if final:
                chain.settle()
            annealed[members] = chain.labels()
            self.progress.advance(members.size)
            return chain.count

        jobs = [(which, begin, end) for which, (begin, end) in enumerate(pairwise(bounds.tolist()))]
        start = 0
        counts = run_in_threads(work, jobs)
        if not all(counts):
            return None
        for (_, begin, end), count in zip(jobs, counts, strict=True):
            annealed[order[begin:end]] += start
            start += count
        return annealed


def anneal_whole(
    points: NDArray[np.float64], labels: NDArray[np.int64], k: int, sweeps: int, seed: tuple[int, ...], hot: float = HOT
) -> NDArray[np.int64]:
    """Return what one chain over the whole table finds, from the temperature ``hot``; it may be worse than the start.

    Examples
    --------
    >>> anneal_whole(np.array([[0.0], [9.0], [1.0], [8.0]]), np.array([0, 0, 1, 1]), 2, 5, (0,))
    array([1, 0, 1, 0])
    """
    start = split_large(points, ordered_labels(labels), k)
    order = np.argsort(start, kind="stable")
    chain = Chain(points[order], np.bincount(start), k, 2 * k - 1, seed)
    chain.walk(sweeps, hot, power(COLD / hot, 1, sweeps))
    chain.settle()
    found = np.empty(len(points), np.int64)
    found[order] = chain.labels()
    return ordered_labels(found)


class Chain:
    """The state of the search in one block.

    Parameters
    ----------
    points
        n x d, group after group; changed.
    sizes
        The sizes of the groups, k to ``largest`` each.
    k, largest
        Minimum and maximum group size.
    seed
        What the random numbers depend on.
    neighbours
        Which groups a record may join.
    """

    def __init__(
        self, points: NDArray[np.float64], sizes: NDArray[np.int64], k: int, largest: int, seed: tuple[int, ...],
        neighbours: Neighbours = "group",
    ) -> None:  # fmt: skip
        points -= points[0].copy()  # only distances matter, and small coordinates lose fewer digits
        n, d = points.shape
        count, rows = sizes.size, max(n // k, sizes.size)
        self.points, self.k, self.largest = points, k, largest
        self.group = np.repeat(np.arange(count), sizes)
        self.place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.members = np.zeros((rows, largest), np.int64)
        self.members[self.group, self.place] = np.arange(n)
        self.sizes = np.zeros(rows, np.int64)
        self.sizes[:count] = sizes
        self.centroids, self.costs = np.zeros((rows, d)), np.zeros(rows)
        self.free = np.concatenate([[rows - count], np.arange(rows - 1, count - 1, -1), np.zeros(count, np.int64)])
        self.near = np.zeros((n, JOINABLE), np.int64)
        self.near_groups = np.zeros((rows, NEAR_GROUPS), np.int64)
        self.unit, self.reach = np.zeros(n), np.zeros(rows, np.float32)
        self.work = np.zeros((k + 1, d)), np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(d)
        self.exponentials = exponential_table()
        self.state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
        self.lists = RecordLists(points) if neighbours == "record" else None

    @property
    def count(self) -> int:
        """The number of groups."""
        return int((self.sizes > 0).sum())

    def walk(self, sweeps: int, temperature: float, factor: float) -> None:
        """Make sweeps; each lowers the temperature by the factor."""
        if self.count < 2:
            return
        for number in range(sweeps):
            if number % SWEEPS_PER_RENEWAL == 0:
                self._renew()
            sweep(
                self.points, self.group, self.place, self.members, self.sizes, self.centroids, self.near,
                self.near_groups, self.unit, self.free, *self.work, self.exponentials, self.state, self.k, self.largest,
                temperature,
            )  # fmt: skip
            temperature *= factor

    def settle(self) -> None:
        """Accept what lowers the squared error, and nothing else."""
        if self.count < 2:
            return
        least = gain_tolerance(self.points)
        for _ in range(FINAL_SWEEPS):
            self._renew()
            descend(
                self.points, self.group, self.place, self.members, self.sizes, self.centroids, self.near, self.work[3],
                self.k, self.largest, least,
            )  # fmt: skip

    def labels(self) -> NDArray[np.int64]:
        """Return the group of each record, numbered without gaps."""
        number = np.cumsum(self.sizes > 0) - 1
        return number[self.group]

    def _renew(self) -> None:
        """Compute centroids and lists anew."""
        renew_centroids(self.points, self.members, self.sizes, self.centroids, self.costs)
        alive = np.flatnonzero(self.sizes)
        columns = np.ascontiguousarray(self.centroids[alive].T, np.float32)
        renew_group_lists(
            columns, alive, self.reach, self.near_groups, np.empty(alive.size, np.float32),
            np.empty(alive.size, np.int64), np.empty(NEAR_GROUPS, np.float32),
        )  # fmt: skip
        if self.lists is None:
            renew_record_lists(
                self.points, self.group, self.sizes, self.centroids, self.costs, self.near_groups, self.near, self.unit,
                UNIT_GROUPS,
            )  # fmt: skip
            return
        self.lists.renew(columns, alive, self.group)
        choose_groups(
            self.points, self.group, self.sizes, self.centroids, self.costs, self.near_groups, self.lists.remembered,
            self.near, self.unit, UNIT_GROUPS,
        )  # fmt: skip


class RecordLists:
    """The groups that each record of a block has found nearest to itself.

    Parameters
    ----------
    points
        n x d.
    """

    def __init__(self, points: NDArray[np.float64]) -> None:
        n, d = points.shape
        rows = -(-n // RECORDS) * RECORDS
        self.points = np.zeros((rows, d), np.float32)
        self.points[:n] = points
        self.remembered = np.full((rows, REMEMBERED), -1)
        self._work = np.empty((rows, REMEMBERED), np.float32), np.empty((RECORDS, GROUPS), np.float32)
        self._renewals = 0

    def renew(self, columns: NDArray[np.float32], alive: NDArray[np.int64], group: NDArray[np.int64]) -> None:
        """Compare every record with all groups, unless that was done a moment ago."""
        if self._renewals % RENEWALS_PER_SEARCH == 0:
            own = np.full(len(self.points), -1)
            own[: group.size] = np.searchsorted(alive, group)
            find_groups(self.points, columns, alive, own, self.remembered, *self._work)
        self._renewals += 1
