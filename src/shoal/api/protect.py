"""The way of the data on one page: read, prepare, group, recode, verify, measure, release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.api.release import Release
from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError
from shoal.flow.group import equal_records_together, for_categories, group_blocks, largest_allowed, with_recode_of_cost
from shoal.flow.manifest import build_manifest
from shoal.flow.prepare import Prepared, prepare
from shoal.flow.recode import hierarchies_of, recode_table
from shoal.flow.representatives import vector_warnings
from shoal.flow.satisfy import Limits, read_limits
from shoal.methods.registry import check_k, get_method
from shoal.privacy.k_anonymity import Classes, verify_k
from shoal.recoding.loss import Loss
from shoal.schema.columns import Role, Schema, names_list
from shoal.schema.inference import looks_like_identifier
from shoal.schema.loading import load, load_for_counting
from shoal.schema.requirements import Requirements


def protect(
    data: Any,
    k: int,
    *,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    method: str = "auto",
    schema: Schema | str | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    weights: Mapping[str, float] | None = None,
    within: Sequence[str] | None = None,
    sampling_weight: str | None = None,
    missing: str | None = None,
    recode: str | Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    globally: bool = False,
    keep_integers: bool = True,
    max_size: int | None = None,
    l: float | None = None,
    l_kind: str = "distinct",
    c: float | None = None,
    p: int | None = None,
    alpha: float | None = None,
    t: float | None = None,
    beta: float | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Release:
    """Protect a table: groups of at least k records, each with one representative, recounted before it is returned.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    k
        The smallest number of records that look alike in the result.
    quasi
        The columns that an outsider may know. They are replaced; all others stay as they are.
    confidential
        The columns that must not be learned about a person. Released unchanged.
    identifiers
        The columns that point at one person. Dropped.
    method
        A name from :func:`shoal.all_methods`.
    schema
        A schema, or the text of a TOML schema; the other arguments override it.
    kinds
        ``{"zip": "nominal"}`` for columns whose kind is not what their type suggests.
    orders
        ``{"education": ["low", "high"]}`` makes a column ordinal.
    weights
        How much a column counts in comparisons; 1 if not named.
    within
        Strata: columns whose values no group crosses. Released unchanged.
    sampling_weight
        A column of positive numbers used for representatives and the reported loss.
    missing
        ``refuse`` (default), ``own-group``, ``impute`` or ``as-value``.
    recode
        ``mean``, ``median``, ``mode``, ``medoid``, ``range``, ``midrange``, ``min``, ``max``, ``set``, ``hierarchy``,
        ``suppress`` or ``tables`` (a record of the group, such that frequency tables stay right) for all
        quasi-identifiers, or a mapping from names. By default mean, median or mode for numeric, ordinal or nominal
        columns, what belongs to the ``cost`` that the method is asked to minimise, and ``tables`` where all columns are
        nominal and ``auto`` chooses, or where the method chooses representatives itself.
    hierarchies
        ``{"job": "jobs.csv"}``: trees by which columns are generalised; a :class:`shoal.Hierarchy`, a file as ARX
        writes it, nested mappings, or a word for a tree built from the values (``auto``, ``flat``, ``prefixes``,
        ``intervals``, ``order``, ``calendar``).
    globally
        Global recoding: records with equal quasi-identifiers stay in one group, so that equal values are always
        replaced by the same; otherwise they may part (local recoding), which loses less.
    keep_integers
        Whether integer columns stay integers (their sum is kept); otherwise they become floats.
    max_size
        Refuse a result with a larger group.
    l, l_kind, c
        l-diversity of every confidential column: at least l different values in a group, or with ``l_kind`` ``entropy``
        or ``recursive`` (with ``c``) so many well represented ones.
    p
        p-sensitivity: at least p different values of every confidential column.
    alpha
        No confidential value fills a larger share of a group.
    t
        t-closeness: the confidential values of a group are distributed nearly as in the table, 0 (exactly) to 1.
    beta
        No confidential value is more than 1 + beta times as frequent in a group as in the table.
    seed
        For methods that draw random numbers.
    options
        Further options of the method.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.

    Returns
    -------
    release
        The protected table with its evidence.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "diagnosis": ["A", "B", "A", "C"]})
    >>> release = protect(people, k=2, quasi=["age"], confidential=["diagnosis"], method="mdav")
    >>> release.data["age"].to_list()
    [31, 31, 61, 61]
    """
    chosen = get_method(method)
    changes: dict[str, Any] = {
        "quasi": quasi, "confidential": confidential, "identifiers": identifiers, "kinds": kinds, "orders": orders,
        "weights": weights, "within": within, "sampling_weight": sampling_weight, "missing": missing, "recode": recode,
        "hierarchies": hierarchies,
    }  # fmt: skip
    table, full_schema = load(data, schema, changes, read_options or {}, progress)
    full_schema = with_recode_of_cost(full_schema, chosen, options or {})
    runner, full_schema, run_options = for_categories(chosen, full_schema, options or {}, seed)
    progress.stage("preparing")
    prepared = prepare(table, full_schema, k)
    limits = _limits(prepared, Requirements(l, l_kind, c, p, alpha, t, beta), schema, [*(kinds or ()), *(orders or ())])
    size = k if limits is None else limits.group_size(k)
    trees = hierarchies_of(prepared)
    method_options = dict(options or {}) | ({"seed": seed} if chosen.seeded else {})
    largest = largest_allowed(chosen, size, max_size)
    grouping, facts, medoids_of = group_blocks(prepared, size, runner, run_options, largest, progress)
    facts |= {"chosen": runner.name} if runner is not chosen else {}
    if limits is not None:
        grouping = limits.kept(prepared, grouping, k, max_size, facts, progress)
    if globally:
        progress.stage("keeping equal records together")
        grouping = equal_records_together(prepared, grouping, max_size)
        facts["global_recoding"] = True
    progress.stage("recoding", len(prepared.codecs))
    released, loss = recode_table(prepared, grouping, medoids_of, trees, keep_integers=keep_integers, progress=progress)
    if limits is None and not globally:  # what the method proved holds for the groups it made
        loss = replace(loss, bound=facts.get("bound"), gap=facts.get("gap"))
    progress.stage("verifying")
    classes = verify_k(released, full_schema.protected, k)
    assessment = None if limits is None else limits.recount(released, full_schema)
    warnings = _warnings(prepared, loss) + vector_warnings(facts, prepared.table.n_rows)
    manifest = build_manifest(
        prepared=prepared, released=released, method=chosen, options=method_options, facts=facts, grouping=grouping,
        classes=classes, loss=loss, keep_integers=keep_integers, warnings=warnings,
        limits=None if limits is None or assessment is None else limits.for_manifest(assessment),
    )  # fmt: skip
    return Release(
        released, full_schema, grouping, classes, loss, manifest, warnings, original=prepared.table,
        limits=limits, assessment=assessment,
    )  # fmt: skip


def group(
    points: ArrayLike,
    k: int,
    *,
    method: str = "auto",
    standardise: bool = True,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
    **options: Any,
) -> NDArray[np.int64]:
    """Group the rows of an array.

    Parameters
    ----------
    points
        n x d numbers (or n numbers).
    k
        The smallest group allowed.
    method
        A name from :func:`shoal.all_methods`.
    standardise
        Bring all columns to mean 0 and variance 1 first.
    seed
        For methods that draw random numbers.
    progress
        Hears how far the work is.
    facts
        Receives what the method has to tell beyond the labels.
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
    chosen = get_method(method)
    array = np.asarray(points)
    if chosen.data != "codes":
        array = _float_matrix(array, chosen.dtype(str(options.get("storage", "float64"))))
        array = _standardised(array) if standardise else array
    if chosen.seeded:
        options["seed"] = seed
    labels = chosen.run(array, k, progress=progress, facts=facts, **options)
    return Grouping(labels, k, max_size=largest_allowed(chosen, k, None)).labels.copy()


