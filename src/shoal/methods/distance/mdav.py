"""MDAV: maximum distance to average vector, with groups of fixed size.

Thaeter 2021, Algorithm 2 (section 5.1); Domingo-Ferrer & Torra 2005, doi:10.1007/s10618-005-0007-5. Cost O(n² d / k)
time, O(n d) memory. The reference method of the field: use it to compare with published
results.

The records that are still free are held in a tree that excludes most of them in each search, unless groups are few and
large. Ties go to the lowest record number, and the centroid is computed from a sum without accumulated rounding errors,
so the labels are those of the pseudocode read literally. Where cells are missing, distances and centroids are those of
the known cells (``observed_mdav``).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import OneLargerGroup
from shoal.methods.kernels import small_mdav
from shoal.methods.registry import method

LARGE_GROUP, MOST_LARGE_GROUPS = 300, 200  # sizes from which, and numbers up to which, no tree is used


@method(
    "mdav",
    title="Fixed-size groups around the records farthest from the centre",
    complexity="n² d / k",
    guarantees=(OneLargerGroup(),),
    reference="Thaeter 2021, Alg. 2; Domingo-Ferrer & Torra 2005",
    when="comparison with published results; up to about 100,000 records",
    max_size=lambda k: 2 * k - 1,
    version=1,
)
def mdav(
    points: NDArray[np.float64],
    k: int,
    *,
    precision: Literal["double", "single"] = "double",
    observed: NDArray[np.bool_] | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records by MDAV.

    Parameters
    ----------
    precision
        ``single`` computes distances as sdcMicro does, to reproduce its results on data with many ties.

    Examples
    --------
    >>> import numpy as np
    >>> mdav(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = len(points)
    progress.stage("grouping (mdav)", n)
    if observed is not None and not observed.all():
        from shoal.methods.kernels.observed_mdav import mdav_of_known_cells

        labels = mdav_of_known_cells(points, np.ascontiguousarray(observed), k)
        progress.advance(n)
        return labels
    if precision == "double" and n <= small_mdav.SMALL_TABLE_RECORDS:
        labels = small_mdav.mdav_of_small_table(points, k)
        progress.advance(n)
        return labels
    from shoal.methods.kernels import indexed_mdav  # small tables need none of its loops

    if precision == "single":
        return indexed_mdav.mdav_in_single_precision(points, k, progress)
    if k >= LARGE_GROUP and n <= MOST_LARGE_GROUPS * k:
        return indexed_mdav.mdav_of_large_groups(points, k, progress)
    return indexed_mdav.mdav_by_tree(points, k, progress)
