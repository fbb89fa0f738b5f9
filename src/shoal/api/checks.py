"""``assess`` and ``verify``: how safe a table is as it stands, whichever tool produced it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.api.checks_in_parts import assessed_in_parts, is_in_parts, of_spark, refuse_frame, verified_in_parts
from shoal.api.counted_persons import Persons, find_persons, several_values
from shoal.api.table_risk import known_population, table_risk
from shoal.core.arguments import checked, choice
from shoal.core.grouping import check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import GroupTooSmall, ParameterError, RequirementNotMet
from shoal.flow.released import require
from shoal.flow.units import UnitIndex
from shoal.privacy.assessment import Assessment, ColumnAssessment, assess_column
from shoal.privacy.confidential import ConfidentialAs, Values, joint_values, read_values
from shoal.privacy.equivalence_classes import WILDCARD_NOTE, EquivalenceClasses, MissingSemantics, equivalence_classes
from shoal.privacy.k_anonymity import Classes, verify_k
from shoal.privacy.person_risk import person_figures
from shoal.privacy.person_values import count_person_values
from shoal.schema.columns import Kind, ReleaseWeight, Role, Schema, names_list
from shoal.schema.loading import complete_schema, load_for_counting, stated_column
from shoal.schema.plan import ReadOptions
from shoal.schema.requirements import Requirements
from shoal.tables.frames import backend_of

if TYPE_CHECKING:
    from shoal.flow.holder_record import HolderRecord
    from shoal.tables import Table


@checked
def assess(
    data: Any,
    *,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    other: Sequence[str] | None = None,
    unnamed: str | None = None,
    unit: str | None = None,
    household: str | None = None,
    time: str | None = None,
    of: str | None = None,
    keep_links: bool | None = None,
    constant: Sequence[str] | None = None,
    schema: Schema | str | Path | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    sampling_weight: str | None = None,
    release_weight: str | None = None,
    known: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    confidential_as: str = "separate",
    missing_semantics: str = "distinct",
    l: int | None = None,
    m: int | None = None,
    threshold: float = 0.2,
    contributions: bool = False,
    special_uniques: bool = False,
    subset_size: int | None = None,
    k: int = 3,
    population: Any = None,
    sampling_fraction: float | None = None,
    original: Any = None,
    record: HolderRecord | str | Path | None = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
) -> Assessment:
    """Measure every privacy model on a table as it stands.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, the path of a file, or a DataFrame of Spark.
    quasi
        Quasi-identifiers; records with identical values in all of them form an equivalence class.
    confidential
        Confidential (sensitive) attributes. Without them only k and the risk are measured.
    identifiers
        Direct identifiers, which are not counted; they may be dropped from the table already.
    other
        Further columns, which are not counted.
    unnamed
        The role of every column that is not named, as in :func:`shoal.protect`.
    unit, household
        The column of persons and that of households, so that k counts these. A released table lacks them, unless they
        were replaced by a code; see ``original``.
    time
        The column that orders the rows of a person, which is not counted.
    of
        What k counts: ``rows``, ``units`` (persons; the default where there is a unit), ``households`` or ``histories``
        (persons with equal sequences of rows; the default where links are kept).
    keep_links
        Whether the unit is a code that was released to keep the rows of a person linked; they are then in the order of
        the history.
    constant
        Quasi-identifiers that are to have one value in all rows of a person, or of a household where the original has
        one in each; counted where persons are known.
    schema
        A schema, the path of a schema file, or TOML text; the other arguments override it.
    kinds
        ``{"zip": "nominal"}`` for confidential attributes whose kind is not the one that their type suggests: numeric
        and ordinal ones are compared by their order, nominal ones as equal or not.
    orders
        ``{"stage": ["I", "II", "III"]}`` makes a column ordinal.
    hierarchies
        A :class:`shoal.Hierarchy`, a file or a mapping for columns that are compared by their tree.
    sampling_weight
        A column of positive numbers: how many members of the population a record represents. Used for the journalist
        and marketer risk. An intruder may know it, so k is also counted with it.
    release_weight
        ``unchanged`` if the sampling weight is released unchanged on purpose; otherwise it must have k too when k is
        verified.
    known
        Further columns that an intruder may know; k is also counted with them.
    strata
        Columns that an intruder knows and that were released unchanged; they count like quasi-identifiers.
    confidential_as
        ``separate``: every confidential attribute on its own. ``quasi``: the intruder also knows the other confidential
        attributes, so they count as quasi-identifiers. ``joint``: the combination of all is one value.
    missing_semantics
        ``distinct``: a missing value equals only a missing value. ``wildcard``: a missing value of a quasi-identifier
        matches any value, and one of a confidential attribute may hide the most harmful one. ``error``: missing values
        raise an error.
    l
        The l of recursive (c, l)-diversity; the distinct l of each column if not given.
    m
        Also measure (m, t)-closeness, against sets of at least m records.
    threshold
        Records with a re-identification risk above this are counted.
    contributions
        Also measure what each quasi-identifier contributes to the risk.
    special_uniques
        Also find the combinations of quasi-identifiers that make records unique, what each column contributes to them,
        and k for intruders who know only some of the columns.
    subset_size
        The largest number of columns that are combined for special uniques; 6 if not given, fewer for large tables.
    k
        Classes of fewer records are counted with special uniques, and values of fewer records are never named.
    population
        The number of individuals of the population of which the table is a sample, or a table of them, for the
        journalist and marketer risk.
    sampling_fraction
        The share of the population that the table is, instead of its size; also for DIS.
    original
        The original of a released table, which has the unit that the release lacks.
    record
        The holder's record of the release, which states the order of its rows; not needed where original and release
        have the same order.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    progress
        Progress callback.

    Returns
    -------
    assessment
        All figures; ``print`` shows a table. Cost O(n log n) per confidential attribute, whatever the number of
        classes.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 31, 61, 61], "diagnosis": ["A", "B", "C", "C"]})
    >>> assess(people, quasi=["age"], confidential=["diagnosis"]).figures()["alpha"]
    1.0
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise ParameterError(f"k={k!r} is not possible; choose an integer of at least 2")
    for name, number in (("l", l), ("m", m), ("subset_size", subset_size)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1):
            raise ParameterError(f"{name}={number!r} is not possible; choose an integer of at least 1")
    variant = choice(ConfidentialAs, confidential_as, "confidential_as")
    semantics = choice(MissingSemantics, missing_semantics, "missing_semantics")
    changes = {
        "quasi": quasi, "confidential": confidential, "identifiers": identifiers, "other": other, "unnamed": unnamed,
        "unit": unit, "household": household, "time": time, "kinds": kinds, "orders": orders,
        "hierarchies": hierarchies, "sampling_weight": sampling_weight, "release_weight": release_weight,
        "known": known, "strata": strata, "keep_links": keep_links, "constant": constant,
    }  # fmt: skip
    changes = {name: value for name, value in changes.items() if value}
    needed = (
        of, original, record, population, sampling_fraction, m, contributions or None, special_uniques or None,
        read_options, None if variant == ConfidentialAs.SEPARATE else variant,
        None if semantics == MissingSemantics.DISTINCT else semantics,
    )  # fmt: skip
    if is_in_parts(data) and all(argument is None for argument in needed):
        measured = assessed_in_parts(data, schema, changes, l=l, threshold=threshold, progress=progress)
        if measured is not None:
            return measured
    refuse_frame(data)
    given = [*names_list(quasi or ()), *names_list(confidential or ()), *names_list(strata or ())]
    table = load_for_counting(data, given, ReadOptions.of(read_options), progress)
    full = complete_schema(table, schema, changes, identifiers_dropped=True)
    if full.release_weight == ReleaseWeight.DROPPED:  # the table has it nevertheless
        full = replace(full, release_weight=ReleaseWeight.GROUPED)
    names, attributes = full.protected, full.named(Role.CONFIDENTIAL)
    persons = find_persons(
        table, full, unit=unit or stated_column(schema, Role.UNIT),
        household=household or stated_column(schema, Role.HOUSEHOLD),
        time=time or stated_column(schema, Role.TIME), of=of, original=original, record=record,
        reading=ReadOptions.of(read_options), progress=progress,
    )  # fmt: skip
    known_people = known_population(population, sampling_fraction, table.n_rows)
    fraction = None if known_people is None or known_people.size is None else table.n_rows / known_people.size
    progress.stage("finding equivalence classes")
    matching = equivalence_classes(table, names, semantics)
    columns = _columns(
        table, full, matching, variant=variant, semantics=semantics, options={"l": l, "m": m}, progress=progress,
        persons=persons.index,
    )  # fmt: skip
    return Assessment(
        records=table.n_rows,
        sizes=matching.sizes(),
        members=np.bincount(matching.labels),
        quasi=tuple(names),
        confidential=tuple(attributes),
        confidential_as=str(variant),
        missing_semantics=str(semantics),
        columns=columns,
        m=m,
        risk=table_risk(
            table,
            full,
            matching,
            threshold=threshold,
            known=known_people,
            reading=ReadOptions.of(read_options),
            households=None if persons.index is None else persons.index.household,
        ),
        contributions=_contributions(table, names, progress) if contributions else None,
        special_uniques=None
        if not special_uniques
        else _special_uniques(
            table,
            names,
            size=subset_size,
            k=k,
            sampling_fraction=fraction,
            units=persons.codes,
            progress=progress,
        ),
        k_with_weight=None if full.released_weight is None else _k(table, full.with_weight, semantics, persons),
        k_with_known=_k(table, full.known_columns, semantics, persons) if full.known else None,
        weight_counts=full.release_weight != ReleaseWeight.UNCHANGED,
        of=persons.of,
        units=persons.per_class(matching),
        notes=(*persons.notes, *((WILDCARD_NOTE,) if matching.links else ())),
        persons=None
        if persons.index is None
        else person_figures(matching, persons.index.unit, persons.index.household, threshold=threshold),
        **several_values(table, full, persons),
        backend=backend_of(table.native),
    )


