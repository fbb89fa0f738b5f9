"""Simulated annealing of groups of nominal rows by moves and exchanges.

A record is drawn at random, then one of the rows nearest to it; the record joins the group of that row, by a move if
the sizes allow it, otherwise in exchange for a member. Time O(k) for each of ``passes`` times n trials, tenths of a
second for a block of 300 rows. Where nearly all rows differ, annealing comes closer to the bound than an integer
program does in seconds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.methods.kernels.random_numbers import below

NEIGHBOURS = 16
TEMPERATURES = 0.4, 0.15
"""The first and the last temperature, as shares of the smallest positive distance."""


def annealed(
    columns: NDArray[np.int32], distance: NDArray[np.float64], k: int, *, passes: int = 5_000, seed: int = 0
) -> NDArray[np.int32]:
    """Return the best groups that were visited, never worse than those given; groups have k to 2k-1 rows.

    Parameters
    ----------
    columns
        The rows of one group per line, padded with -1 to length 2k-1.
    distance
        Distances of the distinct rows.
    k
        Minimum group size.
    passes
        Number of trials for each record.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> distance = np.array([[0.0, 1], [1, 0]])
    >>> annealed(np.array([[0, 1, -1], [1, 0, -1]], np.int32), distance, 2, passes=10).tolist()
    [[1, 1, -1], [0, 0, -1]]
    """
    pure = ((columns == columns[:, :1]) | (columns < 0)).all(axis=1)
    aside = np.flatnonzero(pure)
    aside = np.setdiff1d(
        aside, aside[np.unique(columns[aside, 0], return_index=True)[1]]
    )  # one group of each row stays
    mixed = np.delete(columns, aside, axis=0)
    positions = np.flatnonzero(mixed.ravel() >= 0)
    positions = positions[np.argsort(mixed.ravel()[positions], kind="stable")]
    rows = mixed.ravel()[positions].astype(np.int64)
    first = np.searchsorted(rows, np.arange(len(distance) + 1))
    near = _neighbours(distance, np.diff(first))
    steps = distance[np.arange(len(distance))[:, None], near][np.diff(first) > 0]
    if len(mixed) < 2 or not (steps > 0).any():
        return columns
    members = np.full(mixed.shape, -1, np.int64)
    members.ravel()[positions] = np.arange(positions.size)
    best = members.copy()
    temperature, last_temperature = (share * float(steps[steps > 0].min()) for share in TEMPERATURES)
    _anneal(
        members, (mixed >= 0).sum(axis=1), positions // mixed.shape[1], rows, first, near, distance, best, k, passes,
        temperature, last_temperature, np.array([seed], np.uint64),
    )  # fmt: skip
    found = np.sort(np.append(rows, -1)[best].astype(np.int32), axis=1)[:, ::-1]
    return np.vstack([found, columns[aside]])


def _neighbours(distance: NDArray[np.float64], held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nearest rows of each row among those present; the row itself if it is present more than once."""
    distances = np.where(held > 0, distance, np.inf)
    distances[np.diag_indices_from(distances)] = np.where(held > 1, 0.0, np.inf)
    enough = np.isfinite(distances).sum(axis=1)[held > 0].min(initial=NEIGHBOURS)
    return np.ascontiguousarray(np.argsort(distances, axis=1, kind="stable")[:, :enough])


@compiled(no_cfunc_wrapper=True, error_model="numpy")
def _anneal(
    members: Any, sizes: Any, group: Any, rows: Any, first: Any, near: Any, distance: Any, best: Any, k: int,
    passes: int, temperature: float, last_temperature: float, state: Any,
) -> None:  # fmt: skip
    """Leave the best groups in ``best``; members, sizes and group describe the last groups visited."""
    n, high, neighbours = rows.size, members.shape[1], near.shape[1]
    cooling = (last_temperature / temperature) ** (1.0 / passes)
    gained, best_gained = 0.0, 0.0
    for _ in range(passes):
        for _ in range(n):
            drawn = below(state, 1 << 62)  # one random number for the whole trial
            u, drawn = drawn % n, drawn // n
            e, a = rows[u], group[u]
            f, drawn = near[e, drawn % neighbours], drawn // neighbours
            copies = first[f + 1] - first[f]
            v, drawn = first[f] + drawn % copies, drawn // copies
            b = group[v]
            w = -1
            if sizes[a] == k or sizes[b] == high:
                w = members[b, drawn % sizes[b]]
            if a == b or w == v:
                continue
            change = 0.0
            for p in range(sizes[b]):
                change += distance[e, rows[members[b, p]]]
            for p in range(sizes[a]):
                change -= distance[e, rows[members[a, p]]]
            if w >= 0:
                g = rows[w]
                change -= 2 * distance[e, g]
                for p in range(sizes[a]):
                    change += distance[g, rows[members[a, p]]]
                for p in range(sizes[b]):
                    change -= distance[g, rows[members[b, p]]]
            if change > 0 and math.exp(-change / temperature) * 9007199254740992.0 <= below(state, 9007199254740992):
                continue
            gained -= change
            p = 0
            while members[a, p] != u:
                p += 1
            if w < 0:
                sizes[a] -= 1
                members[a, p] = members[a, sizes[a]]
                members[a, sizes[a]] = -1
                members[b, sizes[b]] = u
                sizes[b] += 1
            else:
                q = 0
                while members[b, q] != w:
                    q += 1
                members[a, p] = w
                members[b, q] = u
                group[w] = a
            group[u] = b
        if gained > best_gained + 1e-9:
            best_gained = gained
            for a in range(len(members)):
                for p in range(high):
                    best[a, p] = members[a, p]
        temperature *= cooling
