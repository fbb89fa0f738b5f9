"""Columns whose values become ranges, sets or ancestors in a hierarchy, or are emptied where they differ in a group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import group_ranges
from shoal.core.text import text_of
from shoal.flow.column_recode import ColumnTask, RecodedColumn, taken
from shoal.flow.encoding import Floats, NumericEncoding
from shoal.flow.prepare import Integers
from shoal.recoding.generalisation import generalise_by_hierarchy, generalise_to_sets
from shoal.recoding.loss import ColumnLoss, mismatch_loss
from shoal.recoding.penalties import extent_penalty
from shoal.recoding.range_texts import range_texts
from shoal.schema.columns import Kind, Recode
from shoal.tables import Table
from shoal.tables.replacing import with_missing

if TYPE_CHECKING:
    from shoal.core.hierarchy import Hierarchy
    from shoal.recoding.generalisation import Generalised


def generalised_column(task: ColumnTask) -> RecodedColumn:
    """Return a column as ranges, sets, ancestors or empty cells, with its loss and the penalties of its cells."""
    if task.recode == Recode.RANGE:
        return _as_ranges(task)
    return _suppressed(task) if task.recode == Recode.SUPPRESS else _generalised(task)


def _as_ranges(task: ColumnTask) -> RecodedColumn:
    lowest, highest = group_ranges(task.sort_keys(), task.grouping)
    ends = (task.gathered(rows).to_list() for rows in (lowest, highest))
    charged = extent_penalty(task.values, task.grouping)
    loss = task.loss(task.values[lowest] / 2 + task.values[highest] / 2)
    return _texts(task, range_texts(*ends), _with_penalties(task, loss, charged, charged))


def _generalised(task: ColumnTask) -> RecodedColumn:
    _, first, codes = np.unique(task.sort_keys(), return_index=True, return_inverse=True)  # equal NaN are one
    distinct, names, codes = task.values[first], _names(task, first), codes.reshape(-1).astype(np.int64)
    if task.recode == Recode.SET:
        found = generalise_to_sets(distinct, codes, names, task.grouping)
    else:
        tree, name = _tree(task), task.entry.column.name
        found = generalise_by_hierarchy(distinct, codes, names, task.grouping, tree, name, level=task.level)
    loss = _with_penalties(task, _generalised_loss(task, found), found.ncp, found.height)
    return _texts(task, found.texts, loss)


def _tree(task: ColumnTask) -> Hierarchy:
    if task.entry.tree is not None:
        return task.entry.tree
    from shoal.schema.hierarchy_sources import hierarchy_of

    return hierarchy_of(task.entry.column, Table.from_native(task.series.to_frame().to_native()))


def suppressed_groups(task: ColumnTask) -> NDArray[np.bool_]:
    """Return the groups in which a column is suppressed because its values differ."""
    keys = task.sort_keys()
    lowest, highest = group_ranges(keys, task.grouping)
    return ~((keys[lowest] == keys[highest]) | np.isnan(keys[lowest]))


def _suppressed(task: ColumnTask) -> RecodedColumn:
    lowest, _ = group_ranges(task.sort_keys(), task.grouping)
    differ = suppressed_groups(task)
    differ = differ if task.hidden is None else differ | task.hidden
    released = with_missing(task.gathered(lowest), differ)
    charged = differ.astype(np.float64)
    loss = _with_penalties(task, task.loss(np.where(differ, np.nan, task.values[lowest])), charged, charged)
    return taken(released, task.grouping.labels), loss


def _texts(task: ColumnTask, texts: list[str | None], loss: ColumnLoss) -> RecodedColumn:
    shown = nw.new_series(task.series.name, texts, nw.String, backend=task.series.implementation)
    return taken(shown, task.grouping.labels), loss


def _names(task: ColumnTask, records: Integers) -> list[str | None]:
    shown = task.gathered(records).to_list()
    return [None if value is None or value != value else text_of(value) for value in shown]  # noqa: PLR0124 - NaN


def _generalised_loss(task: ColumnTask, found: Generalised) -> ColumnLoss:
    """Return the loss of a reader who takes the mean of what a text represents, or guesses among its categories."""
    if isinstance(task.entry, NumericEncoding) or task.entry.column.kind == Kind.ORDINAL:
        return task.loss(found.values)
    total = mismatch_loss(task.original, task.original, task.weights)
    wrong = np.where(np.isnan(task.original), 0.0, 1 - 1 / found.options[task.grouping.labels])
    return ColumnLoss(float(wrong.sum() if task.weights is None else wrong @ task.weights), total.sst)


def _with_penalties(task: ColumnTask, loss: ColumnLoss, ncp: Floats, height: Floats) -> ColumnLoss:
    """Return the loss with the mean penalties of its cells."""
    sizes = task.grouping.sizes if task.weights is None else np.bincount(task.grouping.labels, task.weights)
    total = float(sizes.sum())
    return replace(loss, ncp=float(ncp @ sizes) / total, total_il=float(height @ sizes) / total)
