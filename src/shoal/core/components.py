"""Connected components of two groupings of the same records, without the import of a graph library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def joint_components(first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the component of each group of two groupings; groups that share a record are in the same component.

    Each component is named by its lowest group. In every round a group that is not the lowest of its neighbours joins
    one of them, so the number of separate groups at least halves: O(n log n).

    Parameters
    ----------
    first, second
        Labels 0, 1, ... of the same records.

    Returns
    -------
    components
        Two arrays: by group of the first and of the second grouping, the number of the component, from 0.

    Examples
    --------
    >>> joint_components(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    (array([0, 0, 1]), array([0, 0, 1]))
    """
    groups = int(first.max()) + 1
    lowest = np.arange(groups + int(second.max()) + 1)
    left, right = first, groups + second
    while left.size:
        one, other = lowest[left], lowest[right]
        apart = one != other
        left, right, one, other = left[apart], right[apart], one[apart], other[apart]
        np.minimum.at(lowest, np.maximum(one, other), np.minimum(one, other))
        following = lowest[lowest]
        while not np.array_equal(following, lowest):
            lowest, following = following, following[following]
    numbers = np.unique(lowest, return_inverse=True)[1].reshape(-1)
    return numbers[:groups], numbers[groups:]
