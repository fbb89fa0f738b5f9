"""Blocks of similar rows: the pre-partition of a large nominal table, so that column generation can solve each block.

Like Mondrian, but for categories: a set of rows is cut in two by the values of one attribute, the one that separates
the fewest rows which differ in no other attribute, and so on until the blocks are small. Time O(n m log n) per level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SMALLEST_SHARE = 0.2  # of the rows in either half


def cut_into_blocks(
    rows: NDArray[np.int32],
    distinct: NDArray[np.int64],
    records: NDArray[np.int64],
    k: int,
    *,
    size: int,
    turn: int = 0,
) -> list[NDArray[np.int64]]:
    """Return the row numbers of each block.

    Parameters
    ----------
    rows
        One row for each unit: a distinct row, or a group that is not cut.
    distinct
        The number of distinct rows of each unit.
    records
        The number of records of each unit.
    k
        Minimum number of records of a block.
    size
        Maximum number of distinct rows of a block, unless a single unit has more.
    turn
        Number of the round: each round begins with another attribute, so that its blocks cross those of the last.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    >>> [block.tolist() for block in cut_into_blocks(rows, np.ones(4, int), np.ones(4, int), 2, size=2)]
    [[2, 3], [0, 1]]
    """
    hashes = _hashes(rows)
    blocks = []
    waiting = [(np.arange(len(rows)), 0)]
    while waiting:
        units, depth = waiting.pop()
        if distinct[units].sum() <= size or units.size == 1:
            blocks.append(units)
            continue
        halves = _halves(rows[units], hashes[units], records[units], k, turn if depth == 0 else 0)
        if halves is None:
            blocks.append(units)
            continue
        waiting.extend([(units[~halves], depth + 1), (units[halves], depth + 1)])
    return blocks


def _hashes(rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a random number for each value, so that their sum is a hash of a combination of values."""
    rng = np.random.default_rng(0)
    hashes = np.empty(rows.shape, np.uint64)
    for j, column in enumerate(rows.T):
        hashes[:, j] = rng.integers(0, 2**63, size=int(column.max()) + 1, dtype=np.uint64)[column]
    return hashes


def _halves(
    rows: NDArray[np.int32], hashes: NDArray[np.uint64], records: NDArray[np.int64], k: int, turn: int
) -> NDArray[np.bool_] | None:
    """Return which rows go into the second half; None if both halves cannot have k records."""
    whole = hashes.sum(axis=1, dtype=np.uint64)
    options = []
    for j in range(rows.shape[1]):
        second = _by_value(rows[:, j])
        share = min(second.mean(), 1 - second.mean())
        if share < _SMALLEST_SHARE or min(records[second].sum(), records[~second].sum()) < k:
            continue
        _, inverse, counts = np.unique(whole - hashes[:, j], return_inverse=True, return_counts=True)
        separated = float((counts[inverse.reshape(-1)] > 1).mean())
        options.append((separated, j, second))
    if options:
        options.sort(key=lambda option: option[:2])
        return options[turn % len(options)][2]
    order = np.lexsort(rows.T[::-1])
    taken = np.cumsum(records[order])
    middle = int(np.searchsorted(taken, taken[-1] / 2))
    for cut in (middle + 1, middle):
        if 0 < cut < len(rows) and taken[cut - 1] >= k and taken[-1] - taken[cut - 1] >= k:
            second = np.zeros(len(rows), bool)
            second[order[cut:]] = True
            return second
    return None


def _by_value(column: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the rows of the second half when values are assigned, the most frequent first, to the smaller half."""
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    second = np.zeros(values.size, bool)
    held = [0, 0]
    for value in np.argsort(-counts, kind="stable").tolist():
        side = int(held[1] < held[0])
        second[value] = side == 1
        held[side] += int(counts[value])
    return second[inverse.reshape(-1)]
