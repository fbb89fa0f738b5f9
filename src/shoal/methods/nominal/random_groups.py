"""Groups by chance: the baseline below which no method should fall (Cost 2023, section 6.2.5). Cost O(n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.registry import method


@method(
    "random",
    title="Groups of k to 2k-1 records by chance",
    cost="n",
    guarantee="k to 2k-1 records a group",
    reference="Cost 2023, sec. 6.2.5",
    when="to see what a method is worth",
    data="codes",
    max_size=lambda k: 2 * k - 1,
)
def random_groups(codes: NDArray[np.int32], k: int, *, seed: int = 0, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group records by chance: sizes drawn from k to 2k-1, then records drawn without replacement.

    Parameters
    ----------
    codes
        n x m categories.
    k
        The smallest group.
    seed
        The same seed gives the same groups.
    progress
        Not used.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> np.bincount(random_groups(np.zeros((7, 1), np.int32), 3)).tolist()
    [3, 4]
    """
    rng = np.random.default_rng(seed)
    left = len(codes)
    sizes = []
    while left >= 2 * k:  # the last group takes what is left, k to 2k-1 records
        sizes.append(int(rng.integers(k, min(2 * k - 1, left - k) + 1)))
        left -= sizes[-1]
    sizes.append(left)
    labels = np.empty(len(codes), np.int64)
    labels[rng.permutation(len(codes))] = np.repeat(np.arange(len(sizes)), sizes)
    return canonical_labels(labels)
