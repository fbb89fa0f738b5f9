"""Distances between the distributions of original and release: single columns and pairs of columns.

Numbers: the largest distance of the distribution functions (Kolmogorov-Smirnov) and the mean distance of the quantiles
(Wasserstein, in standard deviations). Categories: total variation, half of the summed differences of the shares; a
missing value is a category. Both: the Hellinger distance, numbers cut at the deciles of the original. Pairs: total
variation of two-way tables, numbers cut in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
_MAX_PAIRS = 100
_MAX_CATEGORIES = 20


def kolmogorov_smirnov(column: PairedColumn) -> float:
    """Return the largest difference of the two distribution functions. Cost O(n log n).

    Examples
    --------
    >>> kolmogorov_smirnov(PairedColumn("x", np.array([0.0, 0.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0])))
    0.5
    """
    before, after = _known(column.original), _known(column.released)
    if not (before.size and after.size):
        return 0.0 if before.size == after.size else 1.0
    return largest_difference(before, after)


def largest_difference(left: Floats, right: Floats) -> float:
    """Return the largest difference of the distribution functions of two samples. Cost O(n log n).

    Examples
    --------
    >>> largest_difference(np.array([0.2, 0.4, 0.4, 0.6]), np.array([0.4, 0.6, 0.6, 0.8]))
    0.5
    """
    values = np.union1d(left, right)
    functions = [np.searchsorted(np.sort(part), values, "right") / part.size for part in (left, right)]
    return float(np.abs(functions[0] - functions[1]).max())


def wasserstein(column: PairedColumn) -> float:
    """Return the mean distance of equal quantiles, in standard deviations of the original. Cost O(n log n).

    Examples
    --------
    >>> wasserstein(PairedColumn("x", np.array([0.0, 2.0]), np.array([3.0, 1.0])))
    1.0
    """
    before, after = (column.standardised(_known(part)) for part in (column.original, column.released))
    if not (before.size and after.size):
        return 0.0 if before.size == after.size else float("nan")
    if before.size != after.size:
        share = np.union1d(np.arange(before.size + 1) / before.size, np.arange(after.size + 1) / after.size)
        middle = (share[1:] + share[:-1]) / 2
        before, after = (
            part[np.minimum((middle * part.size).astype(np.int64), part.size - 1)] for part in (before, after)
        )
        return float(np.abs(before - after) @ np.diff(share))
    return float(np.abs(before - after).mean())


def total_variation(column: PairedColumn) -> float:
    """Return half of the summed differences of the shares of all categories. Cost O(n).

    Examples
    --------
    >>> before, after = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, np.nan])
    >>> total_variation(PairedColumn("x", before, after, ("a", "b")))
    0.5
    """
    before, after, count = cells(column)
    return _variation(before, after, count)


def hellinger(column: PairedColumn) -> float:
    """Return the Hellinger distance sqrt(1 - sum of sqrt(p p')), between 0 and 1. Cost O(n log n).

    The cells are those of total variation: categories, and numbers cut at the deciles of the original.

    Examples
    --------
    >>> before, after = np.repeat([0.0, 1.0, 2.0], [5, 3, 2]), np.repeat([0.0, 1.0, 2.0], [6, 3, 1])
    >>> round(hellinger(PairedColumn("x", before, after, ("a", "b", "c"))), 6)
    0.104193
    """
    before, after, count = cells(column)
    roots = [np.sqrt(np.bincount(part, minlength=count) / max(part.size, 1)) for part in (before, after)]
    # half of the summed squares is 1 - sum of sqrt(p p') without the rounding of that difference
    return float(np.sqrt(((roots[0] - roots[1]) ** 2).sum() / 2))


def pairwise_variation(columns: Sequence[PairedColumn], *, seed: int = 0) -> dict[tuple[str, str], float]:
    """Return the total variation of the two-way table of each pair of columns; of 100 random pairs if there are more.

    Examples
    --------
    >>> sex = PairedColumn("sex", np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]), ("f", "m"))
    >>> job = PairedColumn("job", np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]), ("a", "b"))
    >>> pairwise_variation([sex, job])
    {('sex', 'job'): 0.5}
    """
    pairs = list(combinations(range(len(columns)), 2))
    if len(pairs) > _MAX_PAIRS:
        chosen = np.sort(np.random.default_rng(seed).choice(len(pairs), _MAX_PAIRS, replace=False))
        pairs = [pairs[number] for number in chosen]
    counted = {number: cells(columns[number]) for number in {number for pair in pairs for number in pair}}
    found = {}
    for left, right in pairs:
        (before, after, count), (before2, after2, count2) = counted[left], counted[right]
        names = columns[left].name, columns[right].name
        found[names] = _variation(before * count2 + before2, after * count2 + after2, count * count2)
    return found


def _known(values: Floats) -> Floats:
    return np.sort(values[~np.isnan(values)])


def cells(column: PairedColumn) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the cell of each value of both tables, and the number of cells; the last one is for missing values."""
    if column.numeric:
        known = column.original[~np.isnan(column.original)]
        edges = np.unique(np.quantile(known, np.arange(1, 10) / 10)) if known.size else np.empty(0)
        parts = [np.searchsorted(edges, values, "right") for values in (column.original, column.released)]
        count = edges.size + 1
    else:
        frequency = np.bincount(
            column.original[~np.isnan(column.original)].astype(np.int64), minlength=len(column.categories)
        )
        order = np.argsort(-frequency, kind="stable")
        cell = np.full(len(column.categories), _MAX_CATEGORIES)
        cell[order[:_MAX_CATEGORIES]] = np.arange(min(_MAX_CATEGORIES, order.size))
        parts = [cell[np.nan_to_num(values).astype(np.int64)] for values in (column.original, column.released)]
        count = min(_MAX_CATEGORIES, order.size) + int(order.size > _MAX_CATEGORIES)
    found = [
        np.where(np.isnan(values), count, part)
        for part, values in zip(parts, (column.original, column.released), strict=True)
    ]
    return found[0].astype(np.int64), found[1].astype(np.int64), count + 1


def _variation(before: NDArray[np.int64], after: NDArray[np.int64], count: int) -> float:
    shares = [np.bincount(part, minlength=count) / max(part.size, 1) for part in (before, after)]
    return float(np.abs(shares[0] - shares[1]).sum()) / 2
