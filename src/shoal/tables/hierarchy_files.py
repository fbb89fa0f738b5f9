"""Hierarchy files in the format of ARX: no header, one row per value, then its ancestors from the nearest up."""

from __future__ import annotations

import csv
from pathlib import Path

from shoal.errors import FileProblem, ParameterError
from shoal.tables.files import check_regular


def read_hierarchy_rows(path: Path, delimiter: str | None = None) -> list[list[str]]:
    r"""Return the fields of each row; the delimiter is detected if not given: ``;``, else a tab, else ``,``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     _ = Path(directory, "job.csv").write_text("baker;craft;*\npainter;craft;*\n")
    ...     read_hierarchy_rows(Path(directory, "job.csv"))
    [['baker', 'craft', '*'], ['painter', 'craft', '*']]
    """
    check_regular(path, "hierarchy file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise FileProblem(f'hierarchy file "{path}" cannot be read: {(problem.strerror or "").lower()}') from None
    except UnicodeDecodeError:
        raise FileProblem(f'hierarchy file "{path}" is not UTF-8 text; save it as UTF-8') from None
    except ValueError:
        raise FileProblem(f'hierarchy file "{path}" cannot be read: its name contains a zero byte') from None
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise FileProblem(f'hierarchy file "{path}" is empty; it needs one row per value')
    if delimiter is None:
        delimiter = next((mark for mark in (";", "\t") if mark in lines[0]), ",")
    elif not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(f"delimiter={delimiter!r} is not possible; choose one character, such as ;")
    try:
        return [[field.strip() for field in row] for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error:  # a field of more than 131,072 characters
        raise FileProblem(f'hierarchy file "{path}" has a field that is too long; check its quotes') from None
