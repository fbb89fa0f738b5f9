"""The partitioning problem of distinct nominal rows, duals and clusterings to begin with, and the way to labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.row_classes import Collapsed
from shoal.methods.nominal.hamming_exchange import exchange
from shoal.methods.nominal.integer_construction import construct
from shoal.methods.programs.restricted_master import Clock


class Problem(NamedTuple):
    """Distinct rows: their distances, how often each occurs, k, and the step of all weights (0 if unknown)."""

    distance: NDArray[np.float64]
    counts: NDArray[np.int64]
    k: int
    step: float


def nearest_duals(problem: Problem) -> NDArray[np.float64]:
    """Return duals that are feasible without any search: half the distances of each row to its k-1 nearest others.

    Each row has at least k-1 companions, so no cluster weighs less than what its rows are worth.

    Examples
    --------
    >>> nearest_duals(Problem(np.array([[0.0, 1, 3], [1, 0, 3], [3, 3, 0]]), np.array([1, 1, 1]), 2, 1.0)).tolist()
    [0.5, 0.5, 1.5]
    """
    distance, counts, k, _ = problem
    order = np.argsort(distance, axis=1, kind="stable")
    near = np.take_along_axis(distance, order, axis=1)
    available = counts[order] - (order == np.arange(counts.size)[:, None])
    taken = np.diff(np.minimum(np.cumsum(available, axis=1), k - 1), axis=1, prepend=0)
    half: NDArray[np.float64] = (near * taken).sum(axis=1) / 2
    return half


def start_columns(problem: Problem, duals: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return a clustering to begin with: rows far from all others first, then exchanges.

    Where every row occurs k times or more it is the best there is: equal rows only.

    Examples
    --------
    >>> problem = Problem(np.array([[0.0, 1], [1, 0]]), np.array([2, 5]), 2, 1.0)
    >>> start_columns(problem, np.zeros(2)).tolist()
    [[0, 0, -1], [1, 1, 1], [1, 1, -1]]
    """
    counts, k = problem.counts, problem.k
    if counts.min() < k:
        return build_columns(problem, 4 * duals, (1.0, 0.0), exact=False)
    rows = np.repeat(np.arange(counts.size), counts // k)
    sizes = np.full(rows.size, k)
    sizes[np.searchsorted(rows, np.arange(counts.size))] += counts % k
    return np.where(np.arange(2 * k - 1) < sizes[:, None], rows[:, None], -1).astype(np.int32)


def build_columns(
    problem: Problem,
    duals: NDArray[np.float64],
    parameters: tuple[float, float],
    *,
    exact: bool,
    clock: Clock | None = None,
) -> NDArray[np.int32]:
    """Return the clustering of Algorithm 7 after exchanges; most copies of frequent rows are set aside first."""
    distance, counts, k, _ = problem
    aside = np.maximum(counts // k - 2, 0)
    pure = np.full((int(aside.sum()), 2 * k - 1), -1, np.int32)
    pure[:, :k] = np.repeat(np.arange(counts.size), aside)[:, None]
    gamma, lambda_ = parameters
    columns = construct(
        distance, duals, counts - k * aside, k, gamma=gamma, lambda_=lambda_, exact=exact, clock=clock
    )  # fmt: skip
    return np.vstack([exchange(columns, distance, k), pure])


def labels_of(columns: NDArray[np.int32], table: Collapsed) -> NDArray[np.int64]:
    """Return the group of each record: equal records are handed out in ascending order."""
    labels = np.empty(table.inverse.size, np.int64)
    groups = np.nonzero(columns >= 0)[0]
    order = np.argsort(columns[columns >= 0], kind="stable")
    labels[np.argsort(table.inverse, kind="stable")] = groups[order]
    return canonical_labels(labels)
