"""The best frequency vector there is: P1, P2, P3 and P9 of Cost 2023 as linear integer programs.

Every entry is 0 or at least k, and the sum is given. Minimised is either the largest excess of a cell's error over its
tolerance (P1, SAFE-ex; P2 with any sum), that plus w times the distance from the original vector (P3, mSAFE-ex), or the
chi-square error plus w times the distance (P9, Chi-ex). Beyond the thesis: a cell, too, is empty or has at least k
records, so the chords that replace its chi-square error run from 0 to k and from there in steps of one, which closes
most of the gap; a cell of one combination uses the binary variable of that combination; and a known vector bounds how
far any cell can be off. The number of binaries is that of the combinations: hundreds, not thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.methods.nominal.vectors import Vector
from shoal.methods.optimal.mixed_integer import Program, Solved


@dataclass(frozen=True)
class VectorSolution:
    """What an exact program found.

    Parameters
    ----------
    y
        The best vector; None if there is none (or none was found in time).
    value
        Its objective; infinite without a vector.
    bound
        No vector has a lower objective.
    optimal
        Whether that was proven; without a vector: whether none exists.
    """

    y: NDArray[np.int64] | None
    value: float
    bound: float
    optimal: bool


def largest_error_vector(
    vector: Vector,
    k: int,
    *,
    tolerance: NDArray[np.float64],
    weight: float = 0.0,
    total: int | None = None,
    start: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
) -> VectorSolution:
    """Minimise the largest excess of an error over its tolerance (P1, P2; with a weight P3).

    Parameters
    ----------
    vector
        The original vector and its cells.
    k
        Entries are 0 or at least k.
    tolerance
        The error that costs nothing, for every cell.
    weight
        What one record of distance from the original vector costs: 0 for P1 and P2, 1/n for P3.
    total
        The sum of the vector; the number of records if not given.
    start
        A vector that is known.
    time_limit
        Seconds; then the best vector found so far is returned with the bound that was reached.

    Examples
    --------
    >>> from shoal.methods.nominal.vectors import frequency_vector
    >>> vector = frequency_vector(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0))
    >>> largest_error_vector(vector, 3, tolerance=np.zeros(3)).y.tolist()
    [4, 0, 4]
    """
    total = int(vector.counts.sum()) if total is None else total
    program = Program()
    ceiling = np.inf
    if start is not None:
        ceiling = vector.largest(start, tolerance) + weight * vector.distance(start)
    reach = ceiling + tolerance
    low, high = np.maximum(vector.target - reach, 0.0), np.minimum(vector.target + reach, total)
    y, s = _entries(program, vector, k, high, total)
    _distance(program, vector, y, s, weight, k)
    mu = program.variables(1, cost=1.0, lower=-np.inf)
    for members, cells in cells_by_members(vector):
        t = cells[np.argmin(tolerance[cells])]
        members = y + members
        ones = np.ones(members.size)
        target, slack = vector.target[t], tolerance[t]
        program.row(np.append(members, mu), np.append(ones, 1.0), lower=target - slack)
        program.row(np.append(members, mu), np.append(ones, -1.0), upper=target + slack)
        if np.isfinite(ceiling):
            program.row(members, ones, lower=np.ceil(low[t] - 1e-6), upper=np.floor(high[t] + 1e-6))
    known = None
    if start is not None:
        known = _known(vector, start, k, weight, [vector.largest(start, tolerance)])
    solved = program.solve(start=known, time_limit=time_limit)
    constant = _constant(vector, weight, k)
    return _solution(
        solved, vector, start, constant, lambda y: vector.largest(y, tolerance) + weight * vector.distance(y)
    )


def chi_square_vector(
    vector: Vector,
    k: int,
    *,
    weight: float,
    start: NDArray[np.int64],
    time_limit: float | None = None,
) -> VectorSolution:
    """Minimise the chi-square error of the control tables plus weight times the distance from the original (P9).

    Parameters
    ----------
    vector
        The original vector and its cells.
    k
        Entries are 0 or at least k.
    weight
        What one record of distance from the original vector costs.
    start
        A vector that is known, with the sum of the original; the better, the smaller the program.
    time_limit
        Seconds; then the best vector found so far is returned with the bound that was reached.

    Examples
    --------
    >>> from shoal.methods.nominal.vectors import frequency_vector
    >>> vector = frequency_vector(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0))
    >>> chi_square_vector(vector, 3, weight=0.125, start=np.array([4, 0, 4])).y.tolist()
    [3, 0, 5]
    """
    total = int(vector.counts.sum())
    ceiling = vector.chi_square(start) + weight * vector.distance(start)
    reach = np.sqrt(ceiling * vector.target) + 1e-6
    high = np.minimum(np.floor(vector.target + reach), total)
    program = Program()
    y, s = _entries(program, vector, k, high, total)
    _distance(program, vector, y, s, weight, k)
    alike = cells_by_members(vector)
    first = program.variables(len(alike), cost=[float(cells.size) for _, cells in alike])
    for q, (members, cells) in enumerate(alike, first):
        t = cells[0]
        low = max(np.ceil(vector.target[t] - reach[t]), 0.0)
        _cell_error(program, q, y + members, s + members, vector.target[t], k, low, high[t])
    errors = vector.error(start) ** 2 / vector.target
    known = _known(vector, start, k, weight, errors[[cells[0] for _, cells in alike]])
    solved = program.solve(start=known, time_limit=time_limit)
    constant = _constant(vector, weight, k)
    return _solution(solved, vector, start, constant, lambda y: vector.chi_square(y) + weight * vector.distance(y))


def cells_by_members(vector: Vector) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the sets of combinations that make up cells, each with the cells that have exactly these.

    Such cells, of tables of different attributes, have the same entry whatever happens, and need one variable.

    Examples
    --------
    >>> from shoal.methods.nominal.vectors import frequency_vector
    >>> vector = frequency_vector(np.array([[0, 0], [0, 1], [1, 2]], np.int32))
    >>> [(members.tolist(), cells.tolist()) for members, cells in cells_by_members(vector)][1]
    ([2], [1, 4, 7])
    """
    matrix = vector.tables.matrix().tocsr()
    matrix.sort_indices()
    alike: dict[bytes, list[int]] = {}
    for t in range(vector.tables.size):
        alike.setdefault(matrix.indices[matrix.indptr[t] : matrix.indptr[t + 1]].tobytes(), []).append(t)
    return [
        (matrix.indices[matrix.indptr[cells[0]] : matrix.indptr[cells[0] + 1]].astype(np.int64), np.array(cells))
        for cells in alike.values()
    ]


