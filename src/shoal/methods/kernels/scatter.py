"""Dissolving groups of any size: the second phase of TFRP and of the density method.

Each group is visited once: if its records, each added to the group with the nearest centroid, cost less there than in
their group, the group is dissolved and its records are reassigned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.methods.kernels.box_tree import NOT_FOUND, remove, search, search_stack
from shoal.methods.kernels.centroid_index import index_groups, update_index
from shoal.methods.kernels.centroids import add, groups_of_labels
from shoal.methods.kernels.group_moves import rise_of
from shoal.methods.kernels.projected_points import project
from shoal.methods.kernels.small_mdav import cost_of


def scatter(
    points: NDArray[np.float64], labels: NDArray[np.int64], visits: NDArray[np.int64], k: int, tolerance: float
) -> NDArray[np.int64]:
    """Return the labels after every group has been visited in this order, and dissolved if that lowers the cost.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [0.5], [9.0], [9.5], [10.0]])
    >>> scatter(points, np.array([0, 0, 1, 1, 2, 2]), np.array([1, 0, 2]), 2, 0.0)
    array([0, 0, 0, 2, 2, 2])
    """
    labels = labels.copy()
    projected = project(points)
    groups = groups_of_labels(projected, labels, int(labels.max()) + 1)
    index = index_groups(groups)
    far, target, stack = np.empty(1), np.empty(1, np.int64), search_stack()
    for g in visits:
        members = np.flatnonzero(labels == g)
        work = np.empty((2, members.size), np.int64)
        _scatter(
            projected,
            labels,
            groups,
            index,
            int(g),
            members[None, :],
            k,
            tolerance,
            work[0],
            work[1],
            far,
            target,
            stack,
        )
    return labels


@compiled
def _scatter(
    projected: Any, labels: Any, groups: Any, index: Any, g: int, members: Any, k: int, tolerance: float, targets: Any,
    joining: Any, far: Any, target: Any, stack: Any,
) -> None:  # fmt: skip
    """Dissolve a group if that lowers the cost; ``members`` has one row.

    To join a group of at least k, of which m records remove_and_tighten here, costs at least k/(k+m) of the squared
    distances.
    """
    points, projections, axes, margin = projected
    sizes, sums, centroids, group_projections, _ = groups
    cells, numbers, layout, positions = index
    zero = np.int64(0)
    m = members.shape[1]
    own = cost_of(points, members[0], m)
    budget = 1.000001 * own * (k + m) / k
    for i in range(m):
        far[0] = budget
        target[0] = NOT_FOUND
        if budget > 0.0:
            search(
                points, projections, members[0, i], centroids, sizes, cells, numbers, layout, margin, 1.0, g, zero, far,
                target, stack,
            )  # fmt: skip
        if target[0] == NOT_FOUND:
            return
        targets[i] = target[0]
        budget -= far[0]
    if own <= rise_of(points, sizes, sums, centroids, members, zero, targets, joining) + tolerance:
        return
    for i in range(m):
        labels[members[0, i]] = targets[i]
        add(sizes, sums, centroids, targets[i], points, members[0, i], zero + 1)
        update_index(axes, centroids, group_projections, targets[i], cells, numbers, layout, positions)
    sizes[g] = 0
    remove(cells, numbers, layout, positions, g)
