"""A release as Parquet files, written chunk by chunk and read back from the bytes that were written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from shoal.tables.table import Table
from shoal.tables.value_codes import FINGERPRINT_ROWS, fingerprint_of_blocks

FILE_CHUNKS = 8
"""Chunks (row groups) of a file, where there are several files."""


class ParquetFiles:
    """Parquet files of a release that were written.

    Parameters
    ----------
    files
        The files, in the order of their rows.
    """

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self.files = list(files)

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        from pyarrow import parquet

        return parquet.read_schema(self.files[0]).remove_metadata()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def read_back(self) -> Iterator[Any]:
        """Return the chunks from the bytes of the files."""
        from pyarrow import parquet

        for path in self.files:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for number in range(file.num_row_groups):
                    yield file.read_row_group(number)

    def fingerprint(self) -> str:
        """Return the fingerprint of the table that the files hold, equal to that of the same table in memory."""
        from pyarrow import parquet

        records = sum(parquet.read_metadata(path).num_rows for path in self.files)
        empty = Table.from_native(self.schema.empty_table())
        return fingerprint_of_blocks(records, empty.frame.schema, self._blocks)

    def _blocks(self, name: str) -> Iterator[Any]:
        """Return a column in blocks of the size that fingerprints use."""
        import pyarrow as pa

        waiting: list[Any] = []
        count = 0
        for part in self._column(name):
            waiting.append(part)
            count += part.num_rows
            while count >= FINGERPRINT_ROWS:
                joint = pa.concat_tables(waiting)
                yield Table.from_native(joint.slice(0, FINGERPRINT_ROWS)).column(name)
                waiting, count = [joint.slice(FINGERPRINT_ROWS)], count - FINGERPRINT_ROWS
        if count:
            yield Table.from_native(pa.concat_tables(waiting)).column(name)

    def _column(self, name: str) -> Iterable[Any]:
        from pyarrow import parquet

        for path in self.files:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for number in range(file.num_row_groups):
                    yield file.read_row_group(number, columns=[name])


class ParquetFolder(ParquetFiles):
    """Parquet files in a folder, one row group for each chunk.

    Parameters
    ----------
    folder
        The folder, which is made.
    single
        The name of the only file; None for several files ``part-00000.parquet`` and so on.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> with TemporaryDirectory() as directory:
    ...     written = ParquetFolder(Path(directory, "new"))
    ...     for ages in ([30, 40], [50]):
    ...         written.write(pa.table({"age": ages}))
    ...     written.close()
    ...     [chunk["age"].to_pylist() for chunk in written.read_back()], [file.name for file in written.files]
    ([[30, 40], [50]], ['part-00000.parquet'])
    """

    def __init__(self, folder: Path, single: str | None = None) -> None:
        folder.mkdir(0o700)
        self.folder, self.single = folder, single
        super().__init__()
        self._groups: list[int] = []
        self._writer: Any = None
        self._schema: Any = None

    @property
    def schema(self) -> Any:
        """Names and types of the columns, those of the first chunk."""
        return self._schema

    def write(self, table: Any) -> None:
        """Write a chunk (a pyarrow Table without metadata)."""
        import pyarrow as pa
        from pyarrow import parquet

        if self._schema is None:
            self._schema = table.schema
        full = self.single is None and self.files and self._groups[-1] >= FILE_CHUNKS
        if self._writer is None or full:
            self.close()
            name = self.single or f"part-{len(self.files):05d}.parquet"
            self.files.append(self.folder / name)
            self._groups.append(0)
            repeated = [field.name for field in self._schema if not pa.types.is_floating(field.type)]
            self._writer = parquet.ParquetWriter(
                self.files[-1], self._schema, compression="zstd", use_dictionary=repeated
            )  # fmt: skip
        self._writer.write_table(table.cast(self._schema), row_group_size=table.num_rows)
        self._groups[-1] += 1

    def close(self) -> None:
        """Finish the file that is being written."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
