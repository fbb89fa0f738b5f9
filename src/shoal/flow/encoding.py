"""Table columns to arrays and back.

A *codec* is fitted to one quasi-identifier and holds the few numbers that turn its values into coordinates and
representatives back into values of the same type:

- numeric (integers, floats, decimals, dates, durations): offsets from the middle of the range, taken before anything is
  rounded to a float, so that a mean of 1e6 with a spread of 1, or nanoseconds since 1970, lose nothing; then
  standardised to mean 0 and population variance 1;
- ordinal: the position in the order, standardised;
- nominal: one column per category, scaled by 1/sqrt(2), so that two different categories are one squared unit apart.

A constant column becomes zeros. Codecs hold no column: each is read when it is needed, so that the memory of a
protection stays at a few columns beyond the matrix of points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.schema.columns import Column, Kind

MAX_CATEGORIES = 1_000
"""The most categories of one nominal column; each becomes a coordinate."""


@dataclass(frozen=True)
class NumericCodec:
    """Numbers, dates and durations as offsets from an origin, and as one standardised coordinate.

    Examples
    --------
    >>> ages = nw.from_native(pl.Series("age", [30, 40, 50]), series_only=True)
    >>> codec = fit_codec(ages, Column("age", "quasi", Kind.NUMERIC))
    >>> codec.values(ages)
    array([-10.,   0.,  10.])
    >>> codec.coordinates(codec.values(ages)).round(3).ravel().tolist()
    [-1.225, 0.0, 1.225]
    >>> codec.restore(np.array([-5.0, 0.0, 5.0]), ages).to_list()
    [35, 40, 45]
    """

    column: Column
    origin: int | float
    spread: float
    mean: float
    deviation: float
    whole: bool
    step: int = 1

    width = 1

    def values(self, series: nw.Series[Any]) -> NDArray[np.float64]:
        """Return the offsets of the values from the origin; NaN where a value is missing."""
        return _offsets(_physical(series), self.origin, whole=self.whole, step=self.step)

    def coordinates(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return offsets as standardised coordinates (n x 1); missing values lie at the mean."""
        standard = self.standardised(values)
        return np.nan_to_num(standard, nan=0.0)[:, None] * np.sqrt(self.column.weight)

    def standardised(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return offsets with mean 0 and variance 1; NaN stays NaN."""
        if self.deviation == 0:
            return np.where(np.isnan(values), np.nan, 0.0)
        standard = values / self.spread
        standard -= self.mean
        standard /= self.deviation
        return standard

    def restore(
        self, values: NDArray[np.float64], like: nw.Series[Any], *, keep_integers: bool = True
    ) -> nw.Series[Any]:
        """Return offsets as a series of the type it came from; NaN becomes missing.

        Integers are rounded, unless ``keep_integers`` is off and the column holds plain numbers: then it becomes a
        column of floats.
        """
        dtype = _polars_dtype(like)
        missing = np.isnan(values)
        known = np.where(missing, 0.0, values) if missing.any() else values
        if self.whole and (keep_integers or dtype.is_temporal()):
            whole = np.rint(known).astype(np.int64) * self.step
            physical = pl.Series(like.name, _shifted(whole, int(self.origin), unsigned=dtype == pl.UInt64))
            column = physical.cast(dtype)
        else:
            column = pl.Series(like.name, known + float(self.origin))  # step is 1 for plain numbers
            column = column if self.whole else column.cast(dtype)
        if missing.any():
            column = column.to_frame().select(pl.when(pl.Series(~missing)).then(pl.first())).to_series()
        return _from_polars(column, like, same_dtype=not (self.whole and not keep_integers and not dtype.is_temporal()))


@dataclass(frozen=True)
class CategoryCodec:
    """Categories as codes 0..m-1 (in their order, if they have one), and as coordinates.

    Examples
    --------
    >>> sexes = nw.from_native(pl.Series("sex", ["m", "f", "m"]), series_only=True)
    >>> codec = fit_codec(sexes, Column("sex", "quasi", Kind.NOMINAL))
    >>> codec.values(sexes)
    array([1., 0., 1.])
    >>> codec.coordinates(codec.values(sexes)).round(3).tolist()
    [[0.0, 0.707], [0.707, 0.0], [0.0, 0.707]]
    >>> codec.restore(np.array([0.0, 0.0, 1.0]), sexes).to_list()
    ['f', 'f', 'm']
    """

    column: Column
    categories: pl.Series
    first_row: NDArray[np.int64]
    mean: float
    deviation: float

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return 1 if self.column.kind == Kind.ORDINAL else len(self.categories)

    def values(self, series: nw.Series[Any]) -> NDArray[np.float64]:
        """Return the codes of the values; NaN where a value is missing and missing is no category."""
        return _codes(_plain(series), self.categories)

    def coordinates(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return codes as coordinates: one standardised position, or one column per category."""
        weight = np.sqrt(self.column.weight)
        if self.column.kind == Kind.ORDINAL:
            return np.nan_to_num(self.standardised(values), nan=0.0)[:, None] * weight
        block = np.zeros((values.size, self.width))
        known = np.flatnonzero(~np.isnan(values))
        block[known, values[known].astype(np.int64)] = weight / np.sqrt(2)
        return block

    def standardised(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions in the order with mean 0 and variance 1; NaN stays NaN."""
        if self.deviation == 0:
            return np.where(np.isnan(values), np.nan, 0.0)
        return (values - self.mean) / self.deviation

    def restore(
        self,
        values: NDArray[np.float64],
        like: nw.Series[Any],
        *,
        keep_integers: bool = True,  # noqa: ARG002 - a category is what it is
    ) -> nw.Series[Any]:
        """Return codes as a series of the type it came from.

        Every category is taken from a record that has it, so that the type of the column cannot change.
        """
        missing = np.isnan(values)
        rows = np.where(missing, self._missing_row(like, needed=bool(missing.any())), 0)
        rows[~missing] = self.first_row[values[~missing].astype(np.int64)]
        return like[rows]

    def _missing_row(self, like: nw.Series[Any], *, needed: bool) -> int:
        return int(np.argmax(missing_mask(like))) if needed else 0

    @cached_property
    def labels(self) -> list[str]:
        """The categories as text."""
        return [str(value) for value in self.categories]


Codec = NumericCodec | CategoryCodec


def fit_codec(series: nw.Series[Any], column: Column, *, missing_is_value: bool = False) -> Codec:
    """Return the codec of a column, or an error that says what is wrong with its values."""
    if column.kind == Kind.NUMERIC:
        return _fit_numeric(series, column)
    return _fit_categories(series, column, missing_is_value=missing_is_value)


def encode(
    codecs: list[Codec], table: Any, filled: dict[str, NDArray[np.float64]], dtype: type[np.generic] = np.float64
) -> NDArray[Any]:
    """Return the matrix of points, n x (sum of widths), column by column.

    ``filled`` holds the values of columns whose holes were imputed, ``dtype`` is the type of the matrix.
    """
    points = np.empty((table.n_rows, sum(codec.width for codec in codecs)), dtype)
    start = 0
    for codec in codecs:
        name = codec.column.name
        values = filled[name] if name in filled else codec.values(table.column(name))
        points[:, start : start + codec.width] = codec.coordinates(values)
        start += codec.width
    return points


def missing_mask(series: nw.Series[Any]) -> NDArray[np.bool_]:
    """Return where values are missing: nulls, and NaN in columns of floats."""
    column = _to_polars(series)
    mask = column.is_null()
    if column.dtype.is_float():
        mask = mask | column.is_nan().fill_null(value=False)
    return mask.to_numpy()


def _fit_numeric(series: nw.Series[Any], column: Column) -> NumericCodec:
    name = column.name
    dtype = _polars_dtype(series)
    if dtype == pl.Time or not (dtype.is_numeric() or dtype.is_temporal()):
        raise DataError(_not_numeric(series, name))
    physical = _physical(series)
    if dtype.is_float() and physical.is_infinite().any():
        raise DataError(
            f'column "{name}" has {physical.is_infinite().sum()} infinite values; replace or remove them, '
            "a mean over them means nothing"
        )
    whole = not (dtype.is_float() or dtype.is_decimal())
    known = physical.fill_nan(None) if dtype.is_float() else physical
    low: Any = known.min() or 0  # nothing known: 0
    high: Any = known.max() or 0
    if whole and int(high) - int(low) > 2**62:
        raise DataError(f'column "{name}" spans more than 2**62, too much to average; convert it to floats or drop it')
    origin: int | float = (int(low) + int(high)) // 2 if whole else float(low) / 2 + float(high) / 2
    step = _clock_step(physical, dtype)
    if step > 1:
        origin = int(origin) - (int(origin) - int(low)) % step
    offsets = _offsets(physical, origin, whole=whole, step=step)
    spread = float(np.nanmax(np.abs(offsets), initial=0.0))
    if spread == 0:
        return NumericCodec(column, origin, 0.0, 0.0, 0.0, whole, step)
    offsets /= spread
    mean = float(np.nanmean(offsets))
    offsets -= mean
    deviation = float(np.sqrt(np.nanmean(offsets * offsets)))
    return NumericCodec(column, origin, spread, mean, deviation, whole, step)


def _not_numeric(series: nw.Series[Any], name: str) -> str:
    column = _to_polars(series)
    if column.dtype == pl.String:
        stripped = column.str.strip_chars()
        bad = (stripped.cast(pl.Float64, strict=False).is_null() & column.is_not_null()).arg_true()
        if len(bad):
            marks = sorted(
                set(stripped.gather(bad).unique().to_list()) & {"NA", "N/A", "n/a", "?", "-", ".", "NULL", "null"}
            )
            hint = (
                f"; if {' and '.join(marks)} marks a missing value, say so with --na {','.join(marks)}" if marks else ""
            )
            return (
                f'column "{name}" is to be numeric but {len(bad)} of its {len(column)} values are text '
                f"(the first in row {bad[0] + 1}); correct them or call the column nominal{hint}"
            )
        return f'column "{name}" is to be numeric but holds text; convert it to numbers or call it nominal'
    return f'column "{name}" of type {column.dtype} cannot be numeric; convert it to numbers or call it nominal'


def _fit_categories(series: nw.Series[Any], column: Column, *, missing_is_value: bool) -> CategoryCodec:
    plain = _plain(series)
    if plain.dtype.is_nested():
        raise DataError(f'column "{column.name}" is nested ({series.dtype}); flatten it or call it other')
    present = plain.drop_nulls().unique().sort()
    categories = _ordered(plain, present, column) if column.kind == Kind.ORDINAL else present
    if column.kind == Kind.NOMINAL and len(categories) > MAX_CATEGORIES:
        raise DataError(
            f'column "{column.name}" has {len(categories)} categories, more than the {MAX_CATEGORIES} that a nominal '
            "quasi-identifier may have; coarsen it, drop it as an identifier, or call it numeric or ordinal"
        )
    if missing_is_value and plain.null_count():
        categories = pl.concat([categories, pl.Series(categories.name, [None], dtype=categories.dtype)])
    codes = _codes(plain, categories)
    known = ~np.isnan(codes)
    first_row = np.full(len(categories), -1, np.int64)
    rows = np.flatnonzero(known)[::-1]
    first_row[codes[rows].astype(np.int64)] = rows  # the first record of a category stays
    mean = float(codes[known].mean()) if known.any() else 0.0
    deviation = float(codes[known].std()) if known.any() else 0.0
    return CategoryCodec(column, categories, first_row, mean, deviation)


def _ordered(plain: pl.Series, present: pl.Series, column: Column) -> pl.Series:
    """Return the categories of an ordinal column from lowest to highest, only those that occur."""
    if column.order is None:
        if plain.dtype == pl.String:
            raise SchemaError(
                f'column "{column.name}" is ordinal but its order is not given; name its categories from lowest to '
                f'highest, for example --ordinal "{column.name}=low<medium<high"'
            )
        return present
    position = {category: place for place, category in enumerate(column.order)}
    texts = present.cast(pl.String).to_list()
    unknown = [text for text in texts if text not in position]
    if unknown:
        raise SchemaError(
            f'column "{column.name}" has {len(unknown)} categories that its order does not name; '
            f"the order names {len(column.order)}"
        )
    return present.gather(sorted(range(len(texts)), key=lambda place: position[texts[place]]))


def _codes(plain: pl.Series, categories: pl.Series) -> NDArray[np.float64]:
    """Return the place of each value among the categories, NaN for missing ones that are no category."""
    lookup = pl.DataFrame({"value": categories, "code": np.arange(len(categories), dtype=np.float64)})
    joined = (
        plain.rename("value").to_frame().join(lookup, on="value", how="left", nulls_equal=True, maintain_order="left")
    )
    return joined["code"].fill_null(np.nan).to_numpy()


def _clock_step(physical: pl.Series, dtype: pl.DataType) -> int:
    """Return the coarsest unit of the clock that all times share: times that are all midnight stay midnight."""
    if not isinstance(dtype, pl.Datetime | pl.Duration):
        return 1
    known = physical.drop_nulls()
    second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[dtype.time_unit]
    for step in (86_400 * second, 3_600 * second, 60 * second, second, second // 10**3, second // 10**6):
        if step > 1 and len(known) and ((known - known[0]) % step == 0).all():
            return step
    return 1


def _offsets(physical: pl.Series, origin: float, *, whole: bool, step: int = 1) -> NDArray[np.float64]:
    """Subtract the origin exactly, then convert to float; NaN where missing."""
    if not whole:
        offsets: NDArray[np.float64] = physical.cast(pl.Float64).fill_null(np.nan).to_numpy() - origin
        return offsets
    values = physical.fill_null(int(origin)).to_numpy()
    if physical.dtype == pl.UInt64:
        shift = np.uint64(origin)
        offsets = np.where(values >= shift, (values - shift).astype(np.float64), -(shift - values).astype(np.float64))
    else:
        offsets = ((values.astype(np.int64) - int(origin)) // step).astype(np.float64)
    if physical.null_count():
        offsets[physical.is_null().to_numpy()] = np.nan
    return offsets


def _shifted(offsets: NDArray[np.int64], origin: int, *, unsigned: bool) -> NDArray[Any]:
    if unsigned:
        return offsets.astype(np.uint64) + np.uint64(origin)  # wraps around to the right value
    return offsets + origin


def _physical(series: nw.Series[Any]) -> pl.Series:
    """Return numbers as they are stored: days, microseconds, integers, floats."""
    column = _to_polars(series)
    if column.dtype.is_decimal():
        return column.cast(pl.Float64)
    return column.to_physical()


def _plain(series: nw.Series[Any]) -> pl.Series:
    """Return values to compare for equality: categories as text, NaN as missing."""
    column = _to_polars(series)
    if column.dtype in {pl.Categorical, pl.Enum}:
        return column.cast(pl.String)
    if column.dtype.is_float():
        return column.fill_nan(None)
    return column


def _polars_dtype(series: nw.Series[Any]) -> pl.DataType:
    return _to_polars(series.head(1)).dtype


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    if series.dtype == nw.Object:
        kinds = {type(value).__name__ for value in series.to_list() if value is not None}
        if kinds - {"bool", "str"} or len(kinds) > 1:
            raise DataError(
                f'column "{series.name}" holds Python objects ({", ".join(sorted(kinds)[:3])}); '
                "convert it to numbers, dates or text"
            )
    try:
        return series.to_polars()
    except Exception as problem:
        raise DataError(
            f'column "{series.name}" of type {series.dtype} cannot be read; convert it to numbers, dates or text'
        ) from problem


def _from_polars(column: pl.Series, like: nw.Series[Any], *, same_dtype: bool) -> nw.Series[Any]:
    """Return a polars series in the library of another one, and in its type if that is wanted."""
    native = like.to_native()
    if like.implementation.is_polars():
        return nw.from_native(column, series_only=True)
    if like.implementation.is_pyarrow():
        import pyarrow as pa

        array = column.to_arrow()
        chunked = pa.chunked_array([array.cast(native.type) if same_dtype else array])
        return nw.from_native(chunked, series_only=True).alias(like.name)
    pandas = column.to_pandas(use_pyarrow_extension_array=bool(column.null_count()))
    pandas = pandas.astype(native.dtype) if same_dtype else pandas
    if len(pandas) == len(native):
        pandas.index = native.index
    return nw.from_native(pandas, series_only=True)
