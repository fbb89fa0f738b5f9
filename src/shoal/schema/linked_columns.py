"""Quasi-identifiers that are suppressed together: a value that another column gives away is no protection."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from shoal.errors import SchemaError, UnknownColumn

if TYPE_CHECKING:
    from shoal.schema.columns import Schema


def names_of(text: str) -> list[str]:
    """Return the names in a text, separated by commas; a name with a comma is in quotes.

    Examples
    --------
    >>> names_of('roof, "walls, outer"')
    ['roof', 'walls, outer']
    """
    return [name for name in next(csv.reader([text], skipinitialspace=True), []) if name]


def checked_links(sets: Any, names: Collection[str]) -> tuple[str, ...]:
    """Return sets of columns as texts; each has at least two columns, and no column is in two sets.

    Examples
    --------
    >>> checked_links(["roof, walls"], ["roof", "walls", "sex"])
    ('roof, walls',)
    """
    if not isinstance(sets, str | Iterable):
        raise SchemaError('together must be a list of texts of column names such as ["roof,walls"]')
    several = (sets,) if isinstance(sets, str) else tuple(sets)
    seen: set[str] = set()
    for text in several:
        inside = names_of(text) if isinstance(text, str) else []
        if len(set(inside)) < 2:
            raise SchemaError('a set of columns that are suppressed together names two or more, such as "roof,walls"')
        for name in inside:
            if name not in names:
                raise UnknownColumn(name, names)
            if name in seen:
                raise SchemaError(
                    f'column "{name}" is in two sets of columns that are suppressed together; join the sets'
                )
            seen.add(name)
    return several


def linked_columns(schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Return the sets of columns that are suppressed together; raises where one of them is not suppressed at all."""
    from shoal.schema.columns import Recode, Role

    sets = tuple(tuple(names_of(text)) for text in schema.together)
    for name in (name for names in sets for name in names):
        column = schema[name]
        if column.role != Role.QUASI or column.recode != Recode.SUPPRESS:
            raise SchemaError(
                f'column "{name}" is to be suppressed together with others, but is no quasi-identifier with recode '
                "suppress; name it among the quasi-identifiers and state recode=suppress (command line: --recode "
                "suppress)"
            )
    return sets
