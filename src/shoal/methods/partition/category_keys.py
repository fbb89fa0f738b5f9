"""Key columns: the nominal columns in which groups should hold one category, and blocks of records arranged by them.

A nominal column is a key if that lowers the loss expected of groups of k. With keys, a record is grouped among the m
records of its combination of categories: its categories lose nothing, but its numbers have a choice of m records
instead of all n. N records with total variance V in d numbers lose about V (k/N)^(2/d) when they are grouped by k, and
a nominal column that is no key loses its impurity. Keys are added one by one while the sum falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.cut_blocks import cut_into_blocks

CUT_CATEGORIES = 8  # the most frequent categories of a column that is no key, by which large parts may be cut


class Arranged(NamedTuple):
    """Records in blocks of at least k, and the nominal columns that were keys for most of them."""

    blocks: list[NDArray[np.int64]]
    keys: list[int]


def arrange_by_keys(
    numbers: NDArray[np.float64], codes: NDArray[np.int32], weights: NDArray[np.float64], k: int, *, size: int
) -> Arranged:
    """Return blocks of about ``size`` records that share categories of the key columns where possible.

    Combinations of categories with at least k records are put into blocks as a whole, similar ones together. The
    records of rarer combinations are arranged again by themselves, where other columns may be keys. What remains is cut
    by its numbers.

    Parameters
    ----------
    numbers
        Standardised numbers, n x d.
    codes
        Categories, n x m, numbered from 0 in each column.
    weights
        Weight of each nominal column.
    k
        Minimum group size.
    size
        Records of a block, about, and at least 2k.

    Examples
    --------
    >>> codes = np.array([[0], [1], [0], [1]], np.int32)
    >>> [block.tolist() for block in arrange_by_keys(np.zeros((4, 1)), codes, np.ones(1), 2, size=4).blocks]
    [[0, 2, 1, 3]]
    """
    blocks: list[NDArray[np.int64]] = []
    first_keys: list[int] | None = None
    left = np.arange(len(codes))
    while left.size:
        keys, combination = choose_keys(numbers[left], codes[left], weights, k)
        first_keys = keys if first_keys is None else first_keys
        if not keys:
            break
        counts = np.bincount(combination)
        frequent = counts[combination] >= k
        order = np.flatnonzero(frequent)[np.argsort(combination[frequent], kind="stable")]
        blocks += _filled(left[order], combination[order], size)
        left = left[~frequent]
    if blocks and left.size < 2 * k:
        blocks[-1] = np.concatenate([blocks[-1], left])
    elif left.size:
        cut = cut_into_blocks(_cut_coordinates(numbers[left], codes[left], weights), size)
        blocks += [left[np.sort(members)] for members in cut]
    return Arranged(blocks, first_keys or [])


def choose_keys(
    numbers: NDArray[np.float64], codes: NDArray[np.int32], weights: NDArray[np.float64], k: int
) -> tuple[list[int], NDArray[np.int64]]:
    """Return the key columns, the most useful first, and the combination of their categories of each record.

    Examples
    --------
    >>> codes = np.repeat(np.arange(4, dtype=np.int32), 50)[:, None]
    >>> choose_keys(np.linspace(-1.7, 1.7, 200)[:, None], codes, np.ones(1), 5)[0]
    [0]
    >>> choose_keys(np.linspace(-1.7, 1.7, 200)[:, None], np.arange(200, dtype=np.int32)[:, None], np.ones(1), 5)[0]
    []
    """
    n, m = codes.shape
    variances = numbers.var(axis=0)
    spread, dimension = float(variances.sum()), max(1, int((variances > 0).sum()))
    impurity = np.array([_impurity(codes[:, j]) for j in range(m)]) * weights / 2 * (1 - 1 / k)
    combination = np.zeros(n, np.int64)
    keys: list[int] = []
    least = spread * _share_left(n, k, dimension) + impurity.sum()
    while True:
        options = []
        for j in range(m):
            if j in keys or impurity[j] == 0:
                continue
            finer = _combined(combination, codes[:, j])
            counts = np.bincount(finer)
            counts = counts[counts >= k]
            if not counts.size:
                continue
            inside = spread * (counts * _share_left(counts, k, dimension)).sum() / n
            share = counts.sum() / n
            outside = (1 - share) * (spread * _share_left(n, k, dimension) + impurity.sum())
            others = share * impurity[[i for i in range(m) if i not in keys and i != j]].sum()
            options.append((float(inside + outside + others), j, finer))
        if not options:
            return keys, combination
        cost, j, finer = min(options, key=lambda option: option[:2])
        if cost >= least:
            return keys, combination
        least, combination = cost, finer
        keys.append(j)


def _share_left(n: NDArray[np.int64] | int, k: int, dimension: int) -> NDArray[np.float64]:
    """Return the share of the variance that groups of k of n records keep inside, about."""
    share: NDArray[np.float64] = np.minimum(1.0, (k - 1) / np.asarray(n, np.float64)) ** (2 / dimension)
    return share


def _impurity(column: NDArray[np.int32]) -> float:
    shares = np.bincount(column) / column.size
    return float(1 - (shares**2).sum())


def _combined(combination: NDArray[np.int64], column: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the combinations of combinations and categories, numbered from 0 in lexicographic order."""
    pairs = combination * (int(column.max(initial=0)) + 1) + column
    return np.unique(pairs, return_inverse=True)[1].reshape(-1)


def _filled(records: NDArray[np.int64], combination: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Return blocks of whole combinations of at least ``size`` records, the last one joined where it is smaller."""
    ends = np.flatnonzero(np.append(combination[1:] != combination[:-1], True)) + 1
    cuts, start = [], 0
    for end in ends.tolist():
        if end - start >= size:
            cuts.append(end)
            start = end
    if cuts and cuts[-1] < records.size and records.size - cuts[-1] < size // 2:
        cuts.pop()
    return np.split(records, [cut for cut in cuts if cut < records.size])


def _cut_coordinates(
    numbers: NDArray[np.float64], codes: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return numbers and the most frequent categories as coordinates, by which records without keys are cut."""
    parts = [numbers]
    for column, weight in zip(codes.T, weights.tolist(), strict=True):
        counts = np.bincount(column)
        frequent = np.argsort(-counts, kind="stable")[:CUT_CATEGORIES]
        parts.append((column[:, None] == frequent) * np.sqrt(weight / 2))
    return np.ascontiguousarray(np.hstack(parts)) if numbers.shape[1] or len(parts) > 1 else np.zeros((len(codes), 1))
