"""The measurements of the report: risk before and after, attacks, associations between columns, and distributions.

The cost is bounded, so that a table of a million records takes seconds: attacks and associations use random samples
(always the same ones), figures show the columns that lost most. Without the original, only the released table is
measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.evaluate.attacks import Attack, sampled_rows
from shoal.evaluate.attribute_disclosure import attribute_disclosure
from shoal.evaluate.candidates import CandidatesAttack, candidates
from shoal.evaluate.class_risk import ClassRisk, class_risk, people_in_classes
from shoal.evaluate.covering import any_general, covered_columns
from shoal.evaluate.interval_disclosure import interval_disclosure
from shoal.evaluate.linkage import assignment_linkage, record_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn
from shoal.evaluate.special_uniques import SpecialUniques, special_uniques
from shoal.evaluate.subset_classes import MAX_BITS
from shoal.flow.checked_statistics import ComparedStatistic, compare_statistics
from shoal.flow.released import Released
from shoal.privacy.assessment import ColumnAssessment, assess_column
from shoal.privacy.confidential import read_values
from shoal.privacy.counts import count_values
from shoal.privacy.equivalence_classes import EquivalenceClasses, MissingSemantics
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.l_diversity import distinct_l
from shoal.privacy.person_risk import PersonFigures, person_figures
from shoal.privacy.person_values import count_person_values
from shoal.report.associations import MAX_COLUMNS, AssociationMatrix, association, correlation
from shoal.report.column_distributions import ColumnDistribution, column_distributions
from shoal.report.loss_causes import LossCause, loss_causes
from shoal.report.lost_categories import LostCategories, lost_categories
from shoal.report.measured_tables import MeasuredTables, read_tables
from shoal.report.outside_data import OutsideData, attacks_against_control
from shoal.schema.columns import Kind, Role, Schema
from shoal.tables import Table

LINKED_RECORDS = 2_000
"""The number of records that record linkage tries."""
SAMPLED_RECORDS = 50_000
"""The number of records for interval disclosure and associations; attribute disclosure takes about twice as many."""
THRESHOLD = 0.2
"""Persons with a risk or a share above this are counted."""
_MAX_CELLS = 60_000_000
_MAX_SUBSET_CELLS = 100_000_000
_MAX_ATTACKED_COLUMNS = 8
_DOMINATING_SHARE = 0.5
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ConfidentialFigures:
    """What the equivalence classes reveal about one confidential attribute.

    Parameters
    ----------
    name
        The column.
    figures
        Every privacy model.
    classes, records
        The number of equivalence classes, and of records in them, that share one single value.
    """

    name: str
    figures: ColumnAssessment
    classes: int
    records: int


@dataclass(frozen=True)
class Attacks:
    """The results of simulated attacks.

    Parameters
    ----------
    record_linkage, assignment_linkage
        The share of records that are re-identified, by the nearest record and by the best assignment.
    intervals
        Interval disclosure of each numeric quasi-identifier.
    attributes
        Attribute disclosure of each confidential attribute.
    candidates
        The rows that cover the true values of each person, where cells were suppressed or generalised.
    controlled
        Singling out, linkability, membership and inference beside a control table; empty without one.
    """

    record_linkage: Attack
    assignment_linkage: Attack
    intervals: tuple[Attack, ...]
    attributes: tuple[Attack, ...]
    candidates: CandidatesAttack | None = None
    controlled: tuple[Attack, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """All measurements of the report.

    Parameters
    ----------
    before, after
        Risk from the sizes of equivalence classes; before is None where the original is not shown.
    attacks
        The results of attacks; None where the original is not shown or the table is too large.
    confidential
        The figures of the confidential attributes.
    distributions
        The distributions of quasi-identifiers.
    correlation, association
        Associations between columns.
    dominated
        Columns in which k records make up most of the variance, with that share.
    persons_before, persons_after
        Risk of persons and households, where the schema has a unit or a household and the persons of the rows are
        known.
    sources
        The columns and combinations of columns that make records of the original unique.
    statistics
        The statistics that must hold, before and after.
    lost
        The categories that the released table does not have any more, for each column that lost some.
    causes
        Why columns lost much of their information.
    notes
        What was sampled or left out.
    """

    before: ClassRisk | None
    after: ClassRisk
    attacks: Attacks | None = None
    confidential: tuple[ConfidentialFigures, ...] = ()
    distributions: tuple[ColumnDistribution, ...] = ()
    correlation: AssociationMatrix | None = None
    association: AssociationMatrix | None = None
    dominated: dict[str, float] = field(default_factory=dict)
    lost: dict[str, LostCategories] = field(default_factory=dict)
    causes: dict[str, LossCause] = field(default_factory=dict)
    sources: SpecialUniques | None = None
    statistics: tuple[ComparedStatistic, ...] = ()
    notes: tuple[str, ...] = ()
    persons_before: PersonFigures | None = None
    persons_after: PersonFigures | None = None


def measure_evidence(
    released: Released, original: Table | None = None, *, outside: OutsideData | None = None
) -> Evidence:
    """Return the evidence for a release.

    Parameters
    ----------
    released
        The release.
    original
        The original table; without it only the released table is measured.
    outside
        What is known of the population, and a control table.

    Returns
    -------
    evidence
        All figures; the same for the same release. Cost O(n log n) per column.

    Examples
    --------
    >>> import shoal
    >>> from shoal.tables import Table
    >>> people = shoal.datasets.patients(60)
    >>> release = shoal.protect(people, 3, quasi=["age", "income"], unnamed="other", method="mdav")
    >>> evidence = measure_evidence(release.released, Table.from_native(people))
    >>> evidence.before.unique, evidence.after.unique
    (1.0, 0.0)
    """
    schema = released.schema
    confidential = schema.named(Role.CONFIDENTIAL)
    assessed = confidential[: max(1, _MAX_CELLS // max(released.grouping.n, 1))]
    tables = read_tables(released, original, _measured_names(schema, assessed))
    labels = class_labels(released.table, schema.with_weight)
    evidence = Evidence(
        before=None,
        after=_class_risk(tables, tables.released, schema, labels, outside),
        confidential=tuple(_confidential_figures(tables, name, labels, _units(released)) for name in assessed),
        distributions=column_distributions(released, tables),
        lost=lost_categories(released, tables),
        causes=loss_causes(released, tables),
        persons_after=_persons(released, released.table),
    )
    evidence = _with_associations(evidence, released, tables, assessed)
    if original is not None and tables.original is not None:
        before = _class_risk(tables, tables.original, schema, class_labels(original, schema.with_weight), outside)
        evidence = replace(evidence, before=before, persons_before=_persons(released, original))
        evidence = replace(evidence, sources=_sources(original, released))
        if schema.statistics:
            compared = compare_statistics(schema.statistics, original, released.table)
            evidence = replace(evidence, statistics=compared)
        evidence = _with_attacks(evidence, released, tables, labels, assessed, outside)
    if len(assessed) < len(confidential):
        note = (
            f"{len(assessed)} of {len(confidential)} confidential attributes were assessed: the table is too large for "
            "a report; shoal assess assesses all."
        )
        evidence = replace(evidence, notes=(*evidence.notes, note))
    return evidence


def _measured_names(schema: Schema, confidential: Sequence[str]) -> list[str]:
    weight = [] if schema.released_weight is None else [schema.released_weight]
    return list(dict.fromkeys([*schema.protected, *confidential, *weight]))


def _class_risk(
    tables: MeasuredTables, table: Table, schema: Schema, labels: Integers, outside: OutsideData | None
) -> ClassRisk:
    """Return the risk from the sizes of classes, for the journalist by the best that is known of the population."""
    weight, known = schema.released_weight, outside or OutsideData()
    coarse = labels if weight is None else class_labels(table, schema.protected)
    people = None if weight is None else people_in_classes(table, coarse, weight)
    counted = known.people(tables.original or table, table, coarse, schema)
    return class_risk(
        np.bincount(labels), coarse=np.bincount(coarse), counted=counted, people=people, population=known.individuals
    )


def _sources(original: Table, released: Released) -> SpecialUniques | None:
    """Return what makes records of the original unique; None where there are too many quasi-identifiers to combine."""
    names, k = released.schema.protected, max(released.grouping.k, 2)
    if len(names) > MAX_BITS:
        return None
    return special_uniques(original, names, k=k, units=_units(released), cells=_MAX_SUBSET_CELLS)


def _units(released: Released) -> Integers | None:
    """Return the person of each row, where the schema has a unit and the persons of the rows are known."""
    return None if released.persons is None or released.schema.unit is None else released.persons.unit


def _persons(released: Released, table: Table) -> PersonFigures | None:
    """Return the risk of persons and households in the released table, or in the original with the same order."""
    persons = released.persons
    if persons is None:
        return None
    labels = class_labels(table, released.schema.protected)
    return person_figures(labels, persons.unit, persons.household, threshold=THRESHOLD)


def _with_attacks(
    evidence: Evidence, released: Released, tables: MeasuredTables, labels: Integers, confidential: Sequence[str],
    outside: OutsideData | None = None,
) -> Evidence:  # fmt: skip
    names, notes = released.schema.with_weight, list(evidence.notes)
    if released.grouping.n * len(names) > _MAX_CELLS:
        notes.append("No attacks were simulated: the table is too large for a report; shoal evaluate simulates them.")
        return replace(evidence, notes=tuple(notes))
    attacked = confidential[:_MAX_ATTACKED_COLUMNS]
    paired = tables.paired(names)
    units = _units(released)
    attacks = _attacks(paired, tables, labels, attacked, units)
    if tables.original is not None:
        covered = covered_columns(tables.original, tables.released, names, released.schema)
        if any_general(covered):
            found = candidates(covered, paired, k=released.plan.requirements.k, units=units, sample=LINKED_RECORDS)
            attacks = replace(attacks, candidates=found)
        if outside is not None and outside.control is not None:
            compared = attacks_against_control(
                tables.original, tables.released, outside.control, released.schema, attacked,
                units=units, sample=LINKED_RECORDS,
            )  # fmt: skip
            attacks = replace(attacks, controlled=compared)
    if labels.size > SAMPLED_RECORDS:
        notes.append(
            f"Attacks were simulated on random samples: record linkage on {LINKED_RECORDS:,} records, interval "
            f"disclosure on {SAMPLED_RECORDS:,} records, attribute disclosure on whole equivalence classes with about "
            f"{2 * SAMPLED_RECORDS:,} records."
        )
    if len(confidential) > len(attacked):
        notes.append(
            f"Attribute disclosure was simulated for {len(attacked)} of {len(confidential)} confidential attributes."
        )
    dominated = _dominated(paired, released.grouping.k)
    return replace(evidence, attacks=attacks, dominated=dominated, notes=tuple(notes))


def _attacks(
    paired: Sequence[PairedColumn], tables: MeasuredTables, labels: Integers, confidential: Sequence[str],
    units: Integers | None,
) -> Attacks:  # fmt: skip
    matcher = Matcher(paired, labels)
    rows = sampled_rows(labels.size, SAMPLED_RECORDS, 0)
    changed = [column.taken(rows) for column in paired if column.name not in tables.schema.strata]
    attributes: list[Attack] = []
    if confidential:
        inside = _whole_classes(labels, 2 * SAMPLED_RECORDS)
        members = np.unique(labels[inside], return_inverse=True)[1].reshape(-1)
        attributes = attribute_disclosure(
            members, [column.taken(inside) for column in tables.paired(confidential)],
            units=None if units is None else units[inside],
        )  # fmt: skip
    return Attacks(
        record_linkage=record_linkage(paired, matcher=matcher, sample=LINKED_RECORDS),
        assignment_linkage=assignment_linkage(paired, matcher=matcher),
        intervals=tuple(interval_disclosure(changed, units=None if units is None else units[rows])),
        attributes=tuple(attributes),
    )


def _whole_classes(labels: Integers, max_records: int) -> Integers:
    """Return the records of randomly selected classes, about as many records as requested."""
    if labels.size <= max_records:
        return np.arange(labels.size)
    sizes = np.bincount(labels)
    order = np.random.default_rng(0).permutation(sizes.size)
    selected = np.zeros(sizes.size, bool)
    selected[order[: int(np.searchsorted(np.cumsum(sizes[order]), max_records)) + 1]] = True
    return np.flatnonzero(selected[labels])


def _confidential_figures(
    tables: MeasuredTables, name: str, labels: Integers, units: Integers | None
) -> ConfidentialFigures:
    column = tables.schema[name]
    if column.kind == Kind.NUMERIC and tables.released.column(name).to_polars().dtype == pl.String:
        column = replace(column, kind=Kind.NOMINAL)
    values = read_values(tables.released, column, MissingSemantics.DISTINCT)
    counts = count_values(labels, values.codes, n_values=values.n_values)
    persons = None
    if units is not None:
        persons = count_person_values(EquivalenceClasses(labels), units, values.codes, values.n_values)
    single = distinct_l(counts) == 1
    sizes = np.bincount(labels)
    figures = assess_column(counts, values.distance, persons=persons)
    return ConfidentialFigures(name, figures, int(single.sum()), int(sizes[single].sum()))


def _dominated(paired: Sequence[PairedColumn], k: int) -> dict[str, float]:
    """Return the columns in which the k most extreme records make up more than half of the variance."""
    dominated = {}
    for column in paired:
        if not column.numeric or column.deviation == 0:
            continue
        squares = column.standardised(column.original[~np.isnan(column.original)]) ** 2
        if squares.size >= 10 * k:
            share = float(np.sort(np.partition(squares, squares.size - k)[-k:]).sum() / squares.sum())
            if share > _DOMINATING_SHARE:
                dominated[column.name] = share
    return dominated


def _with_associations(
    evidence: Evidence, released: Released, tables: MeasuredTables, confidential: Sequence[str]
) -> Evidence:
    """Return the evidence with the associations of some confidential attributes and the columns that lost most."""
    loss = {name: column.information_loss for name, column in released.loss.columns.items()}
    half = MAX_COLUMNS // 2
    wanted = [*confidential[:half], *sorted(loss, key=lambda name: -loss[name]), *confidential[half:]][:MAX_COLUMNS]
    names = [name for name in released.table.names if name in wanted]
    columns = tables.paired(names, sampled_rows(released.grouping.n, SAMPLED_RECORDS, 0))
    notes = list(evidence.notes)
    possible = len(released.schema.protected) + len(released.schema.named(Role.CONFIDENTIAL))
    if len(names) < possible:
        notes.append(
            f"Associations are shown for {len(names)} of {possible} columns: some confidential attributes, and the "
            "quasi-identifiers with the largest information loss."
        )
    if released.grouping.n > SAMPLED_RECORDS:
        notes.append(f"Associations were measured on a random sample of {SAMPLED_RECORDS:,} records.")
    shown = tables.original is not None
    return replace(
        evidence,
        correlation=correlation(columns, shown=shown),
        association=association(columns, shown=shown),
        notes=tuple(notes),
    )
