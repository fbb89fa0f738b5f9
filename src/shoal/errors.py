"""Every error a user can meet, and texts that are safe to show.

All of them derive from :class:`ShoalError`, whose text is one sentence for a person: what is wrong, the column or the
option it concerns, and the way out. The command line prints that sentence and exits with 1 where a requirement is
violated (:class:`GroupTooSmall`, :class:`RequirementNotMet`) and with 2 for wrong use; an internal error exits with 3.
Texts never contain values of records. Names in them may come from a hostile file, so a text is made printable and
stays on one line.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "DataError",
    "DerivedNotAccepted",
    "FileProblem",
    "GroupTooLarge",
    "GroupTooSmall",
    "LinksNotAccepted",
    "LossNotAccepted",
    "MissingExtra",
    "MissingValues",
    "ParameterError",
    "RequirementNotMet",
    "SchemaError",
    "ShoalError",
    "UnknownColumn",
    "WrongArguments",
    "exit_code",
]

LONGEST_NAME = 200
"""Characters of a quoted name that an error shows."""
LONGEST_TEXT = 1_000
"""Characters of an error text."""


_VALUE = r"""(?:\[[^\]]{0,80}\]|\{[^}]{0,120}\}|"[^"]{0,80}"|\.\.\.|[\w.]{1,40})"""
_PYTHON_FIRST = re.compile(rf"(?<![\w.])([\w.]{{1,40}}(?:={_VALUE}?)?) \(command line: ([^()]{{1,200}})\)")
_OPTION_FIRST = re.compile(
    r"(--[a-z-]{1,40}(?: [^\s();,-][^\s();,]{0,80})?) \(Python: ((?:[^()]|\([^()]{0,80}\)){1,200})\)"
)
"""Lengths are limited, so that no text of a hostile file takes long."""


def in_words_of(text: str, place: str) -> str:
    """Return a text in the words of one place, ``python`` or ``command line``.

    Texts name both as ``quasi= (command line: --quasi)`` or ``--unit NAME (Python: unit=...)``.

    Examples
    --------
    >>> text = "no quasi-identifiers; name them with quasi=[...] (command line: --quasi age,region)"
    >>> in_words_of(text, "command line")
    'no quasi-identifiers; name them with --quasi age,region'
    >>> in_words_of(text, "python")
    'no quasi-identifiers; name them with quasi=[...]'
    """
    if "(command line: " not in text and "(Python: " not in text:
        return text
    one, two = (r"\1", r"\2") if place == "python" else (r"\2", r"\1")
    return _OPTION_FIRST.sub(two, _PYTHON_FIRST.sub(one, text))


class ShoalError(Exception):
    """A mistake that a user can correct; its text says how, in the words of Python.

    Attributes
    ----------
    command_line
        The same text in the words of the command line.

    Examples
    --------
    >>> raise ShoalError("k must be at least 2, got 1")
    Traceback (most recent call last):
        ...
    shoal.errors.ShoalError: k must be at least 2, got 1
    >>> problem = ShoalError("the file exists; replace it with --force (Python: overwrite=True)")
    >>> str(problem), problem.command_line
    ('the file exists; replace it with overwrite=True', 'the file exists; replace it with --force')
    """

    command_line = ""

    def __init__(self, text: str = "") -> None:
        super().__init__(one_line(in_words_of(str(text), "python")))
        self.command_line = one_line(in_words_of(str(text), "command line"))

    def __str__(self) -> str:  # KeyError and OSError have texts of their own
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:  # subclasses have other parameters
        return _restored, (type(self), self.args[0])


class ParameterError(ShoalError, ValueError):
    """An option has a value that is not allowed.

    Examples
    --------
    >>> import shoal
    >>> shoal.group([[1.0], [2.0]], k=2, method="mdv")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: there is no method "mdv"; did you mean "mdav"?
    """


class WrongArguments(ParameterError, TypeError):
    """A function was called with an argument that it does not have, or without one that it needs.

    Examples
    --------
    >>> import shoal
    >>> shoal.protect("people.csv", 3, quasis=["age"])
    Traceback (most recent call last):
        ...
    shoal.errors.WrongArguments: protect has no argument "quasis"; did you mean "quasi"?
    """


