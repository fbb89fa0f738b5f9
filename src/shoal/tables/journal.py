"""The journal of several renames, which makes them one: a process that is killed between two leaves it behind.

The journal is a small file beside the targets that lists the renames. Its own appearance, by one rename, is the moment
from which all of them count: before it, the files are as they were, and afterwards the next process finishes the
renames. If a rename fails, the journal is replaced by its second form, which undoes them. A target that was changed by
another program in the meantime ends both: it is not touched, and the journal is dropped.

The journal holds paths and no data. Targets in other directories than that of the journal get a pointer to it there.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import FileProblem

STAGE_SUFFIX = ".shoal-tmp"
JOURNAL_SUFFIX = ".shoal-journal"

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
        raise _Changed(errno.EBUSY, "another program changed the file at the same time")

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

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Entry:
        """Return the entry of a journal."""
        old = None if plain["old"] is None else Path(plain["old"])
        return cls(Path(plain["target"]), Path(plain["new"]), old, plain["before"], plain["after"])


class _Changed(OSError):
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


def finish_interrupted(directory: Path) -> None:
    """Finish or undo the renames of processes that were killed, if their journal is in this directory.

    Only journals of the same user are read, because a journal names files to rename.
    """
    try:
        names = [entry.name for entry in os.scandir(directory) if entry.name.endswith(JOURNAL_SUFFIX)]
    except OSError:
        return
    for name in sorted(names):
        _finish(directory / name)


def _finish(path: Path) -> None:
    plain = _read(path)
    if plain is None:
        return
    stages = [Path(stage) for stage in plain["stages"]]
    locks = [claim(stage) for stage in stages if stage.exists()]
    try:
        if None in locks:  # the process that writes these files still runs
            return
        if "journal" in plain:
            if Path(plain["journal"]).exists():
                _finish_claimed(Path(plain["journal"]), stages)
            path.unlink(missing_ok=True)
        else:
            _finish_claimed(path, stages)
    except (KeyError, TypeError, ValueError):  # no journal of this program
        return
    except OSError as error:
        raise FileProblem(
            f"an earlier command was killed while it replaced files, and they cannot be completed "
            f"({(error.strerror or 'unknown reason').lower()}); repair that, or remove {path}"
        ) from error
    finally:
        for lock in locks:
            if lock is not None:
                os.close(lock)


def _finish_claimed(path: Path, stages: Sequence[Path]) -> None:
    """Finish or undo the renames of a journal whose process no longer runs, and remove what it left."""
    plain = _read(path)
    if plain is None or "entries" not in plain:
        return
    journal = Journal(path, path, stages, [Entry.of(entry) for entry in plain["entries"]])
    if plain["back"]:
        journal.undo_renames()
    else:
        with suppress(_Changed):
            for entry in journal.entries:
                entry.pending()  # none is renamed if one cannot be
            journal.forward()
    journal.remove()
    for stage in stages:
        shutil.rmtree(stage, ignore_errors=True)


def _read(path: Path) -> dict[str, Any] | None:
    """Return a journal or a pointer of this user; None for all else that has such a name."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return None
        plain = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(plain, dict) and isinstance(plain["stages"], list):
            return plain
    return None


def _write(path: Path, plain: dict[str, Any]) -> None:
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(plain, file)
        file.flush()
        os.fsync(file.fileno())


def claim(directory: Path, *, own: bool = False) -> int | None:
    """Return a lock on a private directory; None while the process that made it runs, or if it is gone.

    Where the file system has no locks, ``own`` returns the handle without one; no other process then takes it.
    """
    import fcntl

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


def flush_directory(directory: Path) -> None:
    """Bring the names in a directory to the disk."""
    with suppress(OSError):  # some systems cannot open a directory; then only the file system protects the rename
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
