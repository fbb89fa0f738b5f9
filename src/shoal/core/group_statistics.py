"""Statistics of each group: mean, median, mode, medoid, range and set of values.

The mean loses least squared error (Thaeter 2021, Def. 2.11), the median least absolute error, and the mode changes the
fewest cells. Ties of modes, which are the rule in small groups, go to the category that has been released least so far
compared with its frequency in the table, so that the frequencies of the whole column survive. A medoid is the record
nearest to the centroid: all columns take the values of one true record, so that combinations stay plausible, but the
quasi-identifiers of that record are released. Costs: O(n) for means and modes, O(n d) for medoids, otherwise
O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.grouping import Groups

INTERPRETED_RECORDS = 5_000  # up to here the plain loop is faster than compiling it
SPLIT = 134_217_729.0  # 2**27 + 1 splits a float into two halves whose products are exact


@dataclass(frozen=True, eq=False)
class GroupSummary:
    """Mean, minimum and maximum of each group; NaN where a value of the group is missing.

    Parameters
    ----------
    means
        Each lies between the minimum and the maximum, and equals them where they are equal.
    lowest, highest
        Minimum and maximum.
    """

    means: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]


def group_means(
    values: NDArray[np.float64], grouping: Groups, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean of each group, weighted by the sampling weights if there are any.

    The mean is the exact one, rounded once, so it lies between minimum and maximum of the group, and the mean of equal
    values is that value.

    Examples
    --------
    >>> group_means(np.array([1.0, 3.0, 10.0, 20.0]), Groups([0, 0, 1, 1]))
    array([ 2., 15.])
    >>> group_means(np.array([1.0, 3.0]), Groups([0, 0]), np.array([3.0, 1.0]))
    array([1.5])
    >>> group_means(np.array([0.1, 0.1, 0.1]), Groups([0, 0, 0]))  # a plain sum gives 0.10000000000000002
    array([0.1])
    """
    return group_summary(values, grouping, weights).means


def group_summary(
    values: NDArray[np.float64], grouping: Groups, weights: NDArray[np.float64] | None = None
) -> GroupSummary:
    """Return mean, minimum and maximum of each group.

    Sums are kept as two floats each (Dekker 1971), which leaves an error far below the last digit of the mean.

    Examples
    --------
    >>> group_summary(np.array([1e17, 0.3, -1e17]), Groups([0, 0, 0])).means
    array([0.1])
    """
    groups, labels = len(grouping), grouping.labels
    large = values.size > INTERPRETED_RECORDS
    lowest, highest = (_extremes if large else _extremes.function)(values, labels, groups)
    factors = _factors(lowest, highest)
    scaled = values if factors is None else values * factors[labels]
    sums = _sums if large else _sums.function
    if weights is None:
        parts = *sums(scaled, labels, groups), grouping.sizes.astype(np.float64), np.zeros(groups)
    else:
        products = _product_sums if large else _product_sums.function
        parts = *products(scaled, weights, labels, groups), *sums(weights, labels, groups)
    means = (_quotients if large else _quotients.function)(*parts)
    if factors is not None:
        means /= factors
    return GroupSummary(*_within(means, lowest, highest))


