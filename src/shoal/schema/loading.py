"""A table and its schema from what a user gives: a DataFrame or a path, role lists or a schema file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.core.progress import Progress
from shoal.schema.columns import Schema
from shoal.schema.inference import bare_schema
from shoal.schema.toml import parse_schema
from shoal.tables import Table, read_head, read_table


def load(
    data: Any,
    schema: Schema | str | None,
    changes: Mapping[str, Any],
    read_options: Mapping[str, Any],
    progress: Progress,
) -> tuple[Table, Schema]:
    """Return the table and its full schema; columns of a text file that stay unchanged are read as they are written."""
    if not isinstance(data, str | Path):
        table = data if isinstance(data, Table) else Table.from_native(data)
        return table, complete_schema(table, schema, changes)
    progress.stage("reading")
    head = read_head(data, **read_options)
    draft = complete_schema(head, schema, changes)
    typed = {column.name for column in draft.quasi} | {draft.sampling_weight}
    table = read_table(data, text=[name for name in head.names if name not in typed], **read_options)
    return table, complete_schema(table, schema, changes)


def load_for_counting(
    data: Any,
    names: Sequence[str],
    read_options: Mapping[str, Any],
    progress: Progress,
    *,
    typed: Sequence[str] = (),
) -> Table:
    """Return a table in which every column of a text file is what is written there, as an outsider would see it.

    Columns in ``typed`` are read as numbers or dates where they are such.
    """
    if not isinstance(data, str | Path):
        return data if isinstance(data, Table) else Table.from_native(data)
    progress.stage("reading")
    head = read_head(data, **read_options)
    for name in names:
        head.column(name)  # an unknown name is an error before the whole file is read
    return read_table(data, text=[name for name in head.names if name not in set(typed)], **read_options)


def complete_schema(table: Table, schema: Schema | str | None, changes: Mapping[str, Any]) -> Schema:
    """Return the schema of a table: kinds from its types, roles from what the user gave."""
    base = bare_schema(table)
    if isinstance(schema, str):
        base = parse_schema(schema, base)
    elif schema is not None:
        for column in schema.columns:
            base[column.name]  # an unknown name is an error
        given = {column.name: column for column in schema.columns}
        columns = tuple(given.get(column.name, column) for column in base.columns)
        base = Schema(columns, schema.within, schema.sampling_weight, schema.missing)
    return base.updated(**changes)
