"""Lloyd's algorithm (k-means) with three ways to start, and the repair that makes groups of at least k of it.

Thaeter 2021, Algorithms 8, 9 and 12 (sections 6.1 and 6.3); Arthur & Vassilvitskii 2007 for k-means++. Cost O(n² d
rounds / k) time at worst, O(n d) memory; a tree over the centres makes it far less. As a grouping method it is a
building block: use lmas, which splits large groups too, or ona-star.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.kernels.box_tree import no_stack
from shoal.methods.kernels.centroid_index import index_groups
from shoal.methods.kernels.centroids import Groups, spread
from shoal.methods.kernels.k_means_kernels import assign, draw_centres, merge_small
from shoal.methods.kernels.projected_points import cloud_of, shades_of
from shoal.methods.registry import method

Start = Literal["k-means++", "forgy", "partition"]


@method(
    "lloyd",
    title="k-means with n/k centres; groups below k are merged with their neighbours",
    cost="rounds n² d / k",
    guarantee="groups have at least k records, without an upper limit",
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
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by k-means with n // k centres, then merge groups that are too small.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    start
        How the first centres are chosen, see :func:`k_means`.
    seed
        Where the random numbers begin.
    progress
        Hears how far the work is.
    facts
        Receives the number of ``rounds`` and of ``groups below k`` before the merging.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> labels = lloyd(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    >>> labels[0] == labels[2] == labels[4] != labels[1] == labels[3]
    np.True_
    """
    labels, rounds = k_means(points, len(points) // k, np.random.default_rng(seed), start=start, progress=progress)
    if facts is not None:
        facts["rounds"] = rounds
        facts["groups below k"] = int((np.bincount(labels) < k).sum())
    return merge(points, labels, k)


def k_means(
    points: NDArray[np.float64],
    clusters: int,
    chance: np.random.Generator,
    *,
    start: Start = "k-means++",
    max_rounds: int = 50,
    progress: Progress = SILENT,
) -> tuple[NDArray[np.int64], int]:
    """Return the clusters of Lloyd's algorithm, and the number of rounds.

    It stops when the cost falls by less than 0.001 times the mean variance of an attribute. A cluster that becomes
    empty is lost, so there may be fewer clusters than asked for.

    Parameters
    ----------
    points
        n x d.
    clusters
        The number of centres.
    chance
        The generator of random numbers.
    start
        ``k-means++`` draws far records with a higher probability, ``forgy`` draws records, ``partition`` starts from
        the centroids of a random partition.
    max_rounds
        After so many rounds it stops anyway.
    progress
        Hears how many rounds are done.

    Returns
    -------
    labels, rounds
        The cluster of each record, numbered from 0 without gaps; how often records were assigned.

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
    cloud = cloud_of(points)
    centres = _first_centres(points, clusters, chance, start)
    enough = 1e-3 * spread(points)
    labels, cost = assign(cloud, centres)
    rounds = 1
    while rounds < max_rounds:
        rounds += 1
        labels = np.unique(labels, return_inverse=True)[1]
        before = cost
        labels, cost = assign(cloud, centroids(points, labels))
        progress.advance()
        if before - cost < enough:
            break
    return np.unique(labels, return_inverse=True)[1].astype(np.int64), rounds


def _first_centres(
    points: NDArray[np.float64], clusters: int, chance: np.random.Generator, start: Start
) -> NDArray[np.float64]:
    """Return the centres to begin with."""
    n = len(points)
    if start == "k-means++":
        chosen = draw_centres(points, int(chance.integers(n)), chance.random(clusters - 1))
        return points[chosen]
    if start == "forgy":
        return points[chance.choice(n, clusters, replace=False)]
    if start == "partition":
        labels = np.empty(n, np.int64)
        labels[chance.permutation(n)] = np.arange(n) * clusters // n
        return centroids(points, labels)
    raise ParameterError(f'start="{start}" is not known; there is: k-means++, forgy, partition')


def centroids(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the centroid of each group; labels: 0, 1, ... without gaps.

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
    cloud = cloud_of(points)
    sums = np.stack([means * sizes[:, None], np.zeros_like(means)], axis=1)
    shades = shades_of(means, cloud.axes) if cloud.axes.size else means
    groups = Groups(sizes.astype(np.int64), sums, means, shades, np.array([sizes.size]))
    index = index_groups(groups)
    heir = np.arange(sizes.size)
    scratch = np.empty(1), np.empty(1, np.int64), no_stack()
    while merge_small(groups, index, cloud.axes, cloud.slack, k, heir, *scratch):
        pass
    while (heir[heir] != heir).any():
        heir = heir[heir]
    return np.unique(heir[labels], return_inverse=True)[1].astype(np.int64)
