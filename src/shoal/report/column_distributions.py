"""The distributions of the quasi-identifiers of a release: which columns, and how their values are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.core.hierarchy import text_of
from shoal.evaluate.paired_columns import pair_columns
from shoal.report.histograms import Distribution, category_distribution, fewest_records, number_distribution
from shoal.schema.columns import Column, Kind
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.api.release import Release

MOST = 24
"""The most columns that are drawn: those that lost most."""
_PER_DAY = {"ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9}


@dataclass(frozen=True)
class Spread:
    """One column and its distribution.

    Parameters
    ----------
    column
        The quasi-identifier.
    loss
        What it lost.
    distribution
        Its bins.
    unit
        The unit of the axis, where it needs one.
    """

    column: Column
    loss: float
    distribution: Distribution
    unit: str = ""


def spreads(release: Release, original: Table | None) -> tuple[Spread, ...]:
    """Return the distributions of the quasi-identifiers that lost most, in the order of the table."""
    loss = {name: column.information for name, column in release.loss.columns.items()}
    chosen = set(sorted(loss, key=lambda name: -loss[name])[:MOST])
    fewest = fewest_records(release.grouping.k)
    return tuple(
        Spread(column, loss[column.name], *_distribution(release, original, column, fewest))
        for column in release.schema.quasi
        if column.name in chosen
    )


def _distribution(release: Release, original: Table | None, column: Column, fewest: int) -> tuple[Distribution, str]:
    source = release.original if original is None else original
    before = None if source is None else source.column(column.name).to_polars()
    kind = release.table.column(column.name).to_polars().dtype if before is None else before.dtype
    ordered = column.kind == Kind.ORDINAL and column.order is not None
    plain = (kind.is_numeric() or kind.is_temporal()) and kind != pl.Time
    if column.kind != Kind.NOMINAL and plain and not ordered:
        return _numbers(release, original, column, before, fewest)
    labels = {text_of(code): text for code, text in ((source or release.table).value_labels(column.name) or {}).items()}
    counts = [
        None if table is None else _counts(table.column(column.name).to_polars(), labels)
        for table in (original, release.table)
    ]
    known = [{} if found is None else {text: count for text, count in found.items() if text} for found in counts]
    holes = tuple(0 if found is None else found.get("", 0) for found in counts)
    order = None
    if column.order is not None:
        order = [labels.get(one, one) for one in column.order]
    elif isinstance(kind, pl.Enum):
        order = list(kind.categories)
    return (
        category_distribution(
            None if original is None else known[0], known[1], fewest, order=order, missing=(holes[0], holes[1])
        ),
        "",
    )


def _numbers(
    release: Release, original: Table | None, column: Column, before: pl.Series | None, fewest: int
) -> tuple[Distribution, str]:
    source = release.table if before is None else release.original
    assert source is not None
    pair = pair_columns(source, release.table, [column.name], release.schema)[0]
    physical = source.column(column.name).to_polars()
    dtype = physical.dtype
    origin, per_day, unit = _origin(physical), 1.0, ""
    if isinstance(dtype, pl.Datetime | pl.Duration):
        per_day = _PER_DAY[str(dtype.time_unit)]
    if isinstance(dtype, pl.Duration):
        unit = "days"
    values = [(part + origin) / per_day for part in (pair.original, pair.released)]
    found = number_distribution(
        None if original is None else values[0],
        values[1],
        fewest,
        whole=dtype.is_integer(),
        dates=dtype.is_temporal() and not unit,
    )
    return found, unit


def _origin(series: pl.Series) -> float:
    """Return what a paired column was shifted by: its first known value."""
    physical = series.to_physical()
    physical = physical.cast(pl.Float64) if physical.dtype.is_decimal() else physical
    known = physical.drop_nulls().drop_nans() if physical.dtype.is_float() else physical.drop_nulls()
    return float(known[0]) if len(known) else 0.0


def _counts(series: pl.Series, labels: dict[str, str]) -> dict[str, int]:
    """Return how many records have each category; the empty text stands for a hole."""
    counted = series.alias("value").value_counts().rows()
    found: dict[str, int] = {}
    for value, count in counted:
        hole = value is None or (isinstance(value, float) and np.isnan(value))
        text = "" if hole else text_of(value)
        text = labels.get(text, text) or ("" if hole else "(empty)")
        found[text] = found.get(text, 0) + int(count)
    return found
