"""A grouping: which record belongs to which group, never with a group below k."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import GroupTooLarge, GroupTooSmall, ParameterError


@dataclass(frozen=True)
class Grouping:
    """Records in groups of at least k; refuses to exist otherwise.

    Labels are canonical: groups are numbered 0, 1, ... by the first record that belongs to them, so that two methods
    which find the same groups give equal labels.

    Parameters
    ----------
    labels
        One integer per record; records with equal integers form a group.
    k
        The smallest size allowed.
    max_size
        The largest size allowed, if there is such a promise.

    Examples
    --------
    >>> grouping = Grouping([7, 7, 3, 3, 3], k=2)
    >>> grouping.labels
    array([0, 0, 1, 1, 1])
    >>> grouping.sizes
    array([2, 3])
    >>> Grouping([0, 0, 1], k=2)
    Traceback (most recent call last):
        ...
    shoal.errors.GroupTooSmall: 1 of 2 groups has fewer than k=2 records (the smallest has 1)
    """

    labels: NDArray[np.int64]
    k: int
    max_size: int | None = None
    sizes: NDArray[np.int64] = field(init=False, repr=False)

    def __init__(self, labels: ArrayLike, k: int, *, max_size: int | None = None) -> None:
        canonical = canonical_labels(np.asarray(labels))
        sizes = np.bincount(canonical).astype(np.int64)
        canonical.flags.writeable = False
        sizes.flags.writeable = False
        for name, value in {"labels": canonical, "k": int(k), "max_size": max_size, "sizes": sizes}.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not self.sizes.size:
            raise GroupTooSmall(f"no records were grouped; k={self.k} needs at least {self.k}")
        smallest = int(self.sizes.min())
        if smallest < self.k:
            below = int((self.sizes < self.k).sum())
            raise GroupTooSmall(
                f"{below} of {self.sizes.size} groups {'has' if below == 1 else 'have'} fewer than k={self.k} records "
                f"(the smallest has {smallest})"
            )
        largest = int(self.sizes.max())
        if self.max_size is not None and largest > self.max_size:
            above = int((self.sizes > self.max_size).sum())
            raise GroupTooLarge(
                f"{above} of {self.sizes.size} groups {'has' if above == 1 else 'have'} more than "
                f"{self.max_size} records (the largest has {largest})"
            )

    def __len__(self) -> int:
        return int(self.sizes.size)

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.labels.size)

    def size_histogram(self) -> dict[int, int]:
        """Return how many groups there are of each size.

        Examples
        --------
        >>> Grouping([0, 0, 1, 1, 2, 2, 2], k=2).size_histogram()
        {2: 2, 3: 1}
        """
        sizes, counts = np.unique(self.sizes, return_counts=True)
        return {int(size): int(count) for size, count in zip(sizes, counts, strict=True)}

    def members(self) -> list[NDArray[np.int64]]:
        """Return the records of each group, in ascending order.

        Examples
        --------
        >>> Grouping([0, 1, 0, 1], k=2).members()
        [array([0, 2]), array([1, 3])]
        """
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])


def canonical_labels(labels: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the labels renumbered 0, 1, ... by first appearance; O(n) for labels in 0..n-1.

    Examples
    --------
    >>> canonical_labels(np.array([5, 5, 2, 5]))
    array([0, 0, 1, 0])
    """
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ParameterError(f"labels must be one integer per record, not {labels.ndim}-d {labels.dtype}")
    if not labels.size:
        return np.empty(0, np.int64)
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= 2 * labels.size:
        labels = np.unique(labels, return_inverse=True)[1]
        high = int(labels.max())
    n = labels.size
    first = np.full(high + 1, n, np.int64)
    first[labels[::-1]] = np.arange(n - 1, -1, -1)  # the last assignment, the first record, stays
    used = np.flatnonzero(first < n)
    number = np.empty(high + 1, np.int64)
    number[used[np.argsort(first[used])]] = np.arange(used.size)
    canonical: NDArray[np.int64] = number[labels]
    return canonical
