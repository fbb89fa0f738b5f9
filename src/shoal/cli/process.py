"""The process of the command line: its standard files, and what a signal or a closed output does to it.

Results are printed after all files are written. A reader that closes the pipe (``shoal ... | head``) does not change
the exit code; an output that cannot be written for another reason (a full disk) is reported when the command has ended.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class Terminated(BaseException):
    """The process received SIGTERM; no Exception, so that nothing between takes it for an error of its own."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Let SIGTERM raise :class:`Terminated`, so that temporary files are removed; only in the main thread."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def stop(_number: int, _frame: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def open_standard_files() -> None:
    """Connect closed standard files with the null device; otherwise a table could receive the number of one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # receives the lowest free number
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - used to the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - used to the end


class Output:
    """Standard output that raises no error; what could not be printed is remembered as :attr:`problem`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._open = stream is not None
        self.problem: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Print a text, unless the output is closed."""
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Flush the output, unless it is closed."""
        self._try("flush")

    def _try(self, name: str, *arguments: str) -> None:
        if not self._open:
            return
        try:
            getattr(self._stream, name)(*arguments)
        except OSError as error:
            self._open = False
            self.problem = None if error.errno == errno.EPIPE else error
            self._drop()

    def _drop(self) -> None:
        """Connect the output with the null device, so that what is still in its buffer raises no error at the end."""
        with suppress(OSError, ValueError, AttributeError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


@contextmanager
def guarded_output() -> Iterator[Output]:
    """Print through :class:`Output`; characters that the encoding of the output lacks are printed as escapes."""
    before: Any = sys.stdout
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")
    output = Output(before)
    sys.stdout = output
    try:
        yield output
    finally:
        sys.stdout = before
