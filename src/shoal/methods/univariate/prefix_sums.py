"""Sums over any range of the sorted values in O(1), with about 32 digits.

Prefix sums in one float lose the small differences that groups consist of. Pairs of floats (Dekker 1971, Knuth's
TwoSum) hold the rounding error of each step, so that the sum over a range is the difference of two pairs without loss.
The searches without a maximum group size need this; the others use the cheaper sums around the edge of a cell (see
``row_blocks``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled

SUM, SQUARES, WEIGHT = 0, 2, 4  # rows of the table of prefix sums; the row after each holds the errors


@compiled
def two_sum(a: float, b: float) -> Any:
    """Return a + b and its rounding error."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@compiled
def two_product(a: float, b: float) -> Any:
    """Return a · b and its rounding error."""
    high = a * b
    t = 134217729.0 * a
    a1 = t - (t - a)
    a2 = a - a1
    t = 134217729.0 * b
    b1 = t - (t - b)
    b2 = b - b1
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


@compiled
def add(a: Any, b: Any) -> Any:
    """Return the sum of two pairs."""
    high, low = two_sum(a[0], b[0])
    low += a[1] + b[1]
    total = high + low
    return total, low - (total - high)


@compiled
def scale(a: Any, factor: float) -> Any:
    """Return a pair times a float."""
    high, low = two_product(a[0], factor)
    low += a[1] * factor
    total = high + low
    return total, low - (total - high)


@compiled
def stretch(totals: Any, row: int, i: int, j: int) -> Any:
    """Return the sum over the values i..j-1 as a pair."""
    return add((totals[row, j], totals[row + 1, j]), (-totals[row, i], -totals[row + 1, i]))


@compiled
def prefix_sums(values: Any, weights: Any) -> Any:
    """Return the table of prefix sums: of w·x, w·x² and w, each followed by its errors; no weights mean ones."""
    n = values.size
    totals = np.zeros((6, n + 1))
    first = (0.0, 0.0)
    second = (0.0, 0.0)
    mass = (0.0, 0.0)
    for t in range(n):
        w = weights[t] if weights.size else 1.0
        weighted = two_product(w, values[t])
        first = add(first, weighted)
        second = add(second, scale(weighted, values[t]))
        mass = add(mass, (w, 0.0))
        totals[0, t + 1], totals[1, t + 1] = first
        totals[2, t + 1], totals[3, t + 1] = second
        totals[4, t + 1], totals[5, t + 1] = mass
    return totals
