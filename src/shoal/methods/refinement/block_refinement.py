"""Refinement across cuts: groups on both sides of a cut are refined together; the loss never rises.

Beyond the papers. MONA groups each block by itself, so groups end at the cuts, and many records have their nearest
neighbours on the other side. A repair cuts the table anew, this time between whole groups and along other planes, and
refines every new block with all that lies in it: rounds of the moves of ONA* (``neighbour_moves``), then exchanges
(``sse_exchange``). Groups at the old cuts now lie inside a block. Cost O(n d) per pass for blocks of fixed size, O(n)
memory beside the table; blocks share the cores.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import Grouping
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Outcome, Stopped
from shoal.methods.kernels.centroids import gain_tolerance
from shoal.methods.kernels.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.options import Range
from shoal.methods.refinement.neighbour_moves import dissolve_all
from shoal.methods.refinement.sse_exchange import exchange_all, members_in_rows, nearest_groups
from shoal.methods.refinement.step_options import check_step_options

JOINABLE_GROUPS = 16  # the nearest groups that a record may join
EXCHANGE_ROUNDS = 5
LEAST_CHANGES = 1e-3  # a pass that changes fewer records than this share is the last


def repair(
    points: NDArray[np.floating[Any]],
    labels: NDArray[np.int64],
    k: int,
    *,
    passes: Annotated[int, Range(0)] = 3,
    block: Annotated[int, Range(1)] = 10_000,
    rounds: Annotated[int, Range(0)] = 2,
    neighbours: Annotated[int, Range(0)] = 5,
    deadline: Deadline | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Return a grouping that is at least as good, by refining blocks that are cut anew in every pass.

    Parameters
    ----------
    points
        Standardised coordinates of the records, n x d; float64 or float32.
    labels
        The group number of each record; no group has fewer than k records.
    k
        Minimum group size.
    passes
        Maximum number of passes, each of which cuts the table anew and refines the blocks; it ends earlier when hardly
        anything changes.
    block
        Approximate number of records of a block.
    rounds
        Rounds of the moves of ONA* in a block and pass; 0 for exchanges only, which is fastest.
    neighbours
        Number of nearest groups that a group may exchange records with; 0 for no exchanges.
    deadline
        The time that is left; blocks that are not refined when it expires stay as they are.
    progress
        Progress callback.

    Returns
    -------
    outcome
        Labels of groups of k to 2k-1 records. Diagnostics: ``changes_in_each_pass``.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [9.5]])
    >>> repair(points, np.array([0, 0, 1, 1, 1, 0]), 2, passes=1).labels
    array([0, 0, 0, 1, 1, 1])
    """
    check_step_options(repair, passes=passes, block=block, rounds=rounds, neighbours=neighbours)
    Grouping(labels, k)  # raises GroupTooSmall for groups below k
    deadline = Deadline(None) if deadline is None else deadline
    changes: list[int] = []
    cutting_takes = 0.0
    late = False
    for number in range(passes):
        started = deadline.elapsed()
        if deadline.left() <= cutting_takes:
            late = True
            break
        cutting = Cutting("pairs" if number % 2 == 0 else "variance", number % points.shape[1])
        blocks = blocks_of_whole_groups(points, labels, k, block, cutting)
        cutting_takes = deadline.elapsed() - started
        progress.stage(f"refining across cuts, pass {number + 1} of {passes}", len(points))
        labels, changed, late = _pass(points, labels, k, blocks, rounds, neighbours, progress, deadline)
        del blocks
        changes.append(changed)
        if changed < LEAST_CHANGES * len(points):
            break
    stopped: Stopped = "time limit" if late else "finished"
    return Outcome(labels, diagnostics={"changes_in_each_pass": changes}, stopped=stopped)


class _PassResult(NamedTuple):
    labels: NDArray[np.int64]
    changes: int
    late: bool


