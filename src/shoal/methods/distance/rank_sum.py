"""SBM: groups around the records with the lowest and the highest sum of ranks.

Thaeter 2021, section 8.4; Mahmood et al. 2012. Records are ranked in each attribute and sorted once by the sum of their
ranks. Cost O(n d log n + n² d / k) time, O(n d) memory. The ends of that order need not be far apart, so it loses more
than mdav; use it to compare with published results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import OneLargerGroup
from shoal.methods.kernels.group_growth import begin, grow, never_join
from shoal.methods.registry import method


@method(
    "rank-sum",
    title="Fixed-size groups around the records with the lowest and highest rank sums",
    complexity="n² d / k",
    guarantees=(OneLargerGroup(),),
    reference="Thaeter 2021, section 8.4; Mahmood et al. 2012",
    when="comparison with published results",
    max_size=lambda k: 2 * k - 1,
)
def rank_sum(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by rank sums.

    Examples
    --------
    >>> import numpy as np
    >>> rank_sum(np.array([[7.0, 6.0], [6.0, 3.0], [9.0, 7.0], [8.0, 1.0]]), 2)  # order 1, 3, 0, 2 (Table 8.2)
    array([1, 0, 1, 0])
    """
    n = len(points)
    progress.stage("grouping (rank-sum)", n)
    order = np.argsort(rank_sums(points), kind="stable")
    projected, growth, groups = begin(points, k, order, order[::-1])
    grow(projected, growth, groups, k, never_join(), 2 * k, progress)
    rest = growth.labels < 0
    growth.labels[rest] = groups.used[0]
    progress.advance(int(rest.sum()))
    return growth.labels


def rank_sums(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sum of the ranks 1, 2, ... of each record over all attributes; equal values rank by record number.

    Examples
    --------
    >>> rank_sums(np.array([[7.0, 6.0], [6.0, 3.0], [9.0, 7.0], [8.0, 1.0]]))
    array([5, 3, 8, 4])
    """
    n, d = points.shape
    total = np.zeros(n, np.int64)
    for j in range(d):
        total[np.argsort(points[:, j], kind="stable")] += np.arange(1, n + 1)
    return total
