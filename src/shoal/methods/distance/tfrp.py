"""TFRP: groups around the records farthest from two fixed reference points, then costly groups are scattered.

Thaeter 2021, section 8.2; Chang, Li & Huang 2007, doi:10.1016/j.jss.2007.02.014. The reference points are the corners
(g, ..., g) for the least and the greatest value g of all cells. Cost O(n² d / k) time, O(n d) memory. Close to
mdav-star; use it to compare with published figures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels.centroids import spread
from shoal.methods.kernels.group_growth import begin, farthest_first, grow, join_closest, never_join
from shoal.methods.kernels.scatter import scatter
from shoal.methods.refinement.ona_star_moves import SMALL, in_order
from shoal.methods.registry import method


@method(
    "tfrp",
    title="Groups around the records farthest from two corners, then costly groups are scattered",
    cost="n² d / k",
    guarantee="groups have k to 2k-1 records",
    reference="Thaeter 2021, section 8.2; Chang et al. 2007",
    when="to compare with published figures",
    max_size=lambda k: 2 * k - 1,
)
def tfrp(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by two fixed reference points.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    progress
        Hears how many records are grouped.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> tfrp(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    progress.stage("grouping (tfrp)", len(points))
    labels = from_two_corners(points, k, progress)
    costs = group_costs(points, labels)
    labels = in_order(scatter(points, labels, np.argsort(-costs, kind="stable"), k, SMALL * spread(points)))
    while (large := np.flatnonzero(np.bincount(labels) >= 2 * k)).size:
        for g in large:
            members = np.flatnonzero(labels == g)
            labels[members] = labels.max() + 1 + from_two_corners(points[members], k, SILENT)
        labels = in_order(labels)
    return labels


def group_costs(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cost of each group; labels: 0, 1, ... without gaps.

    Examples
    --------
    >>> group_costs(np.array([[0.0], [2.0], [9.0], [9.0]]), np.array([0, 0, 1, 1]))
    array([2., 0.])
    """
    first = np.zeros(int(labels.max()) + 1, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    sizes = np.bincount(labels)
    costs = np.zeros(sizes.size)
    for j in range(points.shape[1]):
        column = points[:, j] - points[first[labels], j]
        means = np.bincount(labels, column) / sizes
        costs += np.bincount(labels, (column - means[labels]) ** 2)
    return costs


def from_two_corners(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Return the groups of the first phase."""
    d = points.shape[1]
    orders = [farthest_first(points, np.full(d, corner)) for corner in (points.min(), points.max())]
    cloud, growth, groups = begin(points, k, *orders)
    grow(cloud, growth, groups, k, never_join(), k, progress)
    join_closest(points, groups, growth.labels, by_cost=False)
    return growth.labels
