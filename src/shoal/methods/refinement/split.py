"""Splitting groups of 2k records and more, after which all groups have k to 2k-1 records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import ordered_labels
from shoal.methods.kernels.group_growth import fixed_size_groups


def split_large(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    groups_of: Callable[[NDArray[np.float64], int], NDArray[np.int64]] = fixed_size_groups,
) -> NDArray[np.int64]:
    """Return the labels with every group of 2k or more replaced by smaller groups, which are numbered last.

    Parameters
    ----------
    points
        Coordinates of the records, n x d.
    labels
        The group number of each record: 0, 1, ... without gaps.
    k
        Minimum group size.
    groups_of
        The method that groups the records of a large group: MDAV⁺ unless another one is given.

    Returns
    -------
    labels
        The group number of each record: 0, 1, ... without gaps.

    Examples
    --------
    >>> split_large(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 0, 0]), 2)
    array([0, 0, 1, 1])
    """
    labels = labels.copy()
    sizes = np.bincount(labels)
    count = sizes.size
    for g in np.flatnonzero(sizes >= 2 * k):
        members = np.flatnonzero(labels == g)
        parts = groups_of(points[members], k)
        labels[members] = count + parts
        count += int(parts.max()) + 1
    return ordered_labels(labels)
