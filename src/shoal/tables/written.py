"""What a file holds according to its bytes: size, SHA-256, and the equivalence classes that another program would find.

Nothing that is in memory is used but the names of the columns and the number of records, which must agree. A text file
is compared as text, byte by byte; Parquet and Arrow files, which pyarrow writes, are read with polars; SPSS, Stata and
SAS files with ReadStat; of a workbook the XML is read. Numbers are compared by their bits, so that 0.0 and -0.0 differ,
and every program that reads equal bits or bytes as equal values finds classes that are at least as large as those
counted here.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import FileProblem
from shoal.tables.dialect import compression_of, opened
from shoal.tables.files import format_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.tables.dialect import Dialect
    from shoal.tables.table import Table

_BLOCK = 2**20  # bytes read at a time


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written, according to its bytes.

    Parameters
    ----------
    name
        The name of the file without its directory.
    size
        The number of bytes.
    sha256
        SHA-256 of the bytes, 64 hexadecimal digits.
    records, columns
        What the file holds.
    class_sizes
        The number of records of each equivalence class of the named columns; or of parts of classes, where it was
        enough to know that no class is smaller than the smallest part.
    class_units
        The number of different persons or households of each class, if they were given.
    """

    name: str
    size: int
    sha256: str
    records: int
    columns: int
    class_sizes: NDArray[np.int64]
    class_units: NDArray[np.int64] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the manifest."""
        return {
            "file": self.name,
            "bytes": self.size,
            "sha256": self.sha256,
            "records": self.records,
            "columns": self.columns,
        }


def read_back(
    path: Path,
    target: Path,
    table: Table,
    names: Sequence[str],
    units: NDArray[np.int64] | None = None,
    order: NDArray[np.int64] | None = None,
    *,
    expected: NDArray[np.int64] | None = None,
) -> WrittenFile:
    """Read a file that was just written, and count the equivalence classes that the named columns form in it.

    Parameters
    ----------
    path
        The temporary file; its extension is that of the target.
    target
        The file that it will become, for error texts.
    table
        The table that was written; only its shape and the dialect are used.
    names
        The quasi-identifiers and strata; none to check the shape only.
    units
        The person or household of each row of the file, where classes are also counted by these.
    order
        What sorts the rows of a person, where histories are counted.
    expected
        The groups that the rows should form. If the keys in the file are constant within each group, every class of the
        file is a union of groups, and the sizes of the groups are returned: no class is smaller than the smallest of
        them. Otherwise, and without units only, the classes are counted by sorting.

    Returns
    -------
    written
        Raises :class:`shoal.errors.FileProblem` if the file does not hold the columns and records of the table.
    """
    from shoal.core.key_hashes import class_sizes, constant_within

    hashes, digest = _hashes(path, target, table, names)
    if expected is not None and units is None and names and constant_within(expected, *hashes):
        sizes = np.bincount(expected)
        sizes = sizes[sizes > 0]
    else:
        sizes = class_sizes(*hashes) if names else np.zeros(0, np.int64)
    counted = None
    if units is not None and names:
        from shoal.core.equal_histories import histories_per_class
        from shoal.core.key_hashes import class_numbers
        from shoal.core.row_classes import distinct_per_class

        numbers = class_numbers(*hashes)
        counted = distinct_per_class(numbers, units) if order is None else histories_per_class(numbers, units, order)
    return WrittenFile(target.name, path.stat().st_size, digest, table.n_rows, len(table.names), sizes, counted)


def written_numbers(path: Path, target: Path, table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each row of a file that was just written, equal where the named columns are.

    Parameters
    ----------
    path, target, table, names
        As in :func:`read_back`.
    """
    from shoal.core.key_hashes import class_numbers

    return class_numbers(*_hashes(path, target, table, names)[0])


def _hashes(path: Path, target: Path, table: Table, names: Sequence[str]) -> tuple[Any, str]:
    """Return the keys of the rows of a file, and its SHA-256; raises where it does not hold the table."""
    from shoal.core.key_hashes import new_hashes

    family = format_of(target).family
    try:
        if family == "text":
            hashes, digest = _text_hashes(path, target, table, names)
        else:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            hashes = new_hashes(table.n_rows)
            if family == "excel":
                from shoal.tables.written_excel import sheet_columns

                found, columns = sheet_columns(path, names, table.n_rows)
            else:
                found, columns = _column_names(path, target), map(partial(_column, path, target), names)
            _check_names(found, table.names)
            for column in columns:
                _add_column(hashes, column)
    except MemoryError:
        raise
    except Exception as error:  # the libraries raise errors of their own for an incomplete file
        raise FileProblem(
            f"{target}: what was written does not read back as the table (the disk may be full or damaged); nothing "
            "was written"
        ) from error
    return hashes, digest


