"""MDAV* and MDAV*γ: a record joins a group where that costs less than a group of its own.

Thaeter 2021, Algorithms 5 and 6 (section 5.1); Thaeter & Reischuk 2018 and 2021 (Algorithm 1 there). Cost O(n² d) time
at worst, O(n d) memory. About 7 % less loss than MDAV on average, in up to twice its time; the start of ONA*.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, TwoGroups
from shoal.methods.distance.repeats import best_gain_factor
from shoal.methods.kernels import small_mdav
from shoal.methods.kernels.centroids import mean_variance
from shoal.methods.kernels.group_growth import Closest, Rule, begin, grow, join_closest
from shoal.methods.options import Range
from shoal.methods.registry import method

RELATIVE_TOLERANCE = 1e-12  # of the mean variance: a record joins a group only if that saves more


@method(
    "mdav-star",
    title="Groups around far records, which join an existing group where that is cheaper",
    complexity="n² d / k to n² d",
    guarantees=(TwoGroups(),),
    reference="Thaeter 2021, Alg. 5; Thaeter & Reischuk 2021, Alg. 1",
    when="mostly less loss than mdav in up to twice its time; up to several 100,000 records of few attributes",
    version=1,
)
def mdav_star(
    points: NDArray[np.float64], k: int, *, closest: Closest = "centroid", progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group records by MDAV*.

    Parameters
    ----------
    closest
        Which group is closest to a record: the one with the nearest ``centroid`` (Thaeter 2021) or the one whose
        ``cost`` rises least (Thaeter & Reischuk 2021).

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[1, 2, 3, 5, 6, 19, 20, 21, 98, 99, 100.0]]).T
    >>> mdav_star(points, 3)  # Thaeter 2021, figure 5.1
    array([1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0])
    """
    progress.stage("grouping (mdav-star)", len(points))
    return star_groups(points, k, 1.0, with_neighbour=False, closest=closest, progress=progress)


@method(
    "mdav-star-gamma",
    title="mdav-star with a gain factor, searched for if not given",
    complexity="21 n² d / k to 21 n² d",
    reference="Thaeter 2021, Alg. 6",
    when="a few per cent less loss than mdav-star justify 21 runs",
)
def mdav_star_gamma(
    points: NDArray[np.float64],
    k: int,
    *,
    gamma: Annotated[float, Range(0)] | None = None,
    closest: Closest = "centroid",
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by MDAV*γ.

    Parameters
    ----------
    gamma
        The gain factor; None tries 0.0, 0.1, ..., 2.0 and keeps the cheapest grouping, the lowest factor among equals.
    closest
        As for ``mdav-star``.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = mdav_star_gamma(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    >>> outcome.labels, outcome.diagnostics["gamma"]
    (array([1, 0, 1, 0, 1]), 0.0)
    """

    def run(factor: float, shared: Progress) -> NDArray[np.int64]:
        return star_groups(points, k, factor, with_neighbour=True, closest=closest, progress=shared)

    return best_gain_factor("mdav-star-gamma", run, points, gamma, progress)


def star_groups(
    points: NDArray[np.float64], k: int, gamma: float, *, with_neighbour: bool, closest: Closest, progress: Progress
) -> NDArray[np.int64]:
    """Return the groups of MDAV* (gamma 1, without the neighbour) or MDAV*γ (any gamma, with it)."""
    by_cost = closest == "cost"
    tolerance = RELATIVE_TOLERANCE * mean_variance(points)
    if len(points) <= small_mdav.SMALL_TABLE_RECORDS and not with_neighbour:
        labels = small_mdav.mdav_star_of_small_table(points, k, float(gamma), by_cost, tolerance)
        progress.advance(len(points))
        return labels
    projected, growth, groups = begin(points, k)
    rule = Rule(float(gamma), with_neighbour, k / (k + 1.0) if by_cost else 1.0, tolerance)
    grow(projected, growth, groups, k, rule, k, progress)
    join_closest(points, groups, growth.labels, by_cost)
    return growth.labels
