"""Annealing of records by their exact loss: a search for better groups of numbers and categories, at any size.

Beyond the papers. The records of a block are visited in sweeps; a visit tries one move of one record, whose exact cost
is computed from kept means and counts (see ``mixed_moves``). Blocks of complete groups are searched independently, on
all cores, and the cuts between them differ from pass to pass while the temperature falls across the passes. The amount
of work is counted in sweeps, and the random numbers of a block depend only on the seed, the pass and the block, so the
groups are the same for any number of threads. The result is never worse than the start (see ``exact_crossover``). Cost
O(n k columns) per sweep for blocks of fixed size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import Grouping, ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Outcome, Stopped
from shoal.methods.kernels.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.kernels.logarithm_table import exponential_table
from shoal.methods.kernels.mixed_costs import MEANS, recount
from shoal.methods.kernels.mixed_lists import most_frequent, renew_mixed_group_lists, renew_mixed_record_lists
from shoal.methods.kernels.mixed_moves import GroupRule, mixed_descent, mixed_sweep
from shoal.methods.options import Range
from shoal.methods.refinement.mixed_table import MixedTable, exact_crossover, group_figures
from shoal.methods.refinement.record_annealing import Schedule, power
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.step_options import check_step_options

Integers = NDArray[np.int64]
HOT, COLD = 0.2, 0.06
"""The temperature at the start and at the end, in units of the cost per record around a record."""
BLOCK_RECORDS, ONE_BLOCK_RECORDS = 5_000, 8_000
SWEEPS_PER_RENEWAL = 10
FINAL_SWEEPS = 2
NEAR_GROUPS, NEAR, UNIT_GROUPS = 10, 4, 6
CATEGORY_COORDINATES = 2
LEAST_GAIN = 1e-10
"""The smallest gain that counts at zero temperature, in units of the mean cost of a record."""


def anneal_mixed(
    table: MixedTable,
    labels: Integers,
    k: int,
    *,
    passes: Annotated[int, Range(0)] = 1,
    sweeps: Annotated[int, Range(1)] = 100,
    hot: Annotated[float, Range(0)] = HOT,
    cold: Annotated[float, Range(0)] = COLD,
    block: Annotated[int, Range(1)] = BLOCK_RECORDS,
    seed: int = 0,
    deadline: Deadline | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Return a grouping whose exact loss is at most that of the given one.

    Parameters
    ----------
    table
        The records with the costs of their columns.
    labels
        The group number of each record; no group has fewer than k records.
    k
        Minimum group size.
    passes
        How often a table of several blocks is cut anew.
    sweeps
        How often every record is visited in a pass.
    hot, cold
        The first and the last temperature, in units of the cost per record around a record.
    block
        Maximum number of records of a block; a table of up to 8,000 records is one block.
    seed
        Seed of the random numbers.
    deadline
        The time that is left; a pass that has not begun when it expires is left out.
    progress
        Progress callback.

    Returns
    -------
    outcome
        Labels of groups of k to 2k-1 records. Diagnostics: ``passes`` (those that were made).

    Examples
    --------
    >>> from shoal.methods.refinement.mixed_table import mixed_table
    >>> table = mixed_table(np.array([[0.0, 1], [0.0, 2], [0.0, 1], [0.0, 2]]), np.array([False, True]))
    >>> anneal_mixed(table, np.array([0, 0, 1, 1]), 2).labels
    array([1, 0, 1, 0])
    """
    check_step_options(anneal_mixed, passes=passes, sweeps=sweeps, hot=hot, cold=cold, block=block)
    Grouping(labels, k)  # raises GroupTooSmall for groups below k
    deadline = Deadline(None) if deadline is None else deadline
    start = split_large(table.numbers if table.shape[0] else table.points(), ordered_labels(np.asarray(labels)), k)
    schedule = Schedule(passes, sweeps, hot, cold, block)
    found, made = start, 0

    def chain_of(members: Integers, sizes: Integers, seed: tuple[int, ...]) -> MixedChain:
        return MixedChain(table.part(members), sizes, k, seed)

    for number in range(passes):
        if deadline.expired():
            break
        progress.stage(f"searching for better groups by exact loss, pass {number + 1} of {passes}", table.n * sweeps)
        found = anneal_pass(table, found, number, schedule, seed, progress, chain_of)
        made += 1
    best = exact_crossover(table, start, found)
    stopped: Stopped = "finished" if made == passes else "time limit"
    return Outcome(ordered_labels(best), diagnostics={"passes": made}, stopped=stopped)


def anneal_pass(
    table: MixedTable, labels: Integers, number: int, schedule: Schedule, seed: int, progress: Progress,
    chain_of: Callable[[Integers, Integers, tuple[int, ...]], MixedChain],
) -> Integers:  # fmt: skip
    """Anneal every block of a new cut; return the new labels.

    ``chain_of`` returns the search of a block from its records, group after group, their sizes, and a seed.
    """
    order, bounds = _blocks(table, labels, number, schedule.block, seed)
    annealed = np.empty(table.n, np.int64)
    first, last = schedule.temperature(number), schedule.temperature(number + 1)
    factor = power(last / first, 1, schedule.sweeps)

    def work(job: tuple[int, int, int]) -> int:
        which, begin, end = job
        members = order[begin:end]
        members = members[np.argsort(labels[members], kind="stable")]  # group after group
        sizes = np.diff(np.flatnonzero(np.diff(labels[members], prepend=-1)), append=members.size)
        chain = chain_of(members, sizes, (seed, number, which))
        chain.walk(schedule.sweeps, first, factor, progress)
        if number == schedule.passes - 1:
            chain.settle()
        annealed[members] = chain.labels()
        return chain.count

    jobs = [(which, begin, end) for which, (begin, end) in enumerate(pairwise(bounds.tolist()))]
    start = 0
    for (_, begin, end), count in zip(jobs, run_in_threads(work, jobs), strict=True):
        annealed[order[begin:end]] += start
        start += count
    return annealed


