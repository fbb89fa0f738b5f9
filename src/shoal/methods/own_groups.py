"""Groups that a user brings: the name ``labels:COLUMN`` in place of the name of a method.

The groups are those of a column of the table, so no method runs, and nothing is registered: ``shoal.flow.own_groups``
reads the column. The name can be written wherever a method is named, in run files, on the command line and in
``compare``.
"""

from __future__ import annotations

from typing import Any

from shoal.errors import DataError

PREFIX = "labels:"


def own_groups(points: Any, k: int) -> Any:
    """Raise DataError: groups of a column need a table."""
    raise DataError(
        "groups of your own are read from a column of a table; call shoal.protect(..., labels=...), or name a method"
    )


def column_of(name: str) -> str | None:
    """Return the column that a name of a method refers to; None for the name of a method.

    Examples
    --------
    >>> column_of("labels:cluster"), column_of("mdav")
    ('cluster', None)
    """
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else None