class SchemaError(ShoalError, ValueError):
    """Roles or kinds of columns that do not fit the table.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62], "diagnosis": ["A", "A", "B", "A", "A", "A"]})
    >>> try:
    ...     shoal.protect(people, 3, quasi=["age"])
    ... except SchemaError as problem:
    ...     print(str(problem)[:86])
    1 column has no role: "diagnosis" (guess: confidential, its name says "diagnosis"); na
    """


class UnknownColumn(SchemaError, KeyError):
    """A column was named that the table does not have.

    Examples
    --------
    >>> str(UnknownColumn("incme", ["age", "income"]))
    'column "incme" is not in the table; did you mean "income"?'

    A file without a header has the values of a record in place of names; they are not shown:

    >>> str(UnknownColumn("age", ["34", "Munich"]))
    'column "age" is not in the table; the first line of the table seems to hold values: add a line of column names'
    """

    def __init__(self, name: str, columns: Iterable[str]) -> None:
        columns = [str(column) for column in columns]
        hint = suggestion(name, columns)
        if not hint.startswith("did you mean") and any(map(_is_number, columns)):
            hint = "the first line of the table seems to hold values: add a line of column names"
        super().__init__(f'column "{name}" is not in the table; {hint}')


class DataError(ShoalError, ValueError):
    """The values of the table cannot be used as they are.

    Examples
    --------
    >>> import shoal
    >>> shoal.group([[float("nan")], [1.0]], k=2, method="mdav")
    Traceback (most recent call last):
        ...
    shoal.errors.DataError: 1 of 2 coordinates are missing or infinite; methods need finite numbers
    """


class MissingValues(DataError):
    """Quasi-identifiers have missing values and no policy for them was chosen.

    Parameters
    ----------
    text
        The sentence, in the words of Python.
    command_line
        The same in the words of the command line; empty where both are the same.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> try:
    ...     shoal.protect(pl.DataFrame({"age": [30, None, 32]}), 3, quasi=["age"])
    ... except MissingValues as problem:
    ...     print(str(problem)[:65])
    missing values in "age" (1); choose what happens to them with mis
    """

    def __init__(self, text: str, command_line: str = "") -> None:
        super().__init__(text)
        self.command_line = command_line or self.command_line


class FileProblem(ShoalError, OSError):
    """A file cannot be read or written.

    Examples
    --------
    >>> import shoal
    >>> shoal.protect("absent.csv", 3, quasi=["age"])
    Traceback (most recent call last):
        ...
    shoal.errors.FileProblem: absent.csv does not exist
    """


class MissingExtra(ShoalError, ImportError):
    """An optional library is needed for what was asked.

    Examples
    --------
    >>> import shoal
    >>> raise MissingExtra("differential privacy needs opendp; python3 -m pip install 'shoal[dp]'")
    Traceback (most recent call last):
        ...
    shoal.errors.MissingExtra: differential privacy needs opendp; python3 -m pip install 'shoal[dp]'
    """


class GroupTooSmall(ShoalError, ValueError):
    """A grouping or a finished table has a group of fewer than k records; nothing is released.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62], "diagnosis": ["A", "A", "B", "A", "A", "A"]})
    >>> shoal.verify(people, 3, quasi=["age"], confidential=["diagnosis"])
    Traceback (most recent call last):
        ...
    shoal.errors.GroupTooSmall: 6 of 6 records are in classes of fewer than k=3 (the smallest class has 1 record)
    """


class RequirementNotMet(ShoalError, ValueError):
    """A table violates a requirement beyond k (l, t, alpha, ...); nothing is released.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> released = pl.DataFrame({"age": [31, 31, 31], "diagnosis": ["A", "A", "B"]})
    >>> shoal.verify(released, 3, l=3, quasi=["age"], confidential=["diagnosis"])
    Traceback (most recent call last):
        ...
    shoal.errors.RequirementNotMet: l=3 is violated, the table has l=2
    """


class LossNotAccepted(RequirementNotMet):
    """A release would lose more than everything or empty a column, which the user did not accept.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62], "diagnosis": ["A", "A", "B", "A", "A", "A"]})
    >>> try:
    ...     shoal.protect(people, 6, quasi=["age"], confidential=["diagnosis"])
    ... except LossNotAccepted as problem:
    ...     print(str(problem)[:83])
    the information loss is 107 %; column "age" has one value left: nothing was release
    """


