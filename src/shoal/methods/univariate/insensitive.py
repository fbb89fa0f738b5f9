"""Insensitive microaggregation: groups of k along an order of all possible records that does not depend on the data.

Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2014, section 4; Thaeter 2021, Def. 3.19. Changing one record then
changes every group in at most one element, which divides the sensitivity of a centroid by k: the basis for a
differentially private release with little noise. The loss is larger than that of methods that read the data before
they order it. ``is_insensitive`` tests the property for any method; those that start from the centroid of the data do
not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Insensitive, OneLargerGroup, Outcome, labels_of
from shoal.methods.registry import method

Order = Literal["sum", "lexicographic"]


@method(
    "insensitive",
    title="Groups of k consecutive records in an order that does not depend on the data",
    complexity="n log n + n d",
    guarantees=(OneLargerGroup(), Insensitive()),
    reference="Soria-Comas et al. 2014, section 4; Thaeter 2021, Def. 3.19",
    when="before noise for differential privacy is added; otherwise other methods lose less",
    max_size=lambda k: 2 * k - 1,
)
def insensitive(
    points: NDArray[np.float64],
    k: int,
    *,
    order: Order = "sum",
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records that are consecutive in a fixed order.

    Parameters
    ----------
    points
        Coordinates of the records, n x d. The guarantee holds for these numbers: for differential privacy, standardise
        them by bounds that are known in advance, not by the data.
    order
        ``sum``: by the sum of the coordinates, which is the distance to a corner far below all possible records, then
        coordinate by coordinate. ``lexicographic``: coordinate by coordinate.

    Examples
    --------
    >>> insensitive(np.array([[0.0, 1.0], [9.0, 9.0], [1.0, 1.0], [8.0, 7.0], [7.0, 9.0]]), 2).tolist()
    [0, 1, 0, 1, 1]
    """
    n, d = points.shape
    progress.stage("grouping", n)
    keys = [points[:, j] for j in range(d - 1, -1, -1)]
    if order == "sum":
        total = np.zeros(n)
        for j in range(d):
            total += points[:, j]
        keys.append(total)
    ranks = np.empty(n, np.int64)
    ranks[np.lexsort(keys)] = np.arange(n)
    progress.advance(n)
    return np.minimum(ranks // k, n // k - 1)


def is_insensitive(
    group: Callable[[NDArray[np.float64], int], NDArray[Any] | Outcome],
    points: NDArray[np.float64],
    k: int,
    *,
    trials: int = 100,
    seed: int = 0,
) -> bool:
    """Test whether changing one record changes every group in at most one element (Thaeter 2021, Def. 3.19).

    Parameters
    ----------
    group
        A grouping method: ``group(points, k)`` returns labels or an outcome.
    points
        n x d.
    k
        Minimum group size.
    trials
        How many changes to try: a record and its new values, drawn at random around the data.
    seed
        Seed of the random changes.

    Returns
    -------
    insensitive
        False if a trial changed some group in more than one element, else True.

    Examples
    --------
    >>> from shoal.methods.running import run
    >>> points = np.random.default_rng(0).normal(size=(60, 2))
    >>> is_insensitive(insensitive, points, 3), is_insensitive(lambda points, k: run("mdav", points, k), points, 3)
    (True, False)
    """
    rng = np.random.default_rng(seed)
    n, d = points.shape
    before = canonical_labels(np.asarray(labels_of(group(points, k))))
    deviation = points.std(axis=0)
    for _ in range(trials):
        record = int(rng.integers(n))
        changed = points.copy()
        changed[record] = points[int(rng.integers(n))] + rng.normal(size=d) * deviation
        after = canonical_labels(np.asarray(labels_of(group(changed, k))))
        if not _differ_in_one(before, after, record):
            return False
    return True


def _differ_in_one(before: NDArray[np.int64], after: NDArray[np.int64], record: int) -> bool:
    """Return whether groups can be paired so that the union of each pair has at most one element more than the smaller.

    The changed record counts as two elements, one before and one after the change.
    """
    sizes, new_sizes = np.bincount(before), np.bincount(after)
    if sizes.size != new_sizes.size:
        return False
    kept = np.arange(before.size) != record
    common = np.zeros((sizes.size, sizes.size), np.int64)
    np.add.at(common, (before[kept], after[kept]), 1)
    union = sizes[:, None] + new_sizes[None, :] - common
    allowed = union <= np.minimum(sizes[:, None], new_sizes[None, :]) + 1
    return _can_be_paired(allowed)


def _can_be_paired(allowed: NDArray[np.bool_]) -> bool:
    """Return whether every row can be matched with its own column (augmenting paths)."""
    row_of = np.full(len(allowed), -1)

    def match(row: int, seen: set[int]) -> bool:
        for column in np.flatnonzero(allowed[row]).tolist():
            if column in seen:
                continue
            seen.add(column)
            if row_of[column] < 0 or match(int(row_of[column]), seen):
                row_of[column] = row
                return True
        return False

    return all(match(row, set()) for row in range(len(allowed)))
