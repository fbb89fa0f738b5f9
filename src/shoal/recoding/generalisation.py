"""Generalisation of groups to a node of a hierarchy or to a set, with its penalties (Thaeter 2021, section 3.1).

Each variant returns the texts that are released, a number that a reader would assume instead of the text, and the
penalties NCP and Total-IL of section 3.2 for each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import group_sets
from shoal.core.grouping import Groups
from shoal.core.hierarchy import Hierarchy
from shoal.recoding.range_texts import set_texts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Generalised:
    """What became of each group of one column.

    Parameters
    ----------
    texts
        What is released for each group; None where it is missing.
    values
        The mean of the values that the text represents, in the units of the encoding.
    options
        How many values the text may represent.
    ncp, height
        The penalties of section 3.2 for each group: the share of the values that the text represents, and the height
        of its node as a share of the height of the tree; 0 for a value itself, 1 for everything.
    """

    texts: list[str | None]
    values: Floats
    options: Floats
    ncp: Floats
    height: Floats


def generalise_to_sets(
    distinct: Floats, codes: NDArray[np.int64], names: Sequence[str | None], grouping: Groups
) -> Generalised:
    """Replace the values of each group by the set of them.

    Parameters
    ----------
    distinct
        The different values of the column, in ascending order.
    codes
        The position of each record's value among them.
    names
        The text of each different value; None for a missing one.
    grouping
        The groups.

    Returns
    -------
    generalised
        Texts and penalties of each group.
    """
    members, counts = group_sets(codes, grouping)
    starts = np.cumsum(counts) - counts
    means = np.add.reduceat(distinct[members], starts) / counts
    penalty = np.where(counts > 1, counts, 0) / max(distinct.size, 1)
    return Generalised(set_texts(members, counts, names), means, counts.astype(np.float64), penalty, penalty)


def generalise_by_hierarchy(
    distinct: Floats,
    codes: NDArray[np.int64],
    names: Sequence[str | None],
    grouping: Groups,
    hierarchy: Hierarchy,
    column: str,
    *,
    level: int | None = None,
) -> Generalised:
    """Replace the values of each group by their closest common ancestor; a missing one among them leads to the root.

    Parameters
    ----------
    distinct, codes, names, grouping
        As in :func:`generalise_to_sets`.
    hierarchy
        The tree, with a leaf for every value.
    column
        The name of the column, for errors.
    level
        One level for the whole column instead (0: the values themselves); a group whose values have different nodes on
        this level is suppressed, that is generalised to the root.

    Returns
    -------
    generalised
        Texts and penalties of each group.
    """
    known = np.array([name is not None for name in names])
    leaves = np.full(distinct.size, -1, np.int64)
    leaves[known] = hierarchy.codes([name for name in names if name is not None], column)
    missing = np.bincount(grouping.labels, ~known[codes], minlength=len(grouping))
    nodes = hierarchy.common_ancestors(np.where(known, leaves, 0)[codes], grouping.labels)
    if level is not None:
        nodes = _on_level(hierarchy, np.where(known, leaves, 0)[codes], grouping, level)
    nodes = np.where(missing > 0, hierarchy.root, nodes)
    empty = missing == grouping.sizes
    sums, counts = _below(hierarchy, leaves[known], distinct[known])
    means = sums[nodes] / np.maximum(counts[nodes], 1)
    texts = [None if gone else hierarchy.labels[node] for node, gone in zip(nodes.tolist(), empty, strict=True)]
    ncp = np.where(empty, 0.0, hierarchy.sizes[nodes] / hierarchy.n_leaves)
    height = np.where(empty, 0.0, hierarchy.heights[nodes] / max(int(hierarchy.heights[hierarchy.root]), 1))
    options = np.maximum(hierarchy.sizes[nodes], 1).astype(np.float64)
    return Generalised(texts, np.where(empty, np.nan, means), options, ncp, height)


def _on_level(hierarchy: Hierarchy, leaves: NDArray[np.int64], grouping: Groups, level: int) -> NDArray[np.int64]:
    """Return the node of each group on a level; the root where its records have different ones."""
    above = hierarchy.ancestors[::-1][level][leaves]
    nodes = np.full(len(grouping), hierarchy.root, np.int64)
    nodes[grouping.labels] = above
    differ = np.bincount(grouping.labels, above != nodes[grouping.labels], minlength=len(grouping))
    return np.where(differ > 0, hierarchy.root, nodes)


def _below(hierarchy: Hierarchy, leaves: NDArray[np.int64], values: Floats) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values that occur below each node, leaves included."""
    sums, counts = np.zeros(len(hierarchy)), np.zeros(len(hierarchy))
    sums[leaves], counts[leaves] = values, 1.0
    levels = hierarchy.ancestors[:, leaves]
    for level, below in pairwise(levels):
        inner = level != below
        sums += np.bincount(level[inner], values[inner], minlength=len(hierarchy))
        counts += np.bincount(level[inner], minlength=len(hierarchy))
    return sums, counts
