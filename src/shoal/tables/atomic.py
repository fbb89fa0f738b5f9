"""Output files: checked before any work begins, and written so that they appear complete or not at all.

``check_output`` checks that one file can be written and is no input, ``check_targets`` a table with its manifest and
reports.

A file is written beside its target under a temporary hidden name, flushed to the disk, and then renamed. The hidden
name (``.people.csv.….shoal-tmp``) contains the machine and the process, so that the next write to the same target finds
and removes temporary files of processes that were killed.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import socket
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from shoal.errors import FileProblem, ParameterError

_count = itertools.count()


def write_files(writers: Mapping[Path, Callable[[Path], None]]) -> None:
    """Write several files so that either all of them appear, complete, or none.

    Each writer receives a temporary path beside its target. When all writers have succeeded and the data are on the
    disk, the files are renamed in the given order: put the one whose presence means "finished" last. After an error or
    Ctrl-C, existing files are unchanged and no new file is left.

    Parameters
    ----------
    writers
        For each target a function that writes the content to the path that it receives.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     write_files({Path(directory, "a.txt"): lambda path: path.write_text("complete") and None})
    ...     Path(directory, "a.txt").read_text()
    'complete'
    """
    temporaries: dict[Path, Path] = {}
    try:
        for path, writer in writers.items():
            target = real_target(Path(path))
            remove_leftovers(target)
            temporary = temporary_name(target)
            temporaries[target] = temporary
            _create(temporary, target)
            writer(temporary)
            _flush(temporary)
        _rename_all(temporaries)
    except OSError as error:
        if isinstance(error, FileProblem):
            raise
        raise FileProblem(f"{', '.join(map(str, writers))}: {_reason(error)}; nothing was written") from error
    finally:
        for temporary in temporaries.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def temporary_name(target: Path) -> Path:
    """Return a new hidden name beside a target; it contains machine and process.

    Examples
    --------
    >>> name = temporary_name(Path("people.csv")).name
    >>> name.startswith(".people.csv."), name.endswith(".shoal-tmp")
    (True, True)
    """
    return target.with_name(f"{_prefix(target)}{os.getpid()}-{next(_count)}.shoal-tmp")


def remove_leftovers(target: Path) -> None:
    """Remove temporary files for a target that were left by processes of this machine that no longer run."""
    pattern = re.compile(re.escape(_prefix(target)) + r"(\d+)-\d+\.shoal-tmp")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            match = pattern.fullmatch(entry.name)
            if match and not _alive(int(match[1])):
                os.unlink(entry.path)  # noqa: PTH108 - scandir returns text, and directories can be long


def _prefix(target: Path) -> str:
    """Return the start of the hidden name: unique for target and machine, short enough for any file system."""
    digest = sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    machine = sha256(socket.gethostname().encode()).hexdigest()[:8]
    return f".{target.name[:40]}.{digest}.{machine}."


def _create(temporary: Path, target: Path) -> None:
    """Create the file with the permissions that a plain ``open`` of the target would give."""
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    with suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def _flush(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _flush_directory(directory: Path) -> None:
    with suppress(OSError):  # some systems cannot open a directory; then only the file system protects the rename
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename_all(temporaries: Mapping[Path, Path]) -> None:
    """Rename one file after the other; if one fails, undo the renames before it."""
    if len(temporaries) == 1:
        [(target, temporary)] = temporaries.items()
        temporary.replace(target)
        _flush_directory(target.parent)
        return
    backups: dict[Path, Path | None] = {}
    try:
        for target, temporary in temporaries.items():
            backups[target] = _backup(target)
            temporary.replace(target)
    except BaseException:
        for target, backup in backups.items():
            if backup is not None:
                backup.replace(target)
            elif not temporaries[target].exists():
                target.unlink(missing_ok=True)
        raise
    finally:
        for backup in backups.values():
            if backup is not None:
                with suppress(OSError):
                    backup.unlink(missing_ok=True)
    for directory in {target.parent for target in temporaries}:
        _flush_directory(directory)


def _backup(target: Path) -> Path | None:
    """Give a file that will be replaced a second, hidden name."""
    if not target.exists():
        return None
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a directory has that name", str(target))
    backup = temporary_name(target)
    try:
        os.link(target, backup)
    except OSError:  # a file system without links
        target.replace(backup)
    return backup


def real_target(path: Path) -> Path:
    """Follow links, as a plain ``open`` would."""
    return Path(os.path.realpath(path))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to another user, or the system cannot say
        return True
    return True


def _reason(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "the disk is full or the file too large for it"
    return (error.strerror or "the file cannot be written").lower()


def check_output(path: str | Path, *, inputs: Iterable[str | Path] = (), table: bool = True) -> None:
    """Raise :class:`FileProblem` if an output cannot be written or would overwrite an input.

    Parameters
    ----------
    path
        The output file.
    inputs
        The input files; the output must not be one of them, also not through a link.
    table
        Whether the output is a table, whose extension must name a format that Shoal writes; False for reports.

    Examples
    --------
    >>> check_output("no-such-directory/safe.csv")
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: no-such-directory/safe.csv: the directory no-such-directory does not exist; create it first
    """  # noqa: E501 - the doctest shows the text as one line
    path = Path(path)
    check_name(path)
    if table:
        from shoal.tables.files import writable_format_of

        writable_format_of(path)
    directory = path.parent
    if not directory.exists():
        if any(above.is_file() for above in directory.parents):
            raise FileProblem(f"{path}: {directory} is not a directory; choose another output file")
        raise FileProblem(f"{path}: the directory {directory} does not exist; create it first")
    if not directory.is_dir():
        raise FileProblem(f"{path}: {directory} is not a directory; choose another output file")
    if path.is_dir():
        raise FileProblem(f"{path} is a directory; name a file in it")
    for source in map(Path, inputs):
        if _same_file(path, source):
            raise FileProblem(
                f"{path}: the output is the input {source}; choose another name, the input is never changed"
            )
    target = real_target(path)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileProblem(
            f"{path}: the directory {target.parent} is not writable; choose another or change its permissions"
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise FileProblem(f"{path} is write-protected; choose another name")


def check_name(path: Path) -> None:
    """Raise for a name that no file can have, and for symbolic links that lead to each other."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # explained by what reads or writes the file
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "its name contains a zero byte"
        raise FileProblem(f'"{path}" is no possible file: {reason.lower()}') from None


