"""A folder or a pattern of Parquet files as one table, in the order of the names of its files.

Folders named ``year=2024`` inside it are partitions as Hive writes them: the name becomes a column at the end of the
table, in the type that all of its values suggest. Files and folders whose names begin with ``_`` or ``.`` are not part
of the table. All files need the same columns; types that differ are brought together if nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shoal.errors import DataError, FileProblem, SchemaError
from shoal.tables.table import Table

_PATTERN = re.compile(r"[*?\[]")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def read_folder(path: Path, rows: int | None = None, unread: Collection[str] = ()) -> Table:
    """Read all Parquet files of a folder or pattern, or their first rows; ``unread`` columns come back empty."""
    from shoal.tables.arrow_files import read_parquet_table
    from shoal.tables.files import check_input

    root, files = folder_files(path)
    parts, found = [], 0
    for file in files:
        check_input(file)
        part = read_parquet_table(file, None if rows is None else rows - found, unread)
        parts.append(part)
        found += part.num_rows
        if rows is not None and found >= rows:
            break
    table = _together(path, files, parts)
    keys = partition_values(path, root, files)
    for name, values in keys.items():
        if name in table.column_names:
            raise SchemaError(f'{path}: "{name}" is a column of the files and a partition; rename one of them')
        if name in unread:
            import pyarrow as pa

            table = table.append_column(name, pa.nulls(table.num_rows))
        else:
            counts = [part.num_rows for part in parts]
            table = table.append_column(name, _repeated(name, values, counts))
    if not table.num_rows:
        raise DataError(f"{path} has columns but no records")
    missing = tuple(name for name in table.column_names if name in set(unread))
    made = replace(Table.from_native(table), source=path, unread=missing)
    return replace(made, inputs=(*made.inputs, *files))


def folder_files(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder that partitions are looked for in, and the files in the order of their names."""
    if path.is_dir():
        root, found = path, path.rglob("*")
    else:
        parts = path.parts
        first = next(number for number, part in enumerate(parts) if _PATTERN.search(part))
        root = Path(*parts[:first])
        found = root.glob(str(Path(*parts[first:])))
    inside = [file for file in found if file.is_file() and not _is_hidden(file.relative_to(root))]
    files = [file for file in inside if file.suffix.casefold() == ".parquet"]
    if not files:
        what = (
            "is a directory; name a file in it, or a directory" if path.is_dir() else "matches no file; name a pattern"
        )
        raise FileProblem(f"{path} {what} of Parquet files")
    other = next((file for file in inside if file not in set(files)), None)
    if other is not None:
        raise FileProblem(f"{path}: {other.name} is no Parquet file; move it, or name a pattern of files")
    return root, sorted(files, key=lambda file: file.relative_to(root).parts)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def _together(path: Path, files: Sequence[Path], parts: Sequence[Any]) -> Any:
    import pyarrow as pa

    names = parts[0].column_names
    for file, part in zip(files, parts, strict=False):
        if sorted(part.column_names) != sorted(names):
            odd = min(set(part.column_names) ^ set(names))
            raise SchemaError(
                f'{path}: column "{odd}" is not in all files, {files[0].name} and {file.name} differ; give all files '
                f"the same columns"
            )
    try:
        return pa.concat_tables([part.select(names) for part in parts], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        odd = next(
            name for name in names if len({str(part.schema.field(name).type) for part in parts}) > 1
        )  # fmt: skip
        raise SchemaError(f'{path}: column "{odd}" has different types in different files; convert it') from error


def partition_values(path: Path, root: Path, files: Sequence[Path]) -> dict[str, list[str | None]]:
    """Return the partition columns: for each the value of each file."""
    found = [
        dict(part.split("=", 1) for part in file.relative_to(root).parts[:-1] if "=" in part) for file in files
    ]  # fmt: skip
    names = list(found[0])
    if any(list(values) != names for values in found):
        raise SchemaError(f"{path}: some files are in other partitions than the rest; give all files the same ones")
    return {
        unquote(name): [None if values[name] == _NO_VALUE else unquote(values[name]) for values in found]
        for name in names
    }


def _repeated(name: str, values: Sequence[str | None], counts: Sequence[int]) -> Any:
    import polars as pl

    from shoal.tables.text_columns import typed_series

    typed = typed_series(pl.Series(name, values, dtype=pl.String), decimal=".", na_values=())
    rows = [number for number, count in enumerate(counts) for _ in range(count)]
    return typed.gather(rows).to_arrow()
