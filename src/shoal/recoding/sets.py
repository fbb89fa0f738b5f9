"""The set of values of each group, as text such as ``{baker, painter}``. Cost O(n log n).

A set says nothing false about anybody and more than a hierarchy, but it shows every value that occurs in the group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping


def group_sets(codes: NDArray[np.int64], grouping: Grouping) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different codes of all groups, one group after the other in ascending order, and how many each has.

    Examples
    --------
    >>> codes, counts = group_sets(np.array([2, 0, 2, 1, 1]), Grouping([0, 0, 0, 1, 1], k=2))
    >>> codes.tolist(), counts.tolist()
    ([0, 2, 1], [2, 1])
    """
    different = int(codes.max()) + 1
    keys = np.unique(grouping.labels * different + codes)
    groups, found = np.divmod(keys, different)
    return found, np.bincount(groups, minlength=len(grouping))


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
