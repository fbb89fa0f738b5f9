"""Galil & Park's algorithm: one SMAWK call per window, the rest of the window probed entry by entry. O(n).

Galil & Park 1990, doi:10.1016/0020-0190(90)90215-J, as used by Stamm & Schaub 2024, section 2.1.2. For concave costs,
whether or not splitting is beneficial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.smawk import smawk as row_search
from shoal.methods.univariate.unbounded import entry


@compiled
def galil_park(state: Any, limit: int, window: Any, begin: Any, saved: Any, saved_begin: Any) -> None:
    """Continue until ``limit`` columns are final; ``saved`` holds the minima of rows that were dropped."""
    total = state[3]
    n = total.size - 1
    c, r = window
    while c < limit:
        p = min(2 * c - r + 1, n)
        row_search(c + 1, p - c, r, c - r + 1, state, begin[c + 1 : p + 1])
        for j in range(c + 1, p + 1):
            total[j] = entry(j, begin[j], state)
            if saved[j] <= total[j]:
                total[j] = saved[j]
                begin[j] = saved_begin[j]
        next_c = p
        next_r = max(r, begin[p])
        for j in range(c + 2, p + 1):
            candidate = entry(j, j - 1, state)
            if candidate < total[j]:  # row j-1 is better from here on
                total[j] = candidate
                begin[j] = j - 1
                next_c = j
                next_r = j - 1
                break
            if entry(p, j - 1, state) < total[p]:  # row j-1 is better at the end of the window, but not yet here
                for t in range(j + 1, p + 1):
                    saved[t] = total[t]
                    saved_begin[t] = begin[t]
                next_c = j
                next_r = c + 1
                break
        c = next_c
        r = next_r
    window[0] = c
    window[1] = r


def workspace(n: int) -> Any:
    """Return the arrays that the search needs beside its results."""
    return np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
