"""Searches for better groups where cells are missing, by the squared error of the known cells.

The cost of a group is, for each attribute, the squared error of its known cells to their mean: the loss that is
reported where missing cells get the representative of their group. The moves are those of ``mixed_search``; missing
cells cost nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.refinement.mixed_search import HOT, ONE_BLOCK_RECORDS, MixedChain, anneal_mixed
from shoal.methods.refinement.mixed_table import MixedTable, group_figures, mixed_table

Integers = NDArray[np.int64]
COLD_ENOUGH = 1e-9
"""A temperature at which only changes that lower the cost are accepted."""


def observed_table(points: NDArray[np.float64], observed: NDArray[np.bool_]) -> MixedTable:
    """Return coordinates with missing cells as the search reads them."""
    return mixed_table(np.ascontiguousarray(points, np.float64), observed=observed)


def observed_cost(points: NDArray[np.float64], labels: Integers, observed: NDArray[np.bool_]) -> float:
    """Return the squared error of the known cells to the means of the known cells of their groups.

    Examples
    --------
    >>> observed_cost(np.array([[0.0], [2.0], [9.0]]), np.zeros(3, np.int64), np.array([[True], [True], [False]]))
    2.0
    """
    return float(group_figures(observed_table(points, observed), labels).costs.sum())


def descend(
    points: NDArray[np.float64], labels: Integers, k: int, observed: NDArray[np.bool_], *, rounds: int = 30
) -> Integers:
    """Return groups from which no move of one record, and no exchange of two, lowers the cost by much.

    Parameters
    ----------
    points
        Coordinates; missing cells hold any value.
    labels
        Groups of k to 2k-1 records.
    k
        Minimum group size.
    observed
        Which cells are known.
    rounds
        Maximum number of rounds; each visits every record twice.
    """
    table = observed_table(points, observed)
    order = np.argsort(labels, kind="stable")
    chain = MixedChain(table.part(order), np.bincount(labels), k, (0,))
    found, cost = labels.copy(), np.inf
    for _ in range(rounds):
        chain.settle()
        if chain.count < 2:
            break
        found[order] = chain.labels()
        lower = float(group_figures(table, found).costs.sum())
        if not lower < cost:
            break
        cost = lower
    return ordered_labels(found)


def cool(
    points: NDArray[np.float64], labels: Integers, k: int, observed: NDArray[np.bool_], *, passes: int,
    deadline: Deadline, progress: Progress = SILENT,
) -> Integers:  # fmt: skip
    """Return groups refined across the cuts of blocks; the cost never rises."""
    return anneal_mixed(
        observed_table(points, observed), labels, k, passes=passes, sweeps=1, hot=COLD_ENOUGH, cold=COLD_ENOUGH,
        deadline=deadline, progress=progress,
    ).labels  # fmt: skip


def anneal_observed(
    points: NDArray[np.float64], labels: Integers, k: int, observed: NDArray[np.bool_], *, passes: int, sweeps: int,
    block: int, seed: int, progress: Progress = SILENT,
) -> Integers:  # fmt: skip
    """Return groups found by annealing; never worse than the given ones."""
    table = observed_table(points, observed)
    if len(points) <= max(ONE_BLOCK_RECORDS, block):  # one block, which need not be cut anew
        passes, sweeps = min(passes, 1), max(passes, 1) * sweeps
    return anneal_mixed(
        table, labels, k, passes=passes, sweeps=sweeps, hot=HOT, block=block, seed=seed, progress=progress
    ).labels
