"""Surcharges, so that equal values stay together where that does not increase the cost.

A cut between two equal values has a surcharge of about 10⁻¹⁴ of the loss that the values around it cause in any case.
Among clusterings of equal cost the one without such cuts is selected, rounding errors are smaller than the surcharge,
and the loss grows by less than one part in 10¹². Where the k values on both sides are all equal a cut has no surcharge,
because both groups get the same representative. The surcharge depends on the position of the cut only, so that it does
not change the properties of a cost that the searches need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled

RELATIVE_SURCHARGE = 2.0**-46


@compiled
def squared_tie(values: Any, i: int, k: int) -> float:
    """Return the surcharge of a cut before ``values[i]`` for costs that grow with the square of the values."""
    if i <= 0 or i >= values.size or values[i - 1] != values[i]:
        return 0.0
    reach = float(values[min(i + k, values.size) - 1] - values[max(i - k, 0)])
    return RELATIVE_SURCHARGE * (reach * reach)


@compiled
def linear_tie(values: Any, i: int, k: int) -> float:
    """Return the surcharge of a cut before ``values[i]`` for costs that grow with the values."""
    if i <= 0 or i >= values.size or values[i - 1] != values[i]:
        return 0.0
    return RELATIVE_SURCHARGE * float(values[min(i + k, values.size) - 1] - values[max(i - k, 0)])


@compiled
def no_tie(values: Any, i: int, k: int) -> float:
    """Return 0: the cost has no surcharge."""
    return 0.0


@compiled
def tie(values: Any, i: int, k: int) -> float:
    """Hold the place of one of the functions above, which is bound later."""
    return 0.0


@compiled
def surcharges(values: Any, k: int) -> Any:
    """Return the surcharge of a cut at each position."""
    charges = np.zeros(values.shape[0] + 1)
    for i in range(1, values.shape[0]):
        charges[i] = tie(values, i, k)
    return charges
