"""Columns that look like the number of a person and repeat: a table with several rows per person and no unit.

k counts rows unless a unit is named, and k rows of one person protect no one. A column is reported by its name
(``patient_id``), or, where the name says nothing, by its pattern: equal values lie together, and at least two other
columns with values that recur elsewhere are constant within them, as sex is within a person. Names of places, firms and
times are never reported, and names that are also words or symbols (``no``, ``number``) only with such a constant
column. Only whole numbers and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import short_name
from shoal.schema.column_words import AMBIGUOUS, NOT_PERSONS, NUMBER_WORDS, named_as_person, plain_words
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

SHARE_OF_ROWS = 0.05
"""The number of different values, as a share of the rows, that a person's number exceeds if its name says nothing."""
NAMED_SHARE_OF_ROWS = 0.02
"""The same for a column with the name of a number of persons, unless equal values lie together."""
_FEWEST_VALUES = 10
_CONSTANT_COLUMNS = 2


@dataclass(frozen=True)
class RepeatedNumber:
    """A column that looks like the number of a person, with values that occur in several rows.

    Parameters
    ----------
    column
        The name of the column.
    repeated
        How many of its values occur more than once.

    Examples
    --------
    >>> RepeatedNumber("patient_id", 1204).question
    '1,204 values of "patient_id" occur more than once: is one row one person?'
    """

    column: str
    repeated: int

    @property
    def counted(self) -> str:
        """How many values repeat, in words."""
        return "1 value" if self.repeated == 1 else f"{self.repeated:,} values"

    @property
    def question(self) -> str:
        """What a person should decide."""
        occur = "occurs" if self.repeated == 1 else "occur"
        return f'{self.counted} of "{short_name(self.column)}" {occur} more than once: is one row one person?'

    @property
    def warning(self) -> str:
        """The question with both ways out."""
        name = short_name(self.column)
        option = name if re.fullmatch(r"[\w.]+", name) else f'"{name}"'
        return (
            f"{self.question} k counts rows; count persons with --unit {option} (Python: unit=...), or state --of rows "
            '(Python: of="rows")'
        )


def repeated_numbers(table: Table, names: Iterable[str], unclear: Iterable[str] = ()) -> list[RepeatedNumber]:
    """Return the columns that look like the number of a person and repeat.

    Parameters
    ----------
    table
        The original table.
    names
        The columns that are judged by their names; only those with such a name are counted.
    unclear
        Those of them that are also judged by their pattern, if the name says nothing.

    Examples
    --------
    >>> stays = pl.DataFrame({"patient_id": [i // 3 for i in range(60)], "ward": ["A", "B"] * 30})
    >>> [found.question for found in repeated_numbers(Table.from_native(stays), stays.columns)]
    ['20 values of "patient_id" occur more than once: is one row one person?']
    """
    also = set(unclear)
    found = []
    for name in names:
        if named_as_person(name):
            repeated = _repeated(table, name)
        else:
            repeated = _repeated_together(table, name) if name in also and not _named_otherwise(name) else 0
        if repeated:
            found.append(RepeatedNumber(name, repeated))
    return found


def _named_otherwise(name: str) -> bool:
    """Return whether a name is that of a place, a firm, a time or another thing that is no person.

    Examples
    --------
    >>> [_named_otherwise(name) for name in ("county", "townid", "SchoolNR", "zper", "famID")]
    [True, True, True, False, False]
    """
    words = plain_words(name)
    parts = {word.removesuffix(number) for word in words for number in NUMBER_WORDS if word.endswith(number)}
    return bool((NOT_PERSONS - NUMBER_WORDS) & {*words, *parts})


def _repeated(table: Table, name: str) -> int:
    """Return how many values of a column repeat; 0 where its type or its few values are not those of a number."""
    values = _numbers(table, name)
    if values is None:
        return 0
    counts = values.drop_nulls().value_counts()["count"]
    if len(counts) < _FEWEST_VALUES:
        return 0
    if len(counts) <= NAMED_SHARE_OF_ROWS * table.n_rows and int(_starts(values).sum()) != values.n_unique():
        return 0
    if set(plain_words(name)) <= AMBIGUOUS and not _constant_beside(table, name, values):
        return 0
    return int((counts > 1).sum())


def _constant_beside(table: Table, name: str, values: pl.Series) -> bool:
    """Return whether another column, with values that recur, is constant within the values of a column."""
    order = values.arg_sort()
    starts = _starts(values.gather(order))
    return any(other != name and _constant_and_recurring(table, other, starts, order) for other in table.names)


def _repeated_together(table: Table, name: str) -> int:
    """Return how many values repeat in a column whose rows lie together by value, with constant columns beside it."""
    values = _numbers(table, name)
    if values is None or values.null_count() or not len(values):
        return 0
    starts = _starts(values)
    runs = int(starts.sum())
    few = runs < _FEWEST_VALUES or runs <= SHARE_OF_ROWS * table.n_rows
    if few or 2 * runs > table.n_rows or values.n_unique() != runs:
        return 0
    constant = 0
    for other in table.names:
        constant += other != name and _constant_and_recurring(table, other, starts)
        if constant == _CONSTANT_COLUMNS:
            return int((values.value_counts()["count"] > 1).sum())
    return 0


def _constant_and_recurring(table: Table, name: str, starts: NDArray[np.bool_], order: pl.Series | None = None) -> bool:
    """Return whether a column changes only where another one does, and its values come again later.

    ``order`` has the rows in the order of the other column, if that is not the order of the table.
    """
    dtype = table.column(name).dtype
    if dtype.is_nested() or str(dtype) in {"Object", "Unknown"}:
        return False
    values = comparable_values(table.column(name))
    values = values if order is None else values.gather(order)
    changes = _starts(values)
    return not (changes & ~starts).any() and int(changes.sum()) > values.n_unique()


def _starts(values: pl.Series) -> NDArray[np.bool_]:
    """Return the rows whose value differs from that of the row before; the first one too."""
    return values.ne_missing(values.shift(1)).to_numpy() | (np.arange(len(values)) == 0)


def _numbers(table: Table, name: str) -> pl.Series | None:
    """Return whole numbers or text of a column; None for other types."""
    dtype = table.column(name).dtype
    if dtype.is_nested() or str(dtype) in {"Object", "Unknown"}:
        return None
    values = comparable_values(table.typed(name))
    if values.dtype.is_float() and bool((values.drop_nulls() == values.drop_nulls().round()).all()):
        return values  # integers with missing values in pandas, and numbers of other programs
    text = values.dtype in (pl.String, pl.Categorical)
    return values if text or values.dtype.is_integer() else None
