"""One quasi-identifier recoded: the representative of each group, the released column and its loss.

Representatives that are values of records (mode, medoid, minimum, maximum, ends of ranges, elements of sets) are taken
from the column by the number of the record, never computed back from coordinates. Means are computed from the numbers
as they are stored (:mod:`shoal.flow.exact_numbers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import group_median_records, group_modes, group_ranges
from shoal.core.grouping import Groups
from shoal.flow.encoding import CategoryEncoding, ColumnEncoding, Floats, NumericEncoding, from_polars, is_view
from shoal.flow.exact_numbers import EXACT, ExactMeans, ExactNumbers, FloatNumbers, Representatives, exact_numbers
from shoal.flow.prepare import Integers
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.recoding.rounded_means import Words, group_draws
from shoal.schema.columns import Kind, Recode
from shoal.schema.plan import Decimals, Sums
from shoal.tables.clean_copy import arrow_array
from shoal.tables.value_codes import missing_mask, polars_series

if TYPE_CHECKING:
    from shoal.tables.table import Series


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


def mean_loss(entry: NumericEncoding, spread: Spread, representatives: Floats, *, totals: bool) -> ColumnLoss:
    """Return the loss of a column whose means were rounded.

    Parameters
    ----------
    entry
        The encoding of the column.
    spread
        What :func:`measure_spread` returned.
    representatives
        What is released for each group, as the encoding sees it; NaN where nothing is.
    totals
        Whether a total of the column has a meaning.
    """
    shown = entry.standardised(representatives)
    moved = spread.means - np.where(np.isnan(shown), spread.mean, shown)
    sse = spread.inside + float((moved * (2 * spread.deviations + spread.weights * moved)).sum())
    unit = entry.scale * entry.deviation
    total = float(spread.weights.sum()) * (spread.mean * unit + entry.scale * entry.mean + float(entry.origin))
    difference = float((spread.deviations + spread.weights * moved).sum())
    error = abs(difference * unit / total) if totals and total else None
    return ColumnLoss(max(sse, 0.0), spread.total, total_error=error)


def measure_spread(
    entry: NumericEncoding,
    original: Floats,
    means: Floats,
    grouping: Groups,
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
    whole = not (values.size and np.isnan(values.min()))
    if not whole:
        known = ~np.isnan(values)
        values, labels = values[known], labels[known]
        weights = None if weights is None else weights[known]
    mean = float(np.average(values, weights=weights)) if values.size else 0.0
    centres = entry.standardised(means)
    centres = np.where(np.isnan(centres), mean, centres)
    differences = centres[labels]
    np.subtract(values, differences, out=differences)
    if complete and whole and weights is None:
        sums, deviations = grouping.sizes.astype(np.float64), np.zeros(len(grouping))
    else:
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


RecodedColumn = tuple["Series", ColumnLoss]
"""A released column and its loss."""


def taken(series: Series, records: Integers) -> Series:
    """Return some records of a column; pyarrow cannot take them from string views, and would import pandas."""
    if not series.implementation.is_pyarrow():
        return series[records]
    import pyarrow as pa

    native, rows = series.to_native(), arrow_array(pa.int64(), records.astype(np.int64, copy=False))
    found = native.cast(pa.large_string()).take(rows).cast(native.type) if is_view(series) else native.take(rows)
    return nw.from_native(found, series_only=True).alias(series.name)


@dataclass(frozen=True, eq=False)
class ColumnTask:
    """One column that is to be recoded: its encoding, its values and the groups.

    Parameters
    ----------
    entry
        The encoding of the column.
    series
        The column.
    values
        The values as the encoding sees them, imputed ones filled in, suppressed ones NaN.
    grouping
        The groups.
    original
        The values without imputation and suppression, which the loss is measured against.
    weights
        Sampling weights, if there are any.
    recode
        What replaces the values.
    decimals, sums
        How numbers and totals are released.
    level
        The level of the hierarchy that the whole column is generalised to; None for the closest common ancestor of
        each group.
    hidden
        The groups in which the column is suppressed because a column that it is linked to is; None for no group.
    """

    entry: ColumnEncoding
    series: Series
    values: Floats
    grouping: Groups
    original: Floats
    weights: Floats | None
    recode: Recode
    decimals: Decimals
    sums: Sums
    level: int | None = None
    hidden: NDArray[np.bool_] | None = None

    def recoded(self, selected: Integers | None, keys: Words) -> RecodedColumn:
        """Return the released column and its loss.

        ``selected`` is the record that is released for each group, if there is one; ``keys`` are those of
        :func:`shoal.recoding.rounded_means.content_keys`.
        """
        if self.recode in {Recode.RANGE, Recode.SET, Recode.HIERARCHY, Recode.SUPPRESS}:
            from shoal.flow.generalised_columns import generalised_column

            return generalised_column(self)
        if self.recode == Recode.MEAN:
            column = self.mean_column(keys)
            return column.recoded(column.plain)
        if self.recode in {Recode.MIDRANGE, Recode.MEDIAN}:
            return self._between_records()
        records = self.records(selected)
        return self._released(self.gathered(records), self.values[records])

    def mean_column(self, keys: Words) -> MeanColumn:
        """Return means, rounded such that totals give no record away, or such that they are kept."""
        entry, grouping = self.entry, self.grouping
        assert isinstance(entry, NumericEncoding)
        numbers = exact_numbers(self.series, entry, self.values, self.decimals, by_unit=self.sums == "rounded")
        means = numbers.means(grouping, self.weights)
        draws = group_draws(keys, entry.column.name) if self.sums == "rounded" else None
        if draws is not None:
            found = means.rounded(grouping.sizes, draws)
        else:
            sizes = grouping.sizes if self.weights is None else np.bincount(grouping.labels, self.weights)
            found = means.keeping_sum(sizes.astype(np.float64))
        complete = self.original is self.values
        spread = measure_spread(entry, self.original, means.offsets, grouping, self.weights, complete=complete)
        return MeanColumn(self, numbers, means, found, spread, draws)

    def records(self, selected: Integers | None) -> Integers:
        """Return the record of each group whose value is released."""
        if self.recode in {Recode.MEDOID, Recode.FREQUENCIES}:
            assert selected is not None
            return selected
        keys = self.sort_keys()
        if self.recode == Recode.MODE:
            codes = np.unique(keys, return_inverse=True)[1].reshape(-1)  # equal NaN are one value
            modes = group_modes(codes, self.grouping, self.weights)
            found = np.flatnonzero(codes == modes[self.grouping.labels])[::-1]
            records = np.zeros(len(self.grouping), np.int64)
            records[self.grouping.labels[found]] = found  # the first record with the mode stays
            return records
        lowest, highest = group_ranges(keys, self.grouping)
        return lowest if self.recode == Recode.MIN else highest

    def _between_records(self) -> RecodedColumn:
        """Return medians or midranges: the value of a record, or the number in the middle between two of them."""
        keys = self.sort_keys()
        if self.recode == Recode.MIDRANGE:
            low, high = group_ranges(keys, self.grouping)
        else:
            low, high = group_median_records(keys, self.grouping, self.weights)
        same = (keys[low] == keys[high]) | np.isnan(keys[low])
        if not isinstance(self.entry, NumericEncoding) or self.entry.column.kind == Kind.ORDINAL or same.all():
            return self._released(self.gathered(low), self.values[low])
        found = exact_numbers(self.series, self.entry, self.values, self.decimals, by_unit=True).middle(low, high)
        shown = from_polars(found.column, self.series, same_dtype=found.same_dtype)
        return self._released(shown, found.offsets)

    def sort_keys(self) -> Floats:
        """Return numbers that are equal and ordered as the values of the column are; NaN where they are missing."""
        entry = self.entry
        if isinstance(entry, CategoryEncoding) or (entry.integer and entry.scale < EXACT):
            return self.values
        column = polars_series(self.series)
        missing = np.isnan(self.values)
        if column.dtype.is_float():
            numbers = exact_numbers(self.series, entry, self.values, "full", by_unit=False)
            assert isinstance(numbers, FloatNumbers)
            return numbers.values
        if (column.is_null().to_numpy() & ~missing).any():
            return self.values  # imputed values have no place among the others
        return np.where(missing, np.nan, column.rank("dense").cast(float).fill_null(0.0).to_numpy())

    def gathered(self, records: Integers) -> Series:
        """Return the values of some records in the type of the column; imputed and suppressed ones as they count."""
        values = self.values[records]
        missing = np.isnan(values)
        absent = (
            missing_mask(taken(self.series, records)) if missing.any() or self.original is not self.values else missing
        )
        stated = isinstance(self.decimals, int) and isinstance(self.entry, NumericEncoding) and not self.entry.integer
        if stated or (absent & ~missing).any():
            if isinstance(self.entry, CategoryEncoding):
                return self.entry.restore(values, self.series)
            numbers = exact_numbers(self.series, self.entry, self.values, self.decimals, by_unit=True)
            found = numbers.middle(records, records)
            return from_polars(found.column, self.series, same_dtype=found.same_dtype)
        if (missing & ~absent).any():
            from shoal.tables.replacing import with_missing

            return with_missing(taken(self.series, records), missing)
        return taken(self.series, records)

    def _released(self, representatives: Series, offsets: Floats) -> RecodedColumn:
        """Return the column with the representative of its group for each record."""
        return (taken(representatives, self.grouping.labels), self.loss(offsets))

    def loss(self, representatives: Floats) -> ColumnLoss:
        """Return the loss of one representative for each group, as the encoding sees it."""
        labels = self.grouping.labels
        if isinstance(self.entry, CategoryEncoding) and self.entry.column.kind == Kind.NOMINAL:
            return mismatch_loss(self.original, representatives[labels], self.weights)
        standardised = self.entry.standardised
        return squared_loss(standardised(self.original), standardised(representatives)[labels], self.weights)


@dataclass(frozen=True, eq=False)
class MeanColumn:
    """A column that is replaced by means: exact ones, and those that a plain release has.

    Parameters
    ----------
    task
        The column with its groups.
    numbers
        Its numbers as they are stored.
    means
        The exact mean of each group.
    plain
        The means as a plain release has them.
    spread
        What the loss is computed from.
    draws
        A number from 0 to 1 for each group, by which means are rounded; None where totals are exact.
    """

    task: ColumnTask
    numbers: ExactNumbers
    means: ExactMeans
    plain: Representatives
    spread: Spread
    draws: Floats | None

    @property
    def entry(self) -> NumericEncoding:
        """The encoding of the column."""
        assert isinstance(self.task.entry, NumericEncoding)
        return self.task.entry

    @property
    def deviation(self) -> float:
        """The standard deviation of the column, as its encoding has it; 0 for a constant column."""
        return self.entry.deviation

    def recoded(self, representatives: Representatives) -> RecodedColumn:
        """Return the column with these representatives, and its loss."""
        task = self.task
        released = from_polars(representatives.column, task.series, same_dtype=representatives.same_dtype)
        totals = not task.series.dtype.is_temporal()
        loss = mean_loss(self.entry, self.spread, representatives.offsets, totals=totals)
        return taken(released, task.grouping.labels), loss
