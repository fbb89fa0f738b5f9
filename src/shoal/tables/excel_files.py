"""Excel workbooks (``.xlsx``): one sheet is a table. fastexcel reads, XlsxWriter writes.

Numbers stay numbers and dates dates. Excel has one type of number: a column of whole numbers is read as integers. It
has one type of time: a column of midnights is read as dates, one of times on the day before 1900 as times of day. Texts
are written as texts, also those that begin with ``=``, ``+``, ``-`` or ``@``, so that no cell becomes a formula. Equal
tables give equal bytes: the properties of the workbook hold a fixed time and no author.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, FileProblem, MissingExtra, SchemaError, suggestion
from shoal.tables.dialect import check_header
from shoal.tables.table import Table, is_text, to_polars

if TYPE_CHECKING:
    import polars as pl

_ROWS, _COLUMNS, _CHARACTERS = 1_048_576, 16_384, 32_767  # the limits of a sheet and of a cell
_EXACT = 2**53  # integers below are exact in the floats of Excel
_LEAP = dt.date(1900, 3, 1)  # Excel counts a 29th of February 1900, which did not exist
_SHEET = "Sheet1"
_DAY = 86_400_000_000  # microseconds
_DATE, _TIME, _DURATION = "yyyy-mm-dd", "hh:mm:ss", "[h]:mm:ss"


class _Exact(float):
    """A number that is formatted with all its digits; XlsxWriter would write sixteen."""

    def __format__(self, _: str) -> str:
        return repr(float(self))


def read_excel(path: Path, *, sheet: str | None = None, rows: int | None = None, unread: Collection[str] = ()) -> Table:
    """Read a sheet of a workbook, or its first rows; ``unread`` columns come back empty."""
    import narwhals as nw
    import polars as pl

    fastexcel = _library("fastexcel")
    try:
        book = fastexcel.read_excel(str(path))
        name = _sheet_name(path, book, sheet)
        header = _header(path, book, name)
        used = [number for number, column in enumerate(header) if column not in set(unread)]
        found = book.load_sheet(
            name, header_row=0, n_rows=rows, schema_sample_rows=None, use_columns=used, skip_whitespace_tail_rows=True
        ).to_polars()  # fmt: skip
    except (FileProblem, DataError, SchemaError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise FileProblem(
            f"{path} cannot be read as Excel: it is corrupt, truncated, encrypted or in another format"
        ) from error
    if not found.height:
        raise DataError(f'{path}: sheet "{name}" has a header but no records')
    read = iter(found.get_columns())
    columns = [
        pl.Series(column, [None] * found.height, dtype=pl.Null)
        if number not in set(used)
        else _usual(next(read)).rename(column)
        for number, column in enumerate(header)
    ]
    empty = tuple(column for column in header if column in set(unread))
    return Table(nw.from_native(pl.DataFrame(columns), eager_only=True), source=path, sheet=sheet, unread=empty)


def write_excel(table: Table, path: Path, target: Path) -> None:
    """Write a table as a workbook of one sheet."""
    xlsxwriter = _library("xlsxwriter")
    frame = to_polars(table)
    _check_size(frame, target)
    columns = [_cells(frame[name], target) for name in frame.columns]
    memory = {"in_memory": True, "strings_to_formulas": False}  # no temporary files, which an error would leave open
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, memory)
    book.set_properties({"created": dt.datetime(1980, 1, 1)})
    formats = {style: book.add_format({"num_format": style}) for style in _styles(columns)}
    sheet = book.add_worksheet(table.sheet or _SHEET)
    for column, name in enumerate(frame.columns):
        sheet.write_string(0, column, name)
    writers = [(getattr(sheet, f"write_{kind}"), formats.get(style or "")) for kind, style, _ in columns]
    for row, values in enumerate(zip(*(cells for _, _, cells in columns), strict=True), start=1):
        for column, value in enumerate(values):
            if value is not None:
                writers[column][0](row, column, value, writers[column][1])
    book.close()
    path.write_bytes(packed.getbuffer())


def _library(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise MissingExtra(
            'Excel files need fastexcel and XlsxWriter; install them with: pip install "shoal[excel]"'
        ) from error


def sheet_names(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook; none if it cannot be read, which reading it reports."""
    try:
        return list(_library("fastexcel").read_excel(str(path)).sheet_names)
    except MissingExtra:
        raise
    except Exception:  # noqa: BLE001 - errors of the library have no common class
        return []


def _sheet_name(path: Path, book: Any, sheet: str | None) -> str:
    names: list[str] = list(book.sheet_names)
    if sheet is not None:
        if sheet not in names:
            raise FileProblem(f'{path} has no sheet "{sheet}"; {suggestion(sheet, names)}')
        return sheet
    if len(names) != 1:
        shown = ", ".join(f'"{name}"' for name in names)
        raise FileProblem(
            f'{path} has {len(names)} sheets: {shown}; name one with --sheet (Python: read_options={{"sheet": ...}})'
        )
    return names[0]


def _header(path: Path, book: Any, sheet: str) -> list[str]:
    """Return the first row as it is written; fastexcel would change names that occur twice."""
    first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    if not first.height:
        raise DataError(f'{path}: sheet "{sheet}" is empty; a table needs a header and records')
    header = ["" if name is None else name for name in first.row(0)]
    check_header(path, header)
    return header


