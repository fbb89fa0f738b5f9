"""The partitioning problem of distinct nominal rows: initial dual values, initial groups, and labels of records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import canonical_labels
from shoal.core.row_classes import Collapsed
from shoal.methods.nominal.hamming_exchange import exchange
from shoal.methods.nominal.integer_construction import construct

OBJECTIVE = "within-group distance"


class Problem(NamedTuple):
    """Distinct rows: their distances and counts, k, and the step of all distances (0 if unknown)."""

    distance: NDArray[np.float64]
    counts: NDArray[np.int64]
    k: int
    step: float


def nearest_duals(problem: Problem) -> NDArray[np.float64]:
    """Return dual values that are feasible without any search: half the distances of each row to its k-1 nearest.

    Each row shares its group with at least k-1 others, so no group costs less than the dual values of its rows.

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
    """Return initial groups: rows far from all others first, then exchanges.

    If every row occurs at least k times, groups hold equal rows only, which is optimal.

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
    deadline: Deadline | None = None,
) -> NDArray[np.int32]:
    """Return the groups of Algorithm 7 after exchanges; most copies of frequent rows form groups of their own."""
    distance, counts, k, _ = problem
    aside = np.maximum(counts // k - 2, 0)
    pure = np.full((int(aside.sum()), 2 * k - 1), -1, np.int32)
    pure[:, :k] = np.repeat(np.arange(counts.size), aside)[:, None]
    gamma, lambda_ = parameters
    columns = construct(
        distance, duals, counts - k * aside, k, gamma=gamma, lambda_=lambda_, exact=exact, deadline=deadline
    )  # fmt: skip
    return np.vstack([exchange(columns, distance, k), pure])


def record_labels(columns: NDArray[np.int32], table: Collapsed) -> NDArray[np.int64]:
    """Return the group of each record; equal records are assigned in ascending order."""
    labels = np.empty(table.inverse.size, np.int64)
    groups = np.nonzero(columns >= 0)[0]
    order = np.argsort(columns[columns >= 0], kind="stable")
    labels[np.argsort(table.inverse, kind="stable")] = groups[order]
    return canonical_labels(labels)


def simple_bound(problem: Problem) -> float:
    """Return a lower bound of the within-group distance that needs no search, from :func:`nearest_duals`.

    Examples
    --------
    >>> simple_bound(Problem(np.array([[0.0, 1, 3], [1, 0, 3], [3, 3, 0]]), np.array([1, 1, 1]), 2, 1.0))
    3.0
    """
    bound = float(nearest_duals(problem) @ problem.counts)
    return float(np.ceil(bound / problem.step - 1e-6) * problem.step) if problem.step else bound
