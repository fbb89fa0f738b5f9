"""Pricing of clusters of nominal rows: greedy (Alg. 5), enumeration (Alg. 6) and exact (P5).

Cost 2023, section 4.3. Rows are distinct rows with counts (see ``codes.collapse``); a cluster lists the numbers of its
rows, a row that it holds twice twice, and is filled up with -1 to 2k-1 places.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.methods.nominal.hamming_pricing_search import ALL, BEST_OF_EACH_ROOT, STEPS, search_clusters
from shoal.methods.programs.restricted_master import Clock, Duals
from shoal.methods.programs.set_partitioning import Priced

_NEGATIVE = -1e-7


class NominalPricer:
    """Exact pricing by depth-first search, after the greedy rule where the table is large.

    Parameters
    ----------
    distance
        Distances of the distinct rows.
    counts
        How often each occurs.
    k
        Clusters have k to 2k-1 rows.
    exact
        Search exactly where the heuristics find nothing; otherwise no bound is proven.
    steps
        How far an exact search may go before it counts as unproven; the next ones then are not begun.
    """

    greedy_from = 400

    def __init__(
        self,
        distance: NDArray[np.float64],
        counts: NDArray[np.int64],
        k: int,
        *,
        exact: bool = True,
        steps: int = STEPS,
    ) -> None:
        self.distance, self.demand, self.k, self.exact, self.steps = distance, counts, k, exact, steps

    def price(self, duals: Duals, clock: Clock) -> Priced:
        """Return clusters with negative reduced cost: for each row the best of which it is the dearest row."""
        if not self.exact or (self.demand.size >= self.greedy_from and not len(duals.cuts.prices)):
            found = greedy_clusters(self.distance, duals.elements, self.demand, self.k)
            if not len(found) and not self.exact:
                found = enumerated_cluster(self.distance, duals.elements, self.demand, self.k)
            if not self.exact or len(found) > 0.1 * self.demand.sum() / self.k:
                return self._priced(found, -np.inf, proven=False)
        columns, values, complete = search_clusters(
            self.distance, duals.elements, self.demand, self.k, threshold=-1e-9, mode=BEST_OF_EACH_ROOT,
            cuts=duals.cuts, steps=self.steps, expired=clock.expired,
        )  # fmt: skip
        self.exact = complete
        return self._priced(columns, float(values.min(initial=0.0)), proven=complete)

    def below(self, duals: Duals, threshold: float, room: int, clock: Clock) -> Priced:
        """Return all clusters with a reduced cost below the threshold, or as many as there is room for."""
        columns, values, complete = search_clusters(
            self.distance, duals.elements, self.demand, self.k, threshold=threshold, mode=ALL, cuts=duals.cuts,
            room=room, steps=self.steps, expired=clock.expired,
        )  # fmt: skip
        return self._priced(columns, float(values.min(initial=0.0)), proven=complete)

    def _priced(self, columns: NDArray[np.int32], least: float, *, proven: bool) -> Priced:
        return Priced(columns, column_weights(columns, self.distance), least, proven)


def column_weights(columns: NDArray[np.int32], distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each cluster.

    Examples
    --------
    >>> column_weights(np.array([[0, 1, -1], [0, 1, 1]]), np.array([[0.0, 2.0], [2.0, 0.0]])).tolist()
    [2.0, 4.0]
    """
    padded = np.pad(distance, (0, 1))
    total = np.zeros(len(columns))
    for a in range(columns.shape[1]):
        for b in range(a):
            total += padded[columns[:, a], columns[:, b]]
    return total


def greedy_clusters(
    distance: NDArray[np.float64],
    prize: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    *,
    most: int | None = None,
    any_sign: bool = False,
) -> NDArray[np.int32]:
    """Return disjoint clusters with negative reduced cost, each grown from the dearest row left (Alg. 5).

    Parameters
    ----------
    distance
        Distances of the distinct rows.
    prize
        The dual value of each row.
    counts
        How often each row may be used.
    k
        Clusters have k to 2k-1 rows.
    most
        The most clusters (n_max).
    any_sign
        Take clusters whatever their reduced cost, as the integer construction does.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> greedy_clusters(distance, np.array([1.0, 1, 1]), np.array([1, 1, 1]), 2).tolist()
    [[0, 1, -1]]
    """
    left = counts.copy()
    found: list[NDArray[np.int32]] = []
    rows_left = int(left.sum())
    while rows_left >= k and (most is None or len(found) < most):
        cluster = np.full(2 * k - 1, -1, np.int32)
        cost = np.where(left > 0, -prize, np.inf)
        free = left.copy()
        value, best, best_size = 0.0, np.inf, 0
        for size in range(1, 2 * k):
            row = int(np.argmin(cost))
            if not np.isfinite(cost[row]):
                break
            value += cost[row]
            cluster[size - 1] = row
            free[row] -= 1
            cost += distance[row]
            if not free[row]:
                cost[row] = np.inf
            if size >= k and value < best:
                best, best_size = value, size
        if best >= _NEGATIVE and not any_sign:
            break
        cluster[best_size:] = -1
        np.subtract.at(left, cluster[:best_size], 1)
        rows_left -= best_size
        found.append(cluster)
    return np.array(found, np.int32).reshape(len(found), 2 * k - 1)


def enumerated_cluster(
    distance: NDArray[np.float64], prize: NDArray[np.float64], counts: NDArray[np.int64], k: int
) -> NDArray[np.int32]:
    """Return a cluster with negative reduced cost around the dearest row, from its 2k-2 nearest rows (Alg. 6).

    All choices among them are tried, the first that helps is returned, or none. Not tried for k above 8, where there
    would be more than 26,000.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> enumerated_cluster(distance, np.array([1.0, 1, 1]), np.array([1, 1, 1]), 2).tolist()
    [[0, 1, -1]]
    """
    none = np.zeros((0, 2 * k - 1), np.int32)
    if k > 8:
        return none
    dearest = int(np.argmax(prize))
    order = np.argsort(distance[dearest], kind="stable")
    others = counts - (np.arange(counts.size) == dearest)
    near = np.repeat(order, others[order])[: 2 * k - 2]
    for size in range(k - 1, near.size + 1):
        for chosen in combinations(near.tolist(), size):
            cluster = np.array([[dearest, *chosen]], np.int32)
            if column_weights(cluster, distance)[0] - prize[cluster[0]].sum() < _NEGATIVE:
                found = np.full((1, 2 * k - 1), -1, np.int32)
                found[0, : size + 1] = cluster
                return found
    return none
