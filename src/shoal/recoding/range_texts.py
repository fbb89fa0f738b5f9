"""The range of each group, as text such as ``34-41``. Cost O(n log n).

A range says nothing false about anybody, but it shows the true lowest and highest value of the group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping


def group_ranges(values: NDArray[np.float64], grouping: Grouping) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the record with the lowest and the record with the highest value of each group.

    Examples
    --------
    >>> lowest, highest = group_ranges(np.array([5.0, 3.0, 9.0, 9.0]), Grouping([0, 0, 1, 1], k=2))
    >>> lowest.tolist(), highest.tolist()
    ([1, 2], [0, 3])
    """
    order = np.lexsort((values, grouping.labels))
    ends = np.cumsum(grouping.sizes)
    return order[ends - grouping.sizes], order[ends - 1]


def range_texts(lowest: Sequence[object], highest: Sequence[object]) -> list[str | None]:
    """Return ``low-high`` for each group, one value where both are equal, and nothing where both are missing.

    Where values contain a hyphen themselves (negative numbers, dates), all ranges of the column are written
    ``low to high``.

    Examples
    --------
    >>> range_texts([34, 50], [41, 50])
    ['34-41', '50']
    >>> range_texts([-5, 1], [-3, 2])
    ['-5 to -3', '1 to 2']
    """
    pairs = [(_text(low), _text(high)) for low, high in zip(lowest, highest, strict=True)]
    joint = " to " if any("-" in text for pair in pairs for text in pair) else "-"
    return [
        None if low is None else (text_low if text_low == text_high else f"{text_low}{joint}{text_high}")
        for low, (text_low, text_high) in zip(lowest, pairs, strict=True)
    ]


def _text(value: object) -> str:
    """Write numbers as short as they can be read back: 34.0 as 34."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
