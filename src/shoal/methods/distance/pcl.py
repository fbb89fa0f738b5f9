"""PCL: k-means whose cells are brought near equal size by an offset for each centre.

Thaeter 2021, Algorithm 10 (section 6.2); Rebollo-Monedero et al. 2013, doi:10.1016/j.ins.2012.07.036
(probability-constrained Lloyd). Neither gives an algorithm for the offsets. Here a record goes to the centre with the
least squared distance plus offset; in each step the offset of a cell rises with its surplus of records and falls with
its deficit, by a step that shrinks when the greatest surplus stops falling. That is gradient ascent on the dual of the
balanced assignment problem. Steps end when all cells are within 10 % of n/K; cells that are still below k at the end
are merged and those of 2k and more split, as in LMaS.

Cost O(n² d steps / k) time, O(n d) memory. Try it beside ona-star for k of 50 and more: it lost less on Census and
Credit Card, and more on Adult at k = 500, where many records are equal and cells cannot be.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Outcome
from shoal.methods.distance.lloyd import centroids, k_means, merge
from shoal.methods.kernels.centroids import mean_variance
from shoal.methods.options import Range
from shoal.methods.refinement.split import split_large
from shoal.methods.registry import method

CHUNK = 4096


@method(
    "pcl",
    title="k-means whose cells are brought near equal size",
    complexity="steps n² d / k",
    reference="Thaeter 2021, Alg. 10; Rebollo-Monedero et al. 2013",
    when="k of 50 or more, beside ona-star",
    max_size=lambda k: 2 * k - 1,
)
def pcl(
    points: NDArray[np.float64],
    k: int,
    *,
    max_rounds: Annotated[int, Range(0)] = 20,
    steps: Annotated[int, Range(1)] = 30,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by probability-constrained Lloyd.

    Parameters
    ----------
    max_rounds
        Maximum number of updates of the centres.
    steps
        Maximum number of adjustments of the offsets in a round.

    Examples
    --------
    >>> import numpy as np, shoal
    >>> shoal.run_method("pcl", np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([0, 1, 0, 1, 0])
    """
    clusters = len(points) // k
    labels, _ = k_means(points, clusters, np.random.default_rng(seed), max_rounds=3)
    progress.stage("grouping (pcl)", max_rounds)
    rows = np.ascontiguousarray(points.T)
    offsets = np.zeros(int(labels.max()) + 1)
    enough = 1e-3 * mean_variance(points)
    before, rounds = np.inf, 0
    for _ in range(max_rounds):
        rounds += 1
        labels, offsets, cost = _equal_cells(rows, centroids(points, labels), offsets, steps)
        progress.advance()
        kept, labels = np.unique(labels, return_inverse=True)
        offsets = offsets[kept]
        if abs(before - cost) < enough:
            break
        before = cost
    below = int((np.bincount(labels) < k).sum())
    labels = split_large(points, merge(points, labels.astype(np.int64), k), k)
    return Outcome(labels, diagnostics={"rounds": rounds, "groups_below_k": below})


def _equal_cells(
    rows: NDArray[np.float64], centres: NDArray[np.float64], offsets: NDArray[np.float64], steps: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Adjust the offsets until the cells are nearly equal; return labels, offsets and the cost to these centres."""
    n = rows.shape[1]
    target = n / len(centres)
    best: tuple[float, NDArray[np.int64], NDArray[np.float64], float] | None = None
    step = None
    for _ in range(steps):
        labels, far = _assign_with(rows, centres, offsets)
        surplus = np.bincount(labels, minlength=len(centres)) / target - 1.0
        worst = float(np.abs(surplus).max())
        if step is None:
            step = float(far.mean())
        if best is None or worst < best[0]:
            best = worst, labels, offsets, float(far.sum())
        else:
            step *= 0.8
        if worst <= 0.1:
            break
        offsets = offsets + step * np.clip(surplus, -1.0, 1.0)
    assert best is not None
    return best[1:]


def _assign_with(
    rows: NDArray[np.float64], centres: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the centre of least distance plus offset for each record, and the squared distance to it."""
    labels = np.empty(rows.shape[1], np.int64)
    far = np.empty(rows.shape[1])
    starts = range(0, rows.shape[1], CHUNK)
    run_in_threads(lambda start: _assign_chunk(rows, centres, offsets, labels, far, start, start + CHUNK), starts)
    return labels, far


@compiled
def _assign_chunk(rows: Any, centres: Any, offsets: Any, labels: Any, far: Any, start: int, stop: int) -> None:
    """Fill labels and distances of the records start..stop-1."""
    stop = min(stop, labels.size)
    distances = np.empty(stop - start)
    scores = np.empty(stop - start)
    for i in range(stop - start):
        scores[i] = np.inf
    for c in range(centres.shape[0]):
        for i in range(stop - start):
            distances[i] = 0.0
        for j in range(rows.shape[0]):
            centre = centres[c, j]
            row = rows[j, start:stop]
            for i in range(stop - start):
                difference = row[i] - centre
                distances[i] += difference * difference
        for i in range(stop - start):
            if distances[i] + offsets[c] < scores[i]:
                scores[i] = distances[i] + offsets[c]
                labels[start + i] = c
                far[start + i] = distances[i]
