"""Associations between columns, before and after: correlations of numbers, and Cramér's V of any columns.

Correlation is Pearson's, of each pair of columns over the records in which both are known, so that a suppressed column
costs its own figures and no others; ordered categories count by their position. A pair with fewer than ten such
records, or with a constant column, has no correlation (NaN). Cramér's V is corrected for bias (Bergsma 2013), with
numbers cut at the deciles of the released values: 0 means no association, 1 that one column determines the other. Both
tables are cut at the same points, and these depend on the released table alone: its figures are the same whether or
not the original is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MAX_COLUMNS = 10
"""The largest number of columns of a matrix."""
_MIN_RECORDS = 10
_MAX_CATEGORIES = 20


@dataclass(frozen=True)
class AssociationMatrix:
    """A symmetric matrix of associations before and after.

    Parameters
    ----------
    names
        The columns.
    before, after
        The figures, 1 on the diagonal, NaN where there is none; before is None where the original is not shown.
    """

    names: tuple[str, ...]
    before: Floats | None
    after: Floats

    def pairs(self) -> list[tuple[str, str, float | None, float]]:
        """Return every pair with its figures."""
        return [
            (
                self.names[i],
                self.names[j],
                None if self.before is None else float(self.before[i, j]),
                float(self.after[i, j]),
            )
            for i, j in combinations(range(len(self.names)), 2)
        ]

    @property
    def largest_change(self) -> tuple[str, str, float] | None:
        """The pair whose figure changed most."""
        changes = [(left, right, after - before) for left, right, before, after in self.pairs() if before is not None]
        known = [change for change in changes if not np.isnan(change[2])]
        return max(known, key=lambda change: abs(change[2]), default=None)

    @property
    def without_figures(self) -> tuple[str, ...]:
        """The columns without any figure in the released table: suppressed, constant, or with too few records."""
        others = ~np.eye(len(self.names), dtype=bool)
        return tuple(
            name
            for name, row, other in zip(self.names, self.after, others, strict=True)
            if other.any() and np.isnan(row[other]).all()
        )


def correlation(columns: Sequence[PairedColumn], *, shown: bool) -> AssociationMatrix | None:
    """Return the correlations of the numeric columns; None for fewer than two columns, or where no pair has a figure.

    Parameters
    ----------
    columns
        The columns of both tables.
    shown
        Whether the original is shown.

    Examples
    --------
    >>> x, y = np.arange(10.0), np.arange(10.0) % 2
    >>> matrix = correlation([PairedColumn("x", x, x), PairedColumn("y", y, x)], shown=True)
    >>> matrix.before.round(3).tolist(), matrix.after.round(3).tolist()
    ([[1.0, 0.174], [0.174, 1.0]], [[1.0, 1.0], [1.0, 1.0]])
    """
    numeric = [column for column in columns if column.numeric][:MAX_COLUMNS]
    if len(numeric) < 2:
        return None
    after = _correlations([column.released for column in numeric])
    before = _correlations([column.original for column in numeric]) if shown else None
    if np.isnan(after[~np.eye(len(numeric), dtype=bool)]).all():
        return None
    return AssociationMatrix(tuple(column.name for column in numeric), before, after)


def _correlations(columns: Sequence[Floats]) -> Floats:
    """Return the correlation of each pair over its complete records, added up in an order that no thread changes."""
    known = [~np.isnan(column) for column in columns]
    matrix = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        both = known[i] & known[j]
        matrix[i, j] = matrix[j, i] = _correlation(columns[i][both], columns[j][both])
    return matrix


def _correlation(left: Floats, right: Floats) -> float:
    """Return the correlation of two columns; NaN for fewer than ten records or a constant column."""
    if left.size < _MIN_RECORDS:
        return float("nan")
    first, second = _standardised(left), _standardised(right)
    if not first.any() or not second.any():
        return float("nan")
    return float(np.clip((first * second).mean(), -1.0, 1.0))


def _standardised(values: Floats) -> Floats:
    """Return values with mean 0 and variance 1; zeros for a constant column."""
    values = values - values[0]
    largest = float(np.abs(values).max())
    if largest == 0:
        return values
    values = values / largest
    values = values - values.mean()
    deviation = float(np.sqrt((values**2).mean()))
    return values / deviation if deviation > 1e-12 else np.zeros_like(values)


def association(columns: Sequence[PairedColumn], *, shown: bool) -> AssociationMatrix | None:
    """Return Cramér's V of all pairs; None where there is no category, one column, or fewer than ten records.

    Parameters
    ----------
    columns
        The columns of both tables.
    shown
        Whether the original is shown.

    Examples
    --------
    >>> a = np.repeat([0.0, 1.0], 50)
    >>> sex, job = (PairedColumn(name, a, after, ("p", "q")) for name, after in (("sex", a), ("job", a[::-1])))
    >>> matrix = association([sex, job], shown=True)
    >>> matrix.before[0, 1].round(3), matrix.after[0, 1].round(3)
    (np.float64(1.0), np.float64(1.0))
    """
    chosen = list(columns[:MAX_COLUMNS])
    if len(chosen) < 2 or all(column.numeric for column in chosen) or chosen[0].released.size < _MIN_RECORDS:
        return None
    cells = [released_cells(column) for column in chosen]
    after = _matrix_of_cramer([(cell.released, cell.count) for cell in cells])
    before = _matrix_of_cramer([(cell.original, cell.count) for cell in cells]) if shown else None
    return AssociationMatrix(tuple(column.name for column in chosen), before, after)


@dataclass(frozen=True)
class Cells:
    """The cell of each value of both tables, and the number of cells; the last one is for missing values."""

    original: Integers
    released: Integers
    count: int


def released_cells(column: PairedColumn) -> Cells:
    """Return the cells of a column, cut by the released values: deciles, or the twenty most frequent categories.

    A decile is one of the released values, not a point between two: moving the origin of the scale, which may come
    from the original, then changes no cell.

    Examples
    --------
    >>> released_cells(PairedColumn("age", np.array([1.0, 5.0, 9.0]), np.array([3.0, 3.0, 9.0]))).original.tolist()
    [0, 1, 2]
    """
    parts = column.original, column.released
    known = column.released[~np.isnan(column.released)]
    if column.numeric:
        share = np.arange(1, 10) / 10
        cuts = np.unique(np.quantile(known, share, method="inverted_cdf")) if known.size else np.empty(0)
        cells = [np.searchsorted(cuts, values, "right") for values in parts]
        count = cuts.size + 1
    else:
        frequency = np.bincount(known.astype(np.int64), minlength=len(column.categories))
        order = np.lexsort((np.array(column.categories), -frequency))[:_MAX_CATEGORIES]
        count = order.size + 1
        cell = np.full(len(column.categories), order.size)
        cell[order] = np.arange(order.size)
        cells = [cell[np.nan_to_num(values).astype(np.int64)] for values in parts]
    original, released = (
        np.where(np.isnan(values), count, inside).astype(np.int64) for inside, values in zip(cells, parts, strict=True)
    )
    return Cells(original, released, count + 1)


def _matrix_of_cramer(columns: Sequence[tuple[Integers, int]]) -> Floats:
    matrix = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        matrix[i, j] = matrix[j, i] = _cramer(columns[i][0], *columns[j])
    return matrix


def _cramer(left: Integers, right: Integers, count: int) -> float:
    n = left.size
    table = (
        np.bincount(left * count + right, minlength=(int(left.max()) + 1) * count).reshape(-1, count).astype(np.float64)
    )
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = table.shape
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0)[None, :] / n
    phi = max(0.0, float(((table - expected) ** 2 / expected).sum()) / n - (rows - 1) * (columns - 1) / (n - 1))
    least = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(phi / least))) if least > 1e-9 else 0.0
