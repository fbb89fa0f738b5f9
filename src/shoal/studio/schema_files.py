"""Schema files in the studio: roles, kinds and treatments that are loaded for a table, or saved for the next one.

Runs in the worker. A schema may state more than the studio offers; such a file is refused rather than taken in part,
since what is left out could be what protects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import FileProblem, SchemaError
from shoal.studio.settings import HIERARCHIES, UNDECIDED, Settings
from shoal.studio.trees import ROOT

if TYPE_CHECKING:
    from shoal.schema.columns import Column, Schema

_DEFAULTS: dict[str, Any] = {
    "unnamed": None, "release_weight": "grouped", "known": (), "keep_links": False, "shuffle": False, "keep": (),
    "together": (),
}  # fmt: skip
_COLUMN_DEFAULTS: dict[str, Any] = {
    "missing": None, "not_applicable": (), "time": False, "constant": None, "after": (),
}  # fmt: skip


def load_schema(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a schema file states for a table.

    Parameters
    ----------
    payload
        ``settings`` of the open table, and ``path`` of the schema file.
    """
    from shoal.schema.column_words import bare_schema
    from shoal.schema.loading import load_typed, schema_text
    from shoal.schema.plan import ReadOptions
    from shoal.schema.toml import parse_schema

    settings = Settings.from_dict(payload["settings"])
    table = load_typed(settings.source, ReadOptions.of(dict(settings.read_options)))
    schema = parse_schema(schema_text(Path(payload["path"])), bare_schema(table))
    _check_offered(schema)
    return {
        "columns": {column.name: _settings(column) for column in schema.columns},
        "strata": list(schema.strata), "sampling_weight": schema.sampling_weight or "",
        "missing": "" if str(schema.missing) == "error" else str(schema.missing),
        "statistics": [
            [one.name, one.value or "", list(one.domains), one.relative or 0.0] for one in schema.statistics
        ],
    }  # fmt: skip


def _check_offered(schema: Schema) -> None:
    """Raise if the schema states what the studio does not offer."""
    found = [name for name, default in _DEFAULTS.items() if getattr(schema, name) != default]
    found += [
        f"{name} of column {column.name!r}"
        for column in schema.columns
        for name, default in _COLUMN_DEFAULTS.items()
        if getattr(column, name) != default
    ]
    found += [
        f"hierarchy of column {column.name!r}"
        for column in schema.columns
        if isinstance(column.hierarchy, str | Path) and str(column.hierarchy) not in HIERARCHIES[str(column.kind)]
    ]
    found += [
        f"statistic {one.name!r}"
        for one in schema.statistics
        if one.value is None or one.measure != "mean" or one.weight or one.relative is None or one.tolerance is not None
    ]
    if found:
        raise SchemaError(
            f"the schema file states {', '.join(found[:3])}, which the studio does not offer; remove it there, or use "
            "the file with shoal protect --schema"
        )


def _settings(column: Column) -> dict[str, Any]:
    hierarchy = column.hierarchy
    return {
        "role": str(column.role) if column.role_stated else UNDECIDED,
        "kind": str(column.kind), "order": list(column.order or ()), "weight": column.weight,
        "recode": "" if column.recode is None else str(column.recode),
        "hierarchy": "hand" if isinstance(hierarchy, Mapping) else str(hierarchy or ""),
        "tree": [*_rows(hierarchy, ())] if isinstance(hierarchy, Mapping) else [],
        "before": [str(step) for step in column.before],
    }  # fmt: skip


def _rows(tree: Any, above: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield one row for each value of a nested tree: the value and the names above it, nearest first."""
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            yield from _rows(below, above if name == ROOT else (str(name), *above))
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from _rows(one, above)
    else:
        yield [str(tree), *above]


def save_schema(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Write the settings of the columns as a schema file that only its owner may read: orders list values.

    Parameters
    ----------
    payload
        ``settings`` of the open table, ``path`` of the file, and whether to ``overwrite`` it.
    """
    from shoal.api.protect import SCHEMA_FIELDS
    from shoal.schema.column_words import bare_schema
    from shoal.schema.loading import load_typed
    from shoal.schema.plan import ReadOptions
    from shoal.schema.toml import format_schema
    from shoal.tables import write_files
    from shoal.tables.files import check_output, write_text

    settings, target = Settings.from_dict(payload["settings"]), Path(payload["path"])
    if not target.parent.is_dir():
        raise FileProblem(f"{target.parent} is not a directory; create it, or name another one")
    check_output(target, inputs=(Path(settings.source),), table=False, overwrite=payload["overwrite"])
    table = load_typed(settings.source, ReadOptions.of(dict(settings.read_options)))
    given = {name: value for name, value in settings.arguments().items() if name in SCHEMA_FIELDS}
    text = format_schema(bare_schema(table).updated(**given), Path(settings.source).name)
    write_files({target: lambda temporary: write_text(temporary, text)}, private=(target,))
    return {"path": str(target)}