def check_targets(
    path: Path,
    manifest: str | Path | None,
    report: str | Path | None,
    *,
    public_report: str | Path | None = None,
    inputs: tuple[Path, ...] = (),
) -> Path:
    """Return the path of the manifest; raises if an output cannot be written or two outputs are the same file.

    Parameters
    ----------
    path
        The output table.
    manifest
        The manifest; ``None`` for :func:`default_manifest_path`.
    report, public_report
        The reports; ``None`` for none.
    inputs
        The input files; no output may be one of them.
    """
    check_output(path, inputs=inputs)
    manifest = Path(manifest) if manifest is not None else default_manifest_path(path)
    check_output(manifest, inputs=inputs, table=False)
    for page in (report, public_report):
        if page is not None:
            check_report(Path(page), inputs)
    outputs = [Path(output).resolve() for output in (path, manifest, report, public_report) if output is not None]
    if len(set(outputs)) < len(outputs):
        raise ParameterError("table, manifest and reports need different files")
    return manifest


def check_report(path: Path, inputs: tuple[Path, ...] = ()) -> None:
    """Raise if a report cannot be written or its extension is not that of a web page."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise ParameterError(f"the report is a web page; call it {path.stem or 'report'}.html instead of {path.name}")
    check_output(path, inputs=inputs, table=False)


def default_manifest_path(path: Path) -> Path:
    """Return ``safe.manifest.json`` for ``safe.csv`` or ``safe.csv.gz``.

    Examples
    --------
    >>> default_manifest_path(Path("out/safe.csv.gz")).name
    'safe.manifest.json'
    """
    name = path.name.removesuffix(".gz")
    return path.with_name(f"{Path(name).stem}.manifest.json")


def _same_file(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return real_target(path) == real_target(other)
