"""Groups of ``auto`` under requirements: a second start, and a search afterwards by the loss that is reported."""

from __future__ import annotations

import numpy as np

from shoal.core.grouping import canonical_labels
from shoal.core.progress import Progress
from shoal.core.requirement_violation import RequirementTable
from shoal.flow.column_costs import column_costs
from shoal.flow.group import Grouped, StepRecord, method_for
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.methods.effort import CHAIN_RECORDS
from shoal.methods.refinement.crossover import crossover
from shoal.methods.refinement.mixed_table import group_figures, mixed_table
from shoal.methods.refinement.required_search import (
    Required,
    required_work,
    search_windows,
    search_within,
    windows_work,
)
from shoal.schema.columns import Kind
from shoal.schema.plan import MethodCall


def searched_in_windows(
    prepared: Prepared, grouped: Grouped, size: int, data: MethodData, progress: Progress
) -> Grouped | None:
    """Return groups of at least ``size`` records with less squared error, as a second start; None for other tables.

    Only tables of numbers with means that ``annealing`` has grouped by moves of one record alone.
    """
    n, of_numbers = prepared.n, method_for(prepared, MethodCall("auto")).data == "points"
    whole = len(grouped.blocks) == 1 and grouped.requirements.max_size is None
    if grouped.search is None or not whole or not of_numbers or n <= CHAIN_RECORDS:
        return None
    points = data.points().astype(np.float64, copy=False)
    steps = windows_work(n, points.shape[1], size, grouped.search)
    if not steps or [ran.name for ran in grouped.runs] != ["annealing"]:
        return None
    labels = search_windows(points, grouped.grouping.labels, size, steps=steps, progress=progress)
    return grouped.regrouped(labels, StepRecord("search in windows", {"steps_per_record": int(steps)}))


def better_groups(first: Grouped, second: Grouped, data: MethodData) -> Grouped:
    """Return the cheaper groups of two that satisfy the same requirements, where they divide the same records."""
    points = data.points().astype(np.float64, copy=False)
    before = first.grouping.labels
    labels = canonical_labels(crossover(points, before, second.grouping.labels))
    taken = int((labels != canonical_labels(before)).any())
    return first.regrouped(labels, StepRecord("search in windows", {"changed": taken}))


def searched_within(
    prepared: Prepared, grouped: Grouped, table: RequirementTable, codes: Integers, data: MethodData, progress: Progress
) -> Grouped:
    """Return groups with at most the reported loss of the given ones that satisfy the same requirements.

    Where the reported loss is no sum over the groups, because frequency tables are kept or columns are suppressed
    together, the groups stay as they are.
    """
    costs = column_costs(prepared)
    if grouped.search is None or prepared.schema.together or any(cost.recode == "frequencies" for cost in costs):
        return grouped
    columns = prepared.schema.quasi
    whole = mixed_table(
        data.mixed(), np.array([column.kind == Kind.NOMINAL for column in columns]),
        column_weights=np.array([column.weight for column in columns]), record_weights=prepared.weights,
        column_costs=costs, observed=data.observed("mixed"),
    )  # fmt: skip
    before, requirements = grouped.grouping.labels, grouped.requirements
    passes, sweeps = required_work(prepared.n, grouped.search)

    def searched(block: Integers) -> Integers:
        required = Required(requirements.k, codes[block], table, requirements.max_size)
        part = whole if block.size == whole.n else whole.part(block)
        labels = canonical_labels(before[block])
        if not group_figures(part, labels).costs.any():
            return labels
        return search_within(part, labels, required, passes=passes, sweeps=sweeps, progress=progress)

    labels = grouped.blocks.mapped(prepared.n, searched)
    return grouped.regrouped(labels, StepRecord("search within the requirements", {"passes": passes, "sweeps": sweeps}))
