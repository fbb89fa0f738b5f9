"""quadratic: every valid begin for every end. O(n²), or O(n m) with groups of at most m values.

Stamm & Schaub 2024, section 2.1 (equation 3). The only search for costs that are ordered minimisable but not
concave, where a larger group may cost less than its parts; also the reference implementation of the fast searches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.unbounded import entry


@compiled
def quadratic(state: Any, smallest: int, largest: int, start: int, stop: int, total: Any, begin: Any) -> None:
    """Fill the totals and the begin of the last group for the ends start..stop-1.

    ``total`` is the array of totals in ``state``, or another one if each layer adds exactly one group.
    """
    before = state[3]
    for j in range(start, stop):
        best = np.inf
        first = 0
        for i in range(max(j - largest, 0), j - smallest + 1):
            if before[i] < np.inf:
                candidate = entry(j, i, state)
                if candidate < best:
                    best = candidate
                    first = i
        total[j] = best
        begin[j] = first
