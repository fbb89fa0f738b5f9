"""MONA: cut the table into blocks, then group each block by a method that would be too slow for the whole.

Thaeter 2021, section 7.2 (Algorithm 20); Thaeter & Reischuk 2021, section 5 (Algorithm 6). Blocks have at most n^rho
records. Cost O(n^(1+rho) d) time, O(n d) memory. The paper's trade-off of time and loss: rho = 0 is ``mondrian-v``,
rho = 1 the leaf method. ``mona-plus`` removes most of the loss that the cuts cause.

A block reaches the leaf method in the order that the cuts hand down, as in the published runs: ONA* treats leftover
records in the order they stand in, which shows in the third digit of the loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.partition.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.partition.leaf_grouping import group_blocks, leaf_method
from shoal.methods.partition.mondrian import Whole, largest_whole
from shoal.methods.registry import method


@method(
    "mona",
    title="Blocks cut across the largest variance, each grouped by ona-star",
    cost="n^(1+rho) d",
    guarantee="groups have k to 2k records",
    reference="Thaeter 2021, Alg. 20; Thaeter & Reischuk 2021, Alg. 6",
    when="to compare with published figures; mona-plus loses less in about the same time",
    max_size=lambda k: 2 * k,
    float32=True,
)
def mona(
    points: NDArray[np.float64],
    k: int,
    *,
    rho: float = 0.5,
    block: int | None = None,
    leaf: str = "ona-star",
    whole: Whole = "2k",
    first: int | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by MONA.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    rho
        Blocks of more than n^rho records are cut: from 0 (fast) to 1 (least loss).
    block
        The largest block in records, instead of ``rho``.
    leaf
        The method that groups a block.
    whole
        Parts of at most ``2k`` (as in the published runs) or ``2k-1`` records stay whole.
    first
        The attribute of the first cut, counted from 0; None: the one with the largest variance.
    progress
        Hears how many records are grouped.
    facts
        Receives the number of blocks and the size of the largest.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> mona(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, rho=1.0)
    array([1, 0, 1, 0, 1])
    """
    return _blockwise(points, k, rho, block, leaf, whole, Cutting("variance", first, inherit=True), progress, facts)


@method(
    "mona-2d",
    title="Blocks cut across the largest variance of one attribute or two, each grouped by ona-star",
    cost="n^(1+rho) d + n d² log n",
    guarantee="groups have k to 2k records",
    reference="Thaeter 2021, Alg. 20; Thaeter & Reischuk 2021, Alg. 6",
    when="as mona; less loss for small rho where attributes depend on each other",
    max_size=lambda k: 2 * k,
    float32=True,
)
def mona_2d(
    points: NDArray[np.float64],
    k: int,
    *,
    rho: float = 0.5,
    block: int | None = None,
    leaf: str = "ona-star",
    whole: Whole = "2k",
    first: int | None = None,
    pair_scale: float = 0.5**0.5,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by MONA with slanted cuts.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    rho, block, leaf, whole, first
        As for ``mona``.
    pair_scale
        As for ``mondrian-v2d``.
    progress
        Hears how many records are grouped.
    facts
        Receives the number of blocks and the size of the largest.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> mona_2d(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, rho=1.0)
    array([1, 0, 1, 0, 1])
    """
    return _blockwise(
        points, k, rho, block, leaf, whole, Cutting("pairs", first, pair_scale, inherit=True), progress, facts
    )


def block_size(n: int, rho: float, block: int | None) -> int:
    """Return the largest block that is not cut: n^rho, or the size given.

    Examples
    --------
    >>> block_size(30_000, 0.5, None)
    173
    >>> block_size(30_000, 0.5, 500)
    500
    """
    if block is not None:
        if block < 1:
            raise ParameterError(f"block={block} is not possible; choose at least 1")
        return block
    if not 0.0 <= rho <= 1.0:
        raise ParameterError(f"rho={rho} is not possible; choose 0 (fast) to 1 (least loss)")
    return n if rho == 1.0 else int(n**rho)


def _blockwise(
    points: NDArray[np.float64],
    k: int,
    rho: float,
    block: int | None,
    leaf: str,
    whole: Whole,
    cutting: Cutting,
    progress: Progress,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    run = leaf_method(leaf)
    small = largest_whole(k, whole)
    blocks = cut_into_blocks(points, max(block_size(len(points), rho, block), small), cutting, progress=progress)
    if facts is not None:
        facts.update({"blocks": len(blocks), "largest block": int(np.diff(blocks.bounds).max())})
    return group_blocks(points, blocks, k, run, small, f"grouping blocks ({leaf})", progress)
