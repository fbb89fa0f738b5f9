"""A release in files, measured and reported on a bounded sample of whole equivalence classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.engines.class_sample import ClassSample, rows_of, sample_classes
from shoal.engines.parts_evidence import PartsRelease
from shoal.errors import DataError
from shoal.flow.released import Recount, Released
from shoal.methods.contract import Outcome
from shoal.privacy.k_anonymity import class_labels, count_classes
from shoal.schema.columns import DROPPED, Schema
from shoal.schema.loading import complete_schema
from shoal.tables import Table, read_head
from shoal.tables.parquet_parts import ParquetParts, is_parquet, open_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REPORTED = (
    "Sizes of groups, distributions, associations, utility, risk and attacks were measured on {sample:,} of {all:,} "
    "records: all records of the equivalence classes that a hash selects. All requirements, information loss and "
    "missing values were counted on all records. An intruder is compared with the records of the sample only, so "
    "linkage and the risk before protection appear higher than they are."
)


@dataclass(frozen=True, eq=False)
class SampledPair:
    """Rows of a release with the same rows of its original, and what part of both they are."""

    original: Table
    released: Table
    sample: ClassSample


def sampled_pair(
    original: Any, released: Any, schema: Schema | str | Path | None, changes: Mapping[str, Any],
    progress: Progress = SILENT,
) -> SampledPair | None:  # fmt: skip
    """Return a sample of a release and its original, where both are Parquet and memory does not hold them.

    None for all other tables, and where rows are in a random order, so that the files do not show whose they are.
    """
    if not all(isinstance(data, str | Path) and is_parquet(data) for data in (original, released)):
        return None
    before, after = open_parts(Path(original)), open_parts(Path(released))
    if before.fits_memory() and after.fits_memory():
        return None
    full = complete_schema(read_head(original), schema, changes)
    if full.random_order or not full.protected:
        return None
    if before.n_rows != after.n_rows:
        raise DataError(
            f"the original has {before.n_rows:,} records and the release {after.n_rows:,}; evaluate needs the same "
            "records in the same order"
        )
    sample = sample_classes(after, full.protected, progress=progress)
    table = _original_rows(before, sample.rows, full, progress)
    return SampledPair(table, Table.from_native(sample.table), sample)


def sampled_release(
    found: PartsRelease, released: ParquetParts, original: ParquetParts | None, progress: Progress = SILENT
) -> tuple[Released, Table | None]:
    """Return a release that holds a sample of the rows, with the counts of all rows, and the same rows of the original.

    Parameters
    ----------
    found
        What was achieved and counted on all rows.
    released
        The files of the release.
    original
        The original; without it, or where rows were released in a random order, only the release is measured.
    progress
        Progress callback.
    """
    schema = found.plan.schema
    sample = sample_classes(released, schema.protected, progress=progress)
    part = released_sample(found, Table.from_native(sample.table), sample.records)
    if original is None or schema.random_order:
        return part, None
    return part, _original_rows(original, sample.rows, schema, progress)


def released_sample(found: PartsRelease, table: Table, records: int) -> Released:
    """Return a release that holds a sample of the rows, with the counts of all rows.

    Parameters
    ----------
    found
        What was achieved and counted on all rows.
    table
        All rows of some equivalence classes.
    records
        The number of rows of the whole release.
    """
    plan = found.plan
    names = plan.schema.protected
    labels = class_labels(table, names)
    counted = found.counted.recount
    recount = Recount(
        count_classes(table, names), counted.assessment, counted.compared, counted.with_weight, counted.with_known
    )
    text = _REPORTED.format(sample=table.n_rows, all=records)
    return Released(
        plan, table, Grouping(labels, min(plan.requirements.k, recount.classes.k)), recount,
        found.figures.loss(plan.requirements.k), Outcome(labels), found.manifest, found.remarks,
        runs=found.figures.runs, sampled="" if table.n_rows == records else text,
    )  # fmt: skip


def _original_rows(source: ParquetParts, rows: NDArray[Any], schema: Schema, progress: Progress) -> Table:
    """Return rows of the original without direct identifiers."""
    dropped = {column.name for column in schema.columns if column.role in DROPPED}
    return rows_of(source, rows, [name for name in source.names if name not in dropped], progress=progress)
