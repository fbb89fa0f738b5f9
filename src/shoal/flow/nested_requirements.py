"""Requirements on confidential attributes in groups of rows that are nested in groups of whole persons.

Groups of rows must not leave their group of persons, else constant columns would have several values. So requirements
are satisfied inside each group of persons, by exchanges and joins of its groups of rows, as in
:mod:`shoal.flow.person_requirements`; the last resort is one class of all rows of the group. Where even that class
violates a requirement the group of persons is joined with a near one. Everything is measured again after every join.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.flow.encoding import Floats
from shoal.flow.group import Blocks, Grouped, StepRecord
from shoal.flow.person_requirements import record_requirements, settle_classes, unmet, without_impossible
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.flow.satisfy import ConfidentialValues
from shoal.privacy.person_joins import PersonRequirements, join_groups

if TYPE_CHECKING:
    from shoal.core.requirement_violation import RequirementTable
    from shoal.flow.recode import Recoded


def members_of(groups: Integers) -> tuple[Integers, ...]:
    """Return the rows of each group 0, 1, ..., in ascending order.

    Examples
    --------
    >>> [rows.tolist() for rows in members_of(np.array([1, 0, 1]))]
    [[1], [0, 2]]
    """
    return tuple(np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1]))


def nested_satisfied(
    grouped: Grouped,
    rule: PersonRequirements,
    confidential: ConfidentialValues | None,
    counted: Integers | None,
    data: MethodData,
    constant: NDArray[np.bool_],
    *,
    progress: Progress = SILENT,
) -> Grouped:
    """Return groups of persons with nested groups of rows that satisfy the requirements by persons.

    Parameters
    ----------
    grouped
        Groups of rows with k of what is counted, nested in groups of whole persons (``grouped.outer``).
    rule
        The requirements.
    confidential
        The confidential attributes.
    counted
        What k counts, for each row; None for rows.
    data
        The coordinates of the rows.
    constant
        Which coordinates belong to columns that stay constant; groups of persons are joined by them.
    progress
        Progress callback.

    Raises
    ------
    RequirementNotMet
        Where neither groups of rows nor joined groups of persons satisfy all requirements.
    """
    assert grouped.outer is not None
    outer, joins = grouped.outer.labels, 0
    points = data.points().astype(np.float64, copy=False)
    arrays = record_requirements(rule, confidential, counted)
    k = grouped.requirements.k
    labels = _satisfied_inside(points, grouped.grouping.labels, outer, rule, k, arrays, progress)
    violating = rule.violation(labels) > 0
    if violating.any():
        outer, joins = join_person_groups(points[:, constant], outer, violating[labels], rule, grouped.blocks, progress)
        labels = _satisfied_inside(points, labels, outer, rule, k, arrays, progress)
    problem = rule.violated(labels)
    if problem is not None:
        raise unmet(*problem)
    step = StepRecord("requirements by persons", {"joins_of_person_groups": joins})
    return replace(grouped.regrouped(labels, step), outer=Grouping(outer, k))


def settle_nested(
    prepared: Prepared,
    grouped: Grouped,
    recoded: Recoded,
    rule: PersonRequirements,
    *,
    recode: Callable[[Grouped], Recoded],
    data: MethodData,
    progress: Progress = SILENT,
) -> tuple[Grouped, Recoded]:
    """Return groups whose released classes satisfy the requirements, as :func:`settle_classes` does.

    Two groups of rows of one group of persons may get the same released values, and persons may have rows in both.
    Groups of different groups of persons share no person, so that together they satisfy what each of them does.

    Parameters
    ----------
    prepared, grouped, recoded
        The stages before.
    rule
        The requirements.
    recode
        Recodes other groups.
    data
        The coordinates of the rows.
    progress
        Progress callback.
    """
    assert grouped.outer is not None
    blocks = grouped.blocks
    inside = replace(grouped, blocks=replace(blocks, members=members_of(grouped.outer.labels)))
    settled, recoded = settle_classes(
        prepared, inside, recoded, rule, recode=recode, data=lambda: data, progress=progress
    )
    return replace(settled, blocks=blocks), recoded


def _satisfied_inside(  # noqa: PLR0917 - what the groups depend on
    points: Floats, labels: Integers, outer: Integers, rule: PersonRequirements, k: int,
    arrays: tuple[RequirementTable, Integers], progress: Progress,
) -> Integers:  # fmt: skip
    """Return groups of rows changed inside the groups of persons in which one violates a requirement.

    A group of persons whose rows violate a requirement all together is tried as well: its groups of rows may satisfy
    what they violate together.
    """
    violating = (rule.violation(labels) > 0)[labels]
    changed, used = labels.copy(), int(labels.max()) + 1
    concerned = np.unique(outer[violating])
    members = members_of(outer)
    progress.stage("satisfying requirements inside groups of persons", concerned.size)
    for group in concerned:
        rows = members[group]
        found = _changed_rows(points[rows], canonical_labels(labels[rows]), rows, rule, k, arrays)
        changed[rows] = used + found
        used += int(found.max()) + 1
        progress.advance()
    return canonical_labels(changed)


def _changed_rows(
    points: Floats,
    labels: Integers,
    rows: Integers,
    rule: PersonRequirements,
    k: int,
    arrays: tuple[RequirementTable, Integers],
) -> Integers:
    """Return the groups of rows of one group of persons after exchanges by records and joins by persons.

    The joins are also made without the exchanges, and the cheaper of the groups that satisfy everything are taken.
    """
    from shoal.privacy.enforcement import satisfy_requirements as exchange_and_merge

    table, codes = arrays[0], np.ascontiguousarray(arrays[1][rows])
    starts = [labels]
    if int(labels.max()) > 0:
        possible = without_impossible(table, codes, Blocks((np.arange(rows.size),)))
        starts.append(canonical_labels(exchange_and_merge(points, labels, k, codes, possible).labels))
    found = [join_groups(points, start, rule, rows)[0] for start in starts]
    return min(found, key=lambda each: (float(rule.violation(each, rows).sum()), _squared_error(points, each)))


def _squared_error(points: Floats, labels: Integers) -> float:
    """Return the squared error within groups."""
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, column) for column in points.T]) / sizes[:, None]
    return float(((points - means[labels]) ** 2).sum())


def join_person_groups(
    points: Floats,
    outer: Integers,
    violating: NDArray[np.bool_],
    rule: PersonRequirements,
    blocks: Blocks,
    progress: Progress,
) -> tuple[Integers, int]:
    """Return groups of persons joined until each of those with a violating row satisfies everything as one class."""
    settled = np.ones(int(outer.max()) + 1, bool)
    settled[outer[violating]] = False
    total = 0

    def inside(block: Integers) -> Integers:
        nonlocal total
        labels, joins = join_groups(points[block], outer[block], rule, block, settled=settled, progress=progress)
        total += joins
        return labels

    return canonical_labels(blocks.mapped(outer.size, inside)), total
