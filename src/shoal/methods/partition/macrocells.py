"""Proximal and distal records: the dense and the scattered part of a table, found by macrocells.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, section IV-B. Macrocells of K records are made
first; those with the largest mean squared error hold the distal records. Two smaller problems cost less than one: with
a share ν of distal records and a quadratic method, ν² + (1-ν)² of the time, plus k/K for the macrocells. Shared by
``pca-proximal`` and ``prepartition``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.partition.leaf_grouping import Leaf


class Parts(NamedTuple):
    """The records of the two parts of a table, as row numbers."""

    proximal: NDArray[np.int64]
    distal: NDArray[np.int64]

    @property
    def diagnostics(self) -> dict[str, int]:
        """The number of records in each part."""
        return {"distal_records": int(self.distal.size), "proximal_records": int(self.proximal.size)}


def macrocells(
    points: NDArray[np.float64], k: int, macro: int, run: Leaf, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Return the macrocell of each record; a table with fewer than two macrocells of records is one macrocell."""
    if macro <= k:
        raise ParameterError(f"macro={macro} is not possible; macrocells must be larger than k={k}")
    progress.stage("macrocells", len(points))
    return run(points, macro) if len(points) >= 2 * macro else np.zeros(len(points), np.int64)


def macrocell_errors(points: NDArray[np.float64], cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean squared error of each macrocell.

    Examples
    --------
    >>> macrocell_errors(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]))
    array([1., 0.])
    """
    sizes = np.bincount(cells)
    errors = np.zeros(sizes.size)
    for column in points.T:
        means = np.bincount(cells, column) / sizes
        errors += np.bincount(cells, (column - means[cells]) ** 2) / sizes
    return errors


def distal_records(
    points: NDArray[np.float64],
    cells: NDArray[np.int64],
    distal: int | None,
    fraction: float = 0.4,
    threshold: float | None = None,
) -> NDArray[np.bool_]:
    """Return which records lie in the macrocells with the largest mean squared error.

    Examples
    --------
    >>> points, cells = np.array([[0.0], [2.0], [5.0], [5.5]]), np.array([0, 0, 1, 1])
    >>> distal_records(points, cells, 1)
    array([ True,  True, False, False])
    """
    errors = macrocell_errors(points, cells)
    if distal is None and threshold is not None:
        return (errors > threshold)[cells]
    if distal is None:
        distal = round(fraction * errors.size)
    if distal > errors.size:
        raise ParameterError(f"distal={distal} is not possible; there are {errors.size} macrocells")
    chosen = np.zeros(errors.size, np.bool_)
    chosen[np.argsort(-errors, kind="stable")[:distal]] = True
    return chosen[cells]


def separate(distal: NDArray[np.bool_], k: int) -> Parts:
    """Return the records of both parts; a part of fewer than k records is merged into the other.

    Examples
    --------
    >>> separate(np.array([True, False, True, False, False]), 2).diagnostics
    {'distal_records': 2, 'proximal_records': 3}
    >>> separate(np.array([True, False, False, False, False]), 2).diagnostics
    {'distal_records': 0, 'proximal_records': 5}
    """
    if 0 < distal.sum() < k:
        distal = np.zeros_like(distal)
    elif 0 < (~distal).sum() < k:
        distal = np.ones_like(distal)
    return Parts(np.flatnonzero(~distal), np.flatnonzero(distal))


def group_parts(
    parts: Parts,
    proximal: NDArray[np.float64],
    distal: NDArray[np.float64],
    k: int,
    run: Leaf,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group the two parts separately, given the coordinates of each; return the labels of all records.

    Examples
    --------
    >>> parts = Parts(np.array([0, 2, 4]), np.array([1, 3]))
    >>> group_parts(parts, np.zeros((3, 1)), np.zeros((2, 1)), 2, lambda points, k: np.zeros(len(points), np.int64))
    array([0, 1, 0, 1, 0])
    """
    n = parts.proximal.size + parts.distal.size
    progress.stage("grouping proximal and distal records", n)
    labels = np.empty(n, np.int64)
    first = 0
    for members, points in ((parts.proximal, proximal), (parts.distal, distal)):
        if members.size:
            labels[members] = first + run(np.ascontiguousarray(points), k)
            first = int(labels[members].max()) + 1
            progress.advance(members.size)
    return labels