def _within(
    means: NDArray[np.float64], lowest: NDArray[np.float64], highest: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return means between minimum and maximum, and all three NaN where a value is missing."""
    missing = np.isnan(means)
    np.maximum(means, lowest, out=means, where=lowest != 0)  # the sum of zeros has the right sign
    np.minimum(means, highest, out=means, where=highest != 0)
    if missing.any():
        for bounds in (lowest, highest):
            bounds[missing] = np.nan
    return means, lowest, highest


def _factors(lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the power of two that keeps the sums of each group from overflow and underflow; None if all are 1."""
    largest = np.fmax(np.abs(lowest), np.abs(highest))
    large, small = largest > 1e200, (largest < 1e-200) & (largest > 0)
    large &= np.isfinite(largest)  # a group without a known value
    if not (large.any() or small.any()):
        return None
    return np.where(large, 2.0**-400, np.where(small, 2.0**400, 1.0))


@compiled
def _extremes(values: Any, labels: Any, groups: int) -> Any:
    lowest = np.full(groups, np.inf)
    highest = np.full(groups, -np.inf)
    for i in range(values.size):
        g = labels[i]
        x = values[i]
        lowest[g] = x if x < lowest[g] else lowest[g]  # noqa: FURB136 - NaN changes nothing
        highest[g] = x if x > highest[g] else highest[g]  # noqa: FURB136
    return lowest, highest


@compiled
def _sums(values: Any, labels: Any, groups: int) -> Any:
    """Return the sum of each group as two floats; the sum of negative zeros is a negative zero."""
    high = np.full(groups, -0.0)
    low = np.zeros(groups)
    for i in range(values.size):
        g = labels[i]
        before = high[g]
        total = before + values[i]
        part = total - before
        low[g] += (before - (total - part)) + (values[i] - part)
        high[g] = total
    return high, low


@compiled
def _product_sums(values: Any, weights: Any, labels: Any, groups: int) -> Any:
    """Return the sum of values times weights of each group as two floats."""
    high = np.full(groups, -0.0)
    low = np.zeros(groups)
    for i in range(values.size):
        g = labels[i]
        x = values[i]
        w = weights[i]
        product = x * w
        split = x * SPLIT
        x_high = split - (split - x)
        x_low = x - x_high
        split = w * SPLIT
        w_high = split - (split - w)
        w_low = w - w_high
        error = ((x_high * w_high - product) + x_high * w_low + x_low * w_high) + x_low * w_low
        before = high[g]
        total = before + product
        part = total - before
        low[g] += (before - (total - part)) + (product - part) + error
        high[g] = total
    return high, low


@compiled
def _quotients(high: Any, low: Any, divisor: Any, rest: Any) -> Any:
    """Return (high + low) / (divisor + rest), rounded once."""
    found = np.empty(high.size)
    for g in range(high.size):
        quotient = high[g] / divisor[g]
        product = quotient * divisor[g]
        split = quotient * SPLIT
        q_high = split - (split - quotient)
        q_low = quotient - q_high
        split = divisor[g] * SPLIT
        d_high = split - (split - divisor[g])
        d_low = divisor[g] - d_high
        error = ((q_high * d_high - product) + q_high * d_low + q_low * d_high) + q_low * d_low
        remainder = ((high[g] - product) - error + low[g] - quotient * rest[g]) / divisor[g]
        # a negative zero plus zero would be zero
        found[g] = quotient if remainder == 0 else quotient + remainder
    return found


def largest_shares(weights: NDArray[np.float64], grouping: Groups) -> NDArray[np.float64]:
    """Return the share that the largest weight has in the total weight of each group.

    Examples
    --------
    >>> largest_shares(np.array([8.0, 1.0, 1.0, 5.0, 5.0]), Groups([0, 0, 0, 1, 1]))
    array([0.8, 0.5])
    """
    largest = np.zeros(len(grouping))
    np.maximum.at(largest, grouping.labels, weights)
    return largest / np.bincount(grouping.labels, weights)


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
    low, high = (values[records] for records in group_median_records(values, grouping, weights))
    if lower:
        return low
    return np.where(low == high, low, np.clip(low / 2 + high / 2, low, high))  # no overflow


def group_median_records(
    values: NDArray[np.float64], grouping: Groups, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records in the middle of each group: the lower and the upper one, which may be the same.

    Examples
    --------
    >>> low, high = group_median_records(np.array([9.0, 1.0, 2.0, 10.0]), Groups([0, 0, 0, 0]))
    >>> low.tolist(), high.tolist()
    ([2], [0])
    """
    order = np.lexsort((values, grouping.labels))
    starts = np.cumsum(grouping.sizes) - grouping.sizes
    if weights is None:
        low, high = starts + (grouping.sizes - 1) // 2, starts + grouping.sizes // 2
    else:
        low, high = _weighted_middles(weights[order], grouping, starts)
    return order[low], order[high]


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