def _usual(column: pl.Series) -> pl.Series:
    """Return a column in the type that its values have in other formats."""
    import polars as pl

    known = column.drop_nulls()
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype == pl.String:
        return column.replace("", None)
    if column.dtype == pl.Float64 and known.is_finite().all() and (known.abs() < _EXACT).all():
        return column.cast(pl.Int64) if (known == known.round()).all() else column
    if isinstance(column.dtype, pl.Datetime) and len(known):
        if (known.dt.date() == dt.date(1899, 12, 31)).all():
            return column.dt.time()
        return column.cast(pl.Date) if (known.dt.time() == dt.time()).all() else column
    return column


def _styles(columns: Sequence[tuple[str, str | None, Any]]) -> list[str]:
    return list(dict.fromkeys(style for _, style, _ in columns if style is not None))


def _check_size(frame: pl.DataFrame, target: Path) -> None:
    import polars as pl

    if frame.height >= _ROWS or frame.width > _COLUMNS:
        raise DataError(
            f"{target}: a sheet of Excel has at most {_ROWS - 1:,} records and {_COLUMNS:,} columns, and the table has "
            f"{frame.height:,} and {frame.width:,}; write .csv or .parquet"
        )
    last = frame.tail(1)
    empty = last.select(
        pl.all_horizontal(pl.all().is_null() | (pl.all().cast(pl.String, strict=False) == ""))
    ).item() if _is_plain(frame) else False  # fmt: skip
    if empty:
        raise DataError(
            f"{target}: the last record has no value in any column, and a sheet of Excel ends before it; write .csv or "
            f".parquet"
        )


def _is_plain(frame: pl.DataFrame) -> bool:
    return not any(dtype.is_nested() or dtype.is_object() for dtype in frame.dtypes)


def _cells(column: pl.Series, target: Path) -> tuple[str, str | None, list[Any]]:
    """Return the kind of cell, its number format, and the values of a column."""
    import polars as pl

    dtype = column.dtype
    if is_text(dtype):
        return "string", None, _texts(column.cast(pl.String), target)
    if dtype == pl.Boolean:
        return "boolean", None, column.to_list()
    if dtype.is_temporal():
        return _times(column, target)
    if dtype == pl.Null:
        return "number", None, column.to_list()
    if dtype.is_integer():
        if (column.cast(pl.Float64).abs() > _EXACT).any():
            raise DataError(
                f'{target}: column "{column.name}" has integers of more than 15 digits, which Excel cannot store; '
                f"write .csv or .parquet, or turn the column into text"
            )
        return "number", None, column.to_list()
    if dtype.is_float() or dtype.is_decimal():
        return _numbers(column.cast(pl.Float64), target)
    raise DataError(
        f'{target}: column "{column.name}" is of type {dtype}, which Excel cannot store; drop it, or turn it into text '
        f"or plain columns first"
    )


def _numbers(column: pl.Series, target: Path) -> tuple[str, str | None, list[Any]]:
    column = column.fill_nan(None)
    if column.is_infinite().any():
        raise DataError(
            f'{target}: column "{column.name}" has infinite numbers, which Excel cannot store; write .csv or .parquet'
        )
    return "number", None, [None if value is None else _Exact(value) for value in column]


def _texts(column: pl.Series, target: Path) -> list[str | None]:
    longest = column.str.len_bytes().max()
    if (
        isinstance(longest, int)
        and longest > _CHARACTERS
        and any(len((text or "").encode("utf-16-le")) > 2 * _CHARACTERS for text in column)
    ):
        raise DataError(
            f'{target}: column "{column.name}" has texts of more than {_CHARACTERS:,} characters, which Excel cuts; '
            f"write .csv or .parquet"
        )
    return column.replace("", None).to_list()


def _times(column: pl.Series, target: Path) -> tuple[str, str | None, list[Any]]:
    """Return dates and times as Excel stores them: days since the end of 1899."""
    import polars as pl

    if isinstance(column.dtype, pl.Duration):
        micro = column.dt.total_microseconds()
        return "number", _DURATION, _days(micro, 0)
    if column.dtype == pl.Time:
        return "number", _with_fraction(_TIME, column.cast(pl.Int64) // 1000), _days(column.cast(pl.Int64) // 1000, 0)
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if (column.dt.year() < 1900).any():
        raise DataError(
            f'{target}: column "{column.name}" has dates before 1900, which Excel cannot store; write .csv or .parquet'
        )
    micro = column.cast(pl.Datetime("us")).cast(pl.Int64)
    early = (column.dt.date() if column.dtype != pl.Date else column) < _LEAP
    start = (dt.date(1970, 1, 1) - dt.date(1899, 12, 30)).days
    serial = [
        None if value is None else _serial(value, start - bool(before))
        for value, before in zip(micro, early, strict=True)
    ]
    style = _DATE if column.dtype == pl.Date else _with_fraction(f"{_DATE} {_TIME}", micro)
    return "number", style, serial


def _with_fraction(style: str, micro: pl.Series) -> str:
    return f"{style}.000" if (micro % 1_000_000 != 0).any() else style


def _days(micro: pl.Series, start: int) -> list[Any]:
    return [None if value is None else _serial(value, start) for value in micro]


def _serial(micro: int, start: int) -> float:
    whole, rest = divmod(micro, _DAY)
    return _Exact(whole + start + rest / _DAY)
