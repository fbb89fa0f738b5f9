"""The median of each group: the representative that loses least absolute error. Cost O(n log n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping


def group_medians(
    values: NDArray[np.float64],
    grouping: Grouping,
    weights: NDArray[np.float64] | None = None,
    *,
    lower: bool = False,
) -> NDArray[np.float64]:
    """Return the median of each group.

    Parameters
    ----------
    values
        One number per record.
    grouping
        The groups.
    weights
        Sampling weights: half of the weight of a group lies on each side of its median.
    lower
        Take the lower of two middle values rather than their mean, for positions in an order.

    Examples
    --------
    >>> group_medians(np.array([1.0, 2.0, 9.0, 10.0]), Grouping([0, 0, 0, 0], k=2))
    array([5.5])
    >>> group_medians(np.array([1.0, 2.0, 9.0, 10.0]), Grouping([0, 0, 0, 0], k=2), lower=True)
    array([2.])
    """
    order = np.lexsort((values, grouping.labels))
    ordered = values[order]
    ends = np.cumsum(grouping.sizes)
    starts = ends - grouping.sizes
    if weights is None:
        low = starts + (grouping.sizes - 1) // 2
        high = starts + grouping.sizes // 2
    else:
        low, high = _weighted_middles(weights[order], grouping, starts)
    if lower:
        return ordered[low]
    return np.where(ordered[low] == ordered[high], ordered[low], ordered[low] / 2 + ordered[high] / 2)  # no overflow


def _weighted_middles(
    weights: NDArray[np.float64], grouping: Grouping, starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places where half of the weight of each group is reached, and where it is exceeded."""
    labels = np.repeat(np.arange(len(grouping)), grouping.sizes)
    total = np.add.reduceat(weights, starts)
    share = weights / total[labels]
    summed = np.cumsum(share) - labels  # each earlier group has a share of one
    near = 1e-9
    reached = np.add.reduceat((summed < 0.5 - near).astype(np.int64), starts)
    passed = np.add.reduceat((summed <= 0.5 + near).astype(np.int64), starts)
    last = grouping.sizes - 1
    return starts + np.minimum(reached, last), starts + np.minimum(passed, last)
