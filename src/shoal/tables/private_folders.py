"""Private folders beside an output, and folders that appear complete or not at all.

A private folder (``.safe.….shoal-tmp``, mode 0700) holds what must not be seen yet. It is removed on every exit; a
lock tells running processes from killed ones, whose folders the next run beside the same output removes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from shoal.errors import FileProblem, reason
from shoal.tables.atomic import (
    STAGE_SUFFIX,
    claim,
    deferred_signals,
    finish_interrupted,
    flush_directory,
    private_prefix,
    real_target,
    remove_claimed,
)

_count = count()
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2


@contextmanager
def private_folder(target: Path) -> Iterator[Path]:
    """Make a folder beside a target that only its owner can read, and remove it at the end, also after an error.

    Folders of processes that were killed are removed first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     with private_folder(Path(directory, "safe")) as folder:
    ...         mode = oct(folder.stat().st_mode & 0o777)
    ...     mode, folder.exists()
    ('0o700', False)
    """
    target = real_target(target)
    try:
        finish_interrupted(target.parent, leftovers=True)
        with deferred_signals():
            name = f"{private_prefix(target)}{os.getpid()}-folder{next(_count)}{STAGE_SUFFIX}"
            folder = target.with_name(name)
            folder.mkdir(0o700)
            lock = claim(folder, own=True)
    except OSError as error:
        raise FileProblem(f"{target}: {reason(error)}; nothing was written") from error
    try:
        yield folder
    except OSError as error:
        if isinstance(error, FileProblem):
            raise
        raise FileProblem(f"{target}: {reason(error)}; nothing was written") from error
    finally:
        with deferred_signals():
            remove_claimed(folder, lock)


def check_folder_output(path: Path, *, inputs: tuple[Path, ...] = (), overwrite: bool = False) -> None:
    """Raise :class:`FileProblem` where a folder cannot be written, holds other files, or is an input.

    Only a folder that an earlier release wrote, which has a file ``_SUCCESS``, is ever replaced.
    """
    target = real_target(path)
    if not target.parent.is_dir():
        raise FileProblem(f"{path}: the directory {path.parent} does not exist; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileProblem(f"{path}: the directory {target.parent} is not writable; choose another")
    for source in inputs:
        source = real_target(source)
        if target in {source, *source.parents} or (source.is_dir() and target.is_relative_to(source)):
            raise FileProblem(f"{path}: the output is the input {source}, or holds it; choose another place")
    if not target.exists():
        return
    if not target.is_dir():
        raise FileProblem(f"{path} is a file; name a folder, or a file that ends in .parquet")
    if not any(target.iterdir()):
        return
    if not overwrite:
        raise FileProblem(f"{path} exists; choose another folder, or replace it with --force (Python: overwrite=True)")
    if not (target / "_SUCCESS").is_file():
        raise FileProblem(f"{path} holds files that no release wrote, so it is not replaced; choose another folder")


def place_folder(staged: Path, target: Path) -> None:
    """Give a finished folder its name; one that has the name already is exchanged in one step, where the system can."""
    target = real_target(target)
    for path in sorted(staged.rglob("*")):
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())
    flush_directory(staged)
    with deferred_signals():
        if target.exists() and any(target.iterdir()):
            _exchange(staged, target)
        else:
            try:
                staged.replace(target)  # replaces an empty folder, too
            except PermissionError:  # not on Windows
                target.rmdir()
                staged.replace(target)
        flush_directory(target.parent)


def _exchange(staged: Path, target: Path) -> None:
    """Exchange two folders in one step; in two steps on systems that cannot, undone where the second fails."""
    rename = None if sys.platform == "win32" else getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here = -100  # AT_FDCWD
    if rename is not None and rename(here, os.fsencode(staged), here, os.fsencode(target), _EXCHANGE) == 0:
        return
    if rename is not None and ctypes.get_errno() not in {errno.ENOSYS, errno.EINVAL}:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))
    old = staged.with_name("old")
    target.replace(old)
    try:
        staged.replace(target)
    except BaseException:
        old.replace(target)
        raise
