"""At most m rows per person: a guarantee per person from mechanisms that protect single records.

Of each person m rows are kept, drawn at random and independently of all other persons; m is chosen without the data.
Two tables that differ in one person then differ in at most m records, so a mechanism that is (epsilon, delta) per
record is (m epsilon, delta (e^(m epsilon) - 1) / (e^epsilon - 1)) per person (group privacy, Dwork & Roth 2014, Theorem
2.2 and its extension to delta). The epsilon and delta that a user states are those per person.

Rows with equal values in the column of the unit are one person: 1, 1.0 and "01" are equal, as for categories. Rows
without a value are left out, so that they need no protection. Which value a row has depends on this row only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.dp.accountant import rounded_down
from shoal.dp.declared_values import category_key, stored_values
from shoal.errors import ParameterError, UnknownColumn
from shoal.tables import Table


@dataclass(frozen=True)
class PersonLimit:
    """The column that numbers persons, and how many rows of each are used.

    Parameters
    ----------
    unit
        The column.
    rows
        The number of rows of a person that are used at most.

    Examples
    --------
    >>> limit = PersonLimit("patient", 4)
    >>> limit.epsilon_per_row(1.0), limit.delta_per_row(1e-6, 0.25) < 1e-6 / 4
    (0.25, True)
    """

    unit: str
    rows: int

    def epsilon_per_row(self, epsilon: float) -> float:
        """Return the epsilon per record that gives an epsilon per person."""
        return rounded_down(Fraction(epsilon) / self.rows)

    def delta_per_row(self, delta: float, epsilon_per_row: float) -> float:
        """Return the delta per record that gives a delta per person."""
        return float(delta / delta_factor(self.rows, epsilon_per_row) * (1 - 1e-12))

    def as_dict(self) -> dict[str, Any]:
        """Return the rule for a manifest."""
        return {
            "unit": self.unit,
            "rows_per_person": self.rows,
            "rule": "rows of a person beyond this number, drawn at random, and rows without a unit are not used",
        }


def person_limit(unit: str | None, rows_per_person: int | None) -> PersonLimit | None:
    """Return the limit that was requested; raises where only one of unit and number of rows is given.

    Examples
    --------
    >>> person_limit("patient", None)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: unit="patient" needs rows_per_person=N, chosen without looking at the data
    """
    if unit is None and rows_per_person is None:
        return None
    if unit is None:
        raise ParameterError(
            "a limit on the rows of a person needs the column that numbers persons: state it with unit=... (command "
            "line: --unit NAME)"
        )
    if rows_per_person is None:
        raise ParameterError(
            f'unit="{unit}" needs rows_per_person=N (command line: --rows-per-person N), chosen without looking at the '
            "data"
        )
    if isinstance(rows_per_person, bool) or not isinstance(rows_per_person, int) or rows_per_person < 1:
        raise ParameterError(f"rows_per_person={rows_per_person!r} must be an integer of at least 1")
    return PersonLimit(unit, rows_per_person)


def delta_factor(rows: int, epsilon: float) -> float:
    """Return (e^(m epsilon) - 1) / (e^epsilon - 1), by which delta grows from one record to m; infinite if too large.

    Examples
    --------
    >>> delta_factor(1, 0.5), round(delta_factor(3, 0.5), 6)
    (1.0, 5.367003)
    """
    if rows * epsilon > 700:
        return math.inf
    return 1.0 if rows == 1 else math.expm1(rows * epsilon) / math.expm1(epsilon)


def limited(table: Table, limit: PersonLimit) -> Table:
    """Return the rows of a table that are used: at most m of each person, in the order of the table.

    Examples
    --------
    >>> visits = Table.from_native(pl.DataFrame({"patient": [7, 7, 7, 8, None], "age": [40, 41, 42, 50, 60]}))
    >>> limited(visits, PersonLimit("patient", 2)).native["patient"].to_list()
    [7, 7, 8]
    """
    if limit.unit not in table.names:
        raise UnknownColumn(limit.unit, table.names)
    units = _units(table, limit.unit)
    rows = np.flatnonzero(units >= 0)
    rows = rows[_drawn(units[rows], limit.rows)]
    return replace(table, frame=table.frame[np.sort(rows), :])


def _drawn(units: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the positions of at most so many rows of each unit, drawn at random."""
    shuffled = np.random.default_rng().permutation(units.size)
    order = shuffled[np.argsort(units[shuffled], kind="stable")]
    ordered = units[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if units.size else ordered
    sizes = np.diff(np.append(starts, units.size))
    rank = np.arange(units.size) - np.repeat(starts, sizes)
    return order[rank < most]


def _units(table: Table, name: str) -> NDArray[np.int64]:
    """Return a number for each row, equal for the rows of a person; -1 for a row without a person."""
    missing = set(table.dialect.declared_na_values) if table.dialect else set()

    def key(value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip() in {"", *missing}):
            return None
        return category_key(value)

    column = stored_values(table.column(name))
    if isinstance(column, list):
        keys = pl.Series([key(value) for value in column], dtype=pl.String)
    elif column.dtype.is_nested() or column.dtype == pl.Object:
        return np.full(len(column), -1, np.int64)
    else:
        values = column.unique()
        found = pl.Series([key(value) for value in values.to_list()], dtype=pl.String)
        known = pl.DataFrame({"value": values, "key": found})
        rows = column.rename("value").to_frame()
        keys = rows.join(known, on="value", how="left", maintain_order="left", nulls_equal=True)["key"]
    return keys.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
