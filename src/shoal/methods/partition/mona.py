"""MONA: cut the table into blocks, then group each block by a method that would be too slow for the whole table.

Thaeter 2021, section 7.2 (Algorithm 20); Thaeter & Reischuk 2021, section 5 (Algorithm 6). Blocks have at most n^rho
records. Cost O(n^(1+rho) d) time, O(n d) memory. The option rho sets the trade-off of time and loss: rho = 0 is
``mondrian-v``, rho = 1 the leaf method. ``mona-plus`` removes most of the loss that the cuts cause.

A block reaches the leaf method in the order that the cuts leave, as in the published runs: ONA* treats leftover records
in the order of its input, which changes the third digit of the loss.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome
from shoal.methods.kernels.cut_blocks import Blocks, Cutting, cut_into_blocks
from shoal.methods.options import Range
from shoal.methods.partition.leaf_grouping import group_blocks, leaf_method
from shoal.methods.partition.mondrian import PAIR_SCALE, Whole, largest_whole
from shoal.methods.registry import method


@method(
    "mona",
    title="Blocks cut across the largest variance, each grouped by ona-star",
    complexity="n^(1+rho) d",
    reference="Thaeter 2021, Alg. 20; Thaeter & Reischuk 2021, Alg. 6",
    when="comparison with published figures; mona-plus loses less in about the same time",
    max_size=lambda k: 2 * k,
    float32=True,
)
def mona(
    points: NDArray[np.float64],
    k: int,
    *,
    rho: Annotated[float, Range(0, 1)] = 0.5,
    block: Annotated[int, Range(1)] | None = None,
    leaf: str = "ona-star",
    whole: Whole = "2k",
    first: Annotated[int, Range(0)] | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by MONA.

    Parameters
    ----------
    rho
        Blocks of more than n^rho records are cut: from 0 (fast) to 1 (least loss).
    block
        The largest block in records, instead of ``rho``.
    leaf
        The method that groups a block.
    whole
        Parts of at most ``2k`` (as in the published runs) or ``2k-1`` records are not cut.
    first
        The attribute of the first cut, counted from 0; None for the one with the largest variance.

    Returns
    -------
    outcome
        Labels; diagnostics ``blocks`` and ``largest_block``.

    Examples
    --------
    >>> import numpy as np
    >>> mona(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, rho=1.0).labels
    array([1, 0, 1, 0, 1])
    """
    cutting = Cutting("variance", first, inherit=True)
    return _blockwise(points, k, block or block_size(len(points), rho), leaf, whole, cutting, progress)


@method(
    "mona-2d",
    title="Blocks cut across the largest variance of one attribute or two, each grouped by ona-star",
    complexity="n^(1+rho) d + n d² log n",
    reference="Thaeter 2021, Alg. 20; Thaeter & Reischuk 2021, Alg. 6",
    when="as mona; less loss for small rho where attributes depend on each other",
    max_size=lambda k: 2 * k,
    float32=True,
)
def mona_2d(
    points: NDArray[np.float64],
    k: int,
    *,
    rho: Annotated[float, Range(0, 1)] = 0.5,
    block: Annotated[int, Range(1)] | None = None,
    leaf: str = "ona-star",
    whole: Whole = "2k",
    first: Annotated[int, Range(0)] | None = None,
    pair_scale: Annotated[float, Range(above=0)] = PAIR_SCALE,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by MONA with slanted cuts.

    Parameters
    ----------
    rho, block, leaf, whole, first
        As for ``mona``.
    pair_scale
        As for ``mondrian-v2d``.

    Returns
    -------
    outcome
        Labels; diagnostics ``blocks`` and ``largest_block``.

    Examples
    --------
    >>> import numpy as np
    >>> mona_2d(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2, rho=1.0).labels
    array([1, 0, 1, 0, 1])
    """
    cutting = Cutting("pairs", first, pair_scale, inherit=True)
    return _blockwise(points, k, block or block_size(len(points), rho), leaf, whole, cutting, progress)


def block_size(n: int, rho: float) -> int:
    """Return the size n^rho of the largest block that is not cut.

    Examples
    --------
    >>> block_size(30_000, 0.5)
    173
    """
    return n if rho == 1.0 else int(n**rho)


def block_diagnostics(blocks: Blocks) -> dict[str, int]:
    """Return what the methods on blocks report about them.

    Examples
    --------
    >>> block_diagnostics(Blocks(np.arange(5), np.array([0, 2, 5])))
    {'blocks': 2, 'largest_block': 3}
    """
    return {"blocks": len(blocks), "largest_block": int(np.diff(blocks.bounds).max())}


def _blockwise(
    points: NDArray[np.float64], k: int, size: int, leaf: str, whole: Whole, cutting: Cutting, progress: Progress
) -> Outcome:
    run = leaf_method(leaf)
    uncut = largest_whole(k, whole)
    blocks = cut_into_blocks(points, max(size, uncut), cutting, progress=progress)
    labels = group_blocks(points, blocks, k, run, uncut, f"grouping blocks ({leaf})", progress)
    return Outcome(labels, diagnostics=block_diagnostics(blocks))
