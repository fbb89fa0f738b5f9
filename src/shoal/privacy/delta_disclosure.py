"""delta-disclosure: the share of a value in a class is within a factor exp(delta) of that in the table.

Brickell & Shmatikov 2008, Def. 3: |ln(q / p)| < delta. As in other software, values that are absent from a class are
left out; the definition taken literally makes delta infinite for them.
"""

from __future__ import annotations

import numpy as np

from shoal.privacy.counts import Counts, Floats


def delta_of(counts: Counts) -> Floats:
    """Return the largest |ln(q / p)| over the values that occur in each class.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> delta_of(count_values(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
    array([0., 0.])
    """
    ratio = np.abs(np.log(counts.shares / counts.frequencies[counts.value]))
    found = counts.over_classes(np.maximum, ratio, 0.0).astype(np.float64)
    return counts.worst_where_unknown(found, delta_of, np.inf)
