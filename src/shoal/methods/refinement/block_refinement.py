"""Repair across cuts: groups on both sides of a cut are refined together; the loss never rises.

Beyond the papers. MONA groups each block by itself, so groups end at the cuts, and many records have their best
company on the other side. A repair cuts the table anew, this time between whole groups and along other planes, and
refines every new block with all that lies in it: rounds of the moves of ONA* (``dissolving``), then swaps
(``swapping``). Groups at the old cuts now lie inside a block. Cost O(n d) per pass for blocks of fixed size, O(n)
memory beside the table; blocks share the cores.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.errors import ParameterError
from shoal.methods.kernels.centroids import spread
from shoal.methods.partition.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.partition.schedule import Schedule
from shoal.methods.refinement.neighbour_moves import dissolve_all
from shoal.methods.refinement.sse_exchange import swap_all

SMALL = 1e-10
WIDE = 16  # the nearest groups that a record may join
SWAPS = 5  # rounds of swaps
RESTLESS = 1e-3  # a pass that changes fewer records than this share is the last


def repair(
    points: NDArray[np.floating[Any]],
    labels: NDArray[np.int64],
    k: int,
    *,
    passes: int = 3,
    block: int = 10_000,
    rounds: int = 2,
    neighbours: int = 5,
    schedule: Schedule | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Return a grouping that is at least as good, by refining blocks that are cut anew in every pass.

    Parameters
    ----------
    points
        n x d, standardised; float64 or float32.
    labels
        The group of each record; no group has fewer than k.
    k
        The smallest group allowed.
    passes
        How often the table is cut anew and refined; it ends earlier when hardly anything changes.
    block
        About how many records a block has.
    rounds
        Rounds of the moves of ONA* in a block and pass; 0: only swaps, which is fastest.
    neighbours
        How many of the nearest groups a group may swap records with; 0: no swaps.
    schedule
        The time there is; blocks that are not refined when it is over stay as they are.
    progress
        Hears how many records are refined.
    facts
        Receives how many changes each pass made.

    Returns
    -------
    labels
        The group of each record; groups have k to 2k-1 records.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [9.5]])
    >>> repair(points, np.array([0, 0, 1, 1, 1, 0]), 2, passes=1)
    array([0, 0, 0, 1, 1, 1])
    """
    for name, value, least in (("passes", passes, 0), ("block", block, 1), ("rounds", rounds, 0)):
        if value < least:
            raise ParameterError(f"{name}={value} is not possible; choose at least {least}")
    Grouping(labels, k)  # refuses groups below k
    changes: list[int] = []
    cutting_takes = 0.0
    for number in range(passes):
        started = 0.0 if schedule is None else schedule.spent
        if schedule is not None and schedule.left <= cutting_takes:
            break
        cutting = Cutting("pairs" if number % 2 == 0 else "variance", number % points.shape[1])
        blocks = _blocks_of_whole_groups(points, labels, k, block, cutting)
        if schedule is not None:
            cutting_takes = schedule.spent - started
        progress.stage(f"refining across cuts, pass {number + 1} of {passes}", len(points))
        labels, changed = _pass(points, labels, k, blocks, rounds, neighbours, progress, schedule)
        del blocks
        changes.append(changed)
        if changed < RESTLESS * len(points):
            break
    if facts is not None:
        facts["changes in each pass"] = changes
    return labels


def _pass(
    points: NDArray[Any],
    labels: NDArray[np.int64],
    k: int,
    blocks: tuple[NDArray[np.int64], NDArray[np.int64]],
    rounds: int,
    neighbours: int,
    progress: Progress,
    schedule: Schedule | None,
) -> tuple[NDArray[np.int64], int]:
    """Refine every block, and return the new labels and the number of changes."""
    order, bounds = blocks
    refined = np.empty(len(points), np.int64)

    def work(job: tuple[int, int]) -> tuple[int, int]:
        members = order[job[0] : job[1]]
        members = members[np.argsort(labels[members], kind="stable")]  # group after group
        sizes = np.diff(np.flatnonzero(np.diff(labels[members], prepend=-1)), append=members.size)
        if schedule is not None and schedule.late:
            refined[members] = np.repeat(np.arange(sizes.size), sizes)
            return sizes.size, 0
        found, changed = _refine_block(points[members].astype(np.float64), sizes, k, rounds, neighbours)
        refined[members] = found
        progress.advance(members.size)
        return int(found.max()) + 1, changed

    jobs = list(pairwise(bounds.tolist()))
    results = run_in_threads(work, jobs)
    first = 0
    for (start, stop), (count, _) in zip(jobs, results, strict=True):
        refined[order[start:stop]] += first
        first += count
    return refined, sum(changed for _, changed in results)


