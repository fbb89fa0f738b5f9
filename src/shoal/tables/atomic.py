"""Files that appear complete or not at all, several of them together.

A file is written in a private directory beside its target (``.people.csv.….shoal-tmp``, mode 0700, the file in
it 0600), flushed to the disk, given the mode of the target, and then renamed. Several files are renamed under a journal
(:mod:`shoal.tables.journal`): an error undoes the renames, and if the process is killed between two of them, the next
command that reads or writes one of the files finishes them. A lock on the private directory tells running processes
from killed ones, whose directories the next write removes.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import current_thread, main_thread

from shoal.errors import FileProblem, ParameterError
from shoal.tables.journal import STAGE_SUFFIX, Entry, Journal, claim, finish_interrupted, flush_directory, identity

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
            finish_interrupted(directory)
            remove_leftovers(directory)
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


def remove_leftovers(directory: Path) -> None:
    """Remove private directories that were left by processes that no longer run."""
    with suppress(OSError):
        entries = [entry for entry in os.scandir(directory) if entry.name.endswith(STAGE_SUFFIX)]
        for entry in entries:
            owned = entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            lock = claim(Path(entry.path)) if owned else None
            if lock is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)


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


def reason(error: OSError) -> str:
    """Return why the system refused, for a sentence."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "the disk is full or the file too large for it"
    if error.errno == errno.ELOOP:
        return "its symbolic links lead in a circle"
    return (error.strerror or "the file cannot be written").lower()


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
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

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
