"""ONA*⁺: ONA*, after which neighbouring groups also exchange records; the least loss of the deterministic methods.

Not in the papers: the rounds are those of Thaeter 2021, section 6.4, the exchanges those of ``mona-plus``. A search
that only passes records on is stuck where all groups around have k records; an exchange leaves sizes as they are. Cost
as ONA*, and O(n k d) for each round of exchanges. Use it where a little more time than that of ONA* is no matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.mdav_star import Closest, star
from shoal.methods.refinement.ona_star_moves import refine
from shoal.methods.registry import method


@method(
    "ona-star-plus",
    title="ona-star, then neighbouring groups also exchange records as long as the loss falls",
    cost="rounds n² d",
    guarantee="groups have k to 2k-1 records; never worse than ona-star",
    reference="Thaeter 2021, section 6.4; exchanges: not in the papers",
    when="less loss than ona-star for a little more time; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
)
def ona_star_plus(
    points: NDArray[np.float64],
    k: int,
    *,
    closest: Closest = "cost",
    max_rounds: int = 100,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by ONA* with exchanges.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    closest
        As for ``ona-star``.
    max_rounds
        After so many rounds the search stops even if it could go on.
    progress
        Hears how far the work is.
    facts
        Receives ``rounds`` and what happened in them, and the number of ``exchanges``.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> ona_star_plus(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    progress.stage("grouping (mdav-star)", len(points))
    start = star(points, k, 1.0, with_neighbour=False, closest=closest, progress=progress)
    return refine(points, start, k, max_rounds=max_rounds, closest=closest, moves="all", progress=progress, facts=facts)
