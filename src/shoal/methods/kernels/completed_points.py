"""Coordinates for methods that need all of them: missing cells get the mean of the known cells of near records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.threads import run_in_threads
from shoal.methods.kernels.observed_mdav import mdav_of_known_cells

NEAR_RECORDS = 5
"""Records of a group whose known cells complete the others, whatever k is."""
WHOLE_RECORDS, BLOCK_RECORDS = 10_000, 5_000
"""Records up to which a table is one block, and of a block of a larger one."""


def completed_points(points: NDArray[Any], observed: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return coordinates in which each missing cell has the mean of the known cells of its group of five by MDAV.

    Where such a group knows none of them, the cell keeps its value. Cost O(n² d) up to 10,000 records; larger tables
    are cut into blocks first, so that it is O(n log n d).

    Examples
    --------
    >>> observed = np.array([[True, True], [True, False], *[[True, True]] * 8])
    >>> points = np.array([[0.0, 3.0], [9.0, 0.0], *[[i % 2 * 9.0, 3.0 + i % 2 * 2.0] for i in range(8)]])
    >>> completed_points(points, observed)[1]
    array([9., 5.])
    """
    if observed is None or observed.all():
        return points
    completed = points.copy()
    if len(points) <= WHOLE_RECORDS:
        _complete(points, observed, np.arange(len(points)), completed)
        return completed
    from shoal.methods.kernels.cut_blocks import cut_into_blocks

    cuts = cut_into_blocks(points, BLOCK_RECORDS).labels
    blocks = np.split(np.argsort(cuts, kind="stable"), np.cumsum(np.bincount(cuts))[:-1])
    run_in_threads(lambda members: _complete(points, observed, members, completed), blocks)
    return completed


def _complete(
    points: NDArray[Any], observed: NDArray[np.bool_], members: NDArray[np.int64], completed: NDArray[Any]
) -> None:
    """Write the missing cells of some records."""
    inside, known = np.ascontiguousarray(points[members], np.float64), np.ascontiguousarray(observed[members])
    if known.all():
        return
    labels = mdav_of_known_cells(inside, known, min(NEAR_RECORDS, len(inside)))
    groups = int(labels.max()) + 1
    for j in np.flatnonzero(~known.all(axis=0)):
        here = known[:, j]
        counts = np.bincount(labels[here], minlength=groups)
        sums = np.bincount(labels[here], inside[here, j], minlength=groups)
        cells = np.flatnonzero(~here & (counts[labels] > 0))
        completed[members[cells], j] = sums[labels[cells]] / counts[labels[cells]]
