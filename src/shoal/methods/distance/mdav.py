"""MDAV: maximum distance to average vector, with groups of fixed size.

Thaeter 2021, Algorithm 2 (section 5.1); Domingo-Ferrer & Torra 2005, doi:10.1007/s10618-005-0007-5. Cost O(n² d / k)
time, O(n d) memory. The yardstick of the field: use it to compare with published figures.

The records still free stand in a tree that skips most of them in each search, unless groups are few and large. Ties go
to the lowest record number, and the centroid is kept in a sum that does not drift, so the labels are those of the
pseudocode read literally.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels import small_mdav as plain
from shoal.methods.kernels.box_tree import no_stack, plant, search
from shoal.methods.kernels.exact_sums import add_exactly, sums
from shoal.methods.kernels.float32_mdav import single_rounds
from shoal.methods.kernels.radial_bounds import draw_shells, farthest, leave
from shoal.methods.registry import method

LARGE, FEW_GROUPS = 300, 200


@method(
    "mdav",
    title="Fixed-size groups around the records farthest from the centre",
    cost="n² d / k",
    guarantee="all groups have k records, one has up to 2k-1",
    reference="Thaeter 2021, Alg. 2; Domingo-Ferrer & Torra 2005",
    when="to compare with published figures; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
)
def mdav(
    points: NDArray[np.float64],
    k: int,
    *,
    precision: Literal["double", "single"] = "double",
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records by MDAV.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The size of all groups but one, which has k to 2k-1 records.
    precision
        ``single`` computes distances as sdcMicro does, to reproduce its figures on data with many ties.
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
    n = len(points)
    progress.stage("grouping (mdav)", n)
    if precision == "single":
        return _in_single_precision(points, k, progress)
    if n <= plain.FEW:
        found: NDArray[np.int64] = plain.plain_mdav(points, k)
        progress.advance(n)
        return found
    if k >= LARGE and n <= FEW_GROUPS * k:
        return _large_groups(points, k, progress)
    labels = np.full(n, -1, np.int64)
    total, error = sums(points)
    count = np.array([n, 0])
    scratch = np.empty(k), np.empty(k, np.int64), np.empty(points.shape[1]), no_stack()
    while count[0] >= 2 * k:
        tree = plant(points, np.flatnonzero(labels < 0))
        sparse = max(2 * k, int(count[0]) * 2 // 3)
        while count[0] >= sparse:
            shells = draw_shells(tree, points, total / count[0])
            stop = max(sparse, int(count[0]) * 31 // 32)
            before = int(count[0])
            while count[0] >= stop:
                _rounds(points, tree, shells, total, error, count, labels, k, stop, *scratch)
            progress.advance(before - int(count[0]))
    labels[labels < 0] = count[1]
    progress.advance(int(count[0]))
    return labels


def _large_groups(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Group where there are few groups: whole columns at once are then faster than searches in a tree."""
    labels = np.full(len(points), -1, np.int64)
    free = np.arange(len(points))
    rest = np.asfortranarray(points)
    total, error = sums(points)
    group = 0
    while free.size >= 2 * k:
        reference = total / free.size
        for _ in range(2 if free.size >= 3 * k else 1):
            seed = int(_distances(rest, reference).argmax())
            reference = rest[seed].copy()
            taken = _nearest(_distances(rest, reference), seed, k)
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


def _distances(rest: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances, summed attribute by attribute as in the loops."""
    found = np.zeros(len(rest))
    for column, value in zip(rest.T, reference, strict=True):
        gap = column - value
        found += gap * gap
    return found


def _nearest(distances: NDArray[np.float64], seed: int, k: int) -> NDArray[np.bool_]:
    """Return which records are the seed and its k-1 nearest; ties go to the lowest number."""
    distances[seed] = -1.0
    last = np.partition(distances, k - 1)[k - 1]
    taken = distances < last
    tied = np.flatnonzero(distances == last)
    taken[tied[: k - int(taken.sum())]] = True
    return taken


def _in_single_precision(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
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
    points: Any, tree: Any, shells: Any, total: Any, error: Any, count: Any, labels: Any, k: int, stop: int,
    distances: Any, members: Any, query: Any, stack: Any,
) -> None:  # fmt: skip
    """Make up to 200 pairs of groups, or single ones below 3k free records, while ``stop`` records are free.

    The first seed is farthest from the centroid, the second from the first. It is looked for when the first group is
    closed: if the farthest of all records has become a member of that, the farthest free one is wanted anyway.
    """
    cells, numbers, plan, places = tree
    centre, radii, reach = shells
    one = np.int64(1)
    for _ in range(200):
        if count[0] < stop:
            break
        for j in range(total.size):
            query[j] = total[j] / count[0]
        for _ in range(2 if count[0] >= 3 * k else 1):
            seed = farthest(points, cells, numbers, plan, centre, reach, query, stack)
            members[0] = seed
            distances[k - 1] = np.inf
            search(
                points, points, seed, points, places, cells, numbers, plan, 0.0, 1.0, seed, one, distances, members,
                stack,
            )  # fmt: skip
            for i in range(k):
                labels[members[i]] = count[1]
                leave(cells, numbers, plan, places, radii, reach, members[i])
                for j in range(total.size):
                    add_exactly(total, error, j, -points[members[i], j])
            for j in range(total.size):
                query[j] = points[seed, j]
            count[0] -= k
            count[1] += 1
