"""Compiled search over k-anonymous frequency vectors: records move between combinations, the total stays.

Every entry is 0 or at least k. Minimised is the chi-square error of the cells plus weight times the distance from the
original vector (Cost 2023, P9).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.methods.kernels.chance import below
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.inner import inner


@inner
def _moved(cells: Any, target: Any, value: Any, weight: Any, y0: Any, y: Any, i: Any, j: Any, t: Any) -> Any:
    """Return by how much the objective changes when i gives t records to j."""
    change = weight * (abs(y[i] - t - y0[i]) - abs(y[i] - y0[i]) + abs(y[j] + t - y0[j]) - abs(y[j] - y0[j]))
    for s in range(cells.shape[1]):
        a, b = cells[i, s], cells[j, s]
        if a != b:
            change += t * (t - 2.0 * (value[a] - target[a])) / target[a]
            change += t * (t + 2.0 * (value[b] - target[b])) / target[b]
    return change


@inner
def _move(cells: Any, value: Any, y: Any, i: Any, j: Any, t: Any) -> None:
    y[i] -= t
    y[j] += t
    for s in range(cells.shape[1]):
        value[cells[i, s]] -= t
        value[cells[j, s]] += t


@compiled
def round_rare(cells: Any, target: Any, value: Any, y: Any, k: int) -> None:
    """Bring every entry below k to 0 or to k, whichever leaves the smaller error; y and value are changed in place."""
    for i in range(y.size):
        if not 0 < y[i] < k:
            continue
        down, up = 0.0, 0.0
        for s in range(cells.shape[1]):
            cell = cells[i, s]
            off = value[cell] - target[cell]
            down += -y[i] * (-y[i] + 2.0 * off) / target[cell]
            up += (k - y[i]) * (k - y[i] + 2.0 * off) / target[cell]
        step = -y[i] if down <= up else k - y[i]
        y[i] += step
        for s in range(cells.shape[1]):
            value[cells[i, s]] += step


@compiled
def anneal_vector(
    cells: Any, target: Any, y0: Any, y: Any, k: int, weight: float, moves: int, seed: Any
) -> Any:  # fmt: skip
    """Move records between random entries, also for the worse while it is hot; leaves the best vector in y.

    y must be k-anonymous. Returns by how much the objective fell.
    """
    n = y.size
    state = np.zeros(1, np.uint64)
    state[0] = seed
    value = np.zeros(target.size)
    for i in range(n):
        for s in range(cells.shape[1]):
            value[cells[i, s]] += y[i]
    best = y.copy()
    fell, best_fell = 0.0, 0.0
    heat = 2.0
    cooling = 0.001 ** (1.0 / max(moves // n, 1))
    for move in range(moves):
        if move % n == n - 1:
            heat *= cooling
            if fell > best_fell + 1e-9:
                best_fell = fell
                best[:] = y
        i = below(state, n)
        if y[i] == 0:
            continue
        if below(state, 2) == 0:  # a neighbour in the order, which shares most cells
            j = (i + 1 + below(state, 16)) % n if below(state, 2) == 0 else (i + n - 1 - below(state, 16) % n) % n
        else:
            j = below(state, n)
        if j == i:
            continue
        kind = below(state, 4)
        if kind == 0:
            t = 1
        elif kind == 1:
            t = y[i]
        elif kind == 2:
            t = max(y[i] - k, 1)
        else:
            t = k - y[j] if 0 <= y[j] < k else 1 + below(state, 3)
        if t > y[i] or 0 < y[i] - t < k or y[j] + t < k:
            continue
        change = _moved(cells, target, value, weight, y0, y, i, j, t)
        if change <= 0 or np.exp(-change / heat) * 9007199254740992.0 > below(state, 9007199254740992):
            _move(cells, value, y, i, j, t)
            fell -= change
    if fell > best_fell + 1e-9:
        best_fell = fell
        best[:] = y
    y[:] = best
    return best_fell
