"""SPSS, Stata and SAS files, read and written with pyreadstat; labels, formats and missing codes are preserved.

SPSS stores integers as floating point with a format of no decimals; they become integers here. Declared missing values
are missing in the table, and their codes are written back (:mod:`shoal.tables.column_labels`). After writing, the file
is opened again and its records are counted, because pyreadstat does not report every full disk.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, FileProblem, MissingExtra, SchemaError
from shoal.tables.column_labels import Labels, is_text_format
from shoal.tables.csv_files import check_writable
from shoal.tables.files import format_of
from shoal.tables.table import Table, is_text, to_polars

if TYPE_CHECKING:
    import polars as pl

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".xpt": "read_xport"}
_LONGEST_NAME = {".sav": 64, ".zsav": 64, ".dta": 32, ".xpt": 32}
_LARGEST_LONG = 2_147_483_620  # the largest integer of Stata; SPSS and SAS have no integers
_INTEGER_FORMAT = re.compile(r"(F|N|DOLLAR|COMMA|DOT|PCT)\d+(\.0)?")
_LONGEST_LABEL = 80  # characters of the label of a variable in Stata
_RESERVED = {
    ".dta": re.compile(
        r"_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str\d+|strL|using|with"
    ),
    ".sav": re.compile(r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with", re.IGNORECASE),
    ".xpt": re.compile(r"_(n|error|numeric|character|all)_", re.IGNORECASE),
}
_HEADER = 560  # bytes, before any value or name of a column
_TIME_STAMPS = {
    ".sav": re.compile(rb"\A.{92}(.{9}).{8}", re.DOTALL),
    ".zsav": re.compile(rb"\A.{92}(.{9}).{8}", re.DOTALL),
    ".dta": re.compile(rb"<timestamp>\x11(.{17})</timestamp>"),
    ".xpt": re.compile(rb"(\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d)"),
}
_TIME_FORMAT = re.compile(r"DATE|TIME|YMDHMS|DDMMYY|MMDDYY|YYMMDD|TOD|%-?t[dcC]", re.IGNORECASE)
"""Formats of columns that are read as dates or times; months, quarters and weeks are read as numbers."""


def read_stats(
    path: Path, *, rows: int | None = None, encoding: str | None = None, unread: Collection[str] = ()
) -> Table:
    """Read an SPSS, Stata or SAS file, or its first rows; ``unread`` columns come back empty."""
    import narwhals as nw
    import polars as pl

    extension = format_of(path).extension
    reader = getattr(_pyreadstat(), READERS.get(extension, "read_sas7bdat"))
    options: dict[str, Any] = {"output_format": "polars", "row_limit": rows or 0, "encoding": encoding}
    if extension != ".xpt":
        options["user_missing"] = True
    try:
        names = _all_names(reader, path, encoding) if unread else []
        if unread:
            options["usecols"] = [name for name in names if name not in set(unread)]
        frame, metadata = reader(str(path), **options)
    except Exception as error:  # pyreadstat raises Exception itself for corrupt files
        raise FileProblem(
            f"{path} cannot be read as {format_of(path).title}: it is corrupt, truncated, encrypted or in "
            "another encoding"
        ) from error
    if not frame.width:
        raise DataError(f"{path} has no columns")
    if not frame.height:
        raise DataError(f"{path} has columns but no records")
    frame, codes = _declared_missing(_typed(frame, metadata), metadata)
    frame = frame.with_columns(pl.col(pl.String).replace("", None))  # these programs have no empty texts
    labels = Labels(
        variable={name: label for name, label in metadata.column_names_to_labels.items() if label},
        values={name: dict(values) for name, values in metadata.variable_value_labels.items() if values},
        formats={name: kind for name, kind in metadata.original_variable_types.items() if kind and kind != "NULL"},
        measures={name: measure for name, measure in metadata.variable_measure.items() if measure != "unknown"},
        widths={name: width for name, width in metadata.variable_display_width.items() if width > 0},
        missing_ranges=dict(metadata.missing_ranges),
        missing_codes=codes,
        left_out=tuple(
            title for title, found in (("the label", metadata.file_label), ("the notes", metadata.notes)) if found
        ),
        family=extension,
    )
    if extension in {".sav", ".zsav"}:
        frame = _as_integers(frame, labels)
    empty = tuple(name for name in names if name not in set(frame.columns))
    if empty:
        frame = frame.with_columns(pl.lit(None, pl.Null).alias(name) for name in empty).select(names)
    return Table(nw.from_native(frame, eager_only=True), source=path, labels=labels, unread=empty)


def write_stats(table: Table, path: Path, target: Path) -> None:
    """Write an SPSS, Stata or SAS transport file."""
    pyreadstat = _pyreadstat()
    extension = format_of(target).extension
    frame = to_polars(table)
    check_writable(frame, target)
    _check_names(frame.columns, extension, target)
    labels = _fitting(table.labels or Labels(), frame, extension)
    frame = _with_codes(_storable(frame), labels)
    labels = _with_keys_as_stored(labels, frame)
    options: dict[str, Any] = {
        "column_labels": labels.variable,
        "variable_format": labels.formats,
    }
    if extension == ".xpt":
        options["table_name"] = "DATASET"
        write = pyreadstat.write_xport
    elif extension == ".dta":
        options["variable_value_labels"] = labels.values
        options["missing_user_values"] = {name: sorted(set(codes)) for name, (_, codes) in labels.missing_codes.items()}
        write = pyreadstat.write_dta
    else:
        options |= {
            "variable_value_labels": labels.values,
            "missing_ranges": labels.missing_ranges,
            "variable_measure": labels.measures,
            "variable_display_width": labels.widths,
            "compress": extension == ".zsav",
            "row_compress": extension == ".sav",
        }
        write = pyreadstat.write_sav
    try:
        write(frame, str(path), **options)
    except Exception as error:  # as above; its text may contain values of records, so it is not shown
        raise _unwritable(target, error) from error
    _fix_time_stamps(path, extension)
    _check_complete(path, frame, extension, target)


def _all_names(reader: Any, path: Path, encoding: str | None) -> list[str]:
    return list(reader(str(path), metadataonly=True, encoding=encoding)[1].column_names)


def _fix_time_stamps(path: Path, extension: str) -> None:
    """Replace the time of writing in the header of a file by a fixed one, so that equal tables give equal bytes."""
    with path.open("r+b") as file:
        header = file.read(_HEADER)
        for found in _TIME_STAMPS[extension].finditer(header):
            fixed = {9: b"01 Jan 70", 16: b"01JAN70:00:00:00", 17: b"01 Jan 1970 00:00"}
            file.seek(found.start(1))
            file.write(fixed[len(found[1])])
            if extension in {".sav", ".zsav"}:
                file.write(b"00:00:00")


def _pyreadstat() -> Any:
    try:
        import pyreadstat
    except ImportError as error:
        raise MissingExtra(
            'SPSS, Stata and SAS files need pyreadstat; install it with: pip install "shoal[stats-files]"'
        ) from error
    return pyreadstat


def _declared_missing(frame: pl.DataFrame, metadata: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the frame with declared missing values as missing, and the codes they had, by column."""
    import polars as pl

    codes: dict[str, Any] = {}
    for name, ranges in metadata.missing_ranges.items():
        column = frame[name]
        declared = pl.Series(np.zeros(frame.height, np.bool_))
        for found in ranges:
            declared |= column.is_between(found["lo"], found["hi"]).fill_null(value=False)
        if declared.any():
            codes[name] = (np.flatnonzero(declared.to_numpy()), column.filter(declared).to_list())
            frame = frame.with_columns(column.zip_with(~declared, pl.Series([None], dtype=column.dtype)))
    for name in metadata.missing_user_values:  # Stata's .a to .z, SAS's .A to .Z and ._ come as letters among numbers
        values = frame[name].to_list()
        letters = [row for row, value in enumerate(values) if isinstance(value, str)]
        codes[name] = (np.array(letters, np.int64), [values[row].lower() for row in letters])
        numbers = [None if isinstance(value, str) else value for value in values]
        frame = frame.with_columns(pl.Series(name, numbers, strict=False))
    return frame, codes