def _blocks(table: MixedTable, labels: Integers, number: int, block: int, seed: int) -> tuple[Integers, Integers]:
    """Return the records block after block, and the bounds of the blocks; no group is cut.

    Groups are cut by their means and by random coordinates of their most frequent categories, other ones each time.
    """
    if table.n <= max(ONE_BLOCK_RECORDS, block):
        return np.arange(table.n), np.array([0, table.n])
    figures = group_figures(table, labels)
    parts = [figures.means]
    random = np.random.default_rng((seed, number))
    for modes, price in zip(figures.modes, table.prices.tolist(), strict=True):
        places = random.uniform(-1.0, 1.0, (int(modes.max(initial=0)) + 1, CATEGORY_COORDINATES))
        parts.append(places[modes] * np.sqrt(1.5 / CATEGORY_COORDINATES * price))
    centres = np.ascontiguousarray(np.hstack(parts))
    cutting = Cutting("pairs" if number % 2 == 0 else "variance", number % centres.shape[1])
    cuts = cut_into_blocks(centres, max(2, round(block * len(centres) / table.n)), cutting)
    blocks = cuts.labels[labels]
    order = np.argsort(blocks, kind="stable")
    return order, np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(blocks))])


class MixedChain:
    """The state of the exact search in one block.

    Parameters
    ----------
    table
        The records of the block, group after group.
    sizes
        The sizes of the groups, k to 2k-1 each.
    k
        Minimum group size.
    seed
        What the random numbers depend on.
    largest
        Maximum group size; None for 2k-1.
    rule
        What every group satisfies and must go on to satisfy; None for nothing else.
    """

    def __init__(
        self, table: MixedTable, sizes: Integers, k: int, seed: tuple[int, ...], *, largest: int | None = None,
        rule: GroupRule | None = None,
    ) -> None:  # fmt: skip
        n, count = table.n, sizes.size
        rows = max(n // k, count)
        self.table, self.k, self.largest = table, k, largest or 2 * k - 1
        self.rule = rule
        group = np.repeat(np.arange(count), sizes)
        place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members = np.zeros((rows, self.largest + 1), np.int64)
        members[group, place] = np.arange(n)
        self.sizes = np.zeros(rows, np.int64)
        self.sizes[:count] = sizes
        special = table.special(members, self.sizes)
        self.records = table.rows, table.prices, table.shape, special, *table.state(rows, self.largest + 1)
        self.groups = group, place, members, self.sizes
        self.free = np.concatenate([[rows - count], np.arange(rows - 1, count - 1, -1), np.zeros(count, np.int64)])
        self.near, self.near_groups = np.zeros((n, NEAR), np.int64), np.zeros((rows, NEAR_GROUPS), np.int64)
        self.unit, self.costs = np.zeros(n), np.zeros(rows)
        moved = k if rule is None else max(k, rule.most)
        self.work = np.zeros(moved, np.int64), np.zeros(moved, np.int64)
        self.exponentials = exponential_table()
        self.state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
        self.random = np.random.default_rng(seed)

    @property
    def count(self) -> int:
        """The number of groups."""
        return int((self.sizes > 0).sum())

    def walk(self, sweeps: int, temperature: float, factor: float, progress: Progress = SILENT) -> None:
        """Make sweeps; each lowers the temperature by the factor."""
        for number in range(sweeps):
            if self.count > 1:
                if number % SWEEPS_PER_RENEWAL == 0:
                    self.renew()
                mixed_sweep(
                    *self.records, *self.groups, self.near, self.unit, self.free, *self.work, self.exponentials,
                    self.state, self.k, self.largest, temperature, self.rule,
                )  # fmt: skip
            temperature *= factor
            progress.advance(self.table.n)

    def settle(self) -> None:
        """Accept what lowers the cost, and nothing else."""
        for _ in range(FINAL_SWEEPS):
            if self.count > 1:
                self.renew()
                least = LEAST_GAIN * float(self.costs.sum()) / self.table.n
                mixed_descent(*self.records, *self.groups, self.near, self.k, self.largest, least, self.rule)

    def labels(self) -> Integers:
        """Return the group of each record, numbered without gaps."""
        number = np.cumsum(self.sizes > 0) - 1
        return number[self.groups[0]]

    def renew(self) -> None:
        """Compute figures and lists of all groups anew; equally near groups are listed in another order each time."""
        recount(*self.records, *self.groups[2:], self.costs)
        alive = self.random.permutation(np.flatnonzero(self.sizes))
        d, m = self.table.shape[:2]
        modes = np.zeros((m, alive.size), np.int32)
        most_frequent(self.records[5], alive, modes)
        columns = np.ascontiguousarray(self.records[4][alive, MEANS : MEANS + d].T, np.float32)
        prices = self.table.prices.astype(np.float32)
        renew_mixed_group_lists(columns, modes, prices, alive, self.near_groups, np.empty(alive.size, np.float32))
        renew_mixed_record_lists(
            *self.records, self.groups[0], self.sizes, self.costs, self.near_groups, self.near, self.unit, UNIT_GROUPS
        )
