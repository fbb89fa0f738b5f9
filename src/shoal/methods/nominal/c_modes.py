"""c-modes: Lloyd's method with Hamming distances and plurality modes; small clusters are merged at the end.

Huang 1998, doi:10.1023/A:1009769707641; merging after Marés & Torra 2012; both as described in Cost 2023, section
1.2.2. Time O(n c m) for each pass. A baseline for comparison.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes, compact
from shoal.errors import ParameterError
from shoal.methods.options import Range
from shoal.methods.registry import method


@method(
    "c-modes",
    title="Categories: c-modes, the smallest clusters merged until all have k records",
    complexity="n c m for each pass",
    reference="Huang 1998; Marés & Torra 2012; Cost 2023, sec. 1.2.2",
    when="as a baseline for comparison",
)
def c_modes(
    codes: NDArray[np.int32],
    k: int,
    *,
    clusters: Annotated[int, Range(1)] | None = None,
    passes: Annotated[int, Range(1)] = 20,
    seed: int = 0,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group nominal records by c-modes; clusters below k are merged with the cluster whose mode is nearest.

    Parameters
    ----------
    clusters
        Number of clusters at the start; by default n/k, at most 1,000.
    passes
        Maximum number of passes over all records.

    Examples
    --------
    >>> c_modes(np.array([[0, 0], [5, 7], [0, 1], [5, 6]], np.int32), 2)
    array([0, 1, 0, 1])
    """
    check_codes(codes)
    small, _ = compact(codes)
    number = min(len(codes) // k, 1000) if clusters is None else clusters
    if number > len(codes):
        raise ParameterError(f"clusters={number} is not possible; choose 1 to {len(codes)}, the number of records")
    progress.stage("grouping (c-modes)", passes)
    modes = small[np.random.default_rng(seed).choice(len(codes), number, replace=False)]
    labels = np.full(len(codes), -1, np.int64)
    for _ in range(passes):
        new = _nearest_modes(small, modes)
        progress.advance()
        if (new == labels).all():
            break
        labels = new
        modes = _modes(small, labels, modes)
    labels = canonical_labels(labels)
    while True:
        sizes = np.bincount(labels)
        smallest = int(sizes.argmin())
        if sizes[smallest] >= k:
            return labels
        modes = _modes(small, labels, np.zeros((sizes.size, small.shape[1]), np.int32))
        distances = (modes != modes[smallest]).sum(axis=1)
        distances[smallest] = small.shape[1] + 1
        labels = canonical_labels(np.where(labels == smallest, int(distances.argmin()), labels))


def _nearest_modes(codes: NDArray[np.int32], modes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each record the first of the nearest modes."""
    labels = np.empty(len(codes), np.int64)
    chunk = max(1, 20_000_000 // max(1, modes.size))
    for start in range(0, len(codes), chunk):
        part = codes[start : start + chunk]
        distances = np.zeros((len(part), len(modes)), np.int16)
        for j in range(codes.shape[1]):
            distances += part[:, j, None] != modes[None, :, j]
        labels[start : start + chunk] = distances.argmin(axis=1)
    return labels


def _modes(codes: NDArray[np.int32], labels: NDArray[np.int64], old: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the plurality mode of each cluster; an empty cluster keeps its old mode."""
    modes = old.copy()
    for j, column in enumerate(codes.T):
        domain = int(column.max()) + 1
        cells, counts = np.unique(labels * domain + column, return_counts=True)
        order = np.lexsort((-cells, counts))  # the most frequent last, the lowest value among equals
        modes[cells[order] // domain, j] = cells[order] % domain
    return modes
