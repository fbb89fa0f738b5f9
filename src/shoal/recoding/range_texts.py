"""Texts of ranges and sets: ``34-41`` for the range of a group, ``{baker, painter}`` for the set of its values.

Neither contains a false statement about a record; a range reveals the minimum and maximum of the group, a set every
value that occurs in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.text import text_of


def range_texts(lowest: Sequence[object], highest: Sequence[object]) -> list[str | None]:
    """Return ``low-high`` for each group, one value where both are equal, and None where both are missing.

    Where values contain a hyphen themselves (negative numbers, dates), all ranges of the column are written
    ``low to high``.

    Examples
    --------
    >>> range_texts([34, 50], [41, 50])
    ['34-41', '50']
    >>> range_texts([-5, 1], [-3, 2])
    ['-5 to -3', '1 to 2']
    """
    pairs = [(text_of(low), text_of(high)) for low, high in zip(lowest, highest, strict=True)]
    joint = " to " if any("-" in text for pair in pairs for text in pair) else "-"
    return [
        None if low is None else (text_low if text_low == text_high else f"{text_low}{joint}{text_high}")
        for low, (text_low, text_high) in zip(lowest, pairs, strict=True)
    ]


def set_texts(codes: NDArray[np.int64], counts: NDArray[np.int64], names: Sequence[str | None]) -> list[str | None]:
    """Return ``{a, b}`` for each group, a single value as it is, and nothing where that value is missing.

    Examples
    --------
    >>> set_texts(np.array([0, 2, 1]), np.array([2, 1]), ["ash", "elm", "oak"])
    ['{ash, oak}', 'elm']
    """
    texts: list[str | None] = []
    start = 0
    for count in counts.tolist():
        inside = [names[code] for code in codes[start : start + count].tolist()]
        start += count
        texts.append(inside[0] if count == 1 else "{" + ", ".join(_shown(name) for name in inside) + "}")
    return texts


def _shown(name: str | None) -> str:
    return "(missing)" if name is None else name