def _typed(frame: pl.DataFrame, metadata: Any) -> pl.DataFrame:
    """Return the frame with columns of missing values only, and of short floats, in the type that the file states."""
    import polars as pl

    stated = metadata.readstat_variable_types
    empty = {"string": pl.String, "int8": pl.Int64, "int16": pl.Int64, "int32": pl.Int64}
    changed = [
        pl.col(name).cast(empty.get(stated.get(name), pl.Float64))
        if dtype == pl.Null
        else pl.col(name).cast(pl.Float32)
        for name, dtype in frame.schema.items()
        if dtype == pl.Null or (stated.get(name) == "float" and dtype == pl.Float64)
    ]
    return frame.with_columns(changed) if changed else frame


def _as_integers(frame: pl.DataFrame, labels: Labels) -> pl.DataFrame:
    import polars as pl

    integers = [
        name
        for name, kind in labels.formats.items()
        if _INTEGER_FORMAT.fullmatch(kind)
        and frame[name].dtype == pl.Float64
        and frame[name].is_finite().all()
        and (frame[name].abs() < 2**53).all()
        and (frame[name] == frame[name].round()).all()
    ]
    return frame.with_columns(pl.col(integers).cast(pl.Int64)) if integers else frame


def _fitting(labels: Labels, frame: pl.DataFrame, extension: str) -> Labels:
    """Return the labels without those that no longer fit: of numbers that became text, formats of another program."""
    text = {name: is_text(dtype) for name, dtype in frame.schema.items()}

    def fits(name: str, keys: Any) -> bool:
        return all(isinstance(key, str) == text[name] for key in keys)

    same = labels.family == extension or {labels.family, extension} <= {".sav", ".zsav"}
    letters = labels.family in {".dta", ".sas7bdat"} and extension == ".dta"
    lettered = set(labels.missing_codes) if letters else set()
    values = {
        name: {key: label for key, label in found.items() if name in lettered or isinstance(key, str) == text[name]}
        for name, found in labels.values.items()
    }
    if extension == ".dta":  # Stata labels integers only
        values = {
            name: {int(key) if isinstance(key, float) else key: label for key, label in found.items()}
            for name, found in values.items()
            if not text[name] and all(isinstance(key, str) or key == int(key) for key in found)
        }
    ranges = {
        name: found
        for name, found in labels.missing_ranges.items()
        if same and fits(name, [part["lo"] for part in found])
    }
    longest = _LONGEST_LABEL if extension == ".dta" else None
    return replace(
        labels,
        variable={name: label[:longest] for name, label in labels.variable.items()},
        values={name: found for name, found in values.items() if found},
        formats={
            name: kind for name, kind in labels.formats.items() if same and _format_fits(kind, frame.schema[name])
        },
        missing_ranges=ranges,
        missing_codes={
            name: _letters(*found) if letters else found
            for name, found in labels.missing_codes.items()
            if letters or (same and name in ranges)
        },
    )


