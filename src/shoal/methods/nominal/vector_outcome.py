"""What safe-ex, msafe-ex, chi-ex and chi-search share: a start, a time limit, and the outcome of a frequency vector.

Cost 2023, sections 2.1 (P1), 3.2 (P3) and 5.6 (P9). Records are assigned to the released combinations at least Hamming
distance. After the time limit the best vector so far is returned, with the bound that was proven.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Objective, Outcome
from shoal.methods.nominal.chi_square_program import VectorSolution
from shoal.methods.nominal.frequency_vectors import (
    Vector,
    adjusted_vector,
    frequency_vector,
    groups_of_vector,
    search_vector,
)
from shoal.methods.nominal.largest_error_program import largest_error_vector
from shoal.methods.nominal.safe import extra_error, safe_vector

TIME_LIMIT = 300.0
MOST_COMBINATIONS = 2_000  # above, no integer program is solved
COMPLEXITY = "exponential at worst; seconds to minutes for a few hundred combinations"


def searched_vector(
    vector: Vector, k: int, *, weight: float, seed: int = 0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Return a k-anonymous vector with all records and a small chi-square error, by local search."""
    progress.stage("searching frequencies")
    start = adjusted_vector(vector, vector.counts, k, int(vector.counts.sum()))
    return search_vector(vector, start, k, weight=weight, seed=seed)


def largest_error_outcome(
    codes: NDArray[np.int32],
    k: int,
    objective: str,
    *,
    weight: float,
    tables: int | str | None,
    time_limit: float,
    progress: Progress,
    known: bool = True,
) -> Outcome:
    """Return the groups of the vector whose largest error plus weight times its distance is least (P1 and P3).

    The program starts from the vector of SAFE, unless ``known`` is False; it is used if the program finds none.
    """
    vector = frequency_vector(codes, tables)
    tolerance = extra_error(vector.target)
    start = adjusted_vector(vector, safe_vector(vector, k, progress=progress).y, k, len(codes))
    progress.stage("integer program")
    value = vector.largest(start, tolerance) + weight * vector.distance(start)
    found = VectorSolution(start, value, -np.inf, optimal=False)
    solved = vector.counts.size <= MOST_COMBINATIONS
    if solved:
        given = start if known else None
        program = largest_error_vector(
            vector, k, tolerance=tolerance, weight=weight, start=given, time_limit=time_limit
        )
        found = program if program.y is not None else found
    return vector_outcome(vector, found, objective, in_time=found.optimal or not solved)


def vector_outcome(vector: Vector, found: VectorSolution, objective: str, *, in_time: bool = True) -> Outcome:
    """Return the groups and representatives of a frequency vector."""
    assert found.y is not None
    labels, representatives = groups_of_vector(vector, found.y)
    return Outcome(
        labels,
        representatives,
        Objective(objective, found.value, found.bound if np.isfinite(found.bound) else None),
        diagnostics={
            "control_tables": len(vector.tables.tables),
            "chi_square": vector.chi_square(found.y),
            "vector_distance": vector.distance(found.y),
        },
        stopped="finished" if in_time else "time limit",
    )
