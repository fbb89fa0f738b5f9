"""The integer construction: clusters one by one, guided by duals (Algorithm 7 with the auxiliary problem P6).

Cost 2023, section 4.4.2, after Zhao et al. 2018. A row is worth ``gamma`` times its dual plus ``lambda``; the next
cluster is the one of least weight minus worth among the rows left, found exactly or by the greedy rule. Duals are not
renewed on the way.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.methods.nominal.hamming_pricing import greedy_clusters
from shoal.methods.nominal.hamming_pricing_search import search_clusters
from shoal.methods.programs.restricted_master import Clock

PUBLISHED = {
    "adult200m5": {"optimal": (0.5, 1.5), "heuristic": (0.25, 0.5)},
    "200m5_2percent": {"optimal": (0.75, 3.0), "heuristic": (0.25, 0.25)},
    "200m5_20percent": {"optimal": (0.75, 1.5), "heuristic": (0.25, 3.0)},
    "200m5_100percent": {"optimal": (0.75, 1.5), "heuristic": (0.25, 1.5)},
}
"""The best pairs of gamma and lambda for optimal and heuristic duals, by scenario (Cost 2023, Table 6.5)."""

DEFAULT = {"optimal": (0.75, 1.5), "heuristic": (0.25, 1.5)}
"""Gamma and lambda where nothing is known about the data."""


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
    clock: Clock | None = None,
) -> NDArray[np.int32]:
    """Return a partition into clusters of k to 2k-1 rows (Alg. 7).

    Parameters
    ----------
    distance
        Distances of the distinct rows.
    duals
        What the rows are worth in the linear master.
    counts
        How often each row occurs.
    k
        The smallest cluster.
    gamma
        How much duals count, 0 to 1.
    lambda_
        The reward per row.
    exact
        Solve P6 exactly; otherwise, and when the clock has run out, by the greedy rule.
    leftovers
        Whether a row that is left joins the cluster whose weight grows least, or (as printed) the one that is lightest
        with it.
    clock
        Ends exact solving.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> construct(distance, np.ones(3), np.array([2, 1, 2]), 2, gamma=0.5, lambda_=1.0, exact=True).tolist()
    [[0, 0, 1], [2, 2, -1]]
    """
    prize = gamma * duals + lambda_
    left = counts.copy()
    clusters: list[NDArray[np.int32]] = []
    clock = clock or Clock(None)
    while left.sum() >= k:
        found = np.zeros((0, 2 * k - 1), np.int32)
        if exact and not clock.expired():
            found = search_clusters(distance, prize, left, k, threshold=np.inf, expired=clock.expired)[0]
        if not len(found):
            found = greedy_clusters(distance, prize, left, k, most=1, any_sign=True)
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
    """Return the clusters as columns; one of 2k or more rows becomes its first k rows and the rest."""
    small = []
    for cluster in clusters:
        small.extend([cluster] if cluster.size < 2 * k else [cluster[:k], cluster[k:]])
    columns = np.full((len(small), 2 * k - 1), -1, np.int32)
    for line, cluster in zip(columns, small, strict=True):
        line[: cluster.size] = cluster
    return columns
