"""Grouping in fewer dimensions: project on principal components, group there, publish in the attributes themselves.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, section IV-A (Algorithm B, "MDAV with PCA").
The method that groups is left as it is and only sees fewer columns; any method can be used. Cost O(n d²) for the
components, then that of the method with m instead of d attributes. Use it where attributes depend strongly on each
other; look at the spectrum first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.partition.leaf_grouping import leaf_method
from shoal.methods.partition.principal_components import compress, spectrum_of
from shoal.methods.registry import method


@method(
    "pca-mdav",
    title="Another method (mdav) on the leading principal components",
    cost="n d² + that of the method with fewer attributes",
    guarantee="as the method used",
    reference="Rebollo-Monedero et al. 2019, Alg. B",
    when="many attributes that depend on each other, and a slow method",
)
def pca_mdav(
    points: NDArray[np.float64],
    k: int,
    *,
    components: int | None = None,
    energy_loss: float = 0.1,
    grouping: str = "mdav",
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by another method on their principal components.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    components
        How many components to keep; None: as many as ``energy_loss`` asks for. 1 is the single-component baseline.
    energy_loss
        The largest share of the variance that may be lost (ε² in the paper).
    grouping
        The method that groups the projected records.
    progress
        Hears how far the work is.
    facts
        Receives how many components were kept, the share of the variance lost, and how many attributes are redundant.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0, 0.1], [9.0, 9.1], [1.0, 0.9], [8.0, 8.2]])
    >>> pca_mdav(points, 2, components=1)
    array([1, 0, 1, 0])
    """
    progress.stage("principal components")
    run = leaf_method(grouping)
    spectrum = spectrum_of(points, components)
    kept = spectrum.choose(components, energy_loss)
    if facts is not None:
        facts.update(
            {"components": kept, "energy loss": spectrum.energy_loss(kept), "redundant attributes": spectrum.redundant}
        )
    compressed = compress(points, spectrum, kept)
    progress.stage(f"grouping ({grouping})", len(points))
    labels = run(compressed, k)
    progress.advance(len(points))
    return labels
