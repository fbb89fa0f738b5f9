"""Text files: their compression, and their dialect, which is delimiter, encoding, decimal separator and line ends.

``detect`` infers what was not given from the beginning of a file. The released table is written in the same dialect, so
that software which reads the original can read the release. Compression is gzip (``.gz``) or Zstandard (``.zst``), by
extension when writing, by content else.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from shoal.errors import DataError, FileProblem, ParameterError, SchemaError

DELIMITERS = ",;\t|"
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_DELIMITERS_BY_NAME = {**{name: character for character, name in _NAMES.items()}, "\\t": "\t"}
_HEAD = 2**18  # bytes from which the dialect is inferred
LONGEST_LINE = 2**27
"""The most bytes of a line or record; more is no table of text, or a hostile one."""
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_GROUPED_NUMBER = re.compile(r"[+-]?\d{1,3},\d{3}")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Dialect:
    """The dialect of a text table.

    Parameters
    ----------
    delimiter
        Separator between fields.
    encoding
        Encoding, by its Python name.
    bom
        Whether the file starts with a byte order mark.
    decimal
        Decimal separator, a point or a comma.
    line_end
        Characters that end a line.
    na_values
        For columns in which missing values were written as a text (``NA``), that text; it is written again.
    datetimes
        For columns of dates, with or without time, their format.
    declared_na_values
        Texts that mean a missing value in every column, as the reader was given them.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    bom: bool = False
    decimal: str = "."
    line_end: str = "\n"
    na_values: Mapping[str, str] = field(default_factory=dict)
    datetimes: Mapping[str, str] = field(default_factory=dict)
    declared_na_values: tuple[str, ...] = ()

    @property
    def codec(self) -> str:
        """The Python codec that reads the file and skips a byte order mark."""
        if self.bom:
            return {"utf-8": "utf-8-sig"}.get(self.encoding, "utf-16")
        return self.encoding


@dataclass(frozen=True)
class Opening:
    """Dialect and header of a text file, and the number of blank lines above the header."""

    dialect: Dialect
    header: list[str]
    blank: int = 0


def detect(path: Path, encoding: str, *, bom: bool, delimiter: str | None, decimal: str | None) -> Opening:
    """Infer what was not given from the beginning of a file in a supposed encoding.

    Raises UnicodeDecodeError if the beginning is not valid in that encoding.
    """
    dialect = Dialect(encoding=encoding, bom=bom)
    head, complete = _head_text(path, dialect.codec)
    if not head.strip():
        raise FileProblem(f"{path} is empty; a table needs a header and records")
    if "\0" in head:
        raise FileProblem(f"{path} is not a text table: it contains zero bytes; give its encoding if it is text")
    delimiter = delimiter or _find_delimiter(head, path)
    rows = _sample(head, delimiter, complete=complete)
    blank = next(number for number, row in enumerate(rows) if row)
    header = rows[blank]
    check_header(path, header)
    if complete and len(rows) == blank + 1:
        raise DataError(f"{path} has a header but no records")
    first_line = re.search(r"\r\n|\n|\r", head)
    line_end = "\r\n" if first_line and first_line[0] == "\r\n" else "\n"
    decimal = decimal or _find_decimal(rows[blank + 1 :], delimiter)
    return Opening(Dialect(delimiter, encoding, bom, decimal, line_end), header, blank)


def encodings_to_try(path: Path, given: str | None) -> list[tuple[str, bool]]:
    """Return encodings in the order to try them, each with whether there is a byte order mark.

    UTF-8 comes first, because text in another encoding is almost never valid UTF-8; Windows' cp1252 leaves few bytes
    undefined, latin-1 none.
    """
    with opened(path) as file:
        start = file.read(4)
    marks = [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ]
    found = next((name for mark, name in marks if start.startswith(mark)), None)
    if given is not None:
        name = _known_encoding(given)
        if name == "utf-16" and found is None:
            return [("utf-16-le", False)]
        if found is not None and name in {found, "utf-16"}:
            return [(found, True)]
        return [(name, False)]
    return [(found, True)] if found else [("utf-8", False), ("cp1252", False), ("latin-1", False)]


def check_header(path: Path, header: list[str]) -> None:
    """Raise :class:`SchemaError` for column names that are empty or not unique."""
    unnamed = [position for position, name in enumerate(header, start=1) if not name.strip()]
    if unnamed:
        cause = ""
        if unnamed == [1]:
            cause = " (R and pandas write row names so; leave them out, or name them)"
        elif 2 * len(unnamed) >= len(header):
            cause = ", or remove the lines above the header, such as a title"
        which = f"column {unnamed[0]} of {len(header)}"
        raise SchemaError(f"{path}: {which} has no name in the header; give it one{cause}")
    for name, count in Counter(header).items():
        if count > 1:
            raise SchemaError(f'{path}: {count} columns are named "{name}" in the header; give each its own name')


def known_delimiter(given: str | None) -> str | None:
    r"""Return the delimiter for an option, which may be the character or its name.

    Examples
    --------
    >>> known_delimiter("tab")
    '\t'
    """
    if given is None:
        return None
    character = _DELIMITERS_BY_NAME.get(given.casefold(), given)
    if len(character) != 1 or character in '"\r\n' or not character.isascii():
        raise ParameterError(f'delimiter="{given}" must be one character, for example {", ".join(_NAMES.values())}')
    return character


