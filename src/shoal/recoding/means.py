"""The mean of each group: the representative that loses least squared error (Thaeter 2021, Def. 2.11). Cost O(n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping


def group_means(
    values: NDArray[np.float64], grouping: Grouping, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean of each group, weighted by the sampling weights if there are any.

    Examples
    --------
    >>> group_means(np.array([1.0, 3.0, 10.0, 20.0]), Grouping([0, 0, 1, 1], k=2))
    array([ 2., 15.])
    >>> group_means(np.array([1.0, 3.0]), Grouping([0, 0], k=2), np.array([3.0, 1.0]))
    array([1.5])
    """
    if np.fmax.reduce(np.abs(values)) > 1e280:  # sums of such numbers would overflow, their means do not
        shrink = 2.0**-64
        return group_means(values * shrink, grouping, weights) / shrink
    if weights is None:
        return np.bincount(grouping.labels, values) / grouping.sizes
    return np.bincount(grouping.labels, values * weights) / np.bincount(grouping.labels, weights)
