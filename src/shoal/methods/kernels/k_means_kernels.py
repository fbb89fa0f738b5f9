"""Assigning records to centres, and drawing centres: the loops of Lloyd's algorithm and k-means++."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.threads import run_in_threads
from shoal.methods.kernels.box_tree import NOT_FOUND, build_tree, remove, search, search_stack
from shoal.methods.kernels.centroid_index import update_index
from shoal.methods.kernels.exact_sums import add_exactly
from shoal.methods.kernels.projected_points import ProjectedPoints, projections_of
from shoal.methods.kernels.small_mdav import squared_distance

CHUNK = 4096


def assign(projected: ProjectedPoints, centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Return the nearest centre of each record, the first among equals, and the sum of squared distances."""
    n = len(projected.points)
    tree = build_tree(projections_of(centres, projected.axes), np.arange(len(centres)))
    labels = np.empty(n, np.int64)
    far = np.empty(n)

    def work(start: int) -> None:
        _assign(projected, tree, centres, labels, far, start, min(start + CHUNK, n), np.empty(1), search_stack())

    run_in_threads(work, range(0, n, CHUNK))
    return labels, float(far.sum())


@compiled
def _assign(
    projected: Any, tree: Any, centres: Any, labels: Any, far: Any, start: int, stop: int, distances: Any, stack: Any
) -> None:  # fmt: skip
    """Fill labels and distances of the records start..stop-1."""
    points, projections, _, margin = projected
    cells, numbers, layout, positions = tree
    zero = np.int64(0)
    for r in range(start, stop):
        distances[0] = np.inf
        search(
            points, projections, r, centres, positions, cells, numbers, layout, margin, 1.0, zero - 1, zero, distances,
            labels[r : r + 1], stack,
        )  # fmt: skip
        far[r] = distances[0]


@compiled
def draw_centres(points: Any, first: int, uniform: Any) -> Any:
    """Return the records that k-means++ draws as centres: the first, then one for each uniform number.

    A record is drawn with a probability proportional to its squared distance to the nearest centre so far; if all
    distances are zero, all records are equally likely.
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
            far[r] = min(far[r], squared_distance(points[r], points[chosen[c]]))
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
    groups: Any, index: Any, axes: Any, margin: float, k: int, merged_into: Any, far: Any, target: Any, stack: Any
) -> int:  # fmt: skip
    """Merge every group of fewer than k records with the group whose centroid is nearest; return how many merged.

    One pass in the order of the numbers: the other group becomes part of the small one, and ``merged_into`` of the
    other
    names the small one.
    """
    sizes, sums, centroids, projections, used = groups
    cells, numbers, layout, positions = index
    zero = np.int64(0)
    merged = 0
    for g in range(used[0]):
        if 0 < sizes[g] < k:
            far[0] = np.inf
            search(
                centroids, projections, g, centroids, sizes, cells, numbers, layout, margin, 1.0, g, zero, far, target,
                stack
            )  # fmt: skip
            other = target[0]
            if other == NOT_FOUND:
                break
            sizes[g] += sizes[other]
            sizes[other] = 0
            for j in range(centroids.shape[1]):
                add_exactly(sums[g, 0], sums[g, 1], j, sums[other, 0, j])
                add_exactly(sums[g, 0], sums[g, 1], j, sums[other, 1, j])
                centroids[g, j] = sums[g, 0, j] / sizes[g]
            remove(cells, numbers, layout, positions, other)
            update_index(axes, centroids, projections, g, cells, numbers, layout, positions)
            merged_into[other] = g
            merged += 1
    return merged
