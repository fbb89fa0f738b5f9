"""(alpha, k)-anonymity: no value has a share above alpha in an equivalence class (Wong et al. 2006, Def. 3).

As in the general form of section 5 of the paper, alpha holds for every value, not for one that is chosen in advance.
"""

from __future__ import annotations

import numpy as np

from shoal.privacy.counts import Counts, Floats


def alpha_of(counts: Counts) -> Floats:
    """Return the share of the most frequent value in each class; all missing values may be that value.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> alpha_of(count_values(np.array([0, 0, 0, 1, 1]), np.array([2, 0, 2, 1, 1])))
    array([0.66666667, 1.        ])
    """
    shares: Floats = (counts.over_classes(np.maximum, counts.count, 0) + counts.missing) / counts.sizes
    return shares
