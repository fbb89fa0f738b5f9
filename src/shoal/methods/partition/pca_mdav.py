"""Grouping in fewer dimensions: project on principal components, group there, release the attributes themselves.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, section IV-A (Algorithm B, "MDAV with PCA").
The method that groups is not changed and reads fewer columns; any method can be used. Cost O(n d²) for the components,
then that of the method with m instead of d attributes. Use it where attributes depend strongly on each other; read the
spectrum first.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import AsMethodUsed, Outcome
from shoal.methods.options import Range
from shoal.methods.partition.leaf_grouping import leaf_method
from shoal.methods.partition.principal_components import project_on_components
from shoal.methods.registry import method


@method(
    "pca-mdav",
    title="Another method (mdav) on the leading principal components",
    complexity="n d² + that of the method with fewer attributes",
    guarantees=(AsMethodUsed("as the method used", "grouping"),),
    reference="Rebollo-Monedero et al. 2019, Alg. B",
    when="many attributes that depend on each other, and a slow method",
)
def pca_mdav(
    points: NDArray[np.float64],
    k: int,
    *,
    components: Annotated[int, Range(1)] | None = None,
    energy_loss: Annotated[float, Range(0, 1)] = 0.1,
    grouping: str = "mdav",
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by another method on their principal components.

    Parameters
    ----------
    components
        How many components to keep; None for the smallest number that ``energy_loss`` allows. 1 is the
        single-component baseline.
    energy_loss
        The largest share of the variance that may be lost (ε² in the paper); at least one component is kept.
    grouping
        The method that groups the projected records.

    Returns
    -------
    outcome
        Labels; diagnostics ``components``, ``energy_loss`` and ``redundant_attributes``.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0, 0.1], [9.0, 9.1], [1.0, 0.9], [8.0, 8.2]])
    >>> pca_mdav(points, 2, components=1).labels
    array([1, 0, 1, 0])
    """
    progress.stage("principal components")
    run = leaf_method(grouping, "grouping")
    projected = project_on_components(points, components, energy_loss)
    progress.stage(f"grouping ({grouping})", len(points))
    labels = run(projected.points, k)
    progress.advance(len(points))
    diagnostics = {
        "components": projected.components,
        "energy_loss": projected.energy_loss,
        "redundant_attributes": projected.redundant,
    }
    return Outcome(labels, diagnostics=diagnostics)
