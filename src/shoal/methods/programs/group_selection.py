"""Selection of groups: the cheapest grouping that consists of groups of several given groupings.

A set-partitioning program over the groups that several searches found. Cost: that of an integer program with one column
for each different group. Columns and nodes are limited, not seconds, so the result does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.centroids import group_costs
from shoal.methods.programs.restricted_master import solve_integer


def select_groups(
    points: NDArray[np.float64], groupings: Sequence[NDArray[np.int64]], k: int, most: int, nodes: int
) -> NDArray[np.int64]:
    """Return a grouping of groups that occur in the given ones, at most as costly as the first.

    Parameters
    ----------
    points
        n x d.
    groupings
        Labels 0, 1, ... of the same records; the first is the solution to begin with.
    k
        Minimum group size; no group has 2k records or more.
    most
        Maximum number of groups in the program; those of later groupings are left out.
    nodes
        Maximum number of nodes of the search tree.

    Examples
    --------
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0], [20.0], [30.0], [20.0], [30.0]])
    >>> select_groups(points, [np.array([0, 0, 1, 1, 2, 3, 2, 3]), np.array([0, 1, 0, 1, 2, 2, 3, 3])], 2, 9, 1)
    array([2, 3, 2, 3, 0, 1, 0, 1])
    """
    groups: dict[bytes, tuple[NDArray[np.int64], float]] = {}
    for labels in groupings:
        order = np.argsort(labels, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        for members, cost in zip(parts, group_costs(points, labels).tolist(), strict=True):
            groups.setdefault(members.tobytes(), (members, cost))
        if len(groups) > most:
            break
    pool = list(groups.values())[: max(most, int(groupings[0].max()) + 1)]
    columns = np.full((len(pool), 2 * k - 1), -1, np.int32)
    for line, (members, _) in zip(columns, pool, strict=True):
        line[: members.size] = members
    costs = np.array([cost for _, cost in pool])
    first = int(groupings[0].max()) + 1
    start = np.arange(first)
    scale = float(costs[:first].sum())
    if scale <= 0.0 or len(pool) == first:
        return groupings[0]
    chosen = solve_integer(np.ones(len(points), np.int64), columns, costs / scale, start=start, nodes=nodes)
    if chosen.interrupted:
        raise KeyboardInterrupt
    if chosen.columns is None or not costs[chosen.columns].sum() < scale:
        return groupings[0]
    selected = np.empty(len(points), np.int64)
    for number, column in enumerate(columns[chosen.columns]):
        selected[column[column >= 0]] = number
    return selected
