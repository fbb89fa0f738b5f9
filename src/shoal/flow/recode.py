"""Recoding: every quasi-identifier replaced by the representative of its group, and what that cost.

:func:`group_and_recode` groups and recodes a prepared table, or a part of it that an engine protects by itself.

Which representative: what the schema states for the column; a hierarchy, if it has one; for categories grouped by a
method that suits them, a record that keeps frequency tables (selected by the method or here); the representative that
belongs to the objective of the method; otherwise mean, median or mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.group_statistics import group_medoids
from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.flow.column_recode import ColumnTask, MeanColumn
from shoal.flow.encoding import ColumnEncoding, Floats, NumericEncoding
from shoal.flow.exact_numbers import exact_numbers
from shoal.flow.group import Grouped, find_blocks, group_records
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.methods.contract import Objective
from shoal.recoding.loss import ColumnLoss, Loss, size_measures
from shoal.recoding.rounded_means import NO_KEYS, Words, content_keys
from shoal.schema.columns import Column, Kind, Recode, ReleaseWeight
from shoal.schema.plan import Decimals, Plan, Sums
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.core.frequency_errors import FrequencyErrors
    from shoal.flow.kept_moments import KeptMoments
    from shoal.flow.known_cells import ChangedCells
    from shoal.privacy.person_joins import PersonRequirements
    from shoal.tables.table import Series

_OF_OBJECTIVE = {
    "sae": Recode.MEDIAN,
    "max-distance": Recode.MIDRANGE,
    "round-up": Recode.MAX,
    "round-down": Recode.MIN,
}
KEY_COLUMNS = 4
"""The number of numeric columns that draws depend on; more would only take longer."""
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
    cells
        How many cells of a column were filled or emptied, where records were grouped by their known cells.
    after
        The number of cells of each column that steps after grouping changed.
    moments
        What was restored where means and covariances were to be kept.
    repaired
        The number of cells of each column that were changed to keep rules between columns.
    """

    table: Table
    loss: Loss
    recodes: Mapping[str, Recode]
    cells: Mapping[str, ChangedCells] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    moments: KeptMoments | None = None
    repaired: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Recoded: {self.table.n_rows:,} records, information loss {100 * self.loss.information_loss:.2f} %>"


def group_and_recode(
    prepared: Prepared, plan: Plan, *, data: MethodData | None = None, progress: Progress = SILENT
) -> tuple[Grouped, Recoded]:
    """Group a prepared table, satisfy all requirements, and replace quasi-identifiers by representatives.

    Parameters
    ----------
    prepared
        The table, or a part of one.
    plan
        What is requested; whole persons are not grouped here.
    data
        Encoded arrays that several plans for one prepared table share.
    progress
        Progress callback.
    """
    requirements = plan.requirements
    blocks = find_blocks(prepared, requirements)
    shared = data is not None and not blocks.suppressed
    arrays = data if data is not None and shared else MethodData(prepared, blocks.suppressed)
    more = requirements.beyond_k or requirements.global_recoding or requirements.max_share is not None
    rule = None
    if more or prepared.counted(requirements) is not None:
        from shoal.flow.satisfy import group_beyond_k

        grouped, rule = group_beyond_k(prepared, plan, arrays, blocks, progress)
    else:
        grouped = group_records(prepared, requirements, plan.method, data=arrays, blocks=blocks, progress=progress)
    if not shared and Recode.MEDOID not in resolve_recodes(prepared, grouped).values():
        arrays.forget()  # the coordinates are not needed any more, and recoding needs the memory
    return _recoded(prepared, plan, grouped, arrays, rule, progress)


def _recoded(
    prepared: Prepared, plan: Plan, grouped: Grouped, arrays: MethodData, rule: PersonRequirements | None,
    progress: Progress,
) -> tuple[Grouped, Recoded]:  # fmt: skip
    def recode(groups: Grouped) -> Recoded:
        return recode_table(
            prepared, groups, decimals=plan.decimals, sums=plan.sums, keep_moments=plan.keep_moments,
            moment_bounds=plan.moment_bounds, data=arrays, progress=progress,
        )  # fmt: skip

    recoded = recode(grouped)
    if rule is not None:
        from shoal.flow.person_requirements import settle_classes

        grouped, recoded = settle_classes(
            prepared, grouped, recoded, rule, recode=recode, progress=progress,
            data=lambda: MethodData(prepared, grouped.blocks.suppressed),
        )  # fmt: skip
    return grouped, recoded


