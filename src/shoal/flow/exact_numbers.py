"""The numbers of a column without rounding, and representatives in the type of the column.

Grouping reads coordinates, which are floats. What is released is computed here, from the numbers as they are stored:
integers, dates, times and decimals as whole numbers of their unit, everything else as floats. Offsets from the middle
of the range, which coordinates use, would change the last digits of small numbers beside large ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.group_statistics import GroupSummary, group_summary
from shoal.core.grouping import Groups
from shoal.errors import DataError
from shoal.recoding.rounded_means import round_floats, round_whole, whole_bases
from shoal.tables.value_codes import polars_series

if TYPE_CHECKING:
    from shoal.flow.encoding import NumericEncoding
    from shoal.tables.table import Series

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
EXACT = 2.0**53
"""Whole numbers up to here are exact as floats."""
MAX_DECIMALS = 6
"""The most decimals that a column of floats is tested for."""


@dataclass(frozen=True, eq=False)
class Representatives:
    """One number for each group.

    Parameters
    ----------
    column
        The numbers as they are released.
    offsets
        The numbers as the encoding sees them; NaN where they are missing.
    same_dtype
        Whether they have the type of the original column.
    """

    column: pl.Series
    offsets: Floats
    same_dtype: bool = True


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Numbers that are whole multiples of a unit: (offset x step + origin) / 10**decimals.

    Parameters
    ----------
    entry
        The encoding of the column.
    dtype
        The type of the column.
    offsets
        Whole numbers as floats, NaN where missing; integers where floats would not be exact.
    origin, step, decimals
        How a stored number is made of an offset.
    missing
        The missing values, where offsets are integers.
    """

    entry: NumericEncoding
    dtype: pl.DataType
    offsets: Floats | Integers
    origin: int
    step: int = 1
    decimals: int = 0
    missing: NDArray[np.bool_] | None = None

    @property
    def zero(self) -> int:
        """The true value of offset 0, in steps."""
        return (self.origin - self.origin % self.step) // self.step

    def means(self, grouping: Groups, weights: Floats | None) -> WholeMeans:
        """Return the mean of each group."""
        numbers = replace(self, offsets=np.empty(0), missing=None)  # gives the memory of the records back
        if self.offsets.dtype != np.float64:
            return _means_of_large(numbers, self.offsets.astype(np.int64), self.missing, grouping, weights)
        found = group_summary(self.offsets.astype(np.float64, copy=False), grouping, weights)
        missing = np.isnan(found.means)
        means, lowest, highest = (np.nan_to_num(part) for part in (found.means, found.lowest, found.highest))
        below = np.floor(means)
        ends = lowest.astype(np.int64), highest.astype(np.int64)
        return WholeMeans(numbers, below.astype(np.int64), means - below, *ends, missing)

    def middle(self, low: Integers, high: Integers) -> Representatives:
        """Return the number in the middle between two records of each group, halves to even numbers."""
        missing = np.isnan(self.offsets[low]) if self.missing is None else self.missing[low]
        first, second = (np.nan_to_num(self.offsets[rows]).astype(np.int64) for rows in (low, high))
        half = (first & second) + ((first ^ second) >> 1)  # cannot overflow
        odd = (first ^ second) & 1
        return self.released(half + (odd & (half + (self.zero & 1))), missing)

    def released(self, offsets: Integers, missing: NDArray[np.bool_]) -> Representatives:
        """Return numbers in the type of the column."""
        return Representatives(
            self._column(offsets, missing), np.where(missing, np.nan, self.of_encoding(offsets.astype(np.float64)))
        )

    def of_encoding(self, offsets: Floats) -> Floats:
        """Return offsets as the encoding of the column has them."""
        if self.entry.integer:
            return offsets
        return (offsets + self.origin) / 10.0**self.decimals - float(self.entry.origin)

    def _column(self, offsets: Integers, missing: NDArray[np.bool_]) -> pl.Series:
        name = self.entry.column.name
        if isinstance(self.dtype, pl.Decimal):
            numbers = [
                None if gone else Decimal(offset + self.origin).scaleb(-self.decimals)
                for offset, gone in zip(offsets.tolist(), missing.tolist(), strict=True)
            ]
            return pl.Series(name, numbers, dtype=self.dtype)
        if self.dtype == pl.UInt64:
            found = pl.Series(name, offsets.astype(np.uint64) + np.uint64(self.origin))  # wraps to the right value
        elif self.dtype.is_float():
            found = pl.Series(name, (offsets + self.origin) / 10.0**self.decimals)
        else:
            found = pl.Series(name, offsets * self.step + self.origin)
        return _with_nulls(found.cast(self.dtype), missing)

    def ladder(self) -> Integers | None:
        """Return the bases of times: decimal below a second, then parts of a minute, an hour and a day."""
        if not isinstance(self.dtype, pl.Datetime | pl.Duration):
            return None
        second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[self.dtype.time_unit]
        bases = [digit * 10**power for power in range(9) for digit in (1, 2, 5) if digit * 10**power < second]
        bases += [second * number * part for part in (1, 60) for number in (1, 2, 5, 10, 15, 30)]
        bases += [second * 3_600 * number for number in (1, 2, 3, 6, 12)]
        bases += [second * 86_400 * digit * 10**power for power in range(9) for digit in (1, 2, 5)]
        return np.array([b // self.step for b in bases if b % self.step == 0 and b < 2**62], np.int64)


@dataclass(frozen=True, eq=False)
class WholeMeans:
    """Means of whole numbers: the whole number below, what has to be added to it, and the ends of each group."""

    numbers: WholeNumbers
    whole: Integers
    fraction: Floats
    lowest: Integers
    highest: Integers
    missing: NDArray[np.bool_]

    @property
    def offsets(self) -> Floats:
        """The means as the encoding sees them; NaN where a group has none."""
        return np.where(self.missing, np.nan, self.numbers.of_encoding(self.whole + self.fraction))

    @property
    def content(self) -> Floats:
        """The means as floats that do not depend on the rest of the table."""
        return (self.whole.astype(np.float64) + float(self.numbers.zero)) + self.fraction

    def keeping_sum(self, sizes: Floats) -> Representatives:
        """Return means rounded to whole numbers such that the total of the column is kept."""
        from shoal.recoding.rounding import round_keeping_sum

        up = round_keeping_sum(self.fraction, sizes, self.whole + self.fraction)
        return self.numbers.released(self.whole + up.astype(np.int64), self.missing)

    def rounded(self, sizes: Integers, draws: Floats) -> Representatives:
        """Return means rounded such that totals give no record away."""
        bases = whole_bases(self.highest - self.lowest, sizes, self.numbers.ladder())
        means, ends = (self.whole, self.fraction), (self.lowest, self.highest)
        return self.numbers.released(round_whole(means, ends, bases, draws, self.numbers.zero), self.missing)


@dataclass(frozen=True, eq=False)
class FloatNumbers:
    """Numbers that are released as floats.

    Parameters
    ----------
    entry
        The encoding of the column.
    dtype
        The type of the released column.
    values
        The numbers; NaN where missing.
    decimals
        The decimals of released numbers; None for full precision.
    grain
        The unit of the values, where they have one.
    """

    entry: NumericEncoding
    dtype: pl.DataType
    values: Floats
    decimals: int | None = None
    grain: float = 0.0

    def means(self, grouping: Groups, weights: Floats | None) -> FloatMeans:
        """Return the mean of each group."""
        return FloatMeans(replace(self, values=np.empty(0)), group_summary(self.values, grouping, weights))

    def middle(self, low: Integers, high: Integers) -> Representatives:
        """Return the number in the middle between two records of each group."""
        ends = self.values[low], self.values[high]
        middle = np.clip(ends[0] / 2 + ends[1] / 2, *ends)  # no overflow
        return self.released(self.shortened(np.where(ends[0] == ends[1], ends[0], middle)))

    def shortened(self, values: Floats) -> Floats:
        """Return numbers with the stated decimals."""
        if self.decimals is None:
            return values
        short = np.abs(values) * 10.0**self.decimals < EXACT / 2
        return np.where(short, np.round(values, self.decimals) + 0.0, values)

    def released(self, values: Floats) -> Representatives:
        """Return numbers as a column."""
        missing = np.isnan(values)
        column = pl.Series(self.entry.column.name, np.where(missing, 0.0, values)).cast(self.dtype)
        return Representatives(
            _with_nulls(column, missing), values - float(self.entry.origin), same_dtype=not self.entry.integer
        )


@dataclass(frozen=True, eq=False)
class FloatMeans:
    """Means of floats."""

    numbers: FloatNumbers
    summary: GroupSummary

    @property
    def offsets(self) -> Floats:
        """The means as the encoding sees them; NaN where a group has none."""
        return self.summary.means - float(self.numbers.entry.origin)

    @property
    def content(self) -> Floats:
        """The means as floats that do not depend on the rest of the table."""
        return self.summary.means

    def keeping_sum(self, sizes: Floats) -> Representatives:  # noqa: ARG002 - as for whole numbers
        """Return the means, with the decimals that were stated."""
        return self.numbers.released(self.numbers.shortened(self.summary.means))

    def rounded(self, sizes: Integers, draws: Floats) -> Representatives:
        """Return means rounded such that totals give no record away."""
        decimals = self.numbers.decimals
        unit = 0.0 if decimals is None else 10.0**-decimals
        return self.numbers.released(round_floats(self.summary, sizes, draws, unit=unit, grain=self.numbers.grain))


ExactMeans = WholeMeans | FloatMeans
ExactNumbers = WholeNumbers | FloatNumbers


def exact_numbers(
    series: Series, entry: NumericEncoding, values: Floats, decimals: int | str, *, by_unit: bool
) -> ExactNumbers:
    """Return the numbers of a column as they are stored.

    Parameters
    ----------
    series
        The column.
    entry
        Its encoding.
    values
        The values as the encoding sees them: NaN where they are missing or suppressed, imputed ones filled in.
    decimals
        Decimals of released numbers: ``input``, a number or ``full``.
    by_unit
        Whether floats that all have few decimals are released with as many.
    """
    column = polars_series(series)
    dtype = column.dtype
    missing = np.isnan(values)
    if entry.integer and (dtype.is_temporal() or decimals in {"input", 0}):
        return _whole(column, entry, values, missing)
    if isinstance(dtype, pl.Decimal) and decimals in {"input", "full", dtype.scale}:
        return _decimals(column, entry, values, missing)
    numbers = column.cast(pl.Float64).to_numpy()  # NaN where missing
    if missing.any() or np.isnan(numbers).any():
        numbers = np.where(np.isnan(numbers) | missing, values + float(entry.origin), numbers)
    stated = decimals if isinstance(decimals, int) else None
    if entry.integer:
        return FloatNumbers(entry, pl.Float64(), numbers, stated, 1.0)
    places = decimals_of(numbers) if by_unit else None
    if decimals == "input" and places is not None and dtype == pl.Float64:
        return WholeNumbers(entry, dtype, np.rint(numbers * 10.0**places), 0, decimals=places)
    return FloatNumbers(entry, dtype, numbers, stated, 0.0 if places is None else 10.0**-places)


def decimals_of(values: Floats) -> int | None:
    """Return the decimals that all values have at most; None if that is more than six.

    Examples
    --------
    >>> decimals_of(np.array([1.5, 2.25, np.nan])), decimals_of(np.array([1 / 3])), decimals_of(np.array([7.0]))
    (2, None, 0)
    """
    places = 0
    for part in (values[:100], values):  # most columns of floats fail among the first values
        known = part[~np.isnan(part)]
        if known.size and np.abs(known).max() >= EXACT / 10.0**MAX_DECIMALS:
            return None
        while not (np.rint(known * 10.0**places) / 10.0**places == known).all():
            places += 1
            if places > MAX_DECIMALS:
                return None
    return places


def _whole(column: pl.Series, entry: NumericEncoding, values: Floats, missing: NDArray[np.bool_]) -> WholeNumbers:
    origin, step = int(entry.origin), entry.step
    if entry.scale < EXACT:
        return WholeNumbers(entry, column.dtype, np.rint(values) if column.null_count() else values, origin, step)
    physical = column.to_physical()
    numbers = physical.fill_null(physical.drop_nulls().first()).to_numpy()
    if physical.dtype == pl.UInt64:
        offsets = (numbers - np.uint64(origin)).astype(np.int64)  # wraps to the right value
    else:
        offsets = (numbers.astype(np.int64) - origin) // step
    if physical.null_count():
        filled = physical.is_null().to_numpy() & ~missing
        offsets = np.where(filled, np.nan_to_num(values).astype(np.int64), offsets)
    return WholeNumbers(entry, column.dtype, offsets, origin, step, missing=missing)


def _decimals(column: pl.Series, entry: NumericEncoding, values: Floats, missing: NDArray[np.bool_]) -> WholeNumbers:
    """Return decimals as whole numbers of their last digit; missing ones that are not to stay so are filled."""
    numbers, dtype = column.to_physical(), column.dtype
    assert isinstance(dtype, pl.Decimal)
    filled = np.rint((values + float(entry.origin)) * 10.0**dtype.scale)
    low, high = (int(bound) if isinstance(bound, int) else 0 for bound in (numbers.min(), numbers.max()))
    if max(-low, high) >= 2**62:
        raise DataError(
            f'column "{column.name}" has decimal numbers of more than 18 digits, too many to average exactly; round '
            "them or release values of records (recode median, mode, medoid, min or max)"
        )
    whole = numbers.fill_null(0).cast(pl.Int64).to_numpy()
    if numbers.null_count():
        whole = np.where(numbers.is_null().to_numpy() & ~missing, np.nan_to_num(filled).astype(np.int64), whole)
    if max(-low, high) < EXACT:
        return WholeNumbers(entry, dtype, np.where(missing, np.nan, whole.astype(np.float64)), 0, decimals=dtype.scale)
    return WholeNumbers(entry, dtype, whole, 0, decimals=dtype.scale, missing=missing)


def _means_of_large(
    column: WholeNumbers,
    offsets: Integers,
    missing: NDArray[np.bool_] | None,
    grouping: Groups,
    weights: Floats | None,
) -> WholeMeans:
    """Return means of whole numbers that floats do not hold, in the integers of Python."""
    count = len(grouping)
    gone = np.zeros(count, bool) if missing is None else np.bincount(grouping.labels, missing, minlength=count) > 0
    whole, lowest, highest = (np.zeros(count, np.int64) for _ in range(3))
    fraction = np.zeros(count)
    for g, members in enumerate(grouping.members()):
        if gone[g]:
            continue
        numbers = offsets[members].tolist()
        if weights is None:
            mean = Fraction(sum(numbers), len(numbers))
        else:
            shares = [Fraction(weight) for weight in weights[members].tolist()]
            mean = sum((x * w for x, w in zip(numbers, shares, strict=True)), Fraction(0)) / sum(shares)
        whole[g] = mean.numerator // mean.denominator
        fraction[g] = min(float(mean - int(whole[g])), 1 - 2.0**-53)
        lowest[g], highest[g] = min(numbers), max(numbers)
    return WholeMeans(column, whole, fraction, lowest, highest, gone)


def _with_nulls(column: pl.Series, missing: NDArray[np.bool_]) -> pl.Series:
    if not missing.any():
        return column
    return column.to_frame().select(pl.when(pl.Series(~missing)).then(pl.first())).to_series()
