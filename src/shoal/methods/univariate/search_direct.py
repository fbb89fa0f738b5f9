"""direct: simple for SSE and small k, each group summed up from its last value. O(k n).

Stamm & Schaub 2024, appendix A.1, without prefix sums: for k up to about 4 the few steps cost less than a table of
sums. The sums are those of the group itself, so rounding errors are small. For SSE only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.ties import squared_tie

K = 2  # k, bound to a constant, so that the compiler unrolls the loops
REBASE_STEPS = 64  # totals are reduced by a common amount after this many values


@compiled
def direct(
    values: Any, weights: Any, k: int, largest: int, start: int, stop: int, sums: Any, mass: Any, total: Any, last: Any
) -> int:
    """Fill ``total`` and ``last`` (the size of the last group) from column ``start`` on; see ``row_blocks.blocks``."""
    if start == K:
        for j in range(K, min(2 * K, stop + 1)):
            total[j] = around_last(values, j, j) + squared_tie(values, j, K)
            last[j] = j
        start = min(2 * K, stop + 1)
    end = min(stop + 1, start + (1 << 20))
    j = start
    while j < end:
        pause = min(j + REBASE_STEPS, end)
        base = total[j - K]
        for i in range(j - 2 * K + 1, j):
            total[i] -= base
        while j < pause:
            edge = values[j - 1]
            s = 0.0
            q = 0.0
            for m in range(2, K):
                d = float(edge - values[j - m])
                s += d
                q += d * d
            best = np.inf
            size = K
            for m in range(K, 2 * K):
                d = float(edge - values[j - m])
                s += d
                q += d * d
                entry = total[j - m] + (q - s * s * (1.0 / m))
                size = m if entry <= best else size
                best = min(best, entry)
            total[j] = best
            last[j] = size
            if j < values.size and values[j] == edge:
                total[j] += squared_tie(values, j, K)
            j += 1
    return end


@compiled
def around_last(values: Any, j: int, size: int) -> float:
    """Return the SSE of the ``size`` values that end at j."""
    s = 0.0
    q = 0.0
    for m in range(2, size + 1):
        d = float(values[j - 1] - values[j - m])
        s += d
        q += d * d
    return q - s * s / size
