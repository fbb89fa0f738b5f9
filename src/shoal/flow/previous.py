"""Groups for a second release of the same people: those of the first one, changed only where records changed.

An intruder who has two releases can intersect them: a person is one of those who share a group with it in both. If the
groups are formed anew, this leaves few candidates even where each release alone has k. So the members of an earlier
group who are still in the table stay together, also those whose values changed, which is the most that any grouping can
do for them:

- new records join the nearest group, or form groups of their own where that costs less;
- a group that deletions left with fewer than k records is merged, as a whole, with the nearest one;
- groups that violate a further requirement are merged as a whole.

A group without a new, changed or deleted record keeps its released values as well (``second_release.py``). Persons
whose earlier group has fewer than k members left in the table cannot have k candidates, whatever is released; they are
counted. O(n log n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import equal_rows
from shoal.errors import ParameterError
from shoal.flow.column_costs import column_costs
from shoal.flow.encoding import Floats
from shoal.flow.group import Blocks, Grouped, MethodRun, method_for
from shoal.flow.holder_record import HolderRecord
from shoal.flow.person_requirements import join_blocks, person_requirements
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.flow.record_matching import Matched, match_records
from shoal.flow.resolved import SECOND_RELEASE
from shoal.flow.satisfy import ConfidentialValues, requirement_arrays
from shoal.methods.contract import Outcome
from shoal.methods.running import run
from shoal.schema.columns import Kind
from shoal.schema.plan import Plan

if TYPE_CHECKING:
    from shoal.core.requirement_violation import RequirementTable


def regroup(
    prepared: Prepared,
    plan: Plan,
    record: HolderRecord,
    *,
    confidential: ConfidentialValues | None,
    data: MethodData,
    blocks: Blocks,
    matched: Matched | None = None,
    progress: Progress = SILENT,
) -> tuple[Grouped, Matched]:
    """Return the groups of a second release.

    Parameters
    ----------
    prepared
        The new table.
    plan
        What is requested.
    record
        The holder's record of the earlier release.
    confidential
        The confidential attributes, where requirements beyond k are requested.
    data, blocks
        The arrays and the blocks of the new table.
    matched
        Which record of the earlier release each record is, if that is known.
    progress
        Progress callback.

    Returns
    -------
    grouped, matched
        The groups, and which record of the earlier release each record is.
    """
    if matched is None:
        progress.stage("finding the records of the earlier release")
        matched = match_records(record, prepared.input)
    if not (matched.earlier >= 0).any():
        raise ParameterError(
            "no record of the earlier release is in this table; name the holder's record of a release of these people"
        )
    earlier = np.where(matched.earlier >= 0, record.groups[matched.earlier], -1)
    points = data.points().astype(np.float64, copy=False)
    info = method_for(prepared, plan.method)
    nominal = np.array([column.kind == Kind.NOMINAL for column in prepared.schema.quasi])
    size = plan.requirements.k if confidential is None else confidential.group_size(plan.requirements)

    def of_new_records(rows: Integers) -> Integers:
        array = data.codes()[rows] if info.data == "codes" else points[rows]
        if info.data == "values":
            array = array[:, 0]
        if info.data == "mixed":
            array = data.mixed()[rows]
        options = info.check_options(plan.method.options)
        call = plan.method
        return run(
            info, array, size, seed=call.seed, time_limit=call.time_limit, nominal=nominal, progress=progress,
            column_costs=column_costs(prepared), **options,
        ).labels  # fmt: skip

    progress.stage("changing the groups of the earlier release")
    labels = blocks.mapped(
        prepared.n,
        lambda block: canonical_labels(
            merged_small(points[block], with_new(points[block], earlier[block], block, size, of_new_records), size)
        ),
    )
    if plan.requirements.global_recoding:
        names = [entry.column.name for entry in prepared.encoding.quasi]
        labels = _joined_by(labels, equal_rows([prepared.values(name, blocks.suppressed) for name in names]), blocks)
    units = prepared.counted(plan.requirements)
    rule = person_requirements(prepared, plan.requirements, confidential)
    by_records = confidential if rule is None else None
    if by_records is not None or units is not None:
        arrays = requirement_arrays(plan.requirements, by_records, units)
        labels = _merged_for_requirements(labels, *arrays, points, blocks, progress)
    if rule is not None:
        labels = join_blocks(labels, rule, points, blocks, progress)[0]
    grouping = Grouping(labels, plan.requirements.k, max_size=plan.requirements.max_size)
    reason = "the groups of the earlier release, changed where records changed"
    outcome = Outcome(grouping.labels, method="previous", reason=reason)
    ran = MethodRun("previous", SECOND_RELEASE, {}, reason, frequencies=info.frequencies, blocks=len(blocks))
    return Grouped(plan.requirements, grouping, blocks, outcome, (ran,)), matched


def with_new(
    points: Floats, earlier: Integers, block: Integers, k: int, of_new_records: Callable[[Integers], Integers]
) -> Integers:
    """Return groups of a block in which new records have joined groups or formed new ones."""
    known = earlier >= 0
    labels = np.full(earlier.size, -1, np.int64)
    if known.any():
        labels[known] = canonical_labels(earlier[known])
    new = np.flatnonzero(~known)
    if not new.size:
        return labels
    found = np.full(new.size, -1, np.int64)
    if new.size >= k:
        found = of_new_records(block[new])
    if not known.any():
        return found if new.size >= k else np.zeros(new.size, np.int64)
    from scipy.spatial import cKDTree

    sizes = np.bincount(labels[known]).astype(np.float64)
    centroids = centroids_of(points[known], labels[known], sizes)
    distance, nearest = cKDTree(centroids).query(points[new])
    joining = distance**2 * sizes[nearest] / (sizes[nearest] + 1)
    forms = np.zeros(new.size, bool)
    if new.size >= k:
        own_sizes = np.bincount(found).astype(np.float64)
        own = centroids_of(points[new], found, own_sizes)
        inside = np.bincount(found, ((points[new] - own[found]) ** 2).sum(axis=1))
        cheaper = inside <= np.bincount(found, joining)
        forms = cheaper[found]
    labels[new[~forms]] = nearest[~forms]
    labels[new[forms]] = found[forms] + sizes.size
    return canonical_labels(labels)


def centroids_of(points: Floats, labels: Integers, sizes: Floats) -> Floats:
    """Return the centroid of each group.

    Examples
    --------
    >>> centroids_of(np.array([[1.0], [3.0]]), np.array([0, 0]), np.array([2.0]))
    array([[2.]])
    """
    sums = np.column_stack([np.bincount(labels, column, minlength=sizes.size) for column in points.T])
    return np.ascontiguousarray(sums / sizes[:, None])


def merged_small(
    points: Floats, labels: Integers, k: int, amount: Callable[[Integers], Integers] = np.bincount
) -> Integers:
    """Merge groups of fewer than k with the nearest group, as a whole, until none is left.

    Parameters
    ----------
    points
        The coordinates of each member.
    labels
        The groups.
    k
        What a group needs at least.
    amount
        Returns how many of what k counts each group has; members by default.

    Examples
    --------
    >>> merged_small(np.array([[0.0], [1.0], [9.0], [9.5]]), np.array([0, 1, 2, 2]), 2)
    array([0, 0, 1, 1])
    """
    from scipy.spatial import cKDTree

    while True:
        labels = canonical_labels(labels)
        small = np.flatnonzero(amount(labels) < k)
        sizes = np.bincount(labels).astype(np.float64)
        if not small.size or sizes.size == 1:
            return labels
        centroids = centroids_of(points, labels, sizes)
        _, near = cKDTree(centroids).query(centroids[small], k=2)
        target = np.where(near[:, 0] == small, near[:, 1], near[:, 0])
        merged, used = np.arange(sizes.size), np.zeros(sizes.size, bool)
        for group, other in zip(small.tolist(), target.tolist(), strict=True):
            if not used[group] and not used[other]:
                merged[group] = other
                used[[group, other]] = True
        labels = merged[labels]


def _joined_by(labels: Integers, records: Integers, blocks: Blocks) -> Integers:
    """Merge all groups of a block that hold identical records."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    block_of = np.empty(labels.size, np.int64)
    for number, rows in enumerate(blocks.members):
        block_of[rows] = number
    together = canonical_labels(records + block_of * (int(records.max()) + 1))
    groups = int(labels.max()) + 1
    size = groups + int(together.max()) + 1
    links = coo_matrix((np.ones(labels.size, np.int8), (labels, groups + together)), shape=(size, size))
    return canonical_labels(connected_components(links, directed=False)[1][labels].astype(np.int64))


def _merged_for_requirements(
    labels: Integers, table: RequirementTable, codes: Integers, points: Floats, blocks: Blocks, progress: Progress
) -> Integers:
    from shoal.privacy.enforcement import merge_groups

    return blocks.mapped(
        labels.size,
        lambda block: canonical_labels(
            merge_groups(points[block], canonical_labels(labels[block]), codes[block], table, progress=progress).labels
        ),
    )
