"""Lloyd's algorithm (k-means) with three kinds of start, and the merging of clusters into groups of at least k.

Thaeter 2021, Algorithms 8, 9 and 12 (sections 6.1 and 6.3); Arthur & Vassilvitskii 2007 for k-means++. Cost O(n² d
rounds / k) time at worst, O(n d) memory; a tree over the centres makes it far less. As a grouping method it is a
building block: use lmas, which splits large groups too, or ona-star.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.contract import Outcome
from shoal.methods.kernels.box_tree import search_stack
from shoal.methods.kernels.centroid_index import index_groups
from shoal.methods.kernels.centroids import Groups, mean_variance
from shoal.methods.kernels.k_means_kernels import assign, draw_centres, merge_small
from shoal.methods.kernels.projected_points import project, projections_of
from shoal.methods.registry import method

Start = Literal["k-means++", "forgy", "partition"]


@method(
    "lloyd",
    title="k-means with n/k centres; groups below k are merged with their neighbours",
    complexity="rounds n² d / k",
    reference="Thaeter 2021, Alg. 8, 9 and 12",
    when="as a building block; lmas and ona-star lose less",
)
def lloyd(
    points: NDArray[np.float64],
    k: int,
    *,
    start: Start = "k-means++",
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by k-means with n // k centres, then merge groups that are too small.

    Parameters
    ----------
    start
        Choice of the first centres: ``k-means++`` draws far records with a higher probability, ``forgy`` draws records,
        ``partition`` takes the centroids of a random partition.

    Examples
    --------
    >>> import numpy as np, shoal
    >>> shoal.run_method("lloyd", np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([0, 1, 0, 1, 0])
    """
    labels, rounds = k_means(points, len(points) // k, np.random.default_rng(seed), start=start, progress=progress)
    below = int((np.bincount(labels) < k).sum())
    return Outcome(merge(points, labels, k), diagnostics={"rounds": rounds, "groups_below_k": below})


def k_means(
    points: NDArray[np.float64],
    clusters: int,
    rng: np.random.Generator,
    *,
    start: Start = "k-means++",
    max_rounds: int = 50,
    progress: Progress = SILENT,
) -> tuple[NDArray[np.int64], int]:
    """Return the clusters of Lloyd's algorithm, and the number of rounds.

    It stops when the cost falls by less than 0.001 times the mean variance of an attribute. A cluster that becomes
    empty is dropped, so there may be fewer clusters than requested.

    Parameters
    ----------
    points
        Coordinates of the records, n x d.
    clusters
        Number of centres.
    rng
        Random generator.
    start
        Choice of the first centres, as for ``lloyd``.
    max_rounds
        Maximum number of rounds.
    progress
        Progress callback.

    Returns
    -------
    labels, rounds
        The cluster of each record, numbered from 0 without gaps; the number of assignments of all records.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0], [2.0]])
    >>> labels, rounds = k_means(points, 2, np.random.default_rng(0))
    >>> labels[0] == labels[2] == labels[4] != labels[1] == labels[3]
    np.True_
    """
    if not 1 <= clusters <= len(points):
        raise ParameterError(f"clusters={clusters} is not possible; choose 1 to {len(points)}, the number of records")
    progress.stage("clustering (k-means)", max_rounds)
    projected = project(points)
    centres = _first_centres(points, clusters, rng, start)
    enough = 1e-3 * mean_variance(points)
    labels, cost = assign(projected, centres)
    rounds = 1
    while rounds < max_rounds:
        rounds += 1
        labels = np.unique(labels, return_inverse=True)[1]
        before = cost
        labels, cost = assign(projected, centroids(points, labels))
        progress.advance()
        if before - cost < enough:
            break
    return np.unique(labels, return_inverse=True)[1].astype(np.int64), rounds


def _first_centres(
    points: NDArray[np.float64], clusters: int, rng: np.random.Generator, start: Start
) -> NDArray[np.float64]:
    """Return the first centres."""
    n = len(points)
    if start == "k-means++":
        chosen = draw_centres(points, int(rng.integers(n)), rng.random(clusters - 1))
        return points[chosen]
    if start == "forgy":
        return points[rng.choice(n, clusters, replace=False)]
    labels = np.empty(n, np.int64)
    labels[rng.permutation(n)] = np.arange(n) * clusters // n
    return centroids(points, labels)


def centroids(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the centroid of each group of the labels 0, 1, ... without gaps.

    Examples
    --------
    >>> centroids(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]))
    array([[1.],
           [9.]])
    """
    sizes = np.bincount(labels)
    sums = [np.bincount(labels, points[:, j]) for j in range(points.shape[1])]
    return np.ascontiguousarray(np.array(sums).T / sizes[:, None])


def merge(points: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the labels with every group of fewer than k records merged with its nearest one (Alg. 12).

    Examples
    --------
    >>> merge(np.array([[0.0], [1.0], [5.0], [6.0], [7.0]]), np.array([0, 1, 1, 2, 2]), 2)
    array([0, 0, 0, 1, 1])
    """
    sizes = np.bincount(labels)
    means = centroids(points, labels)
    projected = project(points)
    sums = np.stack([means * sizes[:, None], np.zeros_like(means)], axis=1)
    projections = projections_of(means, projected.axes) if projected.axes.size else means
    groups = Groups(sizes.astype(np.int64), sums, means, projections, np.array([sizes.size]))
    index = index_groups(groups)
    merged_into = np.arange(sizes.size)
    scratch = np.empty(1), np.empty(1, np.int64), search_stack()
    while merge_small(groups, index, projected.axes, projected.margin, k, merged_into, *scratch):
        pass
    while (merged_into[merged_into] != merged_into).any():
        merged_into = merged_into[merged_into]
    return np.unique(merged_into[labels], return_inverse=True)[1].astype(np.int64)