class DerivedNotAccepted(RequirementNotMet):
    """Unchanged columns give a protected one back exactly, which the user did not accept.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": range(20, 60), "age_again": range(20, 60)})
    >>> try:
    ...     shoal.protect(people, 5, quasi=["age"], other=["age_again"])
    ... except DerivedNotAccepted as problem:
    ...     print(str(problem)[:78])
    "age" is protected, but the released columns give it back in 100 % of the reco
    """


class LinksNotAccepted(RequirementNotMet):
    """The released columns put the rows of too many persons together again, which the user did not accept.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> stays = pl.DataFrame({"id": [1, 1, 2, 2, 3, 3], "age": [30, 31, 32, 60, 61, 62], "card": list("xxyyzz")})
    >>> try:
    ...     shoal.protect(stays, 2, quasi=["age"], unit="id", other=["card"])
    ... except LinksNotAccepted as problem:
    ...     print(str(problem)[:81])
    the rows of 100 % of the persons with several rows can be put together again thro
    """


class GroupTooLarge(ShoalError, ValueError):
    """A group exceeds the maximum size that was requested or that the method guarantees.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> shoal.protect(pl.DataFrame({"age": [1, 2, 3]}), 2, quasi=["age"], labels=[0, 0, 0], max_size=2)
    Traceback (most recent call last):
        ...
    shoal.errors.GroupTooLarge: 1 of 1 groups in "labels" have more than 2 records; split them, or remove max_size=
    """


def one_line(text: str) -> str:
    r"""Return a text as one printable line: control characters are escaped, long quoted names and texts are shortened.

    Examples
    --------
    >>> print(one_line('column "a\nb" is missing'))
    column "a\nb" is missing
    """
    text = re.sub(r'"([^"]*)"', lambda quoted: f'"{short_name(quoted[1])}"', text)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def short_name(name: str) -> str:
    """Return a name as an error shows it; a long one without its end.

    Examples
    --------
    >>> len(short_name(300 * "a"))
    200
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _restored(kind: type[ShoalError], text: str) -> ShoalError:
    """Return an error of a kind with a text, for pickle."""
    error = kind.__new__(kind, text)
    ShoalError.__init__(error, text)
    return error


def suggestion(name: str, choices: Iterable[str]) -> str:
    """Return 'did you mean ...?' for the closest choice, else the list of choices.

    Examples
    --------
    >>> suggestion("mdv", ["mdav", "ona"])
    'did you mean "mdav"?'
    >>> suggestion("zzz", ["mdav", "ona"])
    'choose from: mdav, ona'
    """
    name, choices = str(name), [str(choice) for choice in choices]
    by_folded = {choice.casefold(): choice for choice in choices}
    close = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{by_folded[close[0]]}"?'
    shown = ", ".join(map(short_name, choices[:20]))
    more = f" and {len(choices) - 20} more" if len(choices) > 20 else ""
    return f"choose from: {shown}{more}" if choices else "there are none"


def exit_code(problem: ShoalError) -> int:
    """Return the exit code of an error of a user: 1 where a requirement is violated, 2 for wrong use.

    Parameters
    ----------
    problem
        An error of this module.

    Returns
    -------
    code
        What the command line exits with.

    Examples
    --------
    >>> exit_code(RequirementNotMet("...")), exit_code(ParameterError("..."))
    (1, 2)
    """
    return 1 if isinstance(problem, GroupTooSmall | RequirementNotMet) else 2


def reason(error: OSError) -> str:
    """Return why the system refused, for a sentence."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "the disk is full or the file too large for it"
    if error.errno == errno.ELOOP:
        return "its symbolic links lead in a circle"
    return (error.strerror or "the file cannot be written").lower()


def json_text(value: Any, *, ascii_only: bool = False) -> str:
    r"""Return a value as indented JSON; characters that steer a terminal or the direction of writing are escaped.

    Examples
    --------
    >>> print(json_text("caf\u00e9 \u202egnp"))
    "café \u202egnp"
    """
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    """Return a character as JSON escapes it."""
    return f"\\u{ord(character):04x}" if character.isascii() else json.dumps(character)[1:-1]


def function_name(function: Callable[..., Any]) -> str:
    """Return module and name of a function; a partial function has those of the function that it completes.

    Examples
    --------
    >>> from functools import partial
    >>> function_name(partial(function_name))
    'shoal.errors:function_name'
    """
    inner = getattr(function, "func", function)
    module = getattr(inner, "__module__", None) or "__main__"
    return f"{module}:{getattr(inner, '__qualname__', type(inner).__name__)}"
