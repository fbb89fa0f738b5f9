"""Texts such as NA among numbers: a column that a file of R or a database wrote, and that only seems to hold text."""

from __future__ import annotations

import polars as pl

from shoal.errors import MissingValues
from shoal.schema.columns import Column, Kind, Schema
from shoal.tables import Table
from shoal.tables.value_codes import polars_series

MARKS = frozenset({"NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "#N/A", "?", "-", "--", ".", "*"})
"""Texts that often mean a missing value."""
_HEAD = 1_000


def marks_among_numbers(values: pl.Series) -> list[str]:
    """Return the texts that seem to mark missing values in a column of otherwise numbers; none for other columns.

    Examples
    --------
    >>> marks_among_numbers(pl.Series(["1", "NA", "2.5"])), marks_among_numbers(pl.Series(["a", "NA", "b"]))
    (['NA'], [])
    """
    if values.dtype != pl.String:
        return []
    for part in (values.head(_HEAD), values):
        distinct = part.drop_nulls().str.strip_chars().unique()
        marks = distinct.filter(distinct.is_in(sorted(MARKS)))
        others = distinct.filter(~distinct.is_in(["", *sorted(MARKS)]))
        if others.cast(pl.Float64, strict=False).null_count():
            return []
    return sorted(marks.to_list()) if len(others) > 1 else []


def check_marks(table: Table, schema: Schema) -> None:
    """Raise for a quasi-identifier that counts as nominal only because texts such as NA stand among its numbers."""
    for column in schema.quasi:
        if column.kind != Kind.NOMINAL or column.kind_stated:
            continue
        marks = marks_among_numbers(polars_series(table.column(column.name)))
        if marks:
            raise MissingValues(*_advice(column, marks))


def _advice(column: Column, marks: list[str]) -> tuple[str, str]:
    """Return the sentence about marks in the words of Python and of the command line."""
    name, shown = column.name, " and ".join(f'"{mark}"' for mark in marks)
    start = f'column "{name}" holds numbers and the text {shown}; if that marks missing values, '
    listed, first = ", ".join(f'"{mark}"' for mark in marks), marks[0]
    python = (
        f'{start}replace it by missing values, or for a file state read_options={{"na_values": [{listed}]}}; if it '
        f'means that there can be no value, state kinds={{"{name}": "numeric"}} and not_applicable={{"{name}": '
        f'["{first}"]}}; if all are names of categories, state kinds={{"{name}": "nominal"}}'
    )
    command_line = (
        f'{start}state --na-values "{",".join(marks)}"; if it means that there can be no value, state --numeric '
        f'"{name}" --not-applicable "{name}={first}"; if all are names of categories, state --nominal "{name}"'
    )
    return python, command_line
