"""Scans: how much time and loss each number of components, or of distal macrocells, would cost.

Rebollo-Monedero et al. 2019, sections V-A and V-B (Figures 11, 12, 14, 18, 19 and 21). The components are tried on a
random part of the table. Cost: one run of the method per row.
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
from shoal.methods.partition.pca_proximal import distal_records, group_both, macrocells
from shoal.methods.partition.principal_components import compress, spectrum_of


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
        By how much it is above that of the method on all attributes (ΔD); can be negative.
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
    """Try numbers of components on a random part of the table.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    counts
        The numbers to try; None: 1 to d.
    sample
        How many records to try them on.
    grouping
        The method that groups.
    seed
        Chooses the records.
    progress
        Hears how many runs are done.

    Returns
    -------
    rows
        One for each number.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(300, 3))
    >>> [row.value for row in scan_components(points, 3)]
    [1, 2, 3]
    """
    part = _random_part(points, sample, seed)
    run = leaf_method(grouping)
    total = float(((part - part.mean(axis=0)) ** 2).sum())
    counts = list(range(1, part.shape[1] + 1)) if counts is None else list(counts)
    progress.stage("trying components", len(counts))
    run(part[: 4 * k], k)  # compiles
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
    """Return the smallest number of components whose extra loss stays within a tolerance, from there on up to all.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    tolerance
        The extra information loss that is accepted, a fraction (0.01 is one per cent of the variance).
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
        raise ParameterError(f"tolerance={tolerance} is not possible; choose 0 or more")
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
    """Try numbers of distal macrocells; the macrocells are made once and their time is not counted.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    counts
        The numbers of distal macrocells to try.
    macro
        The size of a macrocell.
    energy_loss
        The largest share of the variance that the components of the proximal part may lose; None: no projection.
    grouping
        The method that groups.
    progress
        Hears how many runs are done.

    Returns
    -------
    rows
        One for each number; ``energy_loss`` is that of the proximal part.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(300, 3))
    >>> scan_distal(points, 3, counts=[3], macro=100)[0].extra_loss
    0.0
    """
    run = leaf_method(grouping)
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    cells = macrocells(points, k, macro, run)
    progress.stage("trying distal macrocells", len(counts))
    spectrum_of(points[: 4 * k])  # compiles
    seconds, labels = _timed(run, points, k)
    plain = total_cost(points, labels) / total
    rows = []
    for count in counts:
        far = distal_records(points, cells, count)
        lost = [0.0]

        def on_components(proximal: NDArray[np.float64], k: int, lost: list[float] = lost) -> NDArray[np.int64]:
            if energy_loss is None:
                return run(proximal, k)
            spectrum = spectrum_of(proximal)
            kept = spectrum.choose(None, energy_loss)
            lost[0] = spectrum.energy_loss(kept)
            return run(compress(proximal, spectrum, kept), k)

        started = time.perf_counter()
        labels = group_both(points, k, far, on_components, run)
        taken = time.perf_counter() - started
        loss = total_cost(points, labels) / total
        rows.append(ScanRow(count, lost[0], taken / seconds, loss, loss - plain))
        progress.advance()
    return rows


def _random_part(points: NDArray[np.float64], sample: int, seed: int) -> NDArray[np.float64]:
    """Return so many random records in the order of the table, standardised again so that attributes weigh the same."""
    if sample >= len(points):
        return points
    chosen = np.sort(np.random.default_rng(seed).choice(len(points), sample, replace=False))
    part = points[chosen] - points[chosen].mean(axis=0)
    deviation = part.std(axis=0)
    return np.ascontiguousarray(part / np.where(deviation > 0, deviation, 1.0))


def _timed(run: Leaf, points: NDArray[np.float64], k: int) -> tuple[float, NDArray[np.int64]]:
    """Return how long a run takes, and its labels."""
    started = time.perf_counter()
    labels = run(points, k)
    return time.perf_counter() - started, labels
