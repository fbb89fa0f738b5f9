"""Repair across parts: whole groups travel by their centroid to the parts of another tree and are refined there.

A search inside a part ends at its borders. So groups are sorted into the parts of a second tree, whose cuts cross those
of the first (along sums and differences of two columns, or at other places), and the search goes on there
(Thaeter 2021, section 7.2; the passes over newly cut blocks of :mod:`shoal.methods.refinement.record_annealing`). Only
whole groups travel, so no part ever has a group of fewer than k, whatever its cuts are. The loss never rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.core.group_statistics import group_modes
from shoal.core.grouping import Grouping, Groups, ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.engines.cut_tree import Floats, Integers
from shoal.engines.leaf_figures import leaf_figures
from shoal.engines.leaf_job import ROW, LeafRelease
from shoal.engines.partition import LARGEST_LEAF, Cutting, Partition, cut_values, make_partition
from shoal.engines.planning import Planned
from shoal.flow.column_costs import column_costs
from shoal.flow.encoding import Encoding
from shoal.flow.group import Grouped, MethodRun, find_blocks, group_records, method_for
from shoal.flow.prepare import KNOWN_CELLS, MethodData, Prepared, prepare
from shoal.flow.recode import recode_table
from shoal.methods.contract import Outcome
from shoal.methods.effort import MANY_ATTRIBUTES
from shoal.methods.refinement.mixed_search import anneal_mixed
from shoal.methods.refinement.mixed_table import mixed_table
from shoal.methods.refinement.record_annealing import Neighbours, anneal_records
from shoal.schema.columns import Kind, Missing
from shoal.schema.plan import Plan
from shoal.schema.requirements import Of
from shoal.tables import Table
from shoal.tables.table import to_arrow

GROUP = "__shoal_group"
"""The column of group numbers that travels with the rows."""
PASSES = {"fast": 0, "balanced": 2, "best": 4}
"""Repairs for each effort of ``auto``."""
CUTTINGS = (
    Cutting(rotated=True),
    Cutting(fraction=1 / 3),
    Cutting(rotated=True, fraction=1 / 3),
    Cutting(fraction=0.4),
)
"""How the trees of repairs differ from the first tree."""
SWEEPS = {"balanced": 3, "best": 30}
HEAT = 0.3
"""The temperature at which the search goes on after groups have travelled; the same as that of a search that is heated
again."""


def repair_passes(plan: Plan, planned: Planned) -> int:
    """Return how often groups travel: by the effort of ``auto``; never where more than k rows is asked for.

    Persons, sampling weights, a largest group size, l and t, and groups by known cells or missingness pattern have
    searches of their own, which end at the borders of parts.
    """
    schema, requirements, profile = plan.schema, plan.requirements, planned.profile
    policies = {schema[name].missing or schema.missing for name in profile.missing}
    plain = not (
        plan.of != Of.ROWS or requirements.beyond_k or requirements.max_size is not None
        or schema.sampling_weight is not None or policies & {Missing.BY_PATTERN, *KNOWN_CELLS}
    )  # fmt: skip
    if plan.method.name != "auto" or not plain or planned.partition.tree.leaves == 1:
        return 0
    prepared = prepare(planned.sample, planned.partition.encoding)
    kind = method_for(prepared, plan.method).data
    if kind == "codes" or planned.partition.encoding.width == 1:
        return 0
    return PASSES[str(plan.method.options.get("effort", "balanced"))]


def repair_trees(planned: Planned, passes: int, leaf_records: int) -> list[Partition]:
    """Return the tree of each repair."""
    partition = planned.partition
    return [
        make_partition(
            partition.plan, partition.encoding, planned.profile, planned.sample, leaf_records=leaf_records,
            cutting=CUTTINGS[number % len(CUTTINGS)],
        )
        for number in range(passes)
    ]  # fmt: skip


def group_part(part: Any, plan: Plan, encoding: Encoding, progress: Progress = SILENT) -> tuple[Integers, Any]:
    """Return the first groups of a part (a pyarrow Table), and the methods that ran."""
    prepared = prepare(Table.from_native(part), encoding)
    grouped = group_records(prepared, plan.requirements, plan.method, progress=progress)
    return grouped.grouping.labels, grouped.runs


def refine_part(part: Any, labels: Integers, plan: Plan, encoding: Encoding, number: int) -> Integers:
    """Return groups of a part that are at least as good; a group never crosses a stratum.

    Parameters
    ----------
    part
        The rows as a pyarrow Table, in the order of their numbers.
    labels
        The group of each row.
    plan, encoding
        What is requested, and the encoding of the whole table.
    number
        The number of the repair, by which its random numbers differ.
    """
    prepared = prepare(Table.from_native(part), encoding)
    blocks, data = find_blocks(prepared, plan.requirements), MethodData(prepared)

    def refined(rows: Integers) -> Integers:
        return _refined(prepared, data, ordered_labels(labels[rows]), rows, plan, number)

    return blocks.mapped(prepared.n, refined)


def _refined(
    prepared: Prepared, data: MethodData, labels: Integers, rows: Integers, plan: Plan, number: int
) -> Integers:
    k, seed = plan.requirements.k, plan.method.seed + 1_000 * (number + 1)
    sweeps = SWEEPS[str(plan.method.options.get("effort", "balanced"))]
    if method_for(prepared, plan.method).data == "mixed":
        schema = prepared.schema
        table = mixed_table(
            data.mixed()[rows], np.array([column.kind == Kind.NOMINAL for column in schema.quasi]),
            column_weights=np.array([column.weight for column in schema.quasi]), record_weights=None,
            column_costs=column_costs(prepared), observed=None,
        )  # fmt: skip
        return anneal_mixed(table, labels, k, passes=1, sweeps=sweeps, seed=seed).labels
    points = data.points()[rows]
    neighbours: Neighbours = "record" if points.shape[1] > MANY_ATTRIBUTES else "group"
    return anneal_records(
        points, labels, k, passes=1, sweeps=sweeps, hot=HEAT, neighbours=neighbours, seed=seed
    ).labels  # fmt: skip


def group_places(part: Any, labels: Integers, partition: Partition) -> Integers:
    """Return the leaf of another tree that each row's group belongs to, by the centroid of the group."""
    table = Table.from_native(part)
    values, groups = cut_values(partition.encoding, table), Groups(labels)
    centroids = np.empty((len(groups), values.shape[1]))
    for j, entry in enumerate(partition.encoding.quasi):
        centroids[:, j] = _centres(values[:, j], groups, nominal=entry.column.kind == Kind.NOMINAL)
    roots = partition.roots(table)
    first = np.zeros(len(groups), np.int64)
    first[groups.labels[::-1]] = np.arange(labels.size)[::-1]
    return partition.tree.route(centroids, roots[first])[groups.labels]


