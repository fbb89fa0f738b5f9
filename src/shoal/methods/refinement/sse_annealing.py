"""Simulated annealing of groups for the squared error, for tables of any size.

Beyond the papers. A step regroups a window of neighbouring groups (see ``annealing_windows``). A table of up to a few
thousand records is one cell that several chains search at once, each with its own random numbers. A larger table is cut
into cells of complete groups, which are searched in parallel, and the cuts change from round to round.
O(steps · k² d) time, independent of n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.kernels.annealing_windows import windows
from shoal.methods.kernels.centroids import group_costs

NEIGHBOURS = 24  # nearest records whose groups may join a window
SLICES = 40  # of a round; between two of them the deadline is checked and the groups are collected
FEW_RECORDS, FEW_DIFFERENCES = 1_200, 20_000_000  # up to which all distances are computed
ORDER_TOLERANCE = 1e-11  # within which squared distances count as equal, of the squared diameter
CELL_RECORDS = 4_000  # that one chain searches
CHAINS = 2  # of a table that is one cell: fixed, so that the result does not depend on the machine


class Chain:
    """The state of the search in one cell.

    Parameters
    ----------
    points
        n x d, centred.
    labels
        The groups to begin with, 0, 1, ..., each of k to 2k-1 records.
    k
        Minimum group size.
    seed
        Seed of the random numbers.
    exponentials
        A table of -ln u; empty for computed logarithms.
    """

    def __init__(
        self, points: NDArray[np.float64], labels: NDArray[np.int64], k: int, seed: list[int],
        exponentials: NDArray[np.float64],
    ) -> None:  # fmt: skip
        self.points, self.k, self.exponentials = points, k, exponentials
        n = labels.size
        self.labels = labels.astype(np.int64)
        count = int(labels.max()) + 1
        self.sizes = np.zeros(n // k + 2, np.int64)
        self.sizes[:count] = np.bincount(labels, minlength=count)
        self.members = np.zeros((n // k + 2, 2 * k - 1), np.int64)
        order = np.argsort(labels, kind="stable")
        position = np.arange(n) - np.repeat(np.cumsum(self.sizes[:count]) - self.sizes[:count], self.sizes[:count])
        self.members[labels[order], position] = order
        self.costs = np.zeros(n // k + 2)
        self.costs[:count] = group_costs(points, labels)
        self.best = self.labels.copy()
        self.counters = np.array([count, self.costs.sum(), self.costs.sum()])
        self.state = np.random.default_rng(seed).integers(1, 2**63, 1, np.uint64)
        self.neighbours = _neighbours(points)

    @property
    def cost(self) -> float:
        """The lowest cost so far."""
        return float(self.counters[2])

    def walk(self, steps: int, first: float, last: float, width: int) -> None:
        """Take steps while the temperature falls from ``first`` to ``last``."""
        if self.counters[0] < 2 and self.labels.size < 2 * self.k:
            return
        windows(
            self.points, self.neighbours, self.labels, self.members, self.sizes, self.costs, self.best, self.counters,
            self.k, width, first, last, steps, self.state, self.exponentials,
        )  # fmt: skip
        self.counters[1] = self.costs[: int(self.counters[0])].sum()  # remove the rounding errors of added differences


def anneal(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    steps_per_record: float = 300.0,
    deadline: Deadline | None = None,
    width: int = 5,
    temperature: float = 0.25,
    seed: int = 0,
    collect: Callable[[NDArray[np.int64]], object] = lambda _: None,
    exponentials: NDArray[np.float64] | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Improve groups of k to 2k-1 records; the result is never worse.

    Parameters
    ----------
    points
        n x d, centred.
    labels
        The groups to begin with: 0, 1, ..., each of k to 2k-1 records.
    k
        Minimum group size.
    steps_per_record
        Steps per record, if the deadline has no limit.
    deadline
        When to stop.
    width
        Maximum number of groups in a window.
    temperature
        The temperature at the start, in units of the mean cost of a group.
    seed
        Seed of the random numbers.
    collect
        Called after each slice with the best labels of all records so far.
    exponentials
        A table of -ln u, which is the same on every processor; None for computed logarithms.
    progress
        Progress callback.

    Returns
    -------
    labels
        The best groups seen.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> better = anneal(points, np.array([0, 1, 0, 1]), 2)
    >>> better[0] == better[1], better[2] == better[3]
    (np.True_, np.True_)
    """
    deadline = deadline or Deadline(None)
    rounds = 1 if labels.size <= 2 * CELL_RECORDS else 4
    progress.stage("improving groups", rounds * SLICES)
    best = labels
    width = max(width, 2)
    table = np.zeros(0) if exponentials is None else exponentials
    for number in range(rounds):
        before = best
        steps = steps_per_record / rounds
        for best, share in _round(points, before, k, number, steps, deadline, width, temperature, seed, rounds, table):
            collect(best)
            progress.advance(1)
            if share >= (number + 1) / rounds:
                break
        if deadline.expired():
            break
    return ordered_labels(best)


