"""random: groups drawn at random, the baseline that every method should beat (Cost 2023, section 6.2.5). Time O(n).

The file is not called ``random.py`` because that is the name of a standard module.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.methods.registry import method


@method(
    "random",
    title="Groups of k to 2k-1 records drawn at random",
    complexity="n",
    reference="Cost 2023, sec. 6.2.5",
    when="as a baseline for comparison",
    max_size=lambda k: 2 * k - 1,
)
def random_groups(codes: NDArray[np.int32], k: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Group records at random: sizes drawn from k to 2k-1, then records drawn without replacement.

    Examples
    --------
    >>> np.bincount(random_groups(np.zeros((7, 1), np.int32), 3)).tolist()
    [3, 4]
    """
    rng = np.random.default_rng(seed)
    left = len(codes)
    sizes = []
    while left >= 2 * k:  # the last group takes the remaining k to 2k-1 records
        sizes.append(int(rng.integers(k, min(2 * k - 1, left - k) + 1)))
        left -= sizes[-1]
    sizes.append(left)
    labels = np.empty(len(codes), np.int64)
    labels[rng.permutation(len(codes))] = np.repeat(np.arange(len(sizes)), sizes)
    return canonical_labels(labels)
