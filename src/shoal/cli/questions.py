"""Questions about doubtful columns of a draft, one after the other, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import typer

from shoal.cli.terminal import console, printable
from shoal.errors import ParameterError, short_name
from shoal.schema.columns import UNDECIDED, Column, Kind, Role, Schema, shown_role

_ROLES = [str(role) for role in Role]
_KINDS = [str(kind) for kind in Kind]


def doubtful(column: Column) -> bool:
    """Return whether a person should look at a column: no role was found, or its reason asks something.

    Examples
    --------
    >>> doubtful(Column("x", Role.OTHER, Kind.NUMERIC, role_stated=False)), doubtful(Column("age", Role.QUASI, Kind.NUMERIC))
    (True, False)
    """  # noqa: E501 - the doctest is one line
    return not column.role_stated or "?" in column.reason or "look like codes" in column.reason


def ask_columns(schema: Schema, remarks: Mapping[str, str]) -> Schema:
    """Return the schema with the answers of a person; an empty answer keeps the proposal.

    Parameters
    ----------
    schema
        The draft.
    remarks
        One line about the values of each column.
    """
    columns = []
    asked = [column.name for column in schema.columns if doubtful(column)]
    screen = console()
    if asked:
        screen.print(f"{len(asked)} of {len(schema.columns)} columns are doubtful; press Enter to keep the proposal.")
    for column in schema.columns:
        if column.name not in asked:
            columns.append(column)
            continue
        screen.print(
            f"\n{printable(short_name(column.name))}: {printable(remarks.get(column.name, ''))}", soft_wrap=True
        )
        screen.print(f"  proposed because: {printable(column.reason)}", soft_wrap=True)
        role = _answer("role", [*_ROLES, UNDECIDED], shown_role(column))
        kind = _answer("kind", _KINDS, str(column.kind))
        order = column.order if kind == str(column.kind) else None
        if kind == Kind.ORDINAL and order is None:
            screen.print("  its order has to be written into the schema file; it stays nominal until then")
            kind = str(Kind.NOMINAL)
        stated = role != UNDECIDED
        time = column.time and role in {str(Role.QUASI), str(Role.CONFIDENTIAL), str(Role.OTHER)}
        columns.append(replace(
            column, role=Role(role) if stated else Role.OTHER, role_stated=stated, kind=Kind(kind), order=order,
            time=time, reason="decided by a person" if stated else column.reason,
        ))  # fmt: skip
    return replace(schema, columns=tuple(columns))


def _answer(what: str, allowed: list[str], proposal: str) -> str:
    """Return the answer to one question; the first letters of a choice are enough."""
    while True:
        try:
            given = typer.prompt(f"  {what} ({', '.join(allowed)})", default=proposal).strip().lower()
        except typer.Abort:
            raise ParameterError("the questions were not answered to the end; no schema was written") from None
        found = [choice for choice in allowed if choice == given] or [
            choice for choice in allowed if given and choice.startswith(given)
        ]
        if len(found) == 1 or given in allowed:
            return found[0]
        typer.echo(f"  choose one of: {', '.join(allowed)}")
