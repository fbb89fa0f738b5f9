"""Requirements on confidential attributes where persons have several rows: every group satisfies them by persons.

Groups first satisfy the requirements by records, as far as these can be satisfied at all, which often leaves few groups
to change; then groups that violate one by persons are joined with near ones, and measured again after every join
(:mod:`shoal.privacy.person_joins`). The same joins are made without the first step, and the better result is kept,
since records may violate what persons satisfy and the other way round. Groups that get the same released values form
one class, so they are joined and measured too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.errors import GroupTooLarge, ParameterError, RequirementNotMet, ShoalError
from shoal.flow.group import Blocks, Grouped, StepRecord
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.privacy.counts import Floats
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.person_joins import PersonRequirements, join_groups
from shoal.schema.requirements import Requirements

if TYPE_CHECKING:
    from shoal.core.requirement_violation import RequirementTable
    from shoal.flow.recode import Recoded
    from shoal.flow.satisfy import ConfidentialValues

Enforce = Callable[[Grouped, "RequirementTable", Integers], Grouped]
"""Returns groups near the given ones that satisfy a table of requirements, counted by records."""


def person_requirements(
    prepared: Prepared, requirements: Requirements, confidential: ConfidentialValues | None
) -> PersonRequirements | None:
    """Return the requirements that are counted by persons; None without a unit, or where only k is requested."""
    if prepared.units is None or prepared.schema.unit is None:
        return None
    if confidential is None and requirements.max_share is None:
        return None
    return PersonRequirements(requirements, prepared.units.unit, () if confidential is None else confidential.values)


def check_achievable(rule: PersonRequirements, blocks: Blocks) -> None:
    """Raise for a requirement that no grouping satisfies: one that only improves by joining, and fails in one group."""
    labels = _block_labels(blocks, rule.units.size)
    found = rule.violated(labels, growing=True)
    if found is None:
        return
    name, column, requested, best = found
    groups = "all records in one group" if len(blocks) == 1 else "one group per stratum or pattern"
    about = f' for column "{column}"' if column else ""
    raise ParameterError(
        f"{name}={requested:g} is not achievable{about}, counted by persons: with {groups}, {name}={best:.4g}; request "
        f"that or {'more' if name == 'max_share' else 'less'}"
    )


def persons_satisfied(
    grouped: Grouped,
    rule: PersonRequirements,
    confidential: ConfidentialValues | None,
    counted: Integers | None,
    data: MethodData,
    *,
    enforce: Enforce,
    progress: Progress = SILENT,
) -> Grouped:
    """Return groups near the given ones that satisfy the requirements by persons.

    Parameters
    ----------
    grouped
        Groups with k records, persons or households each.
    rule
        The requirements.
    confidential
        The confidential attributes.
    counted
        The person or household of each row, where k counts these.
    data
        The coordinates of the rows.
    enforce
        The enforcement by records.
    progress
        Progress callback.

    Raises
    ------
    RequirementNotMet
        Where neither start leads to groups that satisfy all of them.
    """
    if not rule.violation(grouped.grouping.labels).any():
        return grouped.regrouped(grouped.grouping.labels, StepRecord("requirements by persons", {"joins": 0}))
    table, codes = record_requirements(rule, confidential, counted)
    table = without_impossible(table, codes, grouped.blocks)
    # records may violate what persons satisfy, and the other way round: neither start is always the better one
    found: list[Grouped] = []
    problems: list[ShoalError] = []
    for by_records in (True, False):
        try:
            start = enforce(grouped, table, codes) if by_records else grouped
            each = joined(start, rule, data, progress)
        except GroupTooLarge as problem:  # max_size leaves no room for these joins
            problems.append(problem)
            continue
        violated = rule.violated(each.grouping.labels)
        if violated is None:
            found.append(each)
        else:
            problems.append(unmet(*violated))
    if not found:
        raise problems[0]
    return min(found, key=lambda each: _squared_error(data, each.grouping.labels))


def _squared_error(data: MethodData, labels: Integers) -> float:
    """Return the squared error of the coordinates within groups, up to a constant: minus that between groups."""
    sizes = np.bincount(labels)
    sums = (np.bincount(labels, column.astype(np.float64)) for column in data.points().T)
    return -sum(float((total**2 / sizes).sum()) for total in sums)


def joined(grouped: Grouped, rule: PersonRequirements, data: MethodData, progress: Progress = SILENT) -> Grouped:
    """Return groups joined until they satisfy the requirements by persons, as far as joining leads there."""
    points = data.points().astype(np.float64, copy=False)
    labels, joins = join_blocks(grouped.grouping.labels, rule, points, grouped.blocks, progress)
    return grouped.regrouped(labels, StepRecord("requirements by persons", {"joins": joins}))


def join_blocks(
    before: Integers, rule: PersonRequirements, points: Floats, blocks: Blocks, progress: Progress = SILENT
) -> tuple[Integers, int]:
    """Return the groups of all blocks joined until they satisfy the requirements, and the number of joins."""
    total = 0

    def inside(block: Integers) -> Integers:
        nonlocal total
        labels, joins = join_groups(points[block], before[block], rule, block, progress=progress)
        total += joins
        return labels

    return blocks.mapped(before.size, inside), total


def unmet(name: str, column: str, requested: float, reached: float) -> RequirementNotMet:
    """Return the error for a requirement that joining groups did not satisfy."""
    about = f' of "{column}"' if column else ""
    return RequirementNotMet(
        f"{name}={requested:g}{about} was not reached: counted by persons, the groups have {name}={reached:.4g} after "
        "all joins; request a weaker value, or drop or coarsen the column"
    )


def settle_classes(
    prepared: Prepared,
    grouped: Grouped,
    recoded: Recoded,
    rule: PersonRequirements,
    *,
    recode: Callable[[Grouped], Recoded],
    data: Callable[[], MethodData],
    progress: Progress = SILENT,
) -> tuple[Grouped, Recoded]:
    """Return groups whose released classes satisfy the requirements: groups with the same released values are joined.

    Parameters
    ----------
    prepared, grouped, recoded
        The stages before.
    rule
        The requirements.
    recode
        Recodes other groups.
    data
        Returns the coordinates of the rows, which are needed only where groups change.
    progress
        Progress callback.
    """
    while not rule.joining_is_safe:
        classes = canonical_labels(class_labels(recoded.table, prepared.schema.protected))
        if not rule.violation(classes).any():
            break
        labels = _joined_by_class(grouped.grouping.labels, classes, grouped.blocks)
        if int(labels.max()) + 1 == len(grouped.grouping):
            break  # the recount names the requirement
        step = StepRecord("equal released values together", {"joins": len(grouped.grouping) - int(labels.max()) - 1})
        grouped = joined(grouped.regrouped(labels, step), rule, data(), progress)
        problem = rule.violated(grouped.grouping.labels)
        if problem is not None:
            raise unmet(*problem)
        recoded = recode(grouped)
    return grouped, recoded


def _joined_by_class(labels: Integers, classes: Integers, blocks: Blocks) -> Integers:
    """Return groups in which all groups of a block with rows of one class are one."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    together = canonical_labels(classes * len(blocks) + _block_labels(blocks, labels.size))
    groups = int(labels.max()) + 1
    size = groups + int(together.max()) + 1
    links = coo_matrix((np.ones(labels.size, np.int8), (labels, groups + together)), shape=(size, size))
    return canonical_labels(connected_components(links, directed=False)[1][labels].astype(np.int64))


