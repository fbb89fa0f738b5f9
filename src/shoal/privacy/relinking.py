"""Relinking: how many histories an intruder can restore from a table that does not contain the unit.

A *history* is the set of all rows of a unit that has more than one. It is restored if the intruder puts exactly its
rows together, no row too few and none too many. Dropping the number of a person does not prevent this: rows of a person
often follow each other, and columns that are released unchanged often have one value per person.

The intruder is assumed to try two rules and to use the better one: rows with equal values in some columns are one
history; or rows that follow each other with equal values are one, where a new history also begins at a row in which a
column falls that otherwise rises within histories (a date, the number of a visit). The columns are selected in favour
of the intruder, by the histories themselves:

1. Columns that are constant within all histories: any of them can only help. They are taken in the order of their
   number of different values until nearly the share of all of them together is reached, so that few are named.
2. Columns that are constant within most histories, and columns that rise within most: each only if it raises the share.

Columns that change slightly from row to row (a weight, an age) are not compared, so an intruder who uses them as well
may restore more. Cost: one sort of the rows by unit, a pass per column, and a sort of the keys per column that is
tried: a few seconds for a million rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.privacy.counts import Integers
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

MOSTLY = 0.5
"""The share of histories within which a column must be constant, or rise, to be tried."""
NEARLY_ALL = 0.995
"""Constant columns are named until this part of the share of all of them is reached."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Relinking:
    """The histories that an intruder can restore.

    Parameters
    ----------
    histories
        The number of units with more than one row.
    restored
        The number of histories whose rows are put together exactly, by the better one of the two rules.
    columns
        The columns that are used for it.
    by_order
        Whether the order of the rows is used.
    without_order
        The number of histories that equal values alone restore.

    Examples
    --------
    >>> Relinking(200, 150, ("income",), by_order=False, without_order=150).share
    0.75
    """

    histories: int
    restored: int
    columns: tuple[str, ...]
    by_order: bool
    without_order: int

    @property
    def share(self) -> float:
        """The share of histories that are restored; 0 where no unit has more than one row."""
        return self.restored / self.histories if self.histories else 0.0

    @property
    def sentence(self) -> str:
        """The result as a sentence, which names columns and no values."""
        names = ", ".join(f'"{name}"' for name in self.columns)
        parts = [part for part in ("the order of the rows" * self.by_order, names) if part]
        means = f" through {' and '.join(parts)}" if parts else ""
        return (
            f"{self.restored:,} of {self.histories:,} histories ({100 * self.share:.1f} %) can be put together again"
            f"{means}"
        )


def measure_relinking(table: Table, units: Integers) -> Relinking:
    """Return how many histories the columns and the order of a released table restore.

    Parameters
    ----------
    table
        The released table, with its rows in the order in which they are released.
    units
        The unit of each of these rows, 0, 1, ...

    Examples
    --------
    >>> visits = pl.DataFrame({"born": [1950, 1960, 1950, 1960], "visit": [1, 1, 2, 2]})
    >>> measure_relinking(Table.from_native(visits), np.array([0, 1, 0, 1])).sentence
    '2 of 2 histories (100.0 %) can be put together again through "born"'
    """
    columns, ordered = {}, set()
    for name in table.names:
        values = comparable_values(table.typed(name))
        if values.dtype == pl.Object:
            continue
        if values.dtype in {pl.String, pl.Boolean, pl.Binary} or values.dtype.is_nested():
            codes = values.hash(seed=0).to_numpy().view(np.int64)
        else:
            codes = values.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
            ordered.add(name)
        columns[name] = codes
    return relink(columns, units, ordered)


def relink(columns: Mapping[str, Integers], units: Integers, ordered: set[str] | None = None) -> Relinking:
    """Return how many histories some columns and the order of their rows restore.

    Parameters
    ----------
    columns
        The columns as codes; equal codes are equal values.
    units
        The unit of each row, 0, 1, ...
    ordered
        The columns whose codes have the order of their values; all if not given.

    Examples
    --------
    >>> found = relink({"sex": np.array([0, 0, 1, 1, 0])}, np.array([0, 0, 1, 1, 2]))
    >>> found.restored, found.by_order, found.without_order
    (2, True, 1)
    """
    histories = _Histories(units)
    if not histories.count:
        return Relinking(0, 0, (), by_order=False, without_order=0)
    constancy = {name: histories.constant(codes) for name, codes in columns.items()}
    different = {name: np.unique(columns[name]).size for name in columns if constancy[name] == histories.count}
    constant = sorted((name for name in different if different[name] > 1), key=lambda name: -different[name])
    mostly = [name for name in columns if MOSTLY * histories.count <= constancy[name] < histories.count]
    mostly.sort(key=lambda name: -constancy[name])

    by_values, names = _with_constant(_Keys(histories), columns, constant)
    by_values, further = _with_mostly(by_values, columns, mostly)
    by_order, names_in_order = _with_constant(_Runs(histories), columns, constant)
    by_order, rising = _with_falls(by_order, {
        name: codes for name, codes in columns.items()
        if constancy[name] < histories.count and (ordered is None or name in ordered)
    })  # fmt: skip
    by_order, further_in_order = _with_mostly(by_order, columns, mostly)
    without_order, in_order = by_values.restored, by_order.restored
    if in_order > without_order:
        used = list(dict.fromkeys([*names_in_order, *rising, *further_in_order]))
        return Relinking(histories.count, in_order, tuple(used), by_order=True, without_order=without_order)
    return Relinking(
        histories.count, without_order, tuple([*names, *further] if without_order else ()), by_order=False,
        without_order=without_order,
    )  # fmt: skip


