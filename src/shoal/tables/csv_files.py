"""Text tables: read in blocks, completely or with an error, and written in the dialect that they were read in.

pyarrow splits the file into fields, and :mod:`shoal.tables.text_columns` infers the type of each column from all of its
values. A column that turns out to be text after a part of it was read as numbers is read a second time. Peak memory is
the finished table plus a few blocks; a million rows of ten numbers take about one second.

polars formats one slice of rows at a time, so that little memory is needed beside the table. Numbers are written with
the fewest digits that reproduce the same number. Texts are quoted where necessary; quotes distinguish an empty text
from a missing value.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, FileProblem, UnknownColumn
from shoal.tables.dialect import (
    LONGEST_LINE,
    Dialect,
    Opening,
    compression_of,
    detect,
    encodings_to_try,
    known_decimal,
    known_delimiter,
    long_fields,
    opened,
    opened_for_writing,
    without_compression,
)
from shoal.tables.table import Table, is_text, to_polars
from shoal.tables.text_columns import TextColumn

if TYPE_CHECKING:
    import polars as pl


_BLOCKS = (3 * 2**18, 2**25, LONGEST_LINE)  # bytes; the larger sizes serve only records that do not fit the smaller


class _RecordTooLong(Exception):
    """A record does not fit into a block."""


def read_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na_values: Sequence[str] = (),
    text: Sequence[str] = (),
    rows: int | None = None,
    unread: Collection[str] = (),
) -> Table:
    """Read a delimited text file; see :func:`shoal.tables.read_table` for the options.

    ``rows`` limits the number of records; the types are then inferred from these records only. ``unread`` columns come
    back empty.
    """
    import narwhals as nw
    import polars as pl

    delimiter, decimal = known_delimiter(delimiter), known_decimal(decimal)
    missing_texts = tuple(text.strip() for text in na_values)
    tries = encodings_to_try(path, encoding)
    for name, bom in tries:
        try:
            opening = detect(path, name, bom=bom, delimiter=delimiter, decimal=decimal)
            names = [name for name in opening.header if name not in set(unread)]
            columns = _read(path, opening, missing_texts, text, rows, names)
            break
        except UnicodeError as error:
            if (name, bom) == tries[-1]:
                raise FileProblem(f"{path} is not valid {name} text; {_encoding_hint(name)}") from error
    frame = pl.DataFrame([column.finish() for column in columns])
    if len(names) < len(opening.header):
        empty = [pl.lit(None, pl.Null).alias(name) for name in opening.header if name in set(unread)]
        frame = frame.with_columns(empty).select(opening.header)
    if not frame.height:
        raise DataError(f"{path} has a header but no records")
    dialect = replace(
        opening.dialect,
        na_values={column.name: column.na_value for column in columns if column.na_value is not None},
        datetimes={
            column.name: column.datetime_format
            for column in columns
            if column.datetime_format and column.kind in {"date", "datetime"}
        },
        declared_na_values=missing_texts,
    )
    frame = frame if rows is None else frame.head(rows)
    unread = tuple(name for name in opening.header if name in set(unread))
    return Table(nw.from_native(frame, eager_only=True), dialect=dialect, source=path, unread=unread)


def _read(
    path: Path, opening: Opening, na_values: tuple[str, ...], text: Sequence[str], rows: int | None, names: list[str]
) -> list[TextColumn]:
    """Read all columns; those that turned out to be text after the first block are read a second time."""
    for name in text:
        if name not in opening.header:
            raise UnknownColumn(name, opening.header)
    verbatim, decimal = set(text), opening.dialect.decimal

    def fresh(names: Sequence[str]) -> list[TextColumn]:
        return [TextColumn(name, verbatim=name in verbatim, decimal=decimal, na_values=na_values) for name in names]

    for block_size in _BLOCKS:
        columns = fresh(names)
        try:
            _fill(columns, path, opening, rows, block_size)
            late = {column.name: column for column in fresh([column.name for column in columns if column.lost])}
            if late:
                for column in late.values():
                    column.kind = "text"
                _fill(list(late.values()), path, opening, rows, block_size)
            return [late.get(column.name, column) for column in columns]
        except _RecordTooLong:
            continue
    raise FileProblem(f"{path}: a record has more than {_BLOCKS[-1]:,} bytes; check its line ends and its quotes")


def _fill(columns: list[TextColumn], path: Path, opening: Opening, rows: int | None, block_size: int) -> None:
    """Append the fields of the file to the columns, block by block."""
    import pyarrow as pa

    ragged: list[tuple[int, int]] = []
    expected, done, last = rows, 0, None
    try:
        with _fields(path, opening, [column.name for column in columns], ragged, block_size) as blocks:
            for block in blocks:
                block = block if rows is None else block.slice(0, rows - done)
                expected = expected or _expected_rows(path, block, block_size)
                for column, fields in zip(columns, block.columns, strict=True):
                    column.add(fields, expected)
                done += block.num_rows
                last = block.column(block.num_columns - 1)[-1].as_py() if block.num_rows else last
                if rows is not None and done >= rows:
                    return
    except pa.ArrowInvalid as error:
        if ragged:
            raise DataError(_ragged_text(path, opening, *ragged[0])) from error
        if "UTF8" in str(error):
            raise UnicodeError from error
        if "straddl" in str(error):
            raise _RecordTooLong from error
        raise FileProblem(f"{path} cannot be read as a text table; check its quotes and its delimiter") from error
    if last is not None and "\n" in last and _quote_left_open(path, opening):
        raise DataError(
            f"{path}: a quote is opened and never closed; close it, or double it where it is part of the text"
        )


@contextmanager
def _fields(
    path: Path, opening: Opening, names: list[str], ragged: list[tuple[int, int]], block_size: int
) -> Iterator[Iterator[Any]]:
    """Open a file as blocks of text columns; a row of wrong length is appended to ``ragged`` and stops the reading."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def stop_at(row: Any) -> str:
        ragged.append((row.expected_columns, row.actual_columns))
        return "error"

    one_column = len(opening.header) == 1  # an empty line is then a record with a missing value
    parse = arrow_csv.ParseOptions(
        delimiter=opening.dialect.delimiter,
        newlines_in_values=True,
        ignore_empty_lines=not one_column,
        invalid_row_handler=stop_at,
    )
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(opening.header, pa.string()),
        include_columns=names,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    read = arrow_csv.ReadOptions(
        column_names=opening.header,
        skip_rows_after_names=1 + opening.blank,
        block_size=block_size,
        encoding="utf8" if opening.dialect.encoding == "utf-8" else opening.dialect.codec,
    )
    with opened(path) as file:
        yield arrow_csv.open_csv(file, read_options=read, parse_options=parse, convert_options=convert)


