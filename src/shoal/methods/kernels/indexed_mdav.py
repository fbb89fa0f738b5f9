"""MDAV for tables of more than a few thousand records: searches in a tree, whole columns, or single precision.

The labels of the first two are those of the pseudocode read literally: ties go to the lowest record number, and the
centroid is computed from a sum without accumulated rounding errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import Progress
from shoal.methods.kernels.box_tree import build_tree, search, search_stack
from shoal.methods.kernels.centroids import squared_distances
from shoal.methods.kernels.exact_sums import add_exactly, sums
from shoal.methods.kernels.float32_mdav import single_rounds
from shoal.methods.kernels.radial_bounds import farthest, radial_bounds_of, remove_and_tighten


def mdav_by_tree(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Return the groups of MDAV; the free records are held in a tree that excludes most of them in each search."""
    labels = np.full(len(points), -1, np.int64)
    total, error = sums(points)
    count = np.array([len(points), 0])
    scratch = np.empty(k), np.empty(k, np.int64), np.empty(points.shape[1]), search_stack()
    while count[0] >= 2 * k:
        tree = build_tree(points, np.flatnonzero(labels < 0))
        sparse = max(2 * k, int(count[0]) * 2 // 3)
        while count[0] >= sparse:
            radial = radial_bounds_of(tree, points, total / count[0])
            stop = max(sparse, int(count[0]) * 31 // 32)
            before = int(count[0])
            while count[0] >= stop:
                _rounds(points, tree, radial, total, error, count, labels, k, stop, *scratch)
            progress.advance(before - int(count[0]))
    labels[labels < 0] = count[1]
    progress.advance(int(count[0]))
    return labels


def mdav_of_large_groups(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Return the groups of MDAV where they are few: whole columns at once are then faster than searches in a tree."""
    labels = np.full(len(points), -1, np.int64)
    free = np.arange(len(points))
    rest = np.asfortranarray(points)
    total, error = sums(points)
    group = 0
    while free.size >= 2 * k:
        reference = total / free.size
        for _ in range(2 if free.size >= 3 * k else 1):
            seed = int(squared_distances(rest, reference).argmax())
            reference = rest[seed].copy()
            taken = _nearest(squared_distances(rest, reference), seed, k)
            labels[free[taken]] = group
            for j, column in enumerate(rest[taken].T.tolist()):
                left = [total[j], error[j], *(-value for value in column)]
                total[j] = math.fsum(left)
                error[j] = math.fsum([*left, -total[j]])
            free, rest = free[~taken], np.asfortranarray(rest[~taken])
            group += 1
            progress.advance(k)
    labels[free] = group
    progress.advance(free.size)
    return labels


def _nearest(distances: NDArray[np.float64], seed: int, k: int) -> NDArray[np.bool_]:
    """Return which records are the seed and its k-1 nearest; ties go to the lowest number."""
    distances[seed] = -1.0
    last = np.partition(distances, k - 1)[k - 1]
    taken = distances < last
    tied = np.flatnonzero(distances == last)
    taken[tied[: k - int(taken.sum())]] = True
    return taken


def mdav_in_single_precision(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Return the groups of MDAV with distances in single precision, as sdcMicro computes them."""
    labels = np.full(len(points), -1, np.int64)
    free = np.arange(len(points))
    count, groups = len(points), 0
    while count >= 2 * k:
        before = count
        count, groups = single_rounds(points, free, count, k, labels, groups, max(1, 20_000_000 // points.size))
        progress.advance(before - count)
    labels[labels < 0] = groups
    return labels


@compiled
def _rounds(
    points: Any, tree: Any, radial: Any, total: Any, error: Any, count: Any, labels: Any, k: int, stop: int,
    distances: Any, members: Any, query: Any, stack: Any,
) -> None:  # fmt: skip
    """Make up to 200 pairs of groups, or single ones below 3k free records, while ``stop`` records are free.

    The first seed is farthest from the centroid, the second from the first. The second is searched for when the first
    group is complete: if the farthest of all records belongs to that, the farthest free one is needed anyway.
    """
    cells, numbers, layout, positions = tree
    centre, radii, reach = radial
    one = np.int64(1)
    for _ in range(200):
        if count[0] < stop:
            break
        for j in range(total.size):
            query[j] = total[j] / count[0]
        for _ in range(2 if count[0] >= 3 * k else 1):
            seed = farthest(points, cells, numbers, layout, centre, reach, query, stack)
            members[0] = seed
            distances[k - 1] = np.inf
            search(
                points, points, seed, points, positions, cells, numbers, layout, 0.0, 1.0, seed, one, distances,
                members, stack,
            )  # fmt: skip
            for i in range(k):
                labels[members[i]] = count[1]
                remove_and_tighten(cells, numbers, layout, positions, radii, reach, members[i])
                for j in range(total.size):
                    add_exactly(total, error, j, -points[members[i], j])
            for j in range(total.size):
                query[j] = points[seed, j]
            count[0] -= k
            count[1] += 1
