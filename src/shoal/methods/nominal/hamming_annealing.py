"""Annealing of a clustering of nominal rows: moves and exchanges, also to heavier clusterings while it is hot.

A record is drawn, then one of the rows nearest to it; it joins the cluster of that row, by a move if the sizes allow
it, otherwise in exchange for a member. Cost O(k) for each of ``passes`` times n trials, tenths of a second for a block
of 300 rows. Where nearly all rows differ it comes closer to the bound than an integer program does in seconds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.methods.kernels.random_numbers import below

NEIGHBOURS = 16
HEATS = 0.4, 0.15


def annealed(
    columns: NDArray[np.int32], distance: NDArray[np.float64], k: int, *, passes: int = 5_000, seed: int = 0
) -> NDArray[np.int32]:
    """Return the lightest clustering met, never a heavier one than was given; clusters keep k to 2k-1 rows.

    Parameters
    ----------
    columns
        One cluster per line: its rows, filled up with -1 to 2k-1 places.
    distance
        Distances of the distinct rows.
    k
        The smallest cluster.
    passes
        How many trials for each record.
    seed
        Draws the trials.

    Examples
    --------
    >>> distance = np.array([[0.0, 1], [1, 0]])
    >>> annealed(np.array([[0, 1, -1], [1, 0, -1]], np.int32), distance, 2, passes=10).tolist()
    [[1, 1, -1], [0, 0, -1]]
    """
    pure = ((columns == columns[:, :1]) | (columns < 0)).all(axis=1)
    aside = np.flatnonzero(pure)
    aside = np.setdiff1d(aside, aside[np.unique(columns[aside, 0], return_index=True)[1]])  # one for each row stays
    mixed = np.delete(columns, aside, axis=0)
    places = np.flatnonzero(mixed.ravel() >= 0)
    places = places[np.argsort(mixed.ravel()[places], kind="stable")]
    rows = mixed.ravel()[places].astype(np.int64)
    first = np.searchsorted(rows, np.arange(len(distance) + 1))
    near = _neighbours(distance, np.diff(first))
    steps = distance[np.arange(len(distance))[:, None], near][np.diff(first) > 0]
    if len(mixed) < 2 or not (steps > 0).any():
        return columns
    members = np.full(mixed.shape, -1, np.int64)
    members.ravel()[places] = np.arange(places.size)
    best = members.copy()
    heat, coldest = (share * float(steps[steps > 0].min()) for share in HEATS)
    _anneal(
        members, (mixed >= 0).sum(axis=1), places // mixed.shape[1], rows, first, near, distance, best, k, passes, heat,
        coldest, np.array([seed], np.uint64),
    )  # fmt: skip
    found = np.sort(np.append(rows, -1)[best].astype(np.int32), axis=1)[:, ::-1]
    return np.vstack([found, columns[aside]])


def _neighbours(distance: NDArray[np.float64], held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows nearest to each that occur; the row itself where it occurs more than once."""
    apart = np.where(held > 0, distance, np.inf)
    apart[np.diag_indices_from(apart)] = np.where(held > 1, 0.0, np.inf)
    enough = np.isfinite(apart).sum(axis=1)[held > 0].min(initial=NEIGHBOURS)
    return np.ascontiguousarray(np.argsort(apart, axis=1, kind="stable")[:, :enough])


@compiled(no_cfunc_wrapper=True, error_model="numpy")
def _anneal(
    members: Any, sizes: Any, group: Any, rows: Any, first: Any, near: Any, distance: Any, best: Any, k: int,
    passes: int, heat: float, coldest: float, state: Any,
) -> None:  # fmt: skip
    """Leave the best clustering in ``best``; members, sizes and group end as the last one met."""
    n, high, neighbours = rows.size, members.shape[1], near.shape[1]
    cooling = (coldest / heat) ** (1.0 / passes)
    gained, best_gained = 0.0, 0.0
    for _ in range(passes):
        for _ in range(n):
            drawn = below(state, 1 << 62)  # one number for all that is drawn
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
            if change > 0 and math.exp(-change / heat) * 9007199254740992.0 <= below(state, 9007199254740992):
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
        heat *= cooling
