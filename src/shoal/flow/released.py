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
from shoal.core.group_statistics import largest_shares
from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.core.text import text_of
from shoal.errors import LossNotAccepted, ParameterError, RequirementNotMet, SchemaError
from shoal.flow.derived_columns import derived_columns
from shoal.flow.group import Grouped, MethodRun
from shoal.flow.manifest import build_manifest
from shoal.flow.prepare import Prepared
from shoal.flow.recode import Recoded
from shoal.flow.relinked import asked_persons, original_remarks, person_remarks
from shoal.flow.row_order import RowOrder, draw_order
from shoal.flow.units import Integers, UnitIndex, codes_of
from shoal.methods.contract import Outcome
from shoal.privacy.k_anonymity import Classes, class_labels, count_classes, require_k, verify_k
from shoal.privacy.kept_constants import require_constant
from shoal.recoding.loss import Loss
from shoal.schema.column_words import words_of
from shoal.schema.columns import Column, Kind, Recode, ReleaseWeight, Role, Schema
from shoal.schema.kind_proposal import FEW_CODES, propose_kind
from shoal.schema.plan import JsonDict, Plan
from shoal.schema.requirements import Of, Requirements, violation
from shoal.schema.role_proposal import looks_like_identifier
from shoal.tables import Table
from shoal.tables.clean_copy import clean_copy, left_out
from shoal.tables.value_codes import comparable_values

if TYPE_CHECKING:
    from shoal.flow.second_release import SecondRelease
    from shoal.privacy.assessment import Assessment
    from shoal.privacy.confidential import Values
    from shoal.privacy.equivalence_classes import EquivalenceClasses
    from shoal.privacy.person_risk import PersonFigures
    from shoal.privacy.person_values import PersonValues
    from shoal.privacy.value_encoding import ValueEncoding

DOMINANT_SHARE = 0.8
"""The share of the sampling weight of a group above which one record dominates it: the (1, 80 %) dominance rule."""
_HEAD = 10_000
HEAVY_LOSS = 0.4
"""The information loss of a column above which a remark is made."""


