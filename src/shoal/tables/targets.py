"""Output files, checked before any work begins: writable, no input of the run, and different from each other.

``check_output`` checks one file, ``check_targets`` a table with its manifest and reports. Files are compared by
identity, so that links do not hide an input.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import FileProblem, ParameterError, reason
from shoal.tables.atomic import check_distinct, real_target
from shoal.tables.dialect import without_compression
from shoal.tables.files import is_database, writable_format_of

if TYPE_CHECKING:
    from shoal.tables.table import FileNumber


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
