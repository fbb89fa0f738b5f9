"""Requirements beyond k records: read them, raise for what cannot be achieved, change groups until all are satisfied.

First records with identical quasi-identifiers come together, if global recoding is requested; these move as one, so
that whole groups are merged. Otherwise whatever a group lacks has a price that rises: persons or households, if these
are counted, and confidential values (``shoal.methods.persons.rising_price``). Groups that still violate one are
repaired by exchanges and merges (``shoal.privacy.enforcement``); then the squared error is lowered without violations.
Groups of ``auto`` are searched further by the loss that is reported (``shoal.flow.auto_search``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.core.arguments import check_arguments
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import distinct_per_class, equal_rows
from shoal.errors import ParameterError, SchemaError
from shoal.flow.encoding import Floats
from shoal.flow.group import Blocks, Grouped, StepRecord, group_records
from shoal.flow.person_requirements import check_achievable, person_requirements, persons_satisfied
from shoal.flow.prepare import Integers, MethodData, Prepared
from shoal.privacy.assessment import NAMES, assess_column
from shoal.privacy.confidential import Values, read_values
from shoal.privacy.counts import count_values
from shoal.privacy.equivalence_classes import MissingSemantics
from shoal.recoding.equal_records import keep_together
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.plan import Plan
from shoal.schema.requirements import Of, Requirements
from shoal.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.core.requirement_violation import RequirementTable
    from shoal.methods.persons.rising_price import Constraints
    from shoal.privacy.enforcement import Enforcement
    from shoal.privacy.person_joins import PersonRequirements
    from shoal.privacy.value_encoding import ValueEncoding

COMPARED_RECORDS = 5_000
"""If violating groups have up to so many records, they are also enforced without a price; the better ones are taken."""


@dataclass(frozen=True, eq=False)
class ConfidentialValues:
    """The confidential attributes of a table as codes, for requirements beyond k.

    Parameters
    ----------
    columns
        The confidential attributes, with the kinds by which they are compared.
    values
        Their values.
    """

    columns: tuple[Column, ...]
    values: tuple[Values, ...]

    @property
    def codes(self) -> Integers:
        """One column of codes per confidential attribute."""
        return np.column_stack([column.codes for column in self.values])

    def group_size(self, requirements: Requirements) -> int:
        """Return how many records a group needs: k, or more where no smaller group satisfies the requirements."""
        from shoal.privacy.requirement_table import smallest_size

        needed = smallest_size(requirements, self.values, self.values[0].codes.size)
        if requirements.max_size is not None and requirements.max_size < needed:
            requested = ", ".join(f"{name}={value}" for name, value in requirements.requested().items())
            raise ParameterError(
                f"max_size={requirements.max_size} is below {needed}, the smallest group that satisfies {requested}; "
                "choose a larger max_size or a weaker requirement"
            )
        return max(requirements.k, needed)

    def check_achievable(self, requirements: Requirements, blocks: Blocks) -> None:
        """Raise for requirements that even one group per block would violate, naming the best achievable value."""
        labels = np.empty(self.values[0].codes.size, np.int64)
        for number, records in enumerate(blocks.members):
            labels[records] = number
        for column in self.values:
            counts = column.compared(count_values(labels, column.codes, n_values=column.n_values))
            found = assess_column(counts, column.distance, l=requirements.recursive_l)
            figures = {name: getattr(found, name) for name in NAMES}
            for name, (requested, best, enough) in requirements.achieved_by(figures).items():
                if not enough:
                    groups = "all records in one group" if len(blocks) == 1 else "one group per stratum or pattern"
                    raise ParameterError(
                        f'{name}={requested:g} is not achievable for column "{column.name}", which has {found.values} '
                        f"different values: with {groups}, {name}={best:.4g}; request that or less"
                    )


def read_confidential(
    table: Table, schema: Schema, requirements: Requirements, whole: Sequence[ValueEncoding] = ()
) -> ConfidentialValues | None:
    """Return the confidential attributes that requirements beyond k are about; None where only k is requested.

    ``whole`` holds their distributions in the whole table, where the table is a part of it.
    """
    if not requirements.beyond_k:
        return None
    if requirements.delta is not None:
        raise ParameterError(
            "delta can be verified but not requested: two groups that satisfy it may violate it together; request beta"
        )
    names = schema.named(Role.CONFIDENTIAL)
    if not names:
        raise SchemaError(
            f"{next(iter(requirements.requested()))} is about confidential attributes, but none is named; name them "
            "with confidential= (command line: --confidential)"
        )
    return ConfidentialValues(*confidential_values(table, [schema[name] for name in names], requirements, whole))


def confidential_values(
    table: Table, columns: list[Column], requirements: Requirements, whole: Sequence[ValueEncoding] = ()
) -> tuple[tuple[Column, ...], tuple[Values, ...]]:
    """Return confidential attributes and their values; text that a file holds is parsed as its kind says."""
    typed = table.with_types(column.name for column in columns if column.kind != Kind.NOMINAL)
    for column in columns:
        if column.kind == Kind.NUMERIC and typed.column(column.name).to_polars().dtype == pl.String:
            raise SchemaError(f'column "{column.name}" is to be numeric but holds text; correct it or call it nominal')
    if whole:
        from shoal.privacy.value_encoding import read_part

        return tuple(columns), read_part(typed, whole, requirements)
    return tuple(columns), tuple(read_values(typed, column, MissingSemantics.DISTINCT) for column in columns)


def satisfy_requirements(
    prepared: Prepared,
    grouped: Grouped,
    confidential: ConfidentialValues | None = None,
    *,
    data: MethodData | None = None,
    progress: Progress = SILENT,
) -> Grouped:
    """Return groups that satisfy every requirement.

    Parameters
    ----------
    prepared
        The table.
    grouped
        Its groups.
    confidential
        The confidential attributes; read from the table if not given.
    data
        The arrays of the table, to share them between calls.
    progress
        Progress callback.

    Returns
    -------
    grouped
        The groups, with a record of each step that changed them.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 60, 61], "diagnosis": ["A", "A", "A", "B"]})
    >>> table, schema = shoal.load_table(people, quasi=["age"], confidential=["diagnosis"])
    >>> prepared = shoal.prepare(table, shoal.fit_encoding(table, schema))
    >>> grouped = shoal.group_records(prepared, shoal.Requirements(k=2, l=2), shoal.MethodCall("mdav"))
    >>> len(grouped.grouping.sizes), len(shoal.satisfy_requirements(prepared, grouped).grouping.sizes)
    (2, 1)
    """
    check_arguments(prepared=prepared, grouped=grouped, progress=progress)
    requirements = grouped.requirements
    confidential = confidential or read_confidential(
        prepared.table, prepared.schema, requirements, prepared.whole_table
    )
    data = data or MethodData(prepared, grouped.blocks.suppressed)
    if requirements.global_recoding:
        progress.stage("keeping identical records together")
        grouped = _identical_records_together(prepared, grouped, data)
    units = prepared.counted(requirements)
    rule = person_requirements(prepared, requirements, confidential)
    if rule is not None:
        if units is not None:
            grouped = _units_satisfied(grouped, units, requirements.counting(prepared.schema), data, progress)
        return persons_satisfied(
            grouped, rule, confidential, units, data, progress=progress,
            enforce=lambda given, table, codes: _exchanged(given, table, codes, data, progress),
        )  # fmt: skip
    if confidential is not None:
        if grouped.search is None or units is not None or requirements.global_recoding:
            return _enforced(grouped, confidential, units, data, "requirements", progress)
        return _searched(prepared, grouped, confidential, data, progress)
    if units is not None:
        return _units_satisfied(grouped, units, requirements.counting(prepared.schema), data, progress)
    return grouped


def _searched(
    prepared: Prepared, grouped: Grouped, confidential: ConfidentialValues, data: MethodData, progress: Progress
) -> Grouped:
    """Return groups of ``auto`` that satisfy all requirements beyond k records, from two starts, searched further."""
    from shoal.flow.auto_search import better_groups, searched_in_windows, searched_within

    table, codes = requirement_arrays(grouped.requirements, confidential, None)
    found = _enforced(grouped, confidential, None, data, "requirements", progress)
    if not found.steps[-1].counts.get("groups_violating", 0):
        return found
    size = confidential.group_size(grouped.requirements)
    start = searched_in_windows(prepared, grouped, size, data, progress)
    if start is not None:
        other = _enforced(start, confidential, None, data, "requirements", progress, construct=False)
        found = better_groups(found, other, data)
    return searched_within(prepared, found, table, codes, data, progress)


def _identical_records_together(prepared: Prepared, grouped: Grouped, data: MethodData) -> Grouped:
    """Return groups in which identical records of a block share a group."""
    names = [entry.column.name for entry in prepared.encoding.quasi]
    records = equal_rows([prepared.values(name, grouped.blocks.suppressed) for name in names])
    points = data.points().astype(np.float64, copy=False)
    before = grouped.grouping.labels
    labels = grouped.blocks.mapped(
        grouped.grouping.n,
        lambda block: canonical_labels(
            keep_together(records[block], canonical_labels(before[block]), points[block], grouped.grouping.k)
        ),
    )
    changed = int((canonical_labels(labels) != before).any())
    return grouped.regrouped(labels, StepRecord("identical records together", {"changed": changed}))


def _units_satisfied(grouped: Grouped, units: Integers, of: Of, data: MethodData, progress: Progress) -> Grouped:
    """Return groups near the given ones with k different persons or households each, block by block."""
    step = f"k {of.noun}"
    if distinct_per_class(grouped.grouping.labels, units).min() >= grouped.requirements.k:
        return replace(grouped, steps=(*grouped.steps, StepRecord(step, {"groups_violating": 0})))
    return _enforced(grouped, None, units, data, step, progress)


def requirement_arrays(
    requirements: Requirements, confidential: ConfidentialValues | None, units: Integers | None
) -> tuple[RequirementTable, Integers]:
    """Return the requirements beyond k records for compiled loops, and the codes that they are about."""
    from shoal.privacy.requirement_table import build_requirement_table, require_units

    if confidential is None:
        assert units is not None
        return require_units(requirements.k, int(units.max()) + 1), units[:, None]
    table, codes = build_requirement_table(requirements, confidential.values), confidential.codes
    if units is None:
        return table, codes
    table = require_units(requirements.k, int(units.max()) + 1, beside=table, column=codes.shape[1])
    return table, np.column_stack([codes, units])


def _exchanged(
    grouped: Grouped, table: RequirementTable, codes: Integers, data: MethodData, progress: Progress
) -> Grouped:
    """Return groups near the given ones that satisfy a table of requirements by exchanges and joins, block by block."""
    from shoal.privacy.enforcement import merge_groups
    from shoal.privacy.enforcement import satisfy_requirements as exchange_and_merge

    requirements = grouped.requirements
    points = data.points().astype(np.float64, copy=False)
    counts: dict[str, int] = {}
    before = grouped.grouping.labels

    def satisfied(block: Integers) -> Integers:
        inside, groups, values = points[block], canonical_labels(before[block]), codes[block]
        if requirements.global_recoding:  # identical records move as one: whole groups are merged
            found = merge_groups(inside, groups, values, table, progress=progress)
        else:
            found = exchange_and_merge(inside, groups, requirements.k, values, table, progress=progress)
        return _counted(found, counts)

    labels = grouped.blocks.mapped(grouped.grouping.n, satisfied)
    return grouped.regrouped(labels, StepRecord("requirements", counts))


def _counted(found: Enforcement, counts: dict[str, int]) -> Integers:
    """Return the labels of a block, and add what was changed to the counts."""
    for name, count in found.counts().items():
        counts[name] = counts.get(name, 0) + count
    return canonical_labels(found.labels)


def _enforced(
    grouped: Grouped,
    confidential: ConfidentialValues | None,
    units: Integers | None,
    data: MethodData,
    step: str,
    progress: Progress,
    *,
    construct: bool = True,
) -> Grouped:
    """Return groups near the given ones that satisfy all requirements beyond k records, block by block.

    Where such groups can also be constructed, the cheaper ones are taken, unless ``construct`` is False.
    """
    from shoal.methods.persons.rising_price import Constraints
    from shoal.privacy.enforcement import merge_groups

    requirements = grouped.requirements
    table, codes = requirement_arrays(requirements, confidential, units)
    only, theirs = (None, codes) if confidential is None else requirement_arrays(requirements, confidential, None)
    points = data.points().astype(np.float64, copy=False)
    counts: dict[str, int] = {}
    before = grouped.grouping.labels

    def satisfied(block: Integers) -> Integers:
        inside, groups, values = points[block], canonical_labels(before[block]), codes[block]
        if requirements.global_recoding:  # identical records move as one: whole groups are merged
            found = merge_groups(inside, groups, values, table, progress=progress)
        else:
            constraints = Constraints(
                requirements.k, None if units is None else units[block], None if only is None else theirs[block], only,
                requirements.max_size,
            )  # fmt: skip
            found = satisfied_by_price(inside, groups, constraints, values, table, progress)
            if construct and confidential is not None and units is None and len(grouped.blocks) == 1:
                found = _or_built(inside, groups, found, constraints, confidential, requirements, progress)
        return _counted(found, counts)

    labels = grouped.blocks.mapped(grouped.grouping.n, satisfied)
    return grouped.regrouped(labels, StepRecord(step, counts))


def _or_built(  # noqa: PLR0917 - the groups before and after, and what they must satisfy
    points: Floats, start: Integers, found: Enforcement, constraints: Constraints, confidential: ConfidentialValues,
    requirements: Requirements, progress: Progress,
) -> Enforcement:  # fmt: skip
    """Return the cheaper groups of the given ones and of those that are t-close by construction.

    There are such for one confidential attribute whose values are ordered, or equal or not.
    """
    from shoal.privacy.closeness_construction import MAX_RECORDS, build_close_groups

    if requirements.t is None or len(confidential.values) != 1 or not found.groups_violating:
        return found
    (values,) = confidential.values
    suitable = values.distance.name in {"ordered", "equal"} and values.totals is None and (values.codes >= 0).all()
    if not suitable or len(points) > MAX_RECORDS or requirements.max_size is not None:
        return found
    from shoal.methods.persons.rising_price import refine_within
    from shoal.methods.refinement.crossover import crossover

    assert constraints.codes is not None
    assert constraints.table is not None
    different = None if values.distance.name == "ordered" else values.n_values
    built = build_close_groups(
        points, constraints.codes, requirements.k, requirements.t, constraints.table, values=different
    )
    if built is None:
        return found
    built = refine_within(points, built, start, constraints, progress=progress)
    return replace(found, labels=crossover(points, canonical_labels(found.labels), canonical_labels(built)))


def satisfied_by_price(
    points: Floats,
    labels: Integers,
    constraints: Constraints,
    codes: Integers,
    table: RequirementTable,
    progress: Progress,
) -> Enforcement:
    """Return groups that satisfy all requirements: a rising price, enforcement of the rest, refinement within.

    Where few records are concerned they are also enforced without a price, and the cheaper groups of both are taken.
    """
    from shoal.methods.persons.rising_price import raise_price, refine_within
    from shoal.methods.refinement.crossover import crossover
    from shoal.privacy.enforcement import Enforcement, count_violating, repair_violating
    from shoal.privacy.enforcement import satisfy_requirements as exchange_and_merge

    violating = count_violating(labels, codes, table)
    if not violating:
        return Enforcement(labels)
    progress.stage("satisfying requirements", violating)
    priced = raise_price(points, labels, constraints, progress=progress)
    repaired = repair_violating(points, priced, constraints.k, codes, table, progress=progress)
    found = refine_within(points, repaired.labels, labels, constraints, progress=progress)
    if violating * len(points) <= COMPARED_RECORDS * (int(labels.max()) + 1):
        other = exchange_and_merge(points, labels, constraints.k, codes, table).labels
        found = crossover(points, found, other)
    return replace(repaired, labels=found, groups_violating=violating, groups_repaired=repaired.groups_violating)


def group_beyond_k(
    prepared: Prepared, plan: Plan, arrays: MethodData, blocks: Blocks, progress: Progress
) -> tuple[Grouped, PersonRequirements | None]:
    """Return groups that satisfy requirements beyond k, and those that persons are counted for.

    Raises before any grouping if one is not achievable.
    """
    requirements = plan.requirements
    confidential = read_confidential(prepared.table, plan.schema, requirements, prepared.whole_table)
    size = None
    rule = person_requirements(prepared, requirements, confidential)
    if rule is not None:
        check_achievable(rule, blocks)
    elif confidential is not None:
        confidential.check_achievable(requirements, blocks)
    if confidential is not None:
        size = confidential.group_size(requirements)
    grouped = group_records(
        prepared, requirements, plan.method, size=size, data=arrays, blocks=blocks, progress=progress
    )
    return satisfy_requirements(prepared, grouped, confidential, data=arrays, progress=progress), rule
