"""Cuts that a fractional solution of a set-partitioning program violates.

Rank-1 cuts of Chvátal and Gomory, known as subset-row inequalities (Jepsen, Petersen, Spoorendonk and Pisinger 2008,
doi:10.1287/opre.1070.0449), here with demands: of a set of elements whose demands add up to D, the columns together
hold ``divisor`` at most floor(D / divisor) times. With divisor 3 they say that four similar records are no four thirds
of a group of three; for all elements, that there are at most n/k groups. Other sets are grown greedily from the columns
of the fractional solution: O(n) starts of O(n²) each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LEAST_VIOLATION = 0.02
_CUTS_PER_ELEMENT = 6


def violated_cuts(
    columns: NDArray[np.int32],
    shares: NDArray[np.float64],
    demand: NDArray[np.int64],
    divisors: tuple[int, ...],
    *,
    most: int = 60,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return sets of elements and divisors whose cut the fractional solution violates, the worst first.

    Parameters
    ----------
    columns
        Elements of each column, filled up with -1.
    shares
        How much of each column the solution takes.
    demand
        How often each element is to be covered.
    divisors
        The divisors to try.
    most
        The most cuts to return.

    Examples
    --------
    >>> columns = np.array([[0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 1, 3]], np.int32)
    >>> violated_cuts(columns, np.full(4, 1 / 3), np.ones(4, np.int64), (3,))[0].tolist()
    [[True, True, True, True]]
    """
    used = np.flatnonzero(shares > 1e-6)
    times = np.zeros((used.size, demand.size + 1), np.int64)
    np.add.at(times, (np.arange(used.size)[:, None], columns[used]), 1)
    times = times[:, :-1]
    share = shares[used]
    starts = np.flatnonzero(np.abs(share - np.rint(share)) > 1e-6)
    found: dict[tuple[int, tuple[int, ...]], float] = {}
    everything = tuple(range(demand.size))
    for divisor in sorted(set(divisors)):
        violation = float(share @ (times.sum(axis=1) // divisor)) - int(demand.sum()) // divisor
        if violation > _LEAST_VIOLATION:
            found[divisor, everything] = violation
        for start in starts.tolist():
            for first in (times[start] > 0, times[start] == times[start].max()):
                violation, elements = _grow(times, share, demand, divisor, np.flatnonzero(first))
                if violation > _LEAST_VIOLATION:
                    found[divisor, elements] = violation
    return _spread(found, demand.size, most)


def _grow(
    times: NDArray[np.int64],
    share: NDArray[np.float64],
    demand: NDArray[np.int64],
    divisor: int,
    start: NDArray[np.int64],
) -> tuple[float, tuple[int, ...]]:
    """Return the most violated set met while elements are added that bring columns closest to the next multiple."""
    inside = np.zeros(demand.size, bool)
    inside[start] = True
    held = times[:, inside].sum(axis=1)
    near = np.flatnonzero((held > 0) & (held % divisor > 0))
    best, best_set = 0.0, tuple(start.tolist())
    for _ in range(2 * divisor):
        total = int(demand[inside].sum())
        violation = float(share @ (held // divisor)) - total // divisor
        if violation > best + 1e-9:
            best, best_set = violation, tuple(np.flatnonzero(inside).tolist())
        near = np.flatnonzero(held > 0)
        after = held[near, None] + times[near]
        gain = share[near] @ (after // divisor - (held[near] // divisor)[:, None] + 0.01 * times[near])
        gain -= (total + demand) // divisor - total // divisor
        gain[inside] = -np.inf
        element = int(np.argmax(gain))
        if not np.isfinite(gain[element]):
            break
        inside[element] = True
        held = held + times[:, element]
    return best, best_set


def _spread(
    found: dict[tuple[int, tuple[int, ...]], float], n: int, most: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the most violated sets, no element in too many of them."""
    in_sets = np.zeros(n, np.int64)
    chosen = []
    for divisor, elements in sorted(found, key=lambda cut: (-round(found[cut], 9), cut)):
        if in_sets[list(elements)].max() < _CUTS_PER_ELEMENT:
            in_sets[list(elements)] += 1
            chosen.append((divisor, elements))
            if len(chosen) == most:
                break
    members = np.zeros((len(chosen), n), bool)
    for line, (_, elements) in zip(members, chosen, strict=True):
        line[list(elements)] = True
    return members, np.array([divisor for divisor, _ in chosen], np.int64)
