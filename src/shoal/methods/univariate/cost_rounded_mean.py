"""SSE around the mean rounded to an integer, for integer columns that must stay integers.

Mortazavi 2020, named in Stamm & Schaub 2024, sections 3.1 and 6. Representative: the mean, rounded, halves up. All
intermediate values are integers, so the result is exact as long as the squares of a group stay below 2⁵³. That the cost
is concave and that splitting is beneficial is not proved, so no bound is reported; the tests found no violation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate import cost_sse
from shoal.methods.univariate.prefix_sums import SQUARES, SUM, add, scale, stretch

fill = cost_sse.fill  # the same sums, around the edge of a cell


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of u values before and v values after the edge, minus head[u] + tail[v]."""
    m = float(u + v)
    s = sums[centre + v] - sums[centre - u]
    r = np.floor(s / m + 0.5)
    return float(r * (m * r - 2.0 * s))


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return the cost of the values i..j-1, summed around the first of them."""
    m = float(j - i)
    origin = values[i]
    total = stretch(totals, SUM, i, j)
    shifted = add(total, scale((origin, 0.0), -m))
    squares = add(stretch(totals, SQUARES, i, j), scale(add(total, shifted), -origin))
    r = np.floor(shifted[0] / m + 0.5)
    return max(squares[0] + r * (m * r - 2.0 * shifted[0]), 0.0)


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the mean of each group, rounded to an integer, halves up."""
    sizes = np.diff(starts, append=ordered.size)
    origin = ordered[starts]
    return origin + np.floor(np.add.reduceat(ordered - np.repeat(origin, sizes), starts) / sizes + 0.5)
