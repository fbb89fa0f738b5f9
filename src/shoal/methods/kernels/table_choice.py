"""Compiled loops over the cells of frequency tables: select one candidate per group with small table errors.

cells: combination x table -> number of the cell. entries: candidate -> combination. starts: group -> its first
candidate. The chi-square error is the sum over cells of (value - target)² / target. All records of a group count in the
cells of its selected candidate, so changing the candidate of one group changes two cells per table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.random_numbers import below


@compiled
def greedy_choice(cells: Any, starts: Any, entries: Any, sizes: Any, target: Any, chosen: Any, value: Any) -> None:
    """Select for one group after the other the candidate with the least error so far (Cost 2023, Algorithm 8).

    Tables whose attributes are constant within a group do not depend on the choice; they are counted first, and once.
    Fills chosen and value.
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
    """Return the change of the error when a group is represented by another combination."""
    change = 0.0
    for s in range(cells.shape[1]):
        a, b = cells[old, s], cells[new, s]
        if a != b:
            change += size * (size - 2.0 * (value[a] - target[a])) / target[a]
            change += size * (size + 2.0 * (value[b] - target[b])) / target[b]
    return change


@inner
def _replace(cells: Any, value: Any, size: Any, old: Any, new: Any) -> None:
    for s in range(cells.shape[1]):
        value[cells[old, s]] -= size
        value[cells[new, s]] += size


@compiled
def descend_choice(cells: Any, starts: Any, entries: Any, sizes: Any, target: Any, chosen: Any, value: Any) -> Any:
    """Replace the candidate of one group at a time while the error falls; returns the number of passes."""
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
                _replace(cells, value, sizes[c], entries[chosen[c]], entries[best])
                chosen[c] = best
                improved = True
    return passes


@compiled
def anneal_choice(
    cells: Any, starts: Any, entries: Any, sizes: Any, target: Any, chosen: Any, value: Any, best: Any, free: Any,
    passes: int, state: Any,
) -> Any:  # fmt: skip
    """Replace candidates of random groups by simulated annealing; leaves the best choice and returns the gain.

    The temperature falls from half the typical change of one replacement to a thousandth of that
    change. best: equal to chosen at first; state: the seed.
    """
    resolution = np.int64(9007199254740992)
    typical = 0.0
    for f in range(free.size):
        c = free[f]
        first = starts[c] if chosen[c] != starts[c] else starts[c] + 1
        typical += abs(_change(cells, target, value, sizes[c], entries[chosen[c]], entries[first]))
    temperature = max(0.5 * typical / free.size, 1e-9)
    cooling = 0.002 ** (1.0 / max(passes - 1, 1))
    gained, best_gained = 0.0, 0.0
    for _ in range(passes):
        for _ in range(free.size):
            c = free[below(state, free.size)]
            i = starts[c] + below(state, starts[c + 1] - starts[c] - 1)
            if i >= chosen[c]:
                i += 1
            change = _change(cells, target, value, sizes[c], entries[chosen[c]], entries[i])
            if change < 0 or math.exp(-change / temperature) * resolution > below(state, resolution):
                _replace(cells, value, sizes[c], entries[chosen[c]], entries[i])
                chosen[c] = i
                gained -= change
        if gained > best_gained + 1e-9:
            best_gained = gained
            for f in range(free.size):
                best[free[f]] = chosen[free[f]]
        temperature *= cooling
    for f in range(free.size):
        c = free[f]
        _replace(cells, value, sizes[c], entries[chosen[c]], entries[best[c]])
        chosen[c] = best[c]
    return best_gained
