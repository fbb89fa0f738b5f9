"""``assess``, ``verify`` and ``evaluate`` on Parquet files that memory does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.progress import Progress
from shoal.schema.columns import Schema
from shoal.schema.loading import complete_schema
from shoal.tables import read_head
from shoal.tables.parquet_parts import ParquetParts, is_parquet, open_parts

if TYPE_CHECKING:
    from shoal.privacy.assessment import Assessment
    from shoal.privacy.k_anonymity import Classes


def large_parquet(data: str | Path) -> ParquetParts | None:
    """Return Parquet files that memory does not hold; None for every other table."""
    if not is_parquet(data):
        return None
    source = open_parts(Path(data))
    return None if source.fits_memory() else source


def verified_in_parts(
    data: str | Path, names: Sequence[str], k: int, named: set[str] | None, progress: Progress
) -> Classes | None:
    """Count k on Parquet files that memory does not hold; None for every other table, or where a role is unknown."""
    source = large_parquet(data) if names else None
    if source is None or not (named is None or named >= {*source.names}):
        return None
    from shoal.engines.verify_parts import verify_parts

    return verify_parts(source, names, k, progress=progress)


def assessed_in_parts(
    data: str | Path, schema: Schema | str | Path | None, changes: Mapping[str, Any], *, l: int | None,
    threshold: float, progress: Progress,
) -> Assessment | None:  # fmt: skip
    """Measure Parquet files that memory does not hold; None for every other table, and where persons or weights count.

    Parameters
    ----------
    data
        The path of the table.
    schema, changes
        The schema, and roles and treatment of columns as the user states them.
    l, threshold
        As in :func:`shoal.assess`.
    progress
        Progress callback.
    """
    source = large_parquet(data)
    if source is None:
        return None
    full = complete_schema(read_head(data), schema, changes, identifiers_dropped=True)
    if full.unit or full.household or full.constant or full.known or full.released_weight or not full.protected:
        return None
    from shoal.engines.assess_parts import assess_parts
    from shoal.evaluate.class_risk import class_risk

    found = assess_parts(source, full, l=l, progress=progress)
    return replace(found, risk=class_risk(found.sizes, threshold=threshold))