def _k(table: Table, names: Sequence[str], semantics: MissingSemantics, persons: Persons) -> int:
    matching = equivalence_classes(table, names, semantics)
    counted = persons.per_class(matching)
    return int((matching.sizes() if counted is None else counted).min())


@checked
def verify(
    data: Any,
    k: int,
    *,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    other: Sequence[str] | None = None,
    unnamed: str | None = None,
    unit: str | None = None,
    household: str | None = None,
    time: str | None = None,
    of: str | None = None,
    keep_links: bool | None = None,
    constant: Sequence[str] | None = None,
    schema: Schema | str | Path | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    sampling_weight: str | None = None,
    release_weight: str | None = None,
    known: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    confidential_as: str = "separate",
    missing_semantics: str = "distinct",
    l: float | None = None,
    l_kind: str = "distinct",
    c: float | None = None,
    p: int | None = None,
    alpha: float | None = None,
    t: float | None = None,
    beta: float | None = None,
    delta: float | None = None,
    max_share: float | None = None,
    original: Any = None,
    record: HolderRecord | str | Path | None = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
) -> Classes:
    """Verify k-anonymity and further requirements of a table, whichever tool produced it.

    A k that is violated raises :class:`shoal.errors.GroupTooSmall`, any other requirement
    :class:`shoal.errors.RequirementNotMet`.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, the path of a file, or a DataFrame of Spark.
    k
        Minimum number of records in an equivalence class, or of persons or households; see ``of``.
    quasi
        Quasi-identifiers, which are counted together.
    confidential
        Confidential (sensitive) attributes, for the further requirements.
    identifiers, other, unnamed, unit, household, time, of, keep_links, constant, schema, kinds, orders, hierarchies,
    sampling_weight, release_weight, known, strata, confidential_as, missing_semantics, original, record
        As in :func:`shoal.assess`.
    l, l_kind, c, p, alpha, t, beta, delta, max_share
        As in :class:`shoal.Requirements`.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    progress
        Progress callback.

    Returns
    -------
    classes
        The sizes of the equivalence classes; ``classes.k`` is the k that the table has.

    Examples
    --------
    >>> import polars as pl
    >>> verify(pl.DataFrame({"age": [31, 31, 61, 61]}), 2, quasi=["age"]).k
    2
    """
    check_k(k, k)
    requirements = Requirements(
        k=k, of=of, l=l, l_kind=l_kind, c=c, p=p, alpha=alpha, t=t, beta=beta, delta=delta, max_share=max_share
    )  # fmt: skip
    if (
        not (requirements.beyond_k or max_share)
        and schema is None
        and missing_semantics == "distinct"
        and not (sampling_weight or known or unit or household or time or of or constant)
        and original is None
        and record is None
    ):
        names = [*names_list(quasi or ()), *names_list(strata or ())]
        unchanged = [*names_list(confidential or ()), *names_list(other or ())]
        if is_in_parts(data) and not (read_options or kinds or orders or hierarchies):
            named = {*names, *unchanged, *names_list(identifiers or ())}
            counted = verified_in_parts(data, names, unchanged, k, None if unnamed == "other" else named, progress)
            if counted is not None:
                return counted
        if not of_spark(data):
            data = load_for_counting(data, names, ReadOptions.of(read_options), progress)
            read_options = None
            for name in unchanged:
                data.column(name)  # an unknown name is an error
            choice(ConfidentialAs, confidential_as, "confidential_as")
            if kinds or orders or hierarchies:
                data_schema = {"kinds": kinds, "orders": orders, "hierarchies": hierarchies, "unnamed": "other"}
                complete_schema(data, None, data_schema)
            if unnamed == "other" or {*names, *unchanged, *names_list(identifiers or ())} >= {*data.names}:
                progress.stage("verifying")
                return verify_k(data, names, k)
    found = assess(
        data, quasi=quasi, confidential=confidential, identifiers=identifiers, other=other, unnamed=unnamed,
        unit=unit, household=household, time=time, of=of, keep_links=keep_links, constant=constant,
        original=original, record=record, schema=schema, kinds=kinds, orders=orders, hierarchies=hierarchies,
        sampling_weight=sampling_weight, release_weight=release_weight, known=known,
        strata=strata, confidential_as=confidential_as, missing_semantics=missing_semantics,
        l=requirements.recursive_l, read_options=read_options, progress=progress,
    )  # fmt: skip
    classes = Classes(found.sizes, found.units, found.of, found.notes)
    total = f"of {found.records} records" if found.units is None else found.of.noun
    if classes.k < k:
        raise GroupTooSmall(f"k={k} is violated, the smallest class has {classes.k} {total}")
    if not found.satisfies_k(k):
        raise GroupTooSmall(
            f"k={k} is violated: with the sampling weight, the smallest class has {found.k_with_weight} {total}"
        )
    for name, several in found.several_values.items():
        if several:
            raise RequirementNotMet(
                f'column "{name}" is to stay constant, but has several values in {several} '
                f"{found.constant_within[name]}"
            )
    require(found, requirements)
    return classes


