"""The cells of a sheet that was written, from the XML of the workbook, without the libraries that wrote or read it.

A cell is compared by its type, its number format and the characters that are stored for its value, so that every
program finds classes that are at least as large as those counted here.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_SHEET, _TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_PLACE = re.compile(r"([A-Z]+)(\d+)")


def sheet_columns(path: Path, names: Sequence[str], rows: int) -> tuple[list[str], Iterable[pl.Series]]:
    """Return the header of the sheet, and the named columns as texts that are equal for equal cells.

    Parameters
    ----------
    path
        The workbook.
    names
        The columns.
    rows
        The number of records that the sheet must have.
    """
    import polars as pl

    header: dict[int, str] = {}
    cells: dict[int, list[str | None]] = {}
    last = 1
    with zipfile.ZipFile(path) as book:
        if book.testzip() is not None:
            raise ValueError("a part of the workbook is damaged")
        texts = _texts(book)
        with book.open(_SHEET) as file:
            for row, column, text, value in _cells(file, texts):
                last = max(last, row)
                if row == 1:
                    header[column] = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)
                    if header[column] in names:
                        cells[column] = [None] * rows
                elif column in cells:
                    cells[column][row - 2] = text  # a further record is an IndexError
    if last != rows + 1:
        raise ValueError("the sheet has another number of records")
    places = {header[column]: column for column in cells}
    columns = [pl.Series(name, cells[places[name]], dtype=pl.String) for name in names]
    return [header.get(column, "") for column in range(max(header, default=-1) + 1)], columns


def _texts(book: zipfile.ZipFile) -> list[str]:
    """Return the texts that cells refer to by number."""
    from xml.etree.ElementTree import iterparse

    if _TEXTS not in book.namelist():
        return []
    with book.open(_TEXTS) as file:
        return ["".join(element.itertext()) for _, element in iterparse(file) if element.tag == f"{_SPACE}si"]  # noqa: S314


def _cells(file: Any, texts: list[str]) -> Any:
    """Return row, column, comparable text and plain text of each cell that has a value."""
    from xml.etree.ElementTree import iterparse

    for _, element in iterparse(file):  # noqa: S314 - the file was written by this process
        if element.tag == f"{_SPACE}c":
            kind, style = element.get("t", "n"), element.get("s", "")
            value = "".join(element.itertext())
            value = texts[int(value)] if kind == "s" else value
            place = _PLACE.fullmatch(element.get("r", ""))
            if place is None:
                raise ValueError("a cell has no place")
            yield int(place[2]), _number(place[1]), f"{kind}/{style}/{value}", value
        elif element.tag == f"{_SPACE}row":
            element.clear()


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
