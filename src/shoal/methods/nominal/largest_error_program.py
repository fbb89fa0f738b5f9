"""The frequency vector whose largest table error is least: P1, P2 and P3 of Cost 2023.

Every entry is 0 or at least k, and the sum is given. The objective is the largest excess of a cell's error over its
tolerance (P1, SAFE-ex; P2 with any sum), or that plus w times the distance from the original vector (P3, mSAFE-ex).
Errors are integers, so the excess has few possible levels. Beyond Cost 2023, the levels are tried one after the other
from the lowest: at a given level the entry of every cell lies between two numbers, is 0 or at least k, and a cell of at
most h records holds at most h/k combinations. Such a program is solved, or proven infeasible, in a fraction of the time
of the program with the level as a variable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.nominal.chi_square_program import (
    VectorSolution,
    add_distance,
    add_entries,
    cells_by_members,
    distance_constant,
    known_values,
)
from shoal.methods.nominal.frequency_vectors import Vector
from shoal.methods.programs.mixed_integer import Program, Solved

_INFEASIBLE = Solved(None, np.inf, np.inf, optimal=True)


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
        Cost of one record of distance from the original vector: 0 for P1 and P2, 1/n for P3.
    total
        The sum of the vector; by default the number of records.
    start
        A known vector.
    time_limit
        Seconds after which the best vector so far is returned with the bound so far.

    Examples
    --------
    >>> from shoal.methods.nominal.frequency_vectors import frequency_vector
    >>> vector = frequency_vector(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0))
    >>> largest_error_vector(vector, 3, tolerance=np.zeros(3)).value
    1.0
    """

    def objective(y: NDArray[np.int64]) -> float:
        return vector.largest(y, tolerance) + weight * vector.distance(y)

    deadline = Deadline(time_limit)
    total = int(vector.counts.sum()) if total is None else total
    distinct_cells = cells_by_members(vector)
    best, value = start, np.inf if start is None else objective(start)
    rare = np.minimum(vector.counts, k - vector.counts)
    least = weight * float(rare[rare > 0].sum())
    level, highest = -float(tolerance.min()), float(max(vector.target.max(), total) - tolerance.min())
    while level <= highest and level + least < value - 1e-9:
        left = deadline.left() if deadline.limited else None
        solved = _within(vector, k, tolerance, weight, total, distinct_cells, level, best, left)
        if solved.x is not None:
            y = np.rint(solved.x[: vector.counts.size]).astype(np.int64)
            if objective(y) < value - 1e-9:
                best, value = y, objective(y)
        if not solved.optimal:
            at_level = level + max(least, solved.bound + distance_constant(vector, weight, k))
            return VectorSolution(best, value, min(at_level, _next(level, tolerance) + least, value), optimal=False)
        level = _next(level, tolerance)
    return VectorSolution(best, value, value, optimal=True)


def _next(level: float, tolerance: NDArray[np.float64]) -> float:
    """Return the next level that an excess can have: an integer minus one of the tolerances."""
    parts = np.unique(-tolerance % 1.0)
    return float((np.floor(level - parts + 1e-9) + 1 + parts).min())


def _within(
    vector: Vector,
    k: int,
    tolerance: NDArray[np.float64],
    weight: float,
    total: int,
    distinct_cells: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    level: float,
    known: NDArray[np.int64] | None,
    time_limit: float | None,
) -> Solved:
    """Return the vector nearest to the original (for weight 0: any) whose excess errors are at most the level."""
    low = np.maximum(np.ceil(vector.target - level - tolerance - 1e-6), 0.0)
    low[(low > 0) & (low < k)] = k
    high = np.minimum(np.floor(vector.target + level + tolerance + 1e-6), total)
    high[high < k] = 0
    if (low > high).any():
        return _INFEASIBLE
    program = Program()
    y, s = add_entries(program, vector, k, high, total)
    add_distance(program, vector, y, s, weight, k)
    for members, cells in distinct_cells:
        smallest, largest = float(low[cells].max()), float(high[cells].min())
        if smallest > largest:
            return _INFEASIBLE
        ones = np.ones(members.size)
        program.row(y + members, ones, lower=smallest, upper=largest)
        program.row(s + members, ones, lower=min(smallest, 1.0), upper=largest // k)
    start = None
    if known is not None and vector.largest(known, tolerance) <= level + 1e-9:
        start = known_values(vector, known, k, weight, [])
    return program.solve(start=start, time_limit=time_limit)
