"""The persons of a released table, which its columns do not show: from the original and the holder's record.

The unit is not in the release, so a count of persons needs the original, and the order of the released rows: that of
the holder's record, or that of the original where the release was made by software that keeps it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.flow.holder_record import HolderRecord
from shoal.flow.units import UnitIndex, read_units
from shoal.schema.columns import DROPPED, Role, Schema
from shoal.schema.loading import load
from shoal.schema.plan import ReadOptions
from shoal.schema.requirements import Of
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

Integers = NDArray[np.int64]


def read_record(record: HolderRecord | str | Path) -> HolderRecord:
    """Return a holder's record that is given as a value or as a file."""
    return record if isinstance(record, HolderRecord) else HolderRecord.read(record)


def original_rows(original: Table, released: Table, schema: Schema, record: HolderRecord | None) -> Integers:
    """Return for each released row the row of the original.

    Parameters
    ----------
    original, released
        The two tables.
    schema
        The schema of the original.
    record
        The holder's record, which states the order of the rows; None where both tables have the same order.

    Returns
    -------
    rows
        Raises where the record is that of another release, or where columns that stay unchanged show that the rows are
        in another order.
    """
    kept = original.n_rows if record is None else int((record.released_rows >= 0).sum())
    if record is None and released.n_rows != original.n_rows:
        raise DataError(
            f"the original has {original.n_rows:,} records and the release {released.n_rows:,}; both must have the same"
        )
    if record is not None:
        if record.rows.height != original.n_rows:
            raise DataError(
                f"the holder's record is that of a release with {record.rows.height:,} records, and the original has "
                f"{original.n_rows:,}; name the record that was written beside the release"
            )
        if kept != released.n_rows:
            raise DataError(
                f"the holder's record is that of a release with {kept:,} records, and the release has "
                f"{released.n_rows:,}; name the record that was written beside the release"
            )
        rows = np.empty(kept, np.int64)
        present = np.flatnonzero(record.released_rows >= 0)  # suppressed rows are not in the release
        rows[record.released_rows[present]] = present
        stepped = {column["name"] for column in record.header["plan"]["schema"]["columns"] if column.get("before")}
        problem = "the holder's record is not that of this release"
        _check_same_rows(original.in_order(rows), released, schema, problem, stepped)
        return rows
    _check_same_rows(
        original, released, schema,
        "the rows of the release are in another order than those of the original, as in every release with a unit; "
        "name its holder's record with --record (Python: record=)",
    )  # fmt: skip
    return np.arange(original.n_rows)


def released_units(
    original: Any,
    released: Table,
    schema: Schema,
    of: Of,
    *,
    unit: str | None = None,
    household: str | None = None,
    time: str | None = None,
    record: HolderRecord | str | Path | None = None,
    reading: ReadOptions | None = None,
    progress: Progress = SILENT,
) -> UnitIndex:
    """Return person, household and position in the history of each released row.

    Parameters
    ----------
    original
        The original table or its file.
    released
        The released table.
    schema
        The schema of the released table.
    of
        Whether persons, households or histories are counted.
    unit, household, time
        Their columns in the original; those of the plan in the holder's record if not given.
    record
        The holder's record of the release.
    reading
        How a text file is read.
    progress
        Progress callback.
    """
    known = None if record is None else read_record(record)
    if known is not None:
        roles = {column["role"]: column["name"] for column in known.header["plan"]["schema"]["columns"]}
        unit, household = unit or roles.get("unit"), household or roles.get("household")
        time = time or roles.get("time") or _time_of(known)
    constant = [name for name in schema.constant if name not in {unit, household, time}]
    changes = {"unit": unit, "household": household, "time": time, "unnamed": "other", "quasi": constant or None}
    table, full = load(original, None, changes | {"constant": constant or None}, reading or ReadOptions(), progress)
    units = read_units(table, full, ordered=of == Of.HISTORIES)
    rows_are_persons = of == Of.UNITS and units is not None and household is not None and unit is None
    if (
        units is None
        or units.counted(of) is None
        or (full.unit is None and of != Of.HOUSEHOLDS and not rows_are_persons)
    ):
        raise ParameterError(
            f"k counts {of.noun}; name the column of the original with --unit (Python: unit=) or --household (Python: "
            "household=)"
        )
    return within_households(units, full).in_order(original_rows(table, released, schema, known))


def within_households(units: UnitIndex, schema: Schema) -> UnitIndex:
    """Return an index in which all columns to be kept constant are those of households, where each row is a person."""
    if schema.unit is not None or units.household is None:
        return units
    return replace(units, shared=tuple(schema.constant))


def _time_of(record: HolderRecord) -> str | None:
    """Return the column that orders rows although it has another role."""
    columns = record.header["plan"]["schema"]["columns"]
    return next((str(column["name"]) for column in columns if column.get("time")), None)


def with_recorded_steps(schema: Schema, record: HolderRecord) -> Schema:
    """Return a schema with the steps that the plan of a holder's record states, where it states none itself."""
    steps = {column["name"]: column for column in record.header["plan"]["schema"]["columns"]}
    names = [column.name for column in schema.columns if not column.before and not column.after]
    found = {
        entry: {name: steps[name][entry] for name in names if steps.get(name, {}).get(entry)}
        for entry in ("before", "after")
    }
    return schema.updated(before=found["before"], after=found["after"]) if any(found.values()) else schema


def check_not_shuffled(original: Table, released: Table, schema: Schema) -> None:
    """Raise where an unchanged column has the values of the original in another order: the rows were shuffled."""
    for column in schema.columns:
        name = column.name
        unchanged = column.role in {Role.OTHER, Role.CONFIDENTIAL} and name != schema.sampling_weight
        if not unchanged or column.before or name not in released.names or name not in original.names:
            continue
        one, two = (comparable_values(table.typed(name)) for table in (original, released))
        if one.dtype != two.dtype or one.dtype.is_nested() or one.equals(two, null_equal=True):
            continue
        if one.sort().equals(two.sort(), null_equal=True):
            raise DataError(
                "the rows of the release are in another order than those of the original; name its holder's record "
                "with --record (Python: record=)"
            )


def _check_same_rows(
    original: Table, released: Table, schema: Schema, problem: str, stepped: Collection[str] = ()
) -> None:
    """Raise if columns that a release leaves unchanged differ between rows; those with steps are not compared."""
    stepped = {*stepped, *(column.name for column in schema.columns if column.before)}
    names = {column.name: column.role for column in schema.columns}
    for name in released.names:
        unchanged = names.get(name, Role.OTHER) not in {Role.QUASI, *DROPPED} and name != schema.sampling_weight
        if not unchanged or name not in original.names or name in stepped:
            continue
        one, two = (comparable_values(table.column(name)) for table in (original, released))
        if one.dtype != two.dtype:
            one, two = (comparable_values(table.typed(name)) for table in (original, released))
        if one.dtype == two.dtype and not one.equals(two, null_equal=True):
            raise DataError(problem)
