"""Parquet files that are read a part at a time: one file, a folder or a pattern, with a number for every row.

The number of a row is the number of rows in the files before its own, in the order of their names, plus its position in
its file, as their footers state. It depends on the files alone, not on how they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import DataError, FileProblem, SchemaError
from shoal.tables.arrow_types import is_unusual
from shoal.tables.dialect import check_header
from shoal.tables.files import check_input, is_database, is_folder
from shoal.tables.folders import folder_files, partition_values

BATCH_ROWS = 131_072
"""The most rows that are read at a time."""


TABLE_FACTOR = 4.0
"""Bytes that work in memory takes for each byte of a Parquet table without compression, with a reserve."""


class RowGroup(NamedTuple):
    """A row group of one of several files, and the number of its first row in the whole table."""

    file: int
    group: int
    first: int
    rows: int


@dataclass(frozen=True, eq=False)
class ParquetParts:
    """Parquet files as one table, of which only footers have been read.

    Parameters
    ----------
    path
        The file, folder or pattern.
    files
        The files in the order of their names.
    groups
        The number of rows of each row group, file by file.
    schema
        Names and types of the columns (a pyarrow schema without metadata); those of partitions are last.
    partitions
        The values of partition columns, one for each file.
    bytes
        The size of all columns without compression, as the footers state it.
    """

    path: Path
    files: tuple[Path, ...]
    groups: tuple[tuple[int, ...], ...]
    schema: Any
    partitions: dict[str, list[Any]]
    bytes: int

    def __repr__(self) -> str:
        return f"<ParquetParts: {self.n_rows:,} rows in {len(self.files)} files>"

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of rows of each file."""
        return tuple(sum(rows) for rows in self.groups)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.counts)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def fits_memory(self) -> bool:
        """Return whether the free memory is enough to protect or count the table at once."""
        from shoal.core.memory import free_memory

        free = free_memory()
        return free is None or TABLE_FACTOR * self.bytes < free

    def offsets(self) -> dict[Path, int]:
        """Return the number of the first row of each file."""
        found, first = {}, 0
        for file, count in zip(self.files, self.counts, strict=True):
            found[file] = first
            first += count
        return found

    def row_groups(self) -> list[RowGroup]:
        """Return the row groups that have rows, in the order of their rows."""
        found, first = [], 0
        for file, groups in enumerate(self.groups):
            for group, rows in enumerate(groups):
                if rows:
                    found.append(RowGroup(file, group, first, rows))
                first += rows
        return found

    def batches(self, names: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[tuple[int, Any]]:
        """Return the table in parts: the number of the first row of each, and the part as a pyarrow Table.

        Parameters
        ----------
        names
            The columns that are read.
        rows
            The most rows of a part.
        """
        offsets = self.offsets()
        for number, file in enumerate(self.files):
            first = offsets[file]
            for part in self._file_batches(number, None, names, rows):
                yield first, part
                first += part.num_rows

    def group_batches(self, group: RowGroup, names: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[tuple[int, Any]]:
        """Return a row group in parts, as :meth:`batches` returns the whole table."""
        first = group.first
        for part in self._file_batches(group.file, group, names, rows):
            yield first, part
            first += part.num_rows

    def _file_batches(self, number: int, group: RowGroup | None, names: Sequence[str], rows: int) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import parquet

        file, kept = self.files[number], pa.schema([self.schema.field(name) for name in names])
        stored = [name for name in kept.names if name not in self.partitions]
        try:
            with parquet.ParquetFile(file, pre_buffer=False) as opened:
                if opened.metadata.num_rows != self.counts[number]:
                    raise FileProblem(f"{file} changed while it was read; protect it again")
                if not stored:
                    left = self.counts[number] if group is None else group.rows
                    yield from self._partition_batches(number, kept, rows, left)
                    return
                chosen = None if group is None else [group.group]
                for batch in opened.iter_batches(batch_size=rows, row_groups=chosen, columns=stored):
                    part = pa.Table.from_batches([batch]).select(stored).replace_schema_metadata(None)
                    for name in kept.names:
                        if name in self.partitions:
                            value = pa.scalar(self.partitions[name][number], kept.field(name).type)
                            part = part.append_column(name, pa.repeat(value, part.num_rows))
                    yield part.select(kept.names).cast(kept)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, FileProblem):
                raise
            raise FileProblem(
                f"{file} cannot be read as Parquet: it is corrupt, truncated or in another format"
            ) from error

    def _partition_batches(self, number: int, kept: Any, rows: int, left: int) -> Iterator[Any]:
        import pyarrow as pa

        while left:
            size = min(left, rows)
            values = [pa.repeat(pa.scalar(self.partitions[f.name][number], f.type), size) for f in kept]
            yield pa.table(values, schema=kept)
            left -= size


def is_parquet(data: str | Path) -> bool:
    """Return whether an input is Parquet: a folder, a pattern, or a file with this extension; no URI of a database.

    Examples
    --------
    >>> is_parquet(Path("people/*.parquet")), is_parquet(Path("people.csv"))
    (True, False)
    """
    if is_database(data):
        return False
    return Path(data).suffix.casefold() == ".parquet" or is_folder(Path(data))


def open_parts(path: Path) -> ParquetParts:
    """Return Parquet files as one table after reading their footers; another kind of file raises FileProblem.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> with TemporaryDirectory() as directory:
    ...     for year in (1, 2):
    ...         parquet.write_table(pa.table({"age": [30 + year, 40]}), Path(directory, f"{year}.parquet"))
    ...     parts = open_parts(Path(directory))
    ...     [(first, part["age"].to_pylist()) for first, part in parts.batches(["age"])]
    [(0, [31, 40]), (2, [32, 40])]
    """
    path = Path(path)
    if is_folder(path):
        root, files = folder_files(path)
    else:
        check_input(path)
        if path.suffix.casefold() != ".parquet":
            raise FileProblem(
                f"{path} is no Parquet file, and only Parquet is read in parts; convert it to Parquet, or leave out "
                "engine= (command line: --engine)"
            )
        root, files = path.parent, [path]
    footers = [_footer(file) for file in files]
    groups = tuple(footer[1] for footer in footers)
    if not sum(map(sum, groups)):
        raise DataError(f"{path} has columns but no records")
    schema = _joint_schema(path, files, [footer[0] for footer in footers])
    partitions, schema = _with_partitions(path, root, files, schema)
    return ParquetParts(path, tuple(files), groups, schema, partitions, sum(footer[2] for footer in footers))


def _footer(file: Path) -> tuple[Any, tuple[int, ...], int]:
    """Return schema, number of rows of each row group, and bytes without compression of a file."""
    import pyarrow as pa
    from pyarrow import parquet

    check_input(file)
    try:
        with parquet.ParquetFile(file, pre_buffer=False) as opened:
            metadata = opened.metadata
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            schema = pa.schema([field.remove_metadata() for field in opened.schema_arrow])
            return schema, tuple(group.num_rows for group in groups), sum(group.total_byte_size for group in groups)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FileProblem(f"{file} cannot be read as Parquet: it is corrupt, truncated or in another format") from error


def _joint_schema(path: Path, files: Sequence[Path], schemas: Sequence[Any]) -> Any:
    import pyarrow as pa

    names = schemas[0].names
    check_header(path, names)
    for file, schema in zip(files, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            odd = min(set(schema.names) ^ set(names))
            raise SchemaError(
                f'{path}: column "{odd}" is not in all files, {files[0].name} and {file.name} differ; give all files '
                f"the same columns"
            )
    ordered = [pa.schema([schema.field(name) for name in names]) for schema in schemas]
    try:
        joint = pa.unify_schemas(ordered, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        odd = next(name for name in names if len({str(schema.field(name).type) for schema in ordered}) > 1)
        raise SchemaError(f'{path}: column "{odd}" has different types in different files; convert it') from error
    unusual = next((field for field in joint if is_unusual(field.type)), None)
    if unusual is not None:
        raise DataError(
            f'column "{unusual.name}" is of type {unusual.type}, which is not read in parts; convert it to a '
            "decimal of 128 bits, a number or text"
        )
    # dictionaries of different parts differ, and a view cannot be sorted: both become plain text
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in joint])


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

    if str(kind) in {"string_view", "binary_view"}:
        return pa.large_string() if str(kind) == "string_view" else pa.large_binary()
    return kind


def _with_partitions(path: Path, root: Path, files: Sequence[Path], schema: Any) -> tuple[dict[str, list[Any]], Any]:
    """Return the values of partition columns, typed, and the schema with them at its end."""
    import polars as pl
    import pyarrow as pa

    from shoal.tables.text_columns import typed_series

    found: dict[str, list[Any]] = {}
    for name, texts in partition_values(path, root, files).items() if is_folder(path) else ():
        if name in schema.names:
            raise SchemaError(f'{path}: "{name}" is a column of the files and a partition; rename one of them')
        typed = typed_series(pl.Series(name, texts, dtype=pl.String), decimal=".", na_values=())
        found[name] = typed.to_list()
        schema = schema.append(pa.field(name, _plain_type(typed.to_arrow().type)))
    return found, schema
