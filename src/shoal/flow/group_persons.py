"""Groups of whole persons: histories, and columns that stay constant within persons or households.

Where k counts histories, persons are grouped with all of their rows; a row that not all members of a group have is
suppressed, so that the release is a part of the table. Where columns stay constant, groups of whole persons hold nested
groups of rows: the former replace the constant columns, the latter all others and are the classes of the release.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError
from shoal.flow.encoding import Floats
from shoal.flow.group import Blocks, Grouped, MethodRun, StepRecord
from shoal.flow.history_requirements import HistoryRows, histories_satisfied
from shoal.flow.nested_requirements import members_of, nested_satisfied
from shoal.flow.person_requirements import check_achievable
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.flow.resolved import HISTORIES, NESTED_PERSONS
from shoal.flow.satisfy import ConfidentialValues, confidential_values
from shoal.flow.units import UnitIndex
from shoal.methods.contract import Outcome
from shoal.methods.persons.history_groups import history_groups
from shoal.methods.persons.person_groups import Violates, person_groups
from shoal.privacy.confidential import Values
from shoal.privacy.person_joins import PersonRequirements
from shoal.schema.plan import Plan
from shoal.schema.requirements import TOLERANCE, Of, Slots, Weighting

Masked = NDArray[np.bool_]
MOST_CELLS = 2**27
"""The most cells (persons x slots x coordinates) of histories, a gigabyte."""


def group_persons(
    prepared: Prepared,
    plan: Plan,
    *,
    data: MethodData,
    blocks: Blocks,
    confidential: ConfidentialValues | None = None,
    progress: Progress = SILENT,
) -> tuple[Prepared, Grouped]:
    """Group whole persons such that all requirements are satisfied.

    Parameters
    ----------
    prepared
        The table.
    plan
        What is requested: histories, or columns that stay constant.
    data
        The arrays of the table.
    blocks
        The blocks of the table.
    confidential
        The confidential attributes, where requirements beyond k are requested.
    progress
        Progress callback.

    Returns
    -------
    part, grouped
        The rows that are released, and their groups.
    """
    units = prepared.units
    assert units is not None
    check_whole_persons(prepared, plan, blocks)
    rule = requirements_of(prepared, plan, confidential)
    if rule is not None:
        check_achievable(rule, blocks)
    size = _smallest(plan, confidential)
    if plan.of == Of.HISTORIES:
        return _histories(prepared, plan, units, data, blocks, size, rule, progress)
    households = None
    within = blocks
    if units.layered(plan.schema):
        households = _households(prepared, plan, units, data, blocks, size, rule, progress)
        within = replace(blocks, members=members_of(households))  # no group of persons crosses one of households
    grouped = _nested(prepared, plan, units, data, within, size, rule, progress)
    if rule is not None:
        constant = data.coordinates(plan.schema.constant)
        counted = units.counted(plan.of)
        grouped = nested_satisfied(grouped, rule, confidential, counted, data, constant, progress=progress)
    if households is not None:
        around = Grouping(households, plan.requirements.k), units.shared
        grouped = replace(grouped, blocks=blocks, households=around)
    return prepared, grouped


def check_whole_persons(prepared: Prepared, plan: Plan, blocks: Blocks) -> None:
    """Raise where whole persons cannot be grouped: rows in several blocks, or columns that are not constant."""
    units = prepared.units
    assert units is not None
    owners = units.unit if plan.of == Of.HISTORIES else units.owners(plan.schema)
    _check_blocks(blocks, owners, plan)
    _check_constant(prepared, plan, blocks, owners)


def read_part_values(prepared: Prepared, plan: Plan, rule: PersonRequirements, rows: Integers) -> tuple[Values, ...]:
    """Return the confidential attributes of some rows, with the values that occur in these rows."""
    columns = [plan.schema[column.name] for column in rule.columns]
    return confidential_values(prepared.part(rows).table, columns, plan.requirements)[1] if columns else ()


def requirements_of(
    prepared: Prepared, plan: Plan, confidential: ConfidentialValues | None
) -> PersonRequirements | None:
    """Return the requirements beyond k as persons count them; None where there are none."""
    requirements, units = plan.requirements, prepared.units
    if units is None or (confidential is None and requirements.max_share is None):
        return None
    return PersonRequirements(requirements, units.unit, () if confidential is None else confidential.values)


def _smallest(plan: Plan, confidential: ConfidentialValues | None) -> int:
    """Return how many persons a group needs at least: k, or more where no smaller group satisfies the requirements."""
    requirements = plan.requirements
    size = requirements.k if confidential is None else confidential.group_size(requirements)
    share = requirements.max_share
    return size if share is None else max(size, math.ceil(1 / share - TOLERANCE))


def _check_blocks(blocks: Blocks, owners: Integers, plan: Plan) -> None:
    """Raise where the rows of a person lie in several strata or missingness patterns, which no group crosses."""
    if len(blocks) == 1:
        return
    which = np.empty(owners.size, np.int64)
    for number, records in enumerate(blocks.members):
        which[records] = number
    split = np.unique(np.column_stack([owners, which]), axis=0).shape[0] - np.unique(owners).size
    if split:
        persons = "1 person has" if split == 1 else f"about {split:,} persons have"
        reason = "strata" if plan.schema.strata else "patterns of missing values"
        advice = (
            "use strata that are constant within persons"
            if plan.schema.strata
            else "choose missing=fill or missing=suppress"
        )
        raise DataError(
            f"{persons} rows in several {reason}, which no group crosses, so that whole persons cannot be grouped; "
            f"{advice}"
        )


def _check_constant(prepared: Prepared, plan: Plan, blocks: Blocks, owners: Integers) -> None:
    """Raise where a column that is to stay constant is not constant in the original."""
    for name in plan.schema.constant:
        values = prepared.values(name, blocks.suppressed)
        codes = np.unique(values, return_inverse=True)[1].reshape(-1)  # equal NaN are one value
        pairs = np.column_stack([owners, codes])
        pairs = np.unique(pairs[~np.isnan(values)] if name in prepared.by_known else pairs, axis=0)
        several = int((np.bincount(pairs[:, 0]) > 1).sum())
        if several:
            kept = "persons" if plan.schema.unit else "households"
            raise DataError(
                f'column "{name}" is to stay constant, but has several values in the rows of {several:,} {kept}; '
                "correct these rows, or leave the column out of --constant (Python: constant=)"
            )


def _histories(  # noqa: PLR0917 - what the groups depend on
    prepared: Prepared, plan: Plan, units: UnitIndex, data: MethodData, blocks: Blocks, size: int,
    rule: PersonRequirements | None, progress: Progress,
) -> tuple[Prepared, Grouped]:  # fmt: skip
    """Return the rows that are kept, and their classes: rows of one group of persons in the same slot."""
    options, k, n = plan.persons, plan.requirements.k, prepared.n
    points = data.points().astype(np.float64, copy=False)
    when = units.times if options.slots == Slots.TIME else units.order
    assert when is not None
    groups, slots, block_of = (np.empty(n, np.int64) for _ in range(3))
    count, schemes = 0, []
    for number, records in enumerate(blocks.members):
        inside = canonical_labels(units.unit[records])
        _check_cells(inside, when[records], points.shape[1], plan)
        found = history_groups(
            points[records], inside, max(k, min(size, int(inside.max()) + 1)), time=when[records],
            slots=str(options.slots),  # type: ignore[arg-type]
            suppressed_weight=options.suppressed_weight, progress=progress,
        )  # fmt: skip
        groups[records], slots[records] = count + found.person_groups[inside], found.slots
        block_of[records] = number
        count += int(found.person_groups.max()) + 1
        schemes.append(found.scheme)
    if rule is not None:
        rows = HistoryRows(
            units.unit, block_of, groups, slots, last=options.slots == Slots.LAST, by_time=options.slots == Slots.TIME
        )

        def read(chosen: Integers) -> tuple[Values, ...]:
            return read_part_values(prepared, plan, rule, chosen)

        rows = histories_satisfied(points, rows, plan.requirements, read, k, progress=progress)
        groups, slots = rows.groups, rows.slots
    kept = np.flatnonzero(slots >= 0)
    if not kept.size:
        raise DataError(
            "no row is left: no group of persons has a time in common; choose slots=last, or a coarser time"
        )
    part = prepared.part(kept)
    classes = canonical_labels(groups[kept] * (int(slots.max()) + 1) + slots[kept])
    suppressed = {"rows_suppressed": n - kept.size, "person_groups": np.unique(groups[kept]).size}
    run = MethodRun("histories", HISTORIES, {"slots": str(options.slots)}, ", ".join(dict.fromkeys(schemes)))
    outer = Grouping(groups[kept], k)
    return part, _grouped(plan, classes, blocks.part(kept, n), run, StepRecord("k histories", suppressed), outer)


def _check_cells(units: Integers, when: Integers, width: int, plan: Plan) -> None:
    """Raise where histories have so many slots that their table would not fit."""
    by_time = plan.persons.slots == Slots.TIME
    slots = np.unique(when).size if by_time else int(np.bincount(units).max())
    persons = int(units.max()) + 1
    if persons * slots * width > MOST_CELLS:
        found = f"the time has {slots:,} different values" if by_time else f"one person has {slots:,} rows"
        advice = "choose slots=last, or a coarser time" if by_time else "remove or divide such persons"
        raise DataError(f"{found}, too many for histories of {persons:,} persons; {advice}, or count units")


def _households(  # noqa: PLR0917 - what the groups depend on
    prepared: Prepared, plan: Plan, units: UnitIndex, data: MethodData, blocks: Blocks, size: int,
    rule: PersonRequirements | None, progress: Progress,
) -> Integers:  # fmt: skip
    """Return groups of whole households, by which columns that are constant within households are replaced.

    All other columns vary for them: groups of households are found as groups of owners with nested groups of rows, and
    persons and rows are then grouped inside each.
    """
    k, points = plan.requirements.k, data.points().astype(np.float64, copy=False)
    shared, household, counted = data.coordinates(units.shared), units.household, units.counted(plan.of)
    assert household is not None
    known = data.observed("points")
    if known is not None:
        points = _same_within(points, shared, known, household)
    counted = np.arange(prepared.n) if counted is None else counted

    def inside(records: Integers) -> Integers:
        found = person_groups(
            points[records][:, shared], points[records][:, ~shared], counted[records],
            max(k, min(size, np.unique(counted[records]).size)),
            owners=household[records], weighting=str(plan.persons.weighting),  # type: ignore[arg-type]
            violates=None if rule is None else _violates(rule, records), progress=progress,
        )  # fmt: skip
        return np.asarray(found.owner_groups[canonical_labels(household[records])])

    return canonical_labels(blocks.mapped(prepared.n, inside))


def _nested(  # noqa: PLR0917 - what the groups depend on
    prepared: Prepared, plan: Plan, units: UnitIndex, data: MethodData, blocks: Blocks, size: int,
    rule: PersonRequirements | None, progress: Progress,
) -> Grouped:  # fmt: skip
    """Return groups of rows nested in groups of whole persons or households."""
    schema, k, n = plan.schema, plan.requirements.k, prepared.n
    points = data.points().astype(np.float64, copy=False)
    layered = units.layered(schema)
    constant = data.coordinates([name for name in schema.constant if not layered or name not in units.shared])
    owners, counted = units.owners(schema), units.counted(plan.of)
    if layered:
        points = points[:, ~data.coordinates(units.shared)]  # replaced by the groups of households
        constant = constant[~data.coordinates(units.shared)]
    known = data.observed("points")
    if known is not None:
        known = known[:, ~data.coordinates(units.shared)] if layered else known
        points = _same_within(points, constant, known, owners)
    counted = np.arange(n) if counted is None else counted
    outer, rows = np.empty(n, np.int64), np.empty(n, np.int64)
    schemes = []
    persons, classes = 0, 0
    for records in blocks.members:
        found = person_groups(
            points[records][:, constant], points[records][:, ~constant], counted[records],
            max(k, min(size, np.unique(counted[records]).size)),
            owners=owners[records], weighting=str(plan.persons.weighting), progress=progress,  # type: ignore[arg-type]
            violates=None if rule is None else _violates(rule, records),
        )  # fmt: skip
        inside = canonical_labels(owners[records])
        outer[records] = persons + found.owner_groups[inside]
        rows[records] = classes + found.row_groups
        persons, classes = int(outer[records].max()) + 1, int(rows[records].max()) + 1
        schemes.append(found.scheme)
    run = MethodRun(
        "nested-persons", NESTED_PERSONS, {"weighting": str(plan.persons.weighting)},
        ", ".join(dict.fromkeys(schemes)),
    )  # fmt: skip
    step = StepRecord("columns kept constant", {"person_groups": persons, "columns": len(schema.constant)})
    weights = row_shares(owners) if plan.persons.weighting == Weighting.PERSONS else None
    return _grouped(plan, rows, blocks, run, step, Grouping(outer, k), weights)


def _violates(rule: PersonRequirements, records: Integers) -> Violates:
    """Return a function that says which groups of some records of a block violate a requirement."""
    return lambda rows, groups: rule.violation(groups, records[rows]) > 0


def _same_within(points: Floats, columns: Masked, known: Masked, owners: Integers) -> Floats:
    """Return coordinates in which some columns have one value in all rows of an owner: the mean of its known cells."""
    same = points.copy()
    for j in np.flatnonzero(columns):
        counts = np.bincount(owners, known[:, j])
        sums = np.bincount(owners, np.where(known[:, j], points[:, j], 0.0))
        every = np.bincount(owners, points[:, j]) / np.bincount(owners)
        same[:, j] = np.where(counts > 0, sums / np.maximum(counts, 1), every)[owners]
    return same


def row_shares(owners: Integers) -> Floats:
    """Return the share of each row in the rows of its owner."""
    shares: Floats = 1.0 / np.bincount(owners)[owners]
    return shares


def _grouped(  # noqa: PLR0917 - the fields of the value
    plan: Plan, labels: Integers, blocks: Blocks, run: MethodRun, step: StepRecord, outer: Grouping | None,
    weights: Floats | None = None,
) -> Grouped:  # fmt: skip
    grouping = Grouping(labels, plan.requirements.k)
    outcome = Outcome(labels=grouping.labels, method=run.name, diagnostics={}, reason=run.reason)
    return Grouped(plan.requirements, grouping, blocks, outcome, (run,), (step,), outer, weights)
