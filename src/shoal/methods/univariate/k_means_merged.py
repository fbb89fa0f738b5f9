"""k-means-merged: k-means, then every cluster below k is merged into its nearest neighbour.

Stamm & Schaub 2024, section 5.2. K = floor(factor · n / k) centres; clusters are larger where records are dense, and
their size has no upper bound. O(n K d) for the seeds of k-means++ (random records beyond 2·10⁸ distances), O(n log K)
per round. Good for small k on clustered data.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome
from shoal.methods.options import Range
from shoal.methods.registry import method

MOST_SEED_DISTANCES = 200_000_000  # beyond, random records are the first centres


@method(
    "k-means-merged",
    title="k-means, small clusters merged into their neighbours",
    complexity="n² d / k",
    reference="Stamm & Schaub 2024, section 5.2",
    when="comparison with published figures; clustered data and small k",
)
def k_means_merged(
    points: NDArray[np.float64],
    k: int,
    *,
    factor: Annotated[float, Range(above=0)] = 1.0,
    rounds: Annotated[int, Range(1)] = 50,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by k-means and merge clusters below k.

    Parameters
    ----------
    factor
        Centres per k records: 0.5, 1 and 2 in the paper.
    rounds
        Maximum number of rounds of k-means.

    Returns
    -------
    outcome
        Labels; diagnostics ``rounds`` and ``clusters``, the number of clusters before merging.

    Examples
    --------
    >>> import numpy as np
    >>> k_means_merged(np.array([[0.0], [9.0], [1.0], [8.0]]), 2).labels
    array([1, 0, 1, 0])
    """
    n = points.shape[0]
    rng = np.random.default_rng(seed)
    centred = points - points.mean(axis=0)
    wanted = int(min(max(factor * n / k, 1), n))
    progress.stage("grouping (k-means-merged)", rounds)
    labels, done = _lloyd(centred, _seeds(centred, wanted, rng), rounds, progress)
    diagnostics = {"rounds": done, "clusters": int(np.unique(labels).size)}
    return Outcome(_merged(centred, labels, k, rng), diagnostics=diagnostics)


def _seeds(points: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return k-means++ centres, or random records where that would take too long."""
    n = points.shape[0]
    if n * count > MOST_SEED_DISTANCES:
        return points[rng.choice(n, count, replace=False)]
    chosen = [int(rng.integers(n))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        reach = np.cumsum(nearest)
        if reach[-1] == 0.0:  # fewer distinct records than centres
            break
        chosen.append(min(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")), n - 1))
        np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1), out=nearest)
    return points[chosen]


def _lloyd(
    points: NDArray[np.float64], centres: NDArray[np.float64], rounds: int, progress: Progress
) -> tuple[NDArray[np.int64], int]:
    """Move centres to the means of their records until no record changes."""
    from scipy.spatial import KDTree

    labels = np.full(points.shape[0], -1, np.int64)
    done = 0
    for _ in range(rounds):
        nearest = KDTree(centres).query(points)[1].astype(np.int64)
        done += 1
        progress.advance()
        if (nearest == labels).all():
            break
        labels = np.unique(nearest, return_inverse=True)[1].astype(np.int64)
        sizes = np.bincount(labels)
        centres = np.column_stack([np.bincount(labels, weights=column) for column in points.T]) / sizes[:, None]
    return labels, done


def _merged(
    points: NDArray[np.float64], labels: NDArray[np.int64], k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Merge each cluster below k into the one with the nearest centroid, in random order, until none is left."""
    sizes = np.bincount(labels).astype(np.float64)
    centres = np.column_stack([np.bincount(labels, weights=column) for column in points.T]) / sizes[:, None]
    target = np.arange(sizes.size)
    alive = np.ones(sizes.size, bool)
    while (alive & (sizes < k)).any():
        for c in rng.permutation(np.flatnonzero(alive & (sizes < k))):
            if not alive[c] or sizes[c] >= k:
                continue
            distances = ((centres - centres[c]) ** 2).sum(axis=1)
            distances[~alive] = np.inf
            distances[c] = np.inf
            nearest = int(np.argmin(distances))
            both = sizes[nearest] + sizes[c]
            centres[nearest] = (sizes[nearest] * centres[nearest] + sizes[c] * centres[c]) / both
            sizes[nearest] = both
            alive[c] = False
            target[target == c] = nearest
    return np.unique(target[labels], return_inverse=True)[1].astype(np.int64)
