"""The linear map of representatives that gives back the covariances of the original.

Centroids have less variance than the records: S = B + W, S the covariance matrix of the records, B that of the
centroids, each counted for its records, and W the loss. Among all maps T with T B T' = S the symmetric one

    T = B^(-1/2) (B^(1/2) S B^(1/2))^(1/2) B^(-1/2)

moves the centroids least (Olkin and Pukelsheim 1982). Where B has no variance in some direction, because there are
fewer groups than columns or because columns depend on each other, the map is that of the other directions.

Eigenvectors are found by Jacobi's method (Golub and Van Loan 2013, section 8.5) in plain arithmetic, one operation
after the other, and the map is rounded before it is used: a library of linear algebra gives other last digits on other
processors, and these would reach the released table.

The map alone would move some representatives out of the range of the plain ones. They are brought back, and the map for
what is then missing is applied again, until the covariances are those of the original or nothing moves any more. Cost
O(d^3 + g d^2) for d columns and g groups in each of at most 40 rounds, and O(n d^2) once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TOLERANCE = 1e-10
"""Directions with a smaller share of the largest variance of the centroids are left out."""
ROUNDS, FEW_ROUNDS = 40, 4
"""The most rounds of map and limits, and as many for more than MANY_COLUMNS columns."""
MANY_COLUMNS = 40
_SWEEPS = 60
_ROUNDED = 2.0**36  # the map is a multiple of 1 / this, about ten decimals


@dataclass(frozen=True, eq=False)
class MomentMap:
    """A symmetric map of standardised representatives, and what it can restore.

    Parameters
    ----------
    matrix
        T, d x d.
    restored
        The share of the variances of the original that lies in directions in which the centroids vary.
    ruled
        Whether a column takes part in a direction in which the centroids do not vary: a linear rule between columns
        that representatives satisfy, too.
    """

    matrix: Floats
    restored: float
    ruled: NDArray[np.bool_]


def moment_map(original: Floats, centroids: Floats) -> MomentMap:
    """Return the map that takes one covariance matrix to another and moves least.

    Parameters
    ----------
    original
        S, the covariance matrix of the standardised records.
    centroids
        B, the covariance matrix of their centroids.

    Examples
    --------
    >>> moment_map(np.array([[4.0]]), np.array([[1.0]])).matrix
    array([[2.]])
    """
    roots, axes = symmetric_eigen(centroids)
    kept = roots > TOLERANCE * roots.max(initial=0.0)
    if not kept.any():
        return MomentMap(np.zeros_like(original), 0.0, np.zeros(len(original), bool))
    roots, kept_axes = roots[kept], axes[:, kept]
    half, inverse = (_product(kept_axes * power, kept_axes.T) for power in (np.sqrt(roots), 1 / np.sqrt(roots)))
    inner = _product(_product(half, original), half)
    values, vectors = symmetric_eigen((inner + inner.T) / 2)
    middle = _product(vectors * np.sqrt(np.maximum(values, 0.0)), vectors.T)
    matrix = _product(_product(inverse, middle), inverse)
    matrix = np.rint((matrix + matrix.T) / 2 * _ROUNDED) / _ROUNDED
    inside = _product(_product(kept_axes.T, original), kept_axes)
    total = float(np.diag(original).sum())
    ruled = np.abs(axes[:, ~kept]).max(axis=1, initial=0.0) > 1e-6
    return MomentMap(matrix, min(1.0, float(np.diag(inside).sum()) / total), ruled)


def symmetric_eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues in ascending order and eigenvectors of a symmetric matrix, by cyclic Jacobi rotations.

    Examples
    --------
    >>> values, vectors = symmetric_eigen(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(12).tolist()
    [1.0, 3.0]
    """
    work = np.array(matrix, dtype=np.float64)
    d = len(work)
    vectors = np.eye(d)
    for _ in range(_SWEEPS):
        if not np.triu(np.abs(work) > 1e-300, 1).any():
            break
        largest = float(np.abs(np.diag(work)).max())
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                if abs(work[p, q]) > 1e-16 * largest:
                    _rotate(work, vectors, p, q)
                    rotated = True
        if not rotated:
            break
    values = np.diag(work).copy()
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def _rotate(work: Floats, vectors: Floats, p: int, q: int) -> None:
    """Make one element outside the diagonal zero."""
    off = float(work[p, q])
    ratio = (float(work[q, q]) - float(work[p, p])) / (2 * off)
    tangent = (1.0 if ratio >= 0 else -1.0) / (abs(ratio) + float(np.sqrt(ratio * ratio + 1)))
    cosine = 1 / float(np.sqrt(tangent * tangent + 1))
    sine = tangent * cosine
    for array in (work, vectors):
        left, right = array[:, p].copy(), array[:, q].copy()
        array[:, p], array[:, q] = cosine * left - sine * right, sine * left + cosine * right
    above, below = work[p].copy(), work[q].copy()
    work[p], work[q] = cosine * above - sine * below, sine * above + cosine * below
    work[p, q] = work[q, p] = 0.0


