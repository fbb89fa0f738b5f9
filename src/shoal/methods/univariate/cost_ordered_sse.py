"""SSE of records with many attributes in a given order, for example along a path.

Stamm & Schaub 2024, sections 1.1 and 6. Representative: the centroid. Splitting is beneficial, but the cost is not
concave, so only ``simple`` is a valid search. Cost O(k n d).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Sum up from the record at the edge b of a cell to both sides, attribute by attribute."""
    d = values.shape[1]
    for c in range(d):
        edge = values[b - 1, c]
        s = 0.0
        q = 0.0
        for u in range(1, lefts + 1):
            step = edge - values[b - u, c]
            s += step
            q += step * step
            sums[centre - u, c] = s
            head[u] = q if c == 0 else head[u] + q
        s = 0.0
        q = 0.0
        sums[centre, c] = 0.0
        tail[0] = 0.0
        for v in range(1, rows):
            step = values[b + v - 1, c] - edge
            s += step
            q += step * step
            sums[centre + v, c] = s
            tail[v] = q if c == 0 else tail[v] + q


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Return the cost of u records before and v records after the edge, minus head[u] + tail[v]."""
    squares = 0.0
    for c in range(sums.shape[1]):
        s = sums[centre + v, c] - sums[centre - u, c]
        squares += s * s
    return -squares / (u + v)


def representatives(ordered: Any, starts: Any, weights: Any) -> Any:
    """Return the centroid of each group."""
    sizes = np.diff(starts, append=ordered.shape[0])
    return np.add.reduceat(ordered, starts, axis=0) / sizes[:, None]