def _blocks_of_whole_groups(
    points: NDArray[Any], labels: NDArray[np.int64], k: int, block: int, cutting: Cutting
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records block after block, and where the blocks begin and end; no group is cut."""
    sizes = np.bincount(labels)
    centroids = np.empty((sizes.size, points.shape[1]))
    for j in range(points.shape[1]):
        centroids[:, j] = np.bincount(labels, points[:, j], sizes.size) / np.maximum(sizes, 1)
    many = max(2, round(block * sizes.size / len(labels)))
    blocks = cut_into_blocks(centroids, many, cutting)
    number = blocks.labels.astype(np.uint16 if len(blocks) < 1 << 16 else np.int64)[labels]  # short numbers sort faster
    order = np.argsort(number, kind="stable")
    return order, np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(number))])


def _refine_block(
    points: NDArray[np.float64], sizes: NDArray[np.int64], k: int, rounds: int, neighbours: int
) -> tuple[NDArray[np.int64], int]:
    """Refine a block whose records stand group after group; return the labels and the number of changes."""
    n = len(points)
    if n < 2 * k:
        return np.zeros(n, np.int64), 0
    points -= points[0].copy()  # distances only: small coordinates keep the digits of the gains
    count, rows = sizes.size, n // k
    labels = np.repeat(np.arange(count), sizes)
    members, sizes, centroids = _in_rows(points, np.arange(n), labels, sizes, rows, max(3 * k, int(sizes.max())))
    free = np.concatenate([[rows - count], np.arange(rows - 1, count - 1, -1), np.zeros(count, np.int64)])
    room = np.empty((k, points.shape[1])), np.empty(members.shape[1]), np.empty(k, np.int64)
    least = SMALL * spread(points)
    near = _neighbours(sizes, centroids, max(WIDE, neighbours) if rounds else max(neighbours, 1))
    changed = int(dissolve_all(points, members, sizes, centroids, near, free, *room, k, least, rounds))
    if neighbours:
        near = np.ascontiguousarray(near[:, :neighbours])
        restless = np.ones(rows, np.int8)
        changed += 2 * int(swap_all(points, labels, members, sizes, near, centroids, restless, k, least, SWAPS))
    alive = np.flatnonzero(sizes)
    inside = np.arange(members.shape[1]) < sizes[alive, None]
    labels[members[alive][inside]] = np.repeat(np.arange(alive.size), sizes[alive])
    return labels, changed


def _neighbours(sizes: NDArray[np.int64], centroids: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the nearest groups of each row that has a group; itself where there are no others."""
    alive = np.flatnonzero(sizes)
    near = np.repeat(np.arange(sizes.size)[:, None], count, axis=1)
    others = min(count, alive.size - 1)
    if others:
        near[alive, :others] = alive[_nearest_groups(centroids[alive], others)]
    return near


def _in_rows(
    points: NDArray[np.float64],
    order: NDArray[np.int64],
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rows: int,
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the members of each group in a row of their own, the sizes and the centroids, with some rows to spare.

    ``order`` has the records group after group, ``labels`` their groups, in the same order.
    """
    starts = np.cumsum(sizes) - sizes
    members = np.zeros((rows, width), np.int64)
    members[labels, np.arange(labels.size) - starts[labels]] = order
    centroids = np.zeros((rows, points.shape[1]))
    centroids[: sizes.size] = np.add.reduceat(points[order], starts, axis=0) / sizes[:, None]
    return members, np.concatenate([sizes, np.zeros(rows - sizes.size, np.int64)]), centroids


def swap(points: NDArray[np.float64], labels: NDArray[np.int64], k: int, neighbours: int = 5, rounds: int = 5) -> int:
    """Let neighbouring groups exchange records while the loss falls; change the labels and return how often.

    Parameters
    ----------
    points
        n x d.
    labels
        The group of each record, 0, 1, ...; groups have k to 2k-1 records, and so they stay.
    k
        The smallest group allowed.
    neighbours
        How many of the nearest groups are looked at.
    rounds
        How often all groups are visited at most.

    Returns
    -------
    exchanges
        How many exchanges were made.

    Examples
    --------
    >>> labels = np.array([0, 0, 1, 1])
    >>> swap(np.array([[0.0], [9.0], [1.0], [8.0]]), labels, 2)
    1
    >>> labels
    array([1, 0, 1, 0])
    """
    sizes = np.bincount(labels)
    if sizes.size < 2:
        return 0
    order = np.argsort(labels, kind="stable")
    members, sizes, centroids = _in_rows(points, order, labels[order], sizes, sizes.size, max(2 * k, int(sizes.max())))
    near = _nearest_groups(centroids, min(neighbours, sizes.size - 1))
    restless = np.ones(sizes.size, np.int8)
    return int(swap_all(points, labels, members, sizes, near, centroids, restless, k, SMALL * spread(points), rounds))


def _nearest_groups(centroids: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the nearest other groups of each group, the nearest first."""
    from scipy.spatial import KDTree

    tree = KDTree(centroids, 64, compact_nodes=False, balanced_tree=False)
    found = np.asarray(tree.query(centroids, count + 1)[1], np.int64)
    own = found == np.arange(len(found))[:, None]
    own[:, -1] |= ~own.any(axis=1)  # among many equal centroids a group may not find itself
    return np.ascontiguousarray(found[~own].reshape(len(found), count))