def verify(
    data: Any,
    k: int,
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
    **limits: Any,
) -> Classes:
    """Recount k and further limits on a table, protected by whomever; raises where one fails.

    A k that fails raises :class:`shoal.errors.GroupTooSmall`, any other limit :class:`shoal.errors.LimitNotReached`.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    k
        The smallest class allowed.
    quasi
        The columns that are counted together; a missing value is a value of its own.
    confidential
        The columns that the further limits are about.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.
    limits
        ``l`` (with ``l_kind`` and ``c``), ``p``, ``alpha``, ``t``, ``beta`` and ``delta``, as in
        :class:`shoal.schema.requirements.Requirements`, and everything that :func:`shoal.assess` reads
        (``kinds``, ``orders``, ``hierarchies``, ``reading``, ``missing``).

    Returns
    -------
    classes
        The sizes of the classes; ``classes.k`` is the k that the table has.

    Examples
    --------
    >>> import polars as pl
    >>> verify(pl.DataFrame({"age": [31, 31, 61, 61]}), 2, quasi=["age"]).k
    2
    """
    check_k(k, k)
    names = names_list(quasi)
    if limits:
        from shoal.api.checks import verify_limits

        return verify_limits(
            data, k, quasi=names, confidential=names_list(confidential), read_options=read_options, progress=progress,
            **limits,
        )  # fmt: skip
    table = load_for_counting(data, names, read_options or {}, progress)
    progress.stage("verifying")
    return verify_k(table, names, k)


