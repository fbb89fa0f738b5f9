"""TFRP: groups around the records farthest from two fixed reference points, then costly groups are dissolved.

Thaeter 2021, section 8.2; Chang, Li & Huang 2007, doi:10.1016/j.jss.2007.02.014. The reference points are the corners
(g, ..., g) for the least and the greatest value g of all cells. Cost O(n² d / k) time, O(n d) memory. Close to
mdav-star; use it to compare with published results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels.centroids import gain_tolerance, group_costs
from shoal.methods.kernels.group_growth import begin, farthest_first, grow, join_closest, never_join
from shoal.methods.kernels.scatter import scatter
from shoal.methods.registry import method


@method(
    "tfrp",
    title="Groups around the records farthest from two corners, then costly groups are dissolved",
    complexity="n² d / k",
    reference="Thaeter 2021, section 8.2; Chang et al. 2007",
    when="comparison with published results",
    max_size=lambda k: 2 * k - 1,
)
def tfrp(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by two fixed reference points.

    Examples
    --------
    >>> import numpy as np
    >>> tfrp(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    progress.stage("grouping (tfrp)", len(points))
    labels = from_two_corners(points, k, progress)
    most_costly_first = np.argsort(-group_costs(points, labels), kind="stable")
    labels = ordered_labels(scatter(points, labels, most_costly_first, k, gain_tolerance(points)))
    while (large := np.flatnonzero(np.bincount(labels) >= 2 * k)).size:
        for g in large:
            members = np.flatnonzero(labels == g)
            labels[members] = labels.max() + 1 + from_two_corners(points[members], k, SILENT)
        labels = ordered_labels(labels)
    return labels


def from_two_corners(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Return the groups of the first phase."""
    d = points.shape[1]
    orders = [farthest_first(points, np.full(d, corner)) for corner in (points.min(), points.max())]
    projected, growth, groups = begin(points, k, *orders)
    grow(projected, growth, groups, k, never_join(), k, progress)
    join_closest(points, groups, growth.labels, by_cost=False)
    return growth.labels
