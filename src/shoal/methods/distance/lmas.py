"""LMaS: Lloyd, merge and split; best of several runs.

Thaeter 2021, Algorithms 11 to 13 (section 6.3). k-means finds n/k clusters from a k-means++ start; those below k are
merged with their neighbours, those of 2k and more split by MDAV⁺. Cost O(runs n² d rounds / k) time at worst, O(n d)
memory. Strong on clustered data; ona-star is better on most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.distance.best_of import best_of
from shoal.methods.distance.lloyd import k_means, merge
from shoal.methods.refinement.ona_star_moves import split_large
from shoal.methods.registry import method


@method(
    "lmas",
    title="k-means, then small groups are merged and large ones split; best of several runs",
    cost="runs rounds n² d / k",
    guarantee="groups have k to 2k-1 records",
    reference="Thaeter 2021, Alg. 11 to 13",
    when="clustered data; to compare with published figures",
    max_size=lambda k: 2 * k - 1,
)
def lmas(
    points: NDArray[np.float64],
    k: int,
    *,
    runs: int = 10,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by LMaS.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    runs
        How many random starts are tried; the cheapest result is kept.
    seed
        Where the random numbers begin.
    progress
        Hears how far the work is.
    facts
        Receives the spread of the losses and of the rounds over all runs.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.grouping import Grouping
    >>> Grouping(lmas(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2), k=2).labels
    array([0, 1, 0, 1, 0])
    """

    def run(chance: np.random.Generator, listener: Progress) -> tuple[NDArray[np.int64], int]:
        labels, rounds = k_means(points, len(points) // k, chance)
        labels = split_large(points, merge(points, labels, k), k)
        listener.advance(len(points))
        return labels, rounds

    return best_of("lmas", run, points, runs, seed, progress, facts)
