"""Groups that satisfy requirements, by a price that rises for whatever a group lacks.

Beyond the papers. Groups of k rows may hold fewer than k persons, or too few different confidential values. Joining
such groups costs most; here every missing person (and about every record that must change for a requirement on
confidential attributes) has a price, and rows are passed on and exchanged, and groups dissolved, while that lowers
the squared error plus the price of all that is missing (``priced_moves``). The price rises in steps, so that cheap
repairs come first. Few groups then still violate a requirement; the caller enforces it there, and a last round under
the constraint splits, dissolves, passes on and exchanges wherever the squared error falls and nothing is violated.

Groups without a violation in their neighbourhood are not visited. Large tables are searched in blocks of whole groups
with other cuts in every pass; blocks share the cores, and the groups do not depend on the number of threads. Cost
O(m s d) per price for m rows in groups of s rows near violations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.requirement_violation import (
    BETA,
    ENTROPY,
    NESTED,
    ORDERED,
    RECURSIVE,
    RequirementTable,
    no_requirements,
)
from shoal.core.threads import run_in_threads
from shoal.methods.kernels.annealing_lists import renew_group_lists
from shoal.methods.kernels.centroids import GAIN_TOLERANCE
from shoal.methods.kernels.cut_blocks import Cutting
from shoal.methods.persons.group_tallies import countable
from shoal.methods.persons.priced_groups import NEAR, Limits, count_lacking, open_groups
from shoal.methods.persons.priced_moves import dissolve_groups, split_groups, visit_rows
from shoal.methods.refinement.block_refinement import blocks_of_whole_groups
from shoal.methods.refinement.crossover import group_costs_by_column

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

PRICES = (0.25, 0.354, 0.5, 0.707, 1.0, 1.41, 2.0, 2.83, 4.0, 5.66, 8.0, 11.3, 16.0)
"""The prices of what a group lacks, in units of the squared error per row, in a table of one block."""
FURTHER_PRICES = (32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0)
"""Prices for t-closeness, where groups lack a small part of a record; they end when none lacks any."""
FINE_PASSES = ((0.5, 1.0, 2.0), (4.0, 8.0), (16.0,))
"""The prices of each pass over a table of several blocks,"""
PASSES = ((0.7, 2.0), (4.0, 8.0), (16.0,))
"""and of one with more rows than this:"""
MANY_ROWS = 100_000
SHORT_FROM = 5_000
"""For t-closeness, which most groups violate at first, from this number of rows on."""
SHORT_PASSES = ((1.0,), (6.0,), (32.0,))
"""The same for t-closeness, beta-likeness and entropy where there are so many values that sorted ones are compared."""
MORE_PASSES = 4
"""For t-closeness the last pass is repeated up to so many times, with other cuts, while that changes a group."""
BLOCK_GROUPS = 4_000
ONE_BLOCK_GROUPS = 6_000
"""Up to this number of groups a table is one block."""
SWEEPS, ONE_SWEEP = 2, 1
PRICES_PER_RENEWAL = 4
FINAL_ROUNDS, BLOCK_FINAL_ROUNDS, FEWEST_FINAL_ROUNDS = 4, 2, 1
FEW = 1_000
"""The final rounds end when fewer than one in so many rows has changed."""
LEAST_SHARE = 1e-3
"""The squared error per row that prices are based on is at least this share of the variance."""
ABOVE_ALL = 1e12
"""The price of the final round, in units of the squared error of the whole table."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """What every group must satisfy.

    Parameters
    ----------
    k
        The units, and the rows, of every group.
    units
        The unit of each row; None if every row is a unit of its own.
    codes, table
        n x columns: the values that further requirements are about, and these; None if there are none.
    max_size
        The rows that a group may have.
    """

    k: int
    units: Integers | None = None
    codes: Integers | None = None
    table: RequirementTable | None = None
    max_size: int | None = None

    @property
    def smallest(self) -> int:
        """The rows that a group keeps while it may lack units: with units, k - 1 rows lack one more."""
        return self.k if self.units is None else max(self.k - 1, 1)

    @property
    def costly(self) -> bool:
        """Whether there are requirements that many groups violate and that take long to count."""
        if self.table is None or countable(self.table):
            return False
        return bool(np.isin(self.table.rows[:, 0], (ORDERED, NESTED, BETA, ENTROPY)).any())

    @property
    def close(self) -> bool:
        """Whether t-closeness is required, which most groups violate at first."""
        return self.table is not None and bool(np.isin(self.table.rows[:, 0], (ORDERED, NESTED)).any())

    @property
    def step(self) -> float:
        """By how much one row can lower what a group lacks for requirements on confidential attributes, at most."""
        if self.table is None:
            return 0.0
        kinds = self.table.rows[:, 0]
        return np.inf if np.isin(kinds, (ENTROPY, RECURSIVE)).any() else float(kinds.size)


def raise_price(points: Floats, labels: Integers, constraints: Constraints, *, progress: Progress = SILENT) -> Integers:
    """Return groups near the given ones of which few violate a constraint.

    Parameters
    ----------
    points
        n x d, standardised.
    labels
        The groups of any method, each with at least k rows.
    constraints
        What every group must satisfy.
    progress
        Progress callback.

    Returns
    -------
    labels
        Groups of at least k rows; the given ones, unchanged, if none violates a constraint.

    Examples
    --------
    The groups hold one person each; together they hold both, and ``refine_within`` divides them again:

    >>> points = np.array([[0.0], [1.0], [0.1], [1.1]])
    >>> raise_price(points, np.array([0, 0, 1, 1]), Constraints(2, np.array([0, 0, 1, 1])))
    array([0, 0, 0, 0])
    """
    labels = canonical_labels(labels)
    scale = _scale(points, labels)
    if scale == 0.0:
        return labels
    whole = int(labels.max()) < ONE_BLOCK_GROUPS
    passes, sweeps = _passes(len(points), constraints, whole=whole)
    if whole:
        return _whole(points, labels, constraints, _at_prices(passes[0], scale, sweeps))
    for number, prices in enumerate(passes):
        progress.stage(f"satisfying requirements, pass {number + 1} of {len(passes)}", len(points))
        labels = _in_blocks(points, labels, constraints, number, _at_prices(prices, scale, sweeps), progress)
    last = passes[-1]
    for number in range(len(passes), len(passes) + MORE_PASSES if constraints.close else 0):
        before = canonical_labels(labels)
        labels = _in_blocks(points, labels, constraints, number, _at_prices(last, scale, sweeps), progress)
        if np.array_equal(canonical_labels(labels), before):
            break
    return canonical_labels(labels)


def _passes(n: int, constraints: Constraints, *, whole: bool) -> tuple[tuple[tuple[float, ...], ...], int]:
    """Return the prices of each pass over so many rows, one if they are one block, and the sweeps at each price."""
    passes: tuple[tuple[float, ...], ...] = (PRICES,) if whole else FINE_PASSES
    sweeps = SWEEPS
    if constraints.costly and n > SHORT_FROM:
        passes, sweeps = SHORT_PASSES, ONE_SWEEP
    elif n > (SHORT_FROM if constraints.close else MANY_ROWS) and (constraints.close or not whole):
        passes, sweeps = PASSES, ONE_SWEEP
    if whole:
        passes = (tuple(chain.from_iterable(passes)),)
    if constraints.close:
        last = passes[-1]
        passes = (*passes[:-1], last + tuple(price for price in FURTHER_PRICES if price > last[-1]))
    return passes, sweeps


def refine_within(
    points: Floats, labels: Integers, start: Integers, constraints: Constraints, *, progress: Progress = SILENT
) -> Integers:
    """Return groups with at most the squared error of the given ones, none of which violates a constraint.

    Parameters
    ----------
    points
        n x d, standardised.
    labels
        Groups that satisfy the constraints.
    start
        The groups before they were made to satisfy them; where both are equal nothing is visited.
    constraints
        What every group must satisfy.
    progress
        Progress callback.

    Returns
    -------
    labels
        Groups that satisfy the constraints.

    Examples
    --------
    Groups of two persons with two rows each can be split:

    >>> points = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> together, units = np.zeros(4, np.int64), np.array([0, 1, 0, 1])
    >>> refine_within(points, together, np.array([0, 0, 1, 1]), Constraints(2, units))
    array([0, 0, 1, 1])
    """
    labels = canonical_labels(labels)
    touched = _differ(labels, canonical_labels(start))
    price = ABOVE_ALL * len(points) * _scale(points, np.zeros(len(points), np.int64))
    if price == 0.0 or not touched.any():
        return labels

    whole = int(labels.max()) < ONE_BLOCK_GROUPS
    in_blocks = BLOCK_FINAL_ROUNDS if len(points) <= MANY_ROWS else FEWEST_FINAL_ROUNDS

    def settle(block: _Block) -> None:
        block.settle(touched[block.rows], price, FINAL_ROUNDS if whole else in_blocks)

    if whole:
        return _whole(points, labels, constraints, settle)
    progress.stage("refining", len(points))
    return canonical_labels(_in_blocks(points, labels, constraints, len(PASSES), settle, progress))


def _scale(points: Floats, labels: Integers) -> float:
    """Return the squared error per row; at least a small share of the variance."""
    least = LEAST_SHARE * float(points.var(axis=0).sum())
    return max(float(group_costs_by_column(points, labels).sum()) / len(points), least)


def _differ(labels: Integers, start: Integers) -> NDArray[np.bool_]:
    """Return for each row whether its group is not one of the groups of the start."""
    sizes, before = np.bincount(labels), np.bincount(start)
    first = np.empty(sizes.size, np.int64)
    first[labels[::-1]] = start[::-1]
    same = np.bincount(labels, start == first[labels], sizes.size) == sizes
    same &= before[first] == sizes
    return ~same[labels]


class _Block:
    """The search in one block of whole groups."""

    def __init__(
        self, points: Floats, rows: Integers, labels: Integers, constraints: Constraints, *, every: bool
    ) -> None:
        n = rows.size
        inside = points[rows].astype(np.float64)
        inside -= inside[0].copy()  # only distances matter, and small coordinates lose fewer digits
        units = np.arange(n) if constraints.units is None else canonical_labels(constraints.units[rows])
        if constraints.codes is None or constraints.table is None:
            codes, table = np.zeros((n, 0), np.int64), no_requirements()
        else:
            codes, table = np.ascontiguousarray(constraints.codes[rows], np.int64), constraints.table
        groups = int(labels.max()) + 1
        capacity = max(groups, n // constraints.k) + 1
        self.rows = rows
        self.smallest = constraints.smallest
        self.every = every
        self.k, self.largest, self.step = constraints.k, constraints.max_size or n, constraints.step
        self.least = GAIN_TOLERANCE * float(inside.var(axis=0).mean())
        self.state, self.scratch = open_groups(inside, labels, units, codes, table, capacity)
        self.near = np.zeros((capacity, NEAR), np.int64)
        self.reach = np.zeros(capacity, np.float32)
        self.lacking = np.zeros(capacity, np.bool_)

    @property
    def labels(self) -> Integers:
        """The group of each row."""
        return canonical_labels(self.state.labels)

    @property
    def alive(self) -> Integers:
        """The groups that have rows."""
        return np.flatnonzero(self.state.counts[:, 0])

    def raise_price(self, prices: tuple[float, ...], scale: float, sweeps: int) -> None:
        """Search at every price."""
        for number, price in enumerate(prices):
            if not count_lacking(self.state, self.k, self.lacking) or self.alive.size < 2:
                return
            if number % PRICES_PER_RENEWAL == 0:
                self._renew()
            limits = Limits(self.k, self.smallest, self.largest, price * scale, self.least, self.step, self.every)
            dissolve_groups(self.state, self.scratch, self.near, self.lacking, limits)
            count_lacking(self.state, self.k, self.lacking)
            active = self._around(self.lacking)
            for _ in range(sweeps):
                visit_rows(self.state, self.scratch, self.near, active, limits)

    def settle(self, touched: NDArray[np.bool_], price: float, rounds: int) -> None:
        """Lower the squared error without any violation, near the rows that were touched."""
        if not touched.any():
            return
        limits = Limits(self.k, self.k, self.largest, price, self.least, self.step, True)
        chosen = np.zeros(self.lacking.size, np.bool_)
        chosen[self.state.labels[touched]] = True
        for _ in range(rounds):
            changed = int(split_groups(self.state, self.scratch, chosen, limits))
            if self.alive.size < 2:
                return
            self._renew()
            active = self._around(chosen)
            changed += int(dissolve_groups(self.state, self.scratch, self.near, active, limits))
            changed += int(visit_rows(self.state, self.scratch, self.near, active, limits))
            chosen |= active
            if changed * FEW < self.rows.size:
                break

    def _renew(self) -> None:
        """Find the near groups of every group."""
        alive = self.alive
        columns = np.ascontiguousarray(self.state.centroids[alive].T, np.float32)
        renew_group_lists(
            columns, alive, self.reach, self.near, np.empty(alive.size, np.float32), np.empty(alive.size, np.int64),
            np.empty(NEAR, np.float32),
        )  # fmt: skip

    def _around(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the chosen groups, those that have one of them near, and those near one of them."""
        active = chosen | chosen[self.near].any(axis=1)
        active[self.near[chosen].reshape(-1)] = True
        return active


