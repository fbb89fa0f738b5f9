"""Scattering whole groups: the second phase of TFRP and of the density method.

Each group is looked at once: if its records, each added to the group with the nearest centroid, cost less there than
here, the group is scattered. Groups may have any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.closest import closed, closest, index_groups, moved
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import add, cost_of, cost_of_joining, no_groups, open_group


def scatter(
    points: NDArray[np.float64], labels: NDArray[np.int64], visits: NDArray[np.int64], k: int, tolerance: float
) -> NDArray[np.int64]:
    """Return the labels after every group has been visited in this order, and scattered if that lowers the cost.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [0.5], [9.0], [9.5], [10.0]])
    >>> scatter(points, np.array([0, 0, 1, 1, 2, 2]), np.array([1, 0, 2]), 2, 0.0)
    array([0, 0, 0, 2, 2, 2])
    """
    labels = labels.copy()
    groups = no_groups(int(labels.max()) + 1, points.shape[1])
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(groups.sizes.size + 1))
    _open_all(points, groups, order, bounds)
    index = index_groups(groups)
    for g in visits:
        _scatter(points, labels, groups, index, int(g), np.flatnonzero(labels == g), k, tolerance)
    return labels


@compiled
def _open_all(points: Any, groups: Any, order: Any, bounds: Any) -> None:
    """Open the groups whose members stand at bounds[g]..bounds[g+1]-1 of the order."""
    for g in range(groups.sizes.size):
        open_group(groups, points, order[bounds[g] : bounds[g + 1]])


@compiled
def _scatter(points: Any, labels: Any, groups: Any, index: Any, g: int, members: Any, k: int, tolerance: float) -> None:
    """Scatter a group if that lowers the cost.

    To join a group of at least k, of which m records leave here, costs at least k/(k+m) of the squared distances.
    """
    m = members.size
    own = cost_of(points, members)
    budget = 1.000001 * own * (k + m) / k
    targets = np.empty(m, np.int64)
    by_cost = own < 0.0
    for i in range(m):
        targets[i], spent = closest(index, groups, points[members[i]], g, by_cost, 1.0, budget)
        if targets[i] < 0 or own <= 0.0:
            return
        budget -= spent
    joining = np.empty(m, np.int64)
    rise = 0.0
    for i in range(m):
        size = 0
        for other in range(m):
            if targets[other] == targets[i]:
                if other < i:
                    break  # this target has been counted
                joining[size] = members[other]
                size += 1
        if size:
            rise += cost_of_joining(groups, targets[i], points, joining[:size])
    if own <= rise + tolerance:
        return
    for i in range(m):
        labels[members[i]] = targets[i]
        add(groups, targets[i], points[members[i]])
        moved(index, groups, targets[i])
    closed(index, groups, g)
