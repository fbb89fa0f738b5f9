"""The way of the data on one page: read, prepare, group, recode, verify, measure, release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError
from shoal.grouping import Grouping
from shoal.loading import load, load_for_counting
from shoal.manifest import build_manifest
from shoal.measures.loss import Loss, size_measures
from shoal.methods.registry import Method, check_k, get_method
from shoal.preparation import Prepared, prepare
from shoal.privacy.k_anonymity import Classes, verify_k
from shoal.progress import SILENT, Progress
from shoal.recoding import group_medoids
from shoal.recoding.columns import recode_column
from shoal.release import Release
from shoal.schema import Kind, Recode, Role, Schema, names_list
from shoal.schema_inference import looks_like_identifier
from shoal.tables import Table


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
    keep_integers: bool = True,
    max_size: int | None = None,
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
        ``mean``, ``median``, ``mode``, ``medoid``, ``range``, ``midrange``, ``min`` or ``max`` for all
        quasi-identifiers, or a mapping from names. By default mean, median or mode for numeric, ordinal or nominal
        columns, or what belongs to the ``cost`` that the method is asked to minimise.
    keep_integers
        Whether integer columns stay integers (their sum is kept); otherwise they become floats.
    max_size
        Refuse a result with a larger group.
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
    }  # fmt: skip
    table, full_schema = load(data, schema, changes, read_options or {}, progress)
    full_schema = _with_recode_of_cost(full_schema, chosen, options or {})
    progress.stage("preparing")
    prepared = prepare(table, full_schema, k)
    method_options = dict(options or {}) | ({"seed": seed} if chosen.seeded else {})
    largest = _largest_allowed(chosen, k, max_size)
    grouping, facts, medoids_of = _group_blocks(prepared, k, chosen, method_options, largest, progress)
    progress.stage("recoding", len(prepared.codecs))
    released, loss = _recode(prepared, grouping, medoids_of, keep_integers=keep_integers, progress=progress)
    progress.stage("verifying")
    classes = verify_k(released, full_schema.protected, k)
    warnings = _warnings(prepared, loss)
    manifest = build_manifest(
        prepared=prepared, released=released, method=chosen, options=method_options, facts=facts, grouping=grouping,
        classes=classes, loss=loss, keep_integers=keep_integers, warnings=warnings,
    )  # fmt: skip
    return Release(released, full_schema, grouping, classes, loss, manifest, warnings)


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
        array = _float_matrix(array)
        array = _standardised(array) if standardise else array
    if chosen.seeded:
        options["seed"] = seed
    labels = chosen.run(array, k, progress=progress, facts=facts, **options)
    return Grouping(labels, k, max_size=_largest_allowed(chosen, k, None)).labels.copy()


def verify(
    data: Any,
    k: int,
    *,
    quasi: Sequence[str],
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Classes:
    """Recount k on a table, protected by whomever; raises :class:`shoal.errors.GroupTooSmall` where it fails.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    k
        The smallest class allowed.
    quasi
        The columns that are counted together; a missing value is a value of its own.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.

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
    table = load_for_counting(data, names, read_options or {}, progress)
    progress.stage("verifying")
    return verify_k(table, names, k)


_RECODE_OF_COST = {
    "sae": Recode.MEDIAN,
    "max-distance": Recode.MIDRANGE,
    "round-up": Recode.MAX,
    "round-down": Recode.MIN,
}


