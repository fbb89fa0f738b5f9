"""LaplaceHistograms: a noisy count of every possible record (Thaeter 2021, Alg. 26; Vadhan 2017, section 1.6).

One record lies in one cell, so the whole histogram costs epsilon once. The noise goes on the counts, with scale
1/epsilon; shares of |X| records then have noise of scale 1/(epsilon |X|). The print has 1/(epsilon |universe|) instead,
which is far too little noise as soon as the universe is larger than the database.

For neighbours by replacement two cells change, so the scale doubles; the number of records is then public. Cost
O(cells). Use it where the universe is small: many cells that are empty turn noise into records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.dp.accountant import Accountant
from shoal.dp.database import HistogramDatabase
from shoal.dp.guarantee import Guarantee, Neighbours
from shoal.dp.opendp_library import whole_noise


@dataclass(frozen=True)
class NoisyHistogram:
    """What LaplaceHistograms releases.

    Parameters
    ----------
    counts
        The noisy count of each cell; may be negative.
    database
        The same as a database: negative counts are 0. Costs nothing, since it looks at the noisy counts only.
    scale
        The scale of the noise on counts.
    guarantee, accountant
        What is promised and what was spent.
    """

    counts: NDArray[np.int64]
    database: HistogramDatabase
    scale: float
    guarantee: Guarantee
    accountant: Accountant

    def shares(self) -> NDArray[np.float64]:
        """Return the share of each cell among the released records; 0 everywhere if there are none."""
        total = self.database.size
        return self.database.counts / total if total else np.zeros(self.counts.size)


def laplace_histograms(
    database: HistogramDatabase, *, epsilon: float, neighbours: Neighbours | str = Neighbours.ADD_REMOVE
) -> NoisyHistogram:
    """Release a noisy histogram.

    Parameters
    ----------
    database
        The original.
    epsilon
        The price.
    neighbours
        ``add-remove`` (noise of scale 1/epsilon), or ``replace`` (2/epsilon).

    Returns
    -------
    release
        The noisy counts, and a database made from them.

    Examples
    --------
    >>> original = HistogramDatabase.of([[0]] * 500 + [[1]] * 200, (2,))
    >>> release = laplace_histograms(original, epsilon=1.0)
    >>> release.scale, release.guarantee.epsilon
    (1.0, 1.0)
    """
    relation = Neighbours(neighbours)
    sensitivity = 1 if relation == Neighbours.ADD_REMOVE else 2
    account = Accountant(epsilon)
    account.spend("count of every cell", account.epsilon, parts=database.universe.size)
    noisy = whole_noise(database.counts, sensitivity, account.epsilon)
    public = ("the number of records",) if relation == Neighbours.REPLACE else ()
    return NoisyHistogram(
        noisy,
        HistogramDatabase(database.universe, np.maximum(noisy, 0)),
        sensitivity / account.epsilon,
        account.guarantee(relation, public),
        account,
    )
