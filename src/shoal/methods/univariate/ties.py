"""Equal values stay together when that costs nothing.

A cut between two equal values is dearer than its cost by a hair: some 10⁻¹⁴ of the loss that its neighbourhood causes
in any case. Among clusterings of equal cost the one without such cuts wins, rounding errors are outweighed, and the
loss grows by less than one part in 10¹². Where the k values on both sides are all equal a cut is free, since
both groups get the same representative. The surcharge depends on the place of the cut alone, so that every
property of a cost that the searches need survives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled

HAIR = 2.0**-46


@compiled
def squared_tie(values: Any, i: int, k: int) -> float:
    """Return the surcharge of a cut before ``values[i]`` for costs that grow with the square of the values."""
    if i <= 0 or i >= values.size or values[i - 1] != values[i]:
        return 0.0
    reach = float(values[min(i + k, values.size) - 1] - values[max(i - k, 0)])
    return HAIR * (reach * reach)


@compiled
def linear_tie(values: Any, i: int, k: int) -> float:
    """Return the surcharge of a cut before ``values[i]`` for costs that grow with the values."""
    if i <= 0 or i >= values.size or values[i - 1] != values[i]:
        return 0.0
    return HAIR * float(values[min(i + k, values.size) - 1] - values[max(i - k, 0)])


@compiled
def no_tie(values: Any, i: int, k: int) -> float:
    """Return nothing: ties do not matter."""
    return 0.0


@compiled
def tie(values: Any, i: int, k: int) -> float:
    """Stand for one of the above, which is bound later."""
    return 0.0


@compiled
def surcharges(values: Any, k: int) -> Any:
    """Return the surcharge of a cut at each place."""
    charges = np.zeros(values.shape[0] + 1)
    for i in range(1, values.shape[0]):
        charges[i] = tie(values, i, k)
    return charges
