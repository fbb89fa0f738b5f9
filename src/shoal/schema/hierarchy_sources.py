"""Hierarchies from files, from nested mappings, and from the values of a column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.core.arguments import checked
from shoal.core.hierarchy import Hierarchy
from shoal.errors import SchemaError
from shoal.schema.columns import Column
from shoal.tables import Table
from shoal.tables.hierarchy_files import read_hierarchy_rows


@checked
def read_hierarchy(path: str | Path, *, delimiter: str | None = None) -> Hierarchy:
    r"""Read a file with one row per value: the value, then its ancestors from near to far, without a header.

    Parameters
    ----------
    path
        A text file such as ARX writes it.
    delimiter
        The separator of fields; ``;``, a tabulator or ``,``, detected in this order if not given.

    Returns
    -------
    hierarchy
        The tree.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "jobs.csv")
    ...     _ = file.write_text("baker;craft;*\npainter;craft;*\ndentist;medicine;*\n")
    ...     read_hierarchy(file).cca(["baker", "painter"])
    'craft'
    """
    if not isinstance(path, str | Path):
        raise SchemaError(f"a hierarchy file is given by its path, not by {type(path).__name__}")
    rows = read_hierarchy_rows(Path(path), delimiter)
    try:
        return Hierarchy(rows)
    except SchemaError as problem:
        raise SchemaError(f'hierarchy file "{path}": {problem}') from None


def hierarchy_of(column: Column, table: Table) -> Hierarchy:
    """Return the tree of a column: the one it was given, read from its file, or built from its values.

    ``column.hierarchy`` is a :class:`Hierarchy`, the path of a file, nested mappings, or one of the words ``auto``,
    ``flat``, ``prefixes``, ``intervals``, ``order`` and ``calendar``; nothing means ``auto``.
    """
    given = column.hierarchy
    if isinstance(given, Hierarchy):
        return given
    from shoal.schema.hierarchy_building import BUILDERS, build_hierarchy

    try:
        if isinstance(given, Mapping):
            return Hierarchy.from_nested(given)
        if given is None or (isinstance(given, str) and given in BUILDERS):
            return build_hierarchy(column, table.column(column.name), "auto" if given is None else given)
        return read_hierarchy(given)
    except SchemaError as problem:
        text = str(problem)
        raise SchemaError(text if "column" in text else f'column "{column.name}": {text}') from None