def requirements_of(k: int, **requirements: Any) -> Requirements:
    """Return k and further requirements as one value, checked."""
    check_k(k, k)
    return Requirements(k=k, **requirements)


def _columns(
    table: Table,
    schema: Schema,
    matching: EquivalenceClasses,
    *,
    variant: ConfidentialAs,
    semantics: MissingSemantics,
    options: dict[str, int | None],
    progress: Progress,
    persons: UnitIndex | None,
) -> dict[str, ColumnAssessment]:
    """Return the figures of each confidential attribute, or of their combination."""
    attributes = schema.named(Role.CONFIDENTIAL)
    progress.stage("measuring", len(attributes))
    typed = table.with_types(name for name in attributes if schema[name].kind != Kind.NOMINAL)
    values: list[Values] = [read_values(typed, schema[name], semantics) for name in attributes]
    if variant == ConfidentialAs.JOINT and len(values) > 1:
        values = [joint_values(values)]
    columns = {}
    for column in values:
        classes = matching
        if variant == ConfidentialAs.QUASI and len(attributes) > 1:
            known = [*schema.protected, *(other for other in attributes if other != column.name)]
            classes = equivalence_classes(table, known, semantics)
        by_persons = None
        if persons is not None:
            by_persons = count_person_values(classes, persons.unit, column.codes, column.n_values)
        counts = classes.counts(column.codes, column.n_values)
        columns[column.name] = assess_column(counts, column.distance, persons=by_persons, **options)
        progress.advance()
    return columns


def _special_uniques(table: Table, names: list[str], **options: Any) -> Any:
    from shoal.evaluate.special_uniques import special_uniques

    return special_uniques(table, names, **options)


def _contributions(table: Table, names: list[str], progress: Progress) -> Any:
    from shoal.evaluate.contribution import contributions

    return contributions(table, names, progress=progress)
