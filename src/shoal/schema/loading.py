"""A table and its schema from what a user gives: a DataFrame or a path, role lists or a schema file."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.errors import FileProblem, ParameterError, WrongArguments, suggestion
from shoal.schema.column_words import bare_schema
from shoal.schema.columns import DROPPED, Role, Schema, names_list
from shoal.schema.plan import ReadOptions
from shoal.tables import Table, read_head, read_table
from shoal.tables.files import HEAD_ROWS, check_regular


def load(
    data: Any,
    schema: Schema | str | Path | None,
    changes: Mapping[str, Any],
    reading: ReadOptions,
    progress: Progress,
    *,
    read_identifiers: bool = True,
) -> tuple[Table, Schema]:
    """Return the table and its full schema; columns of a text file that stay unchanged are read as they are written.

    Unless ``read_identifiers``, the values of direct identifiers in a file are not read.
    """
    if not isinstance(data, str | Path):
        table = _frame(data, reading, _texts([_schema_content(schema), changes]))
        return _with_inputs(table, schema, complete_schema(table, schema, changes))
    progress.stage("reading")
    unread = [] if read_identifiers else stated_identifiers(schema, changes)
    head = read_head(data, unread=unread, **reading.given())
    draft = complete_schema(head, schema, changes, head=head.n_rows >= HEAD_ROWS)
    unread = [name for name in unread if name not in draft.coded]
    stepped = {column.name for column in draft.columns if column.before and column.role not in DROPPED}
    typed = {column.name for column in draft.quasi} | {*draft.counted[len(draft.protected) :], *unread, *stepped}
    text = [name for name in head.names if name not in typed]
    table = read_table(data, text=text, unread=unread, **reading.given())
    return _with_inputs(table, schema, complete_schema(table, schema, changes))


def _with_inputs(table: Table, schema: Schema | str | Path | None, full: Schema) -> tuple[Table, Schema]:
    """Return the table with all files that it was made from: also those of the schema and of hierarchies."""
    paths = [Path(column.hierarchy) for column in full.columns if isinstance(column.hierarchy, str | Path)]
    if isinstance(schema, str | Path) and not is_schema_text(schema):
        paths.append(Path(schema))
    return replace(table, inputs=(*table.inputs, *paths)), full


@checked
def load_with_schema(
    data: Any,
    *,
    schema: Schema | str | Path | None = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
    **choices: Any,
) -> tuple[Table, Schema]:
    """Return a table and its schema, the first step of a protection that is made stage by stage.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    schema
        A schema, the path of a schema file, or TOML text.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    progress
        Progress callback.
    choices
        ``quasi``, ``confidential``, ``identifiers``, ``kinds``, ... as in :func:`shoal.protect`.

    Returns
    -------
    table, schema
        For :func:`shoal.fit_encoding`.

    Examples
    --------
    >>> import polars as pl
    >>> table, schema = load_with_schema(pl.DataFrame({"age": [30, 32]}), quasi=["age"])
    >>> schema
    <Schema: 1 quasi>
    """
    allowed = [name for name in inspect.signature(Schema.updated).parameters if name != "self"]
    for name in choices:
        if name not in allowed:
            raise WrongArguments(f'load_table has no argument "{name}"; {suggestion(name, allowed)}')
    return load(data, schema, choices, ReadOptions.of(read_options), progress)


def load_for_counting(data: Any, names: Sequence[str], reading: ReadOptions, progress: Progress) -> Table:
    """Return a table in which every column of a text file is what is written there, as a reader of the file sees it."""
    if not isinstance(data, str | Path):
        return _frame(data, reading, names)
    progress.stage("reading")
    head = read_head(data, **reading.given())
    for name in names:
        head.column(name)  # an unknown name is an error before the whole file is read
    return read_table(data, text=head.names, **reading.given())


def load_typed(data: Any, reading: ReadOptions) -> Table:
    """Return a table in which every column of a text file has the type that its values suggest."""
    return read_table(data, **reading.given()) if isinstance(data, str | Path) else _frame(data, reading)


def load_file_or_frame(data: Any, options: Mapping[str, Any]) -> Table:
    """Return a typed table; read options apply to files and are ignored for a DataFrame beside a file."""
    return load_typed(data, ReadOptions.of(options if isinstance(data, str | Path) else None))


def check_read_options(options: Mapping[str, Any], *tables: Any) -> None:
    """Raise if read options are given and none of the tables is a file."""
    if options and not any(isinstance(table, str | Path) for table in tables):
        raise ParameterError(f"read options ({', '.join(options)}) apply to text files only, and no file was given")


def complete_schema(
    table: Table,
    schema: Schema | str | Path | None,
    changes: Mapping[str, Any],
    *,
    identifiers_dropped: bool = False,
    head: bool = False,
) -> Schema:
    """Return the schema of a table, or of its first records: kinds from its types, roles from what the user gave.

    A column without a stated role raises an error; see :func:`shoal.schema.inference.decide_roles`. A released table
    lacks the direct identifiers, the unit, the household and the time that were named for it; ``identifiers_dropped``
    allows for that.
    """
    base = bare_schema(table)
    if identifiers_dropped:
        kept = [name for name in names_list(changes.get("identifiers") or ()) if name in table.names]
        absent = [name for name in ("unit", "household", "time") if changes.get(name) not in {None, *table.names}]
        changes = {name: value for name, value in changes.items() if name not in absent}
        changes |= {"identifiers": kept} if changes.get("identifiers") else {}
    if isinstance(schema, str | Path):
        from shoal.schema.toml import parse_schema

        base = parse_schema(schema_text(schema), base, identifiers_dropped=identifiers_dropped)
    elif schema is not None:
        for column in schema.columns:
            left_out = column.role in DROPPED or column.name == schema.sampling_weight != schema.released_weight
            if not (identifiers_dropped and left_out):
                base[column.name]  # an unknown name is an error
        given = {column.name: column for column in schema.columns}
        columns = tuple(given.get(column.name, column) for column in base.columns)
        lacks_weight = (
            identifiers_dropped and schema.released_weight is None and schema.sampling_weight not in table.names
        )
        base = replace(schema, columns=columns, sampling_weight=None if lacks_weight else schema.sampling_weight)
    full = base.updated(**changes)
    if full.undecided:
        from shoal.schema.inference import decide_roles

        full = decide_roles(table, full, head=head)
    if names_list(changes.get("constant") or ()) == ["auto"] and "auto" not in table.names:
        from shoal.schema.constant_columns import with_constant_columns

        full = with_constant_columns(table, full)
    return full


def stated_column(schema: Schema | str | Path | None, role: Role) -> str | None:
    """Return the column to which a schema or a schema file gives a role, also if the table lacks it."""
    if isinstance(schema, Schema):
        return next(iter(schema.named(role)), None)
    content = _schema_content(schema)
    entries = content.get("columns", {}) if isinstance(content, dict) else {}
    if not isinstance(entries, dict):
        return None
    return next(
        (name for name, entry in entries.items() if isinstance(entry, dict) and entry.get("role") == role), None
    )


def stated_identifiers(schema: Schema | str | Path | None, changes: Mapping[str, Any]) -> list[str]:
    r"""Return the columns that a schema, a schema file or role lists name as direct identifiers, and nothing else.

    Examples
    --------
    >>> stated_identifiers('[columns.name]\nrole = "identifier"', {"identifiers": ["id"], "quasi": ["age"]})
    ['name', 'id']
    """
    if isinstance(schema, Schema):
        names = schema.named(Role.IDENTIFIER)
    else:
        content = _schema_content(schema)
        entries = content.get("columns", {}) if isinstance(content, dict) else {}
        entries = entries if isinstance(entries, dict) else {}
        names = [
            name for name, entry in entries.items() if isinstance(entry, dict) and entry.get("role") == Role.IDENTIFIER
        ]
    elsewhere = _texts([value for name, value in changes.items() if name != "identifiers"])
    given = [name for name in names_list(changes.get("identifiers") or ()) if isinstance(name, str)]
    return [name for name in dict.fromkeys([*names, *given]) if name not in elsewhere]


def is_schema_text(schema: str | Path) -> bool:
    """Return whether a schema is given as TOML text and not as a path."""
    return isinstance(schema, str) and ("\n" in schema or "=" in schema or "[" in schema)


def schema_text(schema: str | Path) -> str:
    """Return the text of a schema that is given as a path or as TOML text."""
    if is_schema_text(schema):
        return str(schema)
    path = Path(schema)
    check_regular(path, "schema file")
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileProblem(f'schema file "{path}" was not found') from None
    except UnicodeDecodeError:
        raise FileProblem(f'schema file "{path}" is not UTF-8 text; save it as UTF-8') from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "its name is not possible"
        raise FileProblem(f'schema file "{path}" cannot be read: {reason.lower()}') from None


def _schema_content(schema: Schema | str | Path | None) -> Any:
    """Return the names of the columns of a schema, or what a schema file holds."""
    if schema is None or isinstance(schema, Schema):
        return [column.name for column in schema.columns] if schema else []
    import tomllib

    try:
        return tomllib.loads(schema_text(schema))
    except tomllib.TOMLDecodeError:
        return []  # parsing the schema raises the error for this


def _texts(given: Any) -> set[str]:
    """Return all texts in nested lists and mappings, keys included: everything that may be the name of a column.

    Without recursion, and each object once: a tree that contains itself is refused where hierarchies are built.
    """
    texts: set[str] = set()
    seen: dict[int, object] = {}  # keeps them alive, so that no number is given twice
    waiting = [given]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            texts.add(part)
        elif isinstance(part, Mapping | Sequence | set | frozenset) and id(part) not in seen:
            seen[id(part)] = part
            waiting.extend(part)
            waiting.extend(part.values() if isinstance(part, Mapping) else ())
    return texts


def _frame(data: Any, reading: ReadOptions, named: Iterable[str] = ()) -> Table:
    given = reading.given()
    if given:
        raise ParameterError(
            f"read options ({', '.join(given)}) apply to text files only, and a {type(data).__name__} was given"
        )
    return data if isinstance(data, Table) else Table.from_native(data, named)
