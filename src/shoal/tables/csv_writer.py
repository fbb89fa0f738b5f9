"""Text tables written in the dialect they were read in.

polars formats a slice of rows at a time, so that next to nothing is held beside the table. Numbers are written with the
fewest digits that give the same number back; texts are quoted where they must be, and an empty text is told apart from
a missing value by its quotes.
"""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import DataError, FileProblem
from shoal.tables.converting import is_text, to_polars
from shoal.tables.dialect import Dialect
from shoal.tables.formats import is_gzip_name

if TYPE_CHECKING:
    import polars as pl

    from shoal.tables.table import Table

_ROWS = 20_000
_NATURAL = {".csv": ",", ".tsv": "\t"}


def write_csv(table: Table, path: Path, target: Path) -> None:
    """Write a table as text to a path; the name of the target says whether to pack it and hints at the delimiter."""
    frame = to_polars(table)
    check_writable(frame, target)
    dialect = dialect_for(table, target)
    with _packed(path, packed=is_gzip_name(target)) as file:
        if dialect.bom:
            file.write(_mark(dialect.encoding))
        header = True
        for rows in frame.iter_slices(_ROWS) if frame.height else [frame]:
            buffer = io.BytesIO()
            _formatted(rows, dialect).write_csv(
                buffer,
                include_header=header,
                separator=dialect.delimiter,
                line_terminator=dialect.line_end,
                decimal_comma=dialect.decimal == "," and dialect.delimiter != ",",
            )
            header = False
            file.write(_encoded(buffer, dialect.encoding, target))


def dialect_for(table: Table, target: Path) -> Dialect:
    """Return the dialect of the source, with the delimiter that a different extension promises."""
    dialect = table.dialect or Dialect()
    inner = _extension(target)
    source = _extension(table.source) if table.dialect and table.source else ".csv"
    if inner != source and inner in _NATURAL:
        comma = inner == ".csv" and dialect.decimal == ","
        return replace(dialect, delimiter=";" if comma else _NATURAL[inner])
    return dialect


def check_writable(frame: pl.DataFrame, target: Path) -> None:
    """Refuse columns that text cannot hold."""
    import polars as pl

    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype.is_temporal() or is_text(dtype) or isinstance(dtype, pl.Boolean | pl.Null)):
            raise DataError(
                f'{target}: column "{name}" is of type {dtype}, which this format cannot hold; drop it, or turn it '
                f"into text or plain columns first"
            )


def _formatted(rows: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Return the rows with everything as text that polars would write differently."""
    import polars as pl

    changed = []
    for name, dtype in rows.schema.items():
        column = pl.col(name)
        if isinstance(dtype, pl.Datetime) and name in dialect.moments:
            column = column.dt.to_string(dialect.moments[name])
        elif isinstance(dtype, pl.Duration):
            column = column.dt.to_string("iso")
        elif dtype == pl.Time:
            column = column.dt.to_string("%H:%M:%S%.f")
        elif not _needs_text(rows, name, dialect):
            continue
        else:
            column = column.cast(pl.String)
            if dtype.is_float() or dtype.is_decimal():
                column = column.str.replace(".", dialect.decimal, literal=True)
        if name in dialect.missing:
            column = column.fill_null(dialect.missing[name])
        changed.append(column)
    return rows.with_columns(changed) if changed else rows


def _needs_text(rows: pl.DataFrame, name: str, dialect: Dialect) -> bool:
    dtype = rows.schema[name]
    if name in dialect.missing and rows[name].null_count():
        return True
    if dialect.decimal == ",":
        return dtype.is_decimal() or (dtype.is_float() and dialect.delimiter == ",")
    return False


def _encoded(buffer: io.BytesIO, encoding: str, target: Path) -> Any:
    if encoding == "utf-8":
        return buffer.getbuffer()
    try:
        return buffer.getvalue().decode().encode(encoding)
    except UnicodeEncodeError as error:
        raise FileProblem(
            f"{target}: the table has characters that {encoding}, the encoding of the source, cannot hold; convert the "
            f"source to utf-8, or write .parquet"
        ) from error


def _mark(encoding: str) -> bytes:
    return {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, codecs.BOM_UTF8)


def _extension(path: Path) -> str:
    return (path.with_suffix("") if is_gzip_name(path) else path).suffix.casefold()


@contextmanager
def _packed(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    """Open for writing; packed files carry neither a name nor a time, so that equal tables give equal bytes."""
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as squeezed:
            yield squeezed  # type: ignore[misc]
