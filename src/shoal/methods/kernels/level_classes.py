"""How many records are in classes below k where every column has one level of generalisation, and what they cost.

A record's key is the sum of one random 64-bit word per column and node; equal keys are counted in a table with open
addressing. Words are fixed (SplitMix64), so that every machine counts the same. Two different keys agree with
probability 2**-64; the groups that are released are formed from the nodes themselves and counted again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled


@compiled
def small_classes(
    leaves: Any, counts: Any, starts: Any, words: Any, added: Any, k: int, table: Any, totals: Any
) -> Any:
    """Return the records in classes below k, and what their suppression adds to the sum of penalties.

    Parameters
    ----------
    leaves
        The leaf of each different record in each column (rows x columns).
    counts
        How many records it represents.
    starts
        For each column the place in ``words`` and ``added`` where its level begins.
    words, added
        The word of the node above each leaf, and what suppressing a cell with it adds to its penalty, for all levels of
        all columns one after the other.
    k
        Minimum size of a class.
    table, totals
        Workspace: keys (uint64) and sizes (int64) of a power of two of slots, at least twice as many as rows.
    """
    rows, columns = leaves.shape
    mask = np.uint64(table.size - 1)
    empty = np.uint64(0)
    table[:] = empty
    totals[:] = 0
    for row in range(rows):
        key = np.uint64(1)
        for column in range(columns):
            key += words[starts[column] + leaves[row, column]]
        if key == empty:
            key = np.uint64(1)
        slot = (key ^ (key >> np.uint64(32))) & mask
        while table[slot] != empty and table[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = key
        totals[slot] += counts[row]
    small = np.int64(0)
    cost = 0.0
    for row in range(rows):
        key = np.uint64(1)
        for column in range(columns):
            key += words[starts[column] + leaves[row, column]]
        if key == empty:
            key = np.uint64(1)
        slot = (key ^ (key >> np.uint64(32))) & mask
        while table[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if totals[slot] < k:
            small += counts[row]
            for column in range(columns):
                cost += counts[row] * added[starts[column] + leaves[row, column]]
    return small, cost
