"""SSE: the sum of squared distances to the mean, the loss that most of the literature uses.

Stamm & Schaub 2024, section 2 and appendix B.3. Representative: the mean. Concave, and splitting is beneficial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.prefix_sums import SQUARES, SUM, add, scale, stretch


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Sum up from the edge b of a cell to both sides; the edge lies in every group, so cancellation is small."""
    edge = values[b - 1]
    s = 0.0
    q = 0.0
    for u in range(1, lefts + 1):
        d = float(edge - values[b - u])
        s += d
        q += d * d
        sums[centre - u] = s
        head[u] = q
    s = 0.0
    q = 0.0
    sums[centre] = 0.0
    tail[0] = 0.0
    for v in range(1, rows):
        d = float(values[b + v - 1] - edge)
        s += d
        q += d * d
        sums[centre + v] = s
        tail[v] = q
    if mass[1] == 0.0:
        for m in range(1, mass.size):
            mass[m] = 1.0 / m


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of u values before and v values after the edge, minus head[u] + tail[v]."""
    s = sums[centre + v] - sums[centre - u]
    return -(s * s) * mass[u + v]


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return the SSE of the values i..j-1, summed around the first of them."""
    m = float(j - i)
    origin = values[i]
    total = stretch(totals, SUM, i, j)
    shifted = add(total, scale((origin, 0.0), -m))
    squares = add(stretch(totals, SQUARES, i, j), scale(add(total, shifted), -origin))
    return max(squares[0] - shifted[0] * shifted[0] / m, 0.0)


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the mean of each group; ``ordered`` holds the groups one after the other, each from its start on."""
    sizes = np.diff(starts, append=ordered.size)
    origin = ordered[starts]
    return origin + np.add.reduceat(ordered - np.repeat(origin, sizes), starts) / sizes
