"""A lower bound on the smallest SSE from nearest neighbours alone.

Each record gets a dual value u, raised until about k-1 neighbours are nearer than the sum of the two dual values. Any
dual values give a valid bound (proof below), good ones a close bound. O(n k log n) time where the k-d tree is efficient
(few attributes), O(n² d) at worst.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import check_k
from shoal.core.threads import get_threads
from shoal.errors import DataError

ROUNDS = 24
PAIRS_PER_RECORD = 200  # that may be examined beyond the nearest neighbours
TREE_TOLERANCE = 1e-12  # error of the k-d tree when it leaves out a part of the space, of the squared diameter
UNIT = 2.0**-52


def instant_bound(points: NDArray[np.float64], k: int, *, rounds: int = ROUNDS) -> float:
    """Return a lower bound on the SSE of every grouping into groups of at least k records.

    Write d(i, j) for the squared distance of two records, and (x)+ for max(x, 0). For all dual values u(i) >= 0::

        SSE >= ((k-1) sum u(i) - sum over pairs i < j of (u(i) + u(j) - d(i, j))+) / k

    *Proof.* A group G of m >= k records has SSE(G) = sum of d(i, j) over its pairs, divided by m (Thaeter 2021, Theorem
    2.18). Since x >= y - (y - x)+ for any two numbers, d(i, j) >= u(i) + u(j) - (u(i) + u(j) - d(i, j))+, and each
    record is in m-1 pairs of G, so SSE(G) >= ((m-1) U - P) / m = U - (U + P) / m, where U is the sum of u over G and
    P >= 0 the sum of the positive parts over its pairs. This grows with m, so m may be replaced by k. Summed over all
    groups, U becomes the sum over all records, and P at most the sum over all pairs, those across groups included. ∎

    With u(i) half the squared distance to the (k-1)-th neighbour this is at least the sum over the records of the k-1
    smallest squared distances divided by 2k, the most obvious bound. The best dual values solve the dual of a linear
    program (each record has k-1 neighbours, a pair counts once); a few rounds come close: the best dual value of a
    record, all others fixed, lies between the (k-1)-th and the k-th smallest of d(i, j) - u(j), and all records move
    half of that distance at once.

    *Rounding.* The dual values are exact as floats, so only the right-hand side has to be rounded down. The bound is
    a statement about the floats given: distances come from differences of the points themselves (no sums of squares, so
    an offset does no harm), with a relative error of at most (d+2) 2⁻⁵³; each is lowered, each positive part raised by
    more than that, the sums are exact (``math.fsum``), and the last steps are rounded down again. A pair can be left
    out only if d(i, j) > 2 max(u(i), u(j)): the neighbours of the record with the higher dual value are searched with
    a margin for the rounding errors of the k-d tree itself.

    Parameters
    ----------
    points
        n x d, finite.
    k
        Minimum group size.
    rounds
        How often the dual values are improved.

    Returns
    -------
    bound
        Never above the SSE of the best grouping; 0 if nothing better is proven.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(instant_bound(points, 2), 9)  # the optimum, {0, 1} and {10, 11}, costs 1/2 + 1/2
    1.0
    """
    points = np.ascontiguousarray(points, np.float64)
    check_k(k, len(points))
    if not np.isfinite(points).all():
        raise DataError("some coordinates are missing or infinite; a bound needs finite numbers")
    scaled, exponent = scaled_columns(points)
    if scaled.size == 0:
        return 0.0
    duals, _, _, sums, lowered = _duals_and_pairs(scaled, k, rounds)
    value = _rounded_down(duals, sums, lowered, k)
    if value <= 0.0:
        return 0.0
    try:
        return math.nextafter(math.ldexp(value, 2 * exponent), 0.0)
    except OverflowError:
        return sys.float_info.max


def neighbour_dual_values(points: NDArray[np.float64], k: int, *, rounds: int = ROUNDS) -> NDArray[np.float64]:
    """Return dual values of the records such that no group of at least k records costs less than their sum.

    The bound of ``instant_bound`` record by record: half of each pair's positive part is subtracted from either record.
    The positive parts of the pairs of a group are subtracted in full, and pairs across groups only lower the sum.

    Parameters
    ----------
    points
        n x d, finite.
    k
        Minimum group size.
    rounds
        How often the dual values are improved.

    Examples
    --------
    >>> shares = neighbour_dual_values(np.array([[0.0], [1.0], [10.0], [11.0]]), 2)
    >>> round(shares[:2].sum(), 9), round(shares[2:].sum(), 9)  # {0, 1} and {10, 11} cost 1/2 each
    (np.float64(0.5), np.float64(0.5))
    """
    points = np.ascontiguousarray(points, np.float64)
    scaled, exponent = scaled_columns(points)
    if scaled.size == 0:
        return np.zeros(len(points))
    duals, owners, others, sums, lowered = _duals_and_pairs(scaled, k, rounds)
    parts = np.maximum(0.0, sums * (1 + 4 * UNIT) - lowered * (1 - 4 * UNIT))
    shared = np.bincount(owners, parts, len(points)) + np.bincount(others, parts, len(points))
    shares = ((k - 1) * duals - shared / 2) / k
    return np.asarray(np.ldexp(shares - 1e-12 * np.abs(duals), 2 * exponent))


def scaled_columns(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the columns that are not constant, times 2^-exponent: ranges of at most 2, so that no square overflows."""
    half = points.max(axis=0) / 2 - points.min(axis=0) / 2
    varying = points.max(axis=0) > points.min(axis=0)
    exponent = math.frexp(float(half.max(initial=0.0)))[1]
    return np.ascontiguousarray(np.ldexp(points[:, varying], -exponent)), exponent


