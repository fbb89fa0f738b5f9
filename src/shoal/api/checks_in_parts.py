"""``assess``, ``verify`` and ``evaluate`` on Parquet files that memory does not hold, and DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.progress import Progress
from shoal.errors import ParameterError, UnknownColumn
from shoal.schema.columns import Role, Schema
from shoal.schema.loading import complete_schema, stated_column
from shoal.tables import Table, read_head
from shoal.tables.parquet_parts import ParquetParts, is_parquet, open_parts

if TYPE_CHECKING:
    from shoal.privacy.assessment import Assessment
    from shoal.privacy.k_anonymity import Classes


def is_in_parts(data: Any) -> bool:
    """Return whether a table may be measured in parts: it is in files, or a DataFrame of Spark."""
    return isinstance(data, str | Path) or of_spark(data)


def of_spark(data: Any) -> bool:
    """Return whether a table is a DataFrame of Spark; imports nothing.

    Examples
    --------
    >>> of_spark([1, 2])
    False
    """
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "sparkSession")


def large_parquet(data: str | Path) -> ParquetParts | None:
    """Return Parquet files that memory does not hold; None for every other table."""
    if not is_parquet(data):
        return None
    source = open_parts(Path(data))
    return None if source.fits_memory() else source


def verified_in_parts(
    data: Any, names: Sequence[str], unchanged: Sequence[str], k: int, named: set[str] | None, progress: Progress
) -> Classes | None:
    """Count k on Parquet files that memory does not hold, or on a DataFrame of Spark.

    None for every other table, or where a role is unknown. A column of ``unchanged`` that is not there is an error.
    """
    if not names:
        return None
    source = None if of_spark(data) else large_parquet(data)
    if source is None and not of_spark(data):
        return None
    present = list(data.columns if source is None else source.names)
    for name in unchanged:
        if name not in present:
            raise UnknownColumn(name, present)
    if not (named is None or named >= {*present}):
        return None
    if source is None:
        from shoal.engines.spark_checks import verify_frame

        return verify_frame(data, names, k, progress=progress)
    from shoal.engines.verify_parts import verify_parts

    return verify_parts(source, names, k, progress=progress)


def assessed_in_parts(
    data: Any, schema: Schema | str | Path | None, changes: Mapping[str, Any], *, l: int | None,
    threshold: float, progress: Progress,
) -> Assessment | None:  # fmt: skip
    """Measure Parquet files that memory does not hold, or a DataFrame of Spark.

    None for every other table, and where persons or weights count.

    Parameters
    ----------
    data
        The path of the table, or a DataFrame of Spark.
    schema, changes
        The schema, and roles and treatment of columns as the user states them.
    l, threshold
        As in :func:`shoal.assess`.
    progress
        Progress callback.
    """
    source = None if of_spark(data) else large_parquet(data)
    if of_spark(data):
        from shoal.engines.spark import frame_schema_table

        head = Table.from_native(frame_schema_table(data))
    elif source is not None:
        head = read_head(data)
    else:
        return None
    full = complete_schema(head, schema, changes, identifiers_dropped=True)
    if full.unit or full.household or full.constant or full.known or full.released_weight or not full.protected:
        return None
    from shoal.evaluate.class_risk import class_risk

    if source is None:
        from shoal.engines.spark_checks import assess_frame

        found = assess_frame(data, full, l=l, progress=progress)
    else:
        from shoal.engines.assess_parts import assess_parts

        found = assess_parts(source, full, l=l, progress=progress)
    stated = [changes.get(role) or stated_column(schema, Role(role)) for role in ("unit", "household")]
    notes = () if (note := absent_persons(head.names, *stated)) is None else (note,)
    return replace(found, risk=class_risk(found.sizes, threshold=threshold), notes=notes)


def refuse_frame(data: Any) -> None:
    """Raise for a DataFrame of Spark where what is asked for needs the table in memory."""
    if of_spark(data):
        raise ParameterError(
            "a DataFrame of Spark is measured where each row is a person: k, requirements on confidential attributes "
            "and the risk of classes; for all else write it to Parquet and name the folder"
        )


def absent_persons(names: Sequence[str], *stated: str | None) -> str | None:
    """Return what a reader has to know where the column of persons or households is not in the table."""
    absent = [name for name in stated if name is not None and name not in names]
    if not absent:
        return None
    return (
        f'k counts records: the table has no column "{absent[0]}"; to count persons, name the original with --original '
        "and the holder's record with --record"
    )