def _text_hashes(path: Path, target: Path, table: Table, names: Sequence[str]) -> tuple[Any, str]:
    from shoal.core.key_hashes import TextKeys
    from shoal.tables.csv_files import dialect_for

    dialect = dialect_for(table, target)
    keys = np.isin(np.array(table.names, object), np.array(list(names), object))
    reader = TextKeys(table.n_rows, keys, dialect.delimiter)
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        compressed = compression_of(target) is not None
        blocks = _unpacked(path) if compressed else iter(lambda: file.read(_BLOCK), b"")
        start = True
        for block in _as_utf8(blocks, dialect, None if compressed else sha256):
            if start:
                _check_names(_header(block, dialect.delimiter), table.names)
                start = False
            reader.add(block)
        if compressed:
            while block := file.read(_BLOCK):
                sha256.update(block)
    reader.finish()
    return reader.hashes, sha256.hexdigest()


def _unpacked(path: Path) -> Iterator[bytes]:
    with opened(path) as file:
        while block := file.read(_BLOCK):
            yield block


def _as_utf8(blocks: Iterator[bytes], dialect: Dialect, sha256: Any) -> Iterator[bytes]:
    """Return the blocks without byte order mark, in an encoding whose delimiters and quotes are single bytes."""
    decoder = None if dialect.encoding == "utf-8" else codecs.getincrementaldecoder(dialect.encoding)()
    start = True
    for block in blocks:
        if sha256 is not None:
            sha256.update(block)
        plain = block if decoder is None else decoder.decode(block).encode()
        yield plain.removeprefix(codecs.BOM_UTF8) if start else plain
        start = False
    if decoder is not None and (rest := decoder.decode(b"", final=True)):
        yield rest.encode()


def _header(block: bytes, delimiter: str) -> list[str]:
    text = io.StringIO(block.decode("utf-8", "ignore"), newline="")
    return next(csv.reader(text, delimiter=delimiter), [])


def _check_names(found: Sequence[str], expected: Sequence[str]) -> None:
    if list(found) != list(expected) and not (list(found) == [] and list(expected) == [""]):
        raise ValueError("the columns have other names")


def _column_names(path: Path, target: Path) -> list[str]:
    import polars as pl

    known = format_of(target)
    if known.family == "parquet":
        return list(pl.read_parquet_schema(path))
    if known.family == "arrow":
        return list(pl.read_ipc_schema(path))
    return list(_read_stats(path, target, metadataonly=True)[1].column_names)


def _column(path: Path, target: Path, name: str) -> pl.Series:
    """Read one column of a file that is no text; one at a time, so that little memory is needed."""
    import polars as pl

    known = format_of(target)
    if known.family == "parquet":
        frame = pl.read_parquet(path, columns=[name], glob=False, hive_partitioning=False)
    elif known.family == "arrow":
        frame = pl.read_ipc(path, columns=[name])
    else:
        frame = _read_stats(path, target, usecols=[name])[0]
    return frame[name]


def _read_stats(path: Path, target: Path, **options: Any) -> Any:
    import pyreadstat

    from shoal.tables.stats_files import READERS

    extension = format_of(target).extension
    if extension != ".xpt":
        options["user_missing"] = True  # the codes of missing values are values to a reader
    reader = getattr(pyreadstat, READERS[extension])
    return reader(str(path), output_format="polars", disable_datetime_conversion=True, **options)


def _add_column(hashes: tuple[NDArray[np.uint64], NDArray[np.uint64]], column: pl.Series) -> None:
    """Add a column to the keys; numbers in the parts in which they were read, without a copy of the whole."""
    if len(column) != hashes[0].size:
        raise ValueError("the file has another number of records")
    if not _has_bits(column.dtype):  # texts are numbered, which must be done for all of them at once
        _add(hashes, column)
        return
    start = 0
    for part in column.get_chunks():
        _add((hashes[0][start : start + len(part)], hashes[1][start : start + len(part)]), part)
        start += len(part)


def _has_bits(dtype: pl.DataType) -> bool:
    """Return whether values are compared by their bits: floats, and integers of up to 64 bits."""
    import polars as pl

    return dtype in {pl.Float64, pl.Float32} or (dtype.is_integer() and dtype not in {pl.Int128, pl.UInt128})


def _add(hashes: tuple[NDArray[np.uint64], NDArray[np.uint64]], column: pl.Series) -> None:
    """Add values to the keys: numbers and times by their bits, all else as text."""
    import polars as pl

    from shoal.core.key_hashes import add_column

    missing = column.is_null().to_numpy() if column.null_count() else None
    if column.dtype == pl.Object:  # letters of missing values among numbers
        column = pl.Series([None if value is None else repr(value) for value in column.to_list()], dtype=pl.String)
    if column.dtype.is_temporal() or column.dtype == pl.Boolean:
        column = column.to_physical().cast(pl.Int64)
    if not _has_bits(column.dtype):
        column = column.cast(pl.String).cast(pl.Categorical).to_physical()
    values = (column.fill_null(0) if missing is not None else column).to_numpy()
    if values.dtype.kind == "f":
        values = values.view(np.uint64 if values.dtype.itemsize == 8 else np.uint32)
    words = values if values.dtype == np.uint64 else values.astype(np.int64, copy=False).view(np.uint64)
    add_column(hashes, words, missing)
