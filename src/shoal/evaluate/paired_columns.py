"""Columns of an original and of a released table side by side as numbers, whoever made the release.

Numbers, dates and ordered categories become numbers on the scale of the original, everything else codes of categories.
A released number may have become text: ``34-41``, ``-5 to -3``, ``[30, 35)`` and ``{1, 5}`` are read as the mean of the
numbers they name, ``*`` and the like as missing. Records are paired by position; the index of a DataFrame plays no
part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.schema.columns import Kind, Schema
from shoal.tables import Table

Floats = NDArray[np.float64]
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_RANGE = re.compile(r"^\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*-\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*$")


@dataclass(frozen=True)
class PairedColumn:
    """One column of both tables.

    Parameters
    ----------
    name
        Its name.
    original, released
        Numbers less an origin that both share, or codes of categories; NaN where missing.
    categories
        What the codes mean; empty for numbers.
    """

    name: str
    original: Floats
    released: Floats
    categories: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers rather than codes."""
        return not self.categories

    @cached_property
    def mean(self) -> float:
        """The mean of the original values that are known."""
        known = self.original[~np.isnan(self.original)]
        return float(known.mean()) if known.size else 0.0

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the original values that are known; 0 for a constant column."""
        known = self.original[~np.isnan(self.original)]
        if not known.size:
            return 0.0
        spread = float(np.abs(known - known[0]).max())
        return float(np.std((known - known[0]) / spread)) * spread if spread else 0.0

    def standardised(self, values: Floats) -> Floats:
        """Return numbers as standard deviations from the mean of the original; differences if that is constant."""
        scale = self.deviation if self.deviation > 0 else 1.0
        return (values - self.mean) / scale

    def taken(self, rows: NDArray[np.int64]) -> PairedColumn:
        """Return some of the records."""
        return PairedColumn(self.name, self.original[rows], self.released[rows], self.categories)


def pair_columns(
    original: Table, released: Table, names: Sequence[str], schema: Schema | None = None, *, aligned: bool = True
) -> list[PairedColumn]:
    """Return columns of both tables side by side.

    Parameters
    ----------
    original, released
        The tables.
    names
        The columns; both tables must have them.
    schema
        Kinds and orders, where they are not what the types suggest.
    aligned
        Whether record i of one table must be record i of the other.

    Examples
    --------
    >>> before = Table.from_native(pl.DataFrame({"age": [30, 34, 60]}))
    >>> after = Table.from_native(pl.DataFrame({"age": ["30-34", "30-34", "*"]}))
    >>> pair_columns(before, after, ["age"])[0].released.tolist()
    [2.0, 2.0, nan]
    """
    if aligned and original.n_rows != released.n_rows:
        raise DataError(
            f"the original has {original.n_rows} records and the release {released.n_rows}; this measure needs the "
            "same records in the same order"
        )
    if not names:
        raise SchemaError("no column is named, so there is nothing to compare; name at least one")
    known = {column.name: column for column in schema.columns} if schema is not None else {}
    return [_pair(original, released, name, known.get(name)) for name in names]


def _pair(original: Table, released: Table, name: str, column: Any) -> PairedColumn:
    before, after = original.column(name).to_polars(), released.column(name).to_polars()
    order = column.order if column is not None and column.kind == Kind.ORDINAL else None
    if order is None and isinstance(before.dtype, pl.Enum):
        order = tuple(before.dtype.categories)
    if order is not None:
        return PairedColumn(name, _positions(before, order), _positions(after, order))
    nominal = column is not None and column.kind == Kind.NOMINAL
    if not nominal and (before.dtype.is_numeric() or before.dtype.is_temporal()) and before.dtype != pl.Time:
        return _pair_numbers(name, before, after)
    texts = [_texts(before), _texts(after)]
    categories = pl.concat(texts).drop_nulls().unique().sort()
    lookup = pl.DataFrame({"value": categories, "code": np.arange(len(categories), dtype=np.float64)})
    codes = [_looked_up(part, lookup) for part in texts]
    return PairedColumn(name, codes[0], codes[1], tuple(categories) or ("",))


def _pair_numbers(name: str, before: pl.Series, after: pl.Series) -> PairedColumn:
    if before.dtype.is_temporal():
        if after.dtype in {pl.String, pl.Categorical}:
            return PairedColumn(name, *_shared_origin(before, _dates_of_texts(after.cast(pl.String), before.dtype)))
        return PairedColumn(name, *_shared_origin(before, after.cast(before.dtype, strict=False)))
    if after.dtype.is_numeric() or after.dtype == pl.Null:
        return PairedColumn(name, *_shared_origin(before, after))
    return PairedColumn(name, *_shared_origin(before, _numbers_of_texts(_texts(after))))


def _shared_origin(before: pl.Series, after: pl.Series) -> tuple[Floats, Floats]:
    """Return both as floats less the first known value of the original, whole numbers subtracted exactly."""
    parts = [series.to_physical() for series in (before, after)]
    parts = [part.cast(pl.Float64) if part.dtype.is_decimal() else part for part in parts]
    known = parts[0].drop_nulls().drop_nans() if parts[0].dtype.is_float() else parts[0].drop_nulls()
    origin = known[0] if len(known) else 0
    found = []
    for part in parts:
        if part.dtype.is_integer() and isinstance(origin, int) and part.dtype != pl.UInt64:
            part = part.cast(pl.Int64) - origin
            found.append(part.cast(pl.Float64).fill_null(np.nan).to_numpy())
        else:
            found.append(part.cast(pl.Float64).fill_null(np.nan).to_numpy() - float(origin))
    for series, values in zip(("original", "release"), found, strict=True):
        if np.isinf(values).any():
            raise DataError(f'column "{before.name}" of the {series} has infinite values; replace or remove them')
    return found[0], found[1]


def _texts(series: pl.Series) -> pl.Series:
    if series.dtype.is_nested():
        raise DataError(f'column "{series.name}" is nested; flatten it or leave it out')
    if series.dtype.is_float():
        whole = series.fill_nan(None).cast(pl.Int64, strict=False)
        texts = series.fill_nan(None).cast(pl.String)
        same = (whole.cast(pl.Float64) == series).fill_null(value=False)
        return whole.cast(pl.String).zip_with(same, texts)
    return series.cast(pl.String)


def _positions(series: pl.Series, order: Sequence[str]) -> Floats:
    lookup = pl.DataFrame({"value": list(order), "code": np.arange(len(order), dtype=np.float64)})
    return _looked_up(_texts(series), lookup)


def _looked_up(texts: pl.Series, lookup: pl.DataFrame) -> Floats:
    frame = texts.rename("value").to_frame().join(lookup, on="value", how="left", maintain_order="left")
    return frame["code"].fill_null(np.nan).to_numpy()


def _numbers_of_texts(texts: pl.Series) -> pl.Series:
    distinct = texts.drop_nulls().unique()
    lookup = pl.DataFrame(
        {"value": distinct, "code": np.array([number_of_text(text) for text in distinct], np.float64)}
    )
    return pl.Series(_looked_up(texts, lookup))


def number_of_text(text: str) -> float:
    """Return the number that a generalised value stands for: the mean of the numbers it names, NaN if none.

    Examples
    --------
    >>> [number_of_text(text) for text in ("34", "34-41", "-5 to -3", "[30, 35)", "{1, 5, 6}", "*")]
    [34.0, 37.5, -4.0, 32.5, 4.0, nan]
    """
    ends = _RANGE.match(text)
    found = list(ends.groups()) if ends else _NUMBER.findall(text)
    return float(np.mean([float(number) for number in found])) if found else float("nan")


def _dates_of_texts(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    parts = texts.str.split_exact(" to ", 1)
    low, high = (_instants(parts.struct.field(name).str.strip_chars("[]() "), dtype) for name in ("field_0", "field_1"))
    return (low + high.fill_null(low)) / 2


def _instants(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return dates and times as they are written by default in the units of a type; anything else is missing."""
    if isinstance(dtype, pl.Datetime):
        found = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit=dtype.time_unit, strict=False)
        return found.to_physical()
    return texts.str.to_date("%Y-%m-%d", strict=False).to_physical()


def equal_rows(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the class of each record: equal numbers where all columns are equal; NaN equals NaN. Cost O(d n log n).

    Examples
    --------
    >>> equal_rows([np.array([1.0, 1.0, np.nan, np.nan]), np.array([5.0, 6.0, 5.0, 5.0])]).tolist()
    [0, 1, 2, 2]
    """
    labels: NDArray[np.int64] | None = None
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1].reshape(-1)
        if labels is None:
            labels = codes.astype(np.int64)
            continue
        labels = np.unique(labels * (int(codes.max()) + 1) + codes, return_inverse=True)[1].reshape(-1)
    assert labels is not None
    return labels
