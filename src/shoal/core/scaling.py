"""Columns brought to mean 0 and variance 1 without loss of digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def standardise(matrix: NDArray[Any]) -> NDArray[Any]:
    """Bring the columns of a matrix to mean 0 and population variance 1, in place and one by one.

    Values are measured from the middle of the range before anything else is computed, so that a mean far from zero
    costs no digits. A constant column becomes zeros. A matrix with missing or infinite values is returned as it is.

    Parameters
    ----------
    matrix
        n x d, floats; changed in place.

    Returns
    -------
    matrix
        The same array. Cost O(n d).

    Examples
    --------
    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if not matrix.size or not np.isfinite(matrix).all():
        return matrix
    for j in range(matrix.shape[1]):
        column = matrix[:, j].astype(np.float64)
        column -= column.min() / 2 + column.max() / 2
        largest = np.abs(column).max()
        if largest > 0:
            column /= largest
            column -= column.mean()
            column /= np.sqrt((column**2).mean())
        matrix[:, j] = column
    return matrix
