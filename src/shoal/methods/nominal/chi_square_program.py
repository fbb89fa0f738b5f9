"""The frequency vector with the least chi-square error: P9 of Cost 2023 as a linear integer program.

Every entry is 0 or at least k, and the sum is given; the objective is the chi-square error of the control tables plus w
times the distance from the original vector. Beyond Cost 2023: a cell, too, is empty or has at least k records, so the
chords that replace its chi-square error run from 0 to k and from there in steps of one, which closes most of the gap; a
cell of one combination uses the binary variable of that combination; and a known vector bounds the error of any cell.
The number of binary variables is that of the combinations: hundreds, not thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.nominal.frequency_vectors import Vector
from shoal.methods.programs.chord_bounds import WIDTHS, near
from shoal.methods.programs.mixed_integer import Program, Solved


@dataclass(frozen=True)
class VectorSolution:
    """The solution of a program over frequency vectors.

    Parameters
    ----------
    y
        The best vector; None if none exists or none was found in time.
    value
        Its objective; infinite without a vector.
    bound
        A lower bound of the objective of all vectors; minus infinity if nothing was proven.
    optimal
        Whether the vector is proven to be optimal; without a vector: whether none exists.
    """

    y: NDArray[np.int64] | None
    value: float
    bound: float
    optimal: bool


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
        Cost of one record of distance from the original vector.
    start
        A known vector with the sum of the original; the better it is, the smaller the program.
    time_limit
        Seconds after which the best vector so far is returned with the bound so far.

    Examples
    --------
    >>> from shoal.methods.nominal.frequency_vectors import frequency_vector
    >>> vector = frequency_vector(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0))
    >>> chi_square_vector(vector, 3, weight=0.125, start=np.array([4, 0, 4])).y.tolist()
    [3, 0, 5]
    """

    def objective(y: NDArray[np.int64]) -> float:
        return vector.chi_square(y) + weight * vector.distance(y)

    deadline = Deadline(time_limit)
    distinct_cells = cells_by_members(vector)
    best, value, bound, optimal = start, objective(start), 0.0, False
    for width in WIDTHS:
        left = deadline.left() if deadline.limited else None
        solved = _chi_square_program(vector, k, weight, distinct_cells, best, width, left)
        bound = max(bound, solved.bound + distance_constant(vector, weight, k))
        if solved.x is not None:
            y = np.rint(solved.x[: vector.counts.size]).astype(np.int64)
            if objective(y) < value - 1e-9:  # otherwise the known vector, independent of the time limit
                best, value = y, objective(y)
        optimal = solved.optimal and value <= bound + 1e-6
        if optimal or not solved.optimal:
            break
    return VectorSolution(best, value, value if optimal else min(bound, value), optimal)


def _chi_square_program(
    vector: Vector,
    k: int,
    weight: float,
    distinct_cells: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    start: NDArray[np.int64],
    width: float,
    time_limit: float | None,
) -> Solved:
    """Solve P9 with the chords near the targets: exactly if the width is infinite, otherwise a relaxation."""
    total = int(vector.counts.sum())
    ceiling = vector.chi_square(start) + weight * vector.distance(start)
    reach = np.sqrt(ceiling * vector.target) + 1e-6
    high = np.minimum(np.floor(vector.target + reach), total)
    program = Program()
    y, s = add_entries(program, vector, k, high, total)
    add_distance(program, vector, y, s, weight, k)
    first = program.variables(len(distinct_cells), cost=[float(cells.size) for _, cells in distinct_cells])
    for q, (members, cells) in enumerate(distinct_cells, first):
        t = cells[0]
        low = max(np.ceil(vector.target[t] - reach[t]), 0.0)
        _cell_error(program, q, y + members, s + members, vector.target[t], k, low, high[t], width)
    errors = vector.error(start) ** 2 / vector.target
    known = known_values(vector, start, k, weight, errors[[cells[0] for _, cells in distinct_cells]])
    return program.solve(start=known, time_limit=time_limit)


def cells_by_members(vector: Vector) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the sets of combinations that make up cells, each with the cells that consist of exactly these.

    Such cells, of tables of different attributes, always have the same entry and need one variable.

    Examples
    --------
    >>> from shoal.methods.nominal.frequency_vectors import frequency_vector
    >>> vector = frequency_vector(np.array([[0, 0], [0, 1], [1, 2]], np.int32))
    >>> [(members.tolist(), cells.tolist()) for members, cells in cells_by_members(vector)][1]
    ([2], [1, 4, 7])
    """
    matrix = vector.tables.matrix().tocsr()
    matrix.sort_indices()
    cells_of: dict[bytes, list[int]] = {}
    for t in range(vector.tables.size):
        cells_of.setdefault(matrix.indices[matrix.indptr[t] : matrix.indptr[t + 1]].tobytes(), []).append(t)
    return [
        (matrix.indices[matrix.indptr[cells[0]] : matrix.indptr[cells[0] + 1]].astype(np.int64), np.array(cells))
        for cells in cells_of.values()
    ]


def add_entries(program: Program, vector: Vector, k: int, high: NDArray[np.float64], total: int) -> tuple[int, int]:
    """Add y and the binary variables s, which are 1 where an entry is positive."""
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


def add_distance(program: Program, vector: Vector, y: int, s: int, weight: float, k: int) -> None:
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


def distance_constant(vector: Vector, weight: float, k: int) -> float:
    """Return the constant part of the weighted distance, which :func:`add_distance` leaves out."""
    return weight * float(vector.counts[vector.counts < k].sum())


def known_values(
    vector: Vector, start: NDArray[np.int64], k: int, weight: float, rest: NDArray[np.float64] | list[float]
) -> NDArray[np.float64]:
    """Return the values of all variables for a known vector."""
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
    width: float,
) -> None:
    """Add q >= the chi-square error of a cell, exact at 0 and at the entries from k to high near the target."""
    entries = near(np.arange(max(k, low - 1), max(k, high) + 1), target, width)
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
        slope = ((k - target) ** 2 / target - target) / k
        program.row(np.append(members, q), np.append(-slope * ones, 1.0), lower=target)
    for slope, entry, height in zip(slopes, entries, error, strict=False):
        program.row(np.append(members, q), np.append(-slope * ones, 1.0), lower=height - slope * entry)
    if low >= k:
        program.row(members, ones, lower=low)
