"""Rows sorted by a key in files: what a shuffle is on one machine.

Rows arrive in any order, each with a key. They are collected up to a number of bytes, then sorted by key and written to
one Arrow file with a batch for each key; an index in memory says in which batches the rows of a key are. So few files
are open at the same time, however many keys there are, and memory does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BUFFER_BYTES = 192 * 2**20
"""Bytes of rows that are collected before they are sorted and written."""
LARGEST_BATCH = 2**20
"""The most rows of one batch."""


class Spill:
    """Rows in files, read back by key.

    Parameters
    ----------
    folder
        A private folder that exists.
    name
        The name of the files.
    buffer_bytes
        Bytes of rows that are collected before they are written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> with TemporaryDirectory() as folder:
    ...     spill = Spill(Path(folder), "rows", buffer_bytes=1)
    ...     spill.add(pa.table({"a": [1, 2, 3]}), np.array([5, 0, 5]))
    ...     spill.add(pa.table({"a": [4]}), np.array([5]))
    ...     spill.finish()
    ...     spill.keys(), spill.read(5)["a"].to_pylist(), spill.count(5)
    ([0, 5], [1, 3, 4], 3)
    """

    def __init__(self, folder: Path, name: str, *, buffer_bytes: int = BUFFER_BYTES) -> None:
        self.folder, self.name, self.buffer_bytes = folder, name, buffer_bytes
        self._waiting: list[tuple[Any, NDArray[np.int64]]] = []
        self._bytes = 0
        self._files: list[Path] = []
        self._places: dict[int, list[tuple[int, int]]] = {}
        self._counts: dict[int, int] = {}

    def add(self, table: Any, keys: NDArray[np.int64]) -> None:
        """Take some rows (a pyarrow Table) with their keys."""
        self._waiting.append((table, keys))
        self._bytes += table.nbytes
        if self._bytes >= self.buffer_bytes:
            self._write()

    def finish(self) -> None:
        """Write what was collected; rows can then be read."""
        if self._waiting:
            self._write()

    def keys(self) -> list[int]:
        """Return the keys in ascending order."""
        return sorted(self._counts)

    def count(self, key: int) -> int:
        """Return the number of rows of a key."""
        return self._counts.get(key, 0)

    def read(self, key: int) -> Any:
        """Return the rows of a key as a pyarrow Table, in the order in which they arrived."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches(key)))

    def batches(self, key: int) -> Iterator[Any]:
        """Return the rows of a key in batches."""
        import pyarrow as pa
        from pyarrow import ipc

        by_file: dict[int, list[int]] = {}
        for file, batch in self._places[key]:
            by_file.setdefault(file, []).append(batch)
        for file, numbers in by_file.items():
            with pa.OSFile(str(self._files[file])) as source, ipc.open_file(source) as reader:
                for number in numbers:
                    yield reader.get_batch(number)

    def remove(self) -> None:
        """Remove the files."""
        for file in self._files:
            file.unlink(missing_ok=True)
        self._files, self._places, self._counts = [], {}, {}

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import ipc

        from shoal.tables.arrow_types import selected_rows

        table = pa.concat_tables([rows for rows, _ in self._waiting]).unify_dictionaries().combine_chunks()
        keys = np.concatenate([found for _, found in self._waiting])
        self._waiting, self._bytes = [], 0
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        table = selected_rows(table, order).combine_chunks()
        starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
        bounds = [*starts.tolist(), keys.size]
        number, path = len(self._files), self.folder / f"{self.name}-{len(self._files)}.arrow"
        self._files.append(path)
        written = 0
        with path.open("xb") as file, ipc.new_file(file, table.schema) as writer:
            for start, stop in pairwise(bounds):
                key = int(keys[start])
                self._counts[key] = self._counts.get(key, 0) + stop - start
                for batch in table.slice(start, stop - start).to_batches(max_chunksize=LARGEST_BATCH):
                    writer.write_batch(batch)
                    self._places.setdefault(key, []).append((number, written))
                    written += 1
        pa.default_memory_pool().release_unused()
