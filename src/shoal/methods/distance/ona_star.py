"""ONA*: MDAV* refined by moves that lower the exact cost; the best loss of the quadratic methods, without chance.

Thaeter 2021, section 6.4 (Algorithms 15 to 17); Thaeter & Reischuk 2021, Algorithm 3. Cost O((n² + ζ (n² + n k²)) d)
time at worst for ζ rounds, usually fewer than ten; O(n d) memory. Use it whenever the table is small enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.mdav_star import Closest, star
from shoal.methods.distance.repeats import best_gain
from shoal.methods.refinement.ona_star_moves import Place, refine
from shoal.methods.registry import method


@method(
    "ona-star",
    title="mdav-star, then records change groups as long as the loss falls",
    cost="rounds n² d",
    guarantee="groups have k to 2k-1 records; never worse than mdav-star",
    reference="Thaeter 2021, section 6.4; Thaeter & Reischuk 2021, Alg. 3",
    when="the least loss; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
)
def ona_star(
    points: NDArray[np.float64],
    k: int,
    *,
    closest: Closest = "cost",
    place: Place = "end",
    max_rounds: int = 30,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by ONA*.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    closest
        Which group MDAV* regards as closest to a record: the one whose ``cost`` rises least (the paper) or the one
        with the nearest ``centroid`` (the thesis).
    place
        Where the halves of a split group stand in the order of visits: at the ``end`` or at the place of their
        ``origin``.
    max_rounds
        After so many rounds the search stops even if it could go on.
    progress
        Hears how far the work is.
    facts
        Receives ``rounds`` and what happened in them.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> ona_star(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    progress.stage("grouping (mdav-star)", len(points))
    start = star(points, k, 1.0, with_neighbour=False, closest=closest, progress=progress)
    return refine(points, start, k, max_rounds=max_rounds, place=place, closest=closest, progress=progress, facts=facts)


@method(
    "ona-star-gamma",
    title="ona-star from the best of 21 starts",
    cost="21 rounds n² d",
    guarantee="groups have k to 2k-1 records",
    reference="Thaeter 2021, section 6.4",
    when="one per cent less loss than ona-star is worth 21 runs",
    max_size=lambda k: 2 * k - 1,
)
def ona_star_gamma(
    points: NDArray[np.float64],
    k: int,
    *,
    gamma: float | None = None,
    closest: Closest = "cost",
    place: Place = "end",
    max_rounds: int = 30,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by ONA*γ: ONA* that starts from MDAV*γ.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    gamma
        The gain factor of the start; None tries 0.0, 0.1, ..., 2.0 and keeps the cheapest result.
    closest, place, max_rounds
        As for ``ona-star``.
    progress
        Hears how far the work is.
    facts
        Receives ``gamma`` and, after a search, the cost for each factor.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> ona_star_gamma(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, gamma=1.1)
    array([1, 0, 1, 0, 1])
    """

    def run(factor: float, listener: Progress) -> NDArray[np.int64]:
        start = star(points, k, factor, with_neighbour=True, closest=closest, progress=listener)
        return refine(points, start, k, max_rounds=max_rounds, place=place, closest=closest)

    return best_gain("ona-star-gamma", run, points, gamma, progress, facts)
