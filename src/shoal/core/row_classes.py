"""Equal rows, distinct rows and Hamming distances: everything that compares records by their codes.

Cost 2023, sections 1.1 and 4.2. A table of categories is an int32 matrix ``codes`` (n x m), one column per attribute;
codes are only compared for equality. The *within-group distance* of a grouping is the sum of the Hamming distances of
all unordered pairs of records that share a group. Columns may have weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.errors import DataError, ParameterError


def equal_rows(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the class of each record: equal numbers where all columns are equal; O(d n log n).

    A missing value (NaN) equals a missing value. Classes are numbered in lexicographic order of their values.

    Examples
    --------
    >>> equal_rows([np.array([1.0, 1.0, np.nan, np.nan]), np.array([5.0, 6.0, 5.0, 5.0])]).tolist()
    [0, 1, 2, 2]
    """
    if not columns:
        raise DataError("no column is given, so records cannot be compared")
    classes = np.zeros(len(columns[0]), np.int64)
    for number, column in enumerate(columns):
        codes = np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if number:
            codes = np.unique(classes * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].reshape(-1)
        classes = codes
    return classes


@dataclass(frozen=True)
class Collapsed:
    """The distinct rows of a table with their counts: the abbreviated frequency vector.

    Parameters
    ----------
    rows
        The distinct rows (n_a x m) in lexicographic order.
    counts
        The number of records of each distinct row.
    inverse
        The distinct row of each record.

    Examples
    --------
    >>> table = collapse(np.array([[1, 0], [0, 1], [1, 0]], np.int32))
    >>> table.rows.tolist(), table.counts.tolist(), table.inverse.tolist()
    ([[0, 1], [1, 0]], [1, 2], [1, 0, 1])
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]
    inverse: NDArray[np.int64]

    def members(self) -> list[NDArray[np.int64]]:
        """Return the rows of the table that equal each distinct row, in ascending order."""
        return np.split(np.argsort(self.inverse, kind="stable"), np.cumsum(self.counts)[:-1])


def collapse(codes: NDArray[np.int32]) -> Collapsed:
    """Return the distinct rows of a table with their counts; O(n m log n)."""
    if codes.shape[1] == 0:
        return Collapsed(codes[:1], np.array([len(codes)]), np.zeros(len(codes), np.int64))
    order = np.lexsort(codes.T[::-1])
    ordered = codes[order]
    new = np.ones(len(codes), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(codes), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return Collapsed(np.ascontiguousarray(ordered[new]), np.bincount(inverse), inverse)


def check_codes(codes: NDArray[np.int32]) -> None:
    """Raise DataError for a table without columns or with negative codes, which missing values have.

    Examples
    --------
    >>> check_codes(np.array([[0], [-1]], np.int32))
    Traceback (most recent call last):
        ...
    shoal.errors.DataError: 1 of 2 codes is negative; codes of categories start at 0, and missing values have none
    """
    if codes.shape[1] == 0:
        raise DataError("the table has no nominal column, so records cannot be compared")
    negative = int((codes < 0).sum())
    if negative:
        raise DataError(
            f"{negative} of {codes.size} codes {'is' if negative == 1 else 'are'} negative; codes of categories start "
            "at 0, and missing values have none"
        )


def domain_sizes(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of values of each attribute that occur.

    Examples
    --------
    >>> domain_sizes(np.array([[0, 7], [1, 7], [5, 7]], np.int32)).tolist()
    [3, 1]
    """
    return np.array([np.unique(column).size for column in codes.T], np.int64)


def compact(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], list[NDArray[np.int32]]]:
    """Return the codes of each column renumbered 0, 1, ..., and for each column the old code of every new one.

    Examples
    --------
    >>> renumbered, domains = compact(np.array([[0, 7], [5, 7]], np.int32))
    >>> renumbered.tolist(), [domain.tolist() for domain in domains]
    ([[0, 0], [1, 0]], [[0, 5], [7]])
    """
    renumbered = np.empty_like(codes)
    domains = []
    for j, column in enumerate(codes.T):
        domain, inverse = np.unique(column, return_inverse=True)
        renumbered[:, j] = inverse.reshape(-1)
        domains.append(domain)
    return renumbered, domains


