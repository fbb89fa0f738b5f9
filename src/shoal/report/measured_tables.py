"""The tables of a release as the report reads them: texts parsed, and original and released values on one scale.

A released column may hold the text of a generalised number or date (``34-41``, ``2020-01-01 to 2020-03-01``). With the
original at hand its type says how to read these texts; without it the texts themselves do. Both give the same released
values, so a figure of the released table is the same whether or not the original is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.evaluate.paired_columns import PairedColumn, number_of_text, pair_columns
from shoal.flow.released import Released
from shoal.schema.columns import Column, Kind, Schema
from shoal.tables import Table

_PART_OF_DATE = r"(?:^|[{\[( ])\d{4}-\d{2}(?:-\d{2}|\b)"


@dataclass(frozen=True, eq=False)
class MeasuredTables:
    """The tables of a release, ready to be measured.

    Parameters
    ----------
    schema
        Roles and kinds of the columns.
    released
        The released table.
    original
        The original table; None where it is not shown.
    reference
        The table whose types say how released values are read: the original or, without it, the released table with
        generalised numbers and dates parsed.
    """

    schema: Schema
    released: Table
    original: Table | None
    reference: Table

    def paired(self, names: Sequence[str], rows: NDArray[np.int64] | None = None) -> list[PairedColumn]:
        """Return columns as numbers or codes, of all records or some; without the original, released on both sides."""
        tables = self.reference, self.released
        if rows is not None:
            tables = _taken(tables[0], rows, names), _taken(tables[1], rows, names)
        return pair_columns(*tables, names, self.schema)

    def series(self, name: str) -> pl.Series:
        """Return a column of the reference table."""
        return self.reference.column(name).to_polars()


def read_tables(released: Released, original: Table | None, names: Iterable[str]) -> MeasuredTables:
    """Return both tables with the given columns parsed, so that a file and a DataFrame give the same figures.

    Parameters
    ----------
    released
        The release.
    original
        The original table, or None.
    names
        The columns that are measured.
    """
    names = list(names)
    table = released.table.with_types(names)
    if original is not None:
        original = original.with_types(names)
        return MeasuredTables(released.schema, table, original, original)
    return MeasuredTables(released.schema, table, None, _reference(table, released.schema, names))


def _reference(table: Table, schema: Schema, names: Sequence[str]) -> Table:
    """Return some columns of a released table, the texts of generalised numbers and dates parsed."""
    columns = {name: table.column(name).to_polars() for name in names}
    for column in schema.quasi:
        series = columns[column.name]
        if column.kind != Kind.NOMINAL and column.order is None and series.dtype in {pl.String, pl.Categorical}:
            columns[column.name] = _parsed(series.cast(pl.String), column)
    return Table(Table.from_native(pl.DataFrame(columns)).frame, labels=table.labels)


def _parsed(texts: pl.Series, column: Column) -> pl.Series:
    """Return generalised dates, times or numbers as values of their type; texts without any of these as they are."""
    starts = texts.str.split_exact(" to ", 1).struct.field("field_0").str.strip_chars("[]() ")
    times = starts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    if times.is_not_null().any():
        return times.alias(column.name)
    if column.hierarchy == "calendar" or texts.str.contains(_PART_OF_DATE).any():
        return starts.str.to_date("%Y-%m-%d", strict=False).alias(column.name)
    distinct = texts.drop_nulls().unique()
    numbers = pl.Series([number_of_text(text) for text in distinct], dtype=pl.Float64)
    if numbers.is_nan().all():
        return texts
    return texts.replace_strict(distinct, numbers, default=None, return_dtype=pl.Float64).alias(column.name)


def _taken(table: Table, rows: NDArray[np.int64], names: Sequence[str]) -> Table:
    return Table.from_native(pl.DataFrame({name: table.column(name).to_polars().gather(rows) for name in names}))
