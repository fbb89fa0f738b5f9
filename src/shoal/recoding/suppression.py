"""Suppression: a group keeps the values on which all of its records agree and loses the others. Cost O(n log n).

The statistic ε of Thaeter 2021, Def. 3.1: nothing false is said, and nothing at all where records differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import group_ranges
from shoal.core.grouping import Groups


def group_agreement(values: NDArray[np.float64], grouping: Groups) -> NDArray[np.bool_]:
    """Return whether all records of a group have the same value; missing ones agree with each other.

    Examples
    --------
    >>> group_agreement(np.array([1.0, 1.0, 2.0, 3.0]), Groups([0, 0, 1, 1]))
    array([ True, False])
    """
    lowest, highest = (values[ends] for ends in group_ranges(values, grouping))
    return (lowest == highest) | np.isnan(lowest)
