"""nominal-mdav: MDAV for categories, with Hamming distances and plurality modes.

Domingo-Ferrer & Mateo-Sanz 2002 and Torra 2004, as described in Cost 2023, section 1.2.2: two groups are made as long
as 2k records are left; then k to 2k-1 records make a group, and fewer than k join the groups of their nearest records.
Ties go to the lowest value and the lowest record. Time O(n² m / k). A baseline for comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes
from shoal.methods.contract import FewExtraRecords
from shoal.methods.nominal.ungrouped_records import UngroupedRecords
from shoal.methods.registry import method


@method(
    "nominal-mdav",
    title="Categories: fixed-size groups around the records farthest from the mode",
    complexity="n² m / k",
    guarantees=(FewExtraRecords(),),
    reference="Domingo-Ferrer & Mateo-Sanz 2002; Torra 2004; Cost 2023, sec. 1.2.2",
    when="as a baseline for comparison",
    max_size=lambda k: 2 * k - 1,
)
def nominal_mdav(codes: NDArray[np.int32], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group nominal records by MDAV with Hamming distances and plurality modes.

    Examples
    --------
    >>> nominal_mdav(np.array([[0, 0], [5, 7], [0, 1], [5, 6]], np.int32), 2)
    array([0, 1, 0, 1])
    """
    check_codes(codes)
    progress.stage("grouping (nominal-mdav)", len(codes))
    ungrouped = UngroupedRecords(codes)
    groups = 0
    while ungrouped.count >= 2 * k:
        r = ungrouped.farthest(ungrouped.mode())
        for centre in (r, ungrouped.farthest(codes[r])):
            if ungrouped.labels[centre] >= 0:  # ties have put it into the group of r
                centre = ungrouped.farthest(codes[r])
            ungrouped.assign(ungrouped.nearest(codes[centre], k, centre), groups)
            groups += 1
            progress.advance(k)
    if ungrouped.count >= k:
        ungrouped.assign(ungrouped.records.copy(), groups)
    elif ungrouped.count:
        ungrouped.join_nearest_groups()
    return canonical_labels(ungrouped.labels)
