"""SAE: the sum of absolute distances to the median, less sensitive to single large values than SSE.

Stamm & Schaub 2024, section 2 and appendix B.3. Representative: the median. Concave, and splitting is beneficial. The
cost is the sum of the upper half minus that of the lower half; the middle of an odd number drops out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.prefix_sums import SUM, add, stretch


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Sum up from the edge b of a cell to both sides, signed, so that the sum over any range is one difference."""
    edge = values[b - 1]
    s = 0.0
    for u in range(1, lefts + 1):
        s += float(edge - values[b - u])
        sums[centre - u] = s
        head[u] = 0.0
    s = 0.0
    sums[centre] = 0.0
    tail[0] = 0.0
    for v in range(1, rows):
        s += float(values[b + v - 1] - edge)
        sums[centre + v] = s
        tail[v] = 0.0


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of u values before and v values after the edge."""
    half = (u + v) // 2
    first = centre - u
    last = centre + v
    return (sums[last] - sums[last - half]) - (sums[first + half] - sums[first])


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return the SAE of the values i..j-1."""
    half = (j - i) // 2
    upper = stretch(totals, SUM, j - half, j)
    lower = stretch(totals, SUM, i, i + half)
    return add(upper, (-lower[0], -lower[1]))[0]


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the median of each group; for even sizes the lower one, so that it is a value of the group."""
    sizes = np.diff(starts, append=ordered.size)
    return ordered[starts + (sizes - 1) // 2]
