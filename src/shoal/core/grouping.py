"""Groups of records: which record belongs to which group, with at least k records in each where k is stated."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import GroupTooLarge, GroupTooSmall, ParameterError


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Groups:
    """Records in groups of any size.

    Labels are canonical: groups are numbered 0, 1, ... by the first record that belongs to them, so that two methods
    which find the same groups give equal labels.

    Parameters
    ----------
    labels
        One integer per record; records with equal integers form a group.

    Examples
    --------
    >>> Groups([7, 7, 3]).sizes
    array([2, 1])
    >>> Groups([7, 7, 3]) == Groups([0, 0, 1])
    True
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64] = field(init=False)

    def __init__(self, labels: ArrayLike) -> None:
        try:
            array = np.asarray(labels)
        except ValueError:
            raise ParameterError("labels must be one integer for each record") from None
        canonical, _ = canonical_order(array)
        sizes = np.bincount(canonical).astype(np.int64)
        canonical.flags.writeable = False
        sizes.flags.writeable = False
        object.__setattr__(self, "labels", canonical)
        object.__setattr__(self, "sizes", sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and np.array_equal(self.labels, other.labels)

    __hash__ = None  # type: ignore[assignment]  # compared by the contents of arrays

    def __len__(self) -> int:
        return int(self.sizes.size)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{size}</td><td>{count}</td></tr>" for size, count in self.size_histogram().items())
        header = "<tr><th>records in the group</th><th>groups</th></tr>"
        return f"<p>{escape(self.summary())}</p><table>{header}{rows}</table>"

    def summary(self) -> str:
        """Return the number of records and groups, and the range of sizes, as one line."""
        if not len(self):
            return "no records"
        low, high = int(self.sizes.min()), int(self.sizes.max())
        each = f"{low}" if low == high else f"{low} to {high}"
        return f"{self.n:,} records in {len(self):,} group{'' if len(self) == 1 else 's'} of {each}"

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.labels.size)

    def size_histogram(self) -> dict[int, int]:
        """Return how many groups there are of each size.

        Examples
        --------
        >>> Groups([0, 0, 1, 1, 2, 2, 2]).size_histogram()
        {2: 2, 3: 1}
        """
        return size_histogram(self.sizes)

    def members(self) -> list[NDArray[np.int64]]:
        """Return the records of each group, in ascending order.

        Examples
        --------
        >>> Groups([0, 1, 0, 1]).members()
        [array([0, 2]), array([1, 3])]
        """
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Grouping(Groups):
    """Records in groups of at least k; raises :class:`shoal.errors.GroupTooSmall` otherwise.

    Parameters
    ----------
    labels
        One integer per record; records with equal integers form a group.
    k
        The smallest size allowed.
    max_size
        The largest size allowed, if there is one; a larger group raises :class:`shoal.errors.GroupTooLarge`.

    Examples
    --------
    >>> grouping = Grouping([7, 7, 3, 3, 3], k=2)
    >>> grouping
    <Grouping: 5 records in 2 groups of 2 to 3, k=2>
    >>> grouping.labels
    array([0, 0, 1, 1, 1])
    >>> Grouping([0, 0, 1], k=2)
    Traceback (most recent call last):
        ...
    shoal.errors.GroupTooSmall: 1 of 2 groups has fewer than k=2 records (the smallest has 1)
    """

    k: int
    max_size: int | None

    def __init__(self, labels: ArrayLike, k: int, *, max_size: int | None = None) -> None:
        super().__init__(labels)
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise ParameterError(f"k must be an integer, not {k!r}")
        object.__setattr__(self, "k", int(k))
        object.__setattr__(self, "max_size", max_size)
        self._check()

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Grouping) and (self.k, self.max_size) == (other.k, other.max_size)
        return same and super().__eq__(other)

    __hash__ = None  # compared by the contents of arrays

    def summary(self) -> str:
        """Return the number of records and groups, the range of sizes and k, as one line."""
        return f"{super().summary()}, k={self.k}"

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


def size_histogram(sizes: NDArray[np.int64]) -> dict[int, int]:
    """Return how many groups there are of each size, in ascending order of the size.

    Examples
    --------
    >>> size_histogram(np.array([3, 2, 2]))
    {2: 2, 3: 1}
    """
    different, counts = np.unique(sizes, return_counts=True)
    return {int(size): int(count) for size, count in zip(different, counts, strict=True)}


def canonical_labels(labels: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the labels renumbered 0, 1, ... by first appearance; O(n) for labels in 0..n-1.

    Examples
    --------
    >>> canonical_labels(np.array([5, 5, 2, 5]))
    array([0, 0, 1, 0])
    """
    return canonical_order(labels)[0]


def ordered_labels(labels: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the labels renumbered 0, 1, ... without changing their order.

    Examples
    --------
    >>> ordered_labels(np.array([7, 7, 3]))
    array([1, 1, 0])
    """
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def canonical_order(labels: NDArray[np.generic]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels renumbered by first appearance, and for each new number the old one.

    Old numbers are positions among the distinct old labels in ascending order, which are the labels themselves where
    these are 0, 1, ... without a gap.

    Examples
    --------
    >>> canonical_order(np.array([2, 2, 0, 1]))
    (array([0, 0, 1, 2]), array([2, 0, 1]))
    """
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ParameterError(f"labels must be one integer per record, not {labels.ndim}-d {labels.dtype}")
    if not labels.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= 2 * labels.size:
        labels = np.unique(labels, return_inverse=True)[1]
        high = int(labels.max())
    n = labels.size
    first = np.full(high + 1, n, np.int64)
    first[labels[::-1]] = np.arange(n - 1, -1, -1)  # the last assignment, the first record, stays
    used = np.flatnonzero(first < n)
    order = np.argsort(first[used])
    number = np.empty(high + 1, np.int64)
    number[used[order]] = np.arange(used.size)
    canonical: NDArray[np.int64] = number[labels]
    return canonical, order


def check_k(k: int, n: int) -> None:
    """Raise for a k below 2 or above the number of records.

    Examples
    --------
    >>> check_k(5, 3)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: k=5 needs at least 5 records, the table has 3
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ParameterError(f"k must be an integer of at least 2, not {k!r}")
    if k < 2:
        raise ParameterError(f"k must be at least 2, got {k}")
    if k > n:
        raise ParameterError(f"k={k} needs at least {k} records, the table has {n}")