def _block_labels(blocks: Blocks, n: int) -> Integers:
    labels = np.empty(n, np.int64)
    for number, records in enumerate(blocks.members):
        labels[records] = number
    return labels


def record_requirements(
    rule: PersonRequirements, confidential: ConfidentialValues | None, counted: Integers | None
) -> tuple[RequirementTable, Integers]:
    """Return the requirements as records count them, and the codes that they are about."""
    from shoal.core.requirement_violation import ALPHA
    from shoal.flow.satisfy import requirement_arrays
    from shoal.privacy.requirement_table import require_units

    units, wanted = rule.units, rule.requirements
    if confidential is None and counted is None:
        table, codes = require_units(1, int(units.max()) + 1), units[:, None]
    else:
        table, codes = requirement_arrays(wanted, confidential, counted)
    if wanted.max_share is not None:
        row = np.array([[ALPHA, codes.shape[1], 0, 0, 0, 0, int(units.max()) + 1]], np.int64)
        threshold = np.array([[wanted.max_share, 0.0]])
        table = table._replace(rows=np.vstack([table.rows, row]), thresholds=np.vstack([table.thresholds, threshold]))
        codes = np.column_stack([codes, units])
    return table, np.ascontiguousarray(codes, np.int64)


def without_impossible(table: RequirementTable, codes: Integers, blocks: Blocks) -> RequirementTable:
    """Return the requirements without those that one group per block violates."""
    from shoal.core.requirement_violation import SATISFIED, violations

    sizes = np.array([block.size for block in blocks.members], np.int64)
    members, starts = np.concatenate(blocks.members), np.cumsum(sizes) - sizes
    possible = [
        bool((violations(codes, members, starts, sizes, _one_row(table, row)) <= SATISFIED).all())
        for row in range(len(table.rows))
    ]
    return table._replace(rows=table.rows[possible], thresholds=table.thresholds[possible])


def _one_row(table: RequirementTable, row: int) -> RequirementTable:
    return table._replace(rows=table.rows[row : row + 1], thresholds=table.thresholds[row : row + 1])