def unsafe_rows(codes: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """Return which records violate k-anonymity: fewer than k records have the same values.

    Cost 2023 calls them confidentiality problems.

    Examples
    --------
    >>> unsafe_rows(np.array([[0], [1], [0]], np.int32), 2).tolist()
    [False, True, False]
    """
    table = collapse(codes)
    return (table.counts < k)[table.inverse]


def checked_column_weights(column_weights: Sequence[float] | NDArray[np.float64] | None, m: int) -> NDArray[np.float64]:
    """Return the weight of each column in distances: those given, or 1 for every column.

    Examples
    --------
    >>> checked_column_weights(None, 3).tolist()
    [1.0, 1.0, 1.0]
    >>> checked_column_weights([1, -1], 2)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: column weights must be finite and not negative
    """
    if column_weights is None:
        return np.ones(m)
    weights = np.asarray(column_weights, np.float64)
    if weights.shape != (m,):
        raise ParameterError(f"there are {weights.size} column weights for {m} columns; give one weight per column")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError("column weights must be finite and not negative")
    return weights


def distance_step(column_weights: NDArray[np.float64]) -> float:
    """Return the largest number of which all sums of column weights are multiples; 0 if none is found.

    A lower bound of the within-group distance may be rounded up to the next multiple.

    Examples
    --------
    >>> [distance_step(np.array(weights)) for weights in ([1.0, 1.0], [0.5, 0.75], [1.0, np.pi])]
    [1.0, 0.25, 0.0]
    """
    weights = column_weights.tolist()
    fractions = [Fraction(weight).limit_denominator(10_000) for weight in weights]
    if any(float(fraction) != weight for fraction, weight in zip(fractions, weights, strict=True)):
        return 0.0
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    return gcd(*(int(fraction * denominator) for fraction in fractions)) / denominator


def hamming(
    codes: NDArray[np.int32],
    others: NDArray[np.int32] | None = None,
    column_weights: Sequence[float] | NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the Hamming distances of all rows to all others (by default of the same table); O(n² m).

    Examples
    --------
    >>> hamming(np.array([[0, 0], [0, 1], [1, 2]], np.int32)).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]
    """
    others = codes if others is None else others
    distances = np.zeros((len(codes), len(others)))
    for j, weight in enumerate(checked_column_weights(column_weights, codes.shape[1])):
        distances += weight * (codes[:, j, None] != others[None, :, j])
    return distances


@compiled
def hamming_to_row(codes: Any, records: Any, row: Any) -> Any:
    """Return the Hamming distances of some records to one row."""
    distances = np.zeros(records.size, np.int64)
    for i in range(records.size):
        different = 0
        for j in range(row.size):
            if codes[records[i], j] != row[j]:
                different += 1
        distances[i] = different
    return distances


def group_distances(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    column_weights: Sequence[float] | NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the sum of the Hamming distances of all unordered pairs of each group (Cost 2023, section 4.2).

    Pairs that agree are counted by value, so the cost is O(n m log n) and no matrix of distances is needed.

    Parameters
    ----------
    codes
        Categories as integers, n x m.
    labels
        The group of each record, numbered 0, 1, ...
    column_weights
        Weight of each column in distances.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [0, 0], [0, 1], [0, 1]], np.int32)
    >>> group_distances(rows, np.array([0, 0, 0, 1, 1, 1])).tolist()
    [4.0, 2.0]
    """
    sizes = np.bincount(labels)
    total = np.zeros(sizes.size)
    weights = checked_column_weights(column_weights, codes.shape[1])
    for column, weight in zip(codes.T, weights, strict=True):
        domain = int(column.max()) + 1 if column.size else 1
        cells, counts = np.unique(labels * domain + column, return_counts=True)
        agreeing = np.bincount(cells // domain, weights=counts * (counts - 1.0), minlength=sizes.size)
        total += weight * (sizes * (sizes - 1.0) - agreeing) / 2
    return total


def within_group_distance(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    column_weights: Sequence[float] | NDArray[np.float64] | None = None,
) -> float:
    """Return the within-group distance of a grouping, the objective of the partitioning problem (P4).

    Examples
    --------
    >>> within_group_distance(np.array([[0], [1], [1], [0]], np.int32), np.array([0, 1, 1, 0]))
    0.0
    """
    return float(group_distances(codes, labels, column_weights).sum())


def distinct_per_class(labels: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of different codes in each class 0, 1, ...; O(n log n).

    Parameters
    ----------
    labels
        The class of each record, without a gap.
    codes
        A code from 0 for each record, such as the person that it belongs to.

    Examples
    --------
    >>> distinct_per_class(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 6])).tolist()
    [1, 2]
    """
    width = int(codes.max(initial=0)) + 1
    return np.bincount(np.unique(labels * width + codes) // width).astype(np.int64)
