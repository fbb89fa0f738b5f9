"""A lower bound for tables that are too large for one linear program, from blocks.

Give each record a worth y, such that no possible group costs less than its records are worth together. Then no grouping
costs less than the sum of all y, since it holds each record once. That is all a bound needs, so the worth of each
record may come from wherever it likes:

1. **at first from its nearest neighbours** (``instant_bound``), which is worth that no group undercuts;
2. **then from a block**: the records are cut into small cells of neighbouring groups. For each cell the linear program
   of ``column_bound`` is solved over the cell and the groups around it, and its duals are the worth of the records
   of the cell. Those around it only keep the border from looking like the end of the world;
3. **groups across blocks may now cost less than they are worth.** Pricing over the whole table finds them, a linear
   program takes away as little worth as it can from their records, and so on for a few rounds;
4. **what is left** is at most -r_i below each root i (see ``column_bound``): with at most n/k groups, the n/k lowest
   of the r_i are added to the sum of y.

The proof needs step 4 alone. It holds for any worth, so the work can stop at any time: a block that was never solved
keeps the worth from its neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.threads import get_threads, run_in_threads
from shoal.methods.optimal.linear_bound import Relaxation
from shoal.methods.optimal.neighbour_bound import instant_worth
from shoal.methods.optimal.sse_annealing import cells_of_groups, group_costs
from shoal.methods.optimal.sse_pricing import HAIR, Pricer
from shoal.methods.programs.restricted_master import Clock, Duals, no_cuts

CELL = 250  # records whose worth comes from one block
AROUND = 8  # nearest neighbours of a record whose groups belong to the block
ROUNDS = 12  # of repair
NODES = 20_000  # below one root at most,
FEWEST = 20  # at least,
SPEED = 200_000.0  # and in a second
BLOCKS = 0.5  # the share of the time that the blocks get
BATCH = 16  # blocks between two looks at the clock


def block_bound(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    clock: Clock | None = None,
    progress: Progress = SILENT,
) -> float:
    """Return a number that the squared error of no grouping into groups of k and more is below.

    Parameters
    ----------
    points
        n x d, centred.
    labels
        A good grouping, numbered from 0, of groups of k to 2k-1: it says what a block is. Its quality decides how good
        the bound is, not whether it is right.
    k
        The smallest group.
    clock
        When to stop. The first pricing of the whole table is done in any case.
    progress
        Hears how far the work is.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> round(block_bound(points - 3.0, np.array([0, 0, 1, 1]), 2), 6)
    1.0
    """
    clock = clock or Clock(None)
    cost = float(group_costs(points, labels).sum())
    if cost <= 0.0:
        return 0.0
    scale = float(2.0 ** np.round(np.log2(labels.size / cost) / 2))  # solvers have absolute tolerances
    return _scaled_bound(points * scale, labels, k, clock, progress) / scale**2


def _scaled_bound(
    points: NDArray[np.float64], labels: NDArray[np.int64], k: int, clock: Clock, progress: Progress
) -> float:
    progress.stage("bounding by neighbours")
    worth = instant_worth(points, k)
    least = float(worth.sum())
    worth, treated = _from_blocks(points, labels, k, worth, clock.part(BLOCKS), progress)
    if not treated:
        return max(least, 0.0)
    progress.stage("repairing across blocks", ROUNDS)
    pricer = Pricer(points, k)
    best = least
    high, roots, slack = worth, np.arange(worth.size), np.zeros(worth.size)
    for _ in range(ROUNDS):
        limit = _affordable(clock, roots.size)
        found = pricer.price(Duals(worth, no_cuts(worth.size)), keep=8, limit=limit, roots=roots, high=high)
        slack[roots] = found.slack[roots]
        lowest = np.sort(slack)[: worth.size // k].sum()
        rounding = 1e-11 * float(np.abs(worth).sum())
        best = max(best, float(worth.sum() + lowest) - rounding)
        progress.advance(1)
        if not len(found.columns) or clock.expired() or -lowest <= 1e-4 * best:
            break
        roots = np.flatnonzero(slack < -2 * HAIR * np.abs(worth).mean())  # less worth changes nothing for the others
        worth = worth - _too_much(worth, found.columns, found.costs)
    return max(best, 0.0)


def _affordable(clock: Clock, roots: int) -> int:
    """Return how many nodes below each root can be looked at in half of the time that is left."""
    if not np.isfinite(clock.seconds):
        return NODES
    return int(min(max(0.5 * clock.left() * SPEED * get_threads() / max(roots, 1), FEWEST), NODES))


def _from_blocks(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    worth: NDArray[np.float64],
    clock: Clock,
    progress: Progress,
) -> tuple[NDArray[np.float64], int]:
    """Return the worth of the records by blocks, and how many blocks there was time for."""
    from scipy.spatial import cKDTree

    cells = cells_of_groups(points, labels, 0, CELL)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    costs = group_costs(points, labels)
    cells.sort(key=lambda records: -costs[np.unique(labels[records])].sum())  # the dearest first: most is to gain there
    tree = cKDTree(points)
    worth = worth.copy()
    progress.stage("bounding by blocks", len(cells))
    done = 0

    def block(records: NDArray[np.int64]) -> NDArray[np.float64] | None:
        near = tree.query(points[records], min(AROUND + 1, labels.size))[1]
        groups = np.union1d(labels[records], labels[near])  # records hidden behind equal ones are not among the nearest
        everybody = np.concatenate([order[starts[g] : starts[g + 1]] for g in groups])
        columns = np.full((groups.size, 2 * k - 1), -1, np.int32)
        begin = 0
        for line, g in zip(columns, groups, strict=True):
            size = starts[g + 1] - starts[g]
            line[:size] = np.arange(begin, begin + size)
            begin += size
        relaxation = Relaxation(points[everybody], k, columns, costs[groups])
        relaxation.solve(clock)
        if relaxation.best is None:
            return None
        sorter = np.argsort(everybody)
        return np.asarray(relaxation.best.elements[sorter[np.searchsorted(everybody[sorter], records)]])

    for begin in range(0, len(cells), BATCH):
        if clock.expired():
            break
        some = cells[begin : begin + BATCH]
        for records, found in zip(some, run_in_threads(block, some), strict=True):
            progress.advance(1)
            if found is not None:
                worth[records] = found
                done += 1
    return worth, done


def _too_much(
    worth: NDArray[np.float64], columns: NDArray[np.int32], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least that has to be taken from the records so that no listed group costs less than it is worth."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    line, place = np.nonzero(columns >= 0)
    names, number = np.unique(columns[line, place], return_inverse=True)
    holds = csr_array((np.ones(line.size), (line, number)), shape=(len(columns), names.size))
    missing = np.append(worth, 0.0)[columns].sum(axis=1) - costs
    solved = linprog(np.ones(names.size), A_ub=-holds, b_ub=-np.maximum(missing, 0.0), method="highs")
    taken = np.zeros(worth.size)
    taken[names] = np.maximum(solved.x, 0.0)
    return taken
