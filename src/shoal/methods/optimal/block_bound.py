"""A lower bound for tables that are too large for one linear program, from blocks.

Give each record a dual value y, such that no possible group costs less than the sum of y over its records. Then no
grouping costs less than the sum of all y, since it holds each record once. Any dual values with this property give a
valid bound:

1. **at first from nearest neighbours** (``neighbour_dual_values``), which have the property;
2. **then from a block**: the records are cut into small cells of neighbouring groups. For each cell the linear program
   of ``linear_bound`` is solved over the cell and the groups around it, and gives the dual values of the records of the
   cell. The groups around it are included because groups of the table may cross the border of the cell;
3. **groups across blocks may now have a negative reduced cost.** Pricing over the complete table finds them, a linear
   program lowers the dual values of their records by as little as possible, and so on for a few rounds;
4. **what is left** is at most -r_i below each root i (see ``linear_bound``): with at most n/k groups, the n/k lowest
   of the r_i are added to the sum of y.

The proof needs step 4 only. It holds for any dual values, so the work can stop at any time: the records of a block that
was not solved keep the dual values from their neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import get_threads, run_in_threads
from shoal.methods.kernels.centroids import group_costs
from shoal.methods.optimal.linear_bound import GroupRelaxation
from shoal.methods.optimal.neighbour_bound import neighbour_dual_values
from shoal.methods.optimal.sse_pricing import RELATIVE_TOLERANCE, SsePricer
from shoal.methods.programs.restricted_master import Duals, no_cuts
from shoal.methods.refinement.sse_annealing import cells_of_groups

CELL_RECORDS = 250  # whose dual values come from one block
NEIGHBOURS = 8  # nearest records of a record whose groups belong to the block
REPAIR_ROUNDS = 12
MOST_NODES = 20_000  # below one root,
FEWEST_NODES = 20  # below one root,
NODES_PER_SECOND = 200_000.0
SHARE_OF_BLOCKS = 0.5  # of the time
BATCH_BLOCKS = 16  # blocks between two checks of the deadline


def block_bound(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    *,
    deadline: Deadline | None = None,
    progress: Progress = SILENT,
) -> float:
    """Return a lower bound on the squared error of every grouping into groups of at least k records.

    Parameters
    ----------
    points
        n x d, centred.
    labels
        A good grouping, numbered from 0, of groups of k to 2k-1, from which blocks are made. Its quality decides how
        close the bound is, not whether it is valid.
    k
        Minimum group size.
    deadline
        When to stop. The first pricing of the complete table is done in any case.
    progress
        Progress callback.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> round(block_bound(points - 3.0, np.array([0, 0, 1, 1]), 2), 6)
    1.0
    """
    deadline = deadline or Deadline(None)
    cost = float(group_costs(points, labels).sum())
    if cost <= 0.0:
        return 0.0
    scale = float(2.0 ** np.round(np.log2(labels.size / cost) / 2))  # solvers have absolute tolerances
    return _scaled_bound(points * scale, labels, k, deadline, progress) / scale**2


def _scaled_bound(
    points: NDArray[np.float64], labels: NDArray[np.int64], k: int, deadline: Deadline, progress: Progress
) -> float:
    progress.stage("bounding by neighbours")
    dual_values = neighbour_dual_values(points, k)
    least = float(dual_values.sum())
    dual_values, treated = _from_blocks(points, labels, k, dual_values, deadline.part(SHARE_OF_BLOCKS), progress)
    if not treated:
        return max(least, 0.0)
    progress.stage("repairing across blocks", REPAIR_ROUNDS)
    pricer = SsePricer(points, k)
    best = least
    high, roots, slack = dual_values, np.arange(dual_values.size), np.zeros(dual_values.size)
    for _ in range(REPAIR_ROUNDS):
        limit = _affordable(deadline, roots.size)
        found = pricer.price(Duals(dual_values, no_cuts(dual_values.size)), keep=8, limit=limit, roots=roots, high=high)
        slack[roots] = found.slack[roots]
        lowest = np.sort(slack)[: dual_values.size // k].sum()
        rounding = 1e-11 * float(np.abs(dual_values).sum())
        best = max(best, float(dual_values.sum() + lowest) - rounding)
        progress.advance(1)
        if not len(found.columns) or deadline.expired() or -lowest <= 1e-4 * best:
            break
        roots = np.flatnonzero(
            slack < -2 * RELATIVE_TOLERANCE * np.abs(dual_values).mean()
        )  # lower dual values do not concern the others
        dual_values = dual_values - _reductions(dual_values, found.columns, found.costs)
    return max(best, 0.0)


def _affordable(deadline: Deadline, roots: int) -> int:
    """Return how many nodes below each root can be visited in half of the time that is left."""
    if not deadline.limited:
        return MOST_NODES
    return int(
        min(max(0.5 * deadline.left() * NODES_PER_SECOND * get_threads() / max(roots, 1), FEWEST_NODES), MOST_NODES)
    )


def _from_blocks(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    dual_values: NDArray[np.float64],
    deadline: Deadline,
    progress: Progress,
) -> tuple[NDArray[np.float64], int]:
    """Return the dual values of the records from blocks, and how many blocks were solved in time."""
    from scipy.spatial import cKDTree

    cells = cells_of_groups(points, labels, 0, CELL_RECORDS)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    costs = group_costs(points, labels)
    cells.sort(
        key=lambda records: -costs[np.unique(labels[records])].sum()
    )  # the most costly first: most is gained there
    tree = cKDTree(points)
    dual_values = dual_values.copy()
    progress.stage("bounding by blocks", len(cells))
    done = 0

    def block(records: NDArray[np.int64]) -> NDArray[np.float64] | None:
        near = tree.query(points[records], min(NEIGHBOURS + 1, labels.size))[1]
        groups = np.union1d(labels[records], labels[near])  # a record with many equal ones is not its own neighbour
        records_of_block = np.concatenate([order[starts[g] : starts[g + 1]] for g in groups])
        columns = np.full((groups.size, 2 * k - 1), -1, np.int32)
        begin = 0
        for line, g in zip(columns, groups, strict=True):
            size = starts[g + 1] - starts[g]
            line[:size] = np.arange(begin, begin + size)
            begin += size
        relaxation = GroupRelaxation(points[records_of_block], k, columns, costs[groups])
        relaxation.solve(deadline)
        if relaxation.best is None:
            return None
        sorter = np.argsort(records_of_block)
        return np.asarray(relaxation.best.elements[sorter[np.searchsorted(records_of_block[sorter], records)]])

    for begin in range(0, len(cells), BATCH_BLOCKS):
        if deadline.expired():
            break
        some = cells[begin : begin + BATCH_BLOCKS]
        for records, found in zip(some, run_in_threads(block, some), strict=True):
            progress.advance(1)
            if found is not None:
                dual_values[records] = found
                done += 1
    return dual_values, done


def _reductions(
    dual_values: NDArray[np.float64], columns: NDArray[np.int32], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least reductions of dual values after which no listed group has a negative reduced cost."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    line, position = np.nonzero(columns >= 0)
    names, number = np.unique(columns[line, position], return_inverse=True)
    holds = csr_array((np.ones(line.size), (line, number)), shape=(len(columns), names.size))
    missing = np.append(dual_values, 0.0)[columns].sum(axis=1) - costs
    solved = linprog(np.ones(names.size), A_ub=-holds, b_ub=-np.maximum(missing, 0.0), method="highs")
    taken = np.zeros(dual_values.size)
    taken[names] = np.maximum(solved.x, 0.0)
    return taken
