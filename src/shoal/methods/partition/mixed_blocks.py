"""mixed-blocks: numbers beside columns of many categories, in blocks in which few categories occur.

Not in the papers. A nominal column becomes one coordinate per category, which cannot be stored for thousands of
categories and a million records. But groups should hold one category of such a column wherever enough records have it.
So records are first arranged in blocks of equal categories of the key columns (``category_keys``), and inside a block
only the categories that occur there at least k times become coordinates: the records of a rarer category are about as
far from all others, whatever their group. Each block is grouped by MONA⁺ on these coordinates. Cost O(n) blocks of
bounded size, O(n) memory beside the table.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import compact
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Outcome
from shoal.methods.options import Range
from shoal.methods.partition.category_keys import arrange_by_keys
from shoal.methods.registry import method
from shoal.methods.running import run

BLOCK_RECORDS = 1_500
MOST_COORDINATES = 200  # of one nominal column inside a block: its most frequent categories
RECORDS_PER_JOB = 20_000
_LEVELS: dict[str, dict[str, Any]] = {
    "fast": {"passes": 1, "rounds": 0, "leaf": "mdav-plus"},
    "balanced": {"passes": 2, "rounds": 2},
    "best": {"passes": 10, "rounds": 3},
}


@method(
    "mixed-blocks",
    title="Numbers and many categories: blocks of few categories, each grouped by mona-plus",
    complexity="n d log n, with the coordinates d of one block",
    reference="builds on Thaeter 2021, sections 6.4 and 7.2",
    when="nominal columns of more than about a thousand categories beside numbers",
    max_size=lambda k: 2 * k - 1,
)
def mixed_blocks(
    mixed: NDArray[np.float64],
    k: int,
    *,
    block: Annotated[int, Range(1)] = BLOCK_RECORDS,
    effort: Literal["fast", "balanced", "best"] = "balanced",
    nominal: NDArray[np.bool_] | None = None,
    column_weights: NDArray[np.float64] | None = None,
    time_limit: float | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records of numbers and categories.

    Parameters
    ----------
    mixed
        One column per attribute: standardised numbers, or codes of categories where ``nominal`` says so.
    block
        Records of a block, about; larger blocks lose less and take longer.
    effort
        How thoroughly each block is refined.
    nominal
        Which columns hold codes; None for none.
    time_limit
        Seconds; blocks after it are grouped by the quickest level. The groups then depend on the speed of the machine.

    Returns
    -------
    outcome
        Labels; diagnostics ``blocks``, ``largest_block`` and ``key_columns``, the columns by which records were
        arranged.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 7], [0.1, 8], [0.2, 7], [0.3, 8]])
    >>> mixed_blocks(rows, 2, nominal=np.array([False, True])).labels
    array([0, 1, 0, 1])
    """
    n, q = mixed.shape
    coded = np.zeros(q, bool) if nominal is None else np.asarray(nominal, bool)
    weights = (np.ones(q) if column_weights is None else column_weights)[coded]
    numbers = np.ascontiguousarray(mixed[:, ~coded])
    codes = compact(mixed[:, coded].astype(np.int32))[0]
    deadline = Deadline(time_limit)
    progress.stage("arranging records by categories")
    arranged = arrange_by_keys(numbers, codes, weights, k, size=max(block, 2 * k))
    progress.stage("grouping blocks (mixed-blocks)", n)
    labels = np.zeros(n, np.int64)

    def grouped(members: NDArray[np.int64]) -> NDArray[np.int64]:
        level = "fast" if deadline.expired() else effort
        least = max(k, k * members.size // max(block, 1))  # k times in each part that mona-plus groups together
        points = block_coordinates(numbers[members], codes[members], weights, least)
        found = run("mona-plus", points, k, block=max(block, 2 * k), **_LEVELS[level]).labels
        progress.advance(members.size)
        return found

    first = 0
    for members, found in zip(arranged.blocks, run_in_threads(grouped, arranged.blocks), strict=True):
        labels[members] = first + found
        first += int(found.max()) + 1
    return Outcome(
        labels,
        diagnostics={
            "blocks": len(arranged.blocks),
            "largest_block": max(members.size for members in arranged.blocks),
            "key_columns": [int(np.flatnonzero(coded)[j]) for j in arranged.keys],
        },
        stopped="time limit" if deadline.expired() else "finished",
    )


def block_coordinates(
    numbers: NDArray[np.float64], codes: NDArray[np.int32], weights: NDArray[np.float64], least: int
) -> NDArray[np.float64]:
    """Return the coordinates of a block: its numbers, and one for each category that ``least`` records have.

    Two different categories are one squared unit times the weight of the column apart. A column with one category in
    the block has no coordinate. Of more than 200 categories the most frequent ones have a coordinate.

    Examples
    --------
    >>> block_coordinates(np.zeros((4, 0)), np.array([[5], [5], [6], [6]], np.int32), np.array([2.0]), 2)
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """
    n = len(numbers)
    parts = [numbers]
    for column, weight in zip(codes.T, weights.tolist(), strict=True):
        values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(counts >= least)
        if values.size < 2 or not kept.size or weight == 0:
            continue
        if kept.size > MOST_COORDINATES:
            kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:MOST_COORDINATES]])
        place = np.full(values.size, -1, np.int64)
        place[kept] = np.arange(kept.size)
        inside = place[inverse.reshape(-1)]
        part = np.zeros((n, kept.size))
        known = np.flatnonzero(inside >= 0)
        part[known, inside[known]] = np.sqrt(weight / 2)
        parts.append(part)
    return np.ascontiguousarray(np.hstack(parts))
