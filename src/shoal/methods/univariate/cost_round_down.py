"""Round down: the sum of the distances to the smallest value of the group.

Stamm & Schaub 2024, section 2 and appendix B.3. Representative: the minimum. Concave, and splitting is beneficial. For
values that may only decrease, for example ages in completed years.
"""

from __future__ import annotations

from typing import Any

from shoal.core.compiled import compiled
from shoal.methods.univariate.prefix_sums import SUM, add, scale, stretch


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Lower each side of the edge b of a cell on its own: the left to its first value, the right to the edge."""
    edge = values[b - 1]
    s = 0.0
    for u in range(1, lefts + 1):
        d = float(edge - values[b - u])
        s += d
        sums[centre - u] = d
        head[u] = max(u * d - s, 0.0)
    s = 0.0
    tail[0] = 0.0
    for v in range(1, rows):
        s += float(values[b + v - 1] - edge)
        tail[v] = s


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of lowering the right side from the edge to the first value."""
    return float(v * sums[centre - u])


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return the cost of lowering the values i..j-1 to the first of them."""
    total = stretch(totals, SUM, i, j)
    return max(add(total, scale((values[i], 0.0), -float(j - i)))[0], 0.0)


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the smallest value of each group."""
    return ordered[starts]