@dataclass(frozen=True)
class Remark:
    """Something a person should know before the table is released: a code, the column it concerns, and a sentence."""

    code: str
    column: str | None
    text: str

    def __str__(self) -> str:
        return self.text


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
    runs
        The methods that ran, as resolved.
    whole
        The distributions of confidential attributes in the whole table, where a part of it was released and
        requirements compare with them; confidential like ``order``.
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
    runs: tuple[MethodRun, ...] = ()
    whole: tuple[ValueEncoding, ...] | None = field(default=(), repr=False)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {
            "plan": _without_categories(self.plan, self.table),
            "table": self.table.without_paths(),  # paths can be confidential
            "order": None,
            "units": None,
            "persons": None,
            "whole": () if self.whole == () else None,
        }

    def paired(self, original: Table) -> Table:
        """Return the original with its rows in the order of the release; raises where that order is not known."""
        if self.order is None and (self.schema.unit or self.schema.household):
            raise ParameterError(
                "the rows of this release are in a random order, which a release that was loaded or copied does not "
                "know; measure it where it was made, or with shoal evaluate and its holder's record"
            )
        return original if self.order is None else self.order.table(original)

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
    """
    progress.stage("verifying")
    order, persons = draw_order(plan.schema, prepared.n, units=prepared.units), prepared.units
    grouping, outcome = grouped.grouping, grouped.outcome
    if order is not None:
        recoded = replace(recoded, table=order.table(recoded.table))
        grouping = order.grouping(grouping)
        outcome = order.outcome(outcome, grouping)
        persons = None if persons is None else persons.in_order(order.original_rows)
    units = None if persons is None else persons.counted(plan.of)
    recoded = replace(recoded, table=clean_copy(recoded.table, prepared.table))
    if order is not None and order.codes is not None:
        recoded = replace(recoded, table=with_code(recoded.table, str(plan.schema.unit), order.codes))
    whole = prepared.whole_table if plan.requirements.beyond_k else ()
    recount = recount_table(recoded.table, plan.schema, plan.requirements, units, persons, whole=whole)
    if order is not None and prepared.rows is not None:
        order = order.within(prepared.rows, prepared.complete.n)
    remarks = (*_remarks(prepared, grouped, recoded), *_known_remarks(plan, recount), *_second_weights(prepared))
    remarks += tuple(Remark(found.code, None, found.text) for found in person_remarks(plan, recoded.table, persons))
    remarks += _code_remarks(prepared)
    remarks += tuple(Remark("derived-column", found.column, found.sentence) for found in derived_columns(prepared))
    remarks += tuple(Remark(found.code, None, found.text) for found in original_remarks(plan, prepared))
    remarks += tuple(Remark("several-rows", found.column, found.warning) for found in asked_persons(plan, prepared))
    manifest = build_manifest(plan, prepared, grouped, recoded, recount, remarks)
    return Released(
        plan, recoded.table, grouping, recount, recoded.loss, outcome, manifest, remarks, second, order, units,
        persons, runs=grouped.runs, whole=whole,
    )  # fmt: skip


def with_code(table: Table, name: str, codes: Integers) -> Table:
    """Return a table with the codes of persons as its first column."""
    import narwhals as nw

    column = nw.new_series(name, codes, nw.Int64, backend=table.frame.implementation)
    return replace(table, frame=table.frame.with_columns(column).select([name, *table.names]))


def _without_categories(plan: Plan, table: Table) -> Plan:
    """Return a plan for copies of a release: orders name the categories that occur, hierarchies of replaced columns go.

    Both list categories of the original that the release no longer has.
    """
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
        codes = codes_of(table, schema.code, persons.unit)
        if of in {Of.UNITS, Of.HISTORIES}:
            units, position = codes, None  # the rows of a person are in order
    if (schema.constant or of == Of.HISTORIES) and persons is None:
        raise ParameterError("the recount of histories and of constant columns needs the person of each row")
    if persons is not None:
        require_constant(table, schema.constant, persons.owners(schema))
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

    return person_figures(labels, persons.unit, persons.household, threshold=1 / requirements.k, linked=False)


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


def _remarks(prepared: Prepared, grouped: Grouped, recoded: Recoded) -> tuple[Remark, ...]:
    """Return what a person should know before the table is released."""
    schema, table = prepared.schema, prepared.table
    remarks = [Remark("left-out", None, sentence) for sentence in left_out(table)]
    for column in schema.columns:
        if column.role in {Role.OTHER, Role.CONFIDENTIAL} and column.name != schema.sampling_weight:
            reason = looks_like_identifier(table.typed(column.name))
            if reason:
                text = f'column "{column.name}" is released unchanged but may identify single persons ({reason})'
                remarks.append(Remark("possible-identifier", column.name, text))
    for name, count in prepared.imputed.items():
        cells = "1 missing value" if count == 1 else f"{count} missing values"
        were = "was" if count == 1 else "were"
        text = f'{cells} of "{name}" {were} imputed and then replaced like all others'
        remarks.append(Remark("imputed", name, text))
    for name, count in grouped.blocks.added.items():
        cells = "1 value" if count == 1 else f"{count} values"
        were = "was" if count == 1 else "were"
        text = f'{cells} of "{name}" {were} suppressed because the missingness pattern was too rare'
        remarks.append(Remark("suppressed", name, text))
    for name, loss in recoded.loss.columns.items():
        if loss.information_loss > HEAVY_LOSS:
            text = f'column "{name}" lost {100 * loss.information_loss:.0f} % of its information'
            remarks.append(Remark("heavy-loss", name, text))
    remarks += _lost_categories(prepared, recoded)
    return (*remarks, *_weight_remarks(prepared, grouped, recoded), *_vector_remarks(grouped.outcome, prepared.n))


def _code_remarks(prepared: Prepared) -> tuple[Remark, ...]:
    """Return remarks for few different whole numbers that are averaged although no person called them numbers."""
    remarks = []
    for column in prepared.schema.quasi:
        if column.kind != Kind.NUMERIC or column.kind_stated or column.default_recode != Recode.MEAN:
            continue
        series = prepared.table.typed(column.name)
        if not series.dtype.is_integer() or series.head(_HEAD).n_unique() > FEW_CODES:
            continue
        if propose_kind(series, words_of(column.name), prepared.table.value_labels(column.name))[0] == Kind.NOMINAL:
            text = (
                f'"{column.name}" has {series.drop_nulls().n_unique()} different whole numbers, which are averaged; if '
                f"they are codes, state --nominal (Python: kinds=...) for it, if they are amounts, --numeric"
            )
            remarks.append(Remark("integer-codes", column.name, text))
    return tuple(remarks)


def _weight_remarks(prepared: Prepared, grouped: Grouped, recoded: Recoded) -> tuple[Remark, ...]:
    """Return a remark where one record has so much weight in its group that the mean is nearly its value."""
    if prepared.weights is None or Recode.MEAN not in recoded.recodes.values():
        return ()
    count = int((largest_shares(prepared.weights, grouped.grouping) > DOMINANT_SHARE).sum())
    if not count:
        return ()
    groups = "1 group" if count == 1 else f"{count} groups"
    text = (
        f"in {groups} of {len(grouped.grouping)} one record has more than {100 * DOMINANT_SHARE:.0f} % of the sampling "
        "weight, so the weighted mean is nearly the value of this record"
    )
    return (Remark("dominant-weight", prepared.schema.sampling_weight, text),)


def check_loss(prepared: Prepared, released: Released) -> None:
    """Raise where a release has lost more than everything, or has emptied a column, which a user has to accept.

    A column is emptied if all its values became missing or one constant although the original has different values.
    """
    total = released.loss.information_loss
    problems = [f"the information loss is {100 * total:.0f} %"] if total > 1 else []
    problems += [
        f'column "{column.name}" has one value left'
        for column in prepared.schema.quasi
        if released.table.column(column.name).n_unique() == 1 and prepared.table.column(column.name).n_unique() > 1
    ]
    if problems:
        raise LossNotAccepted(
            f"{'; '.join(problems)}: nothing was released; choose a smaller k, fewer quasi-identifiers or another "
            "treatment of missing values, drop the column, or accept the loss with --accept-loss (Python: "
            "accept_loss=True)"
        )


def _lost_categories(prepared: Prepared, recoded: Recoded) -> list[Remark]:
    """Return a remark for each column of categories of which some do not occur any more, without naming them."""
    remarks = []
    for entry in prepared.encoding.quasi:
        name = entry.column.name
        if entry.column.kind == Kind.NUMERIC or recoded.recodes[name] in {Recode.RANGE, Recode.SET, Recode.HIERARCHY}:
            continue
        tables = prepared.complete.table, recoded.table
        before, after = (table.column(name).drop_nulls().n_unique() for table in tables)
        if after < before:
            lost = before - after
            categories = "1 category" if lost == 1 else f"{lost} categories"
            text = f'{categories} of "{name}" {"does" if lost == 1 else "do"} not occur in the released table any more'
            remarks.append(Remark("lost-category", name, text))
    return remarks


def _known_remarks(plan: Plan, recount: Recount) -> list[Remark]:
    """Return remarks where columns that an intruder may know beside the quasi-identifiers leave fewer than k."""
    k, weight = plan.requirements.k, plan.schema.sampling_weight
    remarks = []
    if recount.with_weight is not None and recount.with_weight.k < k:
        text = (
            f'the sampling weight "{weight}" is released unchanged: with it, {recount.with_weight.records_below(k):,} '
            f"records are in classes of fewer than {k}, the smallest of {recount.with_weight.k}"
        )
        remarks.append(Remark("sampling-weight", weight, text))
    if recount.with_known is not None and recount.with_known.k < k:
        names = ", ".join(f'"{name}"' for name in plan.schema.known)
        text = (
            f"with {names}, which an intruder may know, {recount.with_known.records_below(k):,} records are in classes "
            f"of fewer than {k}, the smallest of {recount.with_known.k}"
        )
        remarks.append(Remark("known-columns", None, text))
    if recount.with_constant is not None and recount.with_constant.k < k:
        names = ", ".join(f'"{name}"' for name in recount.constant)
        owner = "persons" if plan.schema.household is None else "households"
        text = (
            f"with {names}, released unchanged and constant within {owner}, "
            f"{recount.with_constant.records_below(k):,} records are in classes of fewer than {k}, the smallest of "
            f"{recount.with_constant.k}"
        )
        remarks.append(Remark("constant-columns", None, text))
    return remarks


def _second_weights(prepared: Prepared) -> list[Remark]:
    """Return remarks for unchanged columns with one value for each sampling weight, such as a second weight."""
    schema, weights = prepared.schema, prepared.weights
    if weights is None or schema.release_weight == ReleaseWeight.UNCHANGED:
        return []
    distinct = np.unique(weights).size
    remarks = []
    for column in schema.columns:
        if column.role not in {Role.OTHER, Role.CONFIDENTIAL} or column.name in {schema.sampling_weight, *schema.known}:
            continue
        values = prepared.table.column(column.name).to_polars()
        if values.dtype.is_nested() or values.n_unique() != distinct or distinct == 1:
            continue
        if pl.DataFrame({"value": values, "weight": weights}).n_unique() == distinct:
            text = (
                f'column "{column.name}" is released unchanged and has one value for each sampling weight, so an '
                "intruder can read the weight from it"
            )
            remarks.append(Remark("second-weight", column.name, text))
    return remarks


def _vector_remarks(outcome: Outcome, n: int) -> tuple[Remark, ...]:
    """Return a remark where a method found frequencies of another number of records than the table has."""
    several = outcome.diagnostics.get("blocks")
    parts = several if isinstance(several, list) else [outcome.diagnostics]
    found = [part for part in parts if isinstance(part, dict | type(outcome.diagnostics)) and "vector_records" in part]
    counts = np.array([[part["vector_records"], part.get("records", n)] for part in found], np.int64).reshape(-1, 2)
    if not (counts[:, 0] != counts[:, 1]).any():
        return ()
    text = (
        f"the method found frequencies of {int(counts[:, 0].sum())} records; they were adjusted to the {n} records of "
        "the table, so that none is lost, which changes its frequency tables by as much"
    )
    return (Remark("frequency-vector", None, text),)
