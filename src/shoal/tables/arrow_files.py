"""Parquet and Arrow/Feather files, read and written with pyarrow, which preserves types and dictionaries.

Metadata of schema and fields is never written: it may hold an index, notes or values of the original.

Nested columns pass through where they are released unchanged; columns that are dropped are not decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import DataError, FileProblem
from shoal.tables.dialect import check_header
from shoal.tables.table import Table, to_arrow

_ROWS = 131_072  # per row group or batch: small enough to write without a second copy of the table


def read_parquet(path: Path, rows: int | None = None, unread: Collection[str] = ()) -> Table:
    """Read a Parquet file, or its first rows; ``unread`` columns come back empty."""
    return _table(path, read_parquet_table(path, rows, unread), unread)


def read_parquet_table(path: Path, rows: int | None = None, unread: Collection[str] = ()) -> Any:
    """Read a Parquet file as a pyarrow Table; the values of ``unread`` columns are not read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:  # a buffer would store the file beside the table
            schema = file.schema_arrow
            _check_schema(path, schema)
            names = [name for name in schema.names if name not in set(unread)]
            if rows is None:
                native = file.read(columns=names)
                pa.default_memory_pool().release_unused()  # memory used for decompression
            else:
                batches = list(_first(file.iter_batches(batch_size=rows, columns=names), 1))
                kept = pa.schema([schema.field(name) for name in names], schema.metadata)
                native = pa.Table.from_batches(batches, kept)
            height = native.num_rows if names else min(file.metadata.num_rows, rows or file.metadata.num_rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names may be damaged, too
        raise _unreadable(path, "Parquet", error) from error
    return _with_empty(native, schema.names, height)


def read_arrow(path: Path, rows: int | None = None, unread: Collection[str] = ()) -> Table:
    """Read an Arrow or Feather file, or its first rows; the content distinguishes files from streams."""
    import pyarrow as pa
    from pyarrow import ipc

    try:
        with path.open("rb") as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            schema = _arrow_schema(file, is_file=is_file)
            _check_schema(path, schema)
            names = [name for name in schema.names if name not in set(unread)]
            used = [number for number, name in enumerate(schema.names) if name not in set(unread)]
            options = ipc.IpcReadOptions(included_fields=used if len(used) < len(schema.names) else None)
            file.seek(0)
            with (ipc.open_file if is_file else ipc.open_stream)(file, options=options) as reader:
                if rows is None:
                    native = reader.read_all()
                else:
                    native = pa.Table.from_batches(_first(_batches(reader), rows), reader.schema).slice(0, rows)
        native = native.select(names)
        native.validate(full=True)  # offsets of a damaged file may lead outside its buffers
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names may be damaged, too
        raise _unreadable(path, "Arrow", error) from error
    return _table(path, _with_empty(native, schema.names, native.num_rows), unread)


def _arrow_schema(file: Any, *, is_file: bool) -> Any:
    from pyarrow import ipc

    with (ipc.open_file if is_file else ipc.open_stream)(file) as reader:
        return reader.schema


def _with_empty(native: Any, names: Sequence[str], rows: int) -> Any:
    """Return a table with all columns of a file; those that were not read are empty."""
    import pyarrow as pa

    if native.column_names == list(names):
        return native
    read = set(native.column_names)
    columns = [native.column(name) if name in read else pa.nulls(rows) for name in names]
    fields = [native.schema.field(name) if name in read else pa.field(name, pa.null()) for name in names]
    return pa.table(columns, schema=pa.schema(fields, native.schema.metadata))


def write_parquet(table: Table, path: Path) -> None:
    """Write a table as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    native = _without_metadata(to_arrow(table))
    _check_schema(path, native.schema)
    repeated = [field.name for field in native.schema if not pa.types.is_floating(field.type)]
    options = {"compression": "zstd", "use_dictionary": repeated}  # a dictionary of floats saves nothing
    with path.open("wb") as file, parquet.ParquetWriter(file, native.schema, **options) as writer:
        for start in range(0, native.num_rows, _ROWS):
            writer.write_table(native.slice(start, _ROWS))
    pa.default_memory_pool().release_unused()  # memory used for compression


def write_arrow(table: Table, path: Path, *, compressed: bool) -> None:
    """Write a table as an Arrow file, or with compression as a Feather file."""
    from pyarrow import ipc

    native = _without_metadata(to_arrow(table)).unify_dictionaries()
    _check_schema(path, native.schema)
    options = ipc.IpcWriteOptions(compression="lz4" if compressed else None)
    with path.open("wb") as file, ipc.new_file(file, native.schema, options=options) as writer:
        writer.write_table(native, max_chunksize=_ROWS)


def _batches(reader: Any) -> Any:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return reader


def _first(batches: Any, rows: int) -> list[Any]:
    """Return batches until there are enough rows."""
    found: list[Any] = []
    for batch in batches:
        found.append(batch)
        if sum(part.num_rows for part in found) >= rows:
            break
    return found


def _table(path: Path, native: Any, unread: Collection[str]) -> Table:
    if not native.num_rows:
        raise DataError(f"{path} has columns but no records")
    empty = tuple(name for name in native.column_names if name in set(unread))
    return replace(Table.from_native(native), source=path, unread=empty)


def _check_schema(path: Path, schema: Any) -> None:
    if not schema.names:
        raise DataError(f"{path} has no columns")
    check_header(path, schema.names)


def _without_metadata(native: Any) -> Any:
    """Return the table without metadata of schema and fields: the release describes itself by its columns."""
    import pyarrow as pa

    schema = pa.schema([field.remove_metadata() for field in native.schema])
    return native.cast(schema) if native.schema.metadata or native.schema != schema else native


def _unreadable(path: Path, title: str, error: Exception) -> Exception:
    """Return the error for a file that pyarrow cannot read; Shoal's own errors are returned unchanged."""
    if isinstance(error, FileProblem):
        return error
    return FileProblem(f"{path} cannot be read as {title}: it is corrupt, truncated or in another format")