def _with_recode_of_cost(schema: Schema, method: Method, options: Mapping[str, Any]) -> Schema:
    """Return the schema with the representative that belongs to the cost to be minimised, where none was asked for."""
    recode = _RECODE_OF_COST.get(str(options.get("cost")))
    if recode is None or "cost" not in method.options:
        return schema
    columns = tuple(
        replace(column, recode=recode) if column.role == Role.QUASI and column.recode is None else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


def _group_blocks(
    prepared: Prepared, k: int, method: Method, options: dict[str, Any], largest: int | None, progress: Progress
) -> tuple[Grouping, dict[str, Any], NDArray[np.float64] | None]:
    """Run the method on each block; returns the groups, what the method told, and the points if medoids need them."""
    points = _method_input(prepared, method)
    labels = np.empty(prepared.table.n_rows, np.int64)
    told: list[dict[str, Any]] = []
    start = 0
    for records in prepared.blocks:
        facts: dict[str, Any] = {}
        whole = records.size == labels.size
        found = method.run(points if whole else points[records], k, progress=progress, facts=facts, **options)
        labels[records] = found + start
        start += int(found.max()) + 1
        told.append(facts)
    needs_medoids = any(codec.column.representative == Recode.MEDOID for codec in prepared.codecs)
    facts = told[0] if len(told) == 1 else _joint_facts(told)
    grouping = Grouping(labels, k, max_size=largest)
    if not needs_medoids:
        return grouping, facts, None
    return grouping, facts, points if method.data == "points" else prepared.points()


def _joint_facts(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a method told of several blocks: the methods it chose there, and all of it while that is readable."""
    chosen = sorted({facts["chosen"] for facts in told if "chosen" in facts})
    joint: dict[str, Any] = {"chosen": ", ".join(chosen)} if chosen else {}
    if any(told) and len(told) <= 20:
        joint["blocks"] = told
    return joint


def _method_input(prepared: Prepared, method: Method) -> NDArray[Any]:
    if method.data == "codes":
        other = [codec.column.name for codec in prepared.codecs if codec.column.kind != Kind.NOMINAL]
        if other:
            raise DataError(f'method "{method.name}" is for nominal columns only; "{other[0]}" is not nominal')
        return prepared.codes()
    if method.data == "values":
        other = [codec.column.name for codec in prepared.codecs if codec.column.kind == Kind.NOMINAL]
        if other or len(prepared.codecs) != 1:
            raise DataError(
                f'method "{method.name}" groups one numeric or ordinal column; there are {len(prepared.codecs)}'
                + (f' and "{other[0]}" is nominal' if other else "")
            )
    return prepared.points()


def _recode(
    prepared: Prepared,
    grouping: Grouping,
    points: NDArray[np.float64] | None,
    *,
    keep_integers: bool,
    progress: Progress,
) -> tuple[Table, Loss]:
    medoids = None if points is None else group_medoids(points, grouping, prepared.weights)
    table = prepared.table
    columns, losses = {}, {}
    for codec in prepared.codecs:
        name = codec.column.name
        series = table.column(name)
        values = prepared.values(codec)
        original = codec.values(series) if name in prepared.changed else values
        columns[name], losses[name] = recode_column(
            codec, series, values, grouping, original=original, weights=prepared.weights, medoids=medoids,
            keep_integers=keep_integers,
        )  # fmt: skip
        progress.advance()
    released = table.with_columns(columns).without(prepared.schema.named(Role.IDENTIFIER))
    return released, Loss(losses, *size_measures(grouping))


def _largest_allowed(method: Method, k: int, max_size: int | None) -> int | None:
    """Return the smaller of what the user allows and what the method promises."""
    if max_size is not None and max_size < k:
        raise ParameterError(f"max_size={max_size} is below k={k}; no group could be formed")
    limits = [limit for limit in (max_size, method.max_size(k) if method.max_size else None) if limit is not None]
    return min(limits, default=None)


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


def _float_matrix(array: NDArray[Any]) -> NDArray[np.float64]:
    if array.dtype.kind not in "iufb":
        raise DataError(f"points must be numbers, not {array.dtype}; encode categories first or use shoal.protect")
    matrix = np.array(array, dtype=np.float64, order="C", ndmin=1)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _standardised(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns with mean 0 and population variance 1; constant ones become 0."""
    if not points.size or not np.isfinite(points).all():
        return points  # the method says what is wrong
    middle = points.min(axis=0) / 2 + points.max(axis=0) / 2
    centred = points - middle
    spread = np.abs(centred).max(axis=0)
    centred /= np.where(spread > 0, spread, 1.0)
    centred -= centred.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    centred /= np.where(spread > 0, deviation, 1.0)
    return centred * (spread > 0)
