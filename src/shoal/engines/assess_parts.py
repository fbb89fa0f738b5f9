"""Privacy models measured on Parquet files that memory does not hold: exact, bucket after bucket.

All rows of an equivalence class are in one bucket, by a hash of the quasi-identifiers, and confidential values are
compared with their distribution in the whole table. So every figure is that of the table in memory, without a sample.
Memory holds one bucket, the distributions, and the size of every class (16 bytes each).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.engines.profile import Values, column_values, value_distribution
from shoal.engines.recount_parts import BUCKET_ROWS, bucket_numbers
from shoal.engines.spill import Spill
from shoal.flow.satisfy import confidential_values
from shoal.privacy.assessment import Assessment, ColumnAssessment, assess_column
from shoal.privacy.equivalence_classes import EquivalenceClasses, MissingSemantics, equivalence_classes
from shoal.privacy.l_diversity import distinct_l
from shoal.privacy.value_encoding import ValueEncoding
from shoal.schema.columns import Role, Schema
from shoal.schema.requirements import Requirements
from shoal.tables import Table
from shoal.tables.parquet_parts import ParquetParts

_SMALLEST = ("l", "entropy_l", "p")
_LARGEST = ("alpha", "c", "t", "beta", "enhanced_beta", "delta")
_NO_REQUIREMENT = Requirements(k=2)


def assess_parts(
    source: ParquetParts, schema: Schema, *, l: int | None = None, bucket_rows: int = BUCKET_ROWS,
    progress: Progress = SILENT,
) -> Assessment:  # fmt: skip
    """Measure every privacy model but risk on Parquet files, where each row is a person.

    Rows wait in a private folder for temporary files (``TMPDIR``), which is removed on every exit.

    Parameters
    ----------
    source
        The files.
    schema
        Quasi-identifiers, strata and confidential attributes.
    l
        The l of recursive (c, l)-diversity; the distinct l of each column if not given.
    bucket_rows
        The wanted number of rows that are measured at a time.
    progress
        Progress callback.
    """
    protected, attributes = schema.protected, schema.named(Role.CONFIDENTIAL)
    names = list(dict.fromkeys([*protected, *attributes]))
    count = max(1, -(-source.n_rows // bucket_rows))
    with TemporaryDirectory(prefix="shoal-assess-") as folder:
        rows, found = Spill(Path(folder), "buckets"), dict[str, Values]()
        progress.stage("finding equivalence classes", source.n_rows)
        for _, batch in source.batches(names):
            part = Table.from_native(batch)
            rows.add(batch, bucket_numbers(part, protected, count))
            for name in attributes:
                values = column_values(part, name)
                found[name] = found[name] + values if name in found else values
            progress.advance(batch.num_rows)
        rows.finish()
        whole = [value_distribution(schema[name], found[name]) for name in attributes]
        distinct: dict[str, int | None] = dict.fromkeys(attributes, l)
        if attributes and l is None:
            fewest = [distinct_values(table, protected, whole) for table in _buckets(rows)]
            distinct = {name: min(bucket[name] for bucket in fewest) for name in attributes}
        progress.stage("measuring", source.n_rows)
        measured = []
        for table in _buckets(rows):
            measured.append(measured_bucket(table, protected, whole, distinct))
            progress.advance(table.n_rows)
    return total_assessment(source.n_rows, protected, attributes, measured)


def total_assessment(
    records: int, protected: Sequence[str], attributes: Sequence[str],
    measured: Sequence[MeasuredBucket],
) -> Assessment:  # fmt: skip
    """Return what was measured on all buckets together.

    Parameters
    ----------
    records
        The number of rows.
    protected, attributes
        Quasi-identifiers and confidential attributes.
    measured
        Sizes of classes and figures of each bucket.
    """
    columns = dict[str, ColumnAssessment]()
    for bucket in measured:
        for name, column in bucket.columns.items():
            columns[name] = _worst(columns[name], column) if name in columns else column
    sizes = np.concatenate([np.repeat(bucket.sizes, bucket.times) for bucket in measured])
    return Assessment(
        records=records, sizes=sizes, members=sizes, quasi=tuple(protected), confidential=tuple(attributes),
        columns=columns,
    )  # fmt: skip


def _buckets(rows: Spill) -> Iterator[Table]:
    for key in rows.keys():  # noqa: SIM118 - not a mapping
        yield Table.from_native(rows.read(key))


class MeasuredBucket(NamedTuple):
    """The different sizes of equivalence classes, how many classes have each, and the figures of each attribute."""

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    columns: dict[str, ColumnAssessment]


def distinct_values(bucket: Table, names: Sequence[str], whole: Sequence[ValueEncoding]) -> dict[str, int]:
    """Return the distinct l of each confidential attribute in the classes of a bucket.

    Parameters
    ----------
    bucket
        All rows of some equivalence classes.
    names
        The columns whose values make the classes.
    whole
        The distributions of the confidential attributes in the whole table.
    """
    matching = _classes(bucket, names)
    return {
        column.name: int(distinct_l(column.compared(matching.counts(column.codes, column.n_values))).min())
        for column in _values(bucket, whole)
    }


def measured_bucket(
    bucket: Table, names: Sequence[str], whole: Sequence[ValueEncoding], distinct: Mapping[str, int | None]
) -> MeasuredBucket:
    """Return sizes of the classes of a bucket, and the figures of each confidential attribute in them.

    Parameters
    ----------
    bucket, names, whole
        As in :func:`distinct_values`.
    distinct
        The l of recursive (c, l)-diversity of each attribute.
    """
    matching = _classes(bucket, names)
    columns = {
        column.name: assess_column(
            column.compared(matching.counts(column.codes, column.n_values)), column.distance, l=distinct[column.name]
        )
        for column in _values(bucket, whole)
    }
    return MeasuredBucket(*np.unique(matching.sizes(), return_counts=True), columns)


def _classes(bucket: Table, names: Sequence[str]) -> EquivalenceClasses:
    return equivalence_classes(bucket, names, MissingSemantics.DISTINCT)


def _values(table: Table, whole: Sequence[ValueEncoding]) -> Any:
    if not whole:
        return ()
    return confidential_values(table, [entry.column for entry in whole], _NO_REQUIREMENT, whole)[1]


def _worst(one: ColumnAssessment, other: ColumnAssessment) -> ColumnAssessment:
    """Return the figures for which the classes of both buckets satisfy every model."""
    smallest = {name: min(getattr(one, name), getattr(other, name)) for name in _SMALLEST}
    largest = {name: max(getattr(one, name), getattr(other, name)) for name in _LARGEST}
    return replace(one, **smallest, **largest)
