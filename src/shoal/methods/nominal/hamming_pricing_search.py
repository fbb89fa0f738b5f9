"""Exact pricing (P5) and the auxiliary problem (P6) by depth-first search.

Cost 2023, sections 4.3 and 4.4: among all groups of k to 2k-1 rows find those with the smallest sum of pairwise
distances minus the rewards of their rows. The search adds one row at a time, in ascending order of its marginal cost,
so that a branch ends at the first row for which even the cheapest completion reaches the threshold. Equal rows are one
row with a count. Cuts of the master raise the cost of groups that hold several rows of a set. Worst case O(n^(2k-1)), a
few milliseconds for 200 rows and k = 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.methods.programs.restricted_master import Cuts, no_cuts

BEST, BEST_OF_EACH_ROOT, ALL = 0, 1, 2
SEARCH_STEPS = 50_000_000
_PAUSED, _COMPLETE, _FULL, _STEPS_USED = 0, 1, 2, 3


def search_groups(
    distance: NDArray[np.float64],
    reward: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    *,
    threshold: float,
    mode: int = BEST,
    cuts: Cuts | None = None,
    capacity: int | None = None,
    steps: int = SEARCH_STEPS,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[NDArray[np.int32], NDArray[np.float64], bool]:
    """Return groups whose distances minus rewards are below a threshold.

    Parameters
    ----------
    distance
        Distances of the distinct rows, n x n, not negative.
    reward
        The reward of each row: its dual value in P5, gamma times the dual value plus lambda in P6.
    counts
        How often each row may be used.
    k
        Groups have k to 2k-1 rows.
    threshold
        Only groups below the threshold are returned.
    mode
        ``BEST``: the best group; ``BEST_OF_EACH_ROOT``: for each row the best group in which no row has a larger
        reward; ``ALL``: all groups.
    cuts
        Cuts of the master, with their dual values.
    capacity
        Maximum number of groups; the search is incomplete if there are more.
    steps
        Maximum number of steps, sorting included (about ten million a second); the search is incomplete if they do not
        suffice.
    expired
        Called from time to time; the search ends early if it returns True.

    Returns
    -------
    columns
        The rows of one group per line, repeated rows repeated, padded with -1.
    values
        Their values.
    complete
        Whether the search was complete.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> search_groups(distance, np.array([1.0, 1, 1]), np.array([1, 1, 1]), 2, threshold=0.0)[0].tolist()
    [[0, 1, -1]]
    """
    n = reward.size
    active = no_cuts(n) if cuts is None else cuts
    rows_of_cuts, cut_list = np.nonzero(active.members.T)
    cut_first = np.searchsorted(rows_of_cuts, np.arange(n + 1))
    cut_list = np.ascontiguousarray(cut_list)  # always the same layout, so that the loop is compiled once
    most = (1 if mode == BEST else n) if capacity is None else capacity
    columns = np.empty((most, 2 * k - 1), np.int32)
    values = np.empty(most)
    state = np.zeros(3, np.int64)
    high = 2 * k - 1
    work = np.zeros((high, n)), np.zeros((high, n), np.int64), np.zeros(high), np.zeros((3, high), np.int64)
    ended = _PAUSED
    while ended == _PAUSED and not expired():
        ended = _search(
            distance, reward, counts.copy(), k, threshold, mode, state, steps, cut_first, cut_list, active.divisors,
            active.dual_values, np.zeros(active.divisors.size, np.int64), *work, columns, values,
        )  # fmt: skip
    found = int(state[0])
    return columns[:found], values[:found], ended == _COMPLETE


@compiled(no_cfunc_wrapper=True, error_model="numpy")
def _search(
    distance: Any, reward: Any, left: Any, k: int, threshold: float, mode: int, state: Any, limit: int,
    cut_first: Any, cut_list: Any, divisors: Any, cut_duals: Any, inside: Any, costs: Any, rows: Any, value: Any,
    positions: Any, columns: Any, values: Any,
) -> int:  # fmt: skip
    """Continue the search until a root is finished after many steps; returns how the search ended.

    ``state``: the number of groups found, the position of the next root, the steps done; ``left``: how often each row
    may be used. The arrays from ``inside`` to ``positions`` are work arrays, allocated outside because the loop then
    compiles faster.
    """
    n = reward.size
    high = 2 * k - 1
    chosen, length, at = positions[0], positions[1], positions[2]
    length[0] = 0
    for i in range(n):
        if left[i] > 0:
            rows[0, length[0]] = i
            costs[0, length[0]] = -reward[i]
            length[0] += 1
    _sort(costs[0], rows[0], length[0])
    if mode == 0 and state[0] > 0:
        threshold = min(threshold, values[0])
    pause = state[2] + 2_000_000
    while state[1] < length[0]:
        if state[2] >= pause:
            return 0
        kept = state[0]
        below = threshold
        at[0] = state[1]
        depth = np.int64(0)
        while depth >= 0:
            i = at[depth]
            if i >= length[depth] or (depth == 0 and i > state[1]):
                depth -= 1
                if depth >= 0:
                    row = chosen[depth]
                    left[row] += 1
                    for c in range(cut_first[row], cut_first[row + 1]):
                        inside[cut_list[c]] -= 1
                    at[depth] += 1
                continue
            state[2] += 1
            if state[2] > limit:
                return 3
            if value[depth] + _cheapest(costs[depth], rows[depth], left, i, length[depth], depth, k) >= below:
                if depth == 0:  # the roots that follow have larger costs
                    return 1
                at[depth] = length[depth]
                continue
            row = rows[depth, i]
            chosen[depth] = row
            total = value[depth] + costs[depth, i]
            for c in range(cut_first[row], cut_first[row + 1]):
                if (inside[cut_list[c]] + 1) % divisors[cut_list[c]] == 0:
                    total += cut_duals[cut_list[c]]
            if depth + 1 >= k and total < below:
                if mode != 2:
                    below = total
                    state[0] = 0 if mode == 0 else kept
                if state[0] == len(values):
                    return 2
                values[state[0]] = total
                for j in range(high):
                    columns[state[0], j] = chosen[j] if j <= depth else -1
                state[0] += 1
            if depth + 1 == high:
                at[depth] += 1
                continue
            left[row] -= 1
            for c in range(cut_first[row], cut_first[row + 1]):
                inside[cut_list[c]] += 1
            depth += 1
            value[depth] = total
            at[depth] = 0
            size = np.int64(0)
            for j in range(i, length[depth - 1]):
                other = rows[depth - 1, j]
                if left[other] > 0:
                    rows[depth, size] = other
                    costs[depth, size] = costs[depth - 1, j] + distance[row, other]
                    size += 1
            _sort(costs[depth], rows[depth], size)
            length[depth] = size
            state[2] += size
        state[1] += 1
        if mode == 0:
            threshold = below
    return 1


@inner
def _cheapest(costs: Any, rows: Any, left: Any, i: int, length: int, depth: int, k: int) -> float:
    """Return a lower bound of the cost of row i with a completion from the rows after it: their distances left out."""
    total = costs[i]
    need = k - depth - 1
    optional = 2 * k - 2 - depth
    again = left[rows[i]] - 1
    j = i
    while optional > 0:
        while again == 0:
            j += 1
            if j >= length:
                return total if need <= 0 else np.inf
            again = left[rows[j]]
        if need <= 0 and costs[j] >= 0:
            break
        total += costs[j]
        again -= 1
        need -= 1
        optional -= 1
    return total


@inner
def _sort(costs: Any, rows: Any, length: int) -> None:
    """Sort by cost, ties by row, with Shell sort: the lists are short and nearly sorted."""
    gap = 1
    while gap < length // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, length):
            cost, row = costs[i], rows[i]
            j = i - gap
            while j >= 0 and (costs[j] > cost or (costs[j] == cost and rows[j] > row)):
                costs[j + gap], rows[j + gap] = costs[j], rows[j]
                j -= gap
            costs[j + gap], rows[j + gap] = cost, row
        gap //= 3
