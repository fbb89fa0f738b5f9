"""chi-search: a frequency vector with a small chi-square error of control tables, by local search at any size.

After Cost 2023, section 5.6 (P9): the objective of chi-ex, without an integer program. No bound is proven, except that
an error of 0 is optimal.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, SelectedRecords
from shoal.methods.nominal.chi_square_program import VectorSolution
from shoal.methods.nominal.frequency_vectors import frequency_vector
from shoal.methods.nominal.vector_outcome import searched_vector, vector_outcome
from shoal.methods.options import Range
from shoal.methods.registry import method


@method(
    "chi-search",
    title="Categories: a frequency vector with a small chi-square error of tables, by local search",
    complexity="O(n_a s) per pass for n_a combinations and s tables",
    guarantees=(SelectedRecords(),),
    reference="after Cost 2023, section 5.6 (P9)",
    when="for categorical microdata of any size whose frequency tables matter more than single records",
    represents=True,
)
def chi_search(
    codes: NDArray[np.int32],
    k: int,
    *,
    weight: Annotated[float, Range(0)] | None = None,
    tables: int | str | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records so that the chi-square error of the control tables is small.

    Parameters
    ----------
    weight
        Cost of one record of distance from the original vector; by default 1/n.
    tables
        Control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.

    Examples
    --------
    >>> outcome = chi_search(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3)
    >>> outcome.labels.tolist(), outcome.representatives.tolist(), outcome.objective.bound is None
    ([0, 0, 0, 1, 1, 1, 1, 1], [0, 4], True)
    """
    weight = 1.0 / len(codes) if weight is None else weight
    vector = frequency_vector(codes, tables)
    y = searched_vector(vector, k, weight=weight, seed=seed, progress=progress)
    value = vector.chi_square(y) + weight * vector.distance(y)
    found = VectorSolution(y, value, 0.0 if value == 0 else -np.inf, optimal=value == 0)
    return vector_outcome(vector, found, "chi-square")
