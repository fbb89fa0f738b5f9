"""The default: the best method for the data, k and the time a user is ready to wait."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.distance.mdav import mdav
from shoal.methods.registry import method
from shoal.progress import SILENT, Progress


@method(
    "auto",
    title="The best choice for the size of the table",
    cost="as the method it chooses",
    guarantee="as the method it chooses, which the result names",
    reference="-",
    when="always, unless a certain method is wanted",
)
def auto(
    points: NDArray[np.float64], k: int, *, progress: Progress = SILENT, facts: dict[str, Any] | None = None
) -> NDArray[np.int64]:
    """Group records by the method that suits them best.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    progress
        Hears how far the work is.
    facts
        Receives the name of the method chosen.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> auto(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    if facts is not None:
        facts["chosen"] = "mdav"
    return mdav(points, k, progress=progress)
