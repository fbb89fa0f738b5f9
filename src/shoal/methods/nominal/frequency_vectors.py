"""k-anonymous frequency vectors and the groups of records that they describe.

A method such as SAFE changes the frequency vector: the number of records released with each combination that occurs.
The functions here adjust such a vector to the number of records of the table, evaluate it, improve it by local search,
and turn it into groups. Records keep their combination as far as its new count allows; all others move to released
combinations at least total Hamming distance, so that confidential columns stay with records that hardly change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_tables import ControlTables, Tables, control_tables
from shoal.core.row_classes import Collapsed, collapse, domain_sizes, hamming
from shoal.methods.kernels.vector_search import anneal_vector, round_rare

ASSIGNED_TOGETHER = 2_000  # records; an assignment takes cubic time
COMPILED_FROM = 20_000  # cells; below, compiling takes longer than the loop


@dataclass(frozen=True)
class Vector:
    """The abbreviated frequency vector of a table with the cells of its control tables.

    Parameters
    ----------
    distinct
        The combinations, in the order of SAFE.
    tables
        The cells of the combinations.
    target
        The entry of each cell.
    """

    distinct: Collapsed
    tables: ControlTables
    target: NDArray[np.float64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The original frequency vector y0."""
        return self.distinct.counts

    def error(self, y: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return A y - A y0."""
        return self.tables.totals(y) - self.target

    def chi_square(self, y: NDArray[np.int64]) -> float:
        """Return the chi-square error of the control tables."""
        return float((self.error(y) ** 2 / self.target).sum())

    def distance(self, y: NDArray[np.int64]) -> int:
        """Return the sum of absolute changes of the vector."""
        return int(np.abs(y - self.counts).sum())

    def largest(self, y: NDArray[np.int64], tolerance: NDArray[np.float64]) -> float:
        """Return the largest excess of an error over its tolerance, the objective of P1."""
        return float((np.abs(self.error(y)) - tolerance).max())


def frequency_vector(codes: NDArray[np.int32], tables: Tables = None) -> Vector:
    """Return the frequency vector of a table: attributes in ascending order of domain size, then lexicographic.

    Examples
    --------
    >>> vector = frequency_vector(np.array([[0, 1], [1, 0], [0, 1]], np.int32))
    >>> vector.distinct.rows.tolist(), vector.counts.tolist()
    ([[0, 1], [1, 0]], [2, 1])
    """
    by_size = np.argsort(domain_sizes(codes), kind="stable")
    sorted_rows = collapse(np.ascontiguousarray(codes[:, by_size]))
    rows = np.empty_like(sorted_rows.rows)
    rows[:, by_size] = sorted_rows.rows
    distinct = Collapsed(rows, sorted_rows.counts, sorted_rows.inverse)
    cells = control_tables(rows, tables)
    return Vector(distinct, cells, cells.totals(distinct.counts))


def adjusted_vector(vector: Vector, y: NDArray[np.int64], k: int, total: int) -> NDArray[np.int64]:
    """Return the vector with entries 0 or at least k and the given sum, changed where the chi-square error rises least.

    Examples
    --------
    >>> vector = frequency_vector(np.array([[0], [0], [0], [1], [1], [1], [2]], np.int32))
    >>> adjusted_vector(vector, np.array([3, 3, 0]), 3, 7).tolist()
    [4, 3, 0]
    """
    y = y.astype(np.int64).copy()
    small = y.size * len(vector.tables.tables) <= COMPILED_FROM
    round_entries = round_rare.function if small else round_rare
    round_entries(vector.tables.cells, vector.target, vector.tables.totals(y), y, k)
    while y.sum() != total:
        missing = total - int(y.sum())
        if missing > 0:
            open_entries = np.flatnonzero(y >= k)
            if not open_entries.size:
                open_entries, step = np.arange(y.size), missing
            else:
                step = 1
        else:
            open_entries, step = np.flatnonzero(y > k), -1
            if not open_entries.size:
                open_entries, step = np.flatnonzero(y == k), -k
        cheapest = np.argsort(_costs(vector, y, open_entries, step), kind="stable")
        at_once = max(abs(missing) // (4 * abs(step)), 1)
        y[open_entries[cheapest[:at_once]]] += step
    return y


def _costs(vector: Vector, y: NDArray[np.int64], entries: NDArray[np.int64], step: int) -> NDArray[np.float64]:
    """Return the increase of the chi-square error when one of the entries changes by a step."""
    rise = step * (step + 2.0 * vector.error(y)) / vector.target
    return np.asarray(rise[vector.tables.cells[entries]].sum(axis=1))


def search_vector(
    vector: Vector, y: NDArray[np.int64], k: int, *, weight: float, moves: int | None = None, seed: int = 0
) -> NDArray[np.int64]:
    """Return a k-anonymous vector with the same sum and no higher chi-square error plus weight times distance."""
    y = y.astype(np.int64).copy()
    if y.size > 1:
        if moves is None:
            moves = int(min(max(8_000 * y.size, 200_000), 100_000_000, 1e10 / len(vector.tables.tables)))
        best = y.copy()
        anneal_vector(
            vector.tables.cells, vector.target, vector.tables.totals(y), vector.counts, y, best, k, weight, moves,
            np.array([seed], np.uint64),
        )  # fmt: skip
        return best
    return y


def groups_of_vector(vector: Vector, y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each record and the representative of each group when the vector y is released.

    All records that receive the same combination form a group; its representative is the first record that has the
    combination in the original table.

    Examples
    --------
    >>> vector = frequency_vector(np.array([[0], [1], [0], [0]], np.int32))
    >>> groups_of_vector(vector, np.array([4, 0]))
    (array([0, 0, 0, 0]), array([0]))
    """
    distinct = vector.distinct
    order = np.argsort(distinct.inverse, kind="stable")
    starts = np.cumsum(distinct.counts) - distinct.counts
    first = order[starts]
    rank = np.empty(order.size, np.int64)  # among the records of the same combination
    rank[order] = np.arange(order.size) - np.repeat(starts, distinct.counts)
    entry = distinct.inverse.copy()
    moving = np.flatnonzero(rank >= y[distinct.inverse])
    moving = moving[np.lexsort((moving, distinct.inverse[moving]))]
    free = np.repeat(np.arange(y.size), np.maximum(y - distinct.counts, 0))
    for start in range(0, moving.size, ASSIGNED_TOGETHER):
        records, targets = moving[start : start + ASSIGNED_TOGETHER], free[start : start + ASSIGNED_TOGETHER]
        entry[records] = targets[_least_distance(distinct.rows, distinct.inverse[records], targets)]
    released, labels = np.unique(entry, return_inverse=True)
    return labels.reshape(-1).astype(np.int64), first[released]


def _least_distance(rows: NDArray[Any], sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the target of each source such that the sum of Hamming distances is least."""
    from scipy.optimize import linear_sum_assignment

    _, columns = linear_sum_assignment(hamming(rows[sources], rows[targets]))
    return np.asarray(columns, np.int64)
