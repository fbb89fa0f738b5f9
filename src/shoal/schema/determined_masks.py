"""Columns that are empty exactly where another column says so: cells that perhaps cannot have a value."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.tables import Table
from shoal.tables.value_codes import missing_mask, polars_series

LEAST_CELLS = 10
"""Empty cells, and cells with a value, from which a rule is not a coincidence."""
MOST_CATEGORIES = 50
MOST_COLUMNS = 200


def determined_masks(table: Table) -> dict[str, str]:
    """Return for columns whose empty cells another column determines what that other column says.

    A rule is a set of categories, or a threshold of a number, on whose sides the column is always empty or never.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"age": range(60), "wage": [None] * 16 + [9] * 44}))
    >>> determined_masks(people)
    {'wage': 'empty exactly where "age" is below a threshold'}
    """
    names = table.names[:MOST_COLUMNS]
    masks: dict[str, NDArray[np.bool_]] = {}
    for name in names:
        mask = missing_mask(table.column(name))
        if LEAST_CELLS <= mask.sum() <= mask.size - LEAST_CELLS:
            masks[name] = mask
    found: dict[str, str] = {}
    for name, mask in masks.items():
        for other in names:
            rule = "" if other == name else _rule(table, other, mask)
            if rule:
                found[name] = f'empty exactly where "{other}" {rule}'
                break
    return found


def _rule(table: Table, other: str, mask: NDArray[np.bool_]) -> str:
    """Return how a column determines a mask; an empty text if it does not."""
    series = table.typed(other)
    values = polars_series(series)
    if values.dtype.is_nested() or values.dtype == pl.Object or missing_mask(series).any():
        return ""
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        order = values.to_physical().cast(pl.Float64, strict=False).to_numpy()
        empty, known = order[mask], order[~mask]
        if empty.max() < known.min():
            return "is below a threshold"
        if empty.min() > known.max():
            return "is above a threshold"
    if values.n_unique() > MOST_CATEGORIES:
        return ""
    frame = pl.DataFrame({"value": values, "empty": mask})
    shares = frame.group_by("value").agg(pl.col("empty").mean())["empty"]
    return "has certain values" if shares.is_in([0.0, 1.0]).all() else ""
