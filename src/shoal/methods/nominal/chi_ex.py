"""chi-ex: the frequency vector with the least chi-square error of control tables, by integer programming (Chi-ex).

Cost 2023, section 5.6 (P9). The objective is the chi-square error plus ``weight`` times the distance from the original
vector; the diagnostics hold both parts.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, SelectedRecords
from shoal.methods.nominal.chi_square_program import VectorSolution, chi_square_vector
from shoal.methods.nominal.frequency_vectors import frequency_vector
from shoal.methods.nominal.vector_outcome import (
    COMPLEXITY,
    MOST_COMBINATIONS,
    TIME_LIMIT,
    searched_vector,
    vector_outcome,
)
from shoal.methods.options import Range
from shoal.methods.registry import method

OBJECTIVE = "chi-square"


@method(
    "chi-ex",
    title="Categories: the frequency vector with the least chi-square error of tables, by integer programming",
    complexity=COMPLEXITY,
    guarantees=(SelectedRecords(),),
    reference="Cost 2023, section 5.6 (P9)",
    when="for a few hundred combinations if all tables together matter",
    represents=True,
    proves=OBJECTIVE,
)
def chi_ex(
    codes: NDArray[np.int32],
    k: int,
    *,
    weight: Annotated[float, Range(0)] | None = None,
    tables: int | str | None = None,
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records so that the chi-square error of the control tables is least (P9).

    Parameters
    ----------
    weight
        Cost of one record of distance from the original vector; by default 1/n.
    tables
        Control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds (default 300) after which the best vector so far is used; the groups then depend on the machine.
    seed
        Seed of the local search for the first vector.

    Examples
    --------
    >>> outcome = chi_ex(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3)
    >>> outcome.labels.tolist(), outcome.representatives.tolist(), outcome.objective.optimal
    ([0, 0, 0, 1, 1, 1, 1, 1], [0, 4], True)
    """
    weight = 1.0 / len(codes) if weight is None else weight
    vector = frequency_vector(codes, tables)
    start = searched_vector(vector, k, weight=weight, seed=seed, progress=progress)
    progress.stage("chi-ex: integer program")
    value = vector.chi_square(start) + weight * vector.distance(start)
    if value == 0:
        return vector_outcome(vector, VectorSolution(start, value, 0.0, optimal=True), OBJECTIVE)
    if vector.counts.size > MOST_COMBINATIONS:
        return vector_outcome(vector, VectorSolution(start, value, -np.inf, optimal=False), OBJECTIVE)
    found = chi_square_vector(vector, k, weight=weight, start=start, time_limit=time_limit)
    return vector_outcome(vector, found, OBJECTIVE, in_time=found.optimal)
