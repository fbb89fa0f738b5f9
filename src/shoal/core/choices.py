"""Checks of names and values that a user chooses from a list."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from shoal.errors import ParameterError, suggestion

E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], text: str, option: str) -> E:
    """Return the member of an enumeration, or raise an error that lists what is allowed.

    Examples
    --------
    >>> class Size(StrEnum):
    ...     SMALL = "small"
    ...     LARGE = "large"
    >>> choice(Size, "smal", "size")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: size="smal" is not known; did you mean "small"?
    """
    try:
        return kind(text)
    except ValueError:
        hint = suggestion(str(text), [str(member) for member in kind])
        raise ParameterError(f'{option}="{text}" is not known; {hint}') from None
