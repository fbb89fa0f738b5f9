"""Table files: the formats that Shoal reads and writes, chosen by extension, and which files may be read and written.

Text (CSV, optionally compressed), Parquet, Arrow/Feather, Excel, and SPSS, Stata and SAS. A table read from one format
may be written in another; what the other format cannot store (value labels in a CSV file) is left out.

Inputs and outputs are checked before any work begins. ``check_input`` checks a file that is read. An output must be
writable, no input of the run, and different from the others: ``check_output`` checks one file, ``check_targets`` a
table with its manifest and reports. Files are compared by identity, so that links do not hide an input.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import FileProblem, ParameterError, reason, suggestion
from shoal.tables.atomic import check_distinct, finish_interrupted, real_target, write_files
from shoal.tables.dialect import COMPRESSED, compression_of, without_compression

if TYPE_CHECKING:
    from shoal.tables.table import FileNumber, Table

_DATABASE = re.compile(r"(sqlite|duckdb|postgres|postgresql)://")
_PATTERN = re.compile(r"[*?\[]")
Family = Literal["text", "parquet", "arrow", "statistics", "excel"]


@dataclass(frozen=True)
class Format:
    """A file format: extension, family of readers and writers, title, and whether Shoal can write it."""

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
        Format(".xlsx", "excel", "Excel"),
        Format(".sav", "statistics", "SPSS"),
        Format(".zsav", "statistics", "SPSS"),
        Format(".dta", "statistics", "Stata"),
        Format(".xpt", "statistics", "SAS transport"),
        Format(".sas7bdat", "statistics", "SAS", writable=False),
    )
}

HEAD_ROWS = 1000
"""Records that a schema is drafted from, unless the whole table is read."""
_WORKBOOKS = frozenset({".xls", ".xlsb", ".xlsm", ".ods"})
"""Other forms of workbooks, which programs for tables can save as .xlsx."""


def is_database(data: Any) -> bool:
    """Return whether an input or output is the URI of a database (:mod:`shoal.tables.databases`).

    Examples
    --------
    >>> is_database("sqlite:///people.db?table=people"), is_database("people.csv")
    (True, False)
    """
    return isinstance(data, str) and _DATABASE.match(data) is not None


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, or a pattern that no file has as its name.

    Examples
    --------
    >>> is_folder(Path("people/*.parquet")), is_folder(Path("people.parquet"))
    (True, False)
    """
    try:
        return path.is_dir() or (bool(_PATTERN.search(str(path))) and not path.exists())
    except (OSError, ValueError):  # a name that is too long, or holds a zero byte
        return False


def format_of(path: Path) -> Format:
    """Return the format that the extension of a path names; text formats may have a further ``.gz`` or ``.zst``.

    Examples
    --------
    >>> format_of(Path("people.CSV.gz")).title
    'CSV'
    >>> format_of(Path("people.xls"))
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: people.xls: the extension ".xls" is unknown; choose from: .csv, .tsv, .txt (each also with .gz or .zst), .parquet, .arrow, .feather, .ipc, .xlsx, .sav, .zsav, .dta, .xpt, .sas7bdat; save the workbook as .xlsx
    """  # noqa: E501 - the doctest shows the text as one line
    inner = without_compression(path).suffix.casefold()
    known = _FORMATS.get(inner)
    if known is None or (compression_of(path) and known.family != "text"):
        text = [name for name, known in _FORMATS.items() if known.family == "text"]
        other = [name for name in _FORMATS if name not in text]
        extension = inner + (compression_of(path) or "")
        shown = f'the extension "{extension}" is unknown' if extension else "the name has no extension"
        raise FileProblem(
            f"{path}: {shown}; choose from: {', '.join(text)} (each also with {' or '.join(COMPRESSED)}), "
            f"{', '.join(other)}{'; save the workbook as .xlsx' if inner in _WORKBOOKS else ''}"
        )
    return known


