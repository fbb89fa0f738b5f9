"""Insensitive microaggregation plus noise (Soria-Comas et al. 2014, doi:10.1007/s00778-014-0351-4; Thaeter 2021, 3.19).

Records are sorted by a total order that does not depend on the data and split into groups of k (the method
``insensitive``). If one record is replaced, every group changes in at most one record, so a mean changes by at most 1/k
of the range, and Laplace noise of that scale protects the record. Several columns: each of the n/k means may change, so
the sums of all groups change by up to d n/k ranges in total; this is less noise than without groups only for k above
sqrt(n). One column: the groups are consecutive, the changes of all sums add up to at most one range, and every k
reduces the noise.

Each noisy mean is released once per record of its group, without the original order of the rows and without any other
column: both would reveal the members of the groups, which the noise does not protect. The guarantee is for *replace*
neighbours, and the number of records is public. Time O(d n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.dp.accountant import Accountant
from shoal.dp.database import clipped_cells
from shoal.dp.guarantee import Guarantee, Neighbours, check_k
from shoal.dp.opendp_library import integer_noise
from shoal.errors import DataError, ParameterError
from shoal.methods.univariate.insensitive import insensitive

Order = Literal["z-curve", "sum", "lexicographic"]

_UNIT = 2**16


@dataclass(frozen=True)
class InsensitiveRelease:
    """The noisy means of groups.

    Parameters
    ----------
    means
        The noisy mean of each group in each column, in cells of the grid.
    counts
        The size of each group: k, and k to 2k - 1 for the last.
    scale
        The scale of the noise on means, as a fraction of the range.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    """

    means: NDArray[np.float64]
    counts: NDArray[np.int64]
    scale: float
    guarantee: Guarantee
    accountant: Accountant


def insensitive_noise(
    codes: NDArray[np.int64], shape: tuple[int, ...], *, k: int, epsilon: float, order: Order = "z-curve"
) -> InsensitiveRelease:
    """Release noisy means of groups of k records.

    Parameters
    ----------
    codes
        n x d integers: cells of a public grid.
    shape
        The number of cells of each column of the grid.
    k
        The size of the groups.
    epsilon
        Privacy loss epsilon.
    order
        The total order: ``z-curve`` is a space-filling curve, on which successive records are close to each other;
        ``sum`` is the distance from the lowest corner, as in the paper; ``lexicographic`` starts with the first
        column.

    Returns
    -------
    release
        The noisy means.

    Examples
    --------
    >>> cells = np.arange(10_000)[:, None] % 101
    >>> release = insensitive_noise(cells, (101,), k=100, epsilon=1.0)
    >>> release.counts.sum(), round(release.scale, 4), release.guarantee.neighbours.value
    (np.int64(10000), 0.01, 'replace')
    """
    sums, counts, sensitivity = group_sums(codes, shape, k, order)
    accountant = Accountant(epsilon)
    accountant.spend("means of all groups", accountant.epsilon)
    noisy = integer_noise(sums.ravel(), sensitivity, accountant.epsilon).reshape(sums.shape)
    shares = np.clip(noisy / _UNIT / counts[:, None], 0.0, 1.0)
    return InsensitiveRelease(
        shares * (np.array(shape) - 1),
        counts,
        sensitivity / _UNIT / k / accountant.epsilon,
        accountant.guarantee(Neighbours.REPLACE, ("the number of records",)),
        accountant,
    )


def group_sums(
    codes: NDArray[np.int64], shape: tuple[int, ...], k: int, order: Order = "z-curve"
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the sums of each group in units of 2**-16 of the range, the group sizes, and the sensitivity."""
    check_k(k)
    codes = clipped_cells(codes, shape)
    n, d = codes.shape
    if n < k:
        raise DataError(f"k={k} needs at least {k} records, the table has {n}")
    if max(shape) > 2**40:
        raise ParameterError("a column may have at most 2**40 cells")
    units = codes * _UNIT // np.maximum(np.array(shape) - 1, 1)
    # numbered along the order, not by first appearance: the order of the rows must not affect the release
    labels = insensitive(_sort_keys(codes, units, shape, order), k, order="sum" if order == "sum" else "lexicographic")
    counts = np.bincount(labels).astype(np.int64)
    sums = np.empty((counts.size, d), np.int64)
    for column in range(d):  # sums below 2**53 are exact in floats
        sums[:, column] = np.bincount(labels, units[:, column])
    return sums, counts, _UNIT if d == 1 else counts.size * d * _UNIT


def _sort_keys(
    codes: NDArray[np.int64], units: NDArray[np.int64], shape: tuple[int, ...], order: Order
) -> NDArray[np.float64]:
    """Return the sort keys of the records; each depends on the values of its own record only."""
    if order not in {"z-curve", "sum", "lexicographic"}:
        raise ParameterError(f'order="{order}" is not possible; choose z-curve, sum or lexicographic')
    columns = [units, codes] if order != "z-curve" or codes.shape[1] == 1 else [_z_curve(codes, shape)[:, None], codes]
    return np.column_stack(columns if order != "sum" else [units]).astype(np.float64)


def _z_curve(codes: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the position of each record on the curve that interleaves the binary digits of all columns."""
    d = codes.shape[1]
    digits = min(16, 52 // d)  # 52 digits are exact in a float; beyond 52 columns all records have one position
    coarse = codes * 2**digits // np.array(shape)
    key = np.zeros(len(codes), np.int64)
    for digit in range(digits - 1, -1, -1):
        for column in range(d):
            key = (key << 1) | ((coarse[:, column] >> digit) & 1)
    return key
