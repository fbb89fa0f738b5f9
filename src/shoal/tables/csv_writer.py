"""Text tables, written in the dialect that they were read in.

polars formats one slice of rows at a time, so that little memory is needed beside the table. Numbers are written with
the fewest digits that reproduce the same number. Texts are quoted where necessary; quotes distinguish an empty text
from a missing value.
"""

from __future__ import annotations

import codecs
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, FileProblem
from shoal.tables.compression import compression_of, opened_for_writing, without_compression
from shoal.tables.dialect import Dialect
from shoal.tables.table import Table, is_text, to_polars

if TYPE_CHECKING:
    import polars as pl

_ROWS = 20_000  # formatted at a time
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def write_csv(table: Table, path: Path, target: Path) -> None:
    """Write a table as text to a path; the extension of the target sets compression and default delimiter."""
    frame = to_polars(table)
    check_writable(frame, target)
    dialect = dialect_for(table, target)
    with opened_for_writing(path, compression_of(target)) as file:
        if dialect.bom:
            file.write(_byte_order_mark(dialect.encoding))
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
    """Return the dialect of the source; if the extension differs from that of the source, with its delimiter."""
    dialect = table.dialect or Dialect()
    inner = _extension(target)
    source = _extension(table.source) if table.dialect and table.source else ".csv"
    if inner != source and inner in _DELIMITERS:
        comma = inner == ".csv" and dialect.decimal == ","
        return replace(dialect, delimiter=";" if comma else _DELIMITERS[inner])
    return dialect


def check_writable(frame: pl.DataFrame, target: Path) -> None:
    """Raise :class:`DataError` for columns whose type a text file cannot store."""
    import polars as pl

    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype.is_temporal() or is_text(dtype) or isinstance(dtype, pl.Boolean | pl.Null)):
            raise DataError(
                f'{target}: column "{name}" is of type {dtype}, which this format cannot store; drop it, or turn it '
                f"into text or plain columns first"
            )


def _formatted(rows: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Return the rows with those columns as text that polars would format in another way."""
    import polars as pl

    changed = []
    for name, dtype in rows.schema.items():
        column = pl.col(name)
        if isinstance(dtype, pl.Datetime | pl.Date) and name in dialect.datetimes:
            column = column.dt.to_string(dialect.datetimes[name])
        elif isinstance(dtype, pl.Duration):
            column = column.dt.to_string("iso")
        elif dtype == pl.Time:
            column = column.dt.to_string("%H:%M:%S%.f")
        elif not _needs_text(rows, name, dtype, dialect):
            continue
        else:
            column = column.cast(pl.String)
            if dtype.is_float() or dtype.is_decimal():
                column = column.str.replace(".", dialect.decimal, literal=True)
        if name in dialect.na_values:
            column = column.fill_null(dialect.na_values[name])
        changed.append(column)
    return rows.with_columns(changed) if changed else rows


def _needs_text(rows: pl.DataFrame, name: str, dtype: pl.DataType, dialect: Dialect) -> bool:
    if name in dialect.na_values and rows[name].null_count():
        return True
    if dialect.decimal == ",":
        return dtype.is_decimal() or (dtype.is_float() and dialect.delimiter == ",")
    return False


def _encoded(buffer: io.BytesIO, encoding: str, target: Path) -> Any:
    if encoding == "utf-8":
        return buffer.getvalue()
    try:
        return buffer.getvalue().decode().encode(encoding)
    except UnicodeEncodeError as error:
        raise FileProblem(
            f"{target}: the table has characters that {encoding}, the encoding of the source, cannot represent; "
            f"convert the source to utf-8, or write .parquet"
        ) from error


def _byte_order_mark(encoding: str) -> bytes:
    return {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, codecs.BOM_UTF8)


def _extension(path: Path) -> str:
    return without_compression(path).suffix.casefold()
