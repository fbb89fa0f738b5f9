"""k-member: groups that grow by the record that increases their diameter least.

Byun et al. 2007, as described in Cost 2023, section 1.2.2. Distances are Hamming distances; ties go to the lowest
record. Time O(n² m). A baseline for comparison.
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
    "k-member",
    title="Categories: groups that grow by the record that widens them least",
    complexity="n² m",
    guarantees=(FewExtraRecords(),),
    reference="Byun et al. 2007; Cost 2023, sec. 1.2.2",
    when="as a baseline for comparison",
)
def k_member(codes: NDArray[np.int32], k: int, *, seed: int = 0, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group nominal records by k-member clustering, which minimises size times diameter greedily.

    Examples
    --------
    >>> k_member(np.array([[0, 0], [5, 7], [0, 1], [5, 6]], np.int32), 2)
    array([0, 1, 0, 1])
    """
    check_codes(codes)
    progress.stage("grouping (k-member)", len(codes))
    ungrouped = UngroupedRecords(codes)
    last = int(np.random.default_rng(seed).integers(len(codes)))
    groups = 0
    while ungrouped.count >= k:
        last = ungrouped.farthest(codes[last])
        diameter, total = np.zeros(ungrouped.count), np.zeros(ungrouped.count)
        member = last
        for _ in range(k):
            position = int(np.searchsorted(ungrouped.records, member))
            ungrouped.assign(np.array([member]), groups)
            diameter, total = np.delete(diameter, position), np.delete(total, position)
            if not ungrouped.count:
                break
            distances = ungrouped.distances(codes[member])
            diameter, total = np.maximum(diameter, distances), total + distances
            member = int(ungrouped.records[np.lexsort((total, diameter))[0]])
        groups += 1
        progress.advance(k)
    ungrouped.join_nearest_groups()
    return canonical_labels(ungrouped.labels)
