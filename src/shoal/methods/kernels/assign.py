"""Assigning records to centres, and drawing centres: the loops of Lloyd's algorithm and k-means++."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.closest import Index, closed, closest, index_groups, moved
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import Groups, distance
from shoal.methods.kernels.sums import add_exactly
from shoal.threads import run_in_threads

CHUNK = 4096


def assign(points: NDArray[np.float64], groups: Groups) -> tuple[NDArray[np.int64], float]:
    """Return the nearest centre of each record, the first among equals, and the sum of squared distances."""
    index = index_groups(groups)
    labels = np.empty(len(points), np.int64)
    far = np.empty(len(points))
    starts = range(0, len(points), CHUNK)
    run_in_threads(lambda start: _assign(points, groups, index, labels, far, start, start + CHUNK), starts)
    return labels, float(far.sum())


@compiled
def _assign(points: Any, groups: Any, index: Index, labels: Any, far: Any, start: int, stop: int) -> None:
    """Fill labels and distances of the records start..stop-1."""
    nobody = -np.ones(1, np.int64)
    by_cost = nobody[0] > 0
    for r in range(start, min(stop, labels.size)):
        labels[r], far[r] = closest(index, groups, points[r], nobody[0], by_cost, 1.0, np.inf)


@compiled
def draw_centres(points: Any, first: int, uniform: Any) -> Any:
    """Return the records that k-means++ draws as centres: the first, then one for each uniform number.

    A record is drawn with a probability proportional to its squared distance to the nearest centre so far; if all
    distances are zero, every record is as likely.
    """
    n = points.shape[0]
    chosen = np.empty(uniform.size + 1, np.int64)
    far = np.empty(n)
    for r in range(n):
        far[r] = np.inf
    chosen[0] = first
    for c in range(uniform.size):
        total = 0.0
        for r in range(n):
            far[r] = min(far[r], distance(points[r], points[chosen[c]]))
            total += far[r]
        target = uniform[c] * total
        drawn = min(n - 1, np.int64(uniform[c] * n))
        if total > 0.0:
            drawn = np.int64(0)
            reached = far[0]
            while drawn < n - 1 and reached <= target:
                drawn += 1
                reached += far[drawn]
        chosen[c + 1] = drawn
    return chosen


@compiled
def merge_small(groups: Any, index: Any, k: int, heir: Any) -> int:
    """Merge every group of fewer than k records with the group whose centroid is nearest; return how many merged.

    One pass in the order of the numbers: the small group takes the other one in; ``heir`` of the latter names it.
    """
    nobody = -np.ones(1, np.int64)
    by_cost = nobody[0] > 0
    merged = 0
    for g in range(groups.used[0]):
        if 0 < groups.sizes[g] < k:
            other, _ = closest(index, groups, groups.centroids[g], np.int64(g), by_cost, 1.0, np.inf)
            if other < 0:
                break
            groups.sizes[g] += groups.sizes[other]
            for j in range(groups.centroids.shape[1]):
                add_exactly(groups.totals[g], groups.errors[g], j, groups.totals[other, j])
                add_exactly(groups.totals[g], groups.errors[g], j, groups.errors[other, j])
                groups.centroids[g, j] = groups.totals[g, j] / groups.sizes[g]
            closed(index, groups, other)
            moved(index, groups, g)
            heir[other] = g
            merged += 1
    return merged
