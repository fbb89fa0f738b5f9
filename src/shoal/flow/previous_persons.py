"""Groups of whole persons for a second release: those of the first one, changed only where rows changed.

Persons who shared a group in the earlier release stay together, as records do in :mod:`shoal.flow.previous`, so that
the intersection of both releases leaves a person with all of them. New persons join the nearest group, or form groups
of their own; a group with fewer than k persons left is merged as a whole with the nearest one, and so is a group that
violates a further requirement. Histories then keep the rows that all members of a group have; with constant columns the
groups of rows are those of the earlier release, changed inside each group of persons. Where some columns stay constant
within households and others within persons only, groups of households are changed first and hold all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import distinct_per_class
from shoal.errors import ParameterError
from shoal.flow.encoding import Floats
from shoal.flow.group import Blocks, Grouped, MethodRun, StepRecord
from shoal.flow.group_persons import check_whole_persons, read_part_values, requirements_of, row_shares
from shoal.flow.history_requirements import HistoryRows
from shoal.flow.nested_requirements import join_person_groups, members_of
from shoal.flow.person_requirements import check_achievable, unmet
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.flow.previous import centroids_of, merged_small, regroup, with_new
from shoal.flow.record_matching import Matched, match_records
from shoal.flow.resolved import SECOND_RELEASE
from shoal.methods.contract import Outcome
from shoal.methods.persons.history_groups import history_groups, slots_of_groups
from shoal.methods.persons.person_groups import person_groups
from shoal.privacy.person_joins import PersonRequirements
from shoal.schema.plan import Plan
from shoal.schema.requirements import Of, Slots, Weighting

if TYPE_CHECKING:
    from shoal.flow.holder_record import HolderRecord
    from shoal.flow.satisfy import ConfidentialValues

REASON = "the groups of the earlier release, changed where rows changed"


@dataclass(frozen=True, eq=False)
class SecondGroups:
    """The groups of persons of a second release.

    Parameters
    ----------
    part
        The rows that are released.
    grouped
        Their groups.
    matched
        Which row of the earlier release each row of the whole table is.
    earlier
        The group of persons in the earlier release of each row of the whole table; -1 for a new person.
    persons
        The group of persons in this release of each row of the whole table.
    untouched
        Which rows of the whole table belong to groups of persons without any new, changed or deleted row.
    untouched_households
        The same for groups of households, where some columns stay constant within households and others within persons.
    """

    part: Prepared
    grouped: Grouped
    matched: Matched
    earlier: Integers
    persons: Integers
    untouched: NDArray[np.bool_]
    untouched_households: NDArray[np.bool_] | None = None


def regroup_persons(
    prepared: Prepared,
    plan: Plan,
    record: HolderRecord,
    *,
    confidential: ConfidentialValues | None,
    data: MethodData,
    blocks: Blocks,
    progress: Progress = SILENT,
) -> SecondGroups:
    """Return the groups of persons of a second release.

    Parameters
    ----------
    prepared
        The new table.
    plan
        What is requested: histories, or columns that stay constant.
    record
        The holder's record of the earlier release.
    confidential
        The confidential attributes, where requirements beyond k are requested.
    data, blocks
        The arrays and the blocks of the new table.
    progress
        Progress callback.
    """
    before = record.person_groups
    if before is None:
        raise ParameterError(
            "the earlier release grouped rows and this one groups whole persons, so that nothing of it can be kept; "
            "count units without constant columns as before, or protect both tables together"
        )
    units = prepared.units
    assert units is not None
    layered = plan.of != Of.HISTORIES and units.layered(plan.schema)
    if layered and record.household_groups is None:
        raise ParameterError(
            f'column "{units.shared[0]}" stays constant within households and others within persons only, and the '
            "earlier release had no groups of households; keep the same columns constant as in the earlier release, or "
            "protect both tables together"
        )
    check_whole_persons(prepared, plan, blocks)
    rule = requirements_of(prepared, plan, confidential)
    if rule is not None:
        check_achievable(rule, blocks)
    progress.stage("finding the persons of the earlier release")
    matched = match_records(record, prepared.input)
    owners = units.unit if plan.of == Of.HISTORIES else units.owners(plan.schema)
    earlier = _earlier_groups(matched, before, owners)
    if not (earlier >= 0).any():
        raise ParameterError(
            "no person of the earlier release is in this table; name the holder's record of a release of these people"
        )
    points = data.points().astype(np.float64, copy=False)
    counted = units.counted(plan.of)
    counted = np.arange(prepared.n) if counted is None else counted
    table = _Persons(prepared, plan, points, owners, counted, data.coordinates(plan.schema.constant))
    progress.stage("changing the groups of the earlier release")
    if layered:
        found = _households(table, blocks, record, matched, rule, data, progress)
        within = replace(blocks, members=members_of(found.labels))  # no group of persons crosses one of households
        kept = ~data.coordinates(units.shared)
        table = replace(table, points=points[:, kept], constant=table.constant[kept])
        persons = within.mapped(prepared.n, lambda block: table.regrouped(block, earlier))
        second = _nested(table, within, record, matched, earlier, persons, rule, confidential, data, progress)
        around = Grouping(found.labels, plan.requirements.k), units.shared
        grouped = replace(second.grouped, blocks=blocks, households=around)
        return replace(second, grouped=grouped, untouched_households=found.untouched)
    persons = blocks.mapped(prepared.n, lambda block: table.regrouped(block, earlier))
    if plan.of == Of.HISTORIES:
        return _histories(table, blocks, record, matched, earlier, persons, rule, progress)
    return _nested(table, blocks, record, matched, earlier, persons, rule, confidential, data, progress)


def _earlier_groups(matched: Matched, before: Integers, owners: Integers) -> Integers:
    """Return the earlier group of persons of each row: that of most rows of its person, -1 for a new person."""
    found = np.flatnonzero(matched.earlier >= 0)
    groups = before[matched.earlier[found]]
    found, groups = found[groups >= 0], groups[groups >= 0]
    earlier = np.full(int(owners.max()) + 1, -1, np.int64)
    if found.size:
        pairs, counts = np.unique(np.column_stack([owners[found], groups]), axis=0, return_counts=True)
        order = np.argsort(counts, kind="stable")  # the most frequent one is written last
        earlier[pairs[order, 0]] = pairs[order, 1]
    return np.asarray(earlier[owners])


@dataclass(frozen=True, eq=False)
class _Persons:
    """The table, and what its persons are grouped by."""

    prepared: Prepared
    plan: Plan
    points: Floats
    owners: Integers
    counted: Integers
    constant: NDArray[np.bool_]

    def regrouped(self, block: Integers, earlier: Integers) -> Integers:
        """Return the group of persons of each row of a block: earlier ones, changed where persons are new or gone."""
        inside, k = canonical_labels(self.owners[block]), self.plan.requirements.k
        sizes = np.bincount(inside).astype(np.float64)
        means = centroids_of(self.points[block], inside, sizes)
        first = np.zeros(sizes.size, np.int64)
        first[inside[::-1]] = earlier[block][::-1]
        # a person's group is found as for a record with the mean of its rows
        labels = with_new(means, first, np.arange(sizes.size), k, lambda new: self._of_new(block, inside, new))

        def persons(groups: Integers) -> Integers:
            return distinct_per_class(groups[inside], self.counted[block])

        return canonical_labels(merged_small(means, labels, k, persons)[inside])

    def _of_new(self, block: Integers, inside: Integers, new: Integers) -> Integers:
        """Return groups of persons who are all new."""
        chosen = np.isin(inside, new)
        rows, persons, k = block[chosen], canonical_labels(inside[chosen]), self.plan.requirements.k
        labels = np.zeros(new.size, np.int64)
        if np.unique(self.counted[rows]).size >= k:
            labels = self._grouped(rows, persons, k)
        of_person = np.empty(int(inside.max()) + 1, np.int64)
        of_person[inside[chosen]] = labels[persons]
        return np.asarray(of_person[new])

    def _grouped(self, rows: Integers, persons: Integers, k: int) -> Integers:
        """Return the group of each person, as a first release would form them."""
        options, points = self.plan.persons, self.points[rows]
        if self.plan.of == Of.HISTORIES:
            return history_groups(
                points, persons, k, time=self.when[rows], slots=str(options.slots),  # type: ignore[arg-type]
                suppressed_weight=options.suppressed_weight,
            ).person_groups  # fmt: skip
        return person_groups(
            points[:, self.constant], points[:, ~self.constant], self.counted[rows], k, owners=persons,
            weighting=str(options.weighting),  # type: ignore[arg-type]
        ).owner_groups  # fmt: skip

    @property
    def when(self) -> Integers:
        """What sorts the rows of a person, or names their slots."""
        units = self.prepared.units
        assert units is not None
        return units.times if self.plan.persons.slots == Slots.TIME and units.times is not None else units.order

    def slots(self, persons: Integers, blocks: Blocks) -> Integers:
        """Return the slot of each row in its group of persons; -1 where not all members have it."""
        slots = np.empty(persons.size, np.int64)
        for block in blocks.members:
            inside = canonical_labels(self.owners[block])
            groups = np.empty(int(inside.max()) + 1, np.int64)
            groups[inside] = canonical_labels(persons[block])
            slots[block] = slots_of_groups(
                self.points[block], inside, groups, time=self.when[block],
                slots=str(self.plan.persons.slots),  # type: ignore[arg-type]
                suppressed_weight=self.plan.persons.suppressed_weight,
            )  # fmt: skip
        return slots


@dataclass(frozen=True, eq=False)
class _Households:
    """The groups of households of a second release, and which rows are in groups that did not change."""

    labels: Integers
    untouched: NDArray[np.bool_]


def _households(  # noqa: PLR0917 - what the groups depend on
    table: _Persons, blocks: Blocks, record: HolderRecord, matched: Matched, rule: PersonRequirements | None,
    data: MethodData, progress: Progress,
) -> _Households:  # fmt: skip
    """Return groups of whole households: earlier ones, changed where households are new or gone.

    Groups that violate a requirement as a whole are joined, so that it can be satisfied inside each.
    """
    units, before = table.prepared.units, record.household_groups
    assert units is not None
    assert units.household is not None
    assert before is not None
    homes = replace(table, owners=units.household, constant=data.coordinates(units.shared))
    earlier = _earlier_groups(matched, before, units.household)
    labels = canonical_labels(blocks.mapped(table.prepared.n, lambda block: homes.regrouped(block, earlier)))
    if rule is not None:
        violating = (rule.violation(labels) > 0)[labels]
        labels, _ = join_person_groups(homes.points[:, homes.constant], labels, violating, rule, blocks, progress)
    return _Households(labels, _untouched(matched, before, labels))


def _untouched(matched: Matched, before: Integers | None, persons: Integers) -> NDArray[np.bool_]:
    """Return the rows of groups of persons without any new, changed or deleted row, and with no further member."""
    assert before is not None
    found = matched.earlier >= 0
    earlier = np.where(found, before[np.maximum(matched.earlier, 0)], -1)
    # a row that was suppressed has the group of its person
    intact = found & ~matched.changed
    groups = int(persons.max()) + 1
    first = np.full(groups, -1, np.int64)
    first[persons[::-1]] = earlier[::-1]
    same = np.ones(groups, bool)
    same[persons[~intact | (earlier != first[persons]) | (earlier < 0)]] = False
    sizes = np.bincount(before[before >= 0], minlength=int(before.max()) + 1)
    same &= np.bincount(persons, minlength=groups) == np.where(first >= 0, sizes[np.maximum(first, 0)], -1)
    return np.asarray(same[persons])


def _histories(  # noqa: PLR0917 - what the groups depend on
    table: _Persons, blocks: Blocks, record: HolderRecord, matched: Matched, earlier: Integers, persons: Integers,
    rule: PersonRequirements | None, progress: Progress,
) -> SecondGroups:  # fmt: skip
    """Return the rows that all members of a group have, and their classes."""
    prepared, plan = table.prepared, table.plan
    units = prepared.units
    assert units is not None
    while True:
        slots = table.slots(persons, blocks)
        untouched = _untouched(matched, record.person_groups, persons)
        # the rows of an untouched group are released as before
        stated = record.groups[np.maximum(matched.earlier, 0)]
        slots = np.where(untouched, stated, np.where(slots < 0, -1, slots + int(record.groups.max()) + 1))
        rows = HistoryRows(units.unit, np.zeros(prepared.n, np.int64), persons, slots)
        kept, classes = rows.classes()
        if rule is None:
            break
        inside = PersonRequirements(
            plan.requirements, canonical_labels(units.unit[kept]), read_part_values(prepared, plan, rule, kept)
        )
        violating = np.zeros(prepared.n, bool)
        violating[kept] = (inside.violation(classes) > 0)[classes]
        if not violating.any():
            break
        joined = _with_nearest(table, persons, violating, blocks)
        if int(joined.max()) == int(persons.max()):
            problem = inside.violated(classes)
            assert problem is not None
            raise unmet(*problem)
        persons = joined
        progress.advance()
    run = MethodRun("previous", SECOND_RELEASE, {"slots": str(plan.persons.slots)}, REASON)
    step = StepRecord("k histories", {"rows_suppressed": prepared.n - kept.size})
    outer = Grouping(persons[kept], plan.requirements.k)
    grouped = _value(plan, classes, blocks.part(kept, prepared.n), run, step, outer)
    return SecondGroups(prepared.part(kept), grouped, matched, earlier, persons, untouched)


def _with_nearest(table: _Persons, persons: Integers, violating: NDArray[np.bool_], blocks: Blocks) -> Integers:
    """Return groups of persons in which each one with a violating row was joined with the nearest one."""

    def inside(block: Integers) -> Integers:
        labels = canonical_labels(persons[block])
        bad = np.zeros(int(labels.max()) + 1, bool)
        bad[labels[violating[block]]] = True

        def amount(groups: Integers) -> Integers:
            # only groups that were bad before the first join count as small
            changed = np.bincount(groups) > np.bincount(labels)[labels[_first(groups)]]
            small = np.zeros(int(groups.max()) + 1, bool)
            np.logical_or.at(small, groups, bad[labels])
            return np.where(small & ~changed, 0, 1)

        return merged_small(table.points[block], labels, 1, amount)

    return canonical_labels(blocks.mapped(persons.size, inside))


def _first(labels: Integers) -> Integers:
    first = np.zeros(int(labels.max()) + 1, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    return first


def _nested(  # noqa: PLR0917 - what the groups depend on
    table: _Persons, blocks: Blocks, record: HolderRecord, matched: Matched, earlier: Integers, persons: Integers,
    rule: PersonRequirements | None, confidential: ConfidentialValues | None, data: MethodData, progress: Progress,
) -> SecondGroups:  # fmt: skip
    """Return groups of rows inside the groups of persons: those of the earlier release, changed where rows changed."""
    prepared, plan = table.prepared, table.plan
    while True:
        within = replace(blocks, members=members_of(persons))
        rows, _ = regroup(
            prepared, plan, record, confidential=confidential, data=data, blocks=within, matched=matched,
            progress=progress,
        )  # fmt: skip
        labels = rows.grouping.labels
        violating = np.zeros(0, bool) if rule is None else rule.violation(labels) > 0
        if rule is None or not violating.any():
            break
        joined, joins = join_person_groups(
            table.points[:, table.constant], persons, violating[labels], rule, blocks, progress
        )
        if not joins:
            problem = rule.violated(labels)
            assert problem is not None
            raise unmet(*problem)
        persons = joined
    options = {"weighting": str(plan.persons.weighting)}
    step = StepRecord("columns kept constant", {"person_groups": int(persons.max()) + 1})
    weights = row_shares(table.owners) if plan.persons.weighting == Weighting.PERSONS else None
    run = MethodRun("previous", SECOND_RELEASE, options, REASON)
    grouped = _value(plan, labels, blocks, run, step, Grouping(persons, plan.requirements.k), weights)
    untouched = _untouched(matched, record.person_groups, persons)
    return SecondGroups(prepared, grouped, matched, earlier, persons, untouched)


def _value(  # noqa: PLR0917 - the fields of the value
    plan: Plan, labels: Integers, blocks: Blocks, run: MethodRun, step: StepRecord, outer: Grouping,
    weights: Floats | None = None,
) -> Grouped:  # fmt: skip
    grouping = Grouping(labels, plan.requirements.k)
    outcome = Outcome(labels=grouping.labels, method=run.name, diagnostics={}, reason=run.reason)
    return Grouped(plan.requirements, grouping, blocks, outcome, (run,), (step,), outer, weights)
