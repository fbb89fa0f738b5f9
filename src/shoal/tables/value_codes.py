"""The values of a column as codes 0, 1, ..., and which of its cells are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError

if TYPE_CHECKING:
    import narwhals as nw


def polars_series(series: nw.Series[Any]) -> pl.Series:
    """Return a column of any library as a polars series; a column that has no counterpart raises DataError."""
    import narwhals as nw

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


def missing_mask(series: nw.Series[Any]) -> NDArray[np.bool_]:
    """Return where values are missing: nulls, and NaN in columns of floats.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> missing_mask(nw.from_native(pl.Series([1.0, float("nan"), None]), series_only=True)).tolist()
    [False, True, True]
    """
    column = polars_series(series)
    mask = column.is_null()
    if column.dtype.is_float():
        mask = mask | column.is_nan().fill_null(value=False)
    return mask.to_numpy()


def comparable_values(series: nw.Series[Any]) -> pl.Series:
    """Return values to compare for equality: categories as text, NaN as missing."""
    column = polars_series(series)
    if column.dtype in {pl.Categorical, pl.Enum}:
        return column.cast(pl.String)
    if column.dtype.is_float():
        return column.fill_nan(None)
    return column


def ordered_categories(values: pl.Series, order: Sequence[str] | None, name: str) -> pl.Series:
    """Return the different values of an ordinal column from lowest to highest, only those that occur.

    Parameters
    ----------
    values
        The column, as :func:`comparable_values` returns it.
    order
        All categories from lowest to highest; None where the values have an order of their own.
    name
        The column, for error texts.

    Examples
    --------
    >>> ordered_categories(pl.Series(["high", "low", "high"]), ["low", "medium", "high"], "dose").to_list()
    ['low', 'high']
    """
    present = values.drop_nulls().unique().sort()
    if order is None:
        if values.dtype == pl.String:
            raise SchemaError(
                f'column "{name}" is ordinal but its order is not given; name its categories from lowest to '
                f'highest, for example --ordinal "{name}=low<medium<high"'
            )
        return present
    position = {category: number for number, category in enumerate(order)}
    texts = present.cast(pl.String).to_list()
    unknown = [text for text in texts if text not in position]
    if unknown:
        raise SchemaError(
            f'column "{name}" has {len(unknown)} categories that its order does not name; the order names {len(order)}'
        )
    return present.gather(sorted(range(len(texts)), key=lambda number: position[texts[number]]))


def value_codes(values: pl.Series, categories: pl.Series | Sequence[Any]) -> NDArray[np.float64]:
    """Return the position of each value among the categories; NaN for a value that is none of them.

    Examples
    --------
    >>> value_codes(pl.Series(["b", None, "a", "z"]), ["a", "b"]).tolist()
    [1.0, nan, 0.0, nan]
    """
    known = categories if isinstance(categories, pl.Series) else pl.Series(categories, dtype=values.dtype)
    lookup = pl.DataFrame({"value": known, "code": np.arange(len(known), dtype=np.float64)})
    frame = values.rename("value").to_frame()
    joined = frame.join(lookup, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].fill_null(np.nan).to_numpy()
