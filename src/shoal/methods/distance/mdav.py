"""MDAV: maximum distance to average vector, with groups of fixed size.

Thaeter 2021, Algorithm 2 (section 5.1); Domingo-Ferrer & Torra 2005, doi:10.1007/s10618-005-0007-5. Cost O(n² d / k)
time, O(n d) memory. The yardstick of the field: use it to compare with published figures.

The records still free are kept column by column, so that distances to a reference are computed for a block of records
at a time; a record that leaves is overwritten by the last one. Ties go to the lowest record number, and the centroid is
kept in a sum that does not drift, so the labels are those of the pseudocode read literally.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.free_records import FreeRecords, farthest, nearest_and_farthest, take
from shoal.methods.registry import method
from shoal.progress import SILENT, Progress


@method(
    "mdav",
    title="Fixed-size groups around the records farthest from the centre",
    cost="n² d / k",
    guarantee="all groups have k records, one has up to 2k-1",
    reference="Thaeter 2021, Alg. 2; Domingo-Ferrer & Torra 2005",
    when="to compare with published figures; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
)
def mdav(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by MDAV.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The size of all groups but one, which has k to 2k-1 records.
    progress
        Hears how many records are grouped.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> mdav(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = points.shape[0]
    progress.stage("grouping (mdav)", n)
    free = FreeRecords(points)
    labels = np.full(n, -1, np.int64)
    groups = 0
    rounds = max(1, 20_000_000 // (points.size + 1))  # about 20 ms of work between two looks at the clock
    while free.count >= 3 * k:
        before = free.count
        groups = _rounds(*free.state, labels, groups, k, rounds)
        progress.advance(before - free.count)
    if free.count >= 2 * k:
        groups = _half_round(*free.state, labels, groups, k)
    labels[free.records()] = groups
    progress.advance(free.count)
    return labels


@compiled
def _rounds(
    rows: Any, index: Any, total: Any, error: Any, count: Any, labels: Any, groups: int, k: int, limit: int
) -> int:
    """Make up to ``limit`` pairs of groups while at least 3k records are free."""
    for _ in range(limit):
        m = count[0]
        if m < 3 * k:
            break
        r = farthest(rows, index, m, total / m)
        group, s = nearest_and_farthest(rows, index, m, rows[:, r].copy(), k)
        s_record = index[s]
        take(rows, index, total, error, count, group, labels, groups)
        for i in range(count[0]):  # s may have been moved
            if index[i] == s_record:
                s = i
                break
        group, _ = nearest_and_farthest(rows, index, count[0], rows[:, s].copy(), k)
        take(rows, index, total, error, count, group, labels, groups + 1)
        groups += 2
    return groups


@compiled
def _half_round(rows: Any, index: Any, total: Any, error: Any, count: Any, labels: Any, groups: int, k: int) -> int:
    """Make one group when 2k to 3k-1 records are free."""
    m = count[0]
    r = farthest(rows, index, m, total / m)
    group, _ = nearest_and_farthest(rows, index, m, rows[:, r].copy(), k)
    take(rows, index, total, error, count, group, labels, groups)
    return groups + 1
