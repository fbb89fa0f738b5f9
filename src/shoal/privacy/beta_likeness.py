"""beta-likeness: no value is more than 1 + beta times as frequent in a class as in the table (Cao & Karras 2012).

*Basic* (Def. 2): (q - p) / p is at most beta for every value with q > p. *Enhanced* (Def. 3): it is also at most -ln p,
so that the requirement is stricter for frequent values. A table may violate the enhanced form for every beta.
"""

from __future__ import annotations

import numpy as np

from shoal.privacy.counts import Counts, Floats


def basic_beta(counts: Counts) -> Floats:
    """Return the largest relative gain (q - p) / p of any value in each class.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> basic_beta(count_values(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])))
    array([0.33333333, 1.        ])
    """
    gain = counts.shares / counts.frequencies[counts.value] - 1.0
    found = np.maximum(counts.over_classes(np.maximum, gain, 0.0), 0.0).astype(np.float64)
    return counts.worst_where_unknown(found, basic_beta, np.inf)


def enhanced_beta(counts: Counts) -> Floats:
    """Return the smallest beta of the enhanced form in each class; infinite where some gain exceeds -ln p.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> enhanced_beta(count_values(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])))
    array([inf,  1.])
    """
    p = counts.frequencies[counts.value]
    gain = counts.shares / p - 1.0
    exceeded = gain > -np.log(p) + 1e-12
    found = np.where(counts.over_classes(np.logical_or, exceeded, False), np.inf, basic_beta(counts))
    return counts.worst_where_unknown(found, enhanced_beta, np.inf)