def _centres(values: Floats, groups: Groups, *, nominal: bool) -> Floats:
    if nominal:
        return group_modes(values.astype(np.int64) + 1, groups).astype(np.float64) - 1.0
    return np.bincount(groups.labels, values, len(groups)) / groups.sizes


def recode_part(
    part: Any, labels: Integers, plan: Plan, encoding: Encoding, runs: tuple[MethodRun, ...]
) -> LeafRelease:
    """Return the released rows of a part whose groups are known, and what was counted."""
    prepared = prepare(Table.from_native(part), encoding)
    grouping = Grouping(labels, plan.requirements.k)
    blocks = find_blocks(prepared, plan.requirements)
    grouped = Grouped(plan.requirements, grouping, blocks, Outcome(grouping.labels), runs)
    recoded = recode_table(prepared, grouped, decimals=plan.decimals, sums=plan.sums)
    return LeafRelease(to_arrow(recoded.table), leaf_figures(prepared, grouped, recoded))


def travelling(part: Any, names: Sequence[str], labels: Integers, tree: Partition) -> tuple[Any, Integers]:
    """Return the rows of a part with the group of each, and the leaf of another tree that the group belongs to.

    A group is called by the number of its first row, so that its name does not depend on where it was made.
    """
    import pyarrow as pa

    kept = part.drop_columns([GROUP]) if GROUP in part.column_names else part
    first = np.full(int(labels.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, labels, part.column(ROW).to_numpy())
    places = group_places(part.select(names), labels, tree)
    return kept.append_column(GROUP, pa.array(first[labels])), places


def pieces_of_groups(records: int, leaf_records: int) -> int:
    """Return in how many pieces the groups of a leaf are divided that has so many rows.

    Examples
    --------
    >>> pieces_of_groups(900, 200), pieces_of_groups(300, 200)
    (2, 1)
    """
    return max(1, int(records / (LARGEST_LEAF * leaf_records)))
