"""The medoid of each group: the record nearest to the centroid. Cost O(n d).

All columns then take the values of one true record, so that combinations stay plausible. The price: that record's
quasi-identifiers are released as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.recoding.means import group_means


def group_medoids(
    points: NDArray[np.float64], grouping: Grouping, weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Return the record of each group that is nearest to its centroid; ties go to the lowest number.

    Examples
    --------
    >>> group_medoids(np.array([[0.0], [1.0], [5.0]]), Grouping([0, 0, 0], k=2))
    array([1])
    """
    distance = np.zeros(grouping.n)
    for column in points.T:
        centroid = group_means(column, grouping, weights)
        distance += (column - centroid[grouping.labels]) ** 2
    order = np.lexsort((distance, grouping.labels))
    return order[np.cumsum(grouping.sizes) - grouping.sizes]
