"""annealing: better groups for any table, step by step, until the work or the time is used up.

Beyond the papers. Simulated annealing whose step regroups a window of neighbouring groups (see ``windows``). A table of
up to some thousand records is one cell that several chains search at once, each with random numbers of its own. A
larger table is cut into cells of whole groups, which are searched side by side, and the cuts move from round to
round. O(steps · k² d) time for steps that do not depend on n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.optimal.annealing_windows import windows
from shoal.methods.programs.restricted_master import Clock
from shoal.methods.refinement.ona_star_moves import in_order

NEIGHBOURS = 24  # where a window looks for further groups
SLICES = 40  # between two of them the clock is read, the groups are noted, and an interrupt is heard
CELL = 4_000  # records that one chain looks after
CHAINS = 2  # of a table that is one cell: fixed, so that the result does not depend on the machine


class Chain:
    """Groups of one cell on their way to better ones.

    Parameters
    ----------
    points
        n x d, centred.
    labels
        The groups to begin with, 0, 1, ..., each of k to 2k-1 records.
    k
        The smallest group allowed.
    seed
        Numbers that choose the random numbers.
    """

    def __init__(self, points: NDArray[np.float64], labels: NDArray[np.int64], k: int, seed: list[int]) -> None:
        self.points, self.k = points, k
        n = labels.size
        self.labels = labels.astype(np.int64)
        count = int(labels.max()) + 1
        self.sizes = np.zeros(n // k + 2, np.int64)
        self.sizes[:count] = np.bincount(labels, minlength=count)
        self.members = np.zeros((n // k + 2, 2 * k - 1), np.int64)
        order = np.argsort(labels, kind="stable")
        place = np.arange(n) - np.repeat(np.cumsum(self.sizes[:count]) - self.sizes[:count], self.sizes[:count])
        self.members[labels[order], place] = order
        self.costs = np.zeros(n // k + 2)
        self.costs[:count] = group_costs(points, labels)
        self.best = self.labels.copy()
        self.tally = np.array([count, self.costs.sum(), self.costs.sum()])
        self.state = np.random.default_rng(seed).integers(1, 2**63, 1, np.uint64)
        self.neighbours = _neighbours(points)

    @property
    def cost(self) -> float:
        """The lowest cost so far."""
        return float(self.tally[2])

    def walk(self, steps: int, hot: float, cold: float, width: int) -> None:
        """Take steps while the temperature falls."""
        if self.tally[0] < 2 and self.labels.size < 2 * self.k:
            return
        windows(
            self.points, self.neighbours, self.labels, self.members, self.sizes, self.costs, self.best, self.tally,
            self.k, width, hot, cold, steps, self.state,
        )  # fmt: skip
        self.tally[1] = self.costs[: int(self.tally[0])].sum()  # differences were added up


def group_costs(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared error of each group.

    Examples
    --------
    >>> group_costs(np.array([[0.0], [2.0], [5.0], [5.0]]), np.array([0, 0, 1, 1]))
    array([2., 0.])
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(starts, append=labels.size)
    apart = points[order] - np.repeat(points[order[starts]], sizes, axis=0)
    apart -= np.repeat(np.add.reduceat(apart, starts) / sizes[:, None], sizes, axis=0)
    return np.asarray(np.add.reduceat((apart**2).sum(axis=1), starts))


def anneal(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    effort: float = 300.0,
    clock: Clock | None = None,
    width: int = 5,
    heat: float = 0.25,
    seed: int = 0,
    note: Callable[[NDArray[np.int64]], None] = lambda _: None,
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
        The smallest group allowed.
    effort
        Steps per record, where the clock has no limit.
    clock
        When to stop.
    width
        Groups in a window at most.
    heat
        The temperature at the start, in units of the mean cost of a group.
    seed
        Chooses the random numbers.
    note
        Hears the groups of each cell now and then, as labels of all records (for a pool of candidates).
    progress
        Hears how far the work is.

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
    clock = clock or Clock(None)
    rounds = 1 if labels.size <= 2 * CELL else 4
    progress.stage("improving groups", rounds * SLICES)
    best = labels
    width = max(width, 2)
    for number in range(rounds):
        before = best
        for best, share in _round(points, before, k, number, effort / rounds, clock, width, heat, seed, rounds):
            note(best)
            progress.advance(1)
            if share >= (number + 1) / rounds:
                break
        if clock.expired():
            break
    return in_order(best)


def _round(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    number: int,
    effort: float,
    clock: Clock,
    width: int,
    heat: float,
    seed: int,
    rounds: int,
) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Search all cells of one round slice by slice; yield the best labels of all records and the share of work done."""
    cells = [np.arange(labels.size)] if labels.size <= 2 * CELL else cells_of_groups(points, labels, number, CELL)
    copies = CHAINS if len(cells) == 1 else 1
    chains = [
        (
            records,
            Chain(np.ascontiguousarray(points[records]), in_order(labels[records]), k, [seed, number, cell, copy]),
        )
        for cell, records in enumerate(cells)
        for copy in range(copies)
    ]
    hot = heat
    piece = 0
    while True:
        share = (piece + 1) / SLICES
        steps = [max(int(effort * records.size / SLICES), 1) for records, _ in chains]
        if np.isfinite(clock.seconds):
            gone = 1.0 if clock.expired() else clock.elapsed() / clock.seconds
            share = min(max(gone * rounds - number, 0.0) + 1 / SLICES, 1.0)
            steps = [max(records.size // 2, 200) for records, _ in chains]
        cold = heat * (1.0 - share)

        def work(job: int, hot: float = hot, cold: float = cold, steps: list[int] = steps) -> None:
            chains[job][1].walk(steps[job], hot, cold, width)

        run_in_threads(work, range(len(chains)))
        hot = cold
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
    """Cut a table into cells of whole groups, of ``most`` records at most; the cuts depend on the number of the round.

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
        spread = centres[groups].std(axis=0)
        direction = spread * rng.normal(size=d)
        order = np.argsort(centres[groups] @ direction, kind="stable")
        cut = min(max(int(len(groups) * rng.uniform(0.35, 0.65)), 1), len(groups) - 1)
        waiting += [groups[order[:cut]], groups[order[cut:]]]
    by_cell = np.argsort(cell_of[labels], kind="stable")
    return np.split(by_cell, np.cumsum(np.bincount(cell_of[labels], minlength=cells))[:-1])


def _neighbours(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest other records of each record, nearest first."""
    from scipy.spatial import cKDTree

    n = points.shape[0]
    wanted = min(NEIGHBOURS + 1, n)
    found = cKDTree(points).query(points, k=np.arange(1, wanted + 1))[1]
    return np.ascontiguousarray(found[:, 1:] if wanted > 1 else found, np.int64)
