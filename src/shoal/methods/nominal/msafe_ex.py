"""msafe-ex: as safe-ex, and among equals the frequency vector nearest to the original (mSAFE-ex).

Cost 2023, section 3.2 (P3). The objective is the largest excess of a cell's error over its tolerance plus ``weight``
times the distance from the original vector.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, SelectedRecords
from shoal.methods.nominal.vector_outcome import COMPLEXITY, TIME_LIMIT, largest_error_outcome
from shoal.methods.options import Range
from shoal.methods.registry import method

OBJECTIVE = "largest error and distance"


@method(
    "msafe-ex",
    title="Categories: as safe-ex, and among equals the vector nearest to the original",
    complexity=COMPLEXITY,
    guarantees=(SelectedRecords(),),
    reference="Cost 2023, section 3.2 (P3)",
    when="for a few hundred combinations if the largest error of any table cell matters",
    represents=True,
    proves=OBJECTIVE,
)
def msafe_ex(
    codes: NDArray[np.int32],
    k: int,
    *,
    weight: Annotated[float, Range(0)] | None = None,
    tables: int | str | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records so that the largest table error plus the weighted distance from the original vector is least (P3).

    Parameters
    ----------
    weight
        Cost of one record of distance; by default 1/n as in Cost 2023. Below 1/(2n) only ties are broken.
    tables
        Control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds (default 300) after which the best vector so far is used; the groups then depend on the machine.

    Examples
    --------
    >>> outcome = msafe_ex(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3)
    >>> outcome.labels.tolist(), outcome.representatives.tolist(), outcome.objective.value
    ([0, 0, 0, 1, 1, 1, 1, 1], [0, 4], 1.25)
    """
    weight = 1.0 / len(codes) if weight is None else weight
    return largest_error_outcome(
        codes, k, OBJECTIVE, weight=weight, tables=tables, time_limit=time_limit, progress=progress
    )
