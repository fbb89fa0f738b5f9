"""nominal-v-mdav: V-MDAV for categories, with Hamming distances and the plurality mode of the table.

Solanas & Martínez-Ballesté 2006, as described in Cost 2023, section 1.2.2. Ties go to the lowest value and the lowest
record. Time O(n² m). A baseline for comparison.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes
from shoal.methods.contract import FewExtraRecords
from shoal.methods.nominal.ungrouped_records import UngroupedRecords
from shoal.methods.options import Range
from shoal.methods.registry import method


@method(
    "nominal-v-mdav",
    title="Categories: groups that grow from k to 2k-1 while the next record is close",
    complexity="n² m",
    guarantees=(FewExtraRecords("fewer than k records enlarge groups of 2k-1", doubled=True),),
    reference="Solanas & Martínez-Ballesté 2006; Cost 2023, sec. 1.2.2",
    when="as a baseline for comparison",
)
def nominal_v_mdav(
    codes: NDArray[np.int32], k: int, *, gamma: Annotated[float, Range(0)] = 1.0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group nominal records by V-MDAV with Hamming distances and the plurality mode of the table.

    Parameters
    ----------
    gamma
        A record joins a group of k or more if it is closer to the group than ``gamma`` times the distance to its
        nearest ungrouped record.

    Examples
    --------
    >>> nominal_v_mdav(np.array([[0, 0], [5, 7], [0, 0], [0, 0], [5, 6]], np.int32), 2)
    array([0, 1, 0, 0, 1])
    """
    check_codes(codes)
    progress.stage("grouping (nominal-v-mdav)", len(codes))
    ungrouped = UngroupedRecords(codes)
    centre = ungrouped.mode()
    groups = 0
    while ungrouped.count >= k:
        first = ungrouped.farthest(centre)
        members = ungrouped.nearest(codes[first], k, first)
        ungrouped.assign(members, groups)
        closest = None
        if ungrouped.count:
            closest = np.min([ungrouped.distances(codes[member]) for member in members], axis=0)
        size = k
        while closest is not None and size < 2 * k - 1 and ungrouped.count > 1:
            position = int(closest.argmin())
            record = int(ungrouped.records[position])
            to_others = np.delete(ungrouped.distances(codes[record]), position)
            if not closest[position] < gamma * to_others.min():
                break
            ungrouped.assign(np.array([record]), groups)
            closest = np.minimum(np.delete(closest, position), ungrouped.distances(codes[record]))
            size += 1
        groups += 1
        progress.advance(size)
    ungrouped.join_nearest_groups()
    return canonical_labels(ungrouped.labels)