def mapped(centroids: Floats, matrix: Floats) -> Floats:
    """Return centroids (g x d) after the map, one column after the other.

    Examples
    --------
    >>> mapped(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    array([[2. , 2.5]])
    """
    return _product(centroids, matrix)


def covariance(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of the products of any two columns; the columns have mean 0. Cost O(n d^2).

    Examples
    --------
    >>> covariance(np.array([[1.0], [-1.0]]), np.ones(2))
    array([[1.]])
    """
    total, d = float(weights.sum()), values.shape[1]
    found = np.empty((d, d))
    for i in range(d):
        weighted = values[:, i] * weights
        for j in range(i + 1):
            found[i, j] = found[j, i] = float((weighted * values[:, j]).sum()) / total
    return found


@dataclass(frozen=True, eq=False)
class MovedCentroids:
    """Centroids that were moved to restore covariances.

    Parameters
    ----------
    values
        The moved centroids (g x d), inside the limits.
    restored
        As in :class:`MomentMap`.
    outside
        Whether a cell had to be brought back in the last round.
    """

    values: Floats
    restored: float
    outside: NDArray[np.bool_]


def restore_moments(
    original: Floats, centroids: Floats, weights: Floats, limits: tuple[Floats, Floats]
) -> MovedCentroids:
    """Move centroids inside limits such that their means are 0 and their covariances those of the original.

    Parameters
    ----------
    original
        S, the covariance matrix of the standardised records.
    centroids
        The centroids (g x d), with mean 0.
    weights
        The number of records, or their sampling weight, of each.
    limits
        Smallest and largest value of each column.

    Examples
    --------
    >>> centroids, weights = np.array([[-1.5], [-0.5], [0.5], [1.5]]), np.ones(4)
    >>> found = restore_moments(np.array([[1.5]]), centroids, weights, (np.array([-1.5]), np.array([1.5])))
    >>> found.values.ravel().round(4).tolist(), float((found.values**2).mean().round(4))
    ([-1.5, -0.866, 0.866, 1.5], 1.5)
    """
    total = weights.sum()
    plain = np.clip(centroids, *limits)
    values, first = centroids, None
    outside = np.zeros(centroids.shape, bool)
    rounds = ROUNDS if len(original) <= MANY_COLUMNS else FEW_ROUNDS
    for _ in range(rounds):
        centred = values - (values * weights[:, None]).sum(axis=0) / total
        found = moment_map(original, covariance(centred, weights))
        first = first or found
        moved = mapped(centred, found.matrix)
        inside = limited(plain, moved, limits, first.ruled)
        outside = np.abs(inside - moved) > 1e-12
        still = np.abs(inside - values).max() < 1e-9
        values = inside
        if still or not outside.any():
            break
    assert first is not None
    return MovedCentroids(values, first.restored, outside)


def limited(plain: Floats, moved: Floats, limits: tuple[Floats, Floats], ruled: NDArray[np.bool_]) -> Floats:
    """Return moved representatives inside the range of the plain ones.

    A column that takes part in a linear rule cannot be clipped alone: the columns with rules go back together, on the
    line to the plain representative, which satisfies the rules as well, as far as the first of them needs it.

    Parameters
    ----------
    plain, moved
        Representatives of each group before and after the map (g x d).
    limits
        Smallest and largest plain representative of each column.
    ruled
        Whether each column takes part in a rule.

    Examples
    --------
    >>> plain, limits = np.array([[1.0], [3.0]]), (np.array([1.0]), np.array([3.0]))
    >>> limited(plain, np.array([[0.5], [2.5]]), limits, np.array([False])).tolist()
    [[1.0], [2.5]]
    """
    lowest, highest = limits
    found = np.clip(moved, lowest, highest)
    if ruled.any():
        before, after = plain[:, ruled], moved[:, ruled]
        step = after - before
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step < 0, (lowest[ruled] - before) / step, (highest[ruled] - before) / step)
        share = np.clip(np.where(step == 0, 1.0, room).min(axis=1), 0.0, 1.0)
        found[:, ruled] = np.clip(before + share[:, None] * step, lowest[ruled], highest[ruled])
    return found


def _product(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices as a sum of outer products, in the order of the columns."""
    found = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[1]):
        found += left[:, k, None] * right[None, k, :]
    return found
