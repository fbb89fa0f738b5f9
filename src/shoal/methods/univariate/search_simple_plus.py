"""simple+: try every valid size of the last group that begins no earlier than the previous one. O(k n).

Stamm & Schaub 2024, appendix A.1 (Algorithm 2). For concave costs the optimal begin moves only to the right, which
leaves a few candidates per value on smooth data; many ties can need all k of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Hold the place of the cost, which is bound later."""
    return 0.0


@compiled
def simple_plus(
    head: Any, sums: Any, mass: Any, k: int, largest: int, most: int, rows: int, lowest: Any, lefts: Any
) -> None:
    """Fill the minima of all rows of a block."""
    centre = 2 * k
    for v in range(rows):
        best = np.inf
        left = k - v
        for u in range(min(largest - v, most), k - v - 1, -1):
            entry = head[u] + cross(sums, mass, centre, u, v)
            if entry < best:
                best = entry
                left = u
        lowest[v] = best
        lefts[v] = left
        most = left
