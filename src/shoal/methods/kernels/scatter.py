"""Scattering whole groups: the second phase of TFRP and of the density method.

Each group is looked at once: if its records, each added to the group with the nearest centroid, cost less there than
here, the group is scattered. Groups may have any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.methods.kernels.box_tree import NOBODY, no_stack, remove, search
from shoal.methods.kernels.centroid_index import follow, index_groups
from shoal.methods.kernels.centroids import add, cost_of, open_groups
from shoal.methods.kernels.group_moves import rise_of
from shoal.methods.kernels.projected_points import cloud_of


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
    cloud = cloud_of(points)
    groups = open_groups(cloud, labels, int(labels.max()) + 1)
    index = index_groups(groups)
    far, host, stack = np.empty(1), np.empty(1, np.int64), no_stack()
    for g in visits:
        members = np.flatnonzero(labels == g)
        work = np.empty((2, members.size), np.int64)
        _scatter(
            cloud, labels, groups, index, int(g), members[None, :], k, tolerance, work[0], work[1], far, host, stack
        )
    return labels


@compiled
def _scatter(
    cloud: Any, labels: Any, groups: Any, index: Any, g: int, members: Any, k: int, tolerance: float, targets: Any,
    joining: Any, far: Any, host: Any, stack: Any,
) -> None:  # fmt: skip
    """Scatter a group if that lowers the cost; its members stand in one row.

    To join a group of at least k, of which m records leave here, costs at least k/(k+m) of the squared distances.
    """
    points, shades, axes, slack = cloud
    sizes, sums, centroids, group_shades, _ = groups
    cells, numbers, plan, places = index
    zero = np.int64(0)
    m = members.shape[1]
    own = cost_of(points, members[0], zero, m)
    budget = 1.000001 * own * (k + m) / k
    for i in range(m):
        far[0] = budget
        host[0] = NOBODY
        if budget > 0.0:
            search(
                points, shades, members[0, i], centroids, sizes, cells, numbers, plan, slack, 1.0, g, zero, far, host,
                stack,
            )  # fmt: skip
        if host[0] == NOBODY:
            return
        targets[i] = host[0]
        budget -= far[0]
    if own <= rise_of(points, sizes, sums, centroids, members, zero, targets, joining) + tolerance:
        return
    for i in range(m):
        labels[members[0, i]] = targets[i]
        add(sizes, sums, centroids, targets[i], points, members[0, i], zero + 1)
        follow(axes, centroids, group_shades, targets[i], cells, numbers, plan, places)
    sizes[g] = 0
    remove(cells, numbers, plan, places, g)
