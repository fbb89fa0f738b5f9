"""Text tables read as texts, with nothing inferred from the records; for differential privacy.

:func:`read_table` infers delimiter, encoding, decimal separator and types from the records, so that one record can
change how all others are read. Here they follow from the options, the extension and the header, which are public. A
field that cannot be read is changed by a rule that uses this field only: bytes that are no text become the replacement
character, a row that is too short gets missing fields, a row that is too long loses the rest, and so does a line of
more than 128 MB. A table without records is a table.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import DataError, FileProblem
from shoal.tables.dialect import (
    DELIMITERS,
    LONGEST_LINE,
    Dialect,
    check_header,
    encodings_to_try,
    known_decimal,
    known_delimiter,
    long_fields,
    opened,
    without_compression,
)
from shoal.tables.files import check_regular, format_of, read_table
from shoal.tables.table import Table

if TYPE_CHECKING:
    import polars as pl

_HEADER_BYTES = 2**20


def read_as_declared(path: Path, names: Sequence[str], **options: Any) -> Table:
    r"""Read a table file such that each value depends on its own field and on the header only.

    Parameters
    ----------
    path
        A file with one of the supported extensions.
    names
        Columns that the user has declared; they help to find the delimiter in the header.
    options
        ``delimiter``, ``encoding``, ``decimal``, ``na_values`` as for :func:`read_table`. Without them the delimiter
        is the one that splits the header into the most declared names; the encoding is that of a byte order mark, or
        else utf-8, or cp1252 if the header is not valid utf-8; the decimal separator is a comma in files with
        semicolons, otherwise a point.

    Returns
    -------
    table
        All columns; those of a text file are texts.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     _ = Path(directory, "people.csv").write_text("age;income\n34;1,5\n30.5\n")
    ...     read_as_declared(Path(directory, "people.csv"), ["age"]).native.rows()
    [('34', '1,5'), ('30.5', None)]
    """
    if format_of(path).family == "excel":
        raise FileProblem(
            f"{path}: a workbook declares no types, so that one record can change how all others are read; save the "
            f"sheet as .csv"
        )
    if format_of(path).family != "text":
        return _read_typed(path, **options)
    import narwhals as nw

    check_regular(path)
    dialect, header = _opening(path, names, **options)
    with opened(path) as file:
        content = _content(file, dialect)
    frame = _fields(content, header, dialect)
    return Table(nw.from_native(frame, eager_only=True), dialect=dialect, source=path)


def _content(file: IO[bytes], dialect: Dialect) -> bytes:
    """Return the text of a file in UTF-8, lines that are too long cut."""
    if dialect.encoding == "utf-8" and not dialect.bom and dialect.line_end != "\r":
        return b"".join(_cut(file, b"\n"))
    with io.TextIOWrapper(file, dialect.codec, errors="replace", newline="") as decoded:
        return "".join(_cut(decoded, ("\n", "\r"))).encode("utf-8", "replace")


def _cut(file: Any, ends: Any) -> Iterator[Any]:
    """Yield the lines of a file; of a line that is too long only its beginning and its end."""
    while line := file.readline(LONGEST_LINE):
        rest = line
        while rest and len(rest) == LONGEST_LINE and not rest.endswith(ends):
            rest = file.readline(LONGEST_LINE)
        yield line
        if rest is not line:
            yield rest[-1:]


def _read_typed(path: Path, **options: Any) -> Table:
    """Read a file that declares its types; one without records is read too."""
    import narwhals as nw

    try:
        return read_table(path, **options)
    except DataError:
        if format_of(path).family == "statistics":
            frame: Any = _empty_statistics(path)
        else:
            import polars as pl

            frame = (pl.read_parquet if format_of(path).family == "parquet" else pl.read_ipc)(path)
        if not frame.width or frame.height:
            raise
        return Table(nw.from_native(frame, eager_only=True), source=path)


def _empty_statistics(path: Path) -> pl.DataFrame:
    import polars as pl
    import pyreadstat

    reader = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".xpt": "read_xport"}
    read = getattr(pyreadstat, reader.get(format_of(path).extension, "read_sas7bdat"))
    _, metadata = read(str(path), metadataonly=True)
    return pl.DataFrame(schema=dict.fromkeys(metadata.column_names, pl.Float64()))


def _opening(path: Path, names: Sequence[str], **options: Any) -> tuple[Dialect, list[str]]:
    """Return dialect and header, from the options and the header only."""
    delimiter, decimal = known_delimiter(options.get("delimiter")), known_decimal(options.get("decimal"))
    with opened(path) as file:
        start = file.read(_HEADER_BYTES)
    (encoding, bom), *others = encodings_to_try(path, options.get("encoding"))
    if others and not _valid(re.split(rb"[\r\n]", start.lstrip(b"\r\n"), maxsplit=1)[0], encoding):
        encoding = others[0][0]
    dialect = Dialect(encoding=encoding, bom=bom)
    text = start.decode(dialect.codec, errors="replace").lstrip("\r\n")
    if not text.strip():
        raise FileProblem(f"{path} is empty; a table needs a header")
    end = text[len(text.splitlines()[0]) :][:2]
    line_end = "\r\n" if end == "\r\n" else "\r" if end[:1] == "\r" else "\n"
    tab = without_compression(path).suffix
    usual = "\t" if tab.casefold() == ".tsv" else ","
    splits = {character: _first_row(text, character) for character in (usual, *DELIMITERS)}
    found = delimiter or max(splits, key=lambda one: (len(set(names) & set(splits[one])), len(splits[one])))
    header = splits.get(found) or _first_row(text, found)
    check_header(path, header)
    decimal = decimal or ("," if found == ";" else ".")
    missing = tuple(text.strip() for text in options.get("na_values", ()))
    return Dialect(found, encoding, bom, decimal, line_end, declared_na_values=missing), header


def _first_row(text: str, delimiter: str) -> list[str]:
    with long_fields():
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def _fields(content: bytes, header: list[str], dialect: Dialect) -> pl.DataFrame:
    """Return the fields below the header as texts; missing where a field is empty or a row too short."""
    import polars as pl

    try:
        if dialect.line_end == "\r":
            return _fields_by_row(content, header, dialect)
        frame = pl.read_csv(
            content,
            separator=dialect.delimiter,
            infer_schema=False,
            encoding="utf8-lossy",
            truncate_ragged_lines=True,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:  # a quote inside a quoted field that is not doubled
        return _fields_by_row(content, header, dialect)
    return frame if frame.columns == header else _fields_by_row(content, header, dialect)


def _fields_by_row(content: bytes, header: list[str], dialect: Dialect) -> pl.DataFrame:
    """Read as :func:`_fields` does, in Python: slower, and without an error for any text."""
    import polars as pl

    columns: list[list[str | None]] = [[] for _ in header]
    with long_fields():
        lines = io.StringIO(content.decode("utf-8", errors="replace").lstrip("\r\n\ufeff"), newline="")
        rows = csv.reader(lines, delimiter=dialect.delimiter)
        next(rows, None)
        for row in rows:
            for position, column in enumerate(columns):
                column.append((row[position] or None) if position < len(row) else None)
    return pl.DataFrame(
        [pl.Series(name, column, dtype=pl.String) for name, column in zip(header, columns, strict=True)]
    )


def _valid(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeError:
        return False
    return True
