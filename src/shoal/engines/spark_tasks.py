"""The tasks of engine ``spark``: each turns record batches into packets, by the functions that engine ``disk`` calls.

A task is a frozen value that can be sent. It depends on its input alone, so that a task that is repeated, because a
worker was lost or because Spark runs a second attempt, gives the same packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.engines.chunks import ORDER, OWNER, order_draws, ordered_chunk, released_rows
from shoal.engines.leaf_job import ROW, LeafRelease, protect_part
from shoal.engines.packets import Packets, evidence, gathered, packet, unpacked
from shoal.engines.partition import Jobs, Partition, piece_of
from shoal.engines.parts_evidence import ReleasedColumns
from shoal.engines.planning import LeafCounter, numbered, profile_batch
from shoal.engines.profile import ProfileTask
from shoal.engines.recount_parts import Buckets, recount_bucket
from shoal.engines.repair import GROUP, group_part, recode_part, refine_part, travelling
from shoal.errors import DataError
from shoal.flow.encoding import Encoding
from shoal.flow.group import MethodRun
from shoal.privacy.value_encoding import ValueEncoding
from shoal.schema.plan import Plan
from shoal.tables import Table
from shoal.tables.parquet_parts import ParquetParts, RowGroup
from shoal.tables.parquet_release import FILE_CHUNKS, ParquetFolder

TASKS_PER_CORE = 4
"""Partitions of a shuffle for each core, at most; fewer where there are fewer parts."""
Batches = Iterable[Any]
Bins = NDArray[np.integer[Any]]


class Reader(Protocol):
    """Turns the input of a task into rows with their numbers."""

    def tables(self, batches: Batches) -> Iterator[Any]:
        """Return pyarrow Tables whose last column holds the numbers of the rows."""


@dataclass(frozen=True, eq=False)
class FileReader:
    """Reads row groups of Parquet files, whose positions are the input of the task."""

    source: ParquetParts
    names: Sequence[str]
    groups: Sequence[RowGroup]

    def tables(self, batches: Batches) -> Iterator[Any]:
        """Return the rows of the row groups with their numbers."""
        for batch in batches:
            for position in batch.column(0).to_pylist():
                for first, table in self.source.group_batches(self.groups[position], self.names):
                    yield numbered(table, np.arange(first, first + table.num_rows, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class PacketReader:
    """Reads packets of rows that have numbers already."""

    def tables(self, batches: Batches) -> Iterator[Any]:
        """Return the rows of the packets."""
        for _, table in unpacked(batches):
            yield table


def rows_of(table: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return rows without their numbers, and the numbers."""
    return table.drop_columns([ROW]), table.column(ROW).to_numpy()


@dataclass(frozen=True, eq=False)
class Numbering:
    """Gives every row its number, where its group of rows and its place there state it.

    Parameters
    ----------
    names
        The columns that are kept; the first two columns of the input are the group and, with files, the place.
    offsets
        The number of the first row of each group.
    counts
        How many rows each group has, where rows of a group are sorted and their places follow; None where the second
        column holds the place.
    head_rows
        Rows with smaller numbers are returned as evidence, too.
    """

    names: Sequence[str]
    offsets: dict[int, int]
    counts: dict[int, int] | None
    head_rows: int

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return packets of rows with their numbers."""
        import pyarrow as pa

        seen: dict[int, int] = {}
        for batch in batches:
            groups = batch.column(0).to_numpy()
            places = _places_in_groups(groups, seen) if self.counts is not None else batch.column(1).to_numpy()
            distinct, position = np.unique(groups, return_inverse=True)
            offsets = np.array([self.offsets[group] for group in distinct.tolist()], np.int64)
            rows = offsets[position] + places
            table = numbered(pa.Table.from_batches([batch]).select(self.names), rows)
            if rows.size and rows.min() < self.head_rows:
                yield evidence(0, table.filter(pa.array(rows < self.head_rows)))
            if rows.size:
                yield packet(0, 0, table)
        if self.counts is not None and any(count != self.counts[group] for group, count in seen.items()):
            raise DataError(
                "the DataFrame gave other rows when it was read again; write it to Parquet and protect that"
            )


def _places_in_groups(groups: NDArray[np.int64], seen: dict[int, int]) -> NDArray[np.int64]:
    """Return the place of each row in its group, where equal groups are neighbours, and note how many were seen."""
    places = np.empty(groups.size, np.int64)
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1)) if groups.size else np.zeros(0, np.int64)
    for start, stop in zip(starts, [*starts[1:], groups.size], strict=True):
        group = int(groups[start])
        before = seen.get(group, 0)
        places[start:stop] = np.arange(before, before + stop - start)
        seen[group] = before + int(stop - start)
    return places


@dataclass(frozen=True, eq=False)
class Profiling:
    """Counts and samples some rows; the evidence is their profile and the sampled rows."""

    reader: Reader
    task: ProfileTask
    share: float

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return one packet of evidence."""
        total, samples = None, []
        for table in self.reader.tables(batches):
            part, rows = rows_of(table)
            found, sampled = profile_batch(self.task, rows, part, self.share)
            total = found if total is None else total + found
            samples.append(sampled)
        if total is not None:
            yield evidence(0, (total, samples))


