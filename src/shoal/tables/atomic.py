"""Files that appear whole or not at all, also when the disk fills up or the process is killed.

A file is written beside its target under a hidden name, flushed to the disk, and only then renamed. The hidden name
(``.people.csv.….shoal-tmp``) carries the machine and the process, so that what a killed process left behind is
recognised and removed by the next write to the same target.
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

from shoal.errors import FileProblem
from shoal.tables.formats import writable_format_of

_count = itertools.count()


def check_output(path: str | Path, *, inputs: Iterable[str | Path] = (), table: bool = True) -> None:
    """Refuse an output that could not be written or would destroy an input, before any work is done.

    Parameters
    ----------
    path
        The file that will be written.
    inputs
        Files that are read; the output must not be one of them, under whatever name or link.
    table
        Whether a table will be written, so that the extension must be one Shoal knows; False for reports.

    Examples
    --------
    >>> check_output("no-such-folder/safe.csv")
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: no-such-folder/safe.csv: the folder no-such-folder does not exist; create it first
    """
    path = Path(path)
    if table:
        writable_format_of(path)
    folder = path.parent
    if not folder.exists():
        if any(above.is_file() for above in folder.parents):
            raise FileProblem(f"{path}: {folder} is not a folder; choose another place")
        raise FileProblem(f"{path}: the folder {folder} does not exist; create it first")
    if not folder.is_dir():
        raise FileProblem(f"{path}: {folder} is not a folder; choose another place")
    if path.is_dir():
        raise FileProblem(f"{path} is a folder; name a file in it")
    for read in map(Path, inputs):
        if _same_file(path, read):
            raise FileProblem(
                f"{path}: the output is the input {read}; choose another name, the input is never changed"
            )
    real = _real_target(path)
    if not os.access(real.parent, os.W_OK | os.X_OK):
        raise FileProblem(f"{path}: the folder {real.parent} is not writable; choose another or change its permissions")
    if real.exists() and not os.access(real, os.W_OK):
        raise FileProblem(f"{path} is write-protected; choose another name")


def write_files(writers: Mapping[Path, Callable[[Path], None]]) -> None:
    """Write several files so that all of them appear, complete, or none.

    Each writer gets a temporary path beside its target and fills it. When all have succeeded and the data is on the
    disk, the files are renamed in the order given: put the one whose presence means "finished" last. After an error,
    or Ctrl-C, files that were there before are there unchanged and nothing new is left behind.

    Parameters
    ----------
    writers
        For each target the function that writes it to the path it is given.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_files({Path(folder, "a.txt"): lambda path: path.write_text("whole") and None})
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    temporaries: dict[Path, Path] = {}
    try:
        for path, writer in writers.items():
            target = _real_target(Path(path))
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
    """Return a fresh hidden name beside a target, which says whose it is.

    Examples
    --------
    >>> name = temporary_name(Path("people.csv")).name
    >>> name.startswith(".people.csv."), name.endswith(".shoal-tmp")
    (True, True)
    """
    return target.with_name(f"{_prefix(target)}{os.getpid()}-{next(_count)}.shoal-tmp")


def remove_leftovers(target: Path) -> None:
    """Remove what processes of this machine that are no longer alive have left behind for a target."""
    pattern = re.compile(re.escape(_prefix(target)) + r"(\d+)-\d+\.shoal-tmp")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            match = pattern.fullmatch(entry.name)
            if match and not _alive(int(match[1])):
                os.unlink(entry.path)  # noqa: PTH108 - scandir gives texts, and folders can be long


def _prefix(target: Path) -> str:
    """Start of the hidden name: recognisable, unique for target and machine, short enough for any file system."""
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


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open a folder; the rename is then as safe as they make it
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename_all(temporaries: Mapping[Path, Path]) -> None:
    """Rename one after the other; if one fails, take back those before it."""
    if len(temporaries) == 1:
        [(target, temporary)] = temporaries.items()
        temporary.replace(target)
        _flush_folder(target.parent)
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
    for folder in {target.parent for target in temporaries}:
        _flush_folder(folder)


def _backup(target: Path) -> Path | None:
    """Give a file that will be replaced a second, hidden name."""
    if not target.exists():
        return None
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder has that name", str(target))
    backup = temporary_name(target)
    try:
        os.link(target, backup)
    except OSError:  # a file system without links
        target.replace(backup)
    return backup


def _real_target(path: Path) -> Path:
    """Follow links, as a plain ``open`` would."""
    return Path(os.path.realpath(path))


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return _real_target(one) == _real_target(other)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to somebody else, or the system cannot tell
        return True
    return True


def _reason(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "the disk is full or the file too large for it"
    return (error.strerror or "the file cannot be written").lower()
