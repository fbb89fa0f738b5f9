"""example-hilbert: consecutive groups along a Hilbert curve through the two main directions of the data.

The records are projected onto their first two principal components and ordered along a Hilbert curve, which visits
near points of the plane soon after each other (Hilbert 1891, doi:10.1007/BF01199431). Every k consecutive records form
a group; the last group takes the remainder. O(n d²) time for the components, O(n log n) for the order.

The method is fast and simple, and it loses more than the methods of Shoal that measure distances: with more than two
attributes the plane shows only a part of the data. It is here as an example of a package that adds a method.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

import shoal
from shoal.methods.options import Range


@shoal.method(
    "example-hilbert",
    title="Consecutive groups along a Hilbert curve",
    complexity="n d² + n log n",
    reference="Hilbert 1891",
    when="as an example of a method in a package of its own",
    max_size=lambda k: 2 * k - 1,
)
def hilbert(points: NDArray[np.float64], k: int, *, bits: Annotated[int, Range(1, 20)] = 10) -> NDArray[np.int64]:
    """Group records that follow each other on a Hilbert curve.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The minimum group size.
    bits
        The curve visits a grid of ``2**bits`` by ``2**bits`` cells.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> hilbert(np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 1.0], [9.0, 8.0]]), 2)
    array([0, 1, 0, 1])
    """
    plane = principal_plane(points)
    column, row = (grid_cells(plane[:, axis], bits) for axis in (0, 1))
    order = np.argsort(hilbert_positions(column, row, bits), kind="stable")
    labels = np.empty(len(points), np.int64)
    labels[order] = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    return labels


def principal_plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coordinates of the records in their first two principal components; a single column is kept."""
    centred = points - points.mean(axis=0)
    if points.shape[1] == 1:
        return np.column_stack([centred[:, 0], np.zeros(len(points))])
    directions = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
    # The sign of an eigenvector is arbitrary; the largest component becomes positive, so that machines agree.
    largest = np.abs(directions).argmax(axis=0)
    return centred @ (directions * np.sign(directions[largest, [0, 1]]))


def grid_cells(values: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
    """Return the cell of each value when its range is cut into ``2**bits`` equal parts."""
    width = values.max() - values.min()
    if width == 0:
        return np.zeros(len(values), np.int64)
    return np.minimum((values - values.min()) / width * 2**bits, 2**bits - 1).astype(np.int64)


def hilbert_positions(column: NDArray[np.int64], row: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the position of each cell on the curve: the quadrants are resolved from the largest to the smallest."""
    position = np.zeros(len(column), np.int64)
    for half in (1 << level for level in reversed(range(bits))):
        right, upper = (column & half) > 0, (row & half) > 0
        position += half * half * np.where(right, 3 - upper, upper)
        # The curve enters the two lower quadrants turned: mirrored on the right, with the axes exchanged on both sides.
        mirrored = right & ~upper
        column, row = (np.where(mirrored, 2**bits - 1 - cell, cell) for cell in (column, row))
        column, row = np.where(upper, column, row), np.where(upper, row, column)
    return position
