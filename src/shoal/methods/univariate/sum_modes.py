"""Other ways to sum the costs of groups, as Stamm & Schaub 2024 compare them in Figure 5: for research.

- ``prefix``: sums from the first value of the column on. The difference of two of them loses digits on long columns.
- ``cheaper``: the same sums, and a cost without the terms that all groupings share (section 4.3): for ``sse`` the
  negative square of the sum. The total grows to the size of the squares, and small differences are lost in it.
- ``cells``: sums that begin anew after every 2k-1 values (section 4.1), and totals that are rebased (section 4.2). The
  paper uses cells of k values, in which a group of up to 2k-1 values can touch three cells, and two cases do not do.

The groups have at least k values in any case; those of ``prefix`` and ``cheaper`` may cost more than the optimum.
``optimal_1d`` sums inside the groups only, see ``row_blocks``. All modes here use the search ``simple+``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import Kernel, compiled
from shoal.errors import ParameterError, suggestion
from shoal.methods.univariate.binding import bind
from shoal.methods.univariate.capped import backtrack

SUMS = ("prefix", "cheaper", "cells")
SUM, SQUARES = 0, 1  # rows of the table of sums


@compiled
def stretch(table: Any, row: int, cell: int, i: int, j: int) -> float:
    """Return the sum over the values i..j-1; this is the one from the first value of the column."""
    return table[row, j] - table[row, i]


@compiled
def stretch_over_cells(table: Any, row: int, cell: int, i: int, j: int) -> float:
    """Return the sum over the values i..j-1, at most as many as a cell has: in one cell or in two."""
    first, second = i // cell, j // cell
    before, after = table[row, first * (cell + 1) + i % cell], table[row, second * (cell + 1) + j % cell]
    if first == second:
        return after - before
    return table[row, first * (cell + 1) + cell] - before + after


@compiled
def sse(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the squared distances to the mean, and 0 where rounding makes them negative."""
    s = stretch(table, SUM, cell, i, j)
    return max(stretch(table, SQUARES, cell, i, j) - s * s / (j - i), 0.0)


@compiled
def cheaper_sse(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the squared distances to the mean less the sum of squares."""
    s = stretch(table, SUM, cell, i, j)
    return -(s * s) / (j - i)


@compiled
def sae(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the distances to the median: the larger half less the smaller half."""
    half = (j - i) // 2
    return stretch(table, SUM, cell, j - half, j) - stretch(table, SUM, cell, i, i + half)


@compiled
def round_up(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the distances to the largest value."""
    return (j - i) * values[j - 1] - stretch(table, SUM, cell, i, j)


@compiled
def cheaper_round_up(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the distances to the largest value plus the sum of the values."""
    return float((j - i) * values[j - 1])


@compiled
def round_down(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the distances to the smallest value."""
    return stretch(table, SUM, cell, i, j) - (j - i) * values[i]


@compiled
def cheaper_round_down(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Return the distances to the smallest value less the sum of the values."""
    return float(-(j - i) * values[i])


@compiled
def cost(values: Any, table: Any, cell: int, i: int, j: int) -> float:
    """Hold the place of the cost, which is bound later."""
    return 0.0


@compiled
def simple_plus_search(values: Any, table: Any, cell: int, k: int, rebased: bool, last: Any) -> None:
    """Write the size of the last group of each prefix (appendix A.1); see ``search_simple_plus`` for the idea."""
    n = values.size
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    low = 0
    for j in range(k, n + 1):
        low = max(low, j - 2 * k + 1)
        best, begin = np.inf, low
        for i in range(low, j - k + 1):
            entry = total[i] + cost(values, table, cell, i, j)
            if entry < best:
                best, begin = entry, i
        total[j] = best
        last[j] = j - begin
        low = begin
        if rebased and j % k == 0:
            needed = max(low, j + 2 - 2 * k)
            base = total[needed : j + 1].min()
            if base < np.inf:
                total[needed : j + 1] -= base


_COSTS = {
    ("sse", False): sse,
    ("sae", False): sae,
    ("round-up", False): round_up,
    ("round-down", False): round_down,
    ("sse", True): cheaper_sse,
    ("round-up", True): cheaper_round_up,
    ("round-down", True): cheaper_round_down,
}


def cuts_by_sums(
    ordered: NDArray[Any], k: int, cost: str, sums: str, *, rebased: bool | None = None
) -> NDArray[np.int64]:
    """Return the cuts 0 = c₀ < c₁ < ... = n that ``simple+`` finds with costs summed in another way.

    Parameters
    ----------
    ordered
        The values in ascending order.
    k
        Minimum group size.
    cost
        ``sse``, ``sae``, ``round-up`` or ``round-down``.
    sums
        ``prefix``, ``cheaper`` or ``cells``, see above; ``sae`` has no cheaper form.
    rebased
        Whether totals are rebased; None: with ``cells`` only, as in the paper.

    Examples
    --------
    >>> cuts_by_sums(np.array([0.0, 1.0, 8.0, 9.0]), 2, "sse", "cheaper").tolist()
    [0, 2, 4]
    >>> cuts_by_sums(np.array([0.0, 1.0, 8.0, 9.0]), 2, "sae", "cheaper")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: cost="sae" has no cheaper form; use sums="prefix" or sums="cells"
    """
    if sums not in SUMS:
        raise ParameterError(f'sums="{sums}" is unknown; {suggestion(sums, ("inside", *SUMS))}')
    if (cost, False) not in _COSTS:
        raise ParameterError(f'sums="{sums}" is for the costs sse, sae, round-up and round-down, not for "{cost}"')
    if (cost, sums == "cheaper") not in _COSTS:
        raise ParameterError(f'cost="{cost}" has no cheaper form; use sums="prefix" or sums="cells"')
    values = np.ascontiguousarray(ordered, np.float64)
    cell = 2 * k - 1 if sums == "cells" else values.size + 1
    last = np.zeros(values.size + 1, np.int64)
    table = _sums_of_cells(values, cell)
    _search(cost, sums)(values, table, cell, k, sums == "cells" if rebased is None else rebased, last)
    return backtrack(last, values.size)


def _sums_of_cells(values: NDArray[np.float64], cell: int) -> NDArray[np.float64]:
    """Return the sums and the sums of squares from the beginning of each cell, cell + 1 of them for each cell.

    Examples
    --------
    >>> _sums_of_cells(np.array([1.0, 2.0, 3.0]), 2)
    array([[0., 1., 3., 0., 3., 3.],
           [0., 1., 5., 0., 9., 9.]])
    """
    cells = np.zeros((values.size // cell + 1) * cell)
    cells[: values.size] = values
    parts = cells.reshape(-1, cell)
    table = np.zeros((2, parts.shape[0], cell + 1))
    table[SUM, :, 1:], table[SQUARES, :, 1:] = parts.cumsum(axis=1), (parts**2).cumsum(axis=1)
    return table.reshape(2, -1)


@cache
def _search(cost: str, sums: str) -> Kernel:
    """Return the search that is compiled for a cost and a way to sum it."""
    kernel = _COSTS[cost, sums == "cheaper"]
    if sums == "cells":
        kernel = bind(kernel, "cells", stretch=stretch_over_cells)
    return bind(simple_plus_search, f"{cost}, {sums}", cost=kernel)
