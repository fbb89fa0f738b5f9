"""Files that appear complete or not at all, several of them together.

A file is written in a private directory beside its target (``.people.csv.….shoal-tmp``, mode 0700, the file in
it 0600), flushed to the disk, given the mode of the target, and renamed. Several files are renamed under a journal that
lists the renames: once it has appeared, by one rename, the next process that finds it finishes them
(:mod:`shoal.tables.recovery`). If a rename fails, a second form of the journal undoes them. The journal holds paths and
no data. A lock tells directories of running processes from those of killed ones, which the next write removes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from itertools import count
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from shoal.errors import FileProblem, ParameterError, reason

STAGE_SUFFIX = ".shoal-tmp"
JOURNAL_SUFFIX = ".shoal-journal"
_LOCK = "lock"

Identity = list[int]
"""Device, inode, size and time of a file: what tells it from another one under the same name."""


def identity(path: Path) -> Identity | None:
    """Return what tells a file from another one under the same name; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns]


@dataclass(frozen=True)
class Entry:
    """One rename: the target, the new file, the old file under a second name, and the identities of both."""

    target: Path
    new: Path
    old: Path | None
    before: Identity | None
    after: Identity | None

    def pending(self) -> bool:
        """Return whether the rename is still to be made; raises Changed if another program changed the target."""
        found = identity(self.target)
        if found == self.after:
            return False
        if found == self.before and identity(self.new) == self.after:
            return True
        raise Changed(errno.EBUSY, "another program changed the file at the same time")

    def forward(self) -> None:
        """Make the rename, unless it was made."""
        if self.pending():
            self.new.replace(self.target)

    def undo(self) -> None:
        """Undo the rename, if it was made and the target was not changed since."""
        if identity(self.target) != self.after:
            return
        if self.old is not None:
            self.old.replace(self.target)
        else:
            self.target.unlink()

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for JSON."""
        return {
            "target": str(self.target), "new": str(self.new), "old": None if self.old is None else str(self.old),
            "before": self.before, "after": self.after,
        }  # fmt: skip


class Changed(OSError):
    """Another program changed a target at the same time, or after the renames were interrupted."""


@dataclass(frozen=True)
class Journal:
    """The renames of several files, and where the journal of them is."""

    path: Path
    stage: Path
    stages: Sequence[Path]
    entries: Sequence[Entry]

    @classmethod
    def prepare(cls, stage: Path, stages: Sequence[Path], entries: Sequence[Entry]) -> Journal:
        """Write both forms of the journal into a private directory, and pointers into the other directories."""
        journal = cls(stage.with_suffix(JOURNAL_SUFFIX), stage, stages, entries)
        for name, back in (("journal", False), ("journal-back", True)):
            _write(stage / name, {"back": back, **journal._plain()})
        for pointer in journal._pointers():
            beside = next(path for path in stages if path.parent == pointer.parent)
            _write(beside / "pointer", {"journal": str(journal.path), "stages": [str(path) for path in stages]})
            (beside / "pointer").replace(pointer)
            flush_directory(pointer.parent)
        return journal

    def commit(self) -> None:
        """Let the journal appear; from here on the renames are finished by the process that finds it."""
        (self.stage / "journal").replace(self.path)
        flush_directory(self.path.parent)

    def forward(self) -> None:
        """Make all renames."""
        for entry in self.entries:
            entry.forward()
        for directory in {entry.target.parent for entry in self.entries}:
            flush_directory(directory)

    def undo(self) -> None:
        """Undo the renames that were made, and remove the journal."""
        if self.path.exists():
            (self.stage / "journal-back").replace(self.path)
            flush_directory(self.path.parent)
        self.undo_renames()
        self.remove()

    def undo_renames(self) -> None:
        """Undo the renames that were made."""
        for entry in self.entries:
            entry.undo()
        for directory in {entry.target.parent for entry in self.entries}:
            flush_directory(directory)

    def remove(self) -> None:
        """Remove the journal, first where it counts."""
        for path in (self.path, *self._pointers()):
            with suppress(OSError):  # a journal of finished renames does no harm
                path.unlink(missing_ok=True)

    def _pointers(self) -> list[Path]:
        others = {entry.target.parent for entry in self.entries} - {self.path.parent}
        return [directory / self.path.name for directory in sorted(others)]

    def _plain(self) -> dict[str, Any]:
        return {
            "stages": [str(path) for path in self.stages], "entries": [entry.as_dict() for entry in self.entries],
        }  # fmt: skip


def finish_interrupted(directory: Path, *, leftovers: bool = False) -> None:
    """Finish or undo the renames of processes that were killed, if their journal is in this directory.

    With ``leftovers``, remove the private directories of such processes too. Nothing is imported where none was killed.
    """
    suffixes = (JOURNAL_SUFFIX, STAGE_SUFFIX) if leftovers else (JOURNAL_SUFFIX,)
    try:
        paths = [Path(entry.path) for entry in os.scandir(directory) if entry.name.endswith(suffixes)]
    except OSError:
        return
    if paths:
        from shoal.tables.recovery import recover

        recover(paths)


def _write(path: Path, plain: dict[str, Any]) -> None:
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(plain, file)
        file.flush()
        os.fsync(file.fileno())


def claim(directory: Path, *, own: bool = False) -> int | None:
    """Return a lock on a private directory; None while the process that made it runs, or if it is gone.

    Where the file system has no locks, ``own`` returns the handle without one; no other process then takes it. Windows
    locks files only: there it is the lock of a file in the directory.
    """
    try:
        import fcntl
    except ImportError:
        return lock_file(directory / _LOCK) if directory.is_dir() else None
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        with suppress(OSError) if own else nullcontext():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == directory.lstat().st_ino:
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def lock_file(path: Path) -> int | None:
    """Return the exclusive lock of a file, which is made if needed; None while another process has it.

    The lock ends when the handle is closed, or when the process ends in whatever way.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except PermissionError:  # Windows: another process removes the file
        return None
    try:
        try:
            import fcntl
        except ImportError:  # Windows
            windows: Any = import_module("msvcrt")
            windows.locking(handle, windows.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def remove_claimed(directory: Path, lock: int | None) -> None:
    """Remove a private directory and release its lock, in the order that the system allows."""
    if lock is not None and (directory / _LOCK).exists():  # Windows removes no file that is open
        os.close(lock)
        lock = None
    shutil.rmtree(directory, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def is_own(found: os.stat_result) -> bool:
    """Return whether this user owns a file; Windows has no numbers of users, and protects files by their folder."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def flush_directory(directory: Path) -> None:
    """Bring the names in a directory to the disk."""
    with suppress(OSError):  # some systems cannot open a directory; then only the file system protects the rename
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_count = count()
_written: list[Path] = []


def write_files(writers: Mapping[Path, Callable[[Path], None]], *, private: Collection[Path] = ()) -> None:
    """Write several files so that either all of them appear, complete, or none.

    The writers run in the given order; each receives a temporary path with the name of its target, and may read the
    files before it. When all have succeeded and the data are on the disk, the files are renamed in reverse order: put
    the one whose presence means "finished" first. After an error or Ctrl-C, existing files are unchanged and no new
    file is left; a process that is killed leaves all files as they were, or renames that the next command finishes.

    Parameters
    ----------
    writers
        For each target a function that writes the content to the path that it receives.
    private
        The targets that only their owner may read (mode 0600), also where a file with another mode is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     write_files({Path(directory, "a.txt"): lambda path: path.write_text("complete") and None})
    ...     Path(directory, "a.txt").read_text()
    'complete'
    """
    targets = [real_target(Path(path)) for path in writers]
    check_distinct(targets)
    stages: list[_Stage] = []
    try:
        for directory in dict.fromkeys(target.parent for target in targets):
            finish_interrupted(directory, leftovers=True)
        for target, writer in zip(targets, writers.values(), strict=True):
            with deferred_signals():
                stages.append(_Stage(target))
            stages[-1].fill(writer)
        for path, stage in zip(writers, stages, strict=True):
            if path in private:
                stage.file.chmod(0o600)
            else:
                stage.set_mode()
        with deferred_signals():
            _switch(stages[::-1])
            _written.extend(map(Path, writers))
    except OSError as error:
        if isinstance(error, FileProblem):
            raise
        raise FileProblem(f"{', '.join(map(str, writers))}: {reason(error)}; nothing was written") from error
    finally:
        with deferred_signals():
            for stage in stages:
                stage.close()


def written_files() -> list[Path]:
    """Return the files that this process has written, for messages about an error or an interrupt after that."""
    return list(_written)


def real_target(path: Path) -> Path:
    """Follow links, as a plain ``open`` would."""
    return Path(os.path.realpath(path))


def check_distinct(targets: Sequence[Path]) -> None:
    """Raise :class:`ParameterError` if two outputs are the same file, also through links."""
    known: list[tuple[int, int]] = []
    for target in targets:
        with suppress(OSError):
            found = target.stat()
            known.append((found.st_dev, found.st_ino))
    if len(set(known)) < len(known) or len({real_target(target) for target in targets}) < len(targets):
        raise ParameterError("table, manifest, holder's record and reports need different files")


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until the end of the block; only the main thread receives signals."""
    if current_thread() is not main_thread():
        yield
        return
    pending: list[int] = []
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda received, _: pending.append(received))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in dict.fromkeys(pending):
            signal.raise_signal(received)


class _Stage:
    """The private directory of one target."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.keep = False
        while True:
            self.directory = target.with_name(f"{private_prefix(target)}{os.getpid()}-{next(_count)}{STAGE_SUFFIX}")
            self.directory.mkdir(0o700)
            try:
                self._lock = claim(self.directory, own=True)
                if self._lock is not None:  # otherwise another process removed the directory as a leftover
                    (self.directory / "new").mkdir(0o700)
                    break
            except BaseException:
                shutil.rmtree(self.directory, ignore_errors=True)
                raise
        self.file = self.directory / "new" / target.name

    def fill(self, writer: Callable[[Path], None]) -> None:
        """Create the file, readable by its owner only, and write it."""
        os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        writer(self.file)
        with self.file.open("r+b") as file:
            os.fsync(file.fileno())

    def set_mode(self) -> None:
        """Give the file the permissions that a plain ``open`` of the target would give."""
        try:
            mode = self.target.stat().st_mode
        except FileNotFoundError:
            handle = os.open(self.directory / "mode", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            mode = os.fstat(handle).st_mode
            os.close(handle)
        self.file.chmod(stat.S_IMODE(mode))

    def close(self) -> None:
        """Remove the directory, unless a journal still needs it, and release the lock."""
        lock, self._lock = self._lock, None
        if not self.keep:
            remove_claimed(self.directory, lock)
        elif lock is not None:
            os.close(lock)

    def entry(self) -> Entry:
        """Return the rename of this file for the journal; a file that will be replaced gets a second, private name."""
        before, old = identity(self.target), None
        if before is not None:
            if self.target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a directory has that name", str(self.target))
            old = self.directory / "old"
            try:
                os.link(self.target, old)
            except OSError:  # a file system without links
                shutil.copy2(self.target, old)
                with old.open("r+b") as file:
                    os.fsync(file.fileno())
        return Entry(self.target, self.file, old, before, identity(self.file))


def _switch(stages: Sequence[_Stage]) -> None:
    """Rename all files; if one rename fails, undo those before it."""
    if len(stages) == 1:
        stages[0].file.replace(stages[0].target)
        flush_directory(stages[0].target.parent)
        return
    journal = Journal.prepare(stages[-1].directory, [stage.directory for stage in stages], [s.entry() for s in stages])
    try:
        journal.commit()
        journal.forward()
    except BaseException:
        try:
            journal.undo()
        except OSError as error:
            for stage in stages:
                stage.keep = True
            raise FileProblem(
                f"{', '.join(str(stage.target) for stage in stages)}: {reason(error)}; some of these files may be new "
                "and some old; the next command that reads or writes one of them restores the old ones"
            ) from error
        raise
    journal.remove()


def private_prefix(target: Path) -> str:
    """Return the start of a private name: unique for the target, short enough for any file system."""
    digest = sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f".{target.name[:40]}.{digest}."