@checked
def recode_table(
    prepared: Prepared,
    grouped: Grouped,
    *,
    recode: str | Mapping[str, str | Recode] | None = None,
    decimals: Decimals = "input",
    sums: Sums = "rounded",
    keep_moments: bool = False,
    moment_bounds: Mapping[str, tuple[float, float]] | None = None,
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
        Other representatives than those of the schema: one for all quasi-identifiers, or by column.
    decimals
        Decimals of released numbers: ``input`` (integer columns stay integers), a number, or ``full``.
    sums
        Totals of columns that are replaced by means: ``rounded`` (means are rounded such that a difference between
        the totals of two releases discloses no record) or ``exact`` (totals are kept).
    keep_moments
        Move the representatives that are means by one linear map, such that means and covariances are kept.
    moment_bounds
        The smallest and the largest value that a moved column may get; without them those of the plain means.
    data
        The arrays of the table, to share them between calls.
    progress
        Progress callback.

    Returns
    -------
    recoded
        The table and its loss.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62]})
    >>> table, schema = shoal.load_table(people, quasi=["age"])
    >>> prepared = shoal.prepare(table, shoal.fit_encoding(table, schema))
    >>> grouped = shoal.group_records(prepared, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    >>> shoal.recode_table(prepared, grouped, recode="range").table.native["age"].to_list()
    ['30-32', '30-32', '30-32', '60-62', '60-62', '60-62']
    """
    if grouped.grouping.n != prepared.n:
        raise ParameterError(
            f"the groups are of {grouped.grouping.n:,} records and the table has {prepared.n:,}; group this table first"
        )
    recodes = resolve_recodes(prepared, grouped, recode)
    progress.stage("recoding", len(recodes))
    grouping, table = grouped.grouping, prepared.table
    columns: dict[str, Series] = {}
    losses: dict[str, ColumnLoss] = {}
    cells: dict[str, ChangedCells] = {}
    waiting: dict[str, MeanColumn] = {}
    for layer in _layers(prepared, grouped):
        inside = {entry.column.name: recodes[entry.column.name] for entry in layer.entries}
        selected = _selected_records(prepared, grouped, layer, inside, data, progress)
        rounded = sums == "rounded" and Recode.MEAN in inside.values()
        keys = _draw_keys(prepared, grouped, layer) if rounded else NO_KEYS
        for task in _tasks(prepared, grouped, layer, recodes, decimals, sums):
            name = task.entry.column.name
            chosen = selected.get(recodes[name])
            if name in prepared.aside or name in prepared.by_known:
                from shoal.flow.known_cells import recode_with_missing

                (columns[name], losses[name]), cells[name] = recode_with_missing(prepared, task, chosen, keys)
            elif keep_moments and recodes[name] == Recode.MEAN:
                waiting[name] = task.mean_column(keys)
            else:
                columns[name], losses[name] = task.recoded(chosen, keys)
            progress.advance()
    moments = None
    if keep_moments:
        moments = _with_moments(waiting, columns, losses, grouped.requirements.k, moment_bounds or {})
    losses = {entry.column.name: losses[entry.column.name] for entry in prepared.encoding.quasi}
    if prepared.whole is not None:
        from shoal.flow.suppressed_rows import with_suppressed_rows

        losses = {name: with_suppressed_rows(prepared, name, loss) for name, loss in losses.items()}
    schema = prepared.schema
    after: dict[str, int] = {}
    repaired: dict[str, int] = {}
    moved_again = bool(schema.keep) or any(column.after for column in schema.quasi)
    if moved_again and moments is not None:
        raise ParameterError(
            "keep_moments moves representatives, which rules between columns and steps after grouping would move "
            "again; leave one of them out"
        )
    if prepared.steps is not None or moved_again:
        from shoal.flow.after_recoding import after_recoding

        done = after_recoding(prepared, grouped, columns, losses, recodes)
        columns, losses, after, repaired = done.columns, done.losses, done.after, done.repaired
    weight = [name for name in [schema.sampling_weight] if name is not None and name != schema.released_weight]
    released = table.with_columns(columns | _uniform_strata(prepared) | _group_weights(prepared, grouping, sums))
    released = _with_declared_codes(prepared, grouped, released).without([*schema.dropped, *weight])
    comparable = prepared.whole is None and not after and not prepared.aside
    errors = _table_errors(prepared, recodes, columns) if comparable else None
    objective = _comparable_objective(prepared, grouped)
    loss = Loss(losses, *size_measures(grouping), frequency_tables=errors, objective=objective)
    return Recoded(released, loss, recodes, cells, after, moments, repaired)


def _tasks(
    prepared: Prepared, grouped: Grouped, layer: _Layer, recodes: Mapping[str, Recode], decimals: Decimals, sums: Sums,
) -> Iterator[ColumnTask]:  # fmt: skip
    """Yield the columns of a layer, each made when it is needed; linked columns need each other."""

    def made(entry: ColumnEncoding) -> ColumnTask:
        name = entry.column.name
        values = prepared.values(name, grouped.blocks.suppressed)
        changed = name in prepared.imputed or name in grouped.blocks.suppressed
        return ColumnTask(
            entry, prepared.table.column(name), values, layer.grouping,
            prepared.original(name) if changed else values, layer.weights, recodes[name], decimals, sums,
            grouped.levels.get(name),
        )  # fmt: skip

    if not prepared.schema.together:
        yield from map(made, layer.entries)
        return
    from shoal.flow.linked_suppression import suppressed_together

    yield from suppressed_together(prepared.schema, map(made, layer.entries))


def _with_declared_codes(prepared: Prepared, grouped: Grouped, released: Table) -> Table:
    """Return the released table with codes that its file declares as missing, where these cannot have a value."""
    if not prepared.aside:
        return released
    from shoal.flow.not_applicable import with_declared_codes

    groupings = {name: grouped.grouping_of(prepared.schema[name]) for name in prepared.aside}
    return with_declared_codes(released, prepared.aside, groupings)


def _with_moments(
    waiting: Mapping[str, MeanColumn], columns: dict[str, Series], losses: dict[str, ColumnLoss], k: int,
    bounds: Mapping[str, tuple[float, float]],
) -> KeptMoments:  # fmt: skip
    """Add the columns of means, moved such that means and covariances are kept."""
    from shoal.flow.kept_moments import keep_moments

    if not waiting:
        raise ParameterError(
            "keep_moments is about numeric quasi-identifiers that are replaced by means, and there are none; leave it "
            "out, or state recode=mean for numeric columns"
        )
    other = [name for name in bounds if name not in waiting]
    if other:
        raise ParameterError(
            f'moment_bounds name "{other[0]}", which keep_moments does not move: only numbers that are replaced by '
            "means and have no missing cells; leave it out"
        )
    moved, kept = keep_moments(waiting, k, bounds)
    for name, column in waiting.items():
        columns[name], losses[name] = column.recoded(moved.get(name, column.plain))
    return kept


@dataclass(frozen=True, eq=False)
class _Layer:
    """Columns that are replaced by the same groups, and what each row weighs in their means and loss."""

    entries: tuple[ColumnEncoding, ...]
    grouping: Grouping
    weights: Floats | None


def _layers(prepared: Prepared, grouped: Grouped) -> list[_Layer]:
    """Return the columns that are replaced by the same groups: of households, of whole persons, of rows."""
    weights = prepared.weights
    if grouped.row_weights is not None:
        weights = grouped.row_weights if weights is None else weights * grouped.row_weights
    by_groups: dict[int, list[ColumnEncoding]] = {}
    for entry in prepared.encoding.quasi:
        by_groups.setdefault(id(grouped.grouping_of(prepared.schema[entry.column.name])), []).append(entry)
    return [
        _Layer(tuple(entries), grouped.grouping_of(prepared.schema[entries[0].column.name]), weights)
        for entries in by_groups.values()
    ]


def _group_weights(prepared: Prepared, grouping: Grouping, sums: Sums) -> dict[str, Series]:
    """Return the sampling weight as the mean of the group, if it is grouped."""
    if prepared.weights is None or prepared.schema.release_weight != ReleaseWeight.GROUPED:
        return {}
    from shoal.flow.grouped_weights import group_weights

    return group_weights(prepared, grouping, sums)


def _draw_keys(prepared: Prepared, grouped: Grouped, layer: _Layer) -> Words:
    """Return what the draws of rounded means depend on: size of each group, and means of its first numeric columns."""
    entries = [entry for entry in layer.entries if isinstance(entry, NumericEncoding)]
    contents = []
    for entry in entries[:KEY_COLUMNS]:
        name = entry.column.name
        values = prepared.values(name, grouped.blocks.suppressed)
        numbers = exact_numbers(prepared.table.column(name), entry, values, "input", by_unit=False)
        contents.append(numbers.means(layer.grouping, None).content)
    return content_keys(layer.grouping.sizes, contents)


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
    prepared: Prepared, grouped: Grouped, stated: str | Mapping[str, str | Recode] | None = None
) -> dict[str, Recode]:
    """Return what replaces the values of each quasi-identifier."""
    if stated is not None and not isinstance(stated, str):
        stated = {name: str(text) for name, text in stated.items()} or None
    schema = prepared.schema.updated(recode=stated)
    objective = grouped.outcome.objective
    frequencies = bool(grouped.runs) and all(run.frequencies for run in grouped.runs)
    of_objective = None if objective is None else _OF_OBJECTIVE.get(objective.name)
    return {
        column.name: Recode.HIERARCHY
        if column.name in grouped.levels
        else _recode_of(column, of_objective, frequencies=frequencies)
        for column in schema.quasi
    }


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
    prepared: Prepared, grouped: Grouped, layer: _Layer, recodes: Mapping[str, Recode], data: MethodData | None,
    progress: Progress,
) -> dict[Recode, Integers]:  # fmt: skip
    """Return the record of each group whose values are released, for recodes that release those of one record."""
    selected: dict[Recode, Integers] = {}
    used = set(recodes.values())
    if Recode.MEDOID in used:
        points = (data or MethodData(prepared, grouped.blocks.suppressed)).points().astype(np.float64, copy=False)
        selected[Recode.MEDOID] = group_medoids(points, layer.grouping, layer.weights)
    if Recode.FREQUENCIES in used:
        if grouped.outcome.representatives is not None:
            selected[Recode.FREQUENCIES] = grouped.outcome.representatives
        else:
            from shoal.methods.nominal.table_representatives import table_representatives

            names = [name for name, recode in recodes.items() if recode == Recode.FREQUENCIES]
            codes = np.column_stack([_codes(prepared.values(name, grouped.blocks.suppressed)) for name in names])
            found = table_representatives(codes, layer.grouping.labels, progress=progress)
            selected[Recode.FREQUENCIES] = getattr(found, "representatives", found)
    return selected


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
