"""Values of a column as numbers or categories, each from its own record and the declaration of the user only.

The type of a column is never used: readers and DataFrame libraries infer it from the values (one missing value turns
the integers of pandas into floats, one text turns them into objects), so that one record would change all others. A
value therefore gives the same number, date or category whatever the type of its column is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.tables.dialect import Dialect

NumberKind = Literal["integer", "number", "date", "datetime"]

_PLAIN_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?")
_DATETIME_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
_DAY = 86_400


def declared_numbers(series: nw.Series[Any], kind: NumberKind, dialect: Dialect | None) -> NDArray[np.float64]:
    """Return each value as a number, dates as days and dates with time as seconds since 1970; NaN where there is none.

    Examples
    --------
    >>> texts = nw.from_native(pl.Series(["7", "30.5", "inf", "", "old"]), series_only=True)
    >>> declared_numbers(texts, "integer", None).tolist()
    [7.0, 30.5, inf, nan, nan]
    """
    column = stored_values(series)
    if isinstance(column, list):
        texts = pl.Series([value if isinstance(value, str) else None for value in column], dtype=pl.String)
        found = _numbers(texts, kind, dialect)
        convert = _number if kind in {"integer", "number"} else _seconds
        others = np.array([math.nan if isinstance(value, str) else convert(value) for value in column], np.float64)
        is_text = np.array([isinstance(value, str) for value in column], bool)
        return np.where(is_text, found, _in_days(others, kind))
    return _numbers(column, kind, dialect)


def declared_codes(
    series: nw.Series[Any], codes: Mapping[str, int], default: int, dialect: Dialect | None
) -> NDArray[np.int64]:
    """Return the code of the category of each value, and ``default`` for all values that are no category.

    ``codes`` has the categories as :func:`category_key` returns them.

    Examples
    --------
    >>> values = nw.from_native(pl.Series([1.0, 2.0, None, 7.0]), series_only=True)
    >>> declared_codes(values, {"1": 0, "2": 1, "other": 2}, 2, None).tolist()
    [0, 1, 2, 2]
    """
    missing = set(dialect.declared_na_values) if dialect else set()

    def code(value: Any) -> int:
        if value is None or (isinstance(value, str) and value.strip() in missing):
            return default
        return codes.get(category_key(value), default)

    column = stored_values(series)
    if isinstance(column, list):
        return np.array([code(value) for value in column], np.int64)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return np.full(len(column), default, np.int64)
    values = column.unique()
    known = pl.DataFrame({"value": values, "code": [code(value) for value in values.to_list()]})
    found = column.rename("value").to_frame().join(known, on="value", how="left", maintain_order="left")["code"]
    return found.fill_null(default).to_numpy().astype(np.int64)


def category_key(value: Any) -> str:
    """Return the text by which a value and a category are compared: 1, 1.0 and "1" are the same category.

    Examples
    --------
    >>> [category_key(value) for value in (1, 1.0, "01", "1.50", True, "True", " f ", "-0.0")]
    ['1', '1', '1', '1.5', 'true', 'true', 'f', '0']
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).casefold()
    if isinstance(value, datetime):
        return _without_zone(value).isoformat(" ").removesuffix(" 00:00:00")
    text = str(value).strip()
    if text.casefold() in {"true", "false"}:
        return text.casefold()
    if isinstance(value, float | np.floating) and math.isfinite(value):
        text = np.format_float_positional(value, trim="-")
    match = _PLAIN_NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return text
    whole, fraction = match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")
    number = f"{whole}.{fraction}" if fraction else whole
    return f"-{number}" if match[1] == "-" and number != "0" else number


def stored_values(series: nw.Series[Any]) -> pl.Series | list[Any]:
    """Return a column as polars stores it, or as a list if its library keeps Python objects."""
    native = series.to_native()
    if series.implementation.is_pandas_like() and (native.dtype == object or series.dtype == nw.Categorical):
        return [None if missing else value for value, missing in zip(native.tolist(), native.isna(), strict=True)]
    column: pl.Series = series.to_polars()
    if column.dtype.is_float():
        return column.fill_nan(None)
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column


def _numbers(column: pl.Series, kind: NumberKind, dialect: Dialect | None) -> NDArray[np.float64]:
    """Return the numbers of a column that polars stores."""
    dtype = column.dtype
    numeric = kind in {"integer", "number"}
    if dtype == pl.String:
        texts = _known_texts(column, dialect)
        found = _parsed_numbers(texts, dialect) if numeric else _parsed_seconds(texts)
    elif numeric and (dtype.is_numeric() or dtype == pl.Boolean):
        found = column.cast(pl.Float64)
    elif not numeric and isinstance(dtype, pl.Date | pl.Datetime):
        found = _physical_seconds(column)
    else:
        found = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(column))
    numbers = found.fill_null(math.nan).to_numpy()
    return numbers if numeric else _in_days(numbers, kind)


def _known_texts(column: pl.Series, dialect: Dialect | None) -> pl.Series:
    texts = column.str.strip_chars()
    if dialect is None or not dialect.declared_na_values:
        return texts
    kept = ~texts.is_in(list(dialect.declared_na_values))
    return texts.zip_with(kept.fill_null(value=False), pl.Series([None], dtype=pl.String))


def _parsed_numbers(texts: pl.Series, dialect: Dialect | None) -> pl.Series:
    if dialect is not None and dialect.decimal == ",":
        texts = texts.str.replace(",", ".", literal=True)
    return texts.cast(pl.Float64, strict=False)


def _parsed_seconds(texts: pl.Series) -> pl.Series:
    """Return seconds since 1970 of ISO dates, with or without time; every format is tried on every value."""
    plain = texts.str.strip_suffix("Z").str.replace("T", " ", literal=True)
    found = _physical_seconds(plain.str.to_date("%Y-%m-%d", strict=False))
    for text_format in _DATETIME_FORMATS:
        parsed = _physical_seconds(plain.str.to_datetime(text_format, time_unit="us", strict=False))
        found = found.zip_with(found.is_not_null(), parsed)
    return found


def _physical_seconds(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    seconds = column.cast(pl.Datetime("us")).to_physical() // 1_000_000
    return seconds.cast(pl.Float64)


def _in_days(seconds: NDArray[np.float64], kind: NumberKind) -> NDArray[np.float64]:
    return np.floor(seconds / _DAY) if kind == "date" else seconds


def _number(value: Any) -> float:
    """Return a Python object as a number, or NaN."""
    return _or_nan(float, value)


def _seconds(value: Any) -> float:
    """Return a Python date as seconds since 1970, or NaN."""
    if isinstance(value, datetime):
        return _or_nan(lambda moment: math.floor(_without_zone(moment).replace(tzinfo=UTC).timestamp()), value)
    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days * _DAY)
    return math.nan


def _or_nan(convert: Callable[[Any], float], value: Any) -> float:
    try:
        return float(convert(value))
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return math.nan


def _without_zone(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
