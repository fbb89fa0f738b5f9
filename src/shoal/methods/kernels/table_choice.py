"""Compiled loops over the cells of frequency tables: choosing one candidate per cluster so that tables stay right.

cells: combination x table -> number of the cell. entries: candidate -> combination. starts: cluster -> its first
candidate. The chi-square error is the sum over cells of (value - target)² / target; a cluster gives all its records to
the cells of its chosen candidate, so changing the choice of one cluster touches two cells per table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.core.inner import inner
from shoal.methods.kernels.random_numbers import below


@compiled
def greedy_choice(cells: Any, starts: Any, entries: Any, sizes: Any, target: Any, chosen: Any, value: Any) -> None:
    """Choose cluster after cluster the candidate with the least error so far (Cost 2023, Algorithm 8).

    What does not depend on the choice (tables whose attributes are constant within a cluster) is counted beforehand,
    and only once. Fills chosen and value.
    """
    tables = cells.shape[1]
    for c in range(sizes.size):
        for s in range(tables):
            cell = cells[entries[starts[c]], s]
            shared = True
            for i in range(starts[c] + 1, starts[c + 1]):
                shared = shared and cells[entries[i], s] == cell
            if shared:
                value[cell] += sizes[c]
    for c in range(sizes.size):
        first, last = starts[c], starts[c + 1]
        best, best_cost = first, np.inf
        for i in range(first, last):
            cost = 0.0
            for s in range(tables):
                cell = cells[entries[i], s]
                shared = True
                for l in range(first, last):
                    shared = shared and cells[entries[l], s] == cell
                if not shared:
                    cost += sizes[c] * (sizes[c] + 2.0 * (value[cell] - target[cell])) / target[cell]
            if cost < best_cost - 1e-9:
                best, best_cost = i, cost
        chosen[c] = best
        for s in range(tables):
            cell = cells[entries[best], s]
            shared = True
            for l in range(first, last):
                shared = shared and cells[entries[l], s] == cell
            if not shared:
                value[cell] += sizes[c]


@inner
def _change(cells: Any, target: Any, value: Any, size: Any, old: Any, new: Any) -> Any:
    """Return by how much the error changes when a cluster turns from one combination to another."""
    change = 0.0
    for s in range(cells.shape[1]):
        a, b = cells[old, s], cells[new, s]
        if a != b:
            change += size * (size - 2.0 * (value[a] - target[a])) / target[a]
            change += size * (size + 2.0 * (value[b] - target[b])) / target[b]
    return change


@inner
def _turn(cells: Any, value: Any, size: Any, old: Any, new: Any) -> None:
    for s in range(cells.shape[1]):
        value[cells[old, s]] -= size
        value[cells[new, s]] += size


@compiled
def descend_choice(cells: Any, starts: Any, entries: Any, sizes: Any, target: Any, chosen: Any, value: Any) -> Any:
    """Turn one cluster at a time to a better candidate until none is left; returns the number of passes."""
    passes = 0
    improved = True
    while improved and passes < 1_000:
        improved = False
        passes += 1
        for c in range(sizes.size):
            best, best_change = chosen[c], -1e-9
            for i in range(starts[c], starts[c + 1]):
                if i != chosen[c]:
                    change = _change(cells, target, value, sizes[c], entries[chosen[c]], entries[i])
                    if change < best_change:
                        best, best_change = i, change
            if best != chosen[c]:
                _turn(cells, value, sizes[c], entries[chosen[c]], entries[best])
                chosen[c] = best
                improved = True
    return passes


@compiled
def anneal_choice(
    cells: Any, starts: Any, entries: Any, sizes: Any, target: Any, chosen: Any, value: Any, best: Any, free: Any,
    passes: int, state: Any,
) -> Any:  # fmt: skip
    """Turn random clusters, also to worse candidates while it is hot; leaves the best choice, returns what it gained.

    The heat falls from the typical change of one turn to a thousandth of it. best: as chosen at first; state: the seed.
    """
    chance = np.int64(9007199254740992)
    typical = 0.0
    for f in range(free.size):
        c = free[f]
        first = starts[c] if chosen[c] != starts[c] else starts[c] + 1
        typical += abs(_change(cells, target, value, sizes[c], entries[chosen[c]], entries[first]))
    heat = max(0.5 * typical / free.size, 1e-9)
    cooling = 0.002 ** (1.0 / max(passes - 1, 1))
    gained, best_gained = 0.0, 0.0
    for _ in range(passes):
        for _ in range(free.size):
            c = free[below(state, free.size)]
            i = starts[c] + below(state, starts[c + 1] - starts[c] - 1)
            if i >= chosen[c]:
                i += 1
            change = _change(cells, target, value, sizes[c], entries[chosen[c]], entries[i])
            if change < 0 or math.exp(-change / heat) * chance > below(state, chance):
                _turn(cells, value, sizes[c], entries[chosen[c]], entries[i])
                chosen[c] = i
                gained -= change
        if gained > best_gained + 1e-9:
            best_gained = gained
            for f in range(free.size):
                best[free[f]] = chosen[free[f]]
        heat *= cooling
    for f in range(free.size):
        c = free[f]
        _turn(cells, value, sizes[c], entries[chosen[c]], entries[best[c]])
        chosen[c] = best[c]
    return best_gained
