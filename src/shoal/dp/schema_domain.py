"""What a differentially private release takes from a schema: who is counted, what is never released, stated orders.

Nothing is taken from the records: kinds, ranges and counts that a drafted schema states as comments are not read, since
bounds and categories must not depend on the data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, SchemaError
from shoal.schema.columns import DROPPED, UNDECIDED, Role, Schema
from shoal.schema.loading import schema_text


@dataclass(frozen=True)
class SchemaDomain:
    """The part of a schema that a private release uses.

    Parameters
    ----------
    unit
        The column that numbers persons, if there is one.
    dropped
        Columns that are never released, with their roles.
    categories
        The stated order of ordinal columns: all their possible values.
    """

    unit: str | None
    dropped: Mapping[str, Role]
    categories: Mapping[str, tuple[str, ...]]

    def check(self, released: Collection[str]) -> None:
        """Raise an error for a column that is to be released although its role forbids it."""
        for name in released:
            if name in self.dropped:
                raise SchemaError(
                    f'column "{name}" has the role {self.dropped[name]} in the schema and cannot be released; remove '
                    "it from columns, bounds and categories, or change its role"
                )

    def with_categories(
        self, categories: Mapping[str, Sequence[Any]], bounds: Collection[str], columns: Collection[str] | None
    ) -> dict[str, Sequence[Any]]:
        """Return the categories with the orders of columns that have no other domain and are to be released."""
        stated = {
            name: order
            for name, order in self.categories.items()
            if name not in bounds and name not in self.dropped and (columns is None or name in columns)
        }
        return {**stated, **categories}


def schema_domain(schema: Schema | str | Path) -> SchemaDomain:
    r"""Return what a schema, a schema file or its text says about a private release.

    Examples
    --------
    >>> found = schema_domain('[columns.id]\nrole = "unit"\n[columns.size]\nrole = "other"\norder = ["S", "L"]')
    >>> found.unit, found.categories
    ('id', {'size': ('S', 'L')})
    """
    roles, orders = _of_schema(schema) if isinstance(schema, Schema) else _of_text(schema_text(schema))
    dropped = {name: role for name, role in roles.items() if role in DROPPED}
    unit = next((name for name, role in roles.items() if role == Role.UNIT), None)
    return SchemaDomain(unit, dropped, orders)


def _of_schema(schema: Schema) -> tuple[dict[str, Role], dict[str, tuple[str, ...]]]:
    roles = {column.name: column.role for column in schema.columns}
    return roles, {column.name: column.order for column in schema.columns if column.order is not None}


def _of_text(text: str) -> tuple[dict[str, Role], dict[str, tuple[str, ...]]]:
    import tomllib

    try:
        entries = tomllib.loads(text).get("columns", {})
    except tomllib.TOMLDecodeError:
        raise ParameterError("the schema is not TOML; compare it with a draft of shoal schema") from None
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise ParameterError("the schema has no tables of columns; write [columns.NAME] and then role = ...")
    allowed = {str(role) for role in Role}
    roles, orders = {}, {}
    for name, entry in entries.items():
        role = entry.get("role", str(Role.OTHER))
        if role == UNDECIDED:
            raise SchemaError(f'the role of column "{name}" is not decided in the schema ("other?"); decide it')
        if role not in allowed:
            raise SchemaError(f'column "{name}" has the unknown role "{role}" in the schema')
        roles[name] = Role(role)
        order = entry.get("order")
        if isinstance(order, list) and all(isinstance(value, str) for value in order):
            orders[name] = tuple(order)
    return roles, orders
