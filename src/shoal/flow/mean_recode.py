"""A column whose values become means: measured first, rounded when the means of all columns are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.flow.encoding import Floats, NumericEncoding, from_polars
from shoal.flow.exact_numbers import ExactMeans
from shoal.recoding.loss import ColumnLoss
from shoal.recoding.rounded_means import Words, group_draws
from shoal.schema.plan import Sums

if TYPE_CHECKING:
    from shoal.tables.table import Series


@dataclass(frozen=True, eq=False)
class RecodedColumn:
    """A released column and its loss."""

    name: str
    series: Series
    loss: ColumnLoss


@dataclass(frozen=True, eq=False)
class Spread:
    """What the loss of a column is computed from, whatever its means are rounded to; in standard deviations.

    Parameters
    ----------
    means
        The mean of each group; the mean of the column where the group has none.
    weights, deviations
        The sum over each group of weights, and of weighted deviations from its mean.
    inside, total
        The sums of squared deviations from the means of the groups, and from the mean of the column.
    mean
        The mean of the column.
    """

    means: Floats
    weights: Floats
    deviations: Floats
    inside: float
    total: float
    mean: float


@dataclass(frozen=True, eq=False)
class MeanTask:
    """The means of one column, before they are rounded; it holds nothing of the size of the table."""

    entry: NumericEncoding
    series: Series
    means: ExactMeans
    spread: Spread
    sizes: Floats
    sums: Sums

    def released(self, grouping: Grouping, keys: Words) -> RecodedColumn:
        """Return the released column and its loss."""
        if self.sums == "rounded":
            found = self.means.rounded(grouping.sizes, group_draws(keys, self.entry.column.name))
        else:
            found = self.means.keeping_sum(self.sizes)
        column = from_polars(found.column, self.series, same_dtype=found.same_dtype)
        return RecodedColumn(self.series.name, column[grouping.labels], self._loss(found.offsets))

    def _loss(self, representatives: Floats) -> ColumnLoss:
        spread = self.spread
        shown = self.entry.standardised(representatives)
        moved = spread.means - np.where(np.isnan(shown), spread.mean, shown)
        sse = spread.inside + float((moved * (2 * spread.deviations + spread.weights * moved)).sum())
        difference = -float((spread.deviations + spread.weights * moved).sum())
        return ColumnLoss(max(sse, 0.0), spread.total, total_error=self._relative(difference))

    def _relative(self, difference: float) -> float | None:
        """Return a difference of totals as a share of the total; None where a total means nothing."""
        entry = self.entry
        if self.series.dtype.is_temporal():
            return None
        unit = entry.scale * entry.deviation
        records = float(self.spread.weights.sum())
        total = records * (self.spread.mean * unit + entry.scale * entry.mean + float(entry.origin))
        return abs(difference * unit / total) if total else None


def measure_spread(
    entry: NumericEncoding,
    original: Floats,
    means: Floats,
    grouping: Grouping,
    weights: Floats | None,
    *,
    complete: bool,
) -> Spread:
    """Return what the loss is computed from.

    Parameters
    ----------
    entry
        The encoding of the column.
    original
        The values as the encoding sees them; a missing one counts nothing.
    means
        The mean of each group, NaN where it has none.
    grouping
        The groups.
    weights
        Sampling weights, if there are any.
    complete
        Whether the means are those of the original values, and not also of imputed ones.
    """
    labels: NDArray[np.int64] = grouping.labels
    values = entry.standardised(original)
    known = ~np.isnan(values)
    whole = bool(known.all())
    if not whole:
        values, labels = values[known], labels[known]
        weights = None if weights is None else weights[known]
    mean = float(np.average(values, weights=weights)) if values.size else 0.0
    centres = entry.standardised(means)
    centres = np.where(np.isnan(centres), mean, centres)
    if complete and whole and weights is None:
        sums, deviations = grouping.sizes.astype(np.float64), np.zeros(len(grouping))
        differences = values - centres[labels]
    else:
        differences = values - centres[labels]
        sums = np.bincount(labels, weights, minlength=len(grouping)).astype(np.float64)
        weighted = differences if weights is None else differences * weights
        deviations = np.bincount(labels, weighted, minlength=len(grouping)).astype(np.float64)
    values -= mean
    return Spread(centres, sums, deviations, _squares(differences, weights), _squares(values, weights), mean)


def _squares(differences: Floats, weights: Floats | None) -> float:
    """Return the weighted sum of squares; overwrites the differences, and adds in an order that no thread changes."""
    np.multiply(differences, differences, out=differences)
    if weights is not None:
        differences *= weights
    return float(differences.sum())
