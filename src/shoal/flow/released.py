"""The last stage: the recoded table is recounted from scratch, described by a manifest, and released.

Nothing that a :class:`Released` holds leads back to the original table: its table is a clean copy
(:mod:`shoal.tables.clean_copy`), and copies and pickles list no categories that do not occur in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.core.arguments import checked
from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.errors import LossNotAccepted, ParameterError, RequirementNotMet, SchemaError
from shoal.flow.group import Grouped, MethodRun
from shoal.flow.manifest import build_manifest
from shoal.flow.prepare import Integers, Prepared
from shoal.flow.recode import Recoded
from shoal.flow.remarks import Remark, release_remarks
from shoal.methods.contract import Outcome
from shoal.privacy.k_anonymity import Classes, class_labels, count_classes, require_k, verify_k
from shoal.recoding.loss import Loss
from shoal.schema.columns import Column, Role, Schema
from shoal.schema.plan import JsonDict, Plan
from shoal.schema.requirements import Of, Requirements, violation
from shoal.tables import Table
from shoal.tables.clean_copy import clean_copy
from shoal.tables.value_codes import comparable_values

if TYPE_CHECKING:
    from shoal.flow.kept_moments import KeptMoments
    from shoal.flow.row_order import RowOrder
    from shoal.flow.second_release import SecondRelease
    from shoal.flow.stepped import FittedSteps
    from shoal.flow.units import UnitIndex
    from shoal.privacy.assessment import Assessment
    from shoal.privacy.confidential import Values
    from shoal.privacy.equivalence_classes import EquivalenceClasses
    from shoal.privacy.person_risk import PersonFigures
    from shoal.privacy.person_values import PersonValues
    from shoal.privacy.value_encoding import ValueEncoding
    from shoal.tables.table import Series

_FIRST_ROWS = 1_000


@dataclass(frozen=True)
class Recount:
    """What a count of the released table found.

    Parameters
    ----------
    classes
        The equivalence classes.
    assessment
        All privacy models, where requirements beyond k were requested.
    compared
        How the values of each confidential attribute were compared: ``ordered``, ``equal`` or ``hierarchical``.
    with_weight
        The classes by quasi-identifiers and the released sampling weight, if there is one.
    with_known
        The classes by these and the further columns that an intruder may know, if any are named.
    persons
        Risk and shares of persons and households, where the schema has them; the threshold is 1/k.
    with_constant, constant
        The classes by quasi-identifiers, sampling weight and the unchanged columns that are constant within a person
        or household, and these columns: an intruder who knows one row of a person knows them for all.
    """

    classes: Classes
    assessment: Assessment | None = None
    compared: Mapping[str, str] = field(default_factory=dict)
    with_weight: Classes | None = None
    with_known: Classes | None = None
    persons: PersonFigures | None = None
    with_constant: Classes | None = None
    constant: tuple[str, ...] = ()

    def known_k(self) -> dict[str, int]:
        """Return k over the quasi-identifiers and further columns that an intruder may know, where there are any."""
        found = {"with_weight": self.with_weight, "with_known": self.with_known, "with_constant": self.with_constant}
        return {name: classes.k for name, classes in found.items() if classes is not None}


@dataclass(frozen=True, eq=False)
class Released:
    """A released table with its evidence.

    Parameters
    ----------
    plan
        What was done.
    table
        The released table.
    grouping
        The group of each record.
    recount
        What was counted on the released table.
    loss
        What was lost.
    outcome
        What the method returned.
    manifest
        What was done, as a dictionary without values of records.
    remarks
        What a person should know before the table is released.
    second
        How the release follows from an earlier one, if it does; confidential.
    order
        Which row of the original each released row is, where rows are released in another order; confidential. Copies
        and pickles lack it.
    units
        The person or household of each released row, where k counts these; confidential like ``order``.
    persons
        Person, household and position of each released row, where the schema has these; confidential like ``order``.
    person_groups, household_groups
        The group of whole persons, and of whole households, of each released row, where these are grouped; confidential
        like ``order``.
    runs
        The methods that ran, as resolved.
    whole
        The distributions of confidential attributes in the whole table, where a part of it was released and
        requirements compare with them; confidential like ``order``.
    steps
        The steps before grouping with the keys of their random numbers; confidential like ``order``.
    moments
        What was restored where means and covariances were to be kept.
    sampled
        What a reader has to know where the table is a sample of a larger release.
    """

    plan: Plan
    table: Table
    grouping: Grouping
    recount: Recount
    loss: Loss
    outcome: Outcome
    manifest: JsonDict
    remarks: tuple[Remark, ...] = field(default=())
    second: SecondRelease | None = None
    order: RowOrder | None = field(default=None, repr=False)
    units: Integers | None = field(default=None, repr=False)
    persons: UnitIndex | None = field(default=None, repr=False)
    person_groups: Integers | None = field(default=None, repr=False)
    household_groups: Integers | None = field(default=None, repr=False)
    runs: tuple[MethodRun, ...] = ()
    whole: tuple[ValueEncoding, ...] | None = field(default=(), repr=False)
    steps: FittedSteps | None = field(default=None, repr=False)
    moments: KeptMoments | None = None
    sampled: str = ""

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {
            "plan": _without_categories(self.plan, self.table),
            "table": self.table.without_paths(),  # paths can be confidential
            "order": None,
            "units": None,
            "persons": None,
            "person_groups": None,
            "household_groups": None,
            "whole": () if self.whole == () else None,
            "steps": None,
        }

    def paired(self, original: Table) -> Table:
        """Return the original with its rows in the order of the release; raises where that order is not known."""
        dropped = self.table.n_rows != original.n_rows
        if self.order is None and (self.schema.random_order or dropped):
            raise ParameterError(
                "the rows of this release are in a random order, which a release that was loaded or copied does not "
                "know; measure it where it was made, or with shoal evaluate and its holder's record"
            )
        if any(column.before or column.after for column in self.schema.columns):
            from shoal.flow.stepped import comparable_original

            original, _ = comparable_original(original, self.schema)
        return original if self.order is None else self.order.table(original)

    @property
    def stated_plan(self) -> Plan:
        """The plan as it was requested, before kinds and orders followed from steps."""
        return self.plan if self.steps is None else replace(self.plan, schema=self.steps.stated)

    @property
    def schema(self) -> Schema:
        """Roles, kinds and treatment of the columns."""
        return self.plan.schema

    @property
    def classes(self) -> Classes:
        """The equivalence classes, counted on the finished table."""
        return self.recount.classes

    @property
    def k(self) -> int:
        """The smallest number of records, persons or households in an equivalence class, whichever k counts."""
        return self.classes.k


@checked
def release_table(
    plan: Plan,
    prepared: Prepared,
    grouped: Grouped,
    recoded: Recoded,
    *,
    second: SecondRelease | None = None,
    progress: Progress = SILENT,
) -> Released:
    """Recount the recoded table and describe it.

    Parameters
    ----------
    plan
        What was requested.
    prepared, grouped, recoded
        The stages before.
    second
        How the release follows from an earlier one.
    progress
        Progress callback.

    Returns
    -------
    released
        Raises if the recount finds a requirement violated: nothing is released then.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62]})
    >>> table, schema = shoal.load_table(people, quasi=["age"])
    >>> prepared = shoal.prepare(table, shoal.fit_encoding(table, schema))
    >>> grouped = shoal.group_records(prepared, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    >>> plan = shoal.Plan(schema, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    >>> shoal.release_table(plan, prepared, grouped, shoal.recode_table(prepared, grouped)).k
    3
    """
    progress.stage("verifying")
    order, persons = _order(plan.schema, prepared), prepared.units
    grouping, outcome = grouped.grouping, grouped.outcome
    if order is not None:
        recoded = replace(recoded, table=order.table(recoded.table))
        grouping = order.grouping(grouping)
        outcome = order.outcome(outcome, grouping)
        persons = None if persons is None else persons.in_order(order.original_rows)
    units = None if persons is None else persons.counted(plan.of)
    person_groups = _labels_around(grouped.outer, order)
    household_groups = _labels_around(None if grouped.households is None else grouped.households[0], order)
    recoded = replace(recoded, table=clean_copy(recoded.table, prepared.table))
    if order is not None and order.codes is not None:
        recoded = replace(recoded, table=with_code(recoded.table, str(plan.schema.unit), order.codes))
    if prepared.steps is not None and prepared.steps.codes:
        from shoal.flow.released_steps import with_identifier_codes

        recoded = replace(recoded, table=with_identifier_codes(recoded.table, prepared, order))
    whole = prepared.whole_table if plan.requirements.beyond_k else ()
    recount = recount_table(recoded.table, plan.schema, plan.requirements, units, persons, whole=whole)
    if order is not None and prepared.input_rows is not None:
        order = order.within(prepared.input_rows, prepared.input.n_rows)
    remarks = release_remarks(plan, prepared, grouped, recoded, recount, persons)
    manifest = build_manifest(plan, prepared, grouped, recoded, recount, remarks)
    return Released(
        plan, recoded.table, grouping, recount, recoded.loss, outcome, manifest, remarks, second, order, units,
        persons, person_groups, household_groups, runs=grouped.runs, whole=whole,
        steps=None if prepared.steps is None else prepared.steps.fitted,
        moments=recoded.moments,
    )  # fmt: skip


def _labels_around(groups: Grouping | None, order: RowOrder | None) -> Integers | None:
    """Return the group of persons or households of each released row."""
    if groups is None or order is None:
        return None if groups is None else groups.labels
    return np.asarray(groups.labels[order.original_rows])


def _order(schema: Schema, prepared: Prepared) -> RowOrder | None:
    """Return the order of the released rows; None where it is that of the original, and all rows are released."""
    if not schema.random_order and prepared.input_rows is None:
        return None
    from shoal.flow.row_order import draw_order, unchanged_order

    return draw_order(schema, prepared.n, units=prepared.units) or unchanged_order(prepared.n)


def with_code(table: Table, name: str, codes: Integers) -> Table:
    """Return a table with the codes of persons as its first column."""
    import narwhals as nw

    column = nw.new_series(name, codes, nw.Int64, backend=table.frame.implementation)
    return replace(table, frame=table.frame.with_columns(column).select([name, *table.names]))


def _without_categories(plan: Plan, table: Table) -> Plan:
    """Return a plan for copies of a release: orders name the categories that occur, hierarchies of replaced columns go.

    Both list categories of the original that the release no longer has.
    """
    from shoal.core.text import text_of

    released = set(table.names)

    def reduced(column: Column) -> Column:
        hierarchy = column.hierarchy if column.role == Role.CONFIDENTIAL else None
        if column.order is None:
            return replace(column, hierarchy=hierarchy)
        known = set(table.column(column.name).unique().to_list() if column.name in released else ())
        texts = {text_of(value) for value in known if value is not None}
        return replace(column, hierarchy=hierarchy, order=tuple(text for text in column.order if text in texts))

    return replace(plan, schema=replace(plan.schema, columns=tuple(map(reduced, plan.schema.columns))))


def recount_table(
    table: Table,
    schema: Schema,
    requirements: Requirements,
    units: Integers | None = None,
    persons: UnitIndex | None = None,
    *,
    whole: Sequence[ValueEncoding] = (),
) -> Recount:
    """Count k and assess every requirement on a finished table; raises where one is violated.

    Parameters
    ----------
    table
        The finished table.
    schema, requirements
        What is counted and what must hold.
    units
        The person or household of each row of the table, where k counts these.
    persons
        Person, household and position of each row, where the schema has these; all requirements beside k count persons
        then.
    whole
        The distributions of confidential attributes in the whole table, where the table is a part of it.
    """
    of = requirements.counting(schema)
    if (persons is None) and schema.unit is not None and (requirements.beyond_k or requirements.max_share is not None):
        raise ParameterError("the requirements count persons, so the recount needs the person of each row")
    if (units is None) != (of == Of.ROWS):
        raise ParameterError(f"k counts {of.noun}, so the recount needs the code of each row and of nothing else")
    position = None if persons is None else persons.order
    if schema.code is not None and persons is not None:
        from shoal.flow.units import codes_of

        codes = codes_of(table, schema.code, persons.unit)
        if of in {Of.UNITS, Of.HISTORIES}:
            units, position = codes, None  # the rows of a person are in order
    if (schema.constant or of == Of.HISTORIES) and persons is None:
        raise ParameterError("the recount of histories and of constant columns needs the person of each row")
    if persons is not None:
        _require_constants(table, schema, of, persons)
    classes = verify_k(table, schema.protected, requirements.k, units, of, position)
    assessed = requirements.beyond_k or requirements.max_share is not None
    found = _assessed(table, schema, requirements, classes, persons, whole) if assessed else Recount(classes)
    if persons is not None:
        labels = class_labels(table, schema.protected)
        found = replace(found, persons=_figures(labels, schema, requirements, persons, households=True))
    if schema.released_weight is not None:
        with_weight = count_classes(table, schema.with_weight, units, of, position)
        if schema.released_weight in schema.counted:
            require_k(with_weight, requirements.k, f'with the sampling weight "{schema.released_weight}", ')
        found = replace(found, with_weight=with_weight)
    if schema.known:
        found = replace(found, with_known=count_classes(table, schema.known_columns, units, of, position))
    constant = () if persons is None else _unchanged_constants(table, schema, persons)
    if constant:
        counted = count_classes(table, [*schema.with_weight, *constant], units, of, position)
        found = replace(found, with_constant=counted, constant=constant)
    return found


def _require_constants(table: Table, schema: Schema, of: Of, persons: UnitIndex) -> None:
    """Raise where a column that has to stay constant within persons or households has several values in one."""
    from shoal.privacy.kept_constants import require_constant

    for names, owners in persons.constants(schema, of):
        require_constant(table, names, owners)


def _unchanged_constants(table: Table, schema: Schema, persons: UnitIndex) -> tuple[str, ...]:
    """Return the unchanged columns with one value in all rows of each person or household, but several in the table."""
    owners = persons.unit if schema.household is None or persons.household is None else persons.household
    found = []
    for column in schema.columns:
        if column.role not in {Role.OTHER, Role.CONFIDENTIAL} or column.name in {*schema.with_weight, schema.code}:
            continue
        dtype = table.column(column.name).dtype
        if dtype.is_nested() or str(dtype) in {"Object", "Unknown"}:
            continue
        values = comparable_values(table.column(column.name))
        pairs = pl.DataFrame({"owner": owners, "value": values}).n_unique()
        if pairs == np.unique(owners).size < table.n_rows and values.n_unique() > 1:
            found.append(column.name)
    return tuple(found)


def _assessed(
    table: Table,
    schema: Schema,
    requirements: Requirements,
    classes: Classes,
    persons: UnitIndex | None,
    whole: Sequence[ValueEncoding],
) -> Recount:
    """Return all privacy models on a finished table; raises where a requirement beyond k is violated."""
    from shoal.flow.satisfy import confidential_values
    from shoal.privacy.assessment import Assessment, assess_column
    from shoal.privacy.equivalence_classes import MissingSemantics, equivalence_classes

    columns = [schema[name] for name in schema.named(Role.CONFIDENTIAL)]
    matching = equivalence_classes(table, schema.protected, MissingSemantics.DISTINCT)
    _, values = confidential_values(table, columns, requirements, whole)
    assessed = {
        column.name: assess_column(
            column.compared(matching.counts(column.codes, column.n_values)), column.distance,
            l=requirements.recursive_l, persons=_by_persons(matching, column, schema, persons),
        )
        for column in values
    }  # fmt: skip
    sizes = matching.sizes()
    assessment = Assessment(
        records=table.n_rows, sizes=sizes, members=sizes, quasi=tuple(schema.protected),
        confidential=tuple(assessed), confidential_as="separate", missing_semantics=str(MissingSemantics.DISTINCT),
        columns=assessed, persons=_figures(matching.labels, schema, requirements, persons),
    )  # fmt: skip
    require(assessment, requirements)
    if classes.of == Of.HISTORIES and persons is not None:
        from shoal.flow.history_positions import require_at_positions

        require_at_positions(table, schema, requirements, persons)
    return Recount(classes, assessment, {column.name: column.distance.name for column in values})


def _by_persons(
    classes: EquivalenceClasses, column: Values, schema: Schema, persons: UnitIndex | None
) -> PersonValues | None:
    """Return the values of a confidential column by persons, where the schema has a unit."""
    if persons is None or schema.unit is None:
        return None
    from shoal.privacy.person_values import count_person_values

    return count_person_values(classes, persons.unit, column.codes, column.n_values)


def _figures(
    labels: Integers, schema: Schema, requirements: Requirements, persons: UnitIndex | None, *, households: bool = False
) -> PersonFigures | None:
    """Return risk and shares of persons, where the schema has a unit, or with ``households`` a household."""
    if persons is None or (schema.unit is None and not households):
        return None
    from shoal.privacy.person_risk import person_figures

    units = canonical_labels(persons.unit)  # histories may leave persons out
    households_of = None if persons.household is None else canonical_labels(persons.household)
    return person_figures(labels, units, households_of, threshold=1 / requirements.k, linked=schema.keep_links)


def require(assessment: Assessment, requirements: Requirements) -> None:
    """Raise :class:`shoal.errors.RequirementNotMet` with one sentence for all requirements that a table violates."""
    if requirements.beyond_k and not assessment.columns:
        raise SchemaError(f"{next(iter(requirements.requested()))} is about confidential attributes, but none is named")
    violated = [
        violation(name, requested, achieved, persons=assessment.persons is not None)
        for name, (requested, achieved, holds) in assessment.achieved(requirements).items()
        if not holds
    ]
    if violated:
        raise RequirementNotMet("; ".join(violated))


def check_loss(prepared: Prepared, released: Released) -> None:
    """Raise where a release has lost more than everything, or has emptied a column, which a user has to accept.

    A column is emptied if all its values became missing or one constant although the original has different values.
    """
    total = released.loss.information_loss
    problems = [f"the information loss is {100 * total:.0f} %"] if total > 1 else []
    problems += [
        f'column "{column.name}" has one value left'
        for column in prepared.schema.quasi
        if _is_constant(released.table.column(column.name)) and not _is_constant(prepared.table.column(column.name))
    ]
    if problems:
        raise LossNotAccepted(
            f"{'; '.join(problems)}: nothing was released; choose a smaller k, fewer quasi-identifiers or another "
            "treatment of missing values, drop the column, or accept the loss with --accept-loss (Python: "
            "accept_loss=True)"
        )


def _is_constant(column: Series) -> bool:
    """Return whether a column has one value; most columns show in their first rows that they have several."""
    return bool(column.head(_FIRST_ROWS).n_unique() == 1 and column.n_unique() == 1)