@dataclass(frozen=True, eq=False)
class Counting:
    """Counts the rows of each leaf, and of each confidential value in it where requirements ask for that."""

    reader: Reader
    partition: Partition

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return one packet of evidence."""
        counter = LeafCounter(self.partition)
        for table in self.reader.tables(batches):
            counter.add(Table.from_native(rows_of(table)[0]))
        values = [] if counter.values is None else counter.values.counts
        yield evidence(0, (counter.counts, values))


@dataclass(frozen=True, eq=False)
class Routing:
    """Sends every row to its job."""

    reader: Reader
    jobs: Jobs
    bins: Bins
    order_key: bytes | None

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows in packets by job."""
        import pyarrow as pa

        packets = Packets(self.bins)
        for table in self.reader.tables(batches):
            part, rows = rows_of(table)
            leaves = self.jobs.partition.leaves(Table.from_native(part))
            if self.order_key is not None:
                table = table.append_column(ORDER, pa.array(order_draws(self.order_key, rows)))
            packets.add(table, self.jobs.of(leaves, rows))
            yield from packets.drained()
        yield from packets.drained(everything=True)


@dataclass(frozen=True, eq=False)
class PartContext:
    """What all parts of a table share.

    Parameters
    ----------
    plan
        What is requested, and
    inner
        the same without direct identifiers.
    encoding
        The encoding of the whole table.
    names
        The columns that are read.
    records
        The number of rows of the whole table.
    chunk_bins
        The key of the shuffle for each chunk of the release.
    """

    plan: Plan
    inner: Plan
    encoding: Encoding
    names: Sequence[str]
    records: int
    chunk_bins: Bins

    def released(self, place: int, part: Any, release: LeafRelease) -> Iterator[Any]:
        """Return the released rows of a part in packets by chunk, with the figures and the types as evidence."""
        import pyarrow as pa

        packets = Packets(self.chunk_bins)
        packets.add(*released_rows(part, release.table, self.plan, self.records))
        yield from packets.drained(everything=True)
        kinds = pa.schema([field.remove_metadata() for field in release.table.schema])
        yield evidence(place, (release.figures, kinds))


@dataclass(frozen=True, eq=False)
class Releasing:
    """Protects each part by itself."""

    context: PartContext

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the released rows by chunk, and the figures of each part."""
        shared = self.context
        for place, part in gathered(batches, ROW):
            yield from shared.released(
                place, part, protect_part(part.select(shared.names), shared.inner, shared.encoding)
            )


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups each part and sends whole groups to the leaves of the tree of the first repair."""

    context: PartContext
    tree: Partition

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows by leaf, the methods that ran, and how many rows each leaf gets."""
        shared = self.context
        for place, part in gathered(batches, ROW):
            labels, runs = group_part(part.select(shared.names), shared.inner, shared.encoding)
            yield from _travel(shared, part, labels, self.tree, place, runs)


@dataclass(frozen=True, eq=False)
class Refining:
    """Refines the groups of each part, and sends them to another tree, or recodes them after the last repair."""

    context: PartContext
    number: int
    tree: Partition | None
    runs: tuple[MethodRun, ...]

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows by leaf, or the released rows by chunk."""
        shared = self.context
        for place, part in gathered(batches, ROW):
            inside = part.select(shared.names)
            labels = canonical_labels(part.column(GROUP).to_numpy())
            labels = refine_part(inside, labels, shared.inner, shared.encoding, self.number)
            if self.tree is not None:
                yield from _travel(shared, part, labels, self.tree, place, ())
            else:
                release = recode_part(inside, labels, shared.inner, shared.encoding, self.runs)
                yield from shared.released(place, part, release)


def _travel(
    shared: PartContext, part: Any, labels: NDArray[np.int64], tree: Partition, place: int, runs: tuple[MethodRun, ...]
) -> Iterator[Any]:
    kept, places = travelling(part, shared.names, labels, tree)
    counts = np.bincount(places, minlength=tree.tree.leaves)
    packets = Packets(np.zeros(counts.size, np.int32))
    packets.add(kept, places)
    yield from packets.drained(everything=True)
    yield evidence(place, (runs, counts))