def writable_format_of(path: Path) -> Format:
    """Return the format of an output file; raises :class:`FileProblem` if Shoal can only read that format.

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


def read_head(path: str | Path, *, rows: int = HEAD_ROWS, **options: Any) -> Table:
    r"""Return the first records of a file, without reading the rest.

    The types of columns in text files are inferred from these records only, so they may differ from those of
    :func:`read_table`. Use the result to draft a schema.

    Parameters
    ----------
    path
        The file.
    rows
        Maximum number of records.
    options
        The options of :func:`read_table`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     _ = Path(directory, "people.csv").write_text("age,city\n34,Ulm\n51,Bonn\n")
    ...     read_head(Path(directory, "people.csv"), rows=1).native.rows()
    [(34, 'Ulm')]
    """
    if rows < 1:
        raise ParameterError(f"rows={rows} must be at least 1")
    return _read(path, rows, **options)


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na_values: Sequence[str] = (),
    text: Sequence[str] = (),
    sheet: str | None = None,
    unread: Collection[str] = (),
    query: str | None = None,
) -> Table:
    r"""Read all rows of a table file.

    Parameters
    ----------
    path
        A file with one of the supported extensions, a folder or pattern (``people/*.parquet``) of Parquet files, or
        the URI of a database (:mod:`shoal.tables.databases`).
    delimiter
        Separator between the fields of a text file; detected if not given.
    encoding
        Encoding of a text file; detected if not given. For SPSS, Stata and SAS files only if the encoding that the
        file declares is wrong.
    decimal
        Decimal separator of a text file, ``"."`` or ``","``; detected if not given.
    na_values
        Texts that mean a missing value in a text file, besides the empty field, for example ``["NA", "?"]``. Numbers
        such as -999 are values unless they are listed here.
    text
        Columns of a text file to be read as text without conversion, for columns that are released unchanged. In
        these columns ``007``, ``1.50`` and texts in ``na_values`` stay as they are written.
    sheet
        Sheet of an Excel workbook; needed if it has more than one.
    unread
        Columns whose values are not read, for columns that are dropped; they are empty in the table.
    query
        SQL query, where ``path`` is the URI of a database without a table.

    Returns
    -------
    table
        A pyarrow Table inside for Parquet and Arrow files; a polars DataFrame for all others.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     _ = Path(directory, "people.csv").write_text("age;zip;income\n34;01067;1,5\n51;80331;\n")
    ...     read_table(Path(directory, "people.csv")).native.rows()
    [(34, '01067', 1.5), (51, '80331', None)]
    """
    return _read(
        path,
        None,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        na_values=na_values,
        text=text,
        sheet=sheet,
        unread=unread,
        query=query,
    )


def write_table(table: Table, path: str | Path) -> None:
    r"""Write a table to a file, which appears complete or not at all.

    The extension sets the format. Text is written in the dialect that it was read in; labels and formats of SPSS,
    Stata and SAS files are written back; a pandas index is not written.

    Parameters
    ----------
    table
        The table.
    path
        The output file. An existing file is replaced, but never the one that the table was read from.

    Examples
    --------
    >>> import polars as pl
    >>> from tempfile import TemporaryDirectory
    >>> from shoal.tables import Table
    >>> with TemporaryDirectory() as directory:
    ...     write_table(Table.from_native(pl.DataFrame({"age": [34, None]})), Path(directory, "safe.csv"))
    ...     Path(directory, "safe.csv").read_text()
    'age\n34\n\n'
    """
    path = Path(path)
    check_output(path, inputs=table.inputs, overwrite=True)
    write_files({path: lambda temporary: write_directly(table, temporary, target=path)})


def write_directly(table: Table, path: Path, *, target: Path) -> None:
    """Write a table to a path in the format that the target's extension names; for use with :func:`write_files`."""
    known = format_of(target)
    if known.family == "text":
        from shoal.tables.csv_files import write_csv

        write_csv(table, path, target)
    elif known.family == "statistics":
        from shoal.tables.stats_files import write_stats

        write_stats(table, path, target)
    elif known.family == "excel":
        from shoal.tables.excel_files import write_excel

        write_excel(table, path, target)
    else:
        from shoal.tables import arrow_files

        if known.family == "parquet":
            arrow_files.write_parquet(table, path)
        else:
            arrow_files.write_arrow(table, path, compressed=known.extension == ".feather")


def write_text(path: Path, text: str) -> None:
    """Write a text to a path as UTF-8 with Unix line ends; for use with :func:`write_files`."""
    path.write_text(text, encoding="utf-8", newline="\n")


def _read(path: str | Path, rows: int | None, **options: Any) -> Table:
    unread, query = options.pop("unread", ()), options.pop("query", None)
    if isinstance(path, str) and is_database(path):
        from shoal.tables.databases import read_database

        _check_options(Path("the database"), options, "a database")
        return read_database(path, query=query, rows=rows, unread=unread)
    path = Path(path)
    if query is not None:
        raise ParameterError(f"{path}: the option query is for databases, such as sqlite:///people.db")
    if is_folder(path):
        from shoal.tables.folders import read_folder

        _check_options(path, options, "a folder of Parquet files")
        return read_folder(path, rows, unread)
    known = format_of(path)
    check_input(path)
    if known.family != "excel" and options.get("sheet") is not None:
        raise ParameterError(f"{path}: the option sheet is for Excel files, this is {known.title}")
    sheet = options.pop("sheet", None)
    if known.family == "text":
        from shoal.tables.csv_files import read_csv

        return read_csv(path, rows=rows, unread=unread, **options)
    if known.family == "statistics":
        from shoal.tables.stats_files import read_stats

        encoding = options.pop("encoding", None)
        _check_options(path, options, known.title)
        return read_stats(path, rows=rows, encoding=encoding, unread=unread)
    _check_options(path, options, known.title)
    if known.family == "excel":
        from shoal.tables.excel_files import read_excel

        return read_excel(path, sheet=sheet, rows=rows, unread=unread)
    from shoal.tables import arrow_files

    read = arrow_files.read_parquet if known.family == "parquet" else arrow_files.read_arrow
    return read(path, rows, unread)


def _check_options(path: Path, options: Mapping[str, Any], title: str) -> None:
    for name in ("delimiter", "decimal", "na_values", "encoding", "sheet"):
        if options.get(name):
            raise ParameterError(f"{path}: the option {name} is for text files, this is {title}")


def check_input(path: Path) -> None:
    """Raise :class:`FileProblem` if the file does not exist, is no regular file, cannot be opened or is empty."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise FileProblem(f"{path} cannot be opened: {reason(error)}") from error
    if empty:
        raise FileProblem(f"{path} is empty; a table needs columns and records")


def check_regular(path: Path, what: str = "") -> None:
    """Raise :class:`FileProblem` unless an input is a file; a pipe would let the program wait for ever.

    Renames of a process that was killed while it replaced the file are finished first.

    Parameters
    ----------
    path
        The input.
    what
        What it is, before its name in the error text.

    Examples
    --------
    >>> check_regular(Path("."), "schema file")
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: schema file "." is a directory; name a file in it
    """
    shown = f'{what} "{path}"' if what else str(path)
    try:
        finish_interrupted(real_target(path).parent)
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()] if path.parent.is_dir() else []
        close = suggestion(path.name, names)
        hint = f"; {close}" if close.startswith("did you") else ""
        raise FileProblem(f"{shown} does not exist{hint}") from None
    except FileProblem:
        raise
    except (OSError, ValueError) as error:  # a name that is too long, links in a circle, a zero byte in the name
        text = reason(error) if isinstance(error, OSError) else "its name is not possible"
        raise FileProblem(f"{shown} cannot be opened: {text}") from error
    if stat.S_ISDIR(mode):
        raise FileProblem(f"{shown} is a directory; name a file in it")
    if not stat.S_ISREG(mode):
        raise FileProblem(f"{shown} is a pipe or a device; write its content to a file and name that")


def check_output(
    path: str | Path,
    *,
    inputs: Iterable[str | Path | FileNumber] = (),
    table: bool = True,
    overwrite: bool = False,
) -> None:
    """Raise :class:`FileProblem` if an output cannot be written or would overwrite an input.

    Parameters
    ----------
    path
        The output file.
    inputs
        The input files; the output must not be one of them, also not through a link.
    table
        Whether the output is a table, whose extension must name a format that Shoal writes; False for reports.
    overwrite
        Whether an existing file may be replaced.

    Examples
    --------
    >>> check_output("no-such-directory/safe.csv")
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: no-such-directory/safe.csv: the directory no-such-directory does not exist; create it first
    """  # noqa: E501 - the doctest shows the text as one line
    path = Path(path)
    if table:
        writable_format_of(path)
    try:
        _check_place(path)
        _check_no_input(path, inputs)
        if not overwrite:
            _check_absent(path)
    except FileProblem:
        raise
    except (OSError, ValueError) as error:  # names that are too long or hold a zero byte, links in a circle
        text = reason(error) if isinstance(error, OSError) else "its name is not possible"
        raise FileProblem(f"{path} cannot be written: {text}") from error


def _check_place(path: Path) -> None:
    """Raise if the directory does not exist, or if something that is no file has the name."""
    directory = path.parent
    if not _exists(directory):
        if any(above.is_file() for above in directory.parents):
            raise FileProblem(f"{path}: {directory} is not a directory; choose another output file")
        raise FileProblem(f"{path}: the directory {directory} does not exist; create it first")
    if not directory.is_dir():
        raise FileProblem(f"{path}: {directory} is not a directory; choose another output file")
    if path.is_dir():
        raise FileProblem(f"{path} is a directory; name a file in it")
    exists = _exists(path)
    if exists and not stat.S_ISREG(path.stat().st_mode):
        raise FileProblem(f"{path} is a pipe or a device, not a file; name a file")
    target = real_target(path)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileProblem(
            f"{path}: the directory {target.parent} is not writable; choose another or change its permissions"
        )
    if exists and not os.access(target, os.W_OK):
        raise FileProblem(f"{path} is write-protected; choose another name")


def _check_absent(path: Path) -> None:
    if _exists(path):
        raise FileProblem(f"{path} exists; choose another file, or replace it with --force (Python: overwrite=True)")


def _check_no_input(path: Path, inputs: Iterable[str | Path | FileNumber]) -> None:
    for source in inputs:
        if not isinstance(source, tuple) and Path(source).is_dir() and _is_inside(path, Path(source)):
            raise FileProblem(f"{path}: the output is inside the input folder {source}; choose another place")
        if isinstance(source, tuple):
            if _exists(path) and (path.stat().st_dev, path.stat().st_ino) == source:
                raise FileProblem(f"{path}: the output is the input; choose another name, the input is never changed")
        elif _same_file(path, Path(source)):
            raise FileProblem(
                f"{path}: the output is the input {source}; choose another name, the input is never changed"
            )


def check_targets(
    path: Path | str,
    manifest: str | Path | None,
    report: str | Path | None,
    *,
    public_report: str | Path | None = None,
    holder_record: Path | None = None,
    run_file: str | Path | None = None,
    inputs: Iterable[str | Path | FileNumber] = (),
    overwrite: bool = False,
) -> Path:
    """Return the path of the manifest; raises if an output cannot be written or two outputs are the same file.

    Parameters
    ----------
    path
        The output table; a file, or a table of a database by its URI.
    manifest
        The manifest; ``None`` for :func:`default_manifest_path`.
    report, public_report
        The reports; ``None`` for none.
    holder_record
        The holder's record; ``None`` for none.
    run_file
        The run file; ``None`` for none.
    inputs
        The input files; no output may be one of them.
    overwrite
        Whether existing files may be replaced.
    """
    inputs = list(inputs)
    if is_database(path):
        from shoal.tables.databases import check_database

        check_database(str(path), overwrite=overwrite)
    else:
        check_output(path, inputs=inputs, overwrite=overwrite)
    manifest = Path(manifest) if manifest is not None else default_manifest_path(files_beside(path))
    check_output(manifest, inputs=inputs, table=False, overwrite=overwrite)
    for page in (report, public_report):
        if page is not None:
            check_report(Path(page), inputs, overwrite=overwrite)
    for further in (holder_record, run_file):
        if further is not None:
            check_output(further, inputs=inputs, table=False, overwrite=overwrite)
    outputs = (None if is_database(path) else path, manifest, holder_record, report, public_report, run_file)
    check_distinct([Path(output) for output in outputs if output is not None])
    return manifest


def files_beside(path: Path | str) -> Path:
    """Return the path that names the files beside an output; for a table of a database they are in this directory.

    Examples
    --------
    >>> files_beside("sqlite:///people.db?table=safe").name
    'safe.db'
    """
    if not is_database(path):
        return Path(path)
    from shoal.tables.databases import Database

    return Path(f"{Database.of(str(path)).name}.db")


def check_report(path: Path, inputs: Iterable[str | Path | FileNumber] = (), *, overwrite: bool = False) -> None:
    """Raise if a report cannot be written or its extension is not that of a web page."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise ParameterError(f"the report is a web page; call it {path.stem or 'report'}.html instead of {path.name}")
    check_output(path, inputs=inputs, table=False, overwrite=overwrite)


def holder_record_path(path: Path, given: str | Path | None) -> Path | None:
    """Return the file of the holder's record: the one that is named, none, or by default one beside the table.

    Examples
    --------
    >>> holder_record_path(Path("out/safe.csv.gz"), None).name, holder_record_path(Path("safe.csv"), "none")
    ('safe.holder.parquet', None)
    """
    if given is None:
        name = f"{without_compression(path).stem}.holder.parquet"
        return path.with_name(name) if path.name else None  # a path without a name is no file: check_output says so
    if str(given) == "none":
        return None
    if Path(given).suffix != ".parquet":
        raise ParameterError(
            f"the holder's record is a Parquet file; call it {Path(given).stem or 'safe.holder'}.parquet instead of "
            f"{Path(given).name}, or none"
        )
    return Path(given)


def default_manifest_path(path: Path) -> Path:
    """Return ``safe.manifest.json`` for ``safe.csv`` or ``safe.csv.gz``.

    Examples
    --------
    >>> default_manifest_path(Path("out/safe.csv.gz")).name
    'safe.manifest.json'
    """
    return path.with_name(f"{without_compression(path).stem}.manifest.json")


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them does not exist
        return real_target(path) == real_target(other)


def _is_inside(path: Path, folder: Path) -> bool:
    return real_target(path).is_relative_to(real_target(folder))


def _exists(path: Path) -> bool:
    """Return whether a path exists; other problems than its absence raise, unlike in :meth:`Path.exists`."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except ValueError:
        raise FileProblem(f'"{path}" is no possible file: its name contains a zero byte') from None
    return True
