"""Groups of ``auto`` that satisfy requirements are searched further by the loss that is reported."""

from __future__ import annotations

import numpy as np

from shoal.core.grouping import canonical_labels
from shoal.core.progress import Progress
from shoal.core.requirement_violation import RequirementTable
from shoal.flow.column_costs import column_costs
from shoal.flow.group import Grouped, StepRecord
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.methods.refinement.mixed_table import group_figures, mixed_table
from shoal.methods.refinement.required_search import Required, required_work, search_within
from shoal.schema.columns import Kind


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
        return canonical_labels(search_within(part, labels, required, passes=passes, sweeps=sweeps, progress=progress))

    labels = grouped.blocks.mapped(prepared.n, searched)
    return grouped.regrouped(labels, StepRecord("search within the requirements", {"passes": passes, "sweeps": sweeps}))