def _limits(
    prepared: Prepared, requirements: Requirements, schema: Schema | str | None, stated: list[str]
) -> Limits | None:
    """Return the limits beyond k, or None; refuses those that no grouping could keep."""
    given = prepared.table.names if schema is not None else stated
    limits = read_limits(prepared.table, prepared.schema, requirements, given)
    if limits is not None:
        limits.check_reachable(prepared.blocks)
    return limits


def _warnings(prepared: Prepared, loss: Loss) -> tuple[str, ...]:
    """Return what a person should know before handing the table out."""
    schema, table = prepared.schema, prepared.table
    found = []
    for column in schema.columns:
        if column.role in {Role.OTHER, Role.CONFIDENTIAL} and column.name != schema.sampling_weight:
            reason = looks_like_identifier(table.column(column.name))
            if reason:
                found.append(
                    f'column "{column.name}" is released unchanged although it may point at single persons ({reason})'
                )
    for name, count in prepared.imputed.items():
        found.append(f'{count} missing values of "{name}" were imputed and then replaced like all others')
    for name, count in prepared.suppressed.items():
        found.append(f'{count} values of "{name}" were suppressed because their pattern of missing values was too rare')
    for name, column_loss in loss.columns.items():
        if column_loss.information > 0.4:
            found.append(f'column "{name}" lost {100 * column_loss.information:.0f} % of its information')
    return tuple(found)


def _float_matrix(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    if array.dtype.kind not in "iufb":
        raise DataError(f"points must be numbers, not {array.dtype}; encode categories first or use shoal.protect")
    matrix = np.array(array, dtype=dtype, order="C", ndmin=1)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _standardised(points: NDArray[Any]) -> NDArray[Any]:
    """Bring columns to mean 0 and population variance 1 where they lie, one by one; constant ones become 0."""
    if not points.size or not np.isfinite(points).all():
        return points  # the method says what is wrong
    for j in range(points.shape[1]):
        column = points[:, j].astype(np.float64)
        column -= column.min() / 2 + column.max() / 2
        spread = np.abs(column).max()
        if spread > 0:
            column /= spread
            column -= column.mean()
            column /= np.sqrt((column**2).mean())
        points[:, j] = column
    return points
