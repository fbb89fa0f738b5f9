"""Hierarchies built from the values of a column.

- ``flat``: every value below the root; generalising means suppressing.
- ``prefixes``: codes such as 80331 lose their last characters one by one: 8033*, 803**, ...
- ``intervals``: numbers in intervals of a round width, each level wider: 5, 10, 50, 100, ...
- ``order``: ordered categories in pairs of neighbours, pairs of pairs, and so on.
- ``calendar``: dates and times in months, years and decades.
- ``auto``: the one that fits the column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from shoal.core.hierarchy import ROOT, Hierarchy
from shoal.core.text import text_of
from shoal.errors import SchemaError
from shoal.schema.columns import Column, Kind

_FINEST = 64  # intervals on the lowest level


def build_hierarchy(column: Column, series: nw.Series[Any], builder: str = "auto") -> Hierarchy:
    """Return a tree over the values that occur in a column.

    Parameters
    ----------
    column
        Its kind and, for ordered categories, its order.
    series
        Its values.
    builder
        One of the words above.

    Examples
    --------
    >>> ages = nw.from_native(pl.Series("age", [31, 33, 36, 58]), series_only=True)
    >>> tree = build_hierarchy(Column("age", "quasi", Kind.NUMERIC), ages)
    >>> tree.cca([31, 33]), tree.cca([31, 36]), tree.cca([31, 58])
    ('30-34', '30-39', '*')
    """
    values = series.to_polars()
    if values.dtype in {pl.Categorical, pl.Enum}:
        values = values.cast(pl.String)
    known = (values.fill_nan(None) if values.dtype.is_float() else values).drop_nulls().unique().sort()
    if not len(known):
        return Hierarchy([(ROOT,)])
    return BUILDERS[builder](column, known)


def _auto(column: Column, values: pl.Series) -> Hierarchy:
    if values.dtype.is_temporal() and values.dtype != pl.Duration:
        return _calendar(column, values)
    if column.kind == Kind.NUMERIC:
        return _intervals(column, values)
    if column.kind == Kind.ORDINAL:
        return _order(column, values)
    texts = [text_of(value) for value in values]
    return _prefixes(column, values) if _are_codes(texts) else _flat(column, values)


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether values look like codes whose first characters mean more than the last: 80331, A021."""
    length = len(texts[0])
    return length >= 2 and all(len(text) == length and text[1:].isdigit() and text.isalnum() for text in texts)


def _flat(column: Column, values: pl.Series) -> Hierarchy:
    return Hierarchy([(text_of(value), ROOT) for value in values])


def _prefixes(column: Column, values: pl.Series) -> Hierarchy:
    texts = [text_of(value) for value in values]
    length = max(map(len, texts))
    paths = []
    for text in texts:
        padded = text.ljust(length)
        above = [padded[:keep] + "*" * (length - keep) for keep in range(length - 1, 0, -1)]
        paths.append((text, *above, ROOT))
    return Hierarchy(paths)


def _intervals(column: Column, values: pl.Series) -> Hierarchy:
    if not values.dtype.is_numeric():
        raise SchemaError(f'column "{column.name}" is not numeric, so its hierarchy cannot be made of intervals')
    whole = values.dtype.is_integer()
    numbers = values.cast(pl.Float64).to_numpy()
    low, high = float(numbers[0]), float(numbers[-1])
    width = _round_width((high - low) / _FINEST, whole=whole)
    paths: list[list[str]] = [[text_of(value)] for value in values]
    while width < 2 * (high - low):
        places = np.floor(numbers / width)
        if places[0] == places[-1]:
            break
        decimals = max(0, -int(np.floor(np.log10(width)))) if not whole else 0
        for path, place in zip(paths, places, strict=True):
            start, stop = place * width, (place + 1) * width
            path.append(
                f"{start:.0f}-{stop - 1:.0f}" if whole and low >= 0
                else f"{start:.0f} to {stop - 1:.0f}" if whole
                else f"[{start:.{decimals}f}, {stop:.{decimals}f})"
            )  # fmt: skip
        width = _round_width(width * 1.5, whole=whole)
    return Hierarchy([(*path, ROOT) for path in paths])


def _round_width(width: float, *, whole: bool) -> float:
    """Return the smallest of 1, 5, 10, 50, ... that is not below the width; at least 5 for whole numbers."""
    if width <= 0:
        return 5.0 if whole else 1.0
    unit = float(10.0 ** np.floor(np.log10(width)))
    found = next(unit * step for step in (1, 5, 10) if unit * step >= width * (1 - 1e-12))
    return max(found, 5.0) if whole else found


def _order(column: Column, values: pl.Series) -> Hierarchy:
    texts = [text_of(value) for value in values]
    if column.order is not None:
        unknown = [text for text in texts if text not in column.order]
        if unknown:
            raise SchemaError(f'column "{column.name}" has {len(unknown)} categories that its order does not name')
        texts = list(column.order)
    paths = [[text] for text in texts]
    width = 2
    while width < len(texts):
        for place, path in enumerate(paths):
            start = place - place % width
            stop = min(start + width, len(texts)) - 1
            path.append(f"{texts[start]} to {texts[stop]}" if stop > start else texts[start])
        width *= 2
    return Hierarchy([(*path, ROOT) for path in paths])


def _calendar(column: Column, values: pl.Series) -> Hierarchy:
    if not isinstance(values.dtype, pl.Date | pl.Datetime):
        raise SchemaError(f'column "{column.name}" holds no dates, so its hierarchy cannot follow the calendar')
    months = values.dt.strftime("%Y-%m")
    years = values.dt.year()
    return Hierarchy(
        [
            (text_of(value), month, str(year), f"{year - year % 10}s", ROOT)
            for value, month, year in zip(values, months, years, strict=True)
        ]
    )


BUILDERS: dict[str, Callable[[Column, pl.Series], Hierarchy]] = {
    "auto": _auto,
    "flat": _flat,
    "prefixes": _prefixes,
    "intervals": _intervals,
    "order": _order,
    "calendar": _calendar,
}
"""How a tree can be made from the values of a column."""
