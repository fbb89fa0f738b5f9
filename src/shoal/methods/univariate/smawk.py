"""SMAWK: the leftmost minimum of every row of a totally monotone matrix, in O(rows + columns) evaluations.

Aggarwal, Klawe, Moran, Shor & Wilber 1987, doi:10.1007/BF01840359; used by the linear searches. The matrix is the
function ``value``, which a search binds (see ``binding``). The recursion is written as a loop over levels: level 0 has
all rows, each further level every second row of the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled


@compiled
def value(row: int, column: int, state: Any) -> float:
    """Hold the place of the entries of the matrix, which a search binds; here ``state`` is the matrix itself."""
    return float(state[row, column])


@compiled
def smawk(first_row: int, rows: int, first_column: int, columns: int, state: Any, out: Any) -> None:
    """Write the column of the leftmost minimum of row ``first_row + t`` into ``out[t]``."""
    if rows == 0 or columns == 0:
        return
    kept = np.empty(2 * rows + 1, np.int64)  # the columns that may hold a minimum, level after level
    ends = np.zeros(66, np.int64)
    level = 0
    count = rows
    while count > 0:
        stride = 1 << level
        base = ends[level]
        size = 0
        candidates = columns if level == 0 else base - ends[level - 1]
        for c in range(candidates):  # REDUCE: at most as many columns as rows can hold a minimum
            column = first_column + c if level == 0 else kept[ends[level - 1] + c]
            while size > 0:
                row = first_row + stride - 1 + stride * (size - 1)
                if not value(row, kept[base + size - 1], state) > value(row, column, state):
                    break
                size -= 1
            if size < count:
                kept[base + size] = column
                size += 1
        ends[level + 1] = base + size
        level += 1
        count //= 2
    while level > 0:  # INTERPOLATE: rows between two known minima need only the columns between them
        level -= 1
        stride = 1 << level
        position = ends[level]
        last = ends[level + 1] - 1
        for t in range(stride - 1, rows, 2 * stride):
            row = first_row + t
            stop = out[t + stride] if t + stride < rows else kept[last]
            best = kept[position]
            lowest = value(row, best, state)
            while kept[position] != stop:
                position += 1
                entry = value(row, kept[position], state)
                if entry < lowest:
                    lowest = entry
                    best = kept[position]
            out[t] = best
