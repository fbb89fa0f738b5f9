"""layers: the optimal clustering with one group more than in the previous layer, by one SMAWK call. O(n) per layer.

Stamm & Schaub 2024, section 6: at most M groups of at least k values, which combines microaggregation with k-means in
one dimension. For concave costs.
"""

from __future__ import annotations

from typing import Any

from shoal.core.compiled import compiled
from shoal.methods.univariate.smawk import smawk as row_search
from shoal.methods.univariate.unbounded import entry


@compiled
def layer(state: Any, first_row: int, first_column: int, columns: int, total: Any, begin: Any) -> None:
    """Fill the totals for one group more than those in ``state``; the rows are the ends from ``first_row`` on."""
    n = total.size - 1
    row_search(first_row, n + 1 - first_row, first_column, columns, state, begin[first_row:])
    for j in range(first_row, n + 1):
        total[j] = entry(j, begin[j], state)
