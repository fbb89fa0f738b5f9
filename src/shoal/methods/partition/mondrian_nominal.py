"""Mondrian for nominal columns: cuts between two sets of categories.

After LeFevre, DeWitt & Ramakrishnan 2006, doi:10.1109/ICDE.2006.101 (sections 2.2 and 5); the direction of a cut is
chosen as in Mondrian with variances (Thaeter 2021, section 7.1), by the variance of the categories' indicators. Cost
O((n + c) m log n) for m columns with c categories, O(n + c) memory. For large tables of categories.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import SeparateGroups, SizesOfOptions
from shoal.methods.partition.category_cuts import cut_categories
from shoal.methods.registry import method


@method(
    "mondrian-nominal",
    title="Cuts between sets of categories, across the most varied column",
    complexity="n m log n",
    guarantees=(
        SizesOfOptions("relaxed: groups have k to 2k-1 records", {"cuts": "relaxed"}),
        SeparateGroups("strict: no two groups share a combination of categories", {"cuts": "strict"}),
    ),
    reference="after LeFevre et al. 2006, sections 2.2 and 5",
    when="nominal columns and many records",
)
def mondrian_nominal(
    codes: NDArray[np.int32],
    k: int,
    *,
    cuts: Literal["relaxed", "strict"] = "relaxed",
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records of categories by Mondrian.

    Parameters
    ----------
    cuts
        ``strict``: records are separated by their categories only, so that no two groups share a combination of
        categories, and a part where every cut would leave fewer than k records is not cut, whatever its size.
        ``relaxed``: such a part is sorted and cut near its middle, which loses less.

    Examples
    --------
    >>> import numpy as np
    >>> mondrian_nominal(np.array([[0, 1], [1, 0], [0, 1], [1, 0], [0, 0]], np.int32), 2)
    array([0, 1, 0, 1, 0])
    """
    n, m = codes.shape
    progress.stage("cutting", n)
    dense = np.empty((n, m), np.int64)
    first = np.zeros(m + 1, np.int64)
    for j in range(m):
        present, dense[:, j] = np.unique(codes[:, j], return_inverse=True)
        first[j + 1] = first[j] + present.size
    order = np.arange(n)
    begins = np.zeros(n, np.int64)
    cut_categories(dense, order, first, k, cuts == "strict", begins)
    labels = np.empty(n, np.int64)
    labels[order] = np.cumsum(begins) - 1
    progress.advance(n)
    return labels
