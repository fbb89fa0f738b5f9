"""Pricing of groups of nominal rows: greedy (Alg. 5), enumeration (Alg. 6) and exact (P5).

Cost 2023, section 4.3. Rows are distinct rows with counts (see :func:`shoal.core.row_classes.collapse`). A column of
the master is a group: the numbers of its rows, repeated rows repeated, padded with -1 to length 2k-1.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.nominal.hamming_pricing_search import ALL, BEST_OF_EACH_ROOT, SEARCH_STEPS, search_groups
from shoal.methods.programs.restricted_master import Duals
from shoal.methods.programs.set_partitioning import Priced

_NEGATIVE = -1e-7  # reduced costs above count as rounding errors


class NominalPricer:
    """Exact pricing by depth-first search; in a large table the greedy rule comes first.

    Parameters
    ----------
    distance
        Distances of the distinct rows.
    counts
        The number of records of each distinct row.
    k
        Groups have k to 2k-1 rows.
    exact
        Search exactly where the heuristics find nothing; otherwise no bound is proven.
    steps
        Maximum number of steps of an exact search. A search that needs more proves nothing, and no further exact search
        is begun.
    """

    greedy_from = 400  # distinct rows

    def __init__(
        self,
        distance: NDArray[np.float64],
        counts: NDArray[np.int64],
        k: int,
        *,
        exact: bool = True,
        steps: int = SEARCH_STEPS,
    ) -> None:
        self.distance, self.demand, self.k, self.exact, self.steps = distance, counts, k, exact, steps

    def price(self, duals: Duals, deadline: Deadline) -> Priced:
        """Return groups of negative reduced cost: for each row the best one in which no dual value is larger."""
        if not self.exact or (self.demand.size >= self.greedy_from and not len(duals.cuts.dual_values)):
            found = greedy_groups(self.distance, duals.elements, self.demand, self.k)
            if not len(found) and not self.exact:
                found = enumerated_group(self.distance, duals.elements, self.demand, self.k)
            if not self.exact or len(found) > 0.1 * self.demand.sum() / self.k:
                return self._priced(found, -np.inf, proven=False)
        columns, values, complete = search_groups(
            self.distance, duals.elements, self.demand, self.k, threshold=-1e-9, mode=BEST_OF_EACH_ROOT,
            cuts=duals.cuts, steps=self.steps, expired=deadline.expired,
        )  # fmt: skip
        self.exact = complete
        return self._priced(columns, float(values.min(initial=0.0)), proven=complete)

    def below(self, duals: Duals, threshold: float, capacity: int, deadline: Deadline) -> Priced:
        """Return all groups with a reduced cost below the threshold, at most ``capacity`` of them."""
        columns, values, complete = search_groups(
            self.distance, duals.elements, self.demand, self.k, threshold=threshold, mode=ALL, cuts=duals.cuts,
            capacity=capacity, steps=self.steps, expired=deadline.expired,
        )  # fmt: skip
        return self._priced(columns, float(values.min(initial=0.0)), proven=complete)

    def _priced(self, columns: NDArray[np.int32], least: float, *, proven: bool) -> Priced:
        return Priced(columns, column_costs(columns, self.distance), least, proven)


def column_costs(columns: NDArray[np.int32], distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cost of each column: the sum of the distances of the pairs of rows of the group.

    Examples
    --------
    >>> column_costs(np.array([[0, 1, -1], [0, 1, 1]]), np.array([[0.0, 2.0], [2.0, 0.0]])).tolist()
    [2.0, 4.0]
    """
    padded = np.pad(distance, (0, 1))
    total = np.zeros(len(columns))
    for a in range(columns.shape[1]):
        for b in range(a):
            total += padded[columns[:, a], columns[:, b]]
    return total


def greedy_groups(
    distance: NDArray[np.float64],
    duals: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    *,
    most: int | None = None,
    any_sign: bool = False,
) -> NDArray[np.int32]:
    """Return disjoint groups of negative reduced cost, each grown from the free row of largest dual value (Alg. 5).

    Parameters
    ----------
    distance
        Distances of the distinct rows.
    duals
        The dual value of each row.
    counts
        How often each row may be used.
    k
        Groups have k to 2k-1 rows.
    most
        Maximum number of groups (n_max).
    any_sign
        Whether groups of any reduced cost are taken, as in the integer construction.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> greedy_groups(distance, np.array([1.0, 1, 1]), np.array([1, 1, 1]), 2).tolist()
    [[0, 1, -1]]
    """
    left = counts.copy()
    found: list[NDArray[np.int32]] = []
    rows_left = int(left.sum())
    while rows_left >= k and (most is None or len(found) < most):
        cluster = np.full(2 * k - 1, -1, np.int32)
        cost = np.where(left > 0, -duals, np.inf)
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


def enumerated_group(
    distance: NDArray[np.float64], duals: NDArray[np.float64], counts: NDArray[np.int64], k: int
) -> NDArray[np.int32]:
    """Return a group of negative reduced cost: the row of largest dual value and some of its 2k-2 nearest (Alg. 6).

    All subsets are tried until one has a negative reduced cost; the result is empty if none has. For k above 8, with
    more than 26,000 subsets, none is tried.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> enumerated_group(distance, np.array([1.0, 1, 1]), np.array([1, 1, 1]), 2).tolist()
    [[0, 1, -1]]
    """
    none = np.zeros((0, 2 * k - 1), np.int32)
    if k > 8:
        return none
    root = int(np.argmax(duals))
    order = np.argsort(distance[root], kind="stable")
    others = counts - (np.arange(counts.size) == root)
    near = np.repeat(order, others[order])[: 2 * k - 2]
    for size in range(k - 1, near.size + 1):
        for chosen in combinations(near.tolist(), size):
            cluster = np.array([[root, *chosen]], np.int32)
            if column_costs(cluster, distance)[0] - duals[cluster[0]].sum() < _NEGATIVE:
                found = np.full((1, 2 * k - 1), -1, np.int32)
                found[0, : size + 1] = cluster
                return found
    return none
