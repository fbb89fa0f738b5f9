"""p-sensitivity: every class has at least p different values of every confidential column (Truta & Vinay 2006, Def. 5).

For one column this is distinct l-diversity. The paper adds two necessary conditions: p is at most the number of
different values, and the number of classes is limited by the most frequent values.
"""

from __future__ import annotations

import numpy as np

from shoal.privacy.counts import Counts, Integers
from shoal.privacy.l_diversity import distinct_l


def p_of(counts: Counts) -> Integers:
    """Return the number of different values of each class."""
    return distinct_l(counts)


def most_classes(totals: Integers, p: int) -> int:
    """Return how many classes a p-sensitive table can have at most (Truta & Vinay 2006, condition 2).

    With the i most frequent values holding all but r records, each class needs p - i records of the rest, so there are
    at most r / (p - i) classes.

    Examples
    --------
    >>> most_classes(np.array([90, 6, 4]), 2), most_classes(np.array([90, 6, 4]), 3)
    (10, 4)
    """
    if p > np.count_nonzero(totals):
        return 0
    descending = np.sort(totals)[::-1]
    rest = int(totals.sum()) - np.append(0, np.cumsum(descending))[:p]
    return int((rest // np.arange(p, 0, -1)).min())
