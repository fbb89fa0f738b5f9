"""``verify``, ``assess`` and the sample of a report, on a DataFrame of Spark.

k is a GROUP BY of Spark. All other figures come from buckets of whole equivalence classes, which tasks measure as in
:mod:`shoal.engines.assess_parts`; they are exact. A report needs rows: those of some whole classes, chosen as in
:mod:`shoal.engines.class_sample`. Sizes of classes, worst figures, the distributions of confidential attributes and
this sample are all that reaches the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.engines.assess_parts import distinct_values, measured_bucket, total_assessment
from shoal.engines.class_sample import ATTEMPTS, SAMPLE_RECORDS, SEED, below, check_sample
from shoal.engines.packets import Packets, evidence, gathered, partition_keys
from shoal.engines.profile import Values, column_values, value_distribution
from shoal.engines.recount_parts import BUCKET_ROWS, CountedClasses, bucket_numbers, class_hashes
from shoal.engines.spark_session import (
    PACKETS_PER_BATCH,
    collected_evidence,
    collected_totals,
    exchanged,
    mapped,
    records_per_batch,
)
from shoal.engines.spark_sources import NATIVE_BATCH, check_frame, class_columns, quoted
from shoal.engines.spark_tasks import TASKS_PER_CORE, Batches, Bins
from shoal.errors import DataError, UnknownColumn
from shoal.privacy.assessment import Assessment
from shoal.privacy.k_anonymity import require_k
from shoal.privacy.value_encoding import ValueEncoding
from shoal.schema.columns import Role, Schema
from shoal.tables import Table


def verify_frame(frame: Any, names: Sequence[str], k: int, *, progress: Progress = SILENT) -> CountedClasses:
    """Count the equivalence classes of a DataFrame by a GROUP BY; raises GroupTooSmall where one has fewer than k rows.

    Parameters
    ----------
    frame
        The DataFrame.
    names
        The quasi-identifiers.
    k
        The smallest number of rows that is allowed.
    progress
        Progress callback.
    """
    for name in names:
        if name not in frame.columns:
            raise UnknownColumn(name, frame.columns)
    progress.stage("verifying", None)
    found = sorted(collected_totals(frame.groupBy(*class_columns(frame, names)).count().groupBy("count").count()))
    if not found:
        raise DataError("the DataFrame has no records; there is nothing to count")
    sizes, times = np.array(found, np.int64).T
    classes = CountedClasses(sizes, times=times)
    require_k(classes, k)
    return classes


def assess_frame(
    frame: Any, schema: Schema, *, l: int | None = None, bucket_rows: int = BUCKET_ROWS, progress: Progress = SILENT
) -> Assessment:
    """Measure every privacy model but risk on a DataFrame where each row is a person; every figure is exact.

    Parameters
    ----------
    frame
        The DataFrame.
    schema, l, progress
        As in :func:`shoal.engines.assess_parts.assess_parts`.
    bucket_rows
        The wanted number of rows that a task measures at a time.
    """
    check_frame(frame)
    protected, attributes = schema.protected, schema.named(Role.CONFIDENTIAL)
    shown = frame.select(*(quoted(name) for name in dict.fromkeys([*protected, *attributes])))
    records = collected_totals(shown.groupBy().count())[0][0]
    if not records:
        raise DataError("the DataFrame has no records; there is nothing to measure")
    count = -(-records // bucket_rows)
    partitions = min(count, TASKS_PER_CORE * frame.sparkSession.sparkContext.defaultParallelism)
    keys = partition_keys(partitions)[np.arange(count) % partitions]
    progress.stage("finding equivalence classes", records)
    with _kept(shown, ClassBucketing(protected, attributes, keys)) as (packets, found):
        whole = []
        for name in attributes:
            values = [part[name] for part in found]
            whole.append(value_distribution(schema[name], sum(values[1:], values[0])))
        buckets = exchanged(packets, partitions)
        distinct: dict[str, int | None] = dict.fromkeys(attributes, l)
        with records_per_batch(frame.sparkSession, PACKETS_PER_BATCH):
            if attributes and l is None:
                fewest = collected_evidence(mapped(buckets, Distinct(protected, whole)))
                distinct = {name: min(part[name] for _, part in fewest) for name in attributes}
            progress.stage("measuring", records)
            measured = collected_evidence(mapped(buckets, Measuring(protected, whole, distinct)))
    return total_assessment(records, protected, attributes, [part for _, part in measured])


def sample_frame(
    frame: Any, names: Sequence[str], *, records: int = SAMPLE_RECORDS, progress: Progress = SILENT
) -> tuple[Any, int]:
    """Return all rows of some equivalence classes as a pyarrow Table, and the number of rows of the DataFrame.

    The same classes as :func:`shoal.engines.class_sample.sample_classes` returns of files, at most twice ``records``.

    Parameters
    ----------
    frame
        The DataFrame.
    names
        The columns whose values make the classes.
    records
        The fewest records, where the DataFrame has so many in classes of moderate size.
    progress
        Progress callback.
    """
    import pyarrow as pa

    best, chosen, limit, total = -1, SEED, 1.0, 0
    for attempt in range(ATTEMPTS):
        progress.stage("drawing a sample of equivalence classes", None)
        with records_per_batch(frame.sparkSession, NATIVE_BATCH):
            counted = collected_evidence(mapped(frame, CountingHashes(names, SEED + attempt)))
        rows = np.sum([counts for _, counts in counted], axis=0)
        total, halvings = int(rows[0]), int(np.flatnonzero(rows <= 2 * records)[0])
        if rows[halvings] > best:
            best, chosen, limit = int(rows[halvings]), SEED + attempt, 2.0**-halvings
        if best >= min(records, total):
            break
    check_sample(best, records)
    with records_per_batch(frame.sparkSession, NATIVE_BATCH):
        found = collected_evidence(mapped(frame, Sampling(names, chosen, limit)))
    return pa.concat_tables([table for _, table in found]).unify_dictionaries().combine_chunks(), total


@contextmanager
def _kept(frame: Any, task: object) -> Iterator[tuple[Any, list[Any]]]:
    """Return packets that are kept on the disks of the executors, and their evidence."""
    from pyspark import StorageLevel

    packets = mapped(frame, task).persist(StorageLevel.DISK_ONLY)
    try:
        with records_per_batch(frame.sparkSession, NATIVE_BATCH):
            found = [part for _, part in collected_evidence(packets)]
        yield packets, found
    finally:
        packets.unpersist()


@dataclass(frozen=True, eq=False)
class ClassBucketing:
    """Sends rows to buckets of whole equivalence classes, and counts the values of confidential attributes.

    Parameters
    ----------
    names, attributes
        Quasi-identifiers and confidential attributes.
    bins
        The key of the shuffle for each bucket.
    """

    names: Sequence[str]
    attributes: Sequence[str]
    bins: Bins

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows by bucket, and how often each value occurs."""
        packets, found = Packets(self.bins), dict[str, Values]()
        for table in _tables(batches):
            part = Table.from_native(table)
            packets.add(table, bucket_numbers(part, self.names, self.bins.size))
            for name in self.attributes:
                values = column_values(part, name)
                found[name] = found[name] + values if name in found else values
            yield from packets.drained()
        yield from packets.drained(everything=True)
        if found:
            yield evidence(0, found)


