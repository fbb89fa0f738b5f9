"""simple: try every valid size of the last group. O(k n).

Stamm & Schaub 2024, appendix A.1 (Algorithm 2); Hansen & Mukherjee 2003. Valid whenever splitting is beneficial; also
with a maximum size, and for records in a given order.
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
def simple(
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