def _pass(
    points: NDArray[Any],
    labels: NDArray[np.int64],
    k: int,
    blocks: tuple[NDArray[np.int64], NDArray[np.int64]],
    rounds: int,
    neighbours: int,
    progress: Progress,
    deadline: Deadline,
) -> _PassResult:
    """Refine every block; return the new labels, the number of changes, and whether the deadline left blocks out."""
    order, bounds = blocks
    refined = np.empty(len(points), np.int64)

    def work(job: tuple[int, int]) -> tuple[int, int, bool]:
        members = order[job[0] : job[1]]
        members = members[np.argsort(labels[members], kind="stable")]  # group after group
        sizes = np.diff(np.flatnonzero(np.diff(labels[members], prepend=-1)), append=members.size)
        if deadline.expired():
            refined[members] = np.repeat(np.arange(sizes.size), sizes)
            return sizes.size, 0, True
        found, changed = _refine_block(points[members].astype(np.float64), sizes, k, rounds, neighbours)
        refined[members] = found
        progress.advance(members.size)
        return int(found.max()) + 1, changed, False

    jobs = list(pairwise(bounds.tolist()))
    results = run_in_threads(work, jobs)
    first = 0
    for (start, stop), (count, _, _) in zip(jobs, results, strict=True):
        refined[order[start:stop]] += first
        first += count
    changed = sum(result[1] for result in results)
    return _PassResult(refined, changed, any(result[2] for result in results))


def blocks_of_whole_groups(
    points: NDArray[Any], labels: NDArray[np.int64], k: int, block: int, cutting: Cutting
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records block after block, and the bounds of the blocks; no group is cut."""
    sizes = np.bincount(labels)
    centroids = np.empty((sizes.size, points.shape[1]))
    for j in range(points.shape[1]):
        centroids[:, j] = np.bincount(labels, points[:, j], sizes.size) / np.maximum(sizes, 1)
    many = max(2, round(block * sizes.size / len(labels)))
    blocks = cut_into_blocks(centroids, many, cutting)
    # short numbers sort faster
    number: NDArray[Any] = blocks.labels.astype(np.uint16 if len(blocks) < 1 << 16 else np.int64)[labels]
    order = np.argsort(number, kind="stable")
    return order, np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(number))])


def _refine_block(
    points: NDArray[np.float64], sizes: NDArray[np.int64], k: int, rounds: int, neighbours: int
) -> tuple[NDArray[np.int64], int]:
    """Refine a block whose records are sorted by group; return the labels and the number of changes."""
    n = len(points)
    if n < 2 * k:
        return np.zeros(n, np.int64), 0
    points -= points[0].copy()  # only distances matter, and small coordinates lose fewer digits
    count, rows = sizes.size, n // k
    labels = np.repeat(np.arange(count), sizes)
    members, sizes, centroids = members_in_rows(points, np.arange(n), labels, sizes, rows, max(3 * k, int(sizes.max())))
    free = np.concatenate([[rows - count], np.arange(rows - 1, count - 1, -1), np.zeros(count, np.int64)])
    work = np.empty((k, points.shape[1])), np.empty(members.shape[1]), np.empty(k, np.int64)
    least = gain_tolerance(points)
    near = _neighbours(sizes, centroids, max(JOINABLE_GROUPS, neighbours) if rounds else max(neighbours, 1))
    changed = int(dissolve_all(points, members, sizes, centroids, near, free, *work, k, least, rounds))
    if neighbours:
        near = np.ascontiguousarray(near[:, :neighbours])
        to_visit = np.ones(rows, np.int8)
        changed += 2 * int(
            exchange_all(points, labels, members, sizes, near, centroids, to_visit, k, least, EXCHANGE_ROUNDS)
        )
    alive = np.flatnonzero(sizes)
    inside = np.arange(members.shape[1]) < sizes[alive, None]
    labels[members[alive][inside]] = np.repeat(np.arange(alive.size), sizes[alive])
    return labels, changed


def _neighbours(sizes: NDArray[np.int64], centroids: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the nearest groups of each row that has a group; the row itself where there are no others."""
    alive = np.flatnonzero(sizes)
    near = np.repeat(np.arange(sizes.size)[:, None], count, axis=1)
    others = min(count, alive.size - 1)
    if others:
        near[alive, :others] = alive[nearest_groups(centroids[alive], others)]
    return near
