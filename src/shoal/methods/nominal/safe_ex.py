"""safe-ex: the frequency vector whose largest table error is least, by integer programming (SAFE-ex).

Cost 2023, section 2.1 (P1). The objective is the largest excess of a cell's error over its tolerance; it is negative if
every cell stays within its tolerance. Many vectors have the least objective. With ``start="safe"`` that of ``safe`` is
returned if no other has a smaller one; with ``start="none"``, as published, it is one that the solver finds.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, SelectedRecords
from shoal.methods.nominal.vector_outcome import COMPLEXITY, TIME_LIMIT, largest_error_outcome
from shoal.methods.registry import method

OBJECTIVE = "largest error"


@method(
    "safe-ex",
    title="Categories: the frequency vector with the least largest table error, by integer programming",
    complexity=COMPLEXITY,
    guarantees=(SelectedRecords(),),
    reference="Cost 2023, section 2.1 (P1)",
    when="to determine how small the largest error of any table cell can be; msafe-ex is better otherwise",
    represents=True,
    proves=OBJECTIVE,
)
def safe_ex(
    codes: NDArray[np.int32],
    k: int,
    *,
    tables: int | str | None = None,
    start: Literal["safe", "none"] = "safe",
    time_limit: float = TIME_LIMIT,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records so that the largest error of a table cell, beyond its tolerance, is least (P1).

    Parameters
    ----------
    tables
        Control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    start
        The vector from which the program starts: ``safe``, that of SAFE, which is kept if it is optimal, or ``none``.
    time_limit
        Seconds (default 300) after which the best vector so far is used; the groups then depend on the machine.

    Examples
    --------
    >>> outcome = safe_ex(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3)
    >>> outcome.labels.tolist(), outcome.representatives.tolist(), outcome.objective.value
    ([0, 0, 0, 1, 1, 1, 1, 1], [0, 4], 1.0)
    """
    return largest_error_outcome(
        codes, k, OBJECTIVE, weight=0.0, tables=tables, time_limit=time_limit, progress=progress, known=start == "safe"
    )
