"""Units: which rows belong to one person, which persons to one household, and the order of the rows of a person.

k rows with identical quasi-identifiers protect no one if they are five stays of one patient. Where the schema has a
unit, k counts different persons; this file turns the columns into codes, once for a table, and counts them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.errors import DataError, RequirementNotMet
from shoal.privacy.kept_constants import with_several_values
from shoal.schema.columns import Schema
from shoal.schema.requirements import Of
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values, missing_mask

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class UnitIndex:
    """The person and the household of each row.

    Parameters
    ----------
    unit
        The person of each row, numbered by first appearance; each row is a person of its own without a unit column.
    household
        The household of each row, numbered by first appearance, if there is a column for it.
    order
        The position of each row in the history of its person, 0, 1, ...: by the time, or by the order of the table.
    times
        The rank of each row's time among all times, if there is a time.
    shared
        The columns to be kept constant that have one value in all rows of each household, where persons have several
        rows and live in one household each.

    Examples
    --------
    >>> index = UnitIndex(np.array([0, 1, 0]), None, np.array([0, 0, 1]))
    >>> index.persons, index.counted(Of.UNITS).tolist(), index.counted(Of.ROWS)
    (2, [0, 1, 0], None)
    """

    unit: Integers
    household: Integers | None
    order: Integers
    times: Integers | None = None
    shared: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<UnitIndex: {self.unit.size:,} rows of {self.persons:,} persons>"

    @property
    def persons(self) -> int:
        """The number of different persons."""
        return int(self.unit.max(initial=-1)) + 1

    def in_order(self, rows: Integers) -> UnitIndex:
        """Return the index for some rows, or for all in another order."""
        household, times = (None if given is None else given[rows] for given in (self.household, self.times))
        return UnitIndex(self.unit[rows], household, self.order[rows], times, self.shared)

    def counted(self, of: Of) -> Integers | None:
        """Return what k counts as a code for each row; None where it counts rows."""
        if of == Of.ROWS:
            return None
        return self.household if of == Of.HOUSEHOLDS else self.unit

    def owners(self, schema: Schema) -> Integers:
        """Return within what columns stay constant: the person of each row, or its household.

        Households where there is no unit, or where all of these columns are constant within them.
        """
        if self.household is None or (schema.unit is not None and not self.all_shared(schema)):
            return self.unit
        return self.household

    def constants(self, schema: Schema, of: Of) -> list[tuple[tuple[str, ...], Integers]]:
        """Return the columns that have to be constant in a release, with that within which they are."""
        if of == Of.HISTORIES:
            return [(tuple(schema.constant), self.unit)]
        found = [(tuple(schema.constant), self.owners(schema))]
        return found if self.household is None or not self.shared else [*found, (self.shared, self.household)]

    def all_shared(self, schema: Schema) -> bool:
        """Return whether all columns to be kept constant are constant within households."""
        return bool(schema.constant) and set(schema.constant) == set(self.shared)

    def layered(self, schema: Schema) -> bool:
        """Return whether some columns stay constant within households, and others within persons only."""
        return bool(self.shared) and not self.all_shared(schema)


def read_units(table: Table, schema: Schema, *, ordered: bool = True) -> UnitIndex | None:
    """Return the units of a table; None where the schema has neither a unit nor a household.

    Parameters
    ----------
    table, schema
        The table and the roles of its columns.
    ordered
        Whether the time is read; otherwise rows are in the order of the table.

    Raises
    ------
    DataError
        Where the unit, the household or the time of a row is missing, or two rows of a person have the same time.

    Examples
    --------
    >>> from shoal.schema.columns import Column, Kind, Role
    >>> stays = Table.from_native(pl.DataFrame({"patient": ["b", "a", "b"], "day": [9, 4, 2]}))
    >>> roles = Schema((Column("patient", Role.UNIT, Kind.NOMINAL), Column("day", Role.TIME, Kind.NUMERIC)))
    >>> index = read_units(stays, roles)
    >>> index.unit.tolist(), index.order.tolist()
    ([0, 1, 0], [1, 0, 0])
    """
    if schema.unit is None and schema.household is None:
        if schema.time is not None and ordered:
            raise DataError(
                f'column "{schema.time}" is the time, which orders the rows of a person, but no column says whose rows '
                "they are; name it with --unit (Python: unit=...), or leave the time out"
            )
        return None
    household = None if schema.household is None else _codes(table, schema.household, "household")
    unit = np.arange(table.n_rows, dtype=np.int64) if schema.unit is None else _codes(table, schema.unit, "unit")
    times = None if schema.time is None or not ordered else _times(table, schema.time, unit)
    shared = () if household is None or schema.unit is None else _shared(table, schema, unit, household)
    return UnitIndex(unit, household, positions(unit, times), times, shared)


def _shared(table: Table, schema: Schema, unit: Integers, household: Integers) -> tuple[str, ...]:
    """Return the columns to be kept constant that are constant within households; none if persons change theirs."""
    if schema.constant and with_several_values(household, unit):
        return ()
    found = []
    for name in schema.constant:
        values = comparable_values(table.column(name)).rename("value").to_frame().with_columns(owner=household)
        if not values["value"].dtype.is_nested() and values.n_unique() == np.unique(household).size:
            found.append(name)
    return tuple(found)


def positions(unit: Integers, times: Integers | None = None) -> Integers:
    """Return the position of each row in the history of its person, by time and then by row.

    Examples
    --------
    >>> positions(np.array([0, 1, 0]), np.array([7, 1, 3])).tolist()
    [1, 0, 0]
    """
    order = np.argsort(unit, kind="stable") if times is None else np.lexsort((times, unit))
    sizes = np.bincount(unit)
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(unit.size, np.int64)
    rank[order] = np.arange(unit.size) - np.repeat(starts, sizes)
    return rank


def _codes(table: Table, name: str, role: str) -> Integers:
    """Return the values of a column as numbers by first appearance; raises where one is missing."""
    missing = int(missing_mask(table.column(name)).sum())
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        raise DataError(
            f'{rows} no value in the {role} "{name}", so that it is unknown whose they are; fill them in, or remove '
            "these rows"
        )
    values = comparable_values(table.column(name))
    if values.dtype.is_nested():
        raise DataError(f'the {role} "{name}" is nested; give each {role} one number or text')
    frame = values.rename("value").to_frame()
    known = frame.unique(maintain_order=True).with_row_index("code")
    joined = frame.join(known, on="value", how="left", maintain_order="left")
    return joined["code"].to_numpy().astype(np.int64)


def codes_of(table: Table, name: str, unit: Integers) -> Integers:
    """Return the codes of a released table as numbers; raises where they join or divide persons.

    Parameters
    ----------
    table
        The released table.
    name
        The column of codes.
    unit
        The person of each row.

    Examples
    --------
    >>> codes_of(Table.from_native(pl.DataFrame({"patient": [7, 7, 3]})), "patient", np.array([1, 1, 0])).tolist()
    [0, 0, 1]
    """
    codes = _codes(table, name, "unit")
    require_same_persons(codes, unit)
    return codes


def require_same_persons(codes: Integers, unit: Integers) -> None:
    """Raise where codes join or divide persons."""
    if not np.array_equal(canonical_labels(codes), canonical_labels(unit)):
        raise RequirementNotMet("the codes of the release are not one for each person; nothing was released")


def check_dominant(units: UnitIndex | None, schema: Schema) -> None:
    """Raise where one value of the unit has most of the rows, so that it is hardly a person."""
    if units is None or schema.unit is None:
        return
    unit = units.unit
    most = int(np.bincount(unit).max(initial=0))
    if 2 * most > unit.size and unit.size > most:
        raise DataError(
            f'one value of the unit "{schema.unit}" has {most:,} of {unit.size:,} rows, more than all others, as if '
            "it stood for unknown persons; give each of these rows a number of its own, or remove them"
        )


def _times(table: Table, name: str, unit: Integers) -> Integers:
    """Return the times as ranks; raises where one is missing, is no number or date, or occurs twice in a person."""
    column = table.typed(name)
    missing = int(missing_mask(column).sum())
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        raise DataError(
            f'{rows} no value in the time "{name}", so that the order of a person\'s rows is unknown; fill them in, '
            "remove these rows, or leave the time out to use the order of the table"
        )
    values = comparable_values(column)
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        raise DataError(
            f'the time "{name}" holds text, which has no order in time; convert it to numbers or dates, or leave it out'
        )
    ranks = values.rank("dense").to_numpy().astype(np.int64)
    ties = unit.size - pl.DataFrame({"unit": unit, "time": ranks}).n_unique()
    if ties:
        rows = "1 row has" if ties == 1 else f"{ties:,} rows have"
        raise DataError(
            f'{rows} the same time "{name}" as another row of the same person, so that their order is unknown; use a '
            "finer time, or leave it out to use the order of the table"
        )
    return ranks
