"""The private directory of a session: history, uploads, generated tables; mode 0700, one server at a time."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from shoal.errors import FileProblem
from shoal.studio.history import FILE
from shoal.tables.atomic import is_own, lock_file, remove_claimed

_LOCK = "lock"
_WORK = "work"


def state_folder() -> Path:
    """Return the directory of all sessions: ``$SHOAL_STUDIO``, else below the user's directory of states."""
    given = os.environ.get("SHOAL_STUDIO")
    if given:
        return Path(given)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "shoal" / "studio"


class SessionFolder:
    """One session on the disk, locked while a server uses it.

    Parameters
    ----------
    path
        Its directory; created if needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_symlink() or not is_own(path.stat()):
            raise FileProblem(f"{path} is a link or belongs to another user; name another directory in SHOAL_STUDIO")
        path.chmod(0o700)
        self._lock = lock_file(path / _LOCK)
        if self._lock is None:
            raise FileProblem(f"another studio uses {path}; end it first")
        self.work.mkdir(mode=0o700, exist_ok=True)

    @property
    def work(self) -> Path:
        """The directory of uploads and generated tables, removed at the end."""
        return self.path / _WORK

    def leave(self) -> None:
        """Remove uploads and generated tables; the history stays. A session without steps leaves nothing."""
        shutil.rmtree(self.work, ignore_errors=True)
        if not (self.path / FILE).exists():
            self.end()
        elif self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def end(self) -> None:
        """Remove everything, also the history."""
        lock, self._lock = self._lock, None
        remove_claimed(self.path, lock)


def choose_session(root: Path, *, new: bool) -> SessionFolder:
    """Return the session to continue: the one that was used last, unless a new one is wanted or none is free.

    Uploads that a killed server left in other sessions are removed.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.chmod(0o700)
    known = [path for path in root.iterdir() if (path / FILE).is_file() and not path.is_symlink()]
    known.sort(key=lambda path: (path / FILE).stat().st_mtime, reverse=True)
    chosen: SessionFolder | None = None
    for path in known:
        if chosen is None and not new:
            with suppress(FileProblem):
                chosen = SessionFolder(path)
                continue
        lock = lock_file(path / _LOCK)
        if lock is not None:
            shutil.rmtree(path / _WORK, ignore_errors=True)
            os.close(lock)
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
    return chosen or SessionFolder(root / name)
