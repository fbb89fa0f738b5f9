"""Columns of an original and of a released table side by side as numbers, whichever software made the release.

Numbers, dates and ordered categories become numbers on the scale of the original, everything else codes of categories.
A released number may have become text: ``34-41``, ``-5 to -3``, ``[30, 35)`` and ``{1, 5}`` are read as the mean of the
numbers they name, ``*`` and the like as missing. Records are paired by position; the index of a DataFrame is
ignored.
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

from shoal.core.row_classes import equal_rows
from shoal.errors import DataError, SchemaError
from shoal.schema.columns import Kind, Schema
from shoal.tables import Table
from shoal.tables.value_codes import value_codes

__all__ = ["PairedColumn", "equal_rows", "number_of_text", "pair_columns", "pair_with_others"]

Floats = NDArray[np.float64]
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_RANGE = re.compile(r"^\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*-\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*$")


@dataclass(frozen=True)
class PairedColumn:
    """One column of both tables.

    Parameters
    ----------
    name
        The name of the column.
    original, released
        Numbers less an origin that both share, or codes of categories; NaN where missing.
    categories
        The categories that the codes denote; empty for numbers.
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
        scale = float(np.abs(known - known[0]).max())
        return float(np.std((known - known[0]) / scale)) * scale if scale else 0.0

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
        Kinds and orders of columns, where they differ from what the types suggest.
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
        raise SchemaError("no column is named; name at least one column to compare")
    known = {column.name: column for column in schema.columns} if schema is not None else {}
    return [_pair(original, released, name, known.get(name)) for name in names]


def pair_with_others(
    original: Table, released: Table, others: Table, names: Sequence[str], schema: Schema | None = None
) -> tuple[list[PairedColumn], list[Floats]]:
    """Return columns of both tables side by side, and those of a further table on the same scale with the same codes.

    Examples
    --------
    >>> tables = [pl.DataFrame({"x": list(values)}) for values in ("ac", "cc", "bcd")]
    >>> pairs, others = pair_with_others(*map(Table.from_native, tables), ["x"])
    >>> pairs[0].released.tolist(), others[0].tolist()
    ([2.0, 2.0], [1.0, 2.0, 3.0])
    """
    columns = {}
    for name in names:
        parts = [table.column(name).to_polars() for table in (released, others)]
        if parts[0].dtype != parts[1].dtype:
            numbers = all(part.dtype.is_numeric() for part in parts)
            parts = [part.cast(pl.Float64) if numbers else _texts(part) for part in parts]
        columns[name] = pl.concat([part.rename(name) for part in parts])
    both = pair_columns(original, Table.from_native(pl.DataFrame(columns)), names, schema, aligned=False)
    n = released.n_rows
    pairs = [PairedColumn(pair.name, pair.original, pair.released[:n], pair.categories) for pair in both]
    return pairs, [pair.released[n:] for pair in both]


def _pair(original: Table, released: Table, name: str, column: Any) -> PairedColumn:
    before, after = original.column(name).to_polars(), released.column(name).to_polars()
    order = column.order if column is not None and column.kind == Kind.ORDINAL else None
    if order is None and isinstance(before.dtype, pl.Enum):
        order = tuple(before.dtype.categories)
    if order is not None:
        return PairedColumn(name, value_codes(_texts(before), order), value_codes(_texts(after), order))
    nominal = column is not None and column.kind == Kind.NOMINAL
    if not nominal and (before.dtype.is_numeric() or before.dtype.is_temporal()) and before.dtype != pl.Time:
        return _pair_numbers(name, before, after)
    texts = [_texts(before), _texts(after)]
    categories = pl.concat(texts).drop_nulls().unique().sort()
    codes = [value_codes(part, categories) for part in texts]
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
    """Return both as floats less the first known value of the original, integers subtracted exactly."""
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
        integers = series.fill_nan(None).cast(pl.Int64, strict=False)
        texts = series.fill_nan(None).cast(pl.String)
        same = (integers.cast(pl.Float64) == series).fill_null(value=False)
        return integers.cast(pl.String).zip_with(same, texts)
    return series.cast(pl.String)


def _numbers_of_texts(texts: pl.Series) -> pl.Series:
    different = texts.drop_nulls().unique()
    numbers = np.array([*(number_of_text(text) for text in different), np.nan])  # the last one for missing texts
    codes = value_codes(texts, different)
    return pl.Series(numbers[np.where(np.isnan(codes), -1, codes).astype(np.int64)])


def number_of_text(text: str) -> float:
    """Return the number that a generalised value represents: the mean of the numbers it names, NaN if none.

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
