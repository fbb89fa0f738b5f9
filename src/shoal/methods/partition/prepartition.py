"""Prepartition: group the dense and the scattered part of a table separately, without projection.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, section VI-B. See ``macrocells`` for the parts
and the cost. Use it where a slow method must be used and half of its time matters.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import AsMethodUsed, Outcome
from shoal.methods.options import Range
from shoal.methods.partition.leaf_grouping import leaf_method
from shoal.methods.partition.macrocells import distal_records, group_parts, macrocells, separate
from shoal.methods.registry import method


@method(
    "prepartition",
    title="Scattered and dense records grouped separately",
    complexity="n² d / macro + two smaller runs of the method",
    guarantees=(AsMethodUsed("as the method used, for each part", "grouping"),),
    reference="Rebollo-Monedero et al. 2019, section VI-B",
    when="a slow method must be used and half of its time matters",
)
def prepartition(
    points: NDArray[np.float64],
    k: int,
    *,
    macro: int = 1000,
    distal: Annotated[int, Range(0)] | None = None,
    fraction: Annotated[float, Range(0, 1)] = 0.4,
    threshold: float | None = None,
    grouping: str = "mdav",
    progress: Progress = SILENT,
) -> Outcome:
    """Group distal and proximal records separately.

    Parameters
    ----------
    macro, distal, fraction, threshold, grouping
        As for ``pca-proximal``.

    Returns
    -------
    outcome
        Labels; diagnostics ``distal_records`` and ``proximal_records``.

    Examples
    --------
    >>> import numpy as np
    >>> prepartition(np.array([[0.0], [9.0], [1.0], [8.0], [0.5], [7.0]]), 2, macro=3, distal=1).labels
    array([0, 1, 0, 1, 0, 1])
    """
    run = leaf_method(grouping, "grouping")
    cells = macrocells(points, k, macro, run, progress)
    parts = separate(distal_records(points, cells, distal, fraction, threshold), k)
    labels = group_parts(parts, points[parts.proximal], points[parts.distal], k, run, progress)
    return Outcome(labels, diagnostics=parts.diagnostics)
