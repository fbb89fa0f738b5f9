"""Sums that neither drift nor depend on the order of the terms.

A centroid that is kept up to date by adding and removing records loses digits with every step if it is kept in one
float. Two floats, the second holding the rounding error of the first (Knuth's TwoSum), keep about 32 digits: removing
what was added gives back what was there, and the rounded value is the correctly rounded sum in practice.
"""

from __future__ import annotations

from typing import Any

from shoal.methods.kernels.compiled import compiled


@compiled(inline="always")
def add_exactly(total: Any, error: Any, j: int, value: float) -> None:
    """Add ``value`` to the sum held in ``total[j] + error[j]``."""
    high = total[j] + value
    part = high - total[j]
    low = (total[j] - (high - part)) + (value - part) + error[j]
    total[j] = high + low
    error[j] = low - (total[j] - high)
