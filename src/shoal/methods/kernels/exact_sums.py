"""Sums that neither drift nor depend on the order of the terms.

A centroid that is updated by adding and removing records loses digits with every step if its sum is one float. Two
floats, the second holding the rounding error of the first (Knuth's TwoSum), keep about 32 digits: removing what was
added gives back what was there, and the rounded value is the correctly rounded sum in practice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import inner


def sums(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of each attribute, rounded once, and the rounding error.

    Examples
    --------
    >>> sums(np.array([[1e16], [1.0]]))
    (array([1.e+16]), array([1.]))
    """
    columns = points.T.tolist()
    total = [math.fsum(column) for column in columns]
    error = [math.fsum([*column, -high]) for column, high in zip(columns, total, strict=True)]
    return np.array(total), np.array(error)


@inner
def add_exactly(total: Any, error: Any, j: int, value: float) -> None:
    """Add ``value`` to the sum held in ``total[j] + error[j]``."""
    high = total[j] + value
    part = high - total[j]
    low = (total[j] - (high - part)) + (value - part) + error[j]
    total[j] = high + low
    error[j] = low - (total[j] - high)
