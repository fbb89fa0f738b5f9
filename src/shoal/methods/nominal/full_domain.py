"""full-domain: one level of generalisation per column for the whole table, the best one of the lattice.

El Emam et al. 2009 and Kohlmayer et al. 2012. A lattice has a node for each combination of levels; the classes of a
node are the records with equal generalised rows, and records in classes below k, or in classes that violate a further
requirement, are suppressed, up to a limit. The loss
is the mean NCP over cells: 0 for a value itself, leaves / values for a node, 1 for a suppressed cell. One coding for
all records is what tables by category need; grouping with ``--recode hierarchy`` loses less. Time: nodes counted times
n m.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes, collapse, equal_rows
from shoal.errors import ParameterError, RequirementNotMet
from shoal.methods.contract import ClassRule, ColumnCost, Objective, Outcome
from shoal.methods.nominal.level_search import ColumnLevels, RowRule, search_levels
from shoal.methods.registry import method


@method(
    "full-domain",
    title="One level of generalisation per column for the whole table",
    complexity="(nodes counted) n m",
    reference="El Emam et al. 2009; Kohlmayer et al. 2012",
    when="for tables that need one coding for all records",
    proves="NCP",
)
def full_domain(
    codes: NDArray[np.int32],
    k: int,
    *,
    max_suppressed: float = 0.0,
    column_costs: Sequence[ColumnCost] | None = None,
    class_rule: ClassRule | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records that are equal on the best level of each column.

    Parameters
    ----------
    max_suppressed
        The largest share of the records that may be suppressed, 0 to 1. Those of a block (a stratum, or a pattern of
        missing cells) are one group, of at least k records, that satisfies all requirements itself.

    Examples
    --------
    >>> found = full_domain(np.array([[0, 0], [0, 0], [1, 0], [1, 1], [1, 1]], np.int32), 2)
    >>> found.diagnostics["levels"], found.diagnostics["proven"]
    ([0, 1], True)
    """
    if not 0 <= max_suppressed <= 1:
        raise ParameterError(f"max_suppressed={max_suppressed:g} is a share of the records; choose 0 to 1")
    check_codes(codes)
    columns = [_levels(codes[:, j], None if column_costs is None else column_costs[j]) for j in range(codes.shape[1])]
    rule = class_rule or ClassRule(np.zeros(len(codes), np.int64))
    different = collapse(np.column_stack([codes, rule.blocks]).astype(np.int32))
    limit = int(max_suppressed * len(codes) + 1e-9)
    violating = rule.violating
    of_rows = RowRule(
        different.rows[:, -1].astype(np.int64),
        None if violating is None else lambda classes: violating(classes[different.inverse]),
        rule.joined,
    )
    choice = search_levels(
        different.rows[:, :-1], different.counts, columns, k, limit=limit, rule=of_rows, progress=progress
    )
    if choice.levels is None:
        raise RequirementNotMet(
            f"no combination of levels satisfies all requirements with at most {limit} suppressed records: even with "
            f"the highest level of every column {choice.least_suppressed} of {len(codes)} records would have to be "
            "suppressed; request weaker values, or allow more with max_suppressed"
        )
    nodes = [
        column.nodes[level][codes[:, j]].astype(np.float64)
        for j, (column, level) in enumerate(zip(columns, choice.levels, strict=True))
    ]
    labels = equal_rows([*nodes, rule.blocks])
    small = np.bincount(labels)[labels] < k
    if violating is not None:
        small |= violating(labels)[labels]
    labels[small] = labels.max() + 1 + rule.blocks[small]  # the suppressed records of a block are one group
    bound = choice.loss if choice.proven else None
    return Outcome(
        canonical_labels(labels),
        objective=Objective("NCP", choice.loss, bound, "all combinations of levels"),
        diagnostics={
            "levels": list(choice.levels),
            "suppressed_records": int(small.sum()),
            "lattice_nodes": choice.nodes,
            "counted_nodes": choice.checked,
            "proven": choice.proven,
        },
    )


def _levels(codes: NDArray[np.int32], cost: ColumnCost | None) -> ColumnLevels:
    """Return the levels of a column; without a hierarchy the values themselves and everything."""
    if cost is not None and cost.ancestors is not None and cost.options is not None:
        itself = cost.ancestors == cost.ancestors[0]
        penalties = np.where(itself, 0.0, cost.options / cost.options.max())
        return ColumnLevels(cost.ancestors, penalties, (cost.options[0] > 0).astype(np.float64))
    values = int(codes.max(initial=0)) + 1
    everything = 1.0 if np.unique(codes).size > 1 else 0.0
    nodes = np.vstack([np.arange(values), np.full(values, values)])
    return ColumnLevels(nodes, np.vstack([np.zeros(values), np.full(values, everything)]))
