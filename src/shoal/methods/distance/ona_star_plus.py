"""ONA*⁺: ONA*, after which neighbouring groups also exchange records.

Not in the papers: the rounds are those of Thaeter 2021, section 6.4, the exchanges those of ``mona-plus``. A search
that only reassigns single records is stuck where all neighbouring groups have k records; an exchange leaves sizes as
they are. Cost as ONA*, and O(n k d) for each round of exchanges. Use it where somewhat more time than that of ONA* is
acceptable.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import NeverWorse, Outcome
from shoal.methods.distance.mdav_star import star_groups
from shoal.methods.kernels.group_growth import Closest
from shoal.methods.options import Range
from shoal.methods.refinement.ona_star_moves import refine
from shoal.methods.registry import method


@method(
    "ona-star-plus",
    title="ona-star, then neighbouring groups also exchange records as long as the loss falls",
    complexity="rounds n² d",
    guarantees=(NeverWorse("never worse than ona-star", "ona-star"),),
    reference="Thaeter 2021, section 6.4; exchanges: not in the papers",
    when="less loss than ona-star for a little more time; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
)
def ona_star_plus(
    points: NDArray[np.float64],
    k: int,
    *,
    closest: Closest = "cost",
    max_rounds: Annotated[int, Range(0)] = 100,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by ONA* with exchanges.

    Parameters
    ----------
    closest
        As for ``ona-star``.
    max_rounds
        Maximum number of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> ona_star_plus(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([1, 0, 1, 0, 1])
    """
    progress.stage("grouping (mdav-star)", len(points))
    start = star_groups(points, k, 1.0, with_neighbour=False, closest=closest, progress=progress)
    return refine(points, start, k, max_rounds=max_rounds, closest=closest, moves="all", progress=progress)
