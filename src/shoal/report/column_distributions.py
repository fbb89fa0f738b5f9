"""The distributions of the quasi-identifiers of a release: which columns are shown, and how their values are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.core.text import text_of
from shoal.flow.released import Released
from shoal.report.histograms import Distribution, category_distribution, min_bar_records, number_distribution
from shoal.report.measured_tables import MeasuredTables
from shoal.schema.columns import Column, Kind
from shoal.tables import Table

MAX_DRAWN_COLUMNS = 24
"""The largest number of columns that are drawn: those with the largest information loss."""
_PER_DAY = {"ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9}


@dataclass(frozen=True)
class ColumnDistribution:
    """One column and its distribution.

    Parameters
    ----------
    column
        The quasi-identifier.
    loss
        Its information loss.
    distribution
        Its bins.
    unit
        The unit of the axis, where it needs one.
    """

    column: Column
    loss: float
    distribution: Distribution
    unit: str = ""


def column_distributions(released: Released, tables: MeasuredTables) -> tuple[ColumnDistribution, ...]:
    """Return the distributions of the quasi-identifiers that lost most, in the order of the table."""
    loss = {name: column.information_loss for name, column in released.loss.columns.items()}
    drawn = set(sorted(loss, key=lambda name: -loss[name])[:MAX_DRAWN_COLUMNS])
    min_records = smallest_bar(released)
    return tuple(
        ColumnDistribution(column, loss[column.name], *_distribution(tables, column, min_records))
        for column in released.schema.quasi
        if column.name in drawn
    )


def smallest_bar(released: Released) -> int:
    """Return the smallest number of records of the original in a bar; with a unit, so many are of enough persons."""
    persons = None if released.schema.unit is None else released.persons
    return min_bar_records(released.plan.requirements.k, None if persons is None else persons.unit)


def _distribution(tables: MeasuredTables, column: Column, min_records: int) -> tuple[Distribution, str]:
    dtype = tables.series(column.name).dtype
    ordered = column.kind == Kind.ORDINAL and column.order is not None
    comparable = (dtype.is_numeric() or dtype.is_temporal()) and dtype != pl.Time
    if column.kind != Kind.NOMINAL and comparable and not ordered:
        return _numbers(tables, column, min_records)
    return _categories(tables, column, min_records), ""


def _categories(tables: MeasuredTables, column: Column, min_records: int) -> Distribution:
    name, dtype = column.name, tables.series(column.name).dtype
    labels = _value_labels(tables.reference, name)
    before = None if tables.original is None else _counts(tables.original.column(name).to_polars(), labels)
    after = _counts(tables.released.column(name).to_polars(), labels)
    missing = 0 if before is None else before.pop("", 0), after.pop("", 0)
    order = None
    if column.order is not None:
        order = [labels.get(category, category) for category in column.order]
    elif isinstance(dtype, pl.Enum):
        order = list(dtype.categories)
    if order is not None and before is None:
        order = [category for category in order if category in after]  # others occur at most in the original
    return category_distribution(before, after, min_records, order=order, missing=missing)


def _numbers(tables: MeasuredTables, column: Column, min_records: int) -> tuple[Distribution, str]:
    pair = tables.paired([column.name])[0]
    series = tables.series(column.name)
    dtype = series.dtype
    origin, per_day, unit = _origin(series), 1.0, ""
    if isinstance(dtype, pl.Datetime | pl.Duration):
        per_day = _PER_DAY[str(dtype.time_unit)]
    if isinstance(dtype, pl.Duration):
        unit = "days"
    before, after = ((part + origin) / per_day for part in (pair.original, pair.released))
    distribution = number_distribution(
        None if tables.original is None else before,
        after,
        min_records,
        integers=dtype.is_integer(),
        dates=dtype.is_temporal() and not unit,
    )
    return distribution, unit


def _origin(series: pl.Series) -> float:
    """Return what a paired column was shifted by: its first known value."""
    physical = series.to_physical()
    physical = physical.cast(pl.Float64) if physical.dtype.is_decimal() else physical
    known = physical.drop_nulls().drop_nans() if physical.dtype.is_float() else physical.drop_nulls()
    return float(known[0]) if len(known) else 0.0


def category_counts(table: Table, name: str) -> dict[str, int]:
    """Return how many records have each category, by its label if it has one; an empty text for missing values."""
    return _counts(table.column(name).to_polars(), _value_labels(table, name))


def _value_labels(table: Table, name: str) -> dict[str, str]:
    return {text_of(code): text for code, text in (table.value_labels(name) or {}).items()}


def _counts(series: pl.Series, labels: dict[str, str]) -> dict[str, int]:
    """Return how many records have each category; the empty text represents a missing value."""
    counts: dict[str, int] = {}
    for value, count in series.alias("value").value_counts().rows():
        missing = value is None or (isinstance(value, float) and np.isnan(value))
        text = "" if missing else text_of(value)
        text = labels.get(text, text) or ("" if missing else "(empty)")
        counts[text] = counts.get(text, 0) + int(count)
    return counts
