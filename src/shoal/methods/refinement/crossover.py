"""Crossover of two groupings: the cheaper groups of both, where they divide the same records.

Two records are connected if they share a group in one of the groupings. A connected component consists of complete
groups of both, so each component can take the groups of either, and the sum of the cheaper choices is at most the
cost of each grouping. Cost O(n d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.components import joint_components


def crossover(points: NDArray[Any], first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cheaper groups of two groupings of the same records.

    Parameters
    ----------
    points
        n x d.
    first, second
        Labels 0, 1, ...; where a component costs the same in both, the first is kept.

    Returns
    -------
    labels
        Labels whose squared error is at most that of each of the two.

    Examples
    --------
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0], [20.0], [20.0], [30.0], [30.0]])
    >>> crossover(points, np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 2, 3, 2, 3]))
    array([2, 3, 2, 3, 0, 0, 1, 1])
    """
    components = joint_components(first, second)
    count = int(components[0].max()) + 1
    costs = [
        np.bincount(component, group_costs_by_column(points, labels), count)
        for component, labels in zip(components, (first, second), strict=True)
    ]
    take = (costs[1] < costs[0])[components[0][first]]
    return np.unique(np.where(take, int(first.max()) + 1 + second, first), return_inverse=True)[1].reshape(-1)


def group_costs_by_column(points: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared error of each group, column by column, so that no copy of the table is made."""
    sizes = np.bincount(labels)
    costs = np.zeros(sizes.size)
    for column in points.T:
        values = column - column[0].astype(np.float64)
        values -= (np.bincount(labels, values) / sizes)[labels]
        costs += np.bincount(labels, values * values)
    return costs
