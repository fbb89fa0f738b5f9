"""Assigning records to centres, and drawing centres: the loops of Lloyd's algorithm and k-means++."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.threads import run_in_threads
from shoal.methods.kernels.box_tree import NOBODY, apart, no_stack, plant, remove, search
from shoal.methods.kernels.centroid_index import follow
from shoal.methods.kernels.exact_sums import add_exactly
from shoal.methods.kernels.projected_points import Cloud, shades_of

CHUNK = 4096


def assign(cloud: Cloud, centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Return the nearest centre of each record, the first among equals, and the sum of squared distances."""
    n = len(cloud.points)
    tree = plant(shades_of(centres, cloud.axes), np.arange(len(centres)))
    labels = np.empty(n, np.int64)
    far = np.empty(n)

    def work(start: int) -> None:
        _assign(cloud, tree, centres, labels, far, start, min(start + CHUNK, n), np.empty(1), no_stack())

    run_in_threads(work, range(0, n, CHUNK))
    return labels, float(far.sum())


@compiled
def _assign(
    cloud: Any, tree: Any, centres: Any, labels: Any, far: Any, start: int, stop: int, distances: Any, stack: Any
) -> None:  # fmt: skip
    """Fill labels and distances of the records start..stop-1."""
    points, shades, _, slack = cloud
    cells, numbers, plan, places = tree
    zero = np.int64(0)
    for r in range(start, stop):
        distances[0] = np.inf
        search(
            points, shades, r, centres, places, cells, numbers, plan, slack, 1.0, zero - 1, zero, distances,
            labels[r : r + 1], stack,
        )  # fmt: skip
        far[r] = distances[0]


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
            far[r] = min(far[r], apart(points, r, points, chosen[c]))
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
def merge_small(
    groups: Any, index: Any, axes: Any, slack: float, k: int, heir: Any, far: Any, host: Any, stack: Any
) -> int:  # fmt: skip
    """Merge every group of fewer than k records with the group whose centroid is nearest; return how many merged.

    One pass in the order of the numbers: the small group takes the other one in; ``heir`` of the latter names it.
    """
    sizes, sums, centroids, shades, used = groups
    cells, numbers, plan, places = index
    zero = np.int64(0)
    merged = 0
    for g in range(used[0]):
        if 0 < sizes[g] < k:
            far[0] = np.inf
            search(
                centroids, shades, g, centroids, sizes, cells, numbers, plan, slack, 1.0, g, zero, far, host, stack
            )  # fmt: skip
            other = host[0]
            if other == NOBODY:
                break
            sizes[g] += sizes[other]
            sizes[other] = 0
            for j in range(centroids.shape[1]):
                add_exactly(sums[g, 0], sums[g, 1], j, sums[other, 0, j])
                add_exactly(sums[g, 0], sums[g, 1], j, sums[other, 1, j])
                centroids[g, j] = sums[g, 0, j] / sizes[g]
            remove(cells, numbers, plan, places, other)
            follow(axes, centroids, shades, g, cells, numbers, plan, places)
            heir[other] = g
            merged += 1
    return merged