def _entries(program: Program, vector: Vector, k: int, high: NDArray[np.float64], total: int) -> tuple[int, int]:
    """Add y and the binaries s that say which entries are not 0."""
    n = vector.counts.size
    most = high[vector.tables.cells].min(axis=1) if vector.tables.cells.shape[1] else np.full(n, float(total))
    most = np.floor(np.minimum(most, total) + 1e-6)
    y = program.variables(n, upper=np.maximum(most, 0.0), whole=True)
    s = program.variables(n, upper=(most >= k).astype(np.float64), whole=True)
    for i in range(n):
        program.row([y + i, s + i], [1.0, -float(k)], lower=0.0)
        program.row([y + i, s + i], [1.0, -float(max(most[i], k))], upper=0.0)
    program.row(np.arange(y, y + n), np.ones(n), lower=total, upper=total)
    return y, s


def _distance(program: Program, vector: Vector, y: int, s: int, weight: float, k: int) -> None:
    """Add weight |y - y0|: for a rare entry y - 2 y0 s plus a constant, otherwise a variable above both sides."""
    if weight == 0:
        return
    for i, count in enumerate(vector.counts.tolist()):
        if count < k:
            program.add_cost(y + i, weight)
            program.add_cost(s + i, -2.0 * weight * count)
        else:
            d = program.variables(1, cost=weight)
            program.row([d, y + i], [1.0, -1.0], lower=-count)
            program.row([d, y + i], [1.0, 1.0], lower=count)


def _constant(vector: Vector, weight: float, k: int) -> float:
    return weight * float(vector.counts[vector.counts < k].sum())


def _known(
    vector: Vector, start: NDArray[np.int64], k: int, weight: float, rest: NDArray[np.float64] | list[float]
) -> NDArray[np.float64]:
    """Return all variables of a vector that is known."""
    common = vector.counts >= k
    distances = np.abs(start - vector.counts)[common] if weight else np.empty(0)
    return np.concatenate([start, start > 0, distances, rest]).astype(np.float64)


def _cell_error(
    program: Program,
    q: int,
    members: NDArray[np.int64],
    used: NDArray[np.int64],
    target: float,
    k: int,
    low: float,
    high: float,
) -> None:
    """Add q >= the chi-square error of a cell, exact at 0 and at all entries from k to high."""
    entries = np.arange(max(k, low - 1), max(k, high) + 1)
    error = (entries - target) ** 2 / target
    slopes = np.diff(error)
    ones = np.ones(members.size)
    if members.size == 1:  # target (1 - s) + (height - slope entry) s + slope y
        for slope, entry, height in zip(slopes, entries, error, strict=False):
            factors = [-slope, target - (height - slope * entry), 1.0]
            program.row([members[0], used[0], q], factors, lower=target)
        if entries.size == 1:
            program.row([used[0], q], [target - error[0], 1.0], lower=target)
        return
    if low < k:
        slope = (error[0] - target) / entries[0]
        program.row(np.append(members, q), np.append(-slope * ones, 1.0), lower=target)
    for slope, entry, height in zip(slopes, entries, error, strict=False):
        program.row(np.append(members, q), np.append(-slope * ones, 1.0), lower=height - slope * entry)
    if low >= k:
        program.row(members, ones, lower=low)


def _solution(
    solved: Solved,
    vector: Vector,
    start: NDArray[np.int64] | None,
    constant: float,
    objective: Callable[[NDArray[np.int64]], float],
) -> VectorSolution:
    y = None if solved.x is None else np.rint(solved.x[: vector.counts.size]).astype(np.int64)
    if start is not None and (y is None or objective(start) <= objective(y) + 1e-9):  # whatever the clock did
        y = start
    value = np.inf if y is None else float(objective(y))
    optimal = solved.optimal and (start is None or solved.x is not None)
    bound = value if optimal and y is not None else solved.bound + constant
    return VectorSolution(y, value, min(bound, value), optimal)