def _expected_rows(path: Path, block: Any, block_size: int) -> int:
    """Estimate the number of records from the size of the file and the first block."""
    size = path.stat().st_size
    return int(size / min(block_size, size) * block.num_rows * 1.02) + 1000


def _ragged_text(path: Path, opening: Opening, expected: int, found: int) -> str:
    """Return the error text for a row of wrong length; a second, slower reading finds the row."""
    where = "a row"
    with opened(path) as file, long_fields():
        decoded = io.TextIOWrapper(file, opening.dialect.codec, errors="replace", newline="")
        reader = csv.reader(decoded, delimiter=opening.dialect.delimiter)
        before, number = 0, 0
        for row in reader:
            if row and len(row) != expected:
                first, last = before + 1, reader.line_num
                lines = f"lines {first}-{last}; is a quote left open there?" if last > first else f"line {first}"
                where, found = f"row {number} ({lines})", len(row)
                break
            before, number = reader.line_num, number + bool(row)
    fields = "field" if found == 1 else "fields"
    return f"{path}: {where} has {found} {fields}, the header has {expected}; repair it, or give the delimiter"


def _quote_left_open(path: Path, opening: Opening) -> bool:
    with opened(path) as file, long_fields():
        lines = io.TextIOWrapper(file, opening.dialect.codec, errors="replace", newline="")
        try:
            for _ in csv.reader(lines, delimiter=opening.dialect.delimiter, strict=True):
                pass
        except csv.Error as error:
            return "unexpected end" in str(error)
    return False


def _encoding_hint(name: str) -> str:
    other = "cp1252" if name == "utf-8" else "utf-8"
    return f'give its encoding, for example encoding="{other}"'


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