def _at_prices(prices: tuple[float, ...], scale: float, sweeps: int) -> Callable[[_Block], None]:
    """Return the search of a block at some prices."""
    return lambda block: block.raise_price(prices, scale, sweeps)


def _whole(points: Floats, labels: Integers, constraints: Constraints, search: Callable[[_Block], None]) -> Integers:
    """Search a table as one block."""
    order = np.argsort(labels, kind="stable")  # group after group
    block = _Block(points, order, labels[order], constraints, every=True)
    search(block)
    found = np.empty(len(points), np.int64)
    found[order] = block.labels
    return canonical_labels(found)


def _in_blocks(
    points: Floats, labels: Integers, constraints: Constraints, number: int, search: Callable[[_Block], None],
    progress: Progress,
) -> Integers:  # fmt: skip
    """Search a table in blocks of whole groups; ``number`` determines the cuts."""
    groups = int(labels.max()) + 1
    cutting = Cutting("pairs" if number % 2 == 0 else "variance", number % points.shape[1])
    size = max(1, round(BLOCK_GROUPS * len(points) / groups))
    order, bounds = blocks_of_whole_groups(points, labels, constraints.k, size, cutting)
    found = np.empty(len(points), np.int64)
    every = len(points) <= MANY_ROWS

    def work(job: tuple[int, int]) -> int:
        members = order[job[0] : job[1]]
        members = members[np.argsort(labels[members], kind="stable")]  # group after group
        block = _Block(points, members, canonical_labels(labels[members]), constraints, every=every)
        search(block)
        found[members] = block.labels
        progress.advance(members.size)
        return int(found[members].max()) + 1

    jobs = list(pairwise(bounds.tolist()))
    start = 0
    for (begin, end), count in zip(jobs, run_in_threads(work, jobs), strict=True):
        found[order[begin:end]] += start
        start += count
    return found
