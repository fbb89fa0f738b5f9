"""The blocks of a preview: the whole table is cut, and a few blocks are drawn, the same for every k.

A block is drawn with a probability proportional to its spread (what it would lose if it were one group), so that the
few blocks that hold the extreme records of a skewed table, and with them most of its loss, are not missed. Blocks with
a large spread are taken for certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.engines.cut_tree import TreeBuilder

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DrawnBlocks:
    """Blocks of a table.

    Parameters
    ----------
    rows
        The rows of each drawn block.
    probabilities
        The probability with which each of them was drawn.
    n_blocks
        How many blocks the table was cut into.
    """

    rows: tuple[Integers, ...]
    probabilities: Floats
    n_blocks: int


def cut_rows(values: Floats, nominal: Flags, rows: Integers, parts: int, least: int) -> list[Integers]:
    """Return about so many blocks of rows, cut where most of the squared error is removed, each of at least ``least``.

    Examples
    --------
    >>> ages = np.array([[30.0], [61.0], [32.0], [63.0]])
    >>> [block.tolist() for block in cut_rows(ages, np.array([False]), np.arange(4), 2, 1)]
    [[0, 2], [1, 3]]
    """
    inside = np.ascontiguousarray(values[rows])
    builder = TreeBuilder(inside, nominal, least)
    root = builder.root(np.arange(rows.size), parts)
    leaves = builder.tree().route(inside, np.full(rows.size, root, np.int64))
    order = np.argsort(leaves, kind="stable")
    return [rows[part] for part in np.split(order, np.cumsum(np.bincount(leaves))[:-1])]


def block_spread(values: Floats, nominal: Flags, rows: Integers) -> float:
    """Return what a block loses if it is one group: squared distances to the means, cells that differ from the mode."""
    inside = values[rows]
    numbers = inside[:, ~nominal]
    spread = float(((numbers - numbers.mean(axis=0)) ** 2).sum()) if numbers.shape[1] else 0.0
    for column in np.flatnonzero(nominal):
        counts = np.unique(inside[:, column], return_counts=True)[1]
        spread += float(rows.size - counts.max())
    return spread


def draw_blocks(blocks: list[Integers], spreads: Floats, number: int, seed: int) -> DrawnBlocks:
    """Draw blocks with probabilities proportional to their spread, systematically in the order of the cuts.

    Examples
    --------
    >>> blocks = [np.arange(4), np.arange(4, 8), np.arange(8, 12)]
    >>> drawn = draw_blocks(blocks, np.array([8.0, 1.0, 1.0]), 2, seed=0)
    >>> drawn.probabilities.tolist(), drawn.rows[0].tolist()
    ([1.0, 0.5], [0, 1, 2, 3])
    """
    chances = _chances(np.maximum(spreads, spreads.max() * 1e-6 if spreads.max() > 0 else 1.0), number)
    start = np.random.default_rng(seed).random()
    ends = np.floor(np.cumsum(chances) + start + 1e-9)
    taken = np.flatnonzero(np.diff(ends, prepend=np.floor(start)) > 0)
    return DrawnBlocks(tuple(blocks[block] for block in taken), chances[taken], len(blocks))


def _chances(spreads: Floats, number: int) -> Floats:
    """Return the probability of each block; those that would exceed one are certain, and the others share the rest."""
    chances = np.ones(spreads.size)
    if number >= spreads.size:
        return chances
    certain = np.zeros(spreads.size, bool)
    while True:
        left = number - int(certain.sum())
        share = left * spreads / spreads[~certain].sum()
        more = ~certain & (share >= 1)
        if not more.any():
            return np.where(certain, 1.0, share)
        certain |= more
