"""One quasi-identifier recoded: the representative of each group, the released column and its loss.

Representatives that are values of records (mode, medoid, minimum, maximum, ends of ranges, elements of sets) are taken
from the column by the number of the record, never computed back from coordinates. Means are computed from the numbers
as they are stored (:mod:`shoal.flow.exact_numbers`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from shoal.core.group_statistics import group_median_records, group_modes, group_ranges
from shoal.core.grouping import Groups
from shoal.core.text import text_of
from shoal.flow.encoding import CategoryEncoding, ColumnEncoding, Floats, NumericEncoding, from_polars, is_view
from shoal.flow.exact_numbers import EXACT, ExactMeans, ExactNumbers, FloatNumbers, Representatives, exact_numbers
from shoal.flow.mean_loss import Spread, mean_loss, measure_spread
from shoal.flow.prepare import Integers
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.recoding.rounded_means import Words, group_draws
from shoal.schema.columns import Kind, Recode
from shoal.schema.plan import Decimals, Sums
from shoal.tables import Table
from shoal.tables.clean_copy import arrow_array
from shoal.tables.value_codes import missing_mask, polars_series

if TYPE_CHECKING:
    from shoal.core.hierarchy import Hierarchy
    from shoal.recoding.generalisation import Generalised
    from shoal.tables.table import Series


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

    def recoded(self, selected: Integers | None, keys: Words) -> RecodedColumn:
        """Return the released column and its loss.

        ``selected`` is the record that is released for each group, if there is one; ``keys`` are those of
        :func:`shoal.recoding.rounded_means.content_keys`.
        """
        if self.recode == Recode.RANGE:
            return self._as_ranges()
        if self.recode in {Recode.SET, Recode.HIERARCHY}:
            return self._generalised()
        if self.recode == Recode.SUPPRESS:
            return self._suppressed()
        if self.recode == Recode.MEAN:
            column = self.mean_column(keys)
            return column.recoded(column.plain)
        if self.recode in {Recode.MIDRANGE, Recode.MEDIAN}:
            return self._between_records()
        records = self.records(selected)
        return self._released(self._gathered(records), self.values[records])

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
        keys = self._sort_keys()
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
        keys = self._sort_keys()
        if self.recode == Recode.MIDRANGE:
            low, high = group_ranges(keys, self.grouping)
        else:
            low, high = group_median_records(keys, self.grouping, self.weights)
        same = (keys[low] == keys[high]) | np.isnan(keys[low])
        if not isinstance(self.entry, NumericEncoding) or self.entry.column.kind == Kind.ORDINAL or same.all():
            return self._released(self._gathered(low), self.values[low])
        found = exact_numbers(self.series, self.entry, self.values, self.decimals, by_unit=True).middle(low, high)
        shown = from_polars(found.column, self.series, same_dtype=found.same_dtype)
        return self._released(shown, found.offsets)

    def _sort_keys(self) -> Floats:
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

    def _gathered(self, records: Integers) -> Series:
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
        return (taken(representatives, self.grouping.labels), self._loss(offsets))

    def _as_ranges(self) -> RecodedColumn:
        from shoal.recoding.penalties import extent_penalty
        from shoal.recoding.range_texts import range_texts

        lowest, highest = group_ranges(self._sort_keys(), self.grouping)
        ends = (self._gathered(rows).to_list() for rows in (lowest, highest))
        charged = extent_penalty(self.values, self.grouping)
        loss = self._loss(self.values[lowest] / 2 + self.values[highest] / 2)
        return self._texts(range_texts(*ends), self._with_penalties(loss, charged, charged))

    def _generalised(self) -> RecodedColumn:
        from shoal.recoding.generalisation import generalise_by_hierarchy, generalise_to_sets

        _, first, codes = np.unique(self._sort_keys(), return_index=True, return_inverse=True)  # equal NaN are one
        distinct, names, codes = self.values[first], self._names(first), codes.reshape(-1).astype(np.int64)
        if self.recode == Recode.SET:
            found = generalise_to_sets(distinct, codes, names, self.grouping)
        else:
            tree = self._tree()
            name = self.entry.column.name
            found = generalise_by_hierarchy(distinct, codes, names, self.grouping, tree, name, level=self.level)
        loss = self._with_penalties(self._generalised_loss(found), found.ncp, found.height)
        return self._texts(found.texts, loss)

    def _tree(self) -> Hierarchy:
        if self.entry.tree is not None:
            return self.entry.tree
        from shoal.schema.hierarchy_sources import hierarchy_of

        return hierarchy_of(self.entry.column, Table.from_native(self.series.to_frame().to_native()))

    def _suppressed(self) -> RecodedColumn:
        from shoal.tables.replacing import with_missing

        lowest, highest = group_ranges(self._sort_keys(), self.grouping)
        keys = self._sort_keys()
        differ = ~((keys[lowest] == keys[highest]) | np.isnan(keys[lowest]))
        released = with_missing(self._gathered(lowest), differ)
        charged = differ.astype(np.float64)
        loss = self._with_penalties(self._loss(np.where(differ, np.nan, self.values[lowest])), charged, charged)
        return (taken(released, self.grouping.labels), loss)

    def _texts(self, texts: list[str | None], loss: ColumnLoss) -> RecodedColumn:
        shown = nw.new_series(self.series.name, texts, nw.String, backend=self.series.implementation)
        return (taken(shown, self.grouping.labels), loss)

    def _names(self, records: Integers) -> list[str | None]:
        shown = self._gathered(records).to_list()
        return [None if value is None or value != value else text_of(value) for value in shown]  # noqa: PLR0124 - NaN

    def _loss(self, representatives: Floats) -> ColumnLoss:
        """Return the loss of one representative for each group, as the encoding sees it."""
        labels = self.grouping.labels
        if isinstance(self.entry, CategoryEncoding) and self.entry.column.kind == Kind.NOMINAL:
            return mismatch_loss(self.original, representatives[labels], self.weights)
        standardised = self.entry.standardised
        return squared_loss(standardised(self.original), standardised(representatives)[labels], self.weights)

    def _generalised_loss(self, found: Generalised) -> ColumnLoss:
        """Return the loss of a reader who takes the mean of what a text represents, or guesses among its categories."""
        if isinstance(self.entry, NumericEncoding) or self.entry.column.kind == Kind.ORDINAL:
            return self._loss(found.values)
        total = mismatch_loss(self.original, self.original, self.weights)
        wrong = np.where(np.isnan(self.original), 0.0, 1 - 1 / found.options[self.grouping.labels])
        return ColumnLoss(float(wrong.sum() if self.weights is None else wrong @ self.weights), total.sst)

    def _with_penalties(self, loss: ColumnLoss, ncp: Floats, height: Floats) -> ColumnLoss:
        """Return the loss with the mean penalties of its cells."""
        sizes = self.grouping.sizes if self.weights is None else np.bincount(self.grouping.labels, self.weights)
        total = float(sizes.sum())
        return replace(loss, ncp=float(ncp @ sizes) / total, total_il=float(height @ sizes) / total)


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
