"""ONA*: MDAV* refined by moves that lower the exact cost; the lowest loss of the quadratic methods, deterministic.

Thaeter 2021, section 6.4 (Algorithms 15 to 17); Thaeter & Reischuk 2021, Algorithm 3. Cost O((n² + ζ (n² + n k²)) d)
time at worst for ζ rounds, usually fewer than ten; O(n d) memory. Use it whenever the table is small enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import NeverWorse, Outcome
from shoal.methods.distance.mdav_star import star_groups
from shoal.methods.distance.repeats import best_gain_factor
from shoal.methods.kernels.group_growth import Closest
from shoal.methods.options import Range
from shoal.methods.refinement.ona_star_moves import SplitPosition, refine
from shoal.methods.registry import method


@method(
    "ona-star",
    title="mdav-star, then records change groups as long as the loss falls",
    complexity="rounds n² d",
    guarantees=(NeverWorse("never worse than its start", "ona-star", {"max_rounds": 0}),),
    reference="Thaeter 2021, section 6.4; Thaeter & Reischuk 2021, Alg. 3",
    when="a small loss without a search; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
    version=1,
)
def ona_star(
    points: NDArray[np.float64],
    k: int,
    *,
    closest: Closest = "cost",
    split_position: SplitPosition = "end",
    max_rounds: Annotated[int, Range(0)] = 30,
    observed: NDArray[np.bool_] | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by ONA*.

    Where cells are missing, they are completed from near records first, and at the end records change groups as long
    as the squared error of the known cells falls.

    Parameters
    ----------
    closest
        Which group MDAV* regards as closest to a record: the one whose ``cost`` rises least (Thaeter & Reischuk 2021)
        or the one with the nearest ``centroid`` (Thaeter 2021).
    split_position
        Position of the two parts of a split group in the order of visits: at the ``end``, or that of their ``origin``.
    max_rounds
        Maximum number of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = ona_star(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    >>> outcome.labels, outcome.diagnostics["rounds"]
    (array([1, 0, 1, 0, 1]), 0)
    """
    if observed is not None and not observed.all():
        from shoal.methods.kernels.completed_points import completed_points
        from shoal.methods.refinement.observed_search import descend

        completed = np.ascontiguousarray(completed_points(points, observed), np.float64)
        first = ona_star(
            completed, k, closest=closest, split_position=split_position, max_rounds=max_rounds, progress=progress
        )
        return replace(first, labels=descend(points, first.labels, k, observed, rounds=max_rounds), objective=None)
    progress.stage("grouping (mdav-star)", len(points))
    start = star_groups(points, k, 1.0, with_neighbour=False, closest=closest, progress=progress)
    return refine(
        points, start, k, max_rounds=max_rounds, split_position=split_position, closest=closest, progress=progress
    )


@method(
    "ona-star-gamma",
    title="ona-star from the best of 21 starts",
    complexity="21 rounds n² d",
    reference="Thaeter 2021, section 6.4",
    when="one per cent less loss than ona-star justifies 21 runs",
    max_size=lambda k: 2 * k - 1,
)
def ona_star_gamma(
    points: NDArray[np.float64],
    k: int,
    *,
    gamma: Annotated[float, Range(0)] | None = None,
    closest: Closest = "cost",
    split_position: SplitPosition = "end",
    max_rounds: Annotated[int, Range(0)] = 30,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by ONA*γ: ONA* that starts from MDAV*γ.

    Parameters
    ----------
    gamma
        The gain factor of the start; None tries 0.0, 0.1, ..., 2.0 and keeps the cheapest result.
    closest, split_position, max_rounds
        As for ``ona-star``.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = ona_star_gamma(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, gamma=1.1)
    >>> outcome.labels, outcome.diagnostics["rounds"]
    (array([1, 0, 1, 0, 1]), 0)
    """

    def run(factor: float, shared: Progress) -> Outcome:
        start = star_groups(points, k, factor, with_neighbour=True, closest=closest, progress=shared)
        return refine(points, start, k, max_rounds=max_rounds, split_position=split_position, closest=closest)

    return best_gain_factor("ona-star-gamma", run, points, gamma, progress)
