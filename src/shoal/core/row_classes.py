"""The nominal model: tables of codes, Hamming distances, cluster weights, and duplicates as weighted rows.

Cost 2023, sections 1.1 and 4.2. A table is an int32 matrix ``codes`` (n x m), one column per attribute, each value a
number that only serves to be compared. The weight of a cluster is the sum of the Hamming distances of its unordered
pairs, the weight of a clustering the sum over its clusters. Attributes may count more or less than 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError


@dataclass(frozen=True)
class Collapsed:
    """The distinct rows of a table with how often each occurs: the abbreviated frequency vector.

    Parameters
    ----------
    rows
        The distinct rows (n_a x m) in lexicographic order.
    counts
        How often each occurs.
    inverse
        For each row of the table the number of its distinct row.

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
    """Return the distinct rows of a table and how often each occurs; O(n m log n)."""
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
    """Refuse a table without attributes or with negative codes (what a missing value becomes).

    Examples
    --------
    >>> check_codes(np.array([[0], [-1]], np.int32))
    Traceback (most recent call last):
        ...
    shoal.errors.DataError: 1 of 2 codes is negative; codes of categories start at 0, and missing values have none
    """
    if codes.shape[1] == 0:
        raise DataError("the table has no nominal column; nothing can be compared")
    negative = int((codes < 0).sum())
    if negative:
        raise DataError(
            f"{negative} of {codes.size} codes {'is' if negative == 1 else 'are'} negative; codes of categories start "
            "at 0, and missing values have none"
        )


def domain_sizes(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many values of each attribute occur.

    Examples
    --------
    >>> domain_sizes(np.array([[0, 7], [1, 7], [5, 7]], np.int32)).tolist()
    [3, 1]
    """
    return np.array([np.unique(column).size for column in codes.T], np.int64)


def compact(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], list[NDArray[np.int32]]]:
    """Return the codes renumbered 0, 1, ... without holes, and the old code of each new one per attribute.

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


def problem_rows(codes: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """Return which rows have a combination of values that occurs fewer than k times (confidentiality problems).

    Examples
    --------
    >>> problem_rows(np.array([[0], [1], [0]], np.int32), 2).tolist()
    [False, True, False]
    """
    table = collapse(codes)
    return (table.counts < k)[table.inverse]


def attribute_weights(weights: Sequence[float] | None, m: int) -> NDArray[np.float64]:
    """Return how much each attribute counts in distances; 1 if nothing is given.

    Examples
    --------
    >>> attribute_weights(None, 3).tolist()
    [1.0, 1.0, 1.0]
    >>> attribute_weights([1, -1], 2)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: attribute weights must be finite and not negative
    """
    if weights is None:
        return np.ones(m)
    array = np.asarray(weights, np.float64)
    if array.shape != (m,):
        raise ParameterError(f"there are {m} attributes but {array.size} attribute weights")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ParameterError("attribute weights must be finite and not negative")
    return array


def weight_step(weights: NDArray[np.float64]) -> float:
    """Return the largest number of which all sums of attribute weights are multiples; 0 if none is found.

    A lower bound on the weight of a clustering may be rounded up to the next multiple.

    Examples
    --------
    >>> weight_step(np.array([1.0, 1.0])), weight_step(np.array([0.5, 0.75])), weight_step(np.array([1.0, np.pi]))
    (1.0, 0.25, 0.0)
    """
    fractions = [Fraction(weight).limit_denominator(10_000) for weight in weights.tolist()]
    if any(float(fraction) != weight for fraction, weight in zip(fractions, weights.tolist(), strict=True)):
        return 0.0
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    return gcd(*(int(fraction * denominator) for fraction in fractions)) / denominator


def hamming(
    codes: NDArray[np.int32],
    others: NDArray[np.int32] | None = None,
    weights: Sequence[float] | NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the Hamming distances of all rows to all others (by default of the same table); O(n² m).

    Examples
    --------
    >>> hamming(np.array([[0, 0], [0, 1], [1, 2]], np.int32)).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]
    """
    others = codes if others is None else others
    counts = attribute_weights(None if weights is None else list(weights), codes.shape[1])
    distances = np.zeros((len(codes), len(others)))
    for j, weight in enumerate(counts):
        distances += weight * (codes[:, j, None] != others[None, :, j])
    return distances


def cluster_weights(
    codes: NDArray[np.int32], labels: NDArray[np.int64], weights: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Return the weight of each cluster: the Hamming distances of its unordered pairs (Cost 2023, section 4.2).

    Pairs that agree are counted by value, so the cost is O(n m log n) and no distances are kept.

    Parameters
    ----------
    codes
        n x m.
    labels
        The cluster of each row, numbered 0, 1, ...
    weights
        How much each attribute counts.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [0, 0], [0, 1], [0, 1]], np.int32)
    >>> cluster_weights(rows, np.array([0, 0, 0, 1, 1, 1])).tolist()
    [4.0, 2.0]
    """
    sizes = np.bincount(labels)
    total = np.zeros(sizes.size)
    for column, weight in zip(codes.T, attribute_weights(weights, codes.shape[1]), strict=True):
        domain = int(column.max()) + 1 if column.size else 1
        cells, counts = np.unique(labels * domain + column, return_counts=True)
        agreeing = np.bincount(cells // domain, weights=counts * (counts - 1.0), minlength=sizes.size)
        total += weight * (sizes * (sizes - 1.0) - agreeing) / 2
    return total


def clustering_weight(
    codes: NDArray[np.int32], labels: NDArray[np.int64], weights: Sequence[float] | None = None
) -> float:
    """Return the weight of a clustering, the objective of the partitioning step (P4).

    Examples
    --------
    >>> clustering_weight(np.array([[0], [1], [1], [0]], np.int32), np.array([0, 1, 1, 0]))
    0.0
    """
    return float(cluster_weights(codes, labels, weights).sum())
