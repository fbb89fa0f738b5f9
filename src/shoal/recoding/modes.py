"""The most frequent category of each group: the representative that changes fewest cells. Cost O(n).

With small groups ties are the rule. They go to the category that has so far been given out least compared with how
often it occurs in the table, so that the frequencies of the whole column survive; always choosing, say, the first
in the alphabet would make it swallow the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.grouping import Grouping

FEW = 5_000


def group_modes(
    codes: NDArray[np.int64], grouping: Grouping, weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Return the most frequent code of each group; weights count a record as often as it stands for.

    Examples
    --------
    >>> group_modes(np.array([2, 2, 0, 1, 1, 1]), Grouping([0, 0, 0, 1, 1, 1], k=3))
    array([2, 1])
    >>> group_modes(np.array([0, 1, 0, 1]), Grouping([0, 0, 1, 1], k=2))  # two ties: both categories survive
    array([0, 1])
    """
    weights = np.ones(codes.size) if weights is None else weights
    order = np.argsort(grouping.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(grouping.sizes)])
    run = _modes.function if codes.size <= FEW else _modes  # few records are not worth a compilation
    modes: NDArray[np.int64] = run(codes[order].astype(np.int64), weights[order], starts, int(codes.max()) + 1)
    return modes


@compiled
def _modes(codes: Any, weights: Any, starts: Any, categories: int) -> Any:
    groups = starts.size - 1
    modes = np.full(groups, -1)
    owed = np.zeros(categories)  # weight of a category in the table, less what was given out
    for i in range(codes.size):
        owed[codes[i]] += weights[i]
    count = np.zeros(categories)
    for tied in range(2):  # first the groups with one answer, then the ties
        for g in range(groups):
            if modes[g] >= 0:
                continue
            start, stop = starts[g], starts[g + 1]
            total = 0.0
            for i in range(start, stop):
                count[codes[i]] += weights[i]
                total += weights[i]
            best = codes[start]
            rivals = 0
            for i in range(start, stop):
                code = codes[i]
                if count[code] > count[best]:
                    best = code
                    rivals = 0
                elif count[code] == count[best] and code != best:
                    rivals += 1
                    if owed[code] > owed[best] or (owed[code] == owed[best] and code < best):
                        best = code
            for i in range(start, stop):
                count[codes[i]] = 0.0
            if tied == 1 or rivals == 0:
                modes[g] = best
                owed[best] -= total
    return modes
