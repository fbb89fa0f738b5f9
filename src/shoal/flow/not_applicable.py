"""Cells that cannot have a value, such as the wage of a child: a state of their own, neither known nor missing.

Which cells these are is stated by codes of a column, or by the empty text for its empty cells. They are set aside
before anything is computed: never filled, imputed or averaged. A group holds either applicable cells or cells of one
code, and gets this code back. Where fewer than k records have a combination of such cells, they join the records with
the nearest combination, and a column that is mixed in a group is emptied in that group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.grouping import Groups
from shoal.errors import DataError
from shoal.schema.columns import Column, Kind, Schema
from shoal.tables import Table
from shoal.tables.replacing import with_missing
from shoal.tables.value_codes import missing_mask, polars_series

if TYPE_CHECKING:
    from shoal.flow.column_recode import ColumnTask, RecodedColumn
    from shoal.flow.known_cells import ChangedCells
    from shoal.recoding.rounded_means import Words
    from shoal.schema.columns import Missing
    from shoal.tables.table import Series

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NotApplicable:
    """The cells of a column that cannot have a value.

    Parameters
    ----------
    states
        For each record 0 where the column applies, otherwise the number of its code, from 1.
    codes
        The values that the cells get back; None for empty cells.
    text
        Whether codes stood as text among numbers, so that the released column is text.
    declared
        For codes that a file of SPSS, Stata or SAS declares as missing values: these, otherwise None.
    """

    states: Integers
    codes: tuple[object, ...]
    text: bool = False
    declared: tuple[object, ...] = ()

    @property
    def cells(self) -> NDArray[np.bool_]:
        """The cells that cannot have a value."""
        return self.states > 0

    def part(self, rows: Integers) -> NotApplicable:
        """Return the cells of some records."""
        return replace(self, states=self.states[rows])


def set_aside(table: Table, schema: Schema) -> tuple[Table, dict[str, NotApplicable]]:
    """Return the table with cells that cannot have a value made missing, and these cells by column.

    Examples
    --------
    >>> from shoal.schema.columns import Role
    >>> people = Table.from_native(pl.DataFrame({"wage": [-1, 20, 30, -1]}))
    >>> schema = Schema((Column("wage", Role.QUASI, Kind.NUMERIC, not_applicable=("-1",)),))
    >>> table, cells = set_aside(people, schema)
    >>> table.column("wage").to_list(), cells["wage"].states.tolist()
    ([None, 20, 30, None], [1, 0, 0, 1])
    """
    stated = [column for column in schema.quasi if column.not_applicable]
    if not stated:
        return table, {}
    found: dict[str, NotApplicable] = {}
    changed: dict[str, Series] = {}
    for column in stated:
        cells = _cells(table, column)
        if not cells.states.any():
            continue
        found[column.name] = cells
        cleaned = _without(table.column(column.name), cells)
        if cleaned is not None:
            changed[column.name] = cleaned
    return (table.with_columns(changed) if changed else table), found


def _cells(table: Table, column: Column) -> NotApplicable:
    """Return which cells of a column have one of its codes."""
    series = table.column(column.name)
    values = polars_series(series)
    empty = missing_mask(series)
    declared = table.labels.missing_codes.get(column.name) if table.labels is not None else None
    states = np.zeros(table.n_rows, np.int64)
    codes: list[object] = []
    in_file: list[object] = []
    for number, code in enumerate(column.not_applicable, 1):
        named: dict[int, object] = {}
        if code == "":
            mask, value = empty, None
        else:
            mask, value = _equal(values, code)
            if declared is not None:
                named = {int(row): found for row, found in zip(*declared, strict=True) if _same(found, code)}
                value = None if named and not mask.any() else value
                mask[list(named)] = True
        states[mask & (states == 0)] = number
        codes.append(value)
        in_file.append(next(iter(named.values()), None))
    text = values.dtype == pl.String and column.kind == Kind.NUMERIC
    return NotApplicable(states, tuple(codes), text, tuple(in_file))


def _same(found: object, code: str) -> bool:
    """Return whether a declared missing value is a code; -9.0 is -9, and the letter a is .a of Stata and .A of SAS."""
    if isinstance(found, int | float):
        return _number(code) == found
    letter = code[1:].lower() if len(code) == 2 and code[0] == "." else code
    return str(found) in {code, letter}


def _number(code: str) -> float | None:
    try:
        return float(code)
    except ValueError:
        return None


def _equal(values: pl.Series, code: str) -> tuple[NDArray[np.bool_], object]:
    """Return which values are a code, and the code in the type of the column."""
    if values.dtype.is_numeric():
        number = _number(code)
        if number is None:
            return np.zeros(len(values), bool), None
        whole = values.dtype.is_integer() and number == int(number)
        return (values == number).fill_null(False).to_numpy().copy(), int(number) if whole else number
    texts = values.cast(pl.String).str.strip_chars()
    mask = (texts == code).fill_null(False)
    first = mask.arg_true()
    return mask.to_numpy().copy(), values[int(first[0])] if len(first) else code


def _without(series: Series, cells: NotApplicable) -> Series | None:
    """Return a column with its codes made missing, as numbers if only codes were text; None if nothing changes."""
    if not any(code is not None for code in cells.codes):
        return None
    cleaned = with_missing(series, cells.cells)
    if not cells.text:
        return cleaned
    values = polars_series(cleaned).str.strip_chars()
    for dtype in (pl.Int64(), pl.Float64()):
        numbers = values.cast(dtype, strict=False)
        if numbers.null_count() == values.null_count():
            return nw.from_native(numbers.rename(series.name), series_only=True)
    return cleaned


def split_by_applicability(
    records: Integers, aside: Mapping[str, NotApplicable], k: int, units: Integers | None
) -> list[Integers]:
    """Return records divided by their combination of cells that cannot have a value, with k records or units each.

    Parameters
    ----------
    records
        Some records, in ascending order.
    aside
        The cells by column.
    k
        Minimum number of records, or of units.
    units
        The unit of each record of the table, where k counts these.
    """
    patterns = np.column_stack([cells.states[records] for cells in aside.values()])
    distinct, which = np.unique(patterns, axis=0, return_inverse=True)
    which = which.reshape(-1)
    members = {p: records[which == p] for p in range(len(distinct))}

    def size(pattern: int) -> int:
        rows = members[pattern]
        return rows.size if units is None else np.unique(units[rows]).size

    while len(members) > 1 and size(rare := min(members, key=lambda p: (size(p), p))) < k:
        others = [p for p in members if p != rare]
        nearest = min(others, key=lambda p: (int((distinct[p] != distinct[rare]).sum()), -members[p].size, p))
        members[nearest] = np.sort(np.concatenate([members[nearest], members.pop(rare)]))
    return [members[p] for p in sorted(members)]


def recode_applicable(
    task: ColumnTask, cells: NotApplicable, policy: Missing | None, selected: Integers | None, keys: Words
) -> tuple[RecodedColumn, ChangedCells]:
    """Return the released column and its loss where some cells cannot have a value, and how many cells changed.

    Parameters
    ----------
    task
        The column; its values are NaN where it does not apply.
    cells
        The cells that cannot have a value.
    policy
        ``fill`` or ``suppress`` where other cells are missing; None if none are, or they were treated already.
    selected, keys
        As for :meth:`shoal.flow.column_recode.ColumnTask.recoded`.
    """
    from shoal.flow.column_recode import taken
    from shoal.flow.known_cells import ChangedCells, empty_column, inside_groups, recode_known, whole_loss

    labels, count = task.grouping.labels, len(task.grouping)
    of_group = _group_states(cells, task.grouping)
    state = of_group[labels]
    applies = (cells.states == 0) & ~np.isnan(task.values)
    emptied = applies & (state < 0)
    changed = ChangedCells(0, int((emptied | (cells.cells & (state < 0))).sum()), int((of_group < 0).sum()))
    rows = np.flatnonzero(state == 0)
    if not rows.size:
        released, loss = empty_column(task), whole_loss(task, emptied, None)
    else:
        inside = Groups(labels[rows])
        part, groups, first = inside_groups(task, rows, inside)
        chosen = None
        if selected is not None:
            place = np.full(labels.size, -1)
            place[rows] = np.arange(rows.size)
            chosen = place[selected[groups]]
        further = keys[groups] if keys.size else keys
        if policy is None:
            column, used = part.recoded(chosen, further)
        else:
            (column, used), more = recode_known(part, policy, chosen, further)
            changed = ChangedCells(more.filled, changed.emptied + more.emptied, changed.groups + more.groups)
        position = np.full(count, -1)
        position[groups] = first
        found = position[labels]
        released = taken(column, np.maximum(found, 0))
        released = with_missing(released, found < 0) if (found < 0).any() else released
        loss = whole_loss(task, emptied, used)
    return (_with_codes(released, cells, state), loss), changed


def _group_states(cells: NotApplicable, grouping: Groups) -> Integers:
    """Return the state that all records of a group share; -1 where they differ."""
    lowest, highest = np.full(len(grouping), len(cells.codes) + 1), np.zeros(len(grouping), np.int64)
    np.minimum.at(lowest, grouping.labels, cells.states)
    np.maximum.at(highest, grouping.labels, cells.states)
    return np.where(lowest == highest, lowest, -1)


def with_declared_codes(table: Table, aside: Mapping[str, NotApplicable], groupings: Mapping[str, Groups]) -> Table:
    """Return a released table whose file declares codes as missing values, with these codes where they are kept.

    Parameters
    ----------
    table
        The released table.
    aside
        The cells that cannot have a value, by column.
    groupings
        The groups by which each column was replaced.
    """
    if table.labels is None:
        return table
    kept = dict(table.labels.missing_codes)
    for name, cells in aside.items():
        states = _group_states(cells, groupings[name])[groupings[name].labels]
        numbers = [number for number, code in enumerate(cells.declared, 1) if code is not None]
        rows = np.flatnonzero(np.isin(states, numbers))
        if rows.size:
            kept[name] = rows, [cells.declared[state - 1] for state in states[rows].tolist()]
    return replace(table, labels=replace(table.labels, missing_codes=kept))


def _with_codes(released: Series, cells: NotApplicable, state: Integers) -> Series:
    """Return a released column in which groups that cannot have a value have their code."""
    from shoal.flow.encoding import from_polars

    values = polars_series(released)
    dtype = pl.String() if cells.text else values.dtype
    values = values.cast(dtype)
    for number, code in enumerate(cells.codes, 1):
        if code is None or not (state == number).any():
            continue
        value = pl.Series([str(code) if dtype == pl.String else code]).cast(dtype)
        frame = pl.DataFrame({"value": values, "code": pl.Series(state == number)})
        values = frame.select(pl.when("code").then(pl.lit(value[0], dtype)).otherwise("value").alias("value"))["value"]
    return from_polars(values.rename(released.name), released, same_dtype=False)


def check_applicable(column: Column) -> None:
    """Raise where codes of cells that cannot have a value meet steps, which would change them."""
    if column.not_applicable and (column.before or column.after):
        raise DataError(
            f'column "{column.name}" has codes that are not applicable, which steps would change; leave out its steps '
            "or its codes"
        )
