"""The order of released rows where several rows belong to one person.

Dropping the number of a person does not unlink its rows: in the order of the original they still lie together. So the
rows of such a table are released in a random order. It follows from 256 random bits that only the holder's record
keeps, not from the public seed, by which everyone could undo it. Where links are kept, persons are in a random order
and get codes in this order, and the rows of each person follow in the order of its history.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping, canonical_labels
from shoal.flow.units import UnitIndex
from shoal.methods.contract import Outcome
from shoal.schema.columns import Schema
from shoal.tables import Table

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Which row of the original each released row is; confidential.

    Parameters
    ----------
    key
        256 random bits, from which the order follows.
    original_rows
        For each released row the row of the original.
    codes
        The code of each released row's person, 1, 2, ..., where links are kept.
    n
        The number of rows of the original, if some of them are suppressed.

    Examples
    --------
    >>> order = RowOrder(bytes(32), np.array([2, 0, 1]))
    >>> order.released_rows.tolist()
    [1, 2, 0]
    """

    key: bytes
    original_rows: Integers
    codes: Integers | None = None
    n: int | None = None

    def __repr__(self) -> str:  # never the key
        return f"<RowOrder: {self.original_rows.size:,} rows; confidential>"

    @property
    def released_rows(self) -> Integers:
        """For each row of the original the released row; -1 for a row that is suppressed."""
        rows = np.full(self.original_rows.size if self.n is None else self.n, -1, np.int64)
        rows[self.original_rows] = np.arange(self.original_rows.size)
        return rows

    def within(self, rows: Integers, n: int) -> RowOrder:
        """Return the order for an original of n rows, of which the rows so far were a part."""
        return replace(self, original_rows=rows[self.original_rows], n=n)

    def table(self, table: Table) -> Table:
        """Return a table of the original order in the order of the release."""
        return table.in_order(self.original_rows)

    def grouping(self, grouping: Grouping) -> Grouping:
        """Return groups of the original order in the order of the release."""
        return Grouping(grouping.labels[self.original_rows], grouping.k, max_size=grouping.max_size)

    def outcome(self, outcome: Outcome, grouping: Grouping) -> Outcome:
        """Return an outcome with the labels of the release; the records that a method selected are not stated."""
        return replace(outcome, labels=grouping.labels, representatives=None)


def draw_order(schema: Schema, n: int, key: bytes | None = None, *, units: UnitIndex | None = None) -> RowOrder | None:
    """Return a random order of the rows; None where the schema has no units, no households and does not shuffle.

    Parameters
    ----------
    schema
        The schema of the table.
    n
        The number of rows.
    key
        256 bits; drawn at random if not given. Give one in tests only.
    units
        The persons of the rows, where links are kept.
    """
    if not schema.random_order:
        return None
    key = secrets.token_bytes(32) if key is None else key
    if schema.keep_links and units is not None:
        persons = canonical_labels(units.unit)
        draws = np.frombuffer(shake_256(key + b"codes of persons").digest(8 * (int(persons.max()) + 1)), "<u8")
        code = np.empty(draws.size, np.int64)
        code[np.argsort(draws, kind="stable")] = np.arange(1, draws.size + 1)
        rows = np.lexsort((units.order, code[persons])).astype(np.int64)
        return RowOrder(key, rows, code[persons][rows])
    draws = np.frombuffer(shake_256(key + b"order of rows").digest(8 * n), "<u8")
    return RowOrder(key, np.argsort(draws, kind="stable").astype(np.int64))


def unchanged_order(n: int) -> RowOrder:
    """Return the order of the original, where some of its records are not released; the key is for hashes only."""
    return RowOrder(secrets.token_bytes(32), np.arange(n, dtype=np.int64))
