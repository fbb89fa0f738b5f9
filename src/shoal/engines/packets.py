"""Rows that travel between the tasks of a cluster: Arrow batches in the cells of a small table.

A row of that table, a packet, holds many rows of the user's table in the stream format of Arrow, the place that they
belong to (a part, a chunk, a bucket), and the key by which it is shuffled. So every type of Arrow travels unchanged,
and a shuffle moves blocks instead of rows. What a task has counted travels in the same table, as its evidence.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.tables.arrow_types import selected_rows

PACKET_COLUMNS = "bin int, place long, rows long, packet binary, evidence binary"
"""The columns of packets, as Spark writes types."""
PACKET_BYTES = 2**20
"""The most bytes of one packet, about."""
BUFFER_BYTES = 64 * 2**20
"""Bytes of rows that a task collects before it divides them into packets."""


class Packets:
    """Collects rows with their places, and returns them as packets.

    Parameters
    ----------
    bins
        The key of the shuffle for each place.
    buffer_bytes
        Bytes of rows that are collected before they are divided.

    Examples
    --------
    >>> import pyarrow as pa
    >>> packets = Packets(np.array([7, 8]))
    >>> packets.add(pa.table({"a": [1, 2, 3]}), np.array([1, 0, 1]))
    >>> batches = list(packets.drained(everything=True))
    >>> [batch["bin"][0].as_py() for batch in batches], [table["a"].to_pylist() for _, table in unpacked(batches)]
    ([7, 8], [[2], [1, 3]])
    """

    def __init__(self, bins: NDArray[np.integer[Any]], *, buffer_bytes: int = BUFFER_BYTES) -> None:
        self.bins, self.buffer_bytes = bins, buffer_bytes
        self._waiting: list[tuple[Any, NDArray[np.int64]]] = []
        self._bytes = 0

    def add(self, table: Any, keys: NDArray[np.int64]) -> None:
        """Take some rows (a pyarrow Table) with their places."""
        if table.num_rows:
            self._waiting.append((table, keys))
            self._bytes += table.nbytes

    def drained(self, *, everything: bool = False) -> Iterator[Any]:
        """Return what was collected as packets, if it is enough or everything is wanted."""
        import pyarrow as pa

        if not self._waiting or (self._bytes < self.buffer_bytes and not everything):
            return
        table = pa.concat_tables([rows for rows, _ in self._waiting]).unify_dictionaries().combine_chunks()
        keys = np.concatenate([found for _, found in self._waiting])
        each = max(1, int(table.num_rows * PACKET_BYTES / max(self._bytes, 1)))
        self._waiting, self._bytes = [], 0
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        table = selected_rows(table, order).combine_chunks()
        starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
        for start, stop in zip(starts, [*starts[1:], keys.size], strict=True):
            for first in range(start, stop, each):
                part = table.slice(first, min(each, stop - first))
                yield packet(int(self.bins[keys[start]]), int(keys[start]), part)


def packet(key: int, place: int, table: Any) -> Any:
    """Return a packet as a record batch of one row."""
    import pyarrow as pa
    from pyarrow import ipc

    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return _batch(key, place, table.num_rows, sink.getvalue().to_pybytes(), None)


def evidence(place: int, found: object) -> Any:
    """Return what a task has counted as a record batch of one row."""
    return _batch(0, place, 0, None, pickle.dumps(found))


def _batch(key: int, place: int, rows: int, content: bytes | None, found: bytes | None) -> Any:
    import pyarrow as pa

    return pa.record_batch({
        "bin": pa.array([key], pa.int32()), "place": pa.array([place], pa.int64()),
        "rows": pa.array([rows], pa.int64()), "packet": pa.array([content], pa.binary()),
        "evidence": pa.array([found], pa.binary()),
    })  # fmt: skip


def unpacked(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Return the place and the rows of each packet; raises an error that an earlier task has found."""
    from pyarrow import ipc

    for batch in batches:
        for number, place in enumerate(batch.column("place").to_pylist()):
            content = batch.column("packet")[number]
            if place < 0:
                raise pickle.loads(batch.column("evidence")[number].as_py())  # noqa: S301 - written by our own tasks
            if content.is_valid:
                with ipc.open_stream(content.as_buffer()) as reader:
                    yield place, reader.read_all()


def gathered(batches: Iterable[Any], by: str | None = None) -> Iterator[tuple[int, Any]]:
    """Return the rows of each place together, from packets that are sorted by place; one place is held at a time.

    Parameters
    ----------
    batches
        Packets.
    by
        The column that the rows of a place are sorted by.
    """
    import pyarrow as pa

    def joined(tables: list[Any]) -> Any:
        table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
        return table if by is None else table.sort_by(by)

    present = -1
    waiting: list[Any] = []
    for place, table in unpacked(batches):
        if place != present and waiting:
            yield present, joined(waiting)
            waiting = []
        present = place
        waiting.append(table)
    if waiting:
        yield present, joined(waiting)


def partition_keys(count: int) -> NDArray[np.int32]:
    """Return a key for each of so many partitions, which Spark's ``repartition`` sends to exactly this partition.

    Spark takes the remainder of a 32-bit Murmur3 hash with seed 42. With the numbers of bins themselves as keys, some
    partitions would get several bins and others none.

    Examples
    --------
    >>> keys = partition_keys(5)
    >>> (murmur3(keys) % 5).tolist(), int(murmur3(np.array([5], np.int32))[0])
    ([0, 1, 2, 3, 4], 1023896466)
    """
    keys = np.full(count, -1, np.int32)
    start, block = 0, 64 * count
    while (keys < 0).any():
        tried = np.arange(start, start + block, dtype=np.int32)
        places = murmur3(tried) % count
        present, first = np.unique(places, return_index=True)
        lacking = keys[present] < 0
        keys[present[lacking]] = tried[first[lacking]]
        start += block
    return keys


def murmur3(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the 32-bit Murmur3 hash of integers with the seed of Spark, by the variant for 32-bit processors."""
    with np.errstate(over="ignore"):
        mixed = _turned(values.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        found = _turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        found ^= np.uint32(4)
        found = (found ^ (found >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        found = (found ^ (found >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return (found ^ (found >> np.uint32(16))).astype(np.int32)


def _turned(values: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
