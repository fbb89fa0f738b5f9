"""Mondrian as its pseudocode states it: cuts at a median value, which never separate equal records.

LeFevre, DeWitt & Ramakrishnan 2006; Thaeter & Reischuk 2021, Algorithm 4, and Thaeter 2021, Algorithm 18, as printed:
records up to the median on one side, the others on the other side. The published figures belong to cuts by rank
(``mondrian``), which separate equal values. A cut that leaves fewer than k records on a side is tried below the median,
then along the attribute with the next smaller range; a part that no attribute cuts is a group, however large. Cost
O(n d log n) time, O(n) memory. Use it where equal records must have equal released values, as global recoding requires;
on columns with few values some groups are large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import EqualRecordsTogether
from shoal.methods.registry import method


@method(
    "mondrian-median",
    title="Cuts at the median value of the attribute with the widest range; equal records stay together",
    complexity="n d log n",
    reference="LeFevre et al. 2006; Thaeter 2021, Alg. 18 as printed",
    when="equal records must be released equal, and seconds count more than loss",
    guarantees=(EqualRecordsTogether(),),
)
def mondrian_median(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by cuts at median values.

    Examples
    --------
    >>> import numpy as np
    >>> mondrian_median(np.array([[0.0], [9.0], [1.0], [9.0], [0.0], [9.0]]), 2)
    array([0, 1, 0, 1, 0, 1])
    """
    labels = np.empty(len(points), np.int64)
    progress.stage("cutting", len(points))
    waiting, count = [np.arange(len(points))], 0
    while waiting:
        part = waiting.pop()
        upper = _cut(points[part], k)
        if upper is None:
            labels[part] = count
            count += 1
            progress.advance(part.size)
        else:
            waiting += [part[upper], part[~upper]]  # the lower side is cut first
    return labels


def _cut(points: NDArray[np.float64], k: int) -> NDArray[np.bool_] | None:
    """Return which records are above a cut that leaves k records on both sides; None if there is none."""
    m = len(points)
    if m < 2 * k:
        return None
    ranges = points.max(axis=0) - points.min(axis=0)
    for attribute in np.argsort(-ranges, kind="stable"):
        if ranges[attribute] == 0:
            return None
        values = points[:, attribute]
        median = np.partition(values, (m - 1) // 2)[(m - 1) // 2]
        best: NDArray[np.bool_] | None = None
        for upper in (values > median, values >= median):
            smaller = min(int(upper.sum()), m - int(upper.sum()))
            if smaller >= k and (best is None or smaller > min(int(best.sum()), m - int(best.sum()))):
                best = upper
        if best is not None:
            return best
    return None
