"""Insensitive microaggregation plus noise (Soria-Comas et al. 2014, doi:10.1007/s00778-014-0351-4; Thaeter 2021, 3.19).

Records are put into a total order that does not depend on the data and cut into groups of k (the method
``insensitive``). If one record is replaced, every group changes in at most one record, so a mean moves by at most 1/k
of the range, and Laplace noise for that hides the record. Several columns: each of the n/k means may move, so the sums
of all groups change by up to d n/k ranges together; less noise than without groups needs k above sqrt(n). One column:
the groups are consecutive, the changes of all sums add up to one range, and every k pays.

The noisy means are released as a list, each as often as its group is large. Records do not stay in their rows, and no
other column is kept beside the means: that would show who is grouped with whom, which the noise does not protect.
Neighbours are by replacement, and the number of records is public. Cost O(d n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.dp.accountant import Accountant
from shoal.dp.guarantee import Guarantee, Neighbours, check_smallest
from shoal.dp.opendp_library import whole_noise
from shoal.errors import DataError, ParameterError
from shoal.methods.univariate.insensitive import insensitive

Order = Literal["z-curve", "sum", "lexicographic"]

_UNIT = 2**16


@dataclass(frozen=True)
class InsensitiveRelease:
    """Noisy means of groups.

    Parameters
    ----------
    means
        The noisy mean of each group in each column, in cells of the grid.
    counts
        The size of each group: k, and k to 2k - 1 for the last.
    scale
        The scale of the noise on means, as a share of the range.
    guarantee, accountant
        What is promised and what was spent.
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
        n x d whole numbers: cells of a public grid.
    shape
        The number of cells of each column of the grid.
    k
        The size of the groups.
    epsilon
        The price.
    order
        The total order: ``z-curve`` walks through the space so that neighbours on the way are near each other; ``sum``
        goes by the distance from the low corner, as in the paper; ``lexicographic`` by the first column.

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
    account = Accountant(epsilon)
    account.spend("means of all groups", account.epsilon)
    noisy = whole_noise(sums.ravel(), sensitivity, account.epsilon).reshape(sums.shape)
    shares = np.clip(noisy / _UNIT / counts[:, None], 0.0, 1.0)
    return InsensitiveRelease(
        shares * (np.array(shape) - 1),
        counts,
        sensitivity / _UNIT / k / account.epsilon,
        account.guarantee(Neighbours.REPLACE, ("the number of records",)),
        account,
    )


def group_sums(
    codes: NDArray[np.int64], shape: tuple[int, ...], k: int, order: Order = "z-curve"
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the sums of each group in units of 2**-16 of the range, its size, and how much one record changes them."""
    check_smallest(k)
    codes = np.asarray(codes, np.int64)
    if codes.ndim != 2 or codes.shape[1] != len(shape) or not shape:
        raise DataError("codes must be n x d whole numbers, and shape must have d numbers of cells")
    n, d = codes.shape
    if n < k:
        raise DataError(f"k={k} needs at least {k} records, the table has {n}")
    if (codes < 0).any() or (codes >= np.array(shape)).any():
        raise DataError("there are records outside the grid; clip them first")
    if max(shape) > 2**40:
        raise ParameterError("a column may have at most 2**40 cells")
    units = codes * _UNIT // np.maximum(np.array(shape) - 1, 1)
    labels = insensitive(_along(codes, units, shape, order), k, order="sum" if order == "sum" else "lexicographic")
    counts = np.bincount(labels).astype(np.int64)
    sums = np.empty((counts.size, d), np.int64)
    for column in range(d):  # sums below 2**53, so floats hold them exactly
        sums[:, column] = np.bincount(labels, units[:, column])
    return sums, counts, _UNIT if d == 1 else counts.size * d * _UNIT


def _along(
    codes: NDArray[np.int64], units: NDArray[np.int64], shape: tuple[int, ...], order: Order
) -> NDArray[np.float64]:
    """Return what the records are ordered by; it depends on their own values only."""
    if order not in {"z-curve", "sum", "lexicographic"}:
        raise ParameterError(f'order="{order}" is not possible; choose z-curve, sum or lexicographic')
    columns = [units, codes] if order != "z-curve" or codes.shape[1] == 1 else [_z_curve(codes, shape)[:, None], codes]
    return np.column_stack(columns if order != "sum" else [units]).astype(np.float64)


def _z_curve(codes: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the place of each record on the curve that interleaves the binary digits of all columns."""
    d = codes.shape[1]
    digits = min(16, 52 // d)  # 52 digits are exact in a float; beyond 52 columns all records share one place
    coarse = codes * 2**digits // np.array(shape)
    key = np.zeros(len(codes), np.int64)
    for digit in range(digits - 1, -1, -1):
        for column in range(d):
            key = (key << 1) | ((coarse[:, column] >> digit) & 1)
    return key
