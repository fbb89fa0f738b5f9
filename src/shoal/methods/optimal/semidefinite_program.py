"""A lower bound on the smallest SSE from a semidefinite program: close also where groups are large.

A grouping is described by a matrix Z with Z(i, j) = 1/m where two records are in the same group of m, else 0. Its SSE
is half the sum of d(i, j) Z(i, j) over all ordered pairs, with d the squared distance. Z has row sums of 1, entries
from 0 to 1/k, and is positive semidefinite, as in the program of Peng and Wei for k-means. The matrices with these
properties make a semidefinite program, whose optimum is at most the smallest SSE. ``instant_bound`` solves the same
program without the last property, and with k = 10 most of its gap is owed to that.

The program is solved by the method of alternating directions, which gives dual values; any dual values prove a bound,
as the docstring of :func:`semidefinite_bound` shows, so it does not matter how far the program was solved. Each
iteration takes the eigenvalues of an n x n matrix, so the cost is O(n³) an iteration, and O(n²) memory.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError
from shoal.methods.optimal.neighbour_bound import UNIT, scaled_columns

ITERATIONS = 250
CHECKED = 25
"""Iterations between two evaluations of the bound."""
DUAL_ROUNDS = 30
"""How often the dual values of the records are improved for an evaluation."""
PENALTY = 1_000.0
"""Of a disagreement, in units of half the mean squared distance to the k nearest records, the record included."""
LOWERED = (50, 100, 200, 400)
"""The iterations after which the penalty is halved: a high one finds the region soon, a low one the optimum in it."""
LEAST_UNIT = 1e-200
"""Smaller mean squared distances, of columns that reach from -1 to 1, are not bounded."""
ENOUGH = 1e-4
"""The share by which the bound must rise between two evaluations."""


def semidefinite_bound(
    points: NDArray[np.float64],
    k: int,
    *,
    labels: NDArray[np.int64] | None = None,
    iterations: int = ITERATIONS,
    enough: float = math.inf,
    deadline: Deadline | None = None,
    progress: Progress = SILENT,
) -> float:
    """Return a lower bound on the SSE of every grouping into groups of at least k records.

    For all dual values y(i) and all vectors v(i), one for each record::

        SSE >= sum y(i) - sum over ordered pairs (i, j) of ((y(i) + y(j) - d(i, j)) / 2 + v(i)·v(j))+ / k

    Pairs with i = j are included, and (x)+ is max(x, 0).

    *Proof.* With Z as above, SSE = sum of Z(i, j) d(i, j) / 2, and since rows of Z have sum 1, it is
    sum y(i) - sum of Z(i, j) (y(i) + y(j) - d(i, j)) / 2. The sum of Z(i, j) v(i)·v(j) is the sum over all groups of
    the squared length of the sum of their vectors, divided by their size: it is not negative, so it may be subtracted.
    What is then multiplied by Z(i, j), which lies between 0 and 1/k, may be replaced by its positive part over k. ∎

    With vectors of zero this is the bound of ``instant_bound``.

    *Rounding.* The dual values and the vectors are exact as floats. Each of the terms is raised by more than the error
    of its computation: a distance is summed from differences (relative error (d+2) 2⁻⁵³), and the product of two
    vectors of r numbers has an error of at most r 2⁻⁵² times the product of their lengths in any order of summation.
    The sums over rows are raised by more than their errors, and the last steps are rounded down.

    Parameters
    ----------
    points
        n x d, finite; up to about two thousand records.
    k
        Minimum group size.
    labels
        A good grouping, numbered from 0, to start from. It decides how soon the bound is close, not whether it holds.
    iterations
        How many iterations are made at most.
    enough
        The value of the bound at which to stop.
    deadline
        When to stop.
    progress
        Progress callback.

    Returns
    -------
    bound
        Never above the SSE of the best grouping. Its last digits depend on the library of linear algebra.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(semidefinite_bound(points, 2), 6)  # the optimum, {0, 1} and {10, 11}, costs 1/2 + 1/2
    1.0
    """
    points = np.ascontiguousarray(points, np.float64)
    check_k(k, len(points))
    if not np.isfinite(points).all():
        raise DataError("some coordinates are missing or infinite; a bound needs finite numbers")
    scaled, exponent = scaled_columns(points)
    if scaled.size == 0:
        return 0.0
    halves = squared_distances(scaled) / 2
    unit = float(np.sort(halves, axis=1)[:, :k].mean())
    if unit < LEAST_UNIT:
        return 0.0
    step = 2 * round(math.log2(unit) / 2)
    program = _Program(np.ldexp(halves, -step), k, labels)
    best, before = 0.0, 0.0
    deadline = deadline or Deadline(None)
    progress.stage("bounding by a semidefinite program", iterations)
    for number in range(1, iterations + 1):
        program.iterate()
        progress.advance(1)
        late = deadline.expired()
        if number % CHECKED == 0 or number == iterations or late:
            duals = program.dual_values(DUAL_ROUNDS)
            found = proven(scaled, k, np.ldexp(duals, step), np.ldexp(program.vectors(), step // 2))
            best = max(best, found)
            if late or _unscaled(best, exponent) >= enough or (before > 0.0 and best <= before * (1 + ENOUGH)):
                break
            before = best
    return _unscaled(best, exponent)


def _unscaled(value: float, exponent: int) -> float:
    """Return a bound on the points as they were given, rounded down."""
    if value <= 0.0:
        return 0.0
    try:
        return math.nextafter(math.ldexp(value, 2 * exponent), 0.0)
    except OverflowError:
        return sys.float_info.max


def proven(points: NDArray[np.float64], k: int, duals: NDArray[np.float64], vectors: NDArray[np.float64]) -> float:
    """Return the right-hand side of the proof, rounded down at every step; 0 if it is not a positive number.

    Examples
    --------
    >>> proven(np.array([[0.0], [1.0]]), 2, np.array([0.25, 0.25]), np.zeros((2, 1))) <= 0.5
    True
    """
    n, d = points.shape
    lengths = np.sqrt((vectors**2).sum(axis=1)) * (1 + 2 * (vectors.shape[1] + 4) * UNIT)
    rows = []
    height = max(1, 4_000_000 // n)
    for start in range(0, n, height):
        part = slice(start, start + height)
        distances = squared_distances(points, points[part])
        sums = duals[part, None] + duals
        terms = (sums - distances) / 2 + vectors[part] @ vectors.T
        terms += 4 * UNIT * (
            np.abs(duals[part, None]) + np.abs(duals) + (d + 4) * distances
            + (vectors.shape[1] + 4) * lengths[part, None] * lengths
        )  # fmt: skip
        rows.append(np.maximum(terms, 0.0).sum(axis=1))
    taken = math.fsum(np.concatenate(rows).tolist()) * (1 + 4 * (n + 8) * UNIT) / k
    given = math.fsum(duals.tolist())
    value = given - taken - 16 * UNIT * (abs(given) + taken) - 1e-290
    return value if value > 0.0 and math.isfinite(value) else 0.0


def squared_distances(points: NDArray[np.float64], some: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the squared distances of some records, or of all, to all records, from differences, column by column.

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [3.0]]))
    array([[0., 9.],
           [9., 0.]])
    """
    some = points if some is None else some
    total = np.zeros((len(some), len(points)))
    for left, right in zip(some.T, points.T, strict=True):
        total += (left[:, None] - right) ** 2
    return total