def _duals_and_pairs(
    points: NDArray[np.float64], k: int, rounds: int
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return dual values and, for each pair that may be nearer than their sum, both, the sum, a lowered distance."""
    from scipy.spatial import cKDTree

    n = len(points)
    tree = cKDTree(points)
    around, squares = _neighbours(tree, points, min(3 * k + 6, n - 1))
    duals = _improved(around, squares, k, rounds)
    lost = TREE_TOLERANCE * _squared_diameter(points)
    reach = squares[:, -1] * (1 - 1e-9) - lost if around.shape[1] < n - 1 else np.full(n, np.inf)
    wide = np.flatnonzero((2 * duals >= reach) & (duals > 0))
    radii = np.sqrt(2 * duals * (1 + 1e-9) + lost) * (1 + 1e-9)
    if wide.size:
        counts = tree.query_ball_point(points[wide], radii[wide], return_length=True, workers=get_threads())
        order = np.argsort(counts, kind="stable")
        crowded = wide[
            order[np.cumsum(counts[order]) > PAIRS_PER_RECORD * n]
        ]  # too many to examine: lower the dual value instead
        duals[crowded] = np.maximum(0.0, np.minimum(duals[crowded], reach[crowded] / 2 * (1 - 1e-9)))
        wide = np.setdiff1d(wide, crowded)
    narrow = np.setdiff1d(np.arange(n), wide)
    left, right, sums, lowered = [], [], [], []
    for owners, others in _pairs(tree, points, around, duals, radii, narrow, wide):
        owns = (duals[owners] > duals[others]) | ((duals[owners] == duals[others]) & (owners > others))
        owners, others = owners[owns], others[owns]
        distances = _squared(points, owners, others)
        both = duals[owners] + duals[others]
        near = distances * (1 - 1e-9) <= both
        left.append(owners[near])
        right.append(others[near])
        sums.append(both[near])
        lowered.append(distances[near] * (1 - (points.shape[1] + 4) * UNIT))
    return duals, np.concatenate(left), np.concatenate(right), np.concatenate(sums), np.concatenate(lowered)


def _pairs(
    tree: Any,
    points: NDArray[np.float64],
    around: NDArray[np.intp],
    duals: NDArray[np.float64],
    radii: NDArray[np.float64],
    narrow: NDArray[np.intp],
    wide: NDArray[np.intp],
) -> Any:
    """Yield pairs (owner, other) in pieces: all that may matter to an owner with the higher dual value of the two."""
    width = around.shape[1]
    step = max(1, 4_000_000 // width)
    for start in range(0, narrow.size, step):
        owners = narrow[start : start + step]
        yield np.repeat(owners, width), around[owners].ravel()
    for start in range(0, wide.size, 1000):
        owners = wide[start : start + 1000]
        found = tree.query_ball_point(points[owners], radii[owners], workers=get_threads())
        others = [np.asarray(line, np.intp) for line in found]
        yield np.repeat(owners, [line.size for line in others]), np.concatenate(others)


def _improved(around: NDArray[np.intp], squares: NDArray[np.float64], k: int, rounds: int) -> NDArray[np.float64]:
    """Return dual values: half the (k-1)-th squared distance first, then all move halfway to their best at once."""
    duals = squares[:, k - 2] / 2
    last = min(k - 1, squares.shape[1] - 1)
    for _ in range(rounds):
        offers = np.partition(squares - duals[around], (k - 2, last), axis=1)
        best = np.maximum(0.0, (offers[:, k - 2] + offers[:, last]) / 2)
        duals += (best - duals) / 2
    return duals


def _rounded_down(duals: NDArray[np.float64], sums: NDArray[np.float64], lowered: NDArray[np.float64], k: int) -> float:
    """Return the right-hand side of the proof, rounded down at every step."""
    parts = np.maximum(0.0, sums * (1 + 4 * UNIT) - lowered * (1 - 4 * UNIT))
    gain = (k - 1) * math.fsum(duals) * (1 - 4 * UNIT)
    value = gain - math.fsum(parts) * (1 + 4 * UNIT)
    margin = 4 * UNIT * gain + 1e-290  # the last steps, and squares that underflow
    return (value - margin) / k * (1 - 4 * UNIT)


def _neighbours(tree: Any, points: NDArray[np.float64], width: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the nearest other records of each record, in ascending order, and their squared distances."""
    n = len(points)
    around = np.empty((n, width), np.intp)
    for start in range(0, n, 100_000):
        block = slice(start, min(start + 100_000, n))
        found = tree.query(points[block], width + 1, workers=get_threads())[1]
        own = found == np.arange(n)[block][:, None]
        own[~own.any(axis=1), -1] = True  # not found among equal records: drop the last one
        around[block] = found[~own].reshape(-1, width)
    squares = np.empty((n, width))
    for column in range(width):
        squares[:, column] = _squared(points, np.arange(n), around[:, column])
    order = np.argsort(squares, axis=1, kind="stable")
    return np.take_along_axis(around, order, 1), np.take_along_axis(squares, order, 1)


def _squared(points: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the squared distances of pairs from differences, attribute by attribute."""
    total = np.zeros(left.size)
    for column in points.T:
        total += (column[left] - column[right]) ** 2
    return total


def _squared_diameter(points: NDArray[np.float64]) -> float:
    return float(((points.max(axis=0) - points.min(axis=0)) ** 2).sum())
