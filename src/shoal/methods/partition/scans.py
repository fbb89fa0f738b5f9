"""Scans: the time and the loss of each number of components, or of distal macrocells.

Rebollo-Monedero et al. 2019, sections V-A and V-B (Figures 11, 12, 14, 18, 19 and 21). The components are tried on a
random sample of the table. Cost: one run of the method per row. These functions are for exploration; no method calls
them. ``choose_components`` returns a value for the option ``components`` of ``pca-mdav``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition.leaf_grouping import Leaf, leaf_method
from shoal.methods.partition.macrocells import distal_records, group_parts, macrocells, separate
from shoal.methods.partition.principal_components import compress, project_on_components, spectrum_of

__all__ = ["ScanRow", "choose_components", "scan_components", "scan_distal"]


@dataclass(frozen=True)
class ScanRow:
    """One row of a scan.

    Parameters
    ----------
    value
        The number of components, or of distal macrocells.
    energy_loss
        The share of the variance that the components lose.
    relative_time
        Time divided by that of the method on all attributes (τ).
    loss
        Information loss, a fraction.
    extra_loss
        The loss minus that of the method on all attributes (ΔD); can be negative.

    Examples
    --------
    >>> row = ScanRow(value=2, energy_loss=0.1, relative_time=0.4, loss=0.08, extra_loss=0.01)
    >>> row.value, row.extra_loss
    (2, 0.01)
    """

    value: int
    energy_loss: float
    relative_time: float
    loss: float
    extra_loss: float


def scan_components(
    points: NDArray[np.float64],
    k: int,
    *,
    counts: Sequence[int] | None = None,
    sample: int = 75_000,
    grouping: str = "mdav",
    seed: int = 0,
    progress: Progress = SILENT,
) -> list[ScanRow]:
    """Try numbers of components on a random sample of the table.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        Minimum group size.
    counts
        The numbers to try; None for 1 to d.
    sample
        The number of records of the sample.
    grouping
        The method that groups.
    seed
        Seed of the sample.
    progress
        Progress callback.

    Returns
    -------
    rows
        One row for each number.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(300, 3))
    >>> [row.value for row in scan_components(points, 3)]
    [1, 2, 3]
    """
    part = _random_sample(points, sample, seed)
    run = leaf_method(grouping, "grouping")
    total = float(((part - part.mean(axis=0)) ** 2).sum())
    counts = list(range(1, part.shape[1] + 1)) if counts is None else list(counts)
    progress.stage("trying components", len(counts))
    run(part[: 4 * k], k)  # compiles the loops
    spectrum_of(part[: 4 * k])
    seconds, labels = _timed(run, part, k)
    plain = total_cost(part, labels) / total
    rows = []
    for m in counts:

        def on_components(part: NDArray[np.float64], k: int, m: int = m) -> NDArray[np.int64]:
            spectrum = spectrum_of(part)
            return run(compress(part, spectrum, spectrum.choose(m)), k)

        taken, labels = _timed(on_components, part, k)
        loss = total_cost(part, labels) / total
        rows.append(ScanRow(m, spectrum_of(part).energy_loss(m), taken / seconds, loss, loss - plain))
        progress.advance()
    return rows


def choose_components(
    points: NDArray[np.float64],
    k: int,
    tolerance: float,
    *,
    sample: int = 20_000,
    grouping: str = "mdav",
    seed: int = 0,
    progress: Progress = SILENT,
) -> int:
    """Return the smallest number of components such that it and all larger numbers keep a tolerance of the extra loss.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        Minimum group size.
    tolerance
        The largest accepted extra information loss, a fraction (0.01 is one per cent of the variance).
    sample, grouping, seed, progress
        As for ``scan_components``.

    Returns
    -------
    components
        The number to pass to ``pca-mdav``.

    Examples
    --------
    >>> flat = np.random.default_rng(0).normal(size=(300, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> choose_components(flat, 3, 0.001)
    2
    """
    if tolerance < 0:
        raise ParameterError(f"tolerance={tolerance} is not possible; choose a number of at least 0")
    rows = scan_components(points, k, sample=sample, grouping=grouping, seed=seed, progress=progress)
    chosen = points.shape[1]
    for row in reversed(rows):
        if row.extra_loss > tolerance:
            break
        chosen = row.value
    return chosen


def scan_distal(
    points: NDArray[np.float64],
    k: int,
    *,
    counts: Sequence[int],
    macro: int = 1000,
    energy_loss: float | None = 0.1,
    grouping: str = "mdav",
    progress: Progress = SILENT,
) -> list[ScanRow]:
    """Try numbers of distal macrocells; the macrocells are made once, and the rows do not include their time.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        Minimum group size.
    counts
        The numbers of distal macrocells to try.
    macro
        The size of a macrocell.
    energy_loss
        The largest share of the variance that the components of the proximal part may lose; None for no projection.
    grouping
        The method that groups.
    progress
        Progress callback.

    Returns
    -------
    rows
        One row for each number; ``energy_loss`` is that of the proximal part.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(300, 3))
    >>> scan_distal(points, 3, counts=[3], macro=100)[0].extra_loss
    0.0
    """
    run = leaf_method(grouping, "grouping")
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    cells = macrocells(points, k, macro, run)
    progress.stage("trying distal macrocells", len(counts))
    spectrum_of(points[: 4 * k])  # compiles the loops
    seconds, labels = _timed(run, points, k)
    plain = total_cost(points, labels) / total
    rows = []
    for count in counts:
        distal = distal_records(points, cells, count)
        lost = 0.0
        started = time.perf_counter()
        parts = separate(distal, k)
        proximal = np.ascontiguousarray(points[parts.proximal])
        if energy_loss is not None and parts.proximal.size:
            projected = project_on_components(proximal, None, energy_loss)
            proximal, lost = projected.points, projected.energy_loss
        labels = group_parts(parts, proximal, points[parts.distal], k, run)
        taken = time.perf_counter() - started
        loss = total_cost(points, labels) / total
        rows.append(ScanRow(count, lost, taken / seconds, loss, loss - plain))
        progress.advance()
    return rows


def _random_sample(points: NDArray[np.float64], sample: int, seed: int) -> NDArray[np.float64]:
    """Return a random sample in the order of the table, standardised again so that attributes have equal weight."""
    if sample >= len(points):
        return points
    chosen = np.sort(np.random.default_rng(seed).choice(len(points), sample, replace=False))
    part = points[chosen] - points[chosen].mean(axis=0)
    deviation = part.std(axis=0)
    return np.ascontiguousarray(part / np.where(deviation > 0, deviation, 1.0))


def _timed(run: Leaf, points: NDArray[np.float64], k: int) -> tuple[float, NDArray[np.int64]]:
    """Return the seconds of a run, and its labels."""
    started = time.perf_counter()
    labels = run(points, k)
    return time.perf_counter() - started, labels
