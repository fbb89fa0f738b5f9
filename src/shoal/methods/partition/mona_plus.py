"""MONA⁺: blocks grouped by MDAV*, then repaired across the cuts; the method for large tables.

Beyond the papers, built from their parts: the cuts of Thaeter 2021, section 7.2, the start of ONA* (section 6.4) inside
each block, and then passes of ``repair`` that refine groups on both sides of the cuts together. Cost O(n d log n) for
blocks of fixed size, O(n) memory beside the table. Close to the loss of ONA* on the whole table at nearly linear cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.partition.cut_blocks import cut_into_blocks
from shoal.methods.partition.leaf_grouping import group_blocks, leaf_method
from shoal.methods.partition.mona import block_size
from shoal.methods.partition.schedule import Schedule
from shoal.methods.refinement.block_refinement import repair
from shoal.methods.registry import method

BLOCK = 20_000
SMALLEST, REPAIRED = 3_000, 10_000  # blocks of the repair


@method(
    "mona-plus",
    title="Blocks grouped by mdav-star, then refined across the cuts",
    cost="n d (log n + block^0.3 + passes)",
    guarantee="groups have k to 2k-1 records; the loss never rises after the first grouping",
    reference="builds on Thaeter 2021, sections 6.4 and 7.2",
    when="large tables: from about 20,000 to 100 million records",
    max_size=lambda k: 2 * k - 1,
    float32=True,
)
def mona_plus(
    points: NDArray[np.float64],
    k: int,
    *,
    block: int = BLOCK,
    rho: float | None = None,
    passes: int = 4,
    rounds: int = 2,
    leaf: str = "mdav-star",
    seconds: float | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by MONA⁺.

    Parameters
    ----------
    points
        n x d, standardised; float32 is read as it is, and computed with as float64.
    k
        The smallest group allowed.
    block
        The largest block of the first grouping, in records; larger ones lose less and take longer.
    rho
        Blocks of at most n^rho records instead, from 0 to 1.
    passes
        How often the table is cut anew and refined across the old cuts, at least once.
    rounds
        Rounds of ONA* in each pass, before the swaps; 0: only swaps.
    leaf
        The method that groups a block at first.
    seconds
        How long it may take; None: as long as it takes. When the first blocks show that time will be short, the others
        are grouped more coarsely, and the last pass may end early. Groups then depend on the speed of the machine.
    progress
        Hears how many records are done in each step.
    facts
        Receives the number of blocks and how much each pass changed.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> mona_plus(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    array([1, 0, 1, 0, 1])
    """
    if passes < 1:
        raise ParameterError(f"passes={passes} is not possible; choose at least 1")
    size = max(block_size(len(points), 0.0 if rho is None else rho, block if rho is None else None), 2 * k)
    run = leaf_method(leaf)
    schedule = None if seconds is None else Schedule(seconds)
    blocks = cut_into_blocks(points, size, progress=progress)
    labels = group_blocks(points, blocks, k, run, 2 * k - 1, f"grouping blocks ({leaf})", progress, schedule)
    if facts is not None:
        facts.update({"blocks": len(blocks), "largest block": int(np.diff(blocks.bounds).max())})
    del blocks
    near = min(size, REPAIRED) if size > SMALLEST else SMALLEST
    return repair(
        points, labels, k, passes=passes, block=near, rounds=rounds, schedule=schedule, progress=progress, facts=facts
    )
