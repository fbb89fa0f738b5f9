"""Exact pricing (P5) and the auxiliary problem (P6) by depth-first search.

Cost 2023, sections 4.3 and 4.4: among all clusters of k to 2k-1 rows find those with the smallest sum of pairwise
distances minus the prizes of their rows. The search adds one row at a time, in order of what it costs next to those
chosen, so that a branch ends at the first row with which even the cheapest completion is too dear. Equal rows are one
row with a count. Cuts of the master make clusters dearer that hold several rows of a set. Worst case O(n^(2k-1)), a few
milliseconds for 200 rows and k = 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.inner import inner
from shoal.methods.programs.restricted_master import Cuts, no_cuts

BEST, BEST_OF_EACH_ROOT, ALL = 0, 1, 2
STEPS = 50_000_000
_PAUSED, _COMPLETE, _FULL, _TIRED = 0, 1, 2, 3


def search_clusters(
    distance: NDArray[np.float64],
    prize: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    *,
    threshold: float,
    mode: int = BEST,
    cuts: Cuts | None = None,
    room: int | None = None,
    steps: int = STEPS,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[NDArray[np.int32], NDArray[np.float64], bool]:
    """Return clusters whose distances minus prizes are below a threshold.

    Parameters
    ----------
    distance
        Distances of the distinct rows, n x n, not negative.
    prize
        What each row is worth: its dual value in P5, gamma times that plus lambda in P6.
    counts
        How often each row may be used.
    k
        Clusters have k to 2k-1 rows.
    threshold
        Only clusters below are of interest.
    mode
        ``BEST``: the best one; ``BEST_OF_EACH_ROOT``: for each row the best one of which it is the row with the largest
        prize; ``ALL``: all of them.
    cuts
        What makes clusters dearer.
    room
        The most clusters to keep; the search is incomplete where there are more.
    steps
        The most steps, rows put in order among them (some ten million a second); the search is incomplete where they
        do not suffice.
    expired
        Asked now and then whether to stop early.

    Returns
    -------
    columns
        One cluster per line: its rows, a repeated row repeated, filled up with -1.
    values
        Their values.
    complete
        Whether nothing was left out.

    Examples
    --------
    >>> distance = np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> search_clusters(distance, np.array([1.0, 1, 1]), np.array([1, 1, 1]), 2, threshold=0.0)[0].tolist()
    [[0, 1, -1]]
    """
    n = prize.size
    priced = no_cuts(n) if cuts is None else cuts
    rows_of_cuts, cut_list = np.nonzero(priced.members.T)
    cut_first = np.searchsorted(rows_of_cuts, np.arange(n + 1))
    cut_list = np.ascontiguousarray(cut_list)  # one layout: compiled once
    capacity = (1 if mode == BEST else n) if room is None else room
    columns = np.empty((capacity, 2 * k - 1), np.int32)
    values = np.empty(capacity)
    state = np.zeros(3, np.int64)
    high = 2 * k - 1
    work = np.zeros((high, n)), np.zeros((high, n), np.int64), np.zeros(high), np.zeros((3, high), np.int64)
    ended = _PAUSED
    while ended == _PAUSED and not expired():
        ended = _search(
            distance, prize, counts.copy(), k, threshold, mode, state, steps, cut_first, cut_list, priced.divisors,
            priced.prices, np.zeros(priced.divisors.size, np.int64), *work, columns, values,
        )  # fmt: skip
    found = int(state[0])
    return columns[:found], values[:found], ended == _COMPLETE


@compiled(no_cfunc_wrapper=True, error_model="numpy")
def _search(
    distance: Any, prize: Any, left: Any, k: int, threshold: float, mode: int, state: Any, limit: int,
    cut_first: Any, cut_list: Any, divisors: Any, cut_prices: Any, inside: Any, costs: Any, rows: Any, value: Any,
    places: Any, columns: Any, values: Any,
) -> int:  # fmt: skip
    """Go on with the search until a root ends after many steps; returns how it ended.

    ``state``: the number of clusters found, the place of the next root, the steps done; ``left``: how often each row
    may be used. The arrays from ``inside`` to ``places`` are room to work in, made outside since that compiles faster.
    """
    n = prize.size
    high = 2 * k - 1
    chosen, length, at = places[0], places[1], places[2]
    length[0] = 0
    for i in range(n):
        if left[i] > 0:
            rows[0, length[0]] = i
            costs[0, length[0]] = -prize[i]
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
                if depth == 0:  # the roots that follow are dearer still
                    return 1
                at[depth] = length[depth]
                continue
            row = rows[depth, i]
            chosen[depth] = row
            total = value[depth] + costs[depth, i]
            for c in range(cut_first[row], cut_first[row + 1]):
                if (inside[cut_list[c]] + 1) % divisors[cut_list[c]] == 0:
                    total += cut_prices[cut_list[c]]
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
    """Return the least that row i and a completion from the rows after it can cost, distances among these left out."""
    total = costs[i]
    need = k - depth - 1
    room = 2 * k - 2 - depth
    again = left[rows[i]] - 1
    j = i
    while room > 0:
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
        room -= 1
    return total


@inner
def _sort(costs: Any, rows: Any, length: int) -> None:
    """Sort by cost, ties by row (Shell's method: short, nearly sorted lists)."""
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
