"""The linear relaxation of microaggregation over candidate centres, and the bounds that it proves.

Thaeter 2021, section 9.3 and Figure 9.2. A candidate i is open (y) and records j are assigned to it (x); an open one
has at least k records. Integer solutions are groupings, with the squared distances to the candidates as costs;
fractional ones cost less, and the ratio is the integrality gap. The size is n times the number of candidates: for
tables of a few dozen records. HiGHS is imported when the first program is solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import check_k
from shoal.errors import ParameterError
from shoal.methods.programs.highs import load_highspy, new_highs

MOST_CANDIDATES = 200_000


@dataclass(frozen=True)
class CentreRelaxation:
    """The solution of the program over candidate centres.

    Parameters
    ----------
    value
        The cost of the solution, to the accuracy of the solver.
    bound
        A lower bound on the cost of every solution over these candidates; computed from the dual values, so that it
        does not depend on the accuracy of the solver.
    opened
        y: how much each candidate is open.
    assigned
        x: candidates x records.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> found = relax(points, 2, subset_candidates(points, 2))
    >>> round(found.value, 6), round(found.bound, 6)
    (1.0, 1.0)
    """

    value: float
    bound: float
    opened: NDArray[np.float64]
    assigned: NDArray[np.float64]


def pair_candidates(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the midpoints of all pairs of records; a grouping over them may cost any multiple of the optimum.

    Parameters
    ----------
    points
        n x d.

    Returns
    -------
    candidates
        c x d, possible centres of groups.

    Examples
    --------
    >>> pair_candidates(np.array([[0.0], [2.0], [6.0]])).ravel()
    array([1., 3., 4.])
    """
    first, second = np.triu_indices(len(points), 1)
    return points[first] / 2 + points[second] / 2


