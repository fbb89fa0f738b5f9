"""LMaS: Lloyd, merge and split; best of several runs.

Thaeter 2021, Algorithms 11 to 13 (section 6.3). k-means finds n/k clusters from a k-means++ start; those below k are
merged with their neighbours, those of 2k and more split by MDAV⁺. Cost O(runs n² d rounds / k) time at worst, O(n d)
memory. Strong on clustered data; ona-star is better on most.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome
from shoal.methods.distance.lloyd import k_means, merge
from shoal.methods.distance.repeats import best_of_runs
from shoal.methods.options import Range
from shoal.methods.refinement.split import split_large
from shoal.methods.registry import method


@method(
    "lmas",
    title="k-means, then small groups are merged and large ones split; best of several runs",
    complexity="runs rounds n² d / k",
    reference="Thaeter 2021, Alg. 11 to 13",
    when="clustered data; comparison with published results",
    max_size=lambda k: 2 * k - 1,
)
def lmas(
    points: NDArray[np.float64],
    k: int,
    *,
    runs: Annotated[int, Range(1)] = 10,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by LMaS.

    Parameters
    ----------
    runs
        Number of random starts; the cheapest result is kept.

    Examples
    --------
    >>> import numpy as np, shoal
    >>> shoal.run_method("lmas", np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([0, 1, 0, 1, 0])
    """

    def run(rng: np.random.Generator, shared: Progress) -> tuple[NDArray[np.int64], int]:
        labels, rounds = k_means(points, len(points) // k, rng)
        labels = split_large(points, merge(points, labels, k), k)
        shared.advance(len(points))
        return labels, rounds

    return best_of_runs("lmas", run, points, runs, seed, progress)
