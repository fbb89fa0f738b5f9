"""The integer construction: one group after the other, guided by dual values (Algorithm 7 with the problem P6).

Cost 2023, section 4.4.2, after Zhao et al. 2018. The reward of a row is ``gamma`` times its dual value plus ``lambda``;
the next group is the one of least distance minus reward among the remaining rows, found exactly or by the greedy rule.
Dual values are not updated between groups.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.nominal.hamming_pricing import greedy_groups
from shoal.methods.nominal.hamming_pricing_search import search_groups

PUBLISHED = {
    "adult200m5": {"optimal": (0.5, 1.5), "heuristic": (0.25, 0.5)},
    "200m5_2percent": {"optimal": (0.75, 3.0), "heuristic": (0.25, 0.25)},
    "200m5_20percent": {"optimal": (0.75, 1.5), "heuristic": (0.25, 3.0)},
    "200m5_100percent": {"optimal": (0.75, 1.5), "heuristic": (0.25, 1.5)},
}
"""The best gamma and lambda for optimal and heuristic dual values, by scenario (Cost 2023, Table 6.5)."""

DEFAULT = {"optimal": (0.75, 1.5), "heuristic": (0.25, 1.5)}
"""The default of gamma and lambda, for data of any kind."""


def construct(
    distance: NDArray[np.float64],
    duals: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    *,
    gamma: float,
    lambda_: float,
    exact: bool,
    leftovers: Literal["increase", "total"] = "increase",
    deadline: Deadline | None = None,
) -> NDArray[np.int32]:
    """Return a partition into groups of k to 2k-1 rows (Alg. 7).

    Parameters
    ----------
    distance
        Distances of the distinct rows.
    duals
        Dual value of each row in the linear master.
    counts
        The number of records of each row.
    k
        Minimum group size.
    gamma
        Factor of the dual values, 0 to 1.
    lambda_
        Reward of each row.
    exact
        Whether P6 is solved exactly; otherwise, and after the deadline, by the greedy rule.
    leftovers
        The group that a remaining row joins: the one whose distance increases least, or (as published) the one whose
        distance is least with the row.
    deadline
        Time limit of exact searches.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> construct(distance, np.ones(3), np.array([2, 1, 2]), 2, gamma=0.5, lambda_=1.0, exact=True).tolist()
    [[0, 0, 1], [2, 2, -1]]
    """
    reward = gamma * duals + lambda_
    left = counts.copy()
    clusters: list[NDArray[np.int32]] = []
    deadline = deadline or Deadline(None)
    while left.sum() >= k:
        found = np.zeros((0, 2 * k - 1), np.int32)
        if exact and not deadline.expired():
            found = search_groups(distance, reward, left, k, threshold=np.inf, expired=deadline.expired)[0]
        if not len(found):
            found = greedy_groups(distance, reward, left, k, most=1, any_sign=True)
        cluster = found[0][found[0] >= 0]
        np.subtract.at(left, cluster, 1)
        clusters.append(cluster)
    for row in np.repeat(np.arange(left.size), left).tolist():
        grown = np.array([distance[row, cluster].sum() for cluster in clusters])
        if leftovers == "total":
            grown += [distance[np.ix_(cluster, cluster)].sum() / 2 for cluster in clusters]
        best = int(np.argmin(grown))
        clusters[best] = np.append(clusters[best], np.int32(row))
    return _split(clusters, k)


def _split(clusters: list[NDArray[np.int32]], k: int) -> NDArray[np.int32]:
    """Return the groups as columns; one of 2k or more rows is split into its first k rows and the rest."""
    small = []
    for cluster in clusters:
        small.extend([cluster] if cluster.size < 2 * k else [cluster[:k], cluster[k:]])
    columns = np.full((len(small), 2 * k - 1), -1, np.int32)
    for line, cluster in zip(columns, small, strict=True):
        line[: cluster.size] = cluster
    return columns
