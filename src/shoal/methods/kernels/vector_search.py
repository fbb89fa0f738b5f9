"""Compiled search over k-anonymous frequency vectors: records move between combinations at a constant total.

Every entry is 0 or at least k. Minimised is the chi-square error of the cells plus weight times the distance from the
original vector (Cost 2023, P9).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.random_numbers import below


@inner
def _moved(cells: Any, target: Any, value: Any, weight: Any, y0: Any, y: Any, i: Any, j: Any, t: Any) -> Any:
    """Return the change of the objective when t records move from combination i to j."""
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


@inner
def _copy(y: Any, best: Any) -> None:
    for i in range(y.size):
        best[i] = y[i]


@compiled
def round_rare(cells: Any, target: Any, value: Any, y: Any, k: int) -> None:
    """Bring every entry below k to 0 or to k, whichever leaves the smaller error; y and value are changed in place."""
    for i in range(y.size):
        if not 0 < y[i] < k:
            continue
        down, up = 0.0, 0.0
        for s in range(cells.shape[1]):
            cell = cells[i, s]
            error = value[cell] - target[cell]
            down += -y[i] * (-y[i] + 2.0 * error) / target[cell]
            up += (k - y[i]) * (k - y[i] + 2.0 * error) / target[cell]
        step = -y[i] if down <= up else k - y[i]
        y[i] += step
        for s in range(cells.shape[1]):
            value[cells[i, s]] += step


@compiled
def anneal_vector(
    cells: Any, target: Any, value: Any, y0: Any, y: Any, best: Any, k: int, weight: float, moves: int, state: Any
) -> Any:  # fmt: skip
    """Move records between random entries by simulated annealing; leaves the best vector in ``best``.

    y and best are the same k-anonymous vector at first; value: the entries of its cells; state: the seed. Returns the
    decrease of the objective.
    """
    n = y.size
    # one type for all limits, so that the random generator is compiled once
    two, four, near, resolution = np.int64(2), np.int64(4), np.int64(16), np.int64(9007199254740992)
    fell, best_fell = 0.0, 0.0
    temperature = 2.0
    cooling = 0.001 ** (1.0 / max(moves // n, 1))
    for move in range(moves):
        if move % n == n - 1:
            temperature *= cooling
            if fell > best_fell + 1e-9:
                best_fell = fell
                _copy(y, best)
        i = below(state, n)
        if y[i] == 0:
            continue
        if below(state, two) == 0:  # a neighbour in lexicographic order, which shares most cells
            j = (i + 1 + below(state, near)) % n if below(state, two) == 0 else (i + n - 1 - below(state, near) % n) % n
        else:
            j = below(state, n)
        if j == i:
            continue
        kind = below(state, four)
        if kind == 0:
            t = 1
        elif kind == 1:
            t = y[i]
        elif kind == 2:
            t = max(y[i] - k, 1)
        else:
            t = k - y[j] if 0 <= y[j] < k else 1 + below(state, four - 1)
        if t > y[i] or 0 < y[i] - t < k or y[j] + t < k:
            continue
        change = _moved(cells, target, value, weight, y0, y, i, j, t)
        if change <= 0 or math.exp(-change / temperature) * resolution > below(state, resolution):
            _move(cells, value, y, i, j, t)
            fell -= change
    if fell > best_fell + 1e-9:
        best_fell = fell
        _copy(y, best)
    return best_fell
