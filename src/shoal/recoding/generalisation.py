"""Columns whose groups are generalised: to a node of a hierarchy, a set, a range, or nothing; and what that costs.

Thaeter 2021, section 3.1. Each way gives the texts that are released, a number that a reader would put in the place of
a generalised one, and the penalties NCP and Total-IL of section 3.2 for each group.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.core.hierarchy import Hierarchy, text_of
from shoal.flow.encoding import Codec
from shoal.recoding.sets import group_sets, set_texts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Generalised:
    """What became of each group of one column.

    Parameters
    ----------
    texts
        What is released for each group; None where it is missing.
    values
        The mean of the values that the text stands for, as the codec sees them.
    options
        How many values the text may stand for.
    ncp, height
        The penalties of section 3.2 for each group: the share of the values that the text stands for, and the height
        of its node as a share of the height of the tree; 0 for a value itself, 1 for everything.
    """

    texts: list[str | None]
    values: Floats
    options: Floats
    ncp: Floats
    height: Floats


def generalise_to_sets(codec: Codec, series: nw.Series[Any], values: Floats, grouping: Grouping) -> Generalised:
    """Replace the values of each group by the set of them."""
    distinct, codes = _distinct(values)
    names = _names(codec, series, distinct)
    members, counts = group_sets(codes, grouping)
    starts = np.cumsum(counts) - counts
    means = np.add.reduceat(distinct[members], starts) / counts
    penalty = np.where(counts > 1, counts, 0) / max(distinct.size, 1)
    return Generalised(set_texts(members, counts, names), means, counts.astype(np.float64), penalty, penalty)


def generalise_by_hierarchy(
    codec: Codec, series: nw.Series[Any], values: Floats, grouping: Grouping, hierarchy: Hierarchy
) -> Generalised:
    """Replace the values of each group by their closest common ancestor; a hole among values leads to the root."""
    distinct, codes = _distinct(values)
    names = _names(codec, series, distinct)
    known = np.array([name is not None for name in names])
    leaves = np.full(distinct.size, -1, np.int64)
    leaves[known] = hierarchy.codes([name for name in names if name is not None], codec.column.name)
    holes = np.bincount(grouping.labels, ~known[codes], minlength=len(grouping))
    nodes = hierarchy.common_ancestors(np.where(known, leaves, 0)[codes], grouping.labels)
    nodes = np.where(holes > 0, hierarchy.root, nodes)
    empty = holes == grouping.sizes
    sums, counts = _below(hierarchy, leaves[known], distinct[known])
    means = sums[nodes] / np.maximum(counts[nodes], 1)
    texts = [None if gone else hierarchy.labels[node] for node, gone in zip(nodes.tolist(), empty, strict=True)]
    ncp = np.where(empty, 0.0, hierarchy.sizes[nodes] / hierarchy.n_leaves)
    height = np.where(empty, 0.0, hierarchy.heights[nodes] / max(int(hierarchy.heights[hierarchy.root]), 1))
    options = np.maximum(hierarchy.sizes[nodes], 1).astype(np.float64)
    return Generalised(texts, np.where(empty, np.nan, means), options, ncp, height)


def text_series(texts: list[str | None], grouping: Grouping, like: nw.Series[Any]) -> nw.Series[Any]:
    """Return the text of each record's group as a column in the library of another one."""
    column = np.array(texts, dtype=object)[grouping.labels]
    return nw.new_series(like.name, column.tolist(), nw.String, backend=like.implementation)


def _distinct(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    distinct, codes = np.unique(values, return_inverse=True)  # equal NaN are one value
    return distinct, codes.reshape(-1).astype(np.int64)


def _names(codec: Codec, series: nw.Series[Any], distinct: Floats) -> list[str | None]:
    known = ~np.isnan(distinct)
    shown = codec.restore(distinct[known], series).to_list()
    found = [None if value is None or value != value else text_of(value) for value in shown]  # noqa: PLR0124 - NaN
    return [*found, *([None] * int((~known).sum()))]


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
