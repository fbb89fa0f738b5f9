"""Errors of frequency tables: chi-square, largest errors and zero cells, by the dimension of the tables.

Cost 2023, section 6.1. With n' the entry of a cell in the original and n in the released table, the chi-square error is
the sum of (n - n')² / n' over cells with n' > 0; the largest absolute error is taken over all cells, the largest
relative error over those with n' > 0. A cell *vanishes* if it had records and has none, and *appears* if it had none
and has some. O(n log n) per table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_tables import Tables, chosen_tables, control_tables
from shoal.core.row_classes import collapse
from shoal.errors import DataError, ParameterError

MOST_CELLS_COUNTED = 30_000_000  # rows times tables


@dataclass(frozen=True)
class TableErrors:
    """The errors in the tables of one dimension.

    Parameters
    ----------
    tables, cells
        The number of tables, and of their cells that have records in the original or the released table.
    chi_square
        The sum of chi-square errors.
    max_absolute, max_relative
        The largest error of a cell, in records and as a share of its original entry.
    vanished, appeared
        The number of cells that lost all their records, and of empty cells that received some.
    """

    tables: int
    cells: int
    chi_square: float
    max_absolute: float
    max_relative: float
    vanished: int
    appeared: int


@dataclass(frozen=True)
class FrequencyErrors:
    """The errors in frequency tables, by dimension.

    Examples
    --------
    >>> before = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # Cost 2023, Example 5.1.1
    >>> after = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    >>> errors = frequency_errors(before, after)
    >>> errors.chi_square, errors.dimensions[1].chi_square, errors.dimensions[2].max_relative
    (4.0, 0.0, 1.0)
    """

    dimensions: Mapping[int, TableErrors]

    @property
    def chi_square(self) -> float:
        """The sum of chi-square errors over all tables."""
        return sum(errors.chi_square for errors in self.dimensions.values())

    @property
    def max_absolute(self) -> float:
        """The largest error of any cell."""
        return max(errors.max_absolute for errors in self.dimensions.values())

    @property
    def max_relative(self) -> float:
        """The largest error of any cell as a share of its original entry."""
        return max(errors.max_relative for errors in self.dimensions.values())

    @property
    def vanished(self) -> int:
        """The number of cells that lost all their records."""
        return sum(errors.vanished for errors in self.dimensions.values())

    @property
    def appeared(self) -> int:
        """The number of empty cells that received records."""
        return sum(errors.appeared for errors in self.dimensions.values())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary for JSON."""
        return {
            "chi_square": self.chi_square,
            "max_absolute": self.max_absolute,
            "max_relative": self.max_relative,
            "vanished": self.vanished,
            "appeared": self.appeared,
            "dimensions": {str(d): asdict(errors) for d, errors in self.dimensions.items()},
        }


def frequency_errors(
    original: NDArray[Any],
    released: NDArray[Any],
    tables: Tables = None,
    *,
    original_counts: NDArray[Any] | None = None,
    released_counts: NDArray[Any] | None = None,
) -> FrequencyErrors:
    """Compare the frequency tables of two tables of codes.

    Parameters
    ----------
    original, released
        Codes with the same attributes (n x m); they may differ in the number of rows.
    tables
        A dimension (all tables up to it) or a list of tables; by default all 2^m - 1 tables of up to 10 attributes; of
        more attributes, or of very many different rows, the highest dimension that is quick to count.
    original_counts, released_counts
        The number of records of each row, if not 1.

    Returns
    -------
    errors
        Chi-square, largest errors and zero cells by dimension.

    Examples
    --------
    >>> frequency_errors(np.array([[0], [0], [1]]), np.array([[0], [0], [0]])).as_dict()["vanished"]
    1
    """
    before, after = np.asarray(original), np.asarray(released)
    if before.ndim != 2 or after.ndim != 2 or before.shape[1] != after.shape[1]:
        raise DataError(
            f"two tables of codes with the same attributes are needed, not of shape {before.shape} and {after.shape}"
        )
    rows, counts = _joined(before, after, original_counts, released_counts)
    m = rows.shape[1]
    chosen = chosen_tables(_highest_dimension(m, len(rows)) if tables is None else tables, m)
    by_dimension: dict[int, list[TableErrors]] = {}
    for table in chosen:
        by_dimension.setdefault(len(table), []).append(_one_table(rows, counts, table))
    return FrequencyErrors({d: _summed(found) for d, found in sorted(by_dimension.items())})


def above_best(values: Mapping[str, float]) -> dict[str, float]:
    """Return by which share the value of each method exceeds the best of those compared (Cost 2023, section 6.1.1).

    Examples
    --------
    >>> above_best({"own-hee": 80.0, "own-hhe": 100.0})
    {'own-hee': 0.0, 'own-hhe': 0.25}
    """
    best = min(values.values())
    if best <= 0:
        raise ParameterError(f"only positive values can be compared as shares; the smallest is {best}")
    return {name: (value - best) / best for name, value in values.items()}


def _joined(
    before: NDArray[Any], after: NDArray[Any], counts_before: NDArray[Any] | None, counts_after: NDArray[Any] | None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the combinations of either table, and the number of their records before and after."""
    codes = np.vstack([before, after]).astype(np.int32)
    weights = [
        np.ones(len(codes_of)) if counts is None else np.asarray(counts, np.float64)
        for codes_of, counts in ((before, counts_before), (after, counts_after))
    ]
    both = collapse(codes)
    inverse = [both.inverse[: len(before)], both.inverse[len(before) :]]
    size = both.counts.size
    counts = np.column_stack([np.bincount(i, w, size) for i, w in zip(inverse, weights, strict=True)])
    return both.rows, counts.astype(np.float64)


def _highest_dimension(m: int, rows: int) -> int:
    """Return the highest dimension for which all tables together are quick to count."""
    tables = np.cumsum([comb(m, d) for d in range(1, m + 1)])
    return max(int((tables <= min(1_023, MOST_CELLS_COUNTED // max(rows, 1))).sum()), 1)


def _one_table(rows: NDArray[np.int32], counts: NDArray[np.float64], table: tuple[int, ...]) -> TableErrors:
    cells = control_tables(rows, [table])
    before, after = (cells.totals(column) for column in counts.T)
    had = before > 0
    error = np.abs(after - before)
    return TableErrors(
        tables=1,
        cells=int((had | (after > 0)).sum()),
        chi_square=float((error[had] ** 2 / before[had]).sum()),
        max_absolute=float(error.max(initial=0.0)),
        max_relative=float((error[had] / before[had]).max(initial=0.0)),
        vanished=int((had & (after == 0)).sum()),
        appeared=int((~had & (after > 0)).sum()),
    )


def _summed(found: list[TableErrors]) -> TableErrors:
    return TableErrors(
        tables=len(found),
        cells=sum(errors.cells for errors in found),
        chi_square=sum(errors.chi_square for errors in found),
        max_absolute=max(errors.max_absolute for errors in found),
        max_relative=max(errors.max_relative for errors in found),
        vanished=sum(errors.vanished for errors in found),
        appeared=sum(errors.appeared for errors in found),
    )
