"""Round up: the sum of the distances to the largest value of the group.

Stamm & Schaub 2024, section 2 and appendix B.3. Representative: the maximum. Concave, and splitting is beneficial. For
values that may only increase, for example the degrees of a graph that is anonymised by adding edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.prefix_sums import SUM, add, scale, stretch


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Raise each side of the edge b of a cell on its own: the left to the edge, the right to its last value."""
    edge = values[b - 1]
    s = 0.0
    for u in range(1, lefts + 1):
        s += float(edge - values[b - u])
        head[u] = s
    s = 0.0
    sums[centre] = 0.0
    tail[0] = 0.0
    for v in range(1, rows):
        d = float(values[b + v - 1] - edge)
        s += d
        sums[centre + v] = d
        tail[v] = max(v * d - s, 0.0)


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of raising the left side from the edge to the last value."""
    return float(u * sums[centre + v])


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return the cost of raising the values i..j-1 to the last of them."""
    total = stretch(totals, SUM, i, j)
    raised = add(scale((values[j - 1], 0.0), float(j - i)), (-total[0], -total[1]))
    return max(raised[0], 0.0)


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the largest value of each group."""
    return ordered[np.append(starts[1:], ordered.size) - 1]
