"""Projected points: records in the coordinates of the few directions in which they vary most.

With many attributes a search by distance reads nearly all records. The projection of a record has its coordinates along
the leading principal components and, as the last one, the length of the remainder. By the triangle inequality the
distance of two projections is never greater than that of the records, and mostly not much smaller; so a search among
projections excludes nearly what a search among records would, for less work. The choice of directions changes the time
only, never a result. With few attributes a record is its own projection, and also where the leading components have
less than half of the variance: projections would then exclude next to nothing, and a leaf of the tree computes the
distances of its records faster together than one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 12
SAMPLE_SIZE = 4096
LEAST_SHARE = 0.5  # of the variance, along the leading components


class ProjectedPoints(NamedTuple):
    """Records, their projections, and the directions of projection.

    Parameters
    ----------
    points
        n x d.
    projections
        n x the number of coordinates of a projection.
    axes
        For each attribute, its mean and its share in each direction; empty if a record is its own projection.
    margin
        Rounding margin: more than what rounding can add to the distance of two projections.
    """

    points: NDArray[np.float64]
    projections: NDArray[np.float64]
    axes: NDArray[np.float64]
    margin: float


def project(points: NDArray[np.float64]) -> ProjectedPoints:
    """Return the records with their projections.

    Examples
    --------
    >>> project(np.eye(3)).margin
    0.0
    >>> project(np.diag(np.arange(30.0))).projections.shape
    (30, 12)
    >>> project(np.eye(30)).projections.shape
    (30, 30)
    """
    n, d = points.shape
    if d <= DIMENSIONS:
        return ProjectedPoints(points, points, np.empty((0, 0)), 0.0)
    centre = points.mean(axis=0)
    sample = points[:: -(-n // SAMPLE_SIZE)] - centre
    sample /= float(np.abs(sample).max()) or 1.0
    lengths, vectors = np.linalg.eigh(sample.T @ sample)
    if lengths[:-DIMENSIONS:-1].sum() < LEAST_SHARE * lengths.sum():
        return ProjectedPoints(points, points, np.empty((0, 0)), 0.0)
    directions = vectors[:, :-DIMENSIONS:-1]
    axes = np.column_stack([centre, directions])
    return ProjectedPoints(
        points, projections_of(points, axes), axes, 1e-14 * (d + 10) * d**0.5 * float(np.abs(points).max())
    )


def projections_of(points: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the projections of the rows.

    Examples
    --------
    >>> projections_of(np.array([[3.0, 4.0]]), np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[3., 4.]])
    """
    if not axes.size:
        return points
    moved = points - axes[:, 0]
    projections = np.empty((len(points), axes.shape[1]))
    projections[:, :-1] = moved @ axes[:, 1:]
    projections[:, -1] = np.sqrt(((moved - projections[:, :-1] @ axes[:, 1:].T) ** 2).sum(axis=1))
    return projections
