"""The costs by name, with the properties that determine which searches are valid for them.

*Concave*: ``C(a,c) + C(b,d) <= C(a,d) + C(b,c)`` for a < b < c < d (the quadrangle inequality). *Splitting is
beneficial*: ``C(a,b) + C(b,c) <= C(a,c)``. See Stamm & Schaub 2024, section 2 and Figure 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import Kernel
from shoal.errors import ParameterError, suggestion
from shoal.methods.univariate import (
    cost_max_distance,
    cost_ordered_sse,
    cost_round_down,
    cost_round_up,
    cost_rounded_mean,
    cost_sae,
    cost_sse,
    cost_weighted_sse,
)
from shoal.methods.univariate.ties import linear_tie, no_tie, squared_tie


@dataclass(frozen=True)
class Cost:
    """A cost, its kernels and its properties.

    Parameters
    ----------
    name
        The name users type.
    representatives
        The values that replace the groups, from the values group by group, where each group starts, and weights.
    fill, cross
        Kernels for groups of at most 2k-1 values (see ``row_blocks``).
    cost
        Kernel for groups of any size (see ``unbounded``), if there is one.
    tie
        Surcharge of a cut between equal values (see ``ties``).
    mirror
        The cost that this one becomes when all values change their sign, if there is one.
    power
        The power of the distances to the representative, and of the factor when values are scaled.
    per_group
        Whether the cost of a group is the sum of the powers of the distances, or their maximum.
    concave
        Whether the cost is concave. All costs here have the second property: splitting is beneficial.
    proven
        Whether the properties are proved, so that the cost that a search finds is a lower bound.
    """

    name: str
    representatives: Callable[[Any, Any, Any], Any]
    fill: Kernel
    cross: Kernel
    cost: Kernel | None
    tie: Kernel
    mirror: str | None
    power: int
    per_group: Literal["sum", "maximum"] = "sum"
    concave: bool = True
    proven: bool = True

    def total(self, ordered: NDArray[np.float64], cuts: NDArray[np.int64]) -> float:
        """Return the cost of a clustering of sorted values without weights.

        Examples
        --------
        >>> COSTS["sse"].total(np.array([0.0, 2.0, 5.0, 5.0]), np.array([0, 2, 4]))
        2.0
        >>> COSTS["max-distance"].total(np.array([0.0, 2.0, 5.0, 6.0]), np.array([0, 2, 4]))
        1.5
        """
        starts, sizes = cuts[:-1], np.diff(cuts)
        with np.errstate(over="ignore"):  # squares of extreme values are infinite
            distances = np.abs(ordered - np.repeat(self.representatives(ordered, starts, None), sizes))
            if self.per_group == "maximum":
                return float(np.maximum.reduceat(distances, starts).sum())
            return float((distances**self.power).sum())


def _of(name: str, module: Any, tie: Kernel, mirror: str | None, power: int, **properties: Any) -> Cost:
    group_cost = getattr(module, "cost", None)
    return Cost(name, module.representatives, module.fill, module.cross, group_cost, tie, mirror, power, **properties)


COSTS: dict[str, Cost] = {
    cost.name: cost
    for cost in [
        _of("sse", cost_sse, squared_tie, "sse", 2),
        _of("sae", cost_sae, linear_tie, "sae", 1),
        _of("max-distance", cost_max_distance, linear_tie, "max-distance", 1, per_group="maximum"),
        _of("round-up", cost_round_up, linear_tie, "round-down", 1),
        _of("round-down", cost_round_down, linear_tie, "round-up", 1),
        _of("rounded-mean", cost_rounded_mean, squared_tie, None, 2, proven=False),
        _of("weighted-sse", cost_weighted_sse, squared_tie, "weighted-sse", 2),
        _of("ordered-sse", cost_ordered_sse, no_tie, None, 2, concave=False),
    ]
}
CostName = Literal["sse", "sae", "max-distance", "round-up", "round-down", "rounded-mean"]
COLUMN_COSTS: tuple[CostName, ...] = get_args(CostName)
INTEGER_COSTS: frozenset[CostName] = frozenset({"rounded-mean"})
"""The costs that need integers in the units of the column: a standardised column will not do.

The other costs give the same groups on values that were shifted or scaled by a positive factor.
"""


def column_cost(name: str, *, weighted: bool) -> Cost:
    """Return the cost of that name for one column.

    Examples
    --------
    >>> column_cost("see", weighted=False)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: there is no cost "see"; did you mean "sse"?
    """
    if name not in COLUMN_COSTS:
        raise ParameterError(f'there is no cost "{name}"; {suggestion(name, COLUMN_COSTS)}')
    if not weighted:
        return COSTS[name]
    if name != "sse":
        raise ParameterError(f'weights are for cost="sse"; cost="{name}" has no weighted form')
    return COSTS["weighted-sse"]
