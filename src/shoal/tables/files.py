"""Any table file in, the same kind of file out.

The extension decides: text (CSV, optionally packed), Parquet, Arrow/Feather, and SPSS, Stata and SAS. A table read from
one kind may be written as another; what the other cannot hold (value labels in a CSV) stays behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import FileProblem, ParameterError, suggestion
from shoal.tables.atomic import check_output, write_files
from shoal.tables.formats import format_of

if TYPE_CHECKING:
    from shoal.tables.table import Table


def read_head(path: str | Path, *, rows: int = 1000, **options: Any) -> Table:
    r"""Return the first records of a file, without reading the rest.

    Types of text columns rest on these records only: good for a first look and for drafting a schema.

    Parameters
    ----------
    path
        The file.
    rows
        How many records at most.
    options
        Those of :func:`read_table`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "people.csv").write_text("age,city\n34,Ulm\n51,Bonn\n")
    ...     read_head(Path(folder, "people.csv"), rows=1).native.rows()
    [(34, 'Ulm')]
    """
    if rows < 1:
        raise ParameterError(f"rows={rows} must be at least 1")
    return _read(Path(path), rows, **options)


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing_marks: Sequence[str] = (),
    text: Sequence[str] = (),
) -> Table:
    r"""Read a table file, every row of it.

    Parameters
    ----------
    path
        A file with an extension Shoal knows.
    delimiter
        The sign between fields of a text file; found out if not given.
    encoding
        The encoding of a text file; found out if not given. For SPSS, Stata and SAS only if the file lies about it.
    decimal
        The decimal sign of a text file, ``"."`` or ``","``; found out if not given.
    missing_marks
        Fields of a text file that mean a missing value besides the empty field, for example ``["NA", "?"]``. Numbers
        such as -999 are values unless they are named here.
    text
        Columns of a text file to be kept as they stand, as text: all that will not be changed. In them ``007``,
        ``1.50`` and marks of missing values stay what they are.

    Returns
    -------
    table
        polars inside for text, SPSS, Stata and SAS; pyarrow for Parquet and Arrow.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "people.csv").write_text("age;zip;income\n34;01067;1,5\n51;80331;\n")
    ...     read_table(Path(folder, "people.csv")).native.rows()
    [(34, '01067', 1.5), (51, '80331', None)]
    """
    return _read(
        Path(path),
        None,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        missing_marks=missing_marks,
        text=text,
    )


def write_table(table: Table, path: str | Path) -> None:
    r"""Write a table to a file, which appears complete or not at all.

    The extension says the format. Text is written in the dialect it was read in; labels and formats of SPSS, Stata and
    SAS files are written back; a pandas index is not written.

    Parameters
    ----------
    table
        The table.
    path
        Where to; an existing file is replaced, but never the one the table was read from.

    Examples
    --------
    >>> import polars as pl
    >>> from tempfile import TemporaryDirectory
    >>> from shoal.tables import Table
    >>> with TemporaryDirectory() as folder:
    ...     write_table(Table.from_native(pl.DataFrame({"age": [34, None]})), Path(folder, "safe.csv"))
    ...     Path(folder, "safe.csv").read_text()
    'age\n34\n\n'
    """
    path = Path(path)
    check_output(path, inputs=[table.source] if table.source else [])
    write_files({path: lambda temporary: write_plainly(table, temporary, target=path)})


def write_plainly(table: Table, path: Path, *, target: Path) -> None:
    """Write a table straight to a path in the format of the target's name; for use with :func:`write_files`."""
    known = format_of(target)
    if known.family == "text":
        from shoal.tables.csv_writer import write_csv

        write_csv(table, path, target)
    elif known.family == "statistics":
        from shoal.tables.stats_files import write_stats

        write_stats(table, path, target)
    else:
        from shoal.tables import arrow_files

        if known.family == "parquet":
            arrow_files.write_parquet(table, path)
        else:
            arrow_files.write_arrow(table, path, compressed=known.extension == ".feather")


def write_text(path: Path, text: str) -> None:
    """Write a text straight to a path as UTF-8 with plain line ends; for use with :func:`write_files`."""
    path.write_text(text, encoding="utf-8", newline="\n")


def _read(path: Path, rows: int | None, **options: Any) -> Table:
    known = format_of(path)
    _check_input(path)
    if known.family == "text":
        from shoal.tables.csv_reader import read_csv

        return read_csv(path, rows=rows, **options)
    for name in ("delimiter", "decimal", "missing_marks"):
        if options.get(name):
            raise ParameterError(f"{path}: the option {name} is for text files, this is {known.title}")
    if known.family == "statistics":
        from shoal.tables.stats_files import read_stats

        return read_stats(path, rows=rows, encoding=options.get("encoding"))
    if options.get("encoding"):
        raise ParameterError(f"{path}: the option encoding is for text files, this is {known.title}")
    from shoal.tables import arrow_files

    return arrow_files.read_parquet(path, rows) if known.family == "parquet" else arrow_files.read_arrow(path, rows)


def _check_input(path: Path) -> None:
    """Refuse what is not there, is a folder, cannot be opened or is empty."""
    if path.is_dir():
        raise FileProblem(f"{path} is a folder; name a file in it")
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()] if path.parent.is_dir() else []
        close = suggestion(path.name, names)
        raise FileProblem(f"{path} does not exist" + (f"; {close}" if close.startswith("did you") else ""))
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise FileProblem(f"{path} cannot be opened: {(error.strerror or 'unknown reason').lower()}") from error
    if empty:
        raise FileProblem(f"{path} is empty; a table needs columns and records")
