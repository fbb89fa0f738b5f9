"""Columns with missing cells whose records are grouped by what is known: what becomes of their groups, and its loss.

In a group that mixes known and missing cells, ``fill`` gives all members the representative of the known cells, and
``suppress`` empties the column. A group without any known cell stays missing. Either way all members of a group have
equal cells, so that missing marks split no group.

Loss is measured against known cells only. A cell that was emptied counts as if it were replaced by the mean of its
column, or by a wrong category; a cell that was filled costs nothing of its own, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Groups
from shoal.flow.column_recode import ColumnTask, RecodedColumn, taken
from shoal.flow.encoding import CategoryEncoding
from shoal.flow.prepare import Integers, Prepared
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.recoding.rounded_means import Words
from shoal.schema.columns import Kind, Missing, Recode
from shoal.tables.replacing import with_missing

if TYPE_CHECKING:
    from shoal.tables.table import Series

_TEXTS = {Recode.RANGE, Recode.SET, Recode.HIERARCHY}


@dataclass(frozen=True)
class ChangedCells:
    """How many cells of a column changed because others of their group are missing.

    Parameters
    ----------
    filled
        Missing cells that got the representative of their group.
    emptied
        Known cells that were made missing.
    groups
        Groups in which known and missing cells met.
    """

    filled: int = 0
    emptied: int = 0
    groups: int = 0


def recode_known(
    task: ColumnTask, policy: Missing, selected: Integers | None, keys: Words
) -> tuple[RecodedColumn, ChangedCells]:
    """Return the released column and its loss, and how many cells were filled or emptied.

    Parameters
    ----------
    task
        The column; its values are NaN where they are missing.
    policy
        ``fill`` or ``suppress``.
    selected, keys
        As for :meth:`shoal.flow.column_recode.ColumnTask.recoded`, for the groups of the task.
    """
    labels, count = task.grouping.labels, len(task.grouping)
    known = ~np.isnan(task.values)
    known_cells = np.bincount(labels[known], minlength=count)
    mixed = (known_cells > 0) & (known_cells < task.grouping.sizes)
    used = known & ~mixed[labels] if policy == Missing.SUPPRESS else known
    emptied = known & ~used
    filled = 0 if policy == Missing.SUPPRESS else int((~known & mixed[labels]).sum())
    cells = ChangedCells(filled, int(emptied.sum()), int(mixed.sum()))
    rows = np.flatnonzero(used)
    if not rows.size:
        return (empty_column(task), whole_loss(task, emptied, None)), cells
    inside = Groups(labels[rows])
    part, groups, first = inside_groups(task, rows, inside)
    chosen = None if selected is None else _selected_inside(part, rows, labels.size, selected[groups])
    column, loss = part.recoded(chosen, keys[groups] if keys.size else keys)
    place = np.full(count, -1)
    place[groups] = first
    found = place[labels]
    released = taken(column, np.maximum(found, 0))
    if (found < 0).any():
        released = with_missing(released, found < 0)
    return (released, whole_loss(task, emptied, loss)), cells


def inside_groups(task: ColumnTask, rows: Integers, inside: Groups) -> tuple[ColumnTask, Integers, Integers]:
    """Return the task for some records in groups, the group of the task of each of these groups, and its first record.

    Parameters
    ----------
    task
        The column.
    rows
        The records.
    inside
        Their groups, numbered anew.
    """
    first = np.unique(inside.labels, return_index=True)[1]
    part = replace(
        task, series=taken(task.series, rows), values=task.values[rows], grouping=inside,
        original=task.original[rows], weights=None if task.weights is None else task.weights[rows],
    )  # fmt: skip
    return part, task.grouping.labels[rows][first], first


def _selected_inside(part: ColumnTask, rows: Integers, n: int, selected: Integers) -> Integers:
    """Return the selected record of each group among the used ones; where it is missing, one with the mode."""
    place = np.full(n, -1)
    place[rows] = np.arange(rows.size)
    found = place[selected]
    if (found < 0).any():
        found = np.where(found < 0, replace(part, recode=Recode.MODE).records(None), found)
    return found


def empty_column(task: ColumnTask) -> Series:
    """Return the column without any value, in the type that its representatives would have."""
    everything = np.ones(len(task.series), bool)
    if task.recode in _TEXTS:
        import narwhals as nw

        return nw.new_series(task.series.name, [None] * everything.size, nw.String, backend=task.series.implementation)
    return with_missing(task.series, everything)


def whole_loss(task: ColumnTask, emptied: NDArray[np.bool_], loss: ColumnLoss | None) -> ColumnLoss:
    """Return the loss of the column: that of the used cells, and all of it for each emptied cell."""
    original, entry, weights = task.original, task.entry, task.weights
    if isinstance(entry, CategoryEncoding) and entry.column.kind == Kind.NOMINAL:
        further = mismatch_loss(original, np.where(emptied, np.nan, original), weights)
    else:
        values = entry.standardised(original)
        further = squared_loss(values, np.where(emptied, np.nan, values), weights)
    if loss is None:
        return further
    share = _share(emptied, ~np.isnan(original), weights)
    penalties = {
        name: None if value is None else value * (1 - share) + share
        for name, value in (("ncp", loss.ncp), ("total_il", loss.total_il))
    }
    error = None if emptied.any() else loss.total_error
    return ColumnLoss(loss.sse + further.sse, further.sst, **penalties, total_error=error)


def _share(emptied: NDArray[np.bool_], known: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> float:
    """Return the share of the known cells that were emptied; 0 where none is known."""
    if not known.any():
        return 0.0
    if weights is None:
        return float(emptied.sum() / known.sum())
    return float(weights[emptied].sum() / weights[known].sum())


def recode_with_missing(
    prepared: Prepared, task: ColumnTask, selected: Integers | None, keys: Words
) -> tuple[RecodedColumn, ChangedCells]:
    """Return a column in which cells are missing, or cannot have a value, its loss, and how many cells changed."""
    name = task.entry.column.name
    policy = prepared.policy(name) if name in prepared.by_known else None
    if name in prepared.aside:
        from shoal.flow.not_applicable import recode_applicable

        return recode_applicable(task, prepared.aside[name], policy, selected, keys)
    assert policy is not None
    return recode_known(task, policy, selected, keys)
