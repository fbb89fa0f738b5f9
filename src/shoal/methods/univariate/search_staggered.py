"""staggered: SMAWK on blocks of k rows and at most 2k-1 columns. O(n).

Stamm & Schaub 2024, section 3.4 (Algorithm 1, Figure 3). Sizes that are not allowed get penalties such that the block
stays totally monotone (appendix B.2): the later a begin that is too late, and the earlier one that is too early, the
larger the penalty.
Valid for concave costs for which splitting is beneficial.
"""

from __future__ import annotations

from typing import Any

from shoal.core.compiled import compiled
from shoal.methods.univariate.smawk import smawk as row_search

PENALTY = 1e300


@compiled
def cross(sums: Any, mass: Any, centre: int, u: int, v: int) -> float:
    """Hold the place of the cost, which is bound later."""
    return 0.0


@compiled
def value(v: int, column: int, state: Any) -> float:
    """Return the entry of row v; column c of the matrix is the begin with most-c values before the edge."""
    head, sums, mass, k, largest, most = state
    u = most - column
    if u + v < k:
        return PENALTY * (3.0 - u / (2.0 * k))
    if u + v > largest:
        return PENALTY * (1.0 + u / (2.0 * k))
    return float(head[u] + cross(sums, mass, 2 * k, u, v))


@compiled
def staggered(
    head: Any, sums: Any, mass: Any, k: int, largest: int, most: int, rows: int, lowest: Any, lefts: Any
) -> None:
    """Fill the minima of all rows of a block."""
    state = (head, sums, mass, k, largest, most)
    row_search(0, rows, 0, most, state, lefts)
    for v in range(rows):
        lowest[v] = value(v, lefts[v], state)
        lefts[v] = most - lefts[v]
