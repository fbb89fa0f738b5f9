"""Checks of the options of refinement steps, by the same type hints as the options of methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from shoal.methods.options import read_option


def check_step_options(step: Callable[..., Any], **options: Any) -> None:
    """Raise ParameterError if an option of a step has a value that its type hint does not allow.

    Examples
    --------
    >>> def step(points, labels, k, *, rounds: int = 3): ...
    >>> check_step_options(step, rounds="many")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: option rounds="many" is not possible; choose an integer
    """
    hints = get_type_hints(step, include_extras=True)
    for name, value in options.items():
        read_option(name, hints[name], None).check(value)
