"""SSE with sampling weights: each record counts as often as its weight.

An extension of Stamm & Schaub 2024. Representative: the weighted mean. With positive weights the proofs for SSE hold
unchanged (weights are repetitions): concave, and splitting is beneficial. Group sizes still count records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.prefix_sums import SQUARES, SUM, WEIGHT, add, scale, stretch


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Sum up from the edge b of a cell to both sides; ``mass`` holds the weights in the same way."""
    edge = values[b - 1]
    s = 0.0
    q = 0.0
    w = 0.0
    for u in range(1, lefts + 1):
        d = float(edge - values[b - u])
        s += weights[b - u] * d
        q += weights[b - u] * d * d
        w += weights[b - u]
        sums[centre - u] = s
        mass[centre - u] = -w
        head[u] = q
    s = 0.0
    q = 0.0
    w = 0.0
    sums[centre] = 0.0
    mass[centre] = 0.0
    tail[0] = 0.0
    for v in range(1, rows):
        d = float(values[b + v - 1] - edge)
        s += weights[b + v - 1] * d
        q += weights[b + v - 1] * d * d
        w += weights[b + v - 1]
        sums[centre + v] = s
        mass[centre + v] = w
        tail[v] = q


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of u values before and v values after the edge, minus head[u] + tail[v]."""
    s = sums[centre + v] - sums[centre - u]
    return -(s * s) / (mass[centre + v] - mass[centre - u])


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return the weighted SSE of the values i..j-1, summed around the first of them."""
    origin = values[i]
    weight = stretch(totals, WEIGHT, i, j)
    total = stretch(totals, SUM, i, j)
    shifted = add(total, scale(weight, -origin))
    squares = add(stretch(totals, SQUARES, i, j), scale(add(total, shifted), -origin))
    return max(squares[0] - shifted[0] * shifted[0] / weight[0], 0.0)


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the weighted mean of each group."""
    sizes = np.diff(starts, append=ordered.size)
    origin = ordered[starts]
    moved = np.add.reduceat(weights * (ordered - np.repeat(origin, sizes)), starts)
    return origin + moved / np.add.reduceat(weights, starts)
