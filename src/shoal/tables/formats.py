"""The file formats Shoal knows, told apart by the extension.

Text formats may carry a further ``.gz``. A format that cannot be written says what to choose instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shoal.errors import FileProblem

Family = Literal["text", "parquet", "arrow", "statistics"]


@dataclass(frozen=True)
class Format:
    """A file format: its extension, the family that reads and writes it, and whether it can be written."""

    extension: str
    family: Family
    title: str
    writable: bool = True


_FORMATS = {
    known.extension: known
    for known in (
        Format(".csv", "text", "CSV"),
        Format(".tsv", "text", "tab-separated text"),
        Format(".txt", "text", "delimited text"),
        Format(".parquet", "parquet", "Parquet"),
        Format(".arrow", "arrow", "Arrow"),
        Format(".feather", "arrow", "Feather"),
        Format(".ipc", "arrow", "Arrow"),
        Format(".sav", "statistics", "SPSS"),
        Format(".zsav", "statistics", "SPSS"),
        Format(".dta", "statistics", "Stata"),
        Format(".xpt", "statistics", "SAS transport"),
        Format(".sas7bdat", "statistics", "SAS", writable=False),
    )
}


def format_of(path: Path) -> Format:
    """Return the format of a path by its extension.

    Examples
    --------
    >>> format_of(Path("people.CSV.gz")).title
    'CSV'
    >>> format_of(Path("people.xlsx"))
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: people.xlsx: the extension ".xlsx" is not known; there is: .csv, .tsv, .txt (each also with .gz), .parquet, .arrow, .feather, .ipc, .sav, .zsav, .dta, .xpt, .sas7bdat
    """  # noqa: E501 - the doctest shows the text as one line
    suffixes = [suffix.casefold() for suffix in path.suffixes[-2:]]
    extension = suffixes[-1] if suffixes else ""
    inner = suffixes[0] if extension == ".gz" and len(suffixes) == 2 else extension
    known = _FORMATS.get(inner)
    if known is None or (is_gzip_name(path) and known.family != "text"):
        text = [name for name, known in _FORMATS.items() if known.family == "text"]
        other = [name for name in _FORMATS if name not in text]
        shown = f'the extension "{"".join(suffixes) if extension == ".gz" else extension}" is not known'
        raise FileProblem(
            f"{path}: {shown if extension else 'the name has no extension'}; there is: {', '.join(text)} "
            f"(each also with .gz), {', '.join(other)}"
        )
    return known


def writable_format_of(path: Path) -> Format:
    """Return the format of a path that is to be written.

    Examples
    --------
    >>> writable_format_of(Path("people.sas7bdat"))
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: people.sas7bdat: SAS files of this kind can only be read; write .xpt, which SAS opens, or .csv, .parquet, .sav, .dta
    """  # noqa: E501 - the doctest shows the text as one line
    known = format_of(path)
    if not known.writable:
        raise FileProblem(
            f"{path}: SAS files of this kind can only be read; write .xpt, which SAS opens, or .csv, .parquet, .sav, "
            f".dta"
        )
    return known


def is_gzip_name(path: Path) -> bool:
    """Return whether a name asks for gzip.

    Examples
    --------
    >>> is_gzip_name(Path("people.csv.gz"))
    True
    """
    return path.suffix.casefold() == ".gz"
