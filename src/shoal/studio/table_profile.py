"""The profile of a table for the screen of columns: guesses with reasons, counts and small distributions.

Runs in the worker. A bar or a category of the original is sent only if at least :data:`SHARED` rows have it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.text import text_of
from shoal.schema.column_profile import SHARED
from shoal.studio.trees import MOST_VALUES

if TYPE_CHECKING:
    import polars as pl

    from shoal.schema.columns import Column, Schema
    from shoal.tables import Table

_BINS = 16
_MAX_CATEGORIES = 12
_MAX_ORDER = 200
_PEEK_ROWS = 5
_LONGEST_CELL = 60
_MOST_COMPARED = 40
"""Columns up to which each is compared with the others when a table is opened."""


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def peek(path: Path, read_options: dict[str, Any]) -> dict[str, Any]:
    """Return the first rows of a file, the types of its columns and how it was read."""
    from shoal.tables import read_head
    from shoal.tables.files import HEAD_ROWS

    sheets = _sheets(path)
    if len(sheets) > 1:
        read_options = {"sheet": sheets[0]} | read_options
    table = read_head(path, **read_options)
    names = table.names
    rows = [
        [_cell(value) for value in row]
        for row in zip(*(table.typed(name).head(_PEEK_ROWS).to_list() for name in names), strict=True)
    ]
    dialect = table.dialect
    found = {} if dialect is None else {
        "delimiter": dialect.delimiter, "encoding": dialect.encoding, "decimal": dialect.decimal,
    }  # fmt: skip
    return {
        "columns": [{"name": name, "type": _type_name(table, name)} for name in names],
        "rows": rows,
        "found": found,
        "sheets": sheets if len(sheets) > 1 else [],
        "complete": table.n_rows < HEAD_ROWS,
        "n_rows": table.n_rows,
    }


def profile(path: Path, read_options: dict[str, Any]) -> dict[str, Any]:
    """Return what the studio shows about a table, with a guess of role and kind of each column."""
    from shoal.schema.column_words import bare_schema
    from shoal.schema.inference import infer_schema
    from shoal.schema.loading import load_typed
    from shoal.schema.plan import ReadOptions

    table = load_typed(path, ReadOptions.of(read_options))
    bare = {column.name: column for column in bare_schema(table).columns}
    schema = infer_schema(table)
    derived = _derived(table, schema)
    return {
        "n_rows": table.n_rows,
        "digest": file_digest(path),
        "sampling_weight": schema.sampling_weight or "",
        "columns": [
            {**_column(table, column, bare[column.name]), "derived": derived.get(column.name)}
            for column in schema.columns
        ],
    }


def _derived(table: Table, schema: Schema) -> dict[str, dict[str, Any]]:
    """Return for each column by which others it is given back, whatever their roles will be."""
    from shoal.flow.derived_columns import find_derived
    from shoal.schema.columns import Role, Schema

    columns = [column for column in schema.columns if column.role != Role.IDENTIFIER]
    if len(columns) > _MOST_COMPARED:
        return {}
    found = {}
    for column in columns:
        roles = {other.name: Role.QUASI if other is column else Role.OTHER for other in columns}
        alone = Schema(tuple(replace(other, role=roles[other.name]) for other in columns))
        for one in find_derived(table, alone):
            found[one.column] = {"sources": list(one.sources), "rule": one.rule}
    return found


def _column(table: Table, column: Column, bare: Column) -> dict[str, Any]:
    from shoal.schema.column_profile import describe_column
    from shoal.tables.value_codes import polars_series

    series = polars_series(table.typed(column.name))
    known = series.drop_nulls()
    try:
        distinct = known.n_unique()
    except Exception:  # noqa: BLE001 - nested values cannot be compared
        distinct = 0
    entry: dict[str, Any] = {
        "name": column.name,
        "type": _type_name(table, column.name),
        "role": str(column.role) if column.role_stated else "",
        "guess": str(column.role),
        "reason": column.reason,
        "kind": str(column.kind),
        "bare_kind": str(bare.kind),
        "order": list(column.order or ())[:_MAX_ORDER],
        "distinct": distinct,
        "missing": series.null_count(),
        "label": table.variable_label(column.name) or "",
        "described": describe_column(table, column.name),
    }
    return entry | _distribution(table, column, known) | _values(known, distinct)


def _values(known: pl.Series, distinct: int) -> dict[str, Any]:
    """Return all values with their rows, where there are few enough to order or to group them by hand."""
    if not 0 < distinct <= MOST_VALUES or known.dtype.is_nested():
        return {"values": [], "value_counts": []}
    counted: dict[str, int] = {}
    for value, count in known.alias("value").value_counts().rows():
        text = text_of(value)
        if text.strip():
            counted[text] = counted.get(text, 0) + int(count)
    numeric = known.dtype.is_numeric()

    def place(text: str) -> tuple[float, str]:
        try:
            return (float(text) if numeric else 0.0), text
        except ValueError:
            return 0.0, text

    ordered = sorted(counted, key=place)
    return {"values": ordered, "value_counts": [counted[text] for text in ordered]}


def _distribution(table: Table, column: Column, known: pl.Series) -> dict[str, Any]:
    """Return shares of bins for numbers, or the categories that enough rows share."""
    import numpy as np

    dtype = known.dtype
    if str(column.kind) == "numeric" and (dtype.is_numeric() or dtype.is_temporal()) and len(known) >= 2 * SHARED:
        import polars as pl

        values = known.to_physical().cast(pl.Float64).to_numpy()
        values = values[np.isfinite(values)]
        low, high = (float(end) for end in np.quantile(values, [0.01, 0.99])) if values.size else (0.0, 0.0)
        if high > low:
            counts = np.histogram(values, bins=_BINS, range=(low, high))[0]
            counts[counts < SHARED] = 0
            return {"bins": [round(float(count) / max(1, counts.max()), 3) for count in counts], "categories": []}
        return {"bins": [], "categories": []}
    from shoal.report.column_distributions import category_counts

    if dtype.is_nested():
        return {"bins": [], "categories": []}
    counted = category_counts(table.with_types([column.name]), column.name)
    counted.pop("", None)
    shared = sorted(((n, text) for text, n in counted.items() if n >= SHARED), key=lambda one: (-one[0], one[1]))
    shown = shared[:_MAX_CATEGORIES]
    rest = sum(counted.values()) - sum(n for n, _ in shown)
    highest = max((n for n, _ in shown), default=1)
    return {
        "bins": [round(n / highest, 3) for n, _ in shown],
        "categories": [{"text": text[:_LONGEST_CELL], "count": n} for n, text in shown],
        "rest": rest if rest >= SHARED else 0,
    }


def _type_name(table: Table, name: str) -> str:
    dtype = table.typed(name).dtype
    for word, holds in (
        ("integer", dtype.is_integer()), ("decimal", dtype.is_numeric()), ("date", str(dtype) == "Date"),
        ("time", dtype.is_temporal()), ("yes or no", str(dtype) == "Boolean"), ("nested", dtype.is_nested()),
    ):  # fmt: skip
        if holds:
            return word
    return "text"


def _cell(value: Any) -> str:
    text = "" if value is None else text_of(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _sheets(path: Path) -> list[str]:
    if path.suffix.casefold() != ".xlsx":
        return []
    from shoal.tables.excel_files import sheet_names

    return sheet_names(path)
