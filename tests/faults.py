"""Faults in calls of the operating system: a process that dies, or an error, before or after the i-th call.

``faulty`` replaces the functions by which files are made, written, flushed, renamed and removed. Only calls about files
below a directory are counted. A simulated death raises :class:`Died`, and from then on every further call raises it as
well, so that no clean-up runs, as after a kill; ``exits`` ends the process itself instead.
"""

import io
import os
from contextlib import contextmanager, suppress
from pathlib import Path

FUNCTIONS = ("open", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "chmod", "scandir")


class Died(BaseException):
    """The process is dead."""


class Faults:
    """Counts calls; the one with the given number fails."""

    def __init__(self, root, number, fault):
        self.root, self.number, self.fault = str(root), number, fault
        self.calls, self.dead, self.handles, self.files = [], False, set(), []
        self.originals = {name: getattr(os, name) for name in (*FUNCTIONS, "close")} | {"io.open": io.open}

    def call(self, name, function, *arguments, **options):
        """Make a call, unless it is the one that fails."""
        if self.dead:
            raise Died
        self.calls.append(name)
        if len(self.calls) - 1 != self.number:
            return function(*arguments, **options)
        when, what = self.fault
        if when == "after":
            with suppress(OSError):
                self.lose(function(*arguments, **options))
        if what == "exit":
            os._exit(9)
        if what == "die":
            self.dead = True
            raise Died
        raise OSError(what, os.strerror(what))

    def lose(self, result):
        """Close what a call returned whose caller never receives it."""
        if hasattr(result, "close"):
            result.close()
        elif isinstance(result, int) and self.calls[-1] == "open":
            self.originals["close"](result)

    def concerned(self, arguments):
        """Whether a call is about a file below the directory."""
        first = arguments[0] if arguments else None
        return first in self.handles if isinstance(first, int) else str(first).startswith(self.root)

    def wrapped(self, name):
        """Return a function of ``os`` that is counted."""
        original = self.originals[name]

        def function(*arguments, **options):
            inside = options.get("dir_fd") in self.handles or self.concerned(arguments)
            if not inside:
                return original(*arguments, **options)
            result = self.call(name, original, *arguments, **options)
            if name == "open":
                self.handles.add(result)
            return result

        return function

    def close(self, handle):
        """Close a handle; a dead process closes nothing by itself."""
        if handle in self.handles and self.dead:
            raise Died
        self.handles.discard(handle)
        self.originals["close"](handle)

    def open(self, file, *arguments, **options):
        """Open a file whose writes are counted."""
        if not self.concerned([file]):
            return self.originals["io.open"](file, *arguments, **options)
        opened = self.call("io.open", self.originals["io.open"], file, *arguments, **options)
        self.handles.add(opened.fileno())
        self.files.append(opened)
        return opened if "b" not in str(arguments[:1]) else File(self, opened)

    def bury(self):
        """Close what the dead process had open, as the system does."""
        of_files = {file.fileno() for file in self.files if not file.closed}
        for file in self.files:
            with suppress(OSError):
                file.close()
        for handle in self.handles - of_files:
            with suppress(OSError):
                self.originals["close"](handle)


class File(io.RawIOBase):
    """A file whose writes are counted."""

    def __init__(self, faults, file):
        self.faults, self.file = faults, file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def readable(self):
        return self.file.readable()

    def writable(self):
        return self.file.writable()

    def seekable(self):
        return self.file.seekable()

    def fileno(self):
        return self.file.fileno()

    def read(self, *arguments):
        return self.file.read(*arguments)

    def readinto(self, buffer):
        return self.file.readinto(buffer)

    def seek(self, *arguments):
        return self.file.seek(*arguments)

    def tell(self):
        return self.file.tell()

    def flush(self):
        if not self.file.closed and not self.faults.dead:
            self.file.flush()

    def write(self, data):
        return self.faults.call("write", self.file.write, data)

    def close(self):
        if not self.file.closed and not self.faults.dead:
            self.faults.handles.discard(self.file.fileno())
            self.faults.call("close", self.file.close)


@contextmanager
def faulty(root, number, fault):
    """Let the call with this number fail inside the block; the calls that were made are in ``calls``."""
    faults = Faults(Path(root).resolve(), number, fault)
    before = {name: getattr(os, name) for name in (*FUNCTIONS, "close")}, io.open
    for name in FUNCTIONS:
        setattr(os, name, faults.wrapped(name))
    os.close, io.open = faults.close, faults.open
    try:
        yield faults
    finally:
        for name, function in before[0].items():
            setattr(os, name, function)
        io.open = before[1]
        if faults.dead:
            faults.bury()
