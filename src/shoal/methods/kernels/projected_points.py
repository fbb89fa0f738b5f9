"""Shades: records seen along the few directions in which they vary most.

With many attributes a search by distance has to look at nearly everything. The shade of a record has its coordinates
along the leading principal components and, as the last one, the length of what they leave over. By the triangle
inequality the distance of two shades is never greater than that of the records, and mostly not much smaller; so a
search by shades excludes nearly what a search by records would, for less work. Directions change the time only, never
an answer. With few attributes a record is its own shade.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHORT = 12
SAMPLE = 4096


class Cloud(NamedTuple):
    """Records, their shades, and how shades are cast.

    Parameters
    ----------
    points
        n x d.
    shades
        n x the length of a shade.
    axes
        For each attribute, its centre and its share in each direction; empty if a record is its own shade.
    slack
        More than what rounding can add to the distance of two shades.
    """

    points: NDArray[np.float64]
    shades: NDArray[np.float64]
    axes: NDArray[np.float64]
    slack: float


def cloud_of(points: NDArray[np.float64]) -> Cloud:
    """Return the records with their shades.

    Examples
    --------
    >>> cloud_of(np.eye(3)).slack
    0.0
    >>> cloud_of(np.eye(30)).shades.shape
    (30, 12)
    """
    n, d = points.shape
    if d <= SHORT:
        return Cloud(points, points, np.empty((0, 0)), 0.0)
    centre = points.mean(axis=0)
    sample = points[:: -(-n // SAMPLE)] - centre
    sample /= float(np.abs(sample).max()) or 1.0
    directions = np.linalg.eigh(sample.T @ sample)[1][:, :-SHORT:-1]
    axes = np.column_stack([centre, directions])
    return Cloud(points, shades_of(points, axes), axes, 1e-14 * (d + 10) * d**0.5 * float(np.abs(points).max()))


def shades_of(points: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shades of the rows.

    Examples
    --------
    >>> shades_of(np.array([[3.0, 4.0]]), np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[3., 4.]])
    """
    if not axes.size:
        return points
    moved = points - axes[:, 0]
    shades = np.empty((len(points), axes.shape[1]))
    shades[:, :-1] = moved @ axes[:, 1:]
    shades[:, -1] = np.sqrt(((moved - shades[:, :-1] @ axes[:, 1:].T) ** 2).sum(axis=1))
    return shades
