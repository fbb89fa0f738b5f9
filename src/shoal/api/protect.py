"""``protect`` and ``group``: the stages of a protection, composed on one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.api.release import Release
from shoal.core.arguments import checked
from shoal.core.grouping import Grouping, check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError, suggestion
from shoal.flow.encoding import fit_encoding
from shoal.flow.group import Blocks, Grouped, find_blocks
from shoal.flow.prepare import MethodData, Prepared, prepare
from shoal.flow.recode import Recoded, group_and_recode, recode_table
from shoal.flow.released import Released, check_loss, release_table
from shoal.flow.remarks import check_accepted
from shoal.methods.registry import get_method
from shoal.methods.running import run
from shoal.schema.columns import Schema
from shoal.schema.loading import load
from shoal.schema.plan import Decimals, MethodCall, Plan, ReadOptions, Sums
from shoal.schema.requirements import Diversity, Of, PersonOptions, Requirements
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.flow.holder_record import HolderRecord

SCHEMA_FIELDS = (
    "quasi", "confidential", "identifiers", "other", "unnamed", "unit", "household", "time", "kinds", "orders",
    "column_weights", "strata", "sampling_weight", "release_weight", "known", "missing", "recode", "hierarchies",
    "constant", "keep_links", "before", "after", "shuffle", "not_applicable", "keep", "together",
    "statistics",
)  # fmt: skip
"""Arguments that change the schema."""
REQUIREMENT_FIELDS = ("of", "max_size", "global_recoding", "l", "l_kind", "c", "p", "alpha", "t", "beta", "max_share")
"""Arguments that are requirements beside k."""
PERSON_FIELDS = ("slots", "suppressed_weight", "weighting")
"""Arguments that say how whole persons are grouped."""


@checked
def protect(
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
    slots: str | None = None,
    suppressed_weight: float | None = None,
    weighting: str | None = None,
    method: str | Callable[..., Any] = "auto",
    labels: Any = None,
    schema: Schema | str | Path | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    column_weights: Mapping[str, float] | None = None,
    strata: Sequence[str] | None = None,
    sampling_weight: str | None = None,
    release_weight: str | None = None,
    known: Sequence[str] | None = None,
    missing: str | Mapping[str, str] | None = None,
    recode: str | Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    not_applicable: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    shuffle: bool | None = None,
    keep: Sequence[str] | None = None,
    together: Sequence[str] | None = None,
    statistics: Any = None,
    global_recoding: bool = False,
    decimals: Decimals = "input",
    sums: Sums = "rounded",
    keep_moments: bool = False,
    moment_bounds: Mapping[str, Any] | None = None,
    max_size: int | None = None,
    l: float | None = None,
    l_kind: Diversity | str = Diversity.DISTINCT,
    c: float | None = None,
    p: int | None = None,
    alpha: float | None = None,
    t: float | None = None,
    beta: float | None = None,
    max_share: float | None = None,
    seed: int = 0,
    effort: str | None = None,
    time_limit: float | str | None = None,
    options: Mapping[str, Any] | None = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    read_identifiers: bool = True,
    previous: HolderRecord | str | Path | None = None,
    accept_second_release: bool = False,
    accept_loss: bool = False,
    accept_relinking: bool = False,
    accept_derived: bool = False,
    engine: str = "local",
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> Release:
    """Protect a table: group at least k records and replace their quasi-identifiers by one representative.

    The released table is recounted before it is returned; if a requirement is violated, an error is raised instead.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, a DataFrame of Spark, or the path of a file.
    k
        Minimum number of records with identical quasi-identifiers; of different persons where there is a unit.
    quasi
        Quasi-identifiers (key variables). They are replaced.
    confidential
        Confidential (sensitive) attributes. Released unchanged.
    identifiers
        Direct identifiers. Dropped.
    other
        Further columns. Released unchanged.
    unnamed
        The role of every column that is not named: ``other``, ``quasi``, ``identifiers`` or ``confidential``. If not
        given, a column whose role is not stated raises :class:`shoal.errors.SchemaError`.
    unit
        The column that says which rows belong to one person, where a person has several. Dropped; k then counts
        persons, and rows are released in a random order.
    household
        The column that says which persons belong to one household. Dropped.
    time
        The column that orders the rows of a person. Dropped, unless it is also named in another role.
    of
        What k counts: ``rows``, ``units`` (persons; the default where there is a unit), ``households`` or ``histories``
        (persons with equal sequences of released rows; the default where links are kept).
    keep_links
        Replace the unit by a random code, so that the rows of a person stay linked.
    constant
        Quasi-identifiers that keep one value in all rows of a person (without a unit, of a household); ``auto`` for all
        that are constant in the original, ``none`` to decide that there are none.
    slots
        For histories: rows are compared by rank from the ``last`` (default) or the ``first`` row, or by equal ``time``.
    suppressed_weight
        For histories: what a row that is not released costs, as a multiple of replacing it by the mean (1).
    weighting
        For constant columns: every row counts the same (``rows``, default), or every person (``persons``).
    method
        A name from :func:`shoal.all_methods`, or a function ``f(points, k)`` that returns labels.
    labels
        Groups of your own in place of a method: the name of a column that holds the group of each record (not released
        unless it has another role), or an array with one label per record. Every group needs k records.
    schema
        A schema, the path of a schema file, or TOML text; the other arguments override it.
    kinds
        ``{"zip": "nominal"}`` for columns whose kind is not the one that their type suggests.
    orders
        ``{"education": ["low", "high"]}`` makes a column ordinal.
    column_weights
        How much a column counts when records are compared; 1 if not named.
    strata
        Columns whose values no group crosses. Released unchanged.
    sampling_weight
        A column of positive numbers used for representatives and the reported loss.
    release_weight
        How the sampling weight is released, which an intruder may know: ``grouped`` (default; the mean weight of the
        group, rounded like other means unless ``sums`` is ``exact``), ``unchanged`` or ``dropped``.
    known
        Further columns that an intruder may know; k is also counted with them and printed beside k.
    missing
        Missing values of quasi-identifiers: ``error`` (default); ``fill`` (records are grouped by their known cells,
        and missing cells get the representative of their group); ``suppress`` (grouped likewise; a column that mixes
        known and missing cells in a group is emptied in that group); ``by-pattern``, ``impute`` or ``category``. For
        all quasi-identifiers, or a mapping from names.
    recode
        ``mean``, ``median``, ``mode``, ``medoid``, ``range``, ``midrange``, ``min``, ``max``, ``set``, ``hierarchy``,
        ``suppress`` or ``frequencies`` (a record of the group, selected such that frequency tables are kept) for all
        quasi-identifiers, or a mapping from names. By default mean, median or mode for numeric, ordinal or nominal
        columns, the representative that belongs to the objective of the method, and ``frequencies`` where all columns
        are nominal and the method works on categories.
    hierarchies
        ``{"job": "jobs.csv"}``: trees by which columns are generalised; a :class:`shoal.Hierarchy`, a file as ARX
        writes it, nested mappings, or a word for a tree built from the values (``auto``, ``flat``, ``prefixes``,
        ``intervals``, ``order``, ``calendar``).
    not_applicable
        ``{"wage": ["-1"]}``: codes of cells that cannot have a value, such as the wage of a child; ``[""]`` means empty
        cells. Never filled, averaged or mixed with others in a group.
    before
        Steps before grouping by column, ``{"age": ["top 90", "band 10"]}``: texts, or values of :mod:`shoal.steps`.
    after
        Steps after grouping on the representatives of quasi-identifiers, ``{"income": "round 100"}``.
    shuffle
        Release the rows in a random order; the holder's record keeps it.
    keep
        Rules between columns that the original obeys and the release keeps: ``["start <= end", "a + b = c"]``.
    together
        Sets of quasi-identifiers with recode ``suppress`` that are suppressed together, ``["roof,walls"]``: where one
        of them is suppressed in a group, all are.
    statistics
        Statistics that must hold: a list of :class:`shoal.Statistic` or mappings, or a TOML file with
        ``[[statistics]]``. If one changes by more than its tolerance, :class:`shoal.errors.RequirementNotMet` is
        raised.
    global_recoding
        Records with identical quasi-identifiers stay in one group, so that equal values are always replaced by the same
        value; otherwise they may be separated (local recoding), which loses less.
    decimals
        Decimals of released numbers: ``input`` (integer columns stay integers), a number, ``full``.
    sums
        Totals of columns that are replaced by means: ``rounded`` (default; means are rounded such that a difference
        between the totals of two releases discloses no record) or ``exact`` (totals are kept).
    keep_moments
        Move the means of numeric quasi-identifiers by one linear map, such that means and covariances are those of the
        original (exactly with ``decimals="full"`` and ``sums="exact"``, otherwise up to rounding). Groups and k stay as
        they are. Two releases with exact moments of nearly the same records disclose more than two plain ones: the
        difference of their covariances belongs to the records that only one of them has.
    moment_bounds
        With ``keep_moments``: the smallest and the largest value that a column may get, ``{"age": (0, 110)}``. Without
        them no value leaves the range of the plain means. Name limits that are known without the table, never its
        extremes, which may be values of single records.
    max_size
        Maximum group size.
    l, l_kind, c
        l-diversity of every confidential attribute: at least l different values in a group, or with ``l_kind``
        ``entropy`` or ``recursive`` (with ``c``) so many well represented ones.
    p
        p-sensitivity: at least p different values of every confidential attribute.
    alpha
        Maximum share of one confidential value in a group.
    t
        t-closeness: maximum distance of the confidential values of a group from those of the table, 0 to 1.
    beta
        No confidential value is more than 1 + beta times as frequent in a group as in the table.
    max_share
        With a unit: maximum part of the rows of a class that belong to one person, for example 0.2. Where there is a
        unit, l, p, alpha, t and beta count persons too: see :class:`shoal.Requirements`.
    seed
        Seed of the random numbers.
    effort
        For method ``auto``: ``fast``, ``balanced`` or ``best``.
    time_limit
        Seconds, or a text such as ``60s`` or ``5m``, for methods that can stop early.
    options
        Further options of the method.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    read_identifiers
        Whether direct identifiers in a file are read. The holder's record needs them, to find the same people again;
        without a record they need not enter memory.
    previous
        The holder's record of an earlier release of the same people, or its file. The release starts from the groups of
        the earlier one and changes only those with new, changed or deleted records.
    accept_second_release
        Allow settings that differ from those of the earlier release, although both can then be intersected.
    accept_loss
        Allow a release whose information loss is over 100 %, or in which a column with different values has one value
        left; otherwise :class:`shoal.errors.LossNotAccepted` is raised.
    accept_relinking
        With a unit: allow a release whose columns put the rows of more than 5 % of the persons with several rows
        together again; otherwise :class:`shoal.errors.LinksNotAccepted` is raised.
    accept_derived
        Allow a release whose unchanged columns give a protected one back exactly, as a copy, a sum or a difference;
        otherwise :class:`shoal.errors.DerivedNotAccepted` is raised.
    engine
        Where the plan is run: ``local`` (in memory), ``disk`` (Parquet files of any size, with memory that does not
        depend on the number of rows), ``spark`` (the same on a cluster), or ``auto`` (``disk`` where memory will not
        do). A DataFrame of Spark is protected by ``spark``, and the data of the release is one, too.
    output
        For engines that write the release themselves: a folder, or a file that ends in ``.parquet``.
    overwrite
        Whether an existing output is replaced.
    progress
        Progress callback.

    Returns
    -------
    release
        The protected table with its evidence. With ``output`` it is in files, not in memory.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "diagnosis": ["A", "B", "A", "C"]})
    >>> release = protect(people, k=2, quasi=["age"], confidential=["diagnosis"], method="mdav")
    >>> release.data["age"].to_list()
    [31, 31, 61, 61]
    """
    if labels is not None:
        from shoal.api.own_labels import with_groups

        data, method, identifiers = with_groups(
            data, labels, method, identifiers, [*(quasi or ()), *(confidential or ()), *(other or ()), *(strata or ())],
            schema_given=schema is not None,
        )  # fmt: skip
        read_identifiers = True
    given = locals()
    reading = ReadOptions.of(read_options)
    requirements = Requirements(k=k, **{name: given[name] for name in REQUIREMENT_FIELDS})
    call = method_call(method, options, effort=effort, seed=seed, time_limit=time_limit)
    persons = PersonOptions.of(**{name: given[name] for name in PERSON_FIELDS})
    changes = {name: given[name] for name in SCHEMA_FIELDS}

    def make_plan(full_schema: Schema) -> Plan:
        return Plan(
            full_schema, requirements, call, decimals, sums, reading, persons, keep_moments, moment_bounds or {}
        )

    if engine != "local" or output is not None or type(data).__module__.startswith("pyspark.sql"):
        from shoal.api.partitioned import chosen_engine, protect_by_engine

        chosen = chosen_engine(engine, data, output)
        if chosen != "local":
            return protect_by_engine(chosen, given, changes, make_plan, reading)
    table, full_schema = load(
        data, schema, changes, reading, progress, read_identifiers=read_identifiers or previous is not None
    )
    release = run_plan(
        table, make_plan(full_schema), previous=previous, accept_second_release=accept_second_release,
        accept_loss=accept_loss, accept_relinking=accept_relinking, accept_derived=accept_derived, progress=progress,
    )  # fmt: skip
    if output is not None:
        release.write(output, overwrite=overwrite)
    return release


def method_call(
    method: str | Callable[..., Any], options: Mapping[str, Any] | None, *, effort: str | None = None, seed: int = 0,
    time_limit: float | str | None = None,
) -> MethodCall:  # fmt: skip
    """Return a method with its options, checked before any work."""
    given = dict(options or {}) | ({} if effort is None else {"effort": effort})
    limit = cast("float | None", time_limit)  # a text is read by the call
    return MethodCall(method, get_method(method).check_options(given), seed, limit)


@checked
def run_plan(
    table: Table,
    plan: Plan,
    *,
    previous: HolderRecord | str | Path | None = None,
    accept_second_release: bool = False,
    accept_loss: bool = False,
    accept_relinking: bool = False,
    accept_derived: bool = False,
    progress: Progress = SILENT,
) -> Release:
    """Run a plan on a table: fit, prepare, group, satisfy, recode, recount.

    Parameters
    ----------
    table
        The table.
    plan
        Schema, requirements and method.
    previous, accept_second_release, accept_loss, accept_relinking, accept_derived
        As in :func:`protect`.
    progress
        Progress callback.

    Returns
    -------
    release
        The protected table with its evidence.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62]})
    >>> table, schema = shoal.load_table(people, quasi=["age"])
    >>> plan = shoal.Plan(schema, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    >>> shoal.run_plan(table, plan).data["age"].to_list()
    [31, 31, 31, 61, 61, 61]
    """
    progress.stage("preparing")
    prepared = prepared_with_steps(table, plan.schema, plan.requirements.k, previous)
    check_k(plan.requirements.k, prepared.n)
    plan = replace(plan, schema=prepared.schema)
    if plan.method.text.startswith("labels:"):
        from shoal.flow.given_groups import check_combination

        check_combination(plan, second=previous is not None)
    if prepared.large:
        from shoal.flow.needed_memory import check_needed_memory

        check_needed_memory(prepared, plan)
    if previous is not None:
        if plan.keep_moments:
            raise ParameterError(
                "keep_moments moves every representative by a map of the whole table, so a release with previous= "
                "could not leave unchanged groups as they are; leave out one of them"
            )
        from shoal.flow.second_release import run_second_release

        released = run_second_release(prepared, plan, previous, accepted=accept_second_release, progress=progress)
        files = (Path(previous),) if isinstance(previous, str | Path) else ()
        table = replace(table, inputs=(*table.inputs, *files))
    elif accept_second_release:
        raise ParameterError("accept_second_release is about an earlier release; name its holder's record in previous=")
    else:
        released = run_prepared(prepared, plan, progress=progress)
    if not accept_loss:
        check_loss(prepared, released)
    check_accepted(released.remarks, relinking=accept_relinking, derived=accept_derived)
    if plan.schema.statistics:
        from shoal.flow.checked_statistics import check_statistics

        check_statistics(released, table)
    given = {
        "loss": accept_loss, "relinking": accept_relinking, "derived": accept_derived,
        "second_release": accept_second_release,
    }  # fmt: skip
    earlier = Path(previous) if isinstance(previous, str | Path) else None
    return Release(released, table, previous=earlier, accepted=[name for name, value in given.items() if value])


def prepared_with_steps(
    table: Table, schema: Schema, least: int, previous: HolderRecord | str | Path | None = None
) -> Prepared:
    """Return a table ready to be grouped, after the steps before grouping that its schema states, if any."""
    if schema.keep:
        from shoal.flow.kept_rules import check_rules

        check_rules(table, schema)
    if not any(column.before for column in schema.columns):
        return prepare(table, fit_encoding(table, schema, distributions=False), k=min(least, max(table.n_rows, 2)))
    from shoal.flow.stepped import apply_steps, earlier_shift_key

    stepped = apply_steps(table, schema, least=least, shift_key=earlier_shift_key(previous))
    encoding = fit_encoding(stepped.table, stepped.schema, distributions=False)
    return prepare(stepped.table, encoding, k=min(least, max(stepped.table.n_rows, 2)), steps=stepped)


def run_prepared(
    prepared: Prepared, plan: Plan, *, data: MethodData | None = None, progress: Progress = SILENT
) -> Released:
    """Run the stages after preparing; ``data`` shares encoded arrays between plans for one prepared table."""
    if plan.by_persons:
        blocks = find_blocks(prepared, plan.requirements)
        shared = data is not None and not blocks.suppressed
        arrays = data if data is not None and shared else MethodData(prepared, blocks.suppressed)
        return _run_by_persons(prepared, plan, arrays, blocks, progress)
    grouped, recoded = group_and_recode(prepared, plan, data=data, progress=progress)
    return release_table(plan, prepared, grouped, recoded, progress=progress)


def _run_by_persons(prepared: Prepared, plan: Plan, arrays: MethodData, blocks: Blocks, progress: Progress) -> Released:
    """Run the stages after preparing where whole persons are grouped; rows that are suppressed are left out."""
    from shoal.flow.group_persons import group_persons, requirements_of
    from shoal.flow.satisfy import read_confidential

    confidential = read_confidential(prepared.table, plan.schema, plan.requirements)
    part, grouped = group_persons(
        prepared, plan, data=arrays, blocks=blocks, confidential=confidential, progress=progress
    )

    def recode(groups: Grouped) -> Recoded:
        return recode_table(part, groups, decimals=plan.decimals, sums=plan.sums, progress=progress)

    recoded = recode(grouped)
    rule = requirements_of(prepared, plan, confidential)
    if rule is not None and plan.of != Of.HISTORIES:
        from shoal.flow.nested_requirements import settle_nested

        grouped, recoded = settle_nested(
            prepared, grouped, recoded, rule, recode=recode, data=arrays, progress=progress
        )
    return release_table(plan, part, grouped, recoded, progress=progress)


@checked
def group(
    points: ArrayLike,
    k: int,
    *,
    method: str | Callable[..., Any] = "auto",
    standardise: bool = True,
    seed: int = 0,
    max_size: int | None = None,
    time_limit: float | str | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> NDArray[np.int64]:
    """Group the rows of an array; :func:`shoal.run_method` returns all that a method reports beside the labels.

    Parameters
    ----------
    points
        n x d numbers (or n numbers).
    k
        Minimum group size.
    method
        A name from :func:`shoal.all_methods`, or a function.
    standardise
        Bring all columns to mean 0 and variance 1 first.
    seed
        Seed of the random numbers.
    max_size
        Maximum group size.
    time_limit
        Seconds, or a text such as ``60s`` or ``5m``, for methods that can stop early.
    progress
        Progress callback.
    options
        Further options of the method.

    Returns
    -------
    labels
        The group of each row, numbered by first appearance.

    Examples
    --------
    >>> group([[0, 1], [9, 9], [1, 0], [8, 9]], k=2)
    array([0, 1, 0, 1])
    """
    info = get_method(method)
    array = _array(points)
    if info.data != "codes":
        array = _float_matrix(array, info.dtype(str(options.get("storage", "float64"))))
        if standardise:
            from shoal.core.scaling import standardise as standardised

            array = standardised(array)
    outcome = run(info, array, k, progress=progress, seed=seed, max_size=max_size, time_limit=time_limit, **options)
    guaranteed = None if info.max_size is None else info.max_size(k)
    largest = min((size for size in (max_size, guaranteed) if size is not None), default=None)
    return Grouping(outcome.labels, k, max_size=largest).labels.copy()


def check_fields(given: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Raise ParameterError for an argument that does not exist."""
    for name in given:
        if name not in allowed:
            raise ParameterError(f'there is no argument "{name}"; {suggestion(name, allowed)}')


def _array(points: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(points)
    except ValueError:  # its text may quote values
        raise DataError("points must be an array of n rows with the same number of columns in each") from None


def _float_matrix(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    if array.dtype.kind not in "iufb":
        raise DataError(f"points must be numbers, not {array.dtype}; encode categories first or use shoal.protect")
    matrix = np.array(array, dtype=dtype, order="C", ndmin=1)
    return matrix[:, None] if matrix.ndim == 1 else matrix
