"""Statistics of each group: mean, median, mode, medoid, range and set of values.

The mean loses least squared error (Thaeter 2021, Def. 2.11), the median least absolute error, and the mode changes the
fewest cells. Ties of modes, which are the rule in small groups, go to the category that has been released least so far
compared with its frequency in the table, so that the frequencies of the whole column survive. A medoid is the record
nearest to the centroid: all columns take the values of one true record, so that combinations stay plausible, but the
quasi-identifiers of that record are released. Costs: O(n) for means and modes, O(n d) for medoids, otherwise
O(n log n).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.grouping import Groups

INTERPRETED_RECORDS = 5_000  # up to here the plain loop is faster than compiling it


def group_means(
    values: NDArray[np.float64], grouping: Groups, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean of each group, weighted by the sampling weights if there are any.

    Examples
    --------
    >>> group_means(np.array([1.0, 3.0, 10.0, 20.0]), Groups([0, 0, 1, 1]))
    array([ 2., 15.])
    >>> group_means(np.array([1.0, 3.0]), Groups([0, 0]), np.array([3.0, 1.0]))
    array([1.5])
    """
    if np.fmax.reduce(np.abs(values)) > 1e280:  # sums of such numbers would overflow, their means do not
        shrink = 2.0**-64
        return group_means(values * shrink, grouping, weights) / shrink
    if weights is None:
        return np.bincount(grouping.labels, values) / grouping.sizes
    return np.bincount(grouping.labels, values * weights) / np.bincount(grouping.labels, weights)


def group_medians(
    values: NDArray[np.float64],
    grouping: Groups,
    weights: NDArray[np.float64] | None = None,
    *,
    lower: bool = False,
) -> NDArray[np.float64]:
    """Return the median of each group.

    Parameters
    ----------
    values
        One number per record.
    grouping
        The groups.
    weights
        Sampling weights: half of the weight of a group lies on each side of its median.
    lower
        Take the lower of two middle values rather than their mean, for positions in an order.

    Examples
    --------
    >>> group_medians(np.array([1.0, 2.0, 9.0, 10.0]), Groups([0, 0, 0, 0]))
    array([5.5])
    >>> group_medians(np.array([1.0, 2.0, 9.0, 10.0]), Groups([0, 0, 0, 0]), lower=True)
    array([2.])
    """
    order = np.lexsort((values, grouping.labels))
    ordered = values[order]
    ends = np.cumsum(grouping.sizes)
    starts = ends - grouping.sizes
    if weights is None:
        low = starts + (grouping.sizes - 1) // 2
        high = starts + grouping.sizes // 2
    else:
        low, high = _weighted_middles(weights[order], grouping, starts)
    if lower:
        return ordered[low]
    return np.where(ordered[low] == ordered[high], ordered[low], ordered[low] / 2 + ordered[high] / 2)  # no overflow


def _weighted_middles(
    weights: NDArray[np.float64], grouping: Groups, starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions where half of the weight of each group is reached, and where it is exceeded."""
    labels = np.repeat(np.arange(len(grouping)), grouping.sizes)
    total = np.add.reduceat(weights, starts)
    share = weights / total[labels]
    summed = np.cumsum(share) - labels  # each earlier group has a share of one
    near = 1e-9
    reached = np.add.reduceat((summed < 0.5 - near).astype(np.int64), starts)
    passed = np.add.reduceat((summed <= 0.5 + near).astype(np.int64), starts)
    last = grouping.sizes - 1
    return starts + np.minimum(reached, last), starts + np.minimum(passed, last)


def group_modes(
    codes: NDArray[np.int64], grouping: Groups, weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Return the most frequent code of each group; weights count a record as often as it represents the population.

    Examples
    --------
    >>> group_modes(np.array([2, 2, 0, 1, 1, 1]), Groups([0, 0, 0, 1, 1, 1]))
    array([2, 1])
    >>> group_modes(np.array([0, 1, 0, 1]), Groups([0, 0, 1, 1]))  # two ties: both categories survive
    array([0, 1])
    """
    weights = np.ones(codes.size) if weights is None else weights
    order = np.argsort(grouping.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(grouping.sizes)])
    run = (
        _modes.function if codes.size <= INTERPRETED_RECORDS else _modes
    )  # compiling takes longer than a few thousand records
    modes: NDArray[np.int64] = run(codes[order].astype(np.int64), weights[order], starts, int(codes.max()) + 1)
    return modes


@compiled
def _modes(codes: Any, weights: Any, starts: Any, categories: int) -> Any:
    groups = starts.size - 1
    modes = np.full(groups, -1)
    balance = np.zeros(categories)  # weight of a category in the table, minus the weight released so far
    for i in range(codes.size):
        balance[codes[i]] += weights[i]
    count = np.zeros(categories)
    for tied in range(2):  # first the groups with one answer, then the ties
        for g in range(groups):
            if modes[g] >= 0:
                continue
            start, stop = starts[g], starts[g + 1]
            total = 0.0
            for i in range(start, stop):
                count[codes[i]] += weights[i]
                total += weights[i]
            best = codes[start]
            rivals = 0
            for i in range(start, stop):
                code = codes[i]
                if count[code] > count[best]:
                    best = code
                    rivals = 0
                elif count[code] == count[best] and code != best:
                    rivals += 1
                    if balance[code] > balance[best] or (balance[code] == balance[best] and code < best):
                        best = code
            for i in range(start, stop):
                count[codes[i]] = 0.0
            if tied == 1 or rivals == 0:
                modes[g] = best
                balance[best] -= total
    return modes


def group_medoids(
    points: NDArray[np.float64], grouping: Groups, weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Return the record of each group that is nearest to its centroid; ties go to the lowest number.

    Examples
    --------
    >>> group_medoids(np.array([[0.0], [1.0], [5.0]]), Groups([0, 0, 0]))
    array([1])
    """
    distance = np.zeros(grouping.n)
    for column in points.T:
        centroid = group_means(column, grouping, weights)
        distance += (column - centroid[grouping.labels]) ** 2
    order = np.lexsort((distance, grouping.labels))
    return order[np.cumsum(grouping.sizes) - grouping.sizes]


def group_ranges(values: NDArray[np.float64], grouping: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the record with the lowest and the record with the highest value of each group.

    Examples
    --------
    >>> lowest, highest = group_ranges(np.array([5.0, 3.0, 9.0, 9.0]), Groups([0, 0, 1, 1]))
    >>> lowest.tolist(), highest.tolist()
    ([1, 2], [0, 3])
    """
    order = np.lexsort((values, grouping.labels))
    ends = np.cumsum(grouping.sizes)
    return order[ends - grouping.sizes], order[ends - 1]


def group_sets(codes: NDArray[np.int64], grouping: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different codes of all groups, one group after the other in ascending order, and how many each has.

    Examples
    --------
    >>> codes, counts = group_sets(np.array([2, 0, 2, 1, 1]), Groups([0, 0, 0, 1, 1]))
    >>> codes.tolist(), counts.tolist()
    ([0, 2, 1], [2, 1])
    """
    different = int(codes.max()) + 1
    keys = np.unique(grouping.labels * different + codes)
    groups, found = np.divmod(keys, different)
    return found, np.bincount(groups, minlength=len(grouping))
