"""V-MDAV: groups of k that go on growing while the next record is nearer to them than to anybody else.

Thaeter 2021, Algorithm 4 (section 5.1); Solanas & Martínez-Ballesté 2006. Cost O(n² k d) time at worst, O(n d) memory.
Good on clustered data with the right gain factor, which has to be searched for; mdav-star-gamma is usually better.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.distance.gain import best_gain
from shoal.methods.kernels.closest import index_groups
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import open_group
from shoal.methods.kernels.growth import from_the_centre, grow, join_closest, leader
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.tree import nearest, remove
from shoal.methods.registry import method
from shoal.progress import SILENT, Progress


@method(
    "v-mdav",
    title="mdav-plus whose groups grow to 2k-1 where records are close, by a gain factor",
    cost="21 n² k d",
    guarantee="groups have at least k records; fewer than k of them may enlarge groups of 2k-1",
    reference="Thaeter 2021, Alg. 4; Solanas & Martínez-Ballesté 2006",
    when="to compare with published figures; clustered data",
)
def v_mdav(
    points: NDArray[np.float64],
    k: int,
    *,
    gamma: float | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by V-MDAV.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    gamma
        The gain factor; 0 gives MDAV⁺, the authors advise 0.2 for scattered and 1.1 for clustered data; None tries 0.0,
        0.1, ..., 2.0 and keeps the cheapest grouping, the lowest factor among equals.
    progress
        Hears how many records are grouped.
    facts
        Receives ``gamma`` and, after a search, the cost for each factor.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> v_mdav(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]), 2, gamma=0.2)
    array([1, 1, 1, 0, 0, 0])
    """

    def run(factor: float, listener: Progress) -> NDArray[np.int64]:
        growth = from_the_centre(points, k)
        grow(growth, k, _rounds, (factor,), listener)
        join_closest(growth, index_groups(growth.groups), False, 1.0)
        return growth.labels

    return best_gain("v-mdav", run, points, gamma, progress, facts)


@compiled
def _rounds(growth: Any, tree: Any, index: Any, k: int, gamma: float, stop: int, limit: int) -> bool:
    """Make up to ``limit`` groups of k to 2k-1 while ``stop`` records are free."""
    points = growth.points
    distances = np.empty(k)
    found = np.empty(k, np.int64)
    members = np.empty(2 * k, np.int64)
    near = np.empty(2 * k)  # the distance of each member to its nearest free record
    neighbours = np.empty(2 * k, np.int64)  # and that record
    pair = np.empty(2)
    who = np.empty(2, np.int64)
    for _ in range(limit):
        if growth.done[1] < stop:
            break
        r = leader(growth, tree)
        distances[k - 1] = np.inf
        nearest(tree, points[r], r, distances, found)
        size = k
        for i in range(k):
            members[i] = found[i]
            neighbours[i] = r  # not known yet, for r is no longer free
            remove(tree, found[i])
        while size < 2 * k - 1 and growth.done[1] > size and gamma > 0.0:
            best = _nearest_outside(points, tree, members[:size], near, neighbours)
            candidate = neighbours[best]
            pair[1] = np.inf
            nearest(tree, points[candidate], candidate, pair, who)
            if near[best] >= gamma * pair[1]:  # pair[1] is infinite if nobody else is free
                break
            members[size] = candidate
            neighbours[size] = r
            size += 1
            remove(tree, candidate)
        g = open_group(growth.groups, points, members[:size])
        for i in range(size):
            growth.labels[members[i]] = g
        growth.done[1] -= size
    return False


@inner
def _nearest_outside(points: Any, tree: Any, members: Any, near: Any, neighbours: Any) -> int:
    """Return the member that is nearest to a free record, after looking again where the neighbour is gone."""
    one = np.empty(1)
    found = np.empty(1, np.int64)
    best = 0
    for i in range(members.size):
        if tree.places[neighbours[i]] < 0:
            one[0] = np.inf
            nearest(tree, points[members[i]], members[i], one, found)
            near[i] = one[0]
            neighbours[i] = found[0]
        if near[i] < near[best] or (near[i] == near[best] and neighbours[i] < neighbours[best]):
            best = i
    return best
