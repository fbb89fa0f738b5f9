"""LaplaceHistograms: a noisy count of every possible record (Thaeter 2021, Alg. 26; Vadhan 2017, section 1.6).

One record is in one cell, so the privacy loss of the entire histogram is epsilon. Noise of scale 1/epsilon is added to
the counts; relative frequencies of |X| records then have noise of scale 1/(epsilon |X|). The published algorithm has
1/(epsilon |universe|) instead, which is too little noise if the universe is larger than the database.

For *replace* neighbours two cells change, so the scale doubles; the number of records is then public. Time O(cells).
Use it for small universes: in a universe with many empty cells, the noise creates many records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.dp.accountant import Accountant
from shoal.dp.database import HistogramDatabase
from shoal.dp.guarantee import Guarantee, Neighbours
from shoal.dp.opendp_library import integer_noise


@dataclass(frozen=True)
class NoisyHistogram:
    """The release of LaplaceHistograms.

    Parameters
    ----------
    counts
        The noisy count of each cell; may be negative.
    database
        The noisy counts as a database, with negative counts set to 0. This adds no privacy loss, because it is
        computed from the noisy counts only.
    scale
        The scale of the noise on counts.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    """

    counts: NDArray[np.int64]
    database: HistogramDatabase
    scale: float
    guarantee: Guarantee
    accountant: Accountant

    def shares(self) -> NDArray[np.float64]:
        """Return the relative frequency of each cell in the release; all 0 if no record is released."""
        total = self.database.size
        return self.database.counts / total if total else np.zeros(self.counts.size)


def laplace_histograms(
    database: HistogramDatabase, *, epsilon: float, neighbours: Neighbours | str = Neighbours.ADD_REMOVE
) -> NoisyHistogram:
    """Release a noisy histogram.

    Parameters
    ----------
    database
        The original database.
    epsilon
        Privacy loss epsilon.
    neighbours
        ``add-remove`` (noise of scale 1/epsilon), or ``replace`` (2/epsilon).

    Returns
    -------
    release
        The noisy counts, and a database computed from them.

    Examples
    --------
    >>> original = HistogramDatabase.of([[0]] * 500 + [[1]] * 200, (2,))
    >>> release = laplace_histograms(original, epsilon=1.0)
    >>> release.scale, release.guarantee.epsilon
    (1.0, 1.0)
    """
    relation = Neighbours(neighbours)
    sensitivity = 1 if relation == Neighbours.ADD_REMOVE else 2
    accountant = Accountant(epsilon)
    accountant.spend("count of every cell", accountant.epsilon, parts=database.universe.size)
    noisy = integer_noise(database.counts, sensitivity, accountant.epsilon)
    public = ("the number of records",) if relation == Neighbours.REPLACE else ()
    return NoisyHistogram(
        noisy,
        HistogramDatabase(database.universe, np.maximum(noisy, 0)),
        sensitivity / accountant.epsilon,
        accountant.guarantee(relation, public),
        accountant,
    )
