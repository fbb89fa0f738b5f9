"""``assess``: how safe a table is as it stands, protected by anyone or by no one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import GroupTooSmall, LimitNotReached, ParameterError, SchemaError, suggestion
from shoal.privacy.assessment import Assessment, ColumnAssessment, assess_column
from shoal.privacy.confidential import Values, joint_values, read_values
from shoal.privacy.equivalence_classes import Holes, Matching, match_records
from shoal.privacy.k_anonymity import Classes
from shoal.schema.columns import Schema, choice, names_list
from shoal.schema.loading import complete_schema, load_for_counting
from shoal.schema.requirements import Requirements, sentence

if TYPE_CHECKING:
    from shoal.tables import Table


class Reading(StrEnum):
    """How several confidential columns are read."""

    EACH = "each"
    OTHERS_KNOWN = "others-known"
    TOGETHER = "together"


def assess(
    data: Any,
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    reading: str = "each",
    missing: str = "own-value",
    l: int | None = None,
    m: int | None = None,
    threshold: float = 0.2,
    contributions: bool = False,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Assessment:
    """Measure every privacy model on a table as it stands, protected by anyone.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    quasi
        The columns that an outsider may know; records that agree in all of them form a class.
    confidential
        The columns that must not be learned about a person. Without them only k and the risk are measured.
    kinds
        ``{"zip": "nominal"}`` for confidential columns whose kind is not what their type suggests: numeric and ordinal
        ones are compared by their order, nominal ones as equal or not.
    orders
        ``{"stage": ["I", "II", "III"]}`` makes a column ordinal.
    hierarchies
        A :class:`shoal.Hierarchy`, a file or a mapping for columns that are compared by their tree.
    reading
        ``each``: every confidential column on its own. ``others-known``: an outsider also knows the other confidential
        columns, so they count as quasi-identifiers. ``together``: the combination of all is one value.
    missing
        ``own-value``: a hole equals only a hole. ``wildcard``: a hole in a quasi-identifier matches any value, and one
        in a confidential column may hide the most harmful one. ``error``: holes are refused.
    l
        The l of recursive (c, l)-diversity; the distinct l of each column if not given.
    m
        Also measure (m, t)-closeness, against sets of at least m records.
    threshold
        Records with a risk of being picked out above this are counted.
    contributions
        Also measure what each quasi-identifier contributes to the risk.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.

    Returns
    -------
    assessment
        All figures; ``print`` shows a table. Cost O(n log n) per confidential column, whatever the number of classes.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 31, 61, 61], "diagnosis": ["A", "B", "C", "C"]})
    >>> assess(people, quasi=["age"], confidential=["diagnosis"]).figures()["alpha"]
    1.0
    """
    how, holes = choice(Reading, reading, "reading"), choice(Holes, missing, "missing")
    names, secrets = names_list(quasi), names_list(confidential)
    table = load_for_counting(data, [*names, *secrets], read_options or {}, progress, typed=secrets)
    changes = {
        "quasi": names,
        "confidential": secrets,
        "kinds": kinds,
        "orders": orders,
        "hierarchies": hierarchies,
    }
    schema = complete_schema(table, None, {key: value for key, value in changes.items() if value})
    progress.stage("finding classes")
    matching = match_records(table, names, holes)
    columns = _columns(table, schema, names, secrets, matching, how, holes, {"l": l, "m": m}, progress)
    sizes = matching.sizes()
    return Assessment(
        records=table.n_rows,
        sizes=sizes,
        members=np.bincount(matching.labels),
        quasi=tuple(names),
        confidential=tuple(secrets),
        reading=str(how),
        missing=str(holes),
        columns=columns,
        m=m,
        risk=_risk(matching, threshold),
        contributions=_contributions(table, names, progress) if contributions else None,
    )


def _columns(
    table: Table,
    schema: Schema,
    names: list[str],
    secrets: list[str],
    matching: Matching,
    how: Reading,
    holes: Holes,
    options: dict[str, int | None],
    progress: Progress,
) -> dict[str, ColumnAssessment]:
    """Return the figures of each confidential column, or of their combination."""
    progress.stage("measuring", len(secrets))
    values: list[Values] = [read_values(table, schema[name], holes) for name in secrets]
    if how == Reading.TOGETHER and len(values) > 1:
        values = [joint_values(values)]
    columns = {}
    for column in values:
        classes = matching
        if how == Reading.OTHERS_KNOWN and len(secrets) > 1:
            classes = match_records(table, [*names, *(other for other in secrets if other != column.name)], holes)
        columns[column.name] = assess_column(classes.counts(column.codes, column.n_values), column.distance, **options)
        progress.advance()
    return columns


def _risk(matching: Matching, threshold: float) -> Any:
    """Return the risk from the sizes of the classes, averaged over records."""
    from shoal.evaluate.class_risk import class_risk

    if not matching.links:
        return class_risk(matching.sizes(), threshold=threshold)
    return _overlapping_risk(1.0 / matching.sizes()[matching.labels], matching, threshold)


def _overlapping_risk(risk: NDArray[np.float64], matching: Matching, threshold: float) -> Any:
    """Return the risk where a record matches several classes, from the risk of each record."""
    from shoal.evaluate.class_risk import AttackerRisk, ClassRisk

    above = float((risk > threshold * (1 + 1e-12)).mean())
    attacker = AttackerRisk(float(risk.max()), float(risk.mean()), above, threshold)
    unique = float((risk == 1.0).mean())
    classes = int(matching.labels.max()) + 1
    return ClassRisk(attacker, attacker, attacker.average, unique, unique, risk.size, classes)


def _contributions(table: Table, names: list[str], progress: Progress) -> Any:
    from shoal.evaluate.contribution import contributions

    return contributions(table, names, progress=progress)


def verify_limits(
    data: Any,
    k: int,
    *,
    quasi: list[str],
    confidential: list[str],
    read_options: Mapping[str, Any] | None,
    progress: Progress,
    **options: Any,
) -> Classes:
    """Recount k and every limit; raises where one fails."""
    limits, rest = split_limits(options)
    unknown = [name for name in rest if name not in {"kinds", "orders", "hierarchies", "reading", "missing"}]
    if unknown:
        known = [field.name for field in fields(Requirements)]
        raise ParameterError(f'there is no limit "{unknown[0]}"; {suggestion(unknown[0], known)}')
    found = assess(
        data, quasi=quasi, confidential=confidential, l=limits.recursive_l, read_options=read_options,
        progress=progress, **rest,
    )  # fmt: skip
    classes = Classes(found.sizes)
    if classes.k < k:
        raise GroupTooSmall(f"k={k} is not reached, the smallest class has {classes.k} of {found.records} records")
    require(found, limits)
    return classes


def split_limits(options: Mapping[str, Any]) -> tuple[Requirements, dict[str, Any]]:
    """Return the limits among the options, and the rest.

    Examples
    --------
    >>> split_limits({"t": 0.2, "reading": "each"})[1]
    {'reading': 'each'}
    """
    names = {field.name for field in fields(Requirements)}
    limits = Requirements(**{name: value for name, value in options.items() if name in names})
    return limits, {name: value for name, value in options.items() if name not in names}


def require(assessment: Assessment, requirements: Requirements) -> None:
    """Raise :class:`shoal.errors.LimitNotReached` with one sentence for all limits that a table does not keep."""
    if requirements and not assessment.columns:
        raise SchemaError(
            f"{next(iter(requirements.asked()))} limits what is learned about confidential columns, but none is named"
        )
    broken = [
        sentence(name, limit, value)
        for name, (limit, value, holds) in assessment.reached(requirements).items()
        if not holds
    ]
    if broken:
        raise LimitNotReached("; ".join(broken))
