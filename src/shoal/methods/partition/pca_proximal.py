"""Proximal and distal records: group the crowded and the scattered part of a table separately.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, section IV-B (Algorithm C, "MDAV with PCA on
proximal data") and section VI-B (the split without PCA). Macrocells of K records are made first; those with the
largest mean squared error hold the distal records. Two smaller problems cost less than one: with a share ν of distal
records and a quadratic method, ν² + (1-ν)² of the time, plus k/K for the macrocells. The projection only touches the
proximal part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.partition.leaf_grouping import Leaf, leaf_method
from shoal.methods.partition.principal_components import compress, spectrum_of
from shoal.methods.registry import method


@method(
    "pca-proximal",
    title="Scattered records grouped as they are, crowded ones on principal components",
    cost="n² d / macro + two smaller runs of the method",
    guarantee="as the method used, for each part",
    reference="Rebollo-Monedero et al. 2019, Alg. C",
    when="as pca-mdav; less loss in less time with slow methods",
)
def pca_proximal(
    points: NDArray[np.float64],
    k: int,
    *,
    macro: int = 1000,
    distal: int | None = None,
    fraction: float = 0.4,
    threshold: float | None = None,
    components: int | None = None,
    energy_loss: float = 0.1,
    grouping: str = "mdav",
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group distal records by a method as they are, proximal ones on their principal components.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    macro
        The size K of a macrocell, larger than k.
    distal
        How many macrocells are distal (C_D in the paper).
    fraction
        Their share, if ``distal`` is not given.
    threshold
        Macrocells with a larger mean squared error are distal, if neither a count nor a fraction is to decide.
    components, energy_loss
        As for ``pca-mdav``, for the proximal records.
    grouping
        The method that makes the macrocells and the groups.
    progress
        Hears how far the work is.
    facts
        Receives the sizes of both parts, and the components kept.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0], [0.5], [7.0]])
    >>> pca_proximal(points, 2, macro=3, distal=1)
    array([0, 1, 0, 1, 0, 1])
    """
    run = leaf_method(grouping)
    cells = macrocells(points, k, macro, run, progress)
    far = distal_records(points, cells, distal, fraction, threshold)

    def on_components(proximal: NDArray[np.float64], k: int) -> NDArray[np.int64]:
        spectrum = spectrum_of(proximal, components)
        kept = spectrum.choose(components, energy_loss)
        if facts is not None:
            facts.update({"components": kept, "energy loss": spectrum.energy_loss(kept)})
        return run(compress(proximal, spectrum, kept), k)

    return group_both(points, k, far, on_components, run, progress, facts)


@method(
    "prepartition",
    title="Scattered and crowded records grouped separately",
    cost="n² d / macro + two smaller runs of the method",
    guarantee="as the method used, for each part",
    reference="Rebollo-Monedero et al. 2019, section VI-B",
    when="a slow method must be used and half of its time matters",
)
def prepartition(
    points: NDArray[np.float64],
    k: int,
    *,
    macro: int = 1000,
    distal: int | None = None,
    fraction: float = 0.4,
    threshold: float | None = None,
    grouping: str = "mdav",
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group distal and proximal records separately, without projection.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    macro, distal, fraction, threshold, grouping
        As for ``pca-proximal``.
    progress
        Hears how far the work is.
    facts
        Receives the sizes of both parts.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> prepartition(np.array([[0.0], [9.0], [1.0], [8.0], [0.5], [7.0]]), 2, macro=3, distal=1)
    array([0, 1, 0, 1, 0, 1])
    """
    run = leaf_method(grouping)
    far = distal_records(points, macrocells(points, k, macro, run, progress), distal, fraction, threshold)
    return group_both(points, k, far, run, run, progress, facts)


def macrocells(
    points: NDArray[np.float64], k: int, macro: int, run: Leaf, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Return the macrocell of each record; a table too small for two of them is one."""
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
        if not 0.0 <= fraction <= 1.0:
            raise ParameterError(f"fraction={fraction} is not possible; choose 0 to 1")
        distal = round(fraction * errors.size)
    if not 0 <= distal <= errors.size:
        raise ParameterError(f"distal={distal} is not possible; there are {errors.size} macrocells")
    chosen = np.zeros(errors.size, np.bool_)
    chosen[np.argsort(-errors, kind="stable")[:distal]] = True
    return chosen[cells]


def group_both(
    points: NDArray[np.float64],
    k: int,
    far: NDArray[np.bool_],
    run_proximal: Leaf,
    run_distal: Leaf,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group proximal and distal records separately; a part of fewer than k records goes with the other."""
    if 0 < far.sum() < k:
        far = np.zeros_like(far)
    elif 0 < (~far).sum() < k:
        far = np.ones_like(far)
    if facts is not None:
        facts.update({"distal records": int(far.sum()), "proximal records": int((~far).sum())})
    progress.stage("grouping proximal and distal records", len(points))
    labels = np.empty(len(points), np.int64)
    first = 0
    for members, run in ((np.flatnonzero(~far), run_proximal), (np.flatnonzero(far), run_distal)):
        if members.size:
            labels[members] = first + run(np.ascontiguousarray(points[members]), k)
            first = int(labels[members].max()) + 1
            progress.advance(members.size)
    return labels
