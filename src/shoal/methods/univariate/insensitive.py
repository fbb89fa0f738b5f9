"""Insensitive microaggregation: groups of k along an order of all possible records that does not depend on the data.

Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2014, section 4; Thaeter 2021, Def. 3.19. Changing one record then
changes every group in at most one element, so that the sensitivity of a centroid falls by the factor k: the basis for
a differentially private release with little noise. The price is a larger loss than that of methods which look at the
data. ``is_insensitive`` tests the property on any method; those that start from the centroid of the data fail it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.registry import method

Order = Literal["sum", "lexicographic"]


@method(
    "insensitive",
    title="Groups of k consecutive records in an order that is fixed before the data is seen",
    cost="O(n log n + n d)",
    guarantee="k, only the last group up to 2k-1; changing a record changes each group in at most one element",
    reference="Soria-Comas et al. 2014, section 4; Thaeter 2021, Def. 3.19",
    when="Before noise for differential privacy is added; otherwise other methods lose less",
    max_size=lambda k: 2 * k - 1,
)
def insensitive(
    points: NDArray[np.float64],
    k: int,
    *,
    order: Order = "sum",
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group records that follow each other in a fixed order.

    Parameters
    ----------
    points
        n x d. The guarantee is about these numbers: standardise them by bounds that are known in advance, not by the
        data, where it matters.
    k
        The smallest group allowed.
    order
        ``sum``: by the sum of the coordinates, which is the distance to a corner far below all possible records, then
        coordinate by coordinate. ``lexicographic``: coordinate by coordinate.
    progress
        Hears how far the work is.

    Returns
    -------
    labels
        Groups of k, the last of k to 2k-1.

    Examples
    --------
    >>> insensitive(np.array([[0.0, 1.0], [9.0, 9.0], [1.0, 1.0], [8.0, 7.0], [7.0, 9.0]]), 2).tolist()
    [0, 1, 0, 1, 1]
    """
    if order not in {"sum", "lexicographic"}:
        raise ParameterError(f'order="{order}" is not known; choose sum or lexicographic')
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
    group: Callable[[NDArray[np.float64], int], NDArray[Any]],
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
        ``group(points, k) -> labels``.
    points
        n x d.
    k
        The smallest group allowed.
    trials
        How many changes to try: a record, and what it becomes, drawn at random around the data.
    seed
        For the draws.

    Returns
    -------
    insensitive
        False if a change was found that alters some group in more than one element; True if none of the trials did.

    Examples
    --------
    >>> from shoal.methods.distance.mdav import mdav
    >>> points = np.random.default_rng(0).normal(size=(60, 2))
    >>> is_insensitive(insensitive, points, 3), is_insensitive(mdav, points, 3)
    (True, False)
    """
    rng = np.random.default_rng(seed)
    n, d = points.shape
    before = canonical_labels(np.asarray(group(points, k)))
    spread = points.std(axis=0)
    for _ in range(trials):
        record = int(rng.integers(n))
        changed = points.copy()
        changed[record] = points[int(rng.integers(n))] + rng.normal(size=d) * spread
        after = canonical_labels(np.asarray(group(changed, k)))
        if not _differ_in_one(before, after, record):
            return False
    return True


def _differ_in_one(before: NDArray[np.int64], after: NDArray[np.int64], record: int) -> bool:
    """Whether groups can be paired so that each pair has at most one more element together than the smaller has.

    The changed record counts as two: what it was, and what it became.
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
    """Whether every row can have a column of its own (augmenting paths)."""
    row_of = np.full(len(allowed), -1)

    def place(row: int, seen: set[int]) -> bool:
        for column in np.flatnonzero(allowed[row]).tolist():
            if column in seen:
                continue
            seen.add(column)
            if row_of[column] < 0 or place(int(row_of[column]), seen):
                row_of[column] = row
                return True
        return False

    return all(place(row, set()) for row in range(len(allowed)))