class _Histories:
    """The rows sorted by unit, and the units with more than one row."""

    def __init__(self, units: Integers) -> None:
        self.order = np.argsort(units, kind="stable")
        sorted_units = units[self.order]
        new = np.append(True, sorted_units[1:] != sorted_units[:-1]) if units.size else np.zeros(0, bool)
        self.starts = np.flatnonzero(new)
        self.sizes = np.diff(np.append(self.starts, units.size))
        self.several = self.sizes > 1
        self.count = int(self.several.sum())
        self.same = ~new[1:]  # whether a row belongs to the unit of the row before it, in the sorted order

    def constant(self, codes: Integers) -> int:
        """Return the number of histories in which a column has one value."""
        return self.count - self._with_any(np.diff(codes[self.order]) != 0)

    def rising(self, codes: Integers, *, strictly: bool) -> int:
        """Return the number of histories in which a column never falls, or in which it rises in every row."""
        step = np.diff(codes[self.order])
        return self.count - self._with_any(step <= 0 if strictly else step < 0)

    def _with_any(self, changed: Flags) -> int:
        if not self.starts.size:
            return 0
        marked = np.append(False, changed & self.same)
        return int(np.logical_or.reduceat(marked, self.starts).sum())

    def restored(self, keys: NDArray[np.uint64]) -> int:
        """Return the number of histories that are exactly the rows with one key."""
        own = keys[self.order]
        first = own[self.starts]
        together = np.logical_and.reduceat(own == np.repeat(first, self.sizes), self.starts) & self.several
        found, everywhere = first[together], np.sort(keys)
        number = np.searchsorted(everywhere, found, "right") - np.searchsorted(everywhere, found, "left")
        return int((number == self.sizes[together]).sum())

    def restored_runs(self, labels: Integers) -> int:
        """Return the number of histories that are exactly the rows of one run; runs are numbered 0, 1, ..."""
        own = labels[self.order]
        first = own[self.starts]
        # labels do not fall in the order of the table, and rows of a unit are in that order
        together = (first == own[self.starts + self.sizes - 1]) & self.several
        return int((np.bincount(labels)[first[together]] == self.sizes[together]).sum())


class _Keys:
    """Rows with equal values in the columns added so far are put together."""

    def __init__(self, histories: _Histories, mixed: NDArray[np.uint64] | None = None) -> None:
        self.histories = histories
        self.mixed = np.zeros(histories.order.size, np.uint64) if mixed is None else mixed

    @cached_property
    def restored(self) -> int:
        """The number of histories that this rule restores."""
        return self.histories.restored(self.mixed)

    def plus(self, codes: Integers) -> _Keys:
        """Return the rule with one more column; the values are mixed into one number of 64 bits."""
        value = codes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (self.mixed ^ (value ^ (value >> np.uint64(29)))) * np.uint64(0xBF58476D1CE4E5B9)
        return _Keys(self.histories, mixed ^ (mixed >> np.uint64(31)))


class _Runs:
    """Rows that follow each other with equal values in the columns added so far are put together."""

    def __init__(self, histories: _Histories, begins: Flags | None = None) -> None:
        self.histories = histories
        self.begins = np.zeros(histories.order.size, bool) if begins is None else begins

    @cached_property
    def restored(self) -> int:
        """The number of histories that this rule restores."""
        return self.histories.restored_runs(np.cumsum(self.begins))

    def plus(self, codes: Integers) -> _Runs:
        """Return the rule with one more column."""
        return _Runs(self.histories, self.begins | np.append(False, codes[1:] != codes[:-1]))

    def falling(self, codes: Integers, *, strictly: bool) -> _Runs:
        """Return the rule with a history beginning where a column falls, or where it does not rise."""
        step = np.diff(codes)
        return _Runs(self.histories, self.begins | np.append(False, step <= 0 if strictly else step < 0))


_Rule = TypeVar("_Rule", _Keys, _Runs)


def _with_constant(rule: _Rule, columns: Mapping[str, Integers], constant: list[str]) -> tuple[_Rule, list[str]]:
    """Return the rule with all constant columns, and the columns that nearly suffice for what it restores."""
    every = few = rule
    for name in constant:
        every = every.plus(columns[name])
    names = []
    for name in constant:
        if few.restored >= NEARLY_ALL * every.restored:
            break
        few = few.plus(columns[name])
        names.append(name)
    return every, names


def _with_mostly(rule: _Rule, columns: Mapping[str, Integers], mostly: list[str]) -> tuple[_Rule, list[str]]:
    """Return the rule with the columns that are constant within most histories, where they help."""
    names = []
    for name in mostly:
        more = rule.plus(columns[name])
        if more.restored > rule.restored:
            rule = more
            names.append(name)
    return rule, names


def _with_falls(rule: _Runs, columns: Mapping[str, Integers]) -> tuple[_Runs, list[str]]:
    """Return the rule with a history beginning where a column falls that rises within most, where that helps."""
    names = []
    histories = rule.histories
    for name, codes in columns.items():
        for strictly in (True, False):
            if histories.rising(codes, strictly=strictly) >= MOSTLY * histories.count:
                more = rule.falling(codes, strictly=strictly)
                if more.restored > rule.restored:
                    rule = more
                    names.append(name)
                break
    return rule, names
