"""The common frame of the searches whose groups have at most 2k-1 values: simple, simple+, divide and staggered.

The dynamic program F[j] = min F[i] + C(i, j) over k <= j-i <= 2k-1 (Stamm & Schaub 2024, section 2.1) runs in blocks
of k columns. Block b (a multiple of k) holds the columns b..b+k-1. Every group that may end there begins before the
value at the edge b and reaches it, because a group has at least k values. So all sums are taken from that edge to both
sides: all terms belong to the group, cancellation is small, and the error of a cost is about k roundings for any
location of the data (section 4.1 of the paper restarts prefix sums at fixed cells instead, where a group may overlap
three cells and distant values reduce the accuracy of the others). After each block the totals are rebased (section
4.2): the smallest that is still needed becomes 0. A block costs O(k) and the minima of its rows; the searches differ in
how they find these minima.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled


@compiled
def fill(
    values: Any, weights: Any, b: int, lefts: int, rows: int, centre: int, sums: Any, mass: Any, head: Any, tail: Any
) -> None:
    """Hold the place of the sums of a cost, which is bound later."""


@compiled
def tie(values: Any, i: int, k: int) -> float:
    """Hold the place of the surcharge of a cut between equal values, which is bound later."""
    return 0.0


@compiled
def row_minima(
    head: Any, sums: Any, mass: Any, k: int, largest: int, most: int, rows: int, lowest: Any, lefts: Any
) -> None:
    """Hold the place of a search, which is bound later.

    Row v (column b+v of the paper) may have u values before the edge with k <= u+v <= largest and u <= most; write the
    minimum of head[u] + cross(u, v) into lowest[v] and the largest u that attains it into lefts[v].
    """


@compiled
def blocks(
    values: Any, weights: Any, k: int, largest: int, start: int, stop: int, sums: Any, mass: Any, total: Any, last: Any
) -> int:
    """Fill ``total`` and ``last`` (the size of the last group) from column ``start`` on, up to ``stop`` inclusive.

    ``start`` is k or what an earlier call returned, so that Python can report progress in between. For concave costs
    (``largest`` below 0: no limit below 2k-1) a group begins no earlier than the one that ends a column before.
    """
    monotone = largest < 0
    largest = 2 * k - 1 if monotone else largest
    centre = 2 * k
    head = np.empty(2 * k)
    tail = np.empty(k)
    lowest = np.empty(k)
    lefts = np.empty(k, np.int64)
    work = max(1 << 20, 4 * k)
    b = start
    while b <= stop and b - start < work:
        rows = min(k, stop + 1 - b)
        if b == k:
            most = k
        else:  # groups that begin at 1..k-1 would leave too few before them
            most = min(largest, b - k)
            if monotone:
                most = min(most, last[b - 1] + 1)
        fill(values, weights, b, most, rows, centre, sums, mass, head, tail)
        base = np.inf
        for i in range(b - most, b):
            base = min(base, total[i])
        if base < np.inf:
            for i in range(max(b - 2 * k + 1, 0), b):
                total[i] -= base
        for u in range(1, most + 1):
            head[u] += total[b - u]
        row_minima(head, sums, mass, k, largest, most, rows, lowest, lefts)
        for v in range(rows):
            total[b + v] = lowest[v] + tail[v] + tie(values, b + v, k)
            last[b + v] = lefts[v] + v
        b += k
    return b
