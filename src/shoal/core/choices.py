"""Checks of names and values that a user chooses from a list."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

from shoal.errors import ParameterError, suggestion

LARGEST_SEED = 2**63 - 1

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


def check_seed(seed: Any) -> int:
    """Return a seed as an integer, or raise an error.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: seed=-1 is not possible; choose an integer from 0 to 9223372036854775807
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= int(seed) <= LARGEST_SEED:
        raise ParameterError(f"seed={seed!r} is not possible; choose an integer from 0 to {LARGEST_SEED}")
    return int(seed)


def check_decimals(decimals: Any) -> None:
    """Raise an error for decimals other than ``input``, ``full`` and 0 to 15.

    Examples
    --------
    >>> check_decimals(16)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: decimals=16 is not possible; choose input, full or 0 to 15
    """
    number = isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= 15
    if not number and not (isinstance(decimals, str) and decimals in {"input", "full"}):
        raise ParameterError(f"decimals={decimals!r} is not possible; choose input, full or 0 to 15")


def check_size(number: Any, option: str) -> None:
    """Raise an error for a number of records or columns that is no integer of at least 1.

    Examples
    --------
    >>> check_size(0, "n")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: n=0 is not possible; choose an integer of at least 1
    """
    if isinstance(number, bool) or not hasattr(number, "__index__") or number < 1:
        raise ParameterError(f"{option}={number!r} is not possible; choose an integer of at least 1")
