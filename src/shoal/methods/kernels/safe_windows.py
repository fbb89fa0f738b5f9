"""Compiled loops of SAFE: the best change of three entries of a frequency vector (Cost 2023, Algorithms 2 and 4).

y: the current vector; error: A y - A y0 for every cell, updated with y; limit: the error allowed in every cell. Changes
of -3 to 3 are tried for every entry of a window, for k other than 3 also those to 0 and to k. A *problem* is an entry
between 1 and k - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner


@inner
def _steps(y: Any, y0: Any, k: Any, deviation: Any, anonymous: Any, steps: Any) -> Any:
    """Write the changes allowed for one entry in ascending order; returns their number."""
    count = 0
    down = y > 3 and k != 3
    if down and y0 <= deviation:
        steps[count] = -y
        count += 1
    for h in range(-3, 4):
        new = y + h
        if new >= 0 and abs(new - y0) <= deviation and not (anonymous and 0 < new < k):
            steps[count] = h
            count += 1
    if k - y > 3 and k - y0 <= deviation:
        steps[count] = k - y
        count += 1
    return count


@inner
def change_window(
    cells: Any, y0: Any, y: Any, error: Any, limit: Any, window: Any, k: Any, deviation: Any, improving: Any, work: Any
) -> Any:  # fmt: skip
    """Apply the best change of the entries of a window (-1: no entry); returns the decrease of the number of problems.

    work: array of 5 x (3 s + 16) integers, overwritten.
    """
    used = 0
    for s in range(cells.shape[1]):
        for position in range(3):
            if window[position] < 0:
                continue
            cell = cells[window[position], s]
            seen = False
            for before in range(position):
                seen = seen or (window[before] >= 0 and cells[window[before], s] == cell)
            if seen:
                continue
            work[0, used] = error[cell]
            work[1, used] = limit[cell]
            for other in range(3):
                shared = window[other] >= 0 and cells[window[other], s] == cell
                work[2 + other, used] = 1 if shared else 0
            used += 1
    steps_at = 3 * cells.shape[1]
    counts = np.zeros(3, np.int64)
    for position in range(3):
        if window[position] < 0:
            work[position, steps_at] = 0
            counts[position] = 1
        else:
            i = window[position]
            counts[position] = _steps(y[i], y0[i], k, deviation, improving, work[position, steps_at:])
    best = np.full(3, 2**60)
    found = np.zeros(3, np.int64)
    any_found = False
    problems_before = 0
    for position in range(3):
        if window[position] >= 0 and 0 < y[window[position]] < k:
            problems_before += 1
    for a in range(counts[0]):
        for b in range(counts[1]):
            for c in range(counts[2]):
                h0, h1, h2 = work[0, steps_at + a], work[1, steps_at + b], work[2, steps_at + c]
                first = 0
                if not improving:
                    if window[0] >= 0 and 0 < y[window[0]] + h0 < k:
                        first += 1
                    if window[1] >= 0 and 0 < y[window[1]] + h1 < k:
                        first += 1
                    if window[2] >= 0 and 0 < y[window[2]] + h2 < k:
                        first += 1
                    if first > best[0]:
                        continue
                penalty = 0
                total = 0
                allowed = True
                for u in range(used):
                    size = abs(work[0, u] + h0 * work[2, u] + h1 * work[3, u] + h2 * work[4, u])
                    short = work[1, u] - size
                    total += size
                    if short < 0:
                        if improving:
                            first += 1
                            if first > best[0]:
                                allowed = False
                                break
                        else:
                            allowed = False
                            break
                    elif short == 0:
                        penalty += 500 if improving else 9
                    elif short == 1:
                        penalty += 9 if improving else 4
                    elif short == 2:
                        penalty += 4 if improving else 1
                    elif short == 3 and improving:
                        penalty += 1
                if not allowed:
                    continue
                better = first < best[0] or (
                    first == best[0] and (penalty < best[1] or (penalty == best[1] and total < best[2]))
                )
                if better:
                    best[0], best[1], best[2] = first, penalty, total
                    found[0], found[1], found[2] = h0, h1, h2
                    any_found = True
    if not any_found:
        return 0
    problems_after = 0
    for position in range(3):
        i = window[position]
        if i < 0:
            continue
        if found[position] != 0:
            y[i] += found[position]
            for s in range(cells.shape[1]):
                error[cells[i, s]] += found[position]
        if 0 < y[i] < k:
            problems_after += 1
    return problems_before - problems_after


@compiled
def safe_pass(
    cells: Any, y0: Any, y: Any, error: Any, limit: Any, kind: int, end: int, k: int, deviation: int, improving: bool
) -> Any:  # fmt: skip
    """Visit the windows of a kind once among the first ``end`` entries; returns the decrease of the number of problems.

    Kinds: 0 three problems in a row, 1 a problem between its non-empty neighbours, 2 a problem between its neighbours,
    3 any three entries in a row. The entries of a window are in ascending order, as in Cost 2023; at the ends of the
    vector the window is moved to the inside.
    """
    n = y.size
    work = np.zeros((5, 3 * cells.shape[1] + 16), np.int64)
    window = np.full(3, -1)
    removed = 0
    if kind == 3:
        for i in range(max(min(end, n) - 2, 1)):
            for position in range(3):
                window[position] = i + position if i + position < n else -1
            removed += change_window(cells, y0, y, error, limit, window, k, deviation, improving, work)
        return removed
    problems = np.zeros(n, np.int64)
    count = 0
    for i in range(min(end, n)):
        if 0 < y[i] < k:
            problems[count] = i
            count += 1
    for l in range(count):
        i = problems[l]
        if kind == 0:
            if l + 2 >= count:
                break
            window[0], window[1], window[2] = i, problems[l + 1], problems[l + 2]
        else:
            if not 0 < y[i] < k:
                continue
            low, high = i - 1, i + 1
            if kind == 1:
                while low >= 0 and y[low] == 0:
                    low -= 1
                while high < n and y[high] == 0:
                    high += 1
            window[0], window[1], window[2] = low, i, high
            if low < 0:
                window[0], window[1], window[2] = i, high, high + 1
            elif high >= n:
                window[0], window[1], window[2] = low - 1, low, i
            for position in range(3):
                if not 0 <= window[position] < n:
                    window[position] = -1
        removed += change_window(cells, y0, y, error, limit, window, k, deviation, improving, work)
    return removed
