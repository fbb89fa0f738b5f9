"""Wilber's algorithm: two SMAWK calls for each window, windows of doubling size. O(n) for concave costs.

Wilber 1988, doi:10.1016/0196-6774(88)90032-6, as used by Stamm & Schaub 2024, section 2.1.2. Needs no maximum group
size, so it is also valid for costs for which splitting is not beneficial, such as a constant cost per group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.univariate.smawk import smawk as row_search
from shoal.methods.univariate.unbounded import entry


@compiled
def wilber(state: Any, limit: int, window: Any, begin: Any, guess: Any) -> None:
    """Continue until ``limit`` columns are final.

    ``window`` holds c and r: columns up to c are final, rows r..c may hold the minimum of later ones.
    """
    total = state[3]
    n = total.size - 1
    c, r = window
    while c < limit:
        p = min(2 * c - r + 1, n)
        row_search(c + 1, p - c, r, c - r + 1, state, begin[c + 1 : p + 1])
        for j in range(c + 1, p + 1):
            total[j] = entry(j, begin[j], state)
        row_search(c + 2, p - c - 1, c + 1, p - c - 1, state, guess)
        found = p + 1
        for j in range(c + 2, p + 1):
            candidate = entry(j, guess[j - c - 2], state)
            if candidate < total[j]:
                found = j
                total[j] = candidate
                begin[j] = guess[j - c - 2]
                break
        if found > p:
            r = max(r, begin[p])
            c = p
        else:
            r = begin[found]
            c = found
    window[0] = c
    window[1] = r


def workspace(n: int) -> Any:
    """Return the arrays that the search needs beside its results."""
    return np.empty(n + 1, np.int64)