class _Program:
    """The method of alternating directions between the entries of Z and its eigenvalues.

    Parameters
    ----------
    halves
        Half the squared distances.
    k
        Minimum group size.
    labels
        A grouping to start from, or None.
    """

    def __init__(self, halves: NDArray[np.float64], k: int, labels: NDArray[np.int64] | None) -> None:
        self.halves, self.k = halves, k
        n = len(halves)
        self.penalty = PENALTY * float(np.sort(halves, axis=1)[:, :k].mean())
        self.made = 0
        self.semidefinite = np.full((n, n), 1.0 / n)
        if labels is not None:
            self.semidefinite = (labels[:, None] == labels) / np.bincount(labels)[labels]
        self.errors = np.zeros((n, n))
        self.negative = (np.zeros(0), np.zeros((n, 0)))
        self.duals = np.sort(halves, axis=1)[:, k - 1].copy()

    def iterate(self) -> None:
        """Make one iteration: entries within their limits, then row sums of 1 and no negative eigenvalue."""
        n = len(self.halves)
        entries = np.clip(self.semidefinite - self.errors - self.halves / self.penalty, 0.0, 1.0 / self.k)
        both = entries + self.errors
        means = both.mean(axis=0)
        both -= means[:, None] + means - means.mean()
        both = (both + both.T) / 2
        values, vectors = np.linalg.eigh(both)
        negative = values < 0.0
        self.negative = (-values[negative] * self.penalty, vectors[:, negative])
        if 2 * negative.sum() < n:
            nearest = both + (vectors[:, negative] * -values[negative]) @ vectors[:, negative].T
        else:
            nearest = (vectors[:, ~negative] * values[~negative]) @ vectors[:, ~negative].T
        nearest += 1.0 / n
        self.semidefinite = nearest
        self.errors += entries - nearest
        self.made += 1
        if self.made in LOWERED:
            self.penalty /= 2
            self.errors *= 2  # in units of the inverse of the penalty

    def vectors(self) -> NDArray[np.float64]:
        """Return the vector of each record."""
        values, vectors = self.negative
        return np.asarray(vectors * np.sqrt(values))

    def dual_values(self, rounds: int) -> NDArray[np.float64]:
        """Return dual values of the records: all move halfway to their best, the others fixed, at once."""
        vectors = self.vectors()
        products = vectors @ vectors.T
        costs = 2 * (self.halves - products)
        own = -np.diag(products)
        best, best_value, duals = self.duals, -math.inf, self.duals
        for _ in range(rounds):
            terms = (duals[:, None] + duals - costs) / 2
            value = float(duals.sum() - np.maximum(terms, 0.0).sum() / self.k)
            if value > best_value:
                best, best_value = duals, value
            offers = costs - duals
            np.fill_diagonal(offers, own)
            middle = np.partition(offers, (self.k - 1, min(self.k, len(duals) - 1)), axis=1)
            wanted = (middle[:, self.k - 1] + middle[:, min(self.k, len(duals) - 1)]) / 2
            duals = duals + (wanted - duals) / 2
        self.duals = best
        return best
