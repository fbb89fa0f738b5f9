"""PCA on proximal data: distal records are grouped as they are, proximal ones on their principal components.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, section IV-B (Algorithm C, "MDAV with PCA on
proximal data"). See ``macrocells`` for the parts and the cost; the projection affects the proximal part only.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import AsMethodUsed, Diagnostic, Outcome
from shoal.methods.options import Range
from shoal.methods.partition.leaf_grouping import leaf_method
from shoal.methods.partition.macrocells import distal_records, group_parts, macrocells, separate
from shoal.methods.partition.principal_components import project_on_components
from shoal.methods.registry import method


@method(
    "pca-proximal",
    title="Scattered records grouped as they are, dense ones on principal components",
    complexity="n² d / macro + two smaller runs of the method",
    guarantees=(AsMethodUsed("as the method used, for each part", "grouping"),),
    reference="Rebollo-Monedero et al. 2019, Alg. C",
    when="as pca-mdav; less loss in less time with slow methods",
)
def pca_proximal(
    points: NDArray[np.float64],
    k: int,
    *,
    macro: int = 1000,
    distal: Annotated[int, Range(0)] | None = None,
    fraction: Annotated[float, Range(0, 1)] = 0.4,
    threshold: float | None = None,
    components: Annotated[int, Range(1)] | None = None,
    energy_loss: Annotated[float, Range(0, 1)] = 0.1,
    grouping: str = "mdav",
    progress: Progress = SILENT,
) -> Outcome:
    """Group distal records by a method as they are, proximal ones on their principal components.

    Parameters
    ----------
    macro
        The size K of a macrocell, larger than k.
    distal
        How many macrocells are distal (C_D in the paper).
    fraction
        The share of distal macrocells, if ``distal`` is not given.
    threshold
        Macrocells with a larger mean squared error are distal; used instead of ``fraction`` if ``distal`` is not given.
    components, energy_loss
        As for ``pca-mdav``, for the proximal records.
    grouping
        The method that makes the macrocells and the groups.

    Returns
    -------
    outcome
        Labels; diagnostics ``distal_records``, ``proximal_records`` and, if there are proximal records, ``components``
        and ``energy_loss``.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0], [0.5], [7.0]])
    >>> pca_proximal(points, 2, macro=3, distal=1).labels
    array([0, 1, 0, 1, 0, 1])
    """
    run = leaf_method(grouping, "grouping")
    cells = macrocells(points, k, macro, run, progress)
    parts = separate(distal_records(points, cells, distal, fraction, threshold), k)
    diagnostics: dict[str, Diagnostic] = {**parts.diagnostics}
    proximal = np.ascontiguousarray(points[parts.proximal])
    if parts.proximal.size:
        projected = project_on_components(proximal, components, energy_loss)
        proximal = projected.points
        diagnostics |= {"components": projected.components, "energy_loss": projected.energy_loss}
    labels = group_parts(parts, proximal, points[parts.distal], k, run, progress)
    return Outcome(labels, diagnostics=diagnostics)