def known_decimal(given: str | None) -> str | None:
    """Return the decimal separator for an option after checking it."""
    if given not in {None, ".", ","}:
        raise ParameterError(f'decimal="{given}" must be "." or ","')
    return given


def _known_encoding(given: str) -> str:
    try:
        "".encode(given)  # also raises for codecs that do not encode text
        name = codecs.lookup(given).name
    except (LookupError, ValueError) as error:
        raise ParameterError(f'encoding="{given}" is unknown; try "utf-8", "cp1252", "latin-1" or "utf-16"') from error
    return {"utf-8-sig": "utf-8", "iso8859-1": "latin-1"}.get(name, name)


def _head_text(path: Path, codec: str) -> tuple[str, bool]:
    """Return the beginning of a file, at least to the first line end, and whether this is the whole file."""
    size = _HEAD
    while True:
        with opened(path) as file:
            raw = file.read(size)
        complete = len(raw) < size
        text = codecs.getincrementaldecoder(codec)().decode(raw, final=complete)
        if complete or "\n" in text or "\r" in text:
            return text, complete
        if size >= LONGEST_LINE:
            raise FileProblem(f"{path}: its first line has more than {LONGEST_LINE:,} bytes; check its line ends")
        size *= 8


def _sample(head: str, delimiter: str, *, complete: bool = True, rows: int = 1000) -> list[list[str]]:
    """Return the first records of a text, without the last one if it may be truncated."""
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
    found: list[list[str]] = []
    with long_fields():
        for row in reader:
            found.append(row)
            if len(found) > rows:
                break
        else:
            if not complete and len(found) > 1:
                found.pop()
    return found


@contextmanager
def long_fields() -> Iterator[None]:
    """Allow the csv module to read fields of any length."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _find_delimiter(head: str, path: Path) -> str:
    """Return the delimiter that splits the header and most records into the same number of fields."""
    extension = without_compression(path).suffix
    best, best_score = "\t" if extension.casefold() == ".tsv" else ",", (0.0, 0)
    for character in DELIMITERS:
        rows = [row for row in _sample(head, character, complete=False, rows=200) if row]
        if not rows or len(rows[0]) < 2:
            continue
        same = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if (same, len(rows[0])) > best_score:
            best, best_score = character, (same, len(rows[0]))
    return best


def _find_decimal(rows: list[list[str]], delimiter: str) -> str:
    """Return a comma if entire columns of the sample are numbers with a comma and none are numbers with a point.

    In files with a tab or a bar as delimiter, ``1,234`` may be one thousand: such columns alone are not evidence of a
    decimal comma.
    """
    if delimiter == "," or not rows:
        return "."
    comma = False
    for column in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True):
        values = [value.strip() for value in column if value.strip()]
        with_point = [value for value in values if _POINT_NUMBER.fullmatch(value)]
        with_comma = [value for value in values if _COMMA_NUMBER.fullmatch(value)]
        numbers = len(with_comma) + sum(_INTEGER.fullmatch(value) is not None for value in values)
        if with_point and len(with_point) + numbers - len(with_comma) == len(values):
            return "."
        if with_comma and numbers >= 0.9 * len(values):
            grouped = all(_GROUPED_NUMBER.fullmatch(value) for value in with_comma)
            comma = comma or delimiter == ";" or not grouped
    return "," if comma else "."


_MARKS = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
_TITLES = {".gz": "gzip", ".zst": "Zstandard"}
COMPRESSED = tuple(_MARKS)
"""Extensions that a text format may have besides its own."""


def compression_of(path: Path) -> str | None:
    """Return the extension of the compression that the name of a file states, if any.

    Examples
    --------
    >>> compression_of(Path("people.csv.ZST")), compression_of(Path("people.csv"))
    ('.zst', None)
    """
    suffix = path.suffix.casefold()
    return suffix if suffix in _MARKS else None


def without_compression(path: Path) -> Path:
    """Return the path without the extension of a compression.

    Examples
    --------
    >>> without_compression(Path("people.csv.gz")).name
    'people.csv'
    """
    return path.with_suffix("") if compression_of(path) else path


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file as bytes and decompress it if its content is compressed; raises if the stream is corrupt."""
    stated = compression_of(path)
    with path.open("rb") as raw:
        start = raw.read(4)
        found = next((name for name, mark in _MARKS.items() if start.startswith(mark)), None)
        raw.seek(0)
        if stated is not None and found != stated and start:
            raise FileProblem(
                f"{path} is not a {_TITLES[stated]} file although its extension is {stated}; rename or compress it"
            )
        try:
            yield _unpacked(raw, found)
        except FileProblem:
            raise
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileProblem(f"{path}: the gzip file is corrupt or truncated; copy or compress it again") from error
        except OSError as error:
            if found != ".zst" or error.errno is not None:
                raise
            raise FileProblem(
                f"{path}: the Zstandard file is corrupt or truncated; copy or compress it again"
            ) from error


def _unpacked(raw: Any, compression: str | None) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if compression == ".zst":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(raw, "zstd"))
    return raw


@contextmanager
def opened_for_writing(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """Open for writing; compressed files contain neither name nor time, so that equal tables give equal bytes."""
    with path.open("wb") as file:
        if compression == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
                yield packed  # type: ignore[misc]
        elif compression == ".zst":
            import pyarrow as pa

            packed_buffer = pa.BufferOutputStream()
            writer = pa.CompressedOutputStream(packed_buffer, "zstd")
            yield writer
            writer.close()
            file.write(packed_buffer.getvalue())
        else:
            yield file
