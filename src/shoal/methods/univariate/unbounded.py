"""The common frame of the searches without a maximum group size: quadratic, Wilber, Galil-Park and layers.

An entry of their matrix (row j, column i) is the total of the first i values plus the cost of the group i..j-1, where
sizes below k are excluded by penalties that keep the matrix totally monotone (Stamm & Schaub 2024, equation 5 and
appendix B.2), or have a cost per missing record (section 6, regularised microaggregation). A constant cost per group
(section 6) is part of the entry as well. Group costs come from sums with 32 digits (see ``prefix_sums``).
"""

from __future__ import annotations

from typing import Any

from shoal.core.compiled import compiled

PENALTY = 1e300


@compiled
def cost(values: Any, totals: Any, i: int, j: int) -> float:
    """Hold the place of a cost, which is bound later."""
    return 0.0


@compiled
def entry(j: int, i: int, state: Any) -> float:
    """Return the cost of the optimal clustering of j values whose last group begins at i.

    ``state``: values, prefix sums, surcharge of a cut at i (see ``ties``), totals so far, k, cost of a group, cost of
    each record that a group has fewer than k (below 0: groups below k are not allowed).
    """
    values, totals, ties, total, k, group_cost, shortage = state
    if i >= j:
        return PENALTY * (3.0 + i / values.size)
    extra = group_cost
    if j - i < k or 0 < i < k:
        if shortage < 0.0:
            return PENALTY * (1.0 + i / values.size)
        extra += shortage * max(k - (j - i), 0)
    return float(total[i] + ties[i] + cost(values, totals, i, j) + extra)