@dataclass(frozen=True, eq=False)
class Distinct:
    """Counts the different values in each class of a bucket."""

    names: Sequence[str]
    whole: Sequence[ValueEncoding]

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the distinct l of each bucket as evidence."""
        for place, table in gathered(batches):
            yield evidence(place, distinct_values(Table.from_native(table), self.names, self.whole))


@dataclass(frozen=True, eq=False)
class Measuring:
    """Measures all models on each bucket."""

    names: Sequence[str]
    whole: Sequence[ValueEncoding]
    distinct: dict[str, int | None]

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return sizes of classes and figures of each bucket as evidence."""
        for place, table in gathered(batches):
            yield evidence(place, measured_bucket(Table.from_native(table), self.names, self.whole, self.distinct))


@dataclass(frozen=True, eq=False)
class CountingHashes:
    """Counts the rows that a sample of classes has, for each of its possible sizes."""

    names: Sequence[str]
    seed: int

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return how many rows there are, how many with a hash in the lower half, in the lower quarter and so on."""
        counts = np.zeros(65, np.int64)
        for table in _tables(batches):
            counts += halved_counts(class_hashes(Table.from_native(table), self.names, self.seed))
        yield evidence(0, counts)


def halved_counts(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for each number of halvings of the limit how many hashes are below it.

    Examples
    --------
    >>> halved_counts(np.array([2**63, 2**63 - 1, 2**62, 0], np.uint64))[:4].tolist()
    [4, 3, 1, 1]
    """
    bits = np.searchsorted(np.uint64(1) << np.arange(64, dtype=np.uint64), hashes, side="right")
    return np.cumsum(np.bincount(bits, minlength=65))[::-1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Sampling:
    """Returns the rows of the classes whose hash is below a limit, as evidence."""

    names: Sequence[str]
    seed: int
    limit: float

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows."""
        import pyarrow as pa

        for table in _tables(batches):
            hashes = class_hashes(Table.from_native(table), self.names, self.seed)
            yield evidence(0, table.take(pa.array(np.flatnonzero(below(hashes, self.limit)))))


def _tables(batches: Batches) -> Iterator[Any]:
    """Return record batches of rows as pyarrow Tables."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            yield pa.Table.from_batches([batch])