def grid_candidates(points: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return a grid of width epsilon over the box of the records; it costs at most n d epsilon²/4 above the optimum.

    Parameters
    ----------
    points
        n x d.
    epsilon
        Width of the grid.

    Returns
    -------
    candidates
        c x d, possible centres of groups.

    Examples
    --------
    >>> grid_candidates(np.array([[0.0, 0.0], [1.0, 0.5]]), 0.5).shape
    (6, 2)
    """
    if not epsilon > 0:
        raise ParameterError(f"epsilon={epsilon} is not possible; choose a number above 0")
    low, high = points.min(axis=0), points.max(axis=0)
    counts = [int(np.ceil(width / epsilon - 1e-9)) + 1 for width in high - low]
    if prod(counts) > MOST_CANDIDATES:
        raise ParameterError(
            f"a grid of width {epsilon} has {prod(counts)} points, more than {MOST_CANDIDATES}; choose a larger epsilon"
        )
    axes = [start + epsilon * np.arange(count) for start, count in zip(low, counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, points.shape[1])


def subset_candidates(points: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the centroids of all sets of k to 2k-1 records: integer solutions then cost as much as their groupings.

    Parameters
    ----------
    points
        n x d.
    k
        Minimum group size.

    Returns
    -------
    candidates
        c x d, possible centres of groups.

    Examples
    --------
    >>> subset_candidates(np.array([[0.0], [2.0], [6.0]]), 2).ravel()
    array([1.        , 2.66666667, 3.        , 4.        ])
    """
    n = len(points)
    sizes = range(k, min(2 * k, n + 1))
    number = sum(comb(n, size) for size in sizes)
    if number > MOST_CANDIDATES:
        raise ParameterError(
            f"{n} records have {number} sets of {k} to {2 * k - 1}, more than {MOST_CANDIDATES}; use grid_candidates"
        )
    centroids = [points[list(members)].mean(axis=0) for size in sizes for members in combinations(range(n), size)]
    return np.unique(np.array(centroids), axis=0)


def relax(
    points: NDArray[np.float64],
    k: int,
    candidates: NDArray[np.float64],
    *,
    max_size: int | None = None,
    integer: bool = False,
) -> CentreRelaxation:
    """Solve the program of Figure 9.2 over candidate centres.

    Parameters
    ----------
    points
        n x d.
    k
        Minimum group size.
    candidates
        c x d, the possible centres of groups.
    max_size
        Maximum group size, condition (6); at least 2k-1. Two groups may then need the same centre, so y is not limited
        to 1.
    integer
        Whether y and x must be integers.

    Returns
    -------
    relaxation
        Value, bound, and the solution.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [1.0]])
    >>> relax(points, 3, pair_candidates(points)).value  # the optimum is 2/3
    0.75
    """
    check_k(k, len(points))
    if max_size is not None and max_size < 2 * k - 1:
        raise ParameterError(
            f"max_size={max_size} is not possible; choose at least 2k-1={2 * k - 1}, or some tables have no grouping"
        )
    squares = np.zeros((len(candidates), len(points)))
    for j in range(points.shape[1]):
        squares += (candidates[:, j, None] - points[None, :, j]) ** 2
    scale = float(squares.max(initial=0.0)) or 1.0
    solver = new_highs(mip_rel_gap=0.0)
    solver.passModel(_model(squares / scale, k, max_size, integer))
    solver.run()
    if solver.getModelStatus().name != "kOptimal":
        raise RuntimeError(f"the linear program ended as {solver.getModelStatus().name}")
    count = len(candidates)
    solution = solver.getSolution()
    x = np.array(solution.col_value)
    value = float(solver.getInfo().objective_function_value) * scale
    if integer:
        bound = float(solver.getInfo().mip_dual_bound) * scale
    else:
        bound = dual_bound(squares, k, np.array(solution.row_dual)[: len(points)] * scale, max_size)
    return CentreRelaxation(value, bound, x[:count], x[count:].reshape(count, len(points)))


def dual_bound(
    squares: NDArray[np.float64], k: int, dual_values: NDArray[np.float64], max_size: int | None = None
) -> float:
    """Return a lower bound on the program from any dual values v of the records (those of condition 1).

    The reduced cost of an open candidate is at least that of its k records of smallest d - v, and of all others with
    d < v. The sum of v plus the negative reduced costs is a bound by weak duality, for any v. With a maximum group
    size, y is limited by n/k in all only, and the least reduced cost is counted that many times.

    Parameters
    ----------
    squares
        Squared distances, candidates x records.
    k
        Minimum group size.
    dual_values
        One number per record.
    max_size
        Maximum group size, condition (6).

    Returns
    -------
    bound
        On the cost of every solution over these candidates.

    Examples
    --------
    >>> dual_bound(np.array([[0.25, 0.25], [1.0, 0.0]]), 2, np.array([0.25, 0.25]))
    0.5
    """
    reduced = np.sort(squares - dual_values, axis=1)
    rest = np.minimum(reduced[:, k : (max_size or squares.shape[1])], 0.0)
    least = np.minimum(reduced[:, :k].sum(axis=1) + rest.sum(axis=1), 0.0)
    if max_size is None:
        return float(dual_values.sum() + least.sum())
    return float(dual_values.sum() + squares.shape[1] // k * least.min(initial=0.0))


def grid_bound(points: NDArray[np.float64], k: int, epsilon: float) -> float:
    """Return a lower bound on the smallest SSE: the relaxation over a grid, less n d epsilon²/4.

    Moving the centroid of a group to the nearest grid point adds |C| times its squared distance, at most d epsilon²/4
    (Thaeter 2021, section 9.3). Groups that share a grid point count as one there, which the program allows since it
    has no maximum group size.

    Parameters
    ----------
    points
        n x d.
    k
        Minimum group size.
    epsilon
        Width of the grid.

    Returns
    -------
    bound
        At least 0.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(grid_bound(points, 2, 0.5), 6)  # the optimum is 1
    0.75
    """
    n, d = points.shape
    bound = relax(points, k, grid_candidates(points, epsilon)).bound
    return max(0.0, bound - 1e-9 * abs(bound) - n * d * epsilon**2 / 4)


def integrality_gap(points: NDArray[np.float64], k: int, candidates: NDArray[np.float64]) -> float:
    """Return the cost of the best integer solution over the candidates divided by that of the relaxation; at least 1.

    Parameters
    ----------
    points
        n x d.
    k
        Minimum group size.
    candidates
        c x d, the possible centres of groups.

    Returns
    -------
    gap
        1 where the relaxation has an integer solution; infinite where its cost is 0 and no integer solution's is.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(integrality_gap(points, 2, subset_candidates(points, 2)), 6)
    1.0
    """
    fractional = relax(points, k, candidates).value
    best = relax(points, k, candidates, integer=True).value
    return best / fractional if fractional > 0 else (np.inf if best > 0 else 1.0)


def _model(squares: NDArray[np.float64], k: int, max_size: int | None, integer: bool) -> Any:
    """Return Figure 9.2 for HiGHS: first all y, then x candidate by candidate; rows (1), (3), (6), (2)."""
    highspy = load_highspy()
    count, n = squares.shape
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    factors: list[NDArray[np.float64]] = []
    candidate, record = np.divmod(np.arange(count * n), n)
    x = count + np.arange(count * n)

    def entries(row: Any, column: Any, factor: float) -> None:
        rows.append(np.asarray(row, np.int64))
        columns.append(np.asarray(column, np.int64))
        factors.append(np.full(rows[-1].size, factor))

    entries(record, x, 1.0)
    limits = [k] if max_size is None else [k, max_size]
    for number, limit in enumerate(limits):
        entries(n + number * count + candidate, x, 1.0)
        entries(n + number * count + np.arange(count), np.arange(count), -float(limit))
    first = n + len(limits) * count
    entries(first + np.arange(count * n), x, 1.0)
    entries(first + np.arange(count * n), candidate, -1.0)
    row, column, factor = np.concatenate(rows), np.concatenate(columns), np.concatenate(factors)
    order = np.lexsort((column, row))

    model = highspy.HighsLp()
    total = first + count * n
    model.num_col_, model.num_row_ = count + count * n, total
    model.col_cost_ = np.concatenate([np.zeros(count), squares.ravel()])
    model.col_lower_ = np.zeros(model.num_col_)
    model.col_upper_ = np.concatenate([np.full(count, 1.0 if max_size is None else np.inf), np.ones(count * n)])
    at_most = np.zeros(total)
    at_most[:n], at_most[n : n + count] = 1.0, np.inf
    at_least = np.full(total, -np.inf)
    at_least[:n], at_least[n : n + count] = 1.0, 0.0
    model.row_lower_, model.row_upper_ = at_least, at_most
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.num_col_, matrix.num_row_ = model.num_col_, total
    matrix.start_ = np.searchsorted(row[order], np.arange(total + 1)).astype(np.int32)
    matrix.index_, matrix.value_ = column[order].astype(np.int32), factor[order]
    if integer:
        model.integrality_ = [highspy.HighsVarType.kInteger] * model.num_col_
    return model
