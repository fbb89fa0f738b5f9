"""The rules that Windows has for files, imposed on this system: code that depends on others fails here, too.

Directories cannot be opened, open files are neither removed nor replaced, no directory replaces another one, only files
that are open for writing are flushed, locks belong to files, and users have no numbers.
"""

import errno
import fcntl
import os
import shutil
import stat
import sys
from types import SimpleNamespace

MISSING = ("geteuid", "O_NOFOLLOW")


class Windows:
    """Handles and locks of one process; :meth:`end` releases them as the end of the process does."""

    def __init__(self, monkeypatch):
        self.opened, self.locked = {}, {}
        self.originals = {name: getattr(os, name) for name in ("open", "close", "unlink", "replace", "fsync")}
        for name in MISSING:
            monkeypatch.delattr(os, name)
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=self.locking))
        monkeypatch.setattr(shutil, "_use_fd_functions", False)
        monkeypatch.setattr(os, "remove", self.unlink)
        for name in self.originals:
            monkeypatch.setattr(os, name, getattr(self, name))

    def open(self, path, *arguments, **options):
        if os.path.isdir(path):  # noqa: PTH112 - what Path calls is replaced here
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        handle = self.originals["open"](path, *arguments, **options)
        self.opened[handle] = identity(handle)
        return handle

    def close(self, handle):
        self.opened.pop(handle, None)
        self.locked.pop(handle, None)
        self.originals["close"](handle)

    def locking(self, handle, mode, number):
        assert (mode, number) == (2, 1)
        if identity(handle) in self.locked.values():
            raise OSError(errno.EACCES, "Permission denied")
        self.locked[handle] = identity(handle)

    def unlink(self, path, **options):
        self.require_closed(path)
        self.originals["unlink"](path, **options)

    def replace(self, source, target):
        for path in (source, target):
            self.require_closed(path)
        if os.path.isdir(target):  # noqa: PTH112
            raise PermissionError(errno.EACCES, "Permission denied", str(target))
        self.originals["replace"](source, target)

    def require_closed(self, path):
        self.forget_closed()
        if os.path.lexists(path) and identity(path) in self.opened.values():
            raise PermissionError(errno.EACCES, "used by another process", str(path))

    def fsync(self, handle):
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")

    def forget_closed(self):
        """Forget handles that a file object has closed without ``os.close``."""
        for handle, opened in list(self.opened.items()):
            try:
                current = identity(handle)
            except OSError:
                current = None
            if current != opened:
                del self.opened[handle]
                self.locked.pop(handle, None)

    def end(self):
        self.forget_closed()
        for handle in list(self.opened):
            self.close(handle)


def identity(place):
    """Return what tells a file from all others."""
    found = os.fstat(place) if isinstance(place, int) else os.lstat(place)
    return found.st_dev, found.st_ino, stat.S_IFMT(found.st_mode)