def _round(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    number: int,
    steps_per_record: float,
    deadline: Deadline,
    width: int,
    temperature: float,
    seed: int,
    rounds: int,
    table: NDArray[np.float64],
) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Search all cells of one round slice by slice; yield the best labels of all records and the share of work done."""
    cells = (
        [np.arange(labels.size)]
        if labels.size <= 2 * CELL_RECORDS
        else cells_of_groups(points, labels, number, CELL_RECORDS)
    )
    copies = CHAINS if len(cells) == 1 else 1
    chains = [
        (
            records,
            Chain(
                np.ascontiguousarray(points[records]),
                ordered_labels(labels[records]),
                k,
                [seed, number, cell, copy],
                table,
            ),
        )
        for cell, records in enumerate(cells)
        for copy in range(copies)
    ]
    first = temperature
    piece = 0
    while True:
        share = (piece + 1) / SLICES
        steps = [max(int(steps_per_record * records.size / SLICES), 1) for records, _ in chains]
        if deadline.limited:
            gone = 1.0 if deadline.expired() else deadline.elapsed() / deadline.seconds
            share = min(max(gone * rounds - number, 0.0) + 1 / SLICES, 1.0)
            steps = [max(records.size // 2, 200) for records, _ in chains]
        last = temperature * (1.0 - share)

        def work(job: int, first: float = first, last: float = last, steps: list[int] = steps) -> None:
            chains[job][1].walk(steps[job], first, last, width)

        run_in_threads(work, range(len(chains)))
        first = last
        yield _joined(chains, copies, labels), (number + share) / rounds
        piece += 1
        if share >= 1.0:
            return


def _joined(chains: list[tuple[NDArray[np.int64], Chain]], copies: int, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labels of all records from the best chain of each cell."""
    joined = np.empty_like(labels)
    offset = 0
    for first in range(0, len(chains), copies):
        records, chain = min(chains[first : first + copies], key=lambda pair: pair[1].cost)
        joined[records] = chain.best + offset
        offset += int(chain.best.max()) + 1
    return joined


def cells_of_groups(
    points: NDArray[np.float64], labels: NDArray[np.int64], number: int, most: int
) -> list[NDArray[np.int64]]:
    """Cut a table into cells of complete groups, of ``most`` records at most; the cuts depend on the round.

    Examples
    --------
    >>> points = np.arange(8.0)[:, None]
    >>> sorted(cell.tolist() for cell in cells_of_groups(points, np.arange(8) // 2, 0, 4))
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    """
    n, d = points.shape
    count = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=count)
    totals = [np.bincount(labels, weights=points[:, a], minlength=count) for a in range(d)]
    centres: NDArray[np.float64] = np.column_stack(totals) / sizes[:, None]
    rng = np.random.default_rng([n, number])
    waiting = [np.arange(count)]
    cell_of = np.empty(count, np.int64)
    cells = 0
    while waiting:
        groups = waiting.pop()
        if groups.size == 1 or sizes[groups].sum() <= most:
            cell_of[groups] = cells
            cells += 1
            continue
        deviation = centres[groups].std(axis=0)
        direction = deviation * rng.normal(size=d)
        order = np.argsort(centres[groups] @ direction, kind="stable")
        cut = min(max(int(len(groups) * rng.uniform(0.35, 0.65)), 1), len(groups) - 1)
        waiting += [groups[order[:cut]], groups[order[cut:]]]
    by_cell = np.argsort(cell_of[labels], kind="stable")
    return np.split(by_cell, np.cumsum(np.bincount(cell_of[labels], minlength=cells))[:-1])


def _neighbours(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest other records of each record, nearest first."""
    n = points.shape[0]
    wanted = min(NEIGHBOURS + 1, n)
    found = nearest_of_few(points, wanted)
    if found is None:
        from scipy.spatial import cKDTree

        found = cKDTree(points).query(points, k=np.arange(1, wanted + 1))[1]
    return np.ascontiguousarray(found[:, 1:] if wanted > 1 else found, np.int64)


def nearest_of_few(points: NDArray[np.float64], wanted: int) -> NDArray[np.intp] | None:
    """Return what a k-d tree finds: the nearest records of each record, itself first; without importing SciPy.

    None for large tables, and where distances of a record are so nearly equal that the order of a tree may differ.

    Examples
    --------
    >>> nearest_of_few(np.array([[0.0], [1.0], [3.0]]), 2)
    array([[0, 1],
           [1, 0],
           [2, 1]])
    >>> nearest_of_few(np.array([[0.0], [1.0], [2.0]]), 2) is None  # two neighbours of the second are equally near
    True
    """
    n, d = points.shape
    if n > FEW_RECORDS or n * n * d > FEW_DIFFERENCES:
        return None
    squares = np.zeros((n, n))
    for column in points.T:
        squares += (column[:, None] - column) ** 2
    listed = min(wanted + 1, n)  # one more, since the last one wanted may be as near as the next
    nearest = np.argpartition(squares, listed - 1, axis=1)[:, :listed]
    lengths = np.take_along_axis(squares, nearest, 1)
    order = np.argsort(lengths, axis=1)
    lengths = np.take_along_axis(lengths, order, 1)
    rounding = ORDER_TOLERANCE * (lengths[:, 1:] + ((points.max(axis=0) - points.min(axis=0)) ** 2).sum())
    if (np.diff(lengths, axis=1) <= rounding).any():
        return None
    return np.take_along_axis(nearest, order, 1)[:, :wanted]
