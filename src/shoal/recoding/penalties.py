"""Penalties of generalised values: the share of the domain that the value of a group was widened to.

Thaeter 2021, section 3.2. NCP (Xu et al. 2006) charges (max - min of the group) / (max - min of the column) for numbers
and size(closest common ancestor) / number of values for a tree; Total-IL (Byun et al. 2007) uses heights of nodes
instead of sizes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Groups
from shoal.core.hierarchy import Hierarchy

Floats = NDArray[np.float64]


def extent_penalty(values: Floats, grouping: Groups) -> Floats:
    """Return (max - min of the group) / (max - min of the column) for each group; 0 for a constant column.

    Examples
    --------
    >>> extent_penalty(np.array([0.0, 5.0, 8.0, 10.0]), Groups([0, 0, 1, 1]))
    array([0.5, 0.2])
    """
    low, high = np.full(len(grouping), np.inf), np.full(len(grouping), -np.inf)
    np.fmin.at(low, grouping.labels, values)
    np.fmax.at(high, grouping.labels, values)
    known = np.isfinite(low)
    half = float(high[known].max() / 2 - low[known].min() / 2) if known.any() else 0.0  # no overflow
    charged = np.zeros(len(grouping))
    if half > 0:
        charged[known] = (high[known] / 2 - low[known] / 2) / half
    return charged


def tree_penalty(tree: Hierarchy, nodes: NDArray[np.int64], *, by_height: bool = False) -> Floats:
    """Return size (or height) of nodes as a share of that of the root; 0 for a value itself.

    Examples
    --------
    >>> tree = Hierarchy([("flu", "lung"), ("asthma", "lung"), ("ulcer", "stomach")])
    >>> tree_penalty(tree, np.array([tree.root]))
    array([1.])
    """
    if by_height:
        return tree.heights[nodes] / max(int(tree.heights[tree.root]), 1)
    return tree.sizes[nodes] / tree.n_leaves
