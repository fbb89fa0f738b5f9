"""The role that the columns beside a column suggest: columns about one matter stand together in a table.

Where nothing about a column says what it is, the nearest columns with a role are read. If both are confidential, it
is confidential. In a run of columns with the same few values, as the answers to a list of questions have, it is
confidential where most of the others are, and a quasi-identifier where all of them are. The first or the last column,
if it has few values, is often the outcome that the others explain.
"""

from __future__ import annotations

from typing import Any

from shoal.schema.column_words import FEW_CODES, Meaning, first_with, words_of
from shoal.schema.columns import DROPPED, Column, Role
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

FEWEST_KNOWN = 2
"""Quasi-identifiers that a run of columns with the same values has at least to suggest one more."""
FEWEST_EXPLAINING = 4
"""Other columns with a role that a table has at least for its first or last one to be the outcome."""


class Neighbours:
    """The columns of a table in their order, with the roles that are decided.

    Parameters
    ----------
    table
        The table.
    columns
        The proposed columns, in the order of the table.
    decided
        The roles of those that something says something about.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table.from_native(pl.DataFrame({"pain": [0, 1], "q": [2, 3], "fever": [1, 0]}))
    >>> columns = [Column(name, Role.OTHER, "numeric") for name in table.names]
    >>> Neighbours(table, columns, {"pain": Role.CONFIDENTIAL, "fever": Role.CONFIDENTIAL}).role("q")
    (<Role.CONFIDENTIAL: 'confidential'>, 'the columns before and after it are confidential')
    """

    def __init__(self, table: Table, columns: list[Column], decided: dict[str, Role]) -> None:
        self._table, self._decided = table, decided
        self._names = [column.name for column in columns if column.role not in DROPPED]
        self._values: dict[str, frozenset[Any] | None] = {}

    def role(self, name: str) -> tuple[Role, str] | None:
        """Return the role that the columns beside one suggest, with the reason, or None."""
        at = self._names.index(name)
        before = [self._decided.get(other) for other in reversed(self._names[:at])]
        after = [self._decided.get(other) for other in self._names[at + 1 :]]
        nearest = {next((role for role in side if role is not None), None) for side in (before, after)}
        if nearest == {Role.CONFIDENTIAL}:
            return Role.CONFIDENTIAL, "the columns before and after it are confidential"
        run = [role for other in self._run(at) if (role := self._decided.get(other)) is not None]
        secret = run.count(Role.CONFIDENTIAL)
        if secret and 3 * secret >= 2 * len(run):
            return Role.CONFIDENTIAL, "most columns beside it with the same values are confidential"
        if len(run) >= FEWEST_KNOWN and not secret:
            return Role.QUASI, "the columns beside it with the same values are quasi-identifiers"
        return None

    def explained(self, name: str) -> bool:
        """Return whether a column is the first or last one and has few values, as outcomes have."""
        other = any(first_with(words_of(name), meaning) for meaning in (Meaning.TECHNICAL, Meaning.CODE, Meaning.TIME))
        ends = {self._names[0], self._names[-1]}
        return not other and name in ends and len(self._decided) >= FEWEST_EXPLAINING and self._few(name) is not None

    def _run(self, at: int) -> list[str]:
        """Return the columns beside one, on both sides, that have the same few values."""
        values = self._few(self._names[at])
        found: list[str] = []
        if values is not None:
            for side in (reversed(self._names[:at]), self._names[at + 1 :]):
                for other in side:
                    if self._few(other) != values:
                        break
                    found.append(other)
        return found

    def _few(self, name: str) -> frozenset[Any] | None:
        """Return the different values of a column that has at least two and few of them, or None."""
        if name not in self._values:
            dtype = self._table.column(name).dtype
            plain = not (dtype.is_nested() or str(dtype) in {"Object", "Unknown"})
            known = frozenset(comparable_values(self._table.typed(name)).drop_nulls().unique() if plain else ())
            self._values[name] = known if 2 <= len(known) <= FEW_CODES else None
        return self._values[name]
