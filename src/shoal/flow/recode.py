"""Recoding: every quasi-identifier replaced by the representative of its group, and what that cost.

Which representative: what the schema states for the column; a hierarchy, if it has one; for categories grouped by a
method that suits them, a record that keeps frequency tables (selected by the method or here); the representative that
belongs to the objective of the method; otherwise mean, median or mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import group_means, group_medians, group_medoids, group_modes, group_ranges
from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.core.text import text_of
from shoal.flow.encoding import CategoryEncoding, ColumnEncoding, Floats, NumericEncoding
from shoal.flow.group import Grouped
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.methods.contract import Objective
from shoal.recoding.loss import ColumnLoss, Loss, mismatch_loss, size_measures, squared_loss
from shoal.recoding.rounding import round_keeping_sum
from shoal.schema.columns import Column, Kind, Recode, Role
from shoal.schema.plan import Decimals
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.core.frequency_errors import FrequencyErrors
    from shoal.core.hierarchy import Hierarchy
    from shoal.recoding.generalisation import Generalised
    from shoal.tables.table import Series

_OF_OBJECTIVE = {
    "sae": Recode.MEDIAN,
    "max-distance": Recode.MIDRANGE,
    "round-up": Recode.MAX,
    "round-down": Recode.MIN,
}
_CATEGORIES = {Recode.MODE, Recode.MEDOID, Recode.FREQUENCIES, Recode.MEDIAN, Recode.MIN, Recode.MAX}


@dataclass(frozen=True, eq=False)
class Recoded:
    """A recoded table.

    Parameters
    ----------
    table
        The table with representatives instead of the values of quasi-identifiers, without direct identifiers.
    loss
        What that cost.
    recodes
        What replaced the values of each quasi-identifier.
    """

    table: Table
    loss: Loss
    recodes: Mapping[str, Recode]

    def __repr__(self) -> str:
        return f"<Recoded: {self.table.n_rows:,} records, information loss {100 * self.loss.information_loss:.2f} %>"


def recode_table(
    prepared: Prepared,
    grouped: Grouped,
    *,
    recode: Mapping[str, str | Recode] | None = None,
    decimals: Decimals = "input",
    data: MethodData | None = None,
    progress: Progress = SILENT,
) -> Recoded:
    """Replace the quasi-identifiers of each group by one representative.

    Parameters
    ----------
    prepared
        The table.
    grouped
        Its groups.
    recode
        Other representatives than those of the schema, by column.
    decimals
        Decimals of released numbers: ``input`` (integer columns stay integers), a number, or ``full``.
    data
        The arrays of the table, to share them between calls.
    progress
        Progress callback.

    Returns
    -------
    recoded
        The table and its loss.
    """
    recodes = resolve_recodes(prepared, grouped, recode or {})
    progress.stage("recoding", len(recodes))
    grouping, table = grouped.grouping, prepared.table
    selected = _selected_records(prepared, grouped, recodes, data, progress)
    columns: dict[str, Series] = {}
    losses: dict[str, ColumnLoss] = {}
    for entry in prepared.encoding.quasi:
        name = entry.column.name
        values = prepared.values(name, grouped.blocks.suppressed)
        changed = name in prepared.imputed or name in grouped.blocks.suppressed
        task = _ColumnTask(
            entry, table.column(name), values, grouping, prepared.original(name) if changed else values,
            prepared.weights, recodes[name], decimals,
        )  # fmt: skip
        columns[name], losses[name] = task.recoded(selected.get(recodes[name]))
        progress.advance()
    released = table.with_columns(columns | _uniform_strata(prepared)).without(prepared.schema.named(Role.IDENTIFIER))
    errors = _table_errors(prepared, recodes, columns)
    objective = _comparable_objective(prepared, grouped)
    loss = Loss(losses, *size_measures(grouping), frequency_tables=errors, objective=objective)
    return Recoded(released, loss, recodes)


def _uniform_strata(prepared: Prepared) -> dict[str, Series]:
    """Return the strata that have several forms of an equal value, with one form of each.

    Groups do not distinguish 0.0 from -0.0, NaN from missing, or two codes that a file declares as missing; readers of
    a file may.
    """
    changed: dict[str, Series] = {}
    for name in prepared.schema.strata:
        column = prepared.table.column(name)
        labels = prepared.table.labels
        coded = labels is not None and name in labels.missing_codes
        if column.dtype.is_float():
            zero = nw.lit(0.0).cast(column.dtype)
            one_zero = nw.when(nw.col(name) == 0).then(zero).otherwise(nw.col(name)).alias(name)
            changed[name] = column.to_frame().select(one_zero)[name].fill_nan(None)
        elif coded:
            changed[name] = column
    return changed


def resolve_recodes(
    prepared: Prepared, grouped: Grouped, stated: Mapping[str, str | Recode] | None = None
) -> dict[str, Recode]:
    """Return what replaces the values of each quasi-identifier."""
    schema = prepared.schema.updated(recode={name: str(text) for name, text in (stated or {}).items()} or None)
    objective = grouped.outcome.objective
    frequencies = bool(grouped.runs) and all(run.frequencies for run in grouped.runs)
    of_objective = None if objective is None else _OF_OBJECTIVE.get(objective.name)
    return {column.name: _recode_of(column, of_objective, frequencies=frequencies) for column in schema.quasi}


def _recode_of(column: Column, of_objective: Recode | None, *, frequencies: bool) -> Recode:
    if column.recode is not None or column.hierarchy is not None:
        return column.default_recode
    if frequencies and column.kind != Kind.NUMERIC:
        return Recode.FREQUENCIES
    if of_objective is not None and column.kind == Kind.NUMERIC:
        return of_objective
    return column.default_recode


def _comparable_objective(prepared: Prepared, grouped: Grouped) -> Objective | None:
    """Return the objective with its bound, unless sampling weights make the reported loss another quantity."""
    return None if prepared.weights is not None else grouped.outcome.objective


def _selected_records(
    prepared: Prepared, grouped: Grouped, recodes: Mapping[str, Recode], data: MethodData | None, progress: Progress
) -> dict[Recode, Integers]:
    """Return the record of each group whose values are released, for recodes that release those of one record."""
    selected: dict[Recode, Integers] = {}
    used = set(recodes.values())
    if Recode.MEDOID in used:
        points = (data or MethodData(prepared, grouped.blocks.suppressed)).points().astype(np.float64, copy=False)
        selected[Recode.MEDOID] = group_medoids(points, grouped.grouping, prepared.weights)
    if Recode.FREQUENCIES in used:
        if grouped.outcome.representatives is not None:
            selected[Recode.FREQUENCIES] = grouped.outcome.representatives
        else:
            from shoal.methods.nominal.table_representatives import table_representatives

            names = [name for name, recode in recodes.items() if recode == Recode.FREQUENCIES]
            codes = np.column_stack([_codes(prepared.values(name, grouped.blocks.suppressed)) for name in names])
            found = table_representatives(codes, grouped.grouping.labels, progress=progress)
            selected[Recode.FREQUENCIES] = getattr(found, "representatives", found)
    return selected


@dataclass(frozen=True, eq=False)
class _ColumnTask:
    """One column that is recoded: its encoding, its values and the groups."""

    entry: ColumnEncoding
    series: Series
    values: Floats
    grouping: Grouping
    original: Floats
    weights: Floats | None
    recode: Recode
    decimals: Decimals

    def recoded(self, selected: Integers | None) -> tuple[Series, ColumnLoss]:
        """Return the released column and its loss; ``selected`` is the record released for each group, if any."""
        if self.recode == Recode.RANGE:
            return self._as_ranges()
        if self.recode in {Recode.SET, Recode.HIERARCHY}:
            return self._generalised()
        if self.recode == Recode.SUPPRESS:
            return self._suppressed()
        representatives = self._representatives(selected)
        integers = isinstance(self.entry, NumericEncoding) and self.entry.integer and self.decimals in {"input", 0}
        if integers:
            representatives = self._integers(representatives)
        elif isinstance(self.decimals, int) and isinstance(self.entry, NumericEncoding):
            origin = float(self.entry.origin)
            representatives = np.round(representatives + origin, self.decimals) - origin
        changed = representatives[self.grouping.labels]
        plain = isinstance(self.entry, NumericEncoding) and not integers
        return self.entry.restore(changed, self.series, integers=not plain), self._loss(changed)

    def _representatives(self, selected: Integers | None) -> Floats:
        values, grouping = self.values, self.grouping
        if self.recode in {Recode.MEDOID, Recode.FREQUENCIES}:
            assert selected is not None
            return values[selected]
        if self.recode in {Recode.MIN, Recode.MAX, Recode.MIDRANGE}:
            lowest, highest = group_ranges(values, grouping)
            low, high = {
                Recode.MIN: (lowest, lowest), Recode.MAX: (highest, highest), Recode.MIDRANGE: (lowest, highest),
            }[self.recode]  # fmt: skip
            return values[low] / 2 + values[high] / 2
        if self.recode == Recode.MODE:
            distinct, codes = np.unique(values, return_inverse=True)  # equal NaN are one value
            return distinct[group_modes(codes.reshape(-1), grouping, self.weights)]
        if self.recode == Recode.MEDIAN:
            lower = self.entry.column.kind == Kind.ORDINAL
            return group_medians(values, grouping, self.weights, lower=lower)
        return group_means(values, grouping, self.weights)

    def _integers(self, representatives: Floats) -> Floats:
        if self.recode != Recode.MEAN:
            return self.entry.rounded(representatives)
        sizes = self.grouping.sizes if self.weights is None else np.bincount(self.grouping.labels, self.weights)
        return round_keeping_sum(representatives, sizes.astype(np.float64))

    def _as_ranges(self) -> tuple[Series, ColumnLoss]:
        from shoal.recoding.penalties import extent_penalty
        from shoal.recoding.range_texts import range_texts

        lowest, highest = group_ranges(self.values, self.grouping)
        ends = (self.entry.restore(self.values[rows], self.series).to_list() for rows in (lowest, highest))
        middles = self.values[lowest] / 2 + self.values[highest] / 2
        charged = extent_penalty(self.values, self.grouping)
        loss = self._with_penalties(self._loss(middles[self.grouping.labels]), charged, charged)
        return self._texts(range_texts(*ends)), loss

    def _generalised(self) -> tuple[Series, ColumnLoss]:
        from shoal.recoding.generalisation import generalise_by_hierarchy, generalise_to_sets

        distinct, codes = np.unique(self.values, return_inverse=True)  # equal NaN are one value
        names, codes = self._names(distinct), codes.reshape(-1).astype(np.int64)
        if self.recode == Recode.SET:
            found = generalise_to_sets(distinct, codes, names, self.grouping)
        else:
            tree = self._tree()
            found = generalise_by_hierarchy(distinct, codes, names, self.grouping, tree, self.entry.column.name)
        loss = self._with_penalties(self._generalised_loss(found), found.ncp, found.height)
        return self._texts(found.texts), loss

    def _tree(self) -> Hierarchy:
        if self.entry.tree is not None:
            return self.entry.tree
        from shoal.schema.hierarchy_sources import hierarchy_of

        return hierarchy_of(self.entry.column, Table.from_native(self.series.to_frame().to_native()))

    def _suppressed(self) -> tuple[Series, ColumnLoss]:
        from shoal.recoding.suppression import group_agreement
        from shoal.tables.replacing import with_missing

        differ = ~group_agreement(self.values, self.grouping)
        kept = np.where(differ[self.grouping.labels], np.nan, self.values)
        released = with_missing(self.entry.restore(self.values, self.series), differ[self.grouping.labels])
        charged = differ.astype(np.float64)
        return released, self._with_penalties(self._loss(kept), charged, charged)

    def _texts(self, texts: list[str | None]) -> Series:
        column = np.array(texts, dtype=object)[self.grouping.labels]
        return nw.new_series(self.series.name, column.tolist(), nw.String, backend=self.series.implementation)

    def _names(self, distinct: Floats) -> list[str | None]:
        known = ~np.isnan(distinct)
        shown = self.entry.restore(distinct[known], self.series).to_list()
        found = [None if value is None or value != value else text_of(value) for value in shown]  # noqa: PLR0124 - NaN
        return [*found, *([None] * int((~known).sum()))]

    def _loss(self, changed: Floats) -> ColumnLoss:
        if isinstance(self.entry, CategoryEncoding) and self.entry.column.kind == Kind.NOMINAL:
            return mismatch_loss(self.original, changed, self.weights)
        standardised = self.entry.standardised
        return squared_loss(standardised(self.original), standardised(changed), self.weights)

    def _generalised_loss(self, found: Generalised) -> ColumnLoss:
        """Return the loss of a reader who takes the mean of what a text represents, or guesses among its categories."""
        if isinstance(self.entry, NumericEncoding) or self.entry.column.kind == Kind.ORDINAL:
            return self._loss(found.values[self.grouping.labels])
        total = mismatch_loss(self.original, self.original, self.weights)
        wrong = np.where(np.isnan(self.original), 0.0, 1 - 1 / found.options[self.grouping.labels])
        return ColumnLoss(float(wrong.sum() if self.weights is None else wrong @ self.weights), total.sst)

    def _with_penalties(self, loss: ColumnLoss, ncp: Floats, height: Floats) -> ColumnLoss:
        """Return the loss with the mean penalties of its cells."""
        sizes = self.grouping.sizes if self.weights is None else np.bincount(self.grouping.labels, self.weights)
        total = float(sizes.sum())
        return replace(loss, ncp=float(ncp @ sizes) / total, total_il=float(height @ sizes) / total)


def _table_errors(
    prepared: Prepared, recodes: Mapping[str, Recode], released: Mapping[str, Series]
) -> FrequencyErrors | None:
    """Return the errors in frequency tables, where all quasi-identifiers are categories before and after."""
    entries = prepared.encoding.quasi
    if any(entry.column.kind == Kind.NUMERIC or recodes[entry.column.name] not in _CATEGORIES for entry in entries):
        return None
    from shoal.core.frequency_errors import frequency_errors

    before = np.column_stack([_codes(prepared.original(entry.column.name)) for entry in entries])
    after = np.column_stack([_codes(entry.values(released[entry.column.name])) for entry in entries])
    return frequency_errors(before, after)


def _codes(values: Floats) -> NDArray[np.int32]:
    """Return codes from 1; a missing value is 0."""
    return (np.nan_to_num(values, nan=-1.0) + 1.0).astype(np.int32)
