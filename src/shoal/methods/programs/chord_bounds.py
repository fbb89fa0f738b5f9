"""Chords of the chi-square error of a cell, which make a quadratic program linear.

The error (v - target)² / target is convex in the entry v of a cell. Between neighbouring possible entries it is
replaced by a chord; the maximum of all chords is exact at every possible entry (Cost 2023 solves the quadratic program
itself). Chords far from the target are hardly ever active, and thousands of them slow the solver down. A program
therefore begins with the chords near the targets: its optimum is then a lower bound, and it is the optimum itself if
the error of its solution equals the value of the program. If not, the program is solved again with more chords.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WIDTHS = (0.5, 4.0, np.inf)
"""Widths to try one after the other, in roots of the target; the last one keeps all chords."""


def near(entries: NDArray[np.float64], target: float, width: float) -> NDArray[np.float64]:
    """Return the entries within 2 + width times the root of the target, and the next on either side.

    Examples
    --------
    >>> near(np.arange(3.0, 200.0), 16.0, 0.5).tolist()
    [11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0]
    >>> near(np.array([0.0, 3.0, 40.0, 80.0]), 16.0, 0.5).tolist()
    [0.0, 3.0, 40.0]
    """
    away = np.abs(entries - target)
    inside = np.flatnonzero(away <= max(2.0 + width * np.sqrt(target), away.min()))
    return entries[max(int(inside[0]) - 1, 0) : int(inside[-1]) + 2]
