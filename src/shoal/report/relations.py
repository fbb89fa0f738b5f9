"""How columns hang together, before and after: correlations of numbers, and association of any columns.

Correlation is Pearson's, over records without holes; ordered categories count by their position. Association is
Cramér's V with the correction of Bergsma (2013), numbers cut at their deciles: 0 where two columns have nothing to do
with each other, 1 where one tells the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.distribution_distances import cells
from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
MOST = 10
"""The most columns of a picture."""
_FEWEST = 10


@dataclass(frozen=True)
class Relations:
    """A symmetric matrix of figures before and after.

    Parameters
    ----------
    names
        The columns.
    before, after
        The figures, 1 on the diagonal; before is None where the original is not shown.
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
        changes = [(one, other, after - before) for one, other, before, after in self.pairs() if before is not None]
        return max(changes, key=lambda change: abs(change[2]), default=None)


def correlation(columns: Sequence[PairedColumn], *, shown: bool) -> Relations | None:
    """Return the correlations of the numeric columns; None for fewer than two columns or ten records.

    Examples
    --------
    >>> x, y = np.arange(10.0), np.arange(10.0) % 2
    >>> found = correlation([PairedColumn("x", x, x), PairedColumn("y", y, x)], shown=True)
    >>> found.before.round(3).tolist(), found.after.round(3).tolist()
    ([[1.0, 0.174], [0.174, 1.0]], [[1.0, 1.0], [1.0, 1.0]])
    """
    numeric = [column for column in columns if column.numeric][:MOST]
    if len(numeric) < 2:
        return None
    after = _correlations([column.released for column in numeric])
    before = _correlations([column.original for column in numeric]) if shown else None
    if after is None or (shown and before is None):
        return None
    return Relations(tuple(column.name for column in numeric), before, after)


def _correlations(columns: Sequence[Floats]) -> Floats | None:
    """Return correlations over complete records, added up in an order that no thread changes."""
    known = ~np.isnan(np.column_stack(columns)).any(axis=1)
    if int(known.sum()) < _FEWEST:
        return None
    standard = [_standardised(column[known]) for column in columns]
    found = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        found[i, j] = found[j, i] = float(np.clip((standard[i] * standard[j]).mean(), -1.0, 1.0))
    return found


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


def association(columns: Sequence[PairedColumn], *, shown: bool) -> Relations | None:
    """Return the association of all columns; None where there is no category, one column, or too few records.

    Examples
    --------
    >>> a = np.repeat([0.0, 1.0], 50)
    >>> sex, job = (PairedColumn(name, a, after, ("p", "q")) for name, after in (("sex", a), ("job", a[::-1])))
    >>> found = association([sex, job], shown=True)
    >>> found.before[0, 1].round(3), found.after[0, 1].round(3)
    (np.float64(1.0), np.float64(1.0))
    """
    chosen = list(columns[:MOST])
    if len(chosen) < 2 or all(column.numeric for column in chosen) or chosen[0].original.size < _FEWEST:
        return None
    counted = [cells(column) for column in chosen]
    before, after = np.eye(len(chosen)), np.eye(len(chosen))
    for i, j in combinations(range(len(chosen)), 2):
        (was, is_now, _), (other_was, other_is_now, count) = counted[i], counted[j]
        before[i, j] = before[j, i] = _cramer(was, other_was, count)
        after[i, j] = after[j, i] = _cramer(is_now, other_is_now, count)
    return Relations(tuple(column.name for column in chosen), before if shown else None, after)


def _cramer(one: NDArray[np.int64], other: NDArray[np.int64], count: int) -> float:
    n = one.size
    table = (
        np.bincount(one * count + other, minlength=(int(one.max()) + 1) * count).reshape(-1, count).astype(np.float64)
    )
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = table.shape
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0)[None, :] / n
    phi = max(0.0, float(((table - expected) ** 2 / expected).sum()) / n - (rows - 1) * (columns - 1) / (n - 1))
    least = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(phi / least))) if least > 1e-9 else 0.0
