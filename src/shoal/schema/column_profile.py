"""What the values of a column are, in one line for a person who decides its role.

Counts of different and missing values; for numbers the range without the ends, which are values of single records; for
categories the most frequent ones, as far as at least :data:`SHARED` records have each; the label of the column.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from shoal.core.text import text_of
from shoal.tables import Table

SHARED = 10
"""Records that must share a category before it is shown."""
MOST_CATEGORIES = 5
LONGEST = 30
_ENDS = 0.02


def describe_column(table: Table, name: str) -> str:
    """Return one line about the values of a column.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"sex": ["f", "m"] * 20 + ["x"], "age": [*range(40), None]}))
    >>> describe_column(people, "sex"), describe_column(people, "age")
    ('3 different values: "f" (20), "m" (20), rarer ones', '40 different values, 1 missing: mostly 1 to 38')
    """
    series = table.typed(name)
    missing = series.null_count()
    values = series.drop_nulls()
    if not len(values):
        return "no values"
    try:
        distinct = values.n_unique()
    except Exception:  # noqa: BLE001 - lists and objects of several libraries cannot be compared
        return "nested values"
    counted = f"{distinct:,} different value{'s' if distinct > 1 else ''}" + (
        f", {missing:,} missing" if missing else ""
    )
    label = table.variable_label(name)
    shown = (
        _range(values) if values.dtype.is_numeric() or values.dtype.is_temporal() else _categories(table, name, values)
    )
    if table.value_labels(name):
        shown = _categories(table, name, values) or shown
    return counted + (f": {shown}" if shown else "") + (f'; label "{label}"' if label else "")


def _range(values: nw.Series[Any]) -> str:
    """Return the range between two quantiles; nothing for few values."""
    if len(values) < SHARED:
        return ""
    ordered = values.sort()
    at = max(1, int(_ENDS * len(values)))
    return f"mostly {text_of(ordered[at])} to {text_of(ordered[len(values) - 1 - at])}"


def _categories(table: Table, name: str, values: nw.Series[Any]) -> str:
    """Return the most frequent categories that enough records share."""
    labels = table.value_labels(name) or {}
    counts = values.value_counts(sort=True, name="n")
    found = list(zip(counts[values.name].to_list(), counts["n"].to_list(), strict=True))
    found.sort(key=lambda entry: (-entry[1], text_of(entry[0])))
    shared = [(value, count) for value, count in found if count >= SHARED][:MOST_CATEGORIES]
    texts = [f'"{_short(labels.get(value, text_of(value)))}" ({count:,})' for value, count in shared]
    more = ["rarer ones"] if texts and len(found) > len(shared) else []
    return ", ".join([*texts, *more])


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
