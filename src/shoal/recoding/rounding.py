"""Integers for the means of an integer column, such that the sum of the column survives.

Each mean is rounded down or up. Going through the groups in the order of their means, the direction is chosen such that
the sum of everything rounded so far stays as near as possible to the true sum; neighbouring groups thus balance each
other, and no part of the distribution drifts. The sum of the whole column is off by at most half of the largest group,
and by nothing at all where some exchange of two groups repairs that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled

INTERPRETED_GROUPS = 5_000  # up to here the plain loop is faster than compiling it


def round_keeping_sum(
    means: NDArray[np.float64], sizes: NDArray[np.float64], ordered_by: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Round means to integers, keeping the sum of ``means * sizes``.

    Parameters
    ----------
    means
        The mean of each group; NaN stays NaN.
    sizes
        The number of records of each group, or the sum of their sampling weights.
    ordered_by
        The order of the groups, where ``means`` are only the fractions of them.

    Returns
    -------
    rounded
        Each mean rounded down or up. Cost O(g log g) for g groups.

    Examples
    --------
    >>> round_keeping_sum(np.array([1.5, 1.5, 3.0]), np.array([2.0, 2.0, 2.0]))
    array([1., 2., 3.])
    """
    order = np.argsort(means if ordered_by is None else ordered_by, kind="stable")
    sizes = sizes.astype(np.float64)
    run = _round.function if means.size <= INTERPRETED_GROUPS else _round
    rounded: NDArray[np.float64] = run(means, sizes, order)
    _repair(means, sizes, rounded)
    return rounded


@compiled
def _round(means: Any, sizes: Any, order: Any) -> Any:
    rounded = np.empty(means.size)
    balance = 0.0  # true sum less rounded sum
    for place in range(order.size):
        g = order[place]
        low = np.floor(means[g])
        if np.isnan(means[g]) or low == means[g]:
            rounded[g] = means[g]
            continue
        excess = (means[g] - low) * sizes[g]
        rounded[g] = low + 1.0 if abs(balance + excess - sizes[g]) < abs(balance + excess) else low
        balance += (means[g] - rounded[g]) * sizes[g]
    return rounded


def _repair(means: NDArray[np.float64], sizes: NDArray[np.float64], rounded: NDArray[np.float64]) -> None:
    """Turn round one group that was rounded down and one that was rounded up, where that brings the sum nearer."""
    fraction = rounded - means
    balance = -float(np.nansum(fraction * sizes))
    if abs(balance) < 1e-6:
        return
    up = _one_of_each_size(np.flatnonzero(fraction < 0), sizes, fraction)
    down = _one_of_each_size(np.flatnonzero(fraction > 0), sizes, -fraction)
    best, best_pair = abs(balance) * (1 - 1e-9), (-1, -1)
    for a in [-1, *up]:
        for b in [-1, *down]:
            left = abs(balance - (sizes[a] if a >= 0 else 0.0) + (sizes[b] if b >= 0 else 0.0))
            if left < best:
                best, best_pair = left, (a, b)
    for group, step in zip(best_pair, (1.0, -1.0), strict=True):
        if group >= 0:
            rounded[group] += step


def _one_of_each_size(groups: NDArray[np.int64], sizes: NDArray[np.float64], cost: NDArray[np.float64]) -> list[int]:
    """Return, for up to 32 different sizes, the group whose mean is nearest to being rounded the other way."""
    sizes_seen = np.unique(sizes[groups]) if groups.size else sizes[:0]
    if sizes_seen.size <= 32:
        found = [inside[cost[inside].argmin()] for inside in (groups[sizes[groups] == size] for size in sizes_seen)]
        return sorted((int(g) for g in found), key=lambda g: (cost[g], g))
    cheapest: dict[float, int] = {}
    for g in groups[np.argsort(cost[groups], kind="stable")].tolist():
        cheapest.setdefault(float(sizes[g]), g)
        if len(cheapest) == 32:
            break
    return list(cheapest.values())
