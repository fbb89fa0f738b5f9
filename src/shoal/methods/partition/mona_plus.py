"""MONA⁺: blocks grouped by MDAV*, then repaired across the cuts; the method for large tables.

Beyond the papers, built from their parts: the cuts of Thaeter 2021, section 7.2, the start of ONA* (section 6.4) inside
each block, and then passes of ``repair`` that refine groups on both sides of the cuts together. Cost O(n d log n) for
blocks of fixed size, O(n) memory beside the table. The loss is close to that of ONA* on the whole table, at nearly
linear cost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import NeverWorse, Outcome
from shoal.methods.kernels.cut_blocks import cut_into_blocks
from shoal.methods.options import Range
from shoal.methods.partition.leaf_grouping import group_blocks, leaf_method
from shoal.methods.partition.mona import block_diagnostics, block_size
from shoal.methods.partition.pace import Pace
from shoal.methods.refinement.block_refinement import repair
from shoal.methods.registry import method

BLOCK_RECORDS = 20_000  # of the first grouping
SMALLEST_REPAIR_BLOCK, LARGEST_REPAIR_BLOCK = 3_000, 10_000


@method(
    "mona-plus",
    title="Blocks grouped by mdav-star, then refined across the cuts",
    complexity="n d (log n + block^0.3 + passes)",
    guarantees=(NeverWorse("never worse than after its first pass", "mona-plus", {"passes": 1}),),
    reference="builds on Thaeter 2021, sections 6.4 and 7.2",
    when="large tables: from about 20,000 to 100 million records",
    max_size=lambda k: 2 * k - 1,
    float32=True,
    version=1,
)
def mona_plus(
    points: NDArray[np.float64],
    k: int,
    *,
    block: Annotated[int, Range(1)] = BLOCK_RECORDS,
    rho: Annotated[float, Range(0, 1)] | None = None,
    passes: Annotated[int, Range(1)] = 4,
    rounds: Annotated[int, Range(0)] = 2,
    leaf: str = "mdav-star",
    observed: NDArray[np.bool_] | None = None,
    time_limit: float | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by MONA⁺.

    Where cells are missing, they are completed from near records first, and at the end records change groups as long
    as the squared error of the known cells falls.

    Parameters
    ----------
    points
        Standardised coordinates of the records, n x d; float32 is read as it is, and computed with as float64.
    block
        The largest block of the first grouping, in records; larger blocks lose less and take longer.
    rho
        Blocks of at most n^rho records instead of ``block``, from 0 to 1.
    passes
        How often the table is cut anew and refined across the old cuts, at least once.
    rounds
        Rounds of ONA* in each pass, before the swaps; 0 for swaps only.
    leaf
        The method that groups a block in the first grouping.
    time_limit
        Seconds that the run may take; None for no limit. When the first blocks show that time will be short, the
        others are grouped more coarsely, and the last pass may end early. The groups then depend on the speed of the
        machine.

    Returns
    -------
    outcome
        Labels; diagnostics ``blocks``, ``largest_block`` and ``changes_in_each_pass``.

    Examples
    --------
    >>> import numpy as np
    >>> mona_plus(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([1, 0, 1, 0, 1])
    """
    if observed is not None and not observed.all():
        from shoal.methods.kernels.completed_points import completed_points
        from shoal.methods.refinement.observed_search import cool

        deadline = Deadline(time_limit)
        first = mona_plus(
            completed_points(points, observed), k, block=block, rho=rho, passes=passes, rounds=rounds, leaf=leaf,
            time_limit=None if time_limit is None else time_limit / 2, progress=progress,
        )  # fmt: skip
        return replace(first, labels=cool(points, first.labels, k, observed, passes=passes, deadline=deadline))
    size = max(block if rho is None else block_size(len(points), rho), 2 * k)
    run = leaf_method(leaf)
    deadline = Deadline(time_limit)
    pace = Pace(deadline, len(points)) if deadline.limited else None
    blocks = cut_into_blocks(points, size, progress=progress)
    labels = group_blocks(points, blocks, k, run, 2 * k - 1, f"grouping blocks ({leaf})", progress, pace)
    diagnostics = block_diagnostics(blocks)
    del blocks
    repair_block = min(size, LARGEST_REPAIR_BLOCK) if size > SMALLEST_REPAIR_BLOCK else SMALLEST_REPAIR_BLOCK
    outcome = repair(
        points, labels, k, passes=passes, block=repair_block, rounds=rounds, deadline=deadline, progress=progress
    )
    if pace is not None and pace.level:
        outcome = replace(outcome, stopped="time limit")
    return outcome.with_diagnostics(**diagnostics)
