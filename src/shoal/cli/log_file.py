"""``--log FILE``: what a command did and when, one line each, appended to a file that only its owner can read.

A line has the time (UTC), a level and a text: the command with its version, stages, warnings, files written, the error,
the exit code. Texts are those of the terminal and hold no values of records.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.core.progress import Progress
from shoal.errors import FileProblem, ShoalError, exit_code, one_line

_open: list[int] = []


def write_line(text: str, level: str = "info") -> None:
    """Append a line to the log file, if there is one."""
    if _open:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with suppress(OSError):  # a full disk stops no release
            os.write(_open[-1], f"{now} {level} {one_line(text)}\n".encode("utf-8", "replace"))


@contextmanager
def logged(path: Path, command: str) -> Iterator[None]:
    """Keep a log while a command runs."""
    from shoal import __version__
    from shoal.tables.atomic import written_files

    if path.is_symlink() or (path.exists() and not (path.is_file() and _is_log(path))):
        raise FileProblem(f"{path} exists and is no log file of Shoal; choose another file for --log")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as problem:
        reason = (problem.strerror or "unknown reason").lower()
        raise FileProblem(f"{path} cannot be written ({reason}); choose another file for --log") from None
    _open.append(descriptor)
    write_line(f"shoal {__version__}: {command} begins")
    code = 3
    try:
        yield
        code = 0
    except ShoalError as problem:
        code = exit_code(problem)
        write_line(f"{type(problem).__name__}: {problem.command_line}", "error")
        raise
    except BaseException as problem:
        code = int(getattr(problem, "exit_code", 130 if isinstance(problem, KeyboardInterrupt) else 3))
        if not hasattr(problem, "exit_code"):  # the text of a foreign error may quote values of records
            write_line(type(problem).__name__, "error")
        raise
    finally:
        for file in written_files():
            write_line(f"written: {file}")
        write_line(f"{command} ends with exit code {code}")
        _open.remove(descriptor)
        os.close(descriptor)


def _is_log(path: Path) -> bool:
    """Return whether a file is empty or begins with a line that this module wrote."""
    with path.open("rb") as file:
        start = file.read(40)
    return not start or (b"Z info shoal " in start and start[4:5] == b"-")


class LoggedProgress(Progress):
    """Pass progress on, and write each stage into the log file."""

    def __init__(self, inner: Progress) -> None:
        self._inner = inner

    def stage(self, name: str, total: int | None = None) -> None:
        """Report that a step begins."""
        write_line(name)
        self._inner.stage(name, total)

    def advance(self, amount: int = 1) -> None:
        """Report that a part of the step is done."""
        self._inner.advance(amount)

    def note(self, text: str) -> None:
        """Report a message for the user."""
        self._inner.note(text)
