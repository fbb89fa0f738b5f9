"""``-`` as a file: a table from standard input, a release to standard output, in the format that ``--format`` states.

Standard input is copied into a private directory first, because a table is read more than once. A release is written
and recounted in a private directory; nothing is printed before it has passed.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoal.errors import FileProblem, ParameterError


@contextmanager
def with_standard_input(names: Sequence[str], kind: str | None) -> Iterator[dict[str, Any]]:
    """Yield a private copy of standard input as the argument of a command that is ``-``."""
    if len(names) > 1:
        raise ParameterError("standard input is one table; name a file for the other")
    with TemporaryDirectory(prefix="shoal-") as folder:
        path = Path(folder, f"standard-input.{_known(kind, 'input')}")
        with path.open("xb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield {names[0]: path}


@contextmanager
def with_standard_output(kind: str | None, *, json: bool = False) -> Iterator[Path]:
    """Yield a private file to write, which is copied to standard output at the end.

    Parameters
    ----------
    kind
        The format of standard output.
    json
        Whether a manifest is printed as well, which cannot share standard output with the table.
    """
    if json:
        raise ParameterError("--json prints to standard output, and so does -o -; name a file for the table")
    with TemporaryDirectory(prefix="shoal-") as folder:
        path = Path(folder, f"standard-output.{_known(kind, 'output')}")
        yield path
        with path.open("rb") as file:
            _copy(file)


def _known(kind: str | None, what: str) -> str:
    """Return a format that exists, without a leading point."""
    from shoal.tables.files import format_of

    if kind is None:
        raise ParameterError(f"standard {what} has no extension; state its format, for example --format csv")
    try:
        format_of(Path(f"-.{kind.removeprefix('.')}"))
    except FileProblem:
        raise ParameterError(
            f"--format {kind} is unknown; write the extension of a file, for example csv, csv.gz, parquet or xlsx"
        ) from None
    return kind.removeprefix(".")


def _copy(file: Any) -> None:
    try:
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # what is left in the buffer raises no second error
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        if error.errno != errno.EPIPE:
            text = (error.strerror or "unknown reason").lower()
            raise FileProblem(f"the table could not be printed to standard output ({text})") from error