def _letters(rows: NDArray[np.int64], codes: list[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the codes that Stata has, .a to .z; SAS has ._ as well."""
    kept = [number for number, code in enumerate(codes) if code != "_"]
    return rows[kept], [codes[number] for number in kept]


def _with_keys_as_stored(labels: Labels, frame: pl.DataFrame) -> Labels:
    """Return the labels with values of the type that the column is stored in, as pyreadstat needs it.

    SPSS has floats only, so that the labels of a column of integers are read with the keys 1.0 and 2.0.
    """

    def keys(name: str, found: dict[Any, str]) -> dict[Any, str]:
        dtype = frame.schema[name]
        if dtype.is_integer():
            return {int(key): label for key, label in found.items() if not isinstance(key, str) and key == int(key)}
        return {float(key): label for key, label in found.items()} if dtype.is_float() else found

    values = {name: keys(name, found) for name, found in labels.values.items()}
    return replace(labels, values={name: found for name, found in values.items() if found})


def _format_fits(kind: str, dtype: Any) -> bool:
    if _TIME_FORMAT.search(kind):
        return bool(dtype.is_temporal())
    return not dtype.is_temporal() and is_text_format(kind) == is_text(dtype)


def _storable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with unsupported types converted to the nearest type that these programs have."""
    import polars as pl

    changed = []
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Categorical | pl.Enum):
            changed.append(pl.col(name).cast(pl.String))
        elif dtype.is_decimal():
            changed.append(pl.col(name).cast(pl.Float64))
        elif dtype == pl.Boolean:
            changed.append(pl.col(name).cast(pl.Int8))
        elif dtype == pl.Int64 and (frame[name].abs() <= _LARGEST_LONG).all():
            changed.append(pl.col(name).cast(pl.Int32))  # stored as integers, not as floating point
        elif isinstance(dtype, pl.Datetime) and dtype.time_zone:
            changed.append(pl.col(name).dt.convert_time_zone("UTC").dt.replace_time_zone(None))
        elif isinstance(dtype, pl.Duration):
            changed.append(pl.col(name).dt.total_seconds(fractional=True))
    return frame.with_columns(changed) if changed else frame


def _with_codes(frame: pl.DataFrame, labels: Labels) -> pl.DataFrame:
    """Return the frame with the codes of declared missing values where the value is still missing."""
    import polars as pl

    for name, (rows, codes) in labels.missing_codes.items():
        values = frame[name].to_list()
        for row, code in zip(rows, codes, strict=True):
            values[row] = code if values[row] is None else values[row]
        text = frame[name].dtype == pl.String
        letters = not text and any(isinstance(code, str) for code in codes)
        dtype = pl.String if text else pl.Object if letters else pl.Float64
        frame = frame.with_columns(pl.Series(name, values, dtype=dtype, strict=False))
    return frame


def _check_names(names: list[str], extension: str, target: Path) -> None:
    """Raise :class:`SchemaError` for names that the program does not allow."""
    title, longest = format_of(target).title, _LONGEST_NAME[extension]
    first = r"[^\W\d_]" if extension in {".sav", ".zsav"} else r"[^\W\d]"
    rest = r"[\w.$#@]*" if extension in {".sav", ".zsav"} else r"\w*"
    allowed = re.compile(first + rest, re.ASCII if extension == ".xpt" else 0)
    reserved = _RESERVED[".sav" if extension == ".zsav" else extension]
    for name in names:
        if reserved.fullmatch(name):
            raise SchemaError(
                f'{target}: the column name "{name}" is a reserved word of {title}; rename it or write another format'
            )
        if len(name.encode()) > longest or not allowed.fullmatch(name):
            raise SchemaError(
                f'{target}: {title} does not allow the column name "{name}" (at most {longest} bytes, letters, digits '
                f"and _, a letter first); rename it or write another format"
            )


def _unwritable(target: Path, error: Exception) -> FileProblem:
    if isinstance(error, OSError) or "Unable to write" in str(error):
        return FileProblem(f"{target}: the disk is full or the file too large for it; nothing was written")
    return FileProblem(
        f"{target} cannot be written as {format_of(target).title}: a value, label or format does not fit; "
        f"write .csv or .parquet instead"
    )


def _check_complete(path: Path, frame: pl.DataFrame, extension: str, target: Path) -> None:
    """Raise if the file on the disk does not have all records, because a full disk may not be reported."""
    try:
        reader = getattr(_pyreadstat(), READERS[extension])
        height = reader(str(path), usecols=frame.columns[:1], output_format="polars")[0].height
    except Exception:  # noqa: BLE001 - the file is incomplete, whatever the reason
        height = -1
    if height != frame.height:
        raise FileProblem(f"{target}: the disk is full or the file too large for it; nothing was written")
