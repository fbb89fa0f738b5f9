"""Maximum distance: half the range of the group, for guarantees such as "no value changes by more than 5".

Stamm & Schaub 2024, section 2 and appendix B.3. Representative: the midrange. Concave (with equality: the cost of a
clustering depends on the sum of the gaps that it cuts), and splitting is beneficial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Measure from the edge b of a cell to both sides."""
    edge = values[b - 1]
    for u in range(1, lefts + 1):
        head[u] = (edge - values[b - u]) / 2
    tail[0] = 0.0
    for v in range(1, rows):
        tail[v] = (values[b + v - 1] - edge) / 2


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return 0: the costs of the two sides of the edge add up."""
    return 0.0


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Return half the range of the values i..j-1."""
    return (values[j - 1] - values[i]) / 2


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the midrange of each group."""
    ends = np.append(starts[1:], ordered.size)
    return ordered[starts] + (ordered[ends - 1] - ordered[starts]) / 2
