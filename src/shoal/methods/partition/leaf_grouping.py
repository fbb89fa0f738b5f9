"""Grouping of blocks: every block of a table is grouped by itself, on all cores.

Blocks are distributed in jobs of about equal size that do not depend on the number of threads; groups are numbered
block after block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import now
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.errors import ParameterError
from shoal.methods.contract import labels_of
from shoal.methods.kernels.cut_blocks import Blocks, cut_into_blocks
from shoal.methods.partition.pace import COARSEST_LEVEL, Pace
from shoal.methods.registry import get_method

Leaf = Callable[[NDArray[np.float64], int], NDArray[np.int64]]
RECORDS_PER_JOB = 4096


def leaf_method(name: str, option: str = "leaf") -> Leaf:
    """Return the method of that name as a function of points and k.

    Group numbers are those of the method itself, not renumbered as by :func:`shoal.methods.running.run`: later steps
    decide ties by the number of a group.

    Parameters
    ----------
    name
        The name of a method that groups points.
    option
        The option that holds the name, for the error message.

    Examples
    --------
    >>> leaf_method("mdav")(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    method = get_method(name)
    if method.data != "points":
        raise ParameterError(f'{option}="{name}" does not group points; choose another method, for example "ona-star"')
    return lambda points, k: labels_of(method.function(points, k))


def group_blocks(
    points: NDArray[np.floating[Any]],
    blocks: Blocks,
    k: int,
    run: Leaf,
    whole: int,
    name: str,
    progress: Progress = SILENT,
    pace: Pace | None = None,
) -> NDArray[np.int64]:
    """Group each block of more than ``whole`` records by ``run``; the others are one group each.

    Parameters
    ----------
    points
        n x d, float64 or float32; a block is always passed on as float64.
    blocks
        A partition of the records into blocks of at least k.
    k
        Minimum group size.
    run
        Groups the points of a block.
    whole
        The size up to which a block is one group.
    name
        The name of the step in the progress display.
    progress
        Progress callback.
    pace
        Makes the remaining blocks coarser when the time limit gets short; None for no limit.

    Returns
    -------
    labels
        The group number of each record.
    """
    n = len(points)
    if len(blocks) == 1 and n > whole:
        return run(np.ascontiguousarray(points, np.float64), k)
    progress.stage(name, n)
    labels = np.zeros(n, np.int64)
    steps = np.flatnonzero(np.diff(blocks.bounds[:-1] // RECORDS_PER_JOB, prepend=-1))
    jobs = list(zip(steps.tolist(), [*steps[1:].tolist(), len(blocks)], strict=True))

    def grouped(inside: NDArray[np.float64]) -> NDArray[np.int64]:
        if pace is None:
            return run(inside, k)
        level, started = pace.level, now()
        found = group_coarsely(inside, k, level) if level else run(inside, k)
        pace.done(level, len(inside), now() - started)
        return found

    def group_job(job: tuple[int, int]) -> int:
        count = 0
        for number in range(*job):
            members = blocks.order[blocks.bounds[number] : blocks.bounds[number + 1]]
            if members.size <= whole:
                labels[members] = count
                count += 1
            else:
                found = grouped(np.ascontiguousarray(points[members], np.float64))
                labels[members] = count + found
                count += int(found.max()) + 1
        progress.advance(int(blocks.bounds[job[1]] - blocks.bounds[job[0]]))
        return count

    counts = run_in_threads(group_job, jobs)
    first = 0
    for job, count in zip(jobs, counts, strict=True):
        labels[blocks.order[blocks.bounds[job[0]] : blocks.bounds[job[1]]]] += first
        first += count
    return labels


def group_coarsely(points: NDArray[np.float64], k: int, level: int) -> NDArray[np.int64]:
    """Group a block when time is short: in parts of an eighth or a 64th by ``mdav-plus``, or by cuts alone.

    Examples
    --------
    >>> group_coarsely(np.array([[0.0], [9.0], [1.0], [8.0]]), 2, 3)
    array([0, 1, 0, 1])
    """
    whole = 2 * k - 1
    if level >= COARSEST_LEVEL:
        return cut_into_blocks(points, whole).labels
    labels = np.empty(len(points), np.int64)
    run = leaf_method("mdav-plus")
    first = 0
    for members in cut_into_blocks(points, max(len(points) // 8**level, whole)):
        found = run(points[members], k) if members.size > whole else np.zeros(members.size, np.int64)
        labels[members] = first + found
        first += int(found.max()) + 1
    return labels
