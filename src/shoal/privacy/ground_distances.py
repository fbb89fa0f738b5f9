"""Ground distances between the values of a confidential column, for the earth mover's distance of t-closeness.

Three distances (Li et al. 2007, section 5; Thaeter 2021, Def. 3.12), all between 0 and 1. *Ordered*: the difference of
the ranks among the values that occur, divided by their number less one. *Equal*: 1 between any two values.
*Hierarchical*: the height of the closest common ancestor as a share of the height of the tree. For all of them the
earth mover's distance is a weighted sum of |Q(S) - P(S)| over sets S of values that are nested or disjoint: the
prefixes of the order, the single values, or the nodes of the tree. So no transport problem has to be solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.privacy.counts import Floats, Integers

if TYPE_CHECKING:
    from shoal.core.hierarchy import Hierarchy


@dataclass(frozen=True)
class Level:
    """Disjoint sets of values: the set that each value belongs to, and the weight of each set."""

    node: Integers
    weight: Floats


@dataclass(frozen=True)
class GroundDistance:
    """A distance between values 0, 1, ..., as nested sets of values.

    Parameters
    ----------
    name
        ``ordered``, ``equal`` or ``hierarchical``.
    levels
        The sets of an ``equal`` or ``hierarchical`` distance; an ``ordered`` one needs none.
    """

    name: str
    levels: tuple[Level, ...] = ()

    def sets(self, n_values: int) -> tuple[Floats, Floats]:
        """Return all sets as rows of zeros and ones, and their weights.

        Examples
        --------
        >>> ORDERED.sets(3)
        (array([[1., 0., 0.],
               [1., 1., 0.]]), array([0.5, 0.5]))
        """
        if self.name == "ordered":
            rows = np.tri(max(n_values - 1, 0), n_values)
            return rows, np.full(len(rows), 1.0 / max(n_values - 1, 1))
        parts, weights = [np.zeros((0, n_values))], [np.zeros(0)]
        for level in self.levels:
            used = np.flatnonzero(level.weight[: int(level.node.max(initial=-1)) + 1])
            parts.append((level.node == used[:, None]).astype(np.float64))
            weights.append(level.weight[used])
        return np.vstack(parts), np.concatenate(weights)


ORDERED = GroundDistance("ordered")


def equal_distance(n_values: int) -> GroundDistance:
    """Return the distance that is 1 between any two values.

    Examples
    --------
    >>> equal_distance(2).sets(2)[1]
    array([0.5, 0.5])
    """
    return GroundDistance("equal", (Level(np.arange(n_values), np.full(n_values, 0.5)),))


def hierarchical_distance(tree: Hierarchy, leaves: Integers) -> GroundDistance:
    """Return the distance of values that are leaves of a tree.

    Parameters
    ----------
    tree
        The tree.
    leaves
        The leaf of each value 0, 1, ...; -1 for a missing value, which is directly below the root.

    Examples
    --------
    >>> from shoal.core.hierarchy import Hierarchy
    >>> tree = Hierarchy([("flu", "lung"), ("asthma", "lung"), ("ulcer", "stomach")])
    >>> [level.weight[level.node].tolist() for level in hierarchical_distance(tree, np.arange(3)).levels]
    [[0.25, 0.25, 0.25], [0.25, 0.25, 0.25]]
    """
    height = max(int(tree.heights[tree.root]), 1)
    levels = []
    for depth, ancestors in enumerate(tree.ancestors[1:], start=1):
        node = np.where(leaves >= 0, ancestors[np.maximum(leaves, 0)], len(tree))
        weight = np.zeros(len(tree) + 1)
        here = np.flatnonzero(tree.depths == depth)
        weight[here] = (tree.heights[tree.parents[here]] - tree.heights[here]) / (2 * height)
        weight[-1] = 0.5 if depth == 1 else 0.0
        levels.append(Level(node, weight))
    return GroundDistance("hierarchical", tuple(levels))