@dataclass(frozen=True, eq=False)
class Splitting:
    """Gives the rows of each leaf their key of the shuffle; leaves that are too large are divided, group by group.

    Parameters
    ----------
    pieces
        In how many pieces each leaf is divided.
    bins
        The key of the shuffle for each piece, in the order of leaves.
    """

    pieces: NDArray[np.int64]
    bins: Bins

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows in packets by piece."""
        first = np.cumsum(self.pieces) - self.pieces
        for leaf, table in unpacked(batches):
            place, count = int(first[leaf]), int(self.pieces[leaf])
            if count == 1:
                yield packet(int(self.bins[place]), place, table)
                continue
            groups = table.column(GROUP).to_numpy()
            packets = Packets(self.bins)
            packets.add(table, place + piece_of(groups, np.full(groups.size, count)))
            yield from packets.drained(everything=True)


@dataclass(frozen=True, eq=False)
class Writing:
    """Writes chunks to Parquet files, reads the bytes back, and sends the rows to the buckets of the recount.

    A file gets its name in one step after it is complete, so an attempt that is repeated leaves the same file.

    Parameters
    ----------
    plan
        What is requested.
    folder
        The folder of the release, which is not visible yet.
    single
        The name of the only file; None for several.
    kinds
        The types of the released columns.
    records, bucket_rows
        The number of rows, and of rows of a bucket.
    bins
        The key of the shuffle for each bucket.
    """

    plan: Plan
    folder: Path
    single: str | None
    kinds: Any
    records: int
    bucket_rows: int
    bins: Bins

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows by bucket, and for each file its rows, columns and what was noted."""
        number = -1
        chunks: list[Any] = []
        for place, table in gathered(batches):
            file = 0 if self.single is not None else place // FILE_CHUNKS
            if file != number and chunks:
                yield from self._file(number, chunks)
                chunks = []
            number = file
            chunks.append(table)
        if chunks:
            yield from self._file(number, chunks)

    def _file(self, number: int, tables: list[Any]) -> Iterator[Any]:
        name = self.single or f"part-{number:05d}.parquet"
        attempt = self.folder.parent / f"attempt-{uuid4().hex}"
        noted = ReleasedColumns(self.plan, self.records)
        written, owners = ParquetFolder(attempt, name), []
        while tables:
            chunk = ordered_chunk(with_kinds(tables.pop(0), self.kinds))
            noted.add(chunk.table, chunk.owners)
            owners.append(chunk.owners)
            written.write(chunk.table)
        written.close()
        packets = Packets(self.bins)
        buckets = Buckets(self.plan, self.records, self.bucket_rows)
        rows = 0
        for table, held in zip(written.read_back(), owners, strict=True):
            packets.add(*buckets.of(table, held))
            rows += table.num_rows
            yield from packets.drained()
        yield from packets.drained(everything=True)
        (attempt / name).replace(self.folder / name)
        attempt.rmdir()
        yield evidence(number, (rows, written.names, noted))


@dataclass(frozen=True, eq=False)
class Restoring:
    """Returns chunks as rows of a DataFrame, in their order.

    Parameters
    ----------
    kinds
        The types of the released columns.
    declared
        The types that Spark expects, with the column of owners, if there is one.
    """

    kinds: Any
    declared: Any

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows."""
        for _, table in gathered(batches):
            chunk = ordered_chunk(with_kinds(table, self.kinds))
            shown = chunk.table if chunk.owners is None else chunk.table.append_column(OWNER, chunk.owners)
            yield from shown.cast(self.declared).to_batches(max_chunksize=10_000)


@dataclass(frozen=True, eq=False)
class Bucketing:
    """Sends the rows of a released DataFrame to the buckets of the recount, and notes what the evidence needs."""

    plan: Plan
    records: int
    bucket_rows: int
    bins: Bins

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return the rows by bucket, and what was noted."""
        import pyarrow as pa

        packets, noted = Packets(self.bins), ReleasedColumns(self.plan, self.records)
        buckets = Buckets(self.plan, self.records, self.bucket_rows)
        rows, names = 0, []
        for batch in batches:
            table = pa.Table.from_batches([batch])
            owners = table.column(OWNER) if OWNER in table.column_names else None
            shown = table.drop_columns([OWNER]) if owners is not None else table
            if shown.num_rows:
                names = shown.column_names
                noted.add(shown, owners)
                packets.add(*buckets.of(shown, owners))
                rows += shown.num_rows
                yield from packets.drained()
        yield from packets.drained(everything=True)
        yield evidence(0, (rows, names, noted))


@dataclass(frozen=True, eq=False)
class Recounting:
    """Counts each bucket of released rows like a table of its own."""

    plan: Plan
    whole: Sequence[ValueEncoding]

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Return what was counted as evidence."""
        for place, table in gathered(batches):
            yield evidence(place, recount_bucket(table, self.plan, self.whole))


def with_kinds(table: Any, kinds: Any) -> Any:
    """Return released rows whose columns have the types of the first part."""
    import pyarrow as pa

    further = [table.schema.field(name) for name in table.column_names if name not in kinds.names]
    return table.cast(pa.schema([*kinds, *further]))
