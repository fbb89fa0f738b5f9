"""Global recoding: equal records stay in one group, so that equal values are always replaced by the same.

Thaeter 2021, Def. 3.1: a global scheme rests on a *multiset-respecting* grouping. Any grouping is made one: all copies
of a record go to the group that holds most of them; a group that has become too small takes the nearest records that
other groups can spare or, where there are none, is dissolved into the groups of its neighbours. Cost about O(n log n +
small groups x log n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_NEIGHBOURS = 64


def keep_together(records: Integers, labels: Integers, points: Floats, k: int) -> Integers:
    """Return labels in which equal records share a group of at least k.

    Parameters
    ----------
    records
        The same number for equal records.
    labels
        The group of each record, at least k in each.
    points
        The coordinates of each record; equal for equal records.
    k
        The smallest group allowed.

    Returns
    -------
    labels
        The groups, in no particular numbering.

    Examples
    --------
    >>> points = np.array([[3.0, 6.0], [6.0, 3.0], [9.0, 3.0], [9.0, 3.0], [12.0, 6.0], [12.0, 9.0]])
    >>> keep_together(np.array([0, 1, 2, 2, 3, 4]), np.array([0, 0, 0, 1, 1, 1]), points, 3).tolist()
    [0, 1, 0, 0, 1, 1]
    """
    first, which, counts = _distinct(records)
    group = _majority(which, labels)
    sizes = np.bincount(group, counts, minlength=int(labels.max()) + 1).astype(np.int64)
    small = [int(g) for g in np.flatnonzero((sizes > 0) & (sizes < k))]
    if small:
        _Repair(points[first], counts, group, sizes, k).run(small)
    return group[which]


def _distinct(records: Integers) -> tuple[Integers, Integers, Integers]:
    _, first, which, counts = np.unique(records, return_index=True, return_inverse=True, return_counts=True)
    return first, which.reshape(-1), counts


def _majority(which: Integers, labels: Integers) -> Integers:
    """Return, for each distinct record, the group with most of its copies; ties go to the lowest label."""
    groups = int(labels.max()) + 1
    keys, counts = np.unique(which * groups + labels, return_counts=True)
    record, group = np.divmod(keys, groups)
    order = np.lexsort((group, -counts, record))
    starts = np.searchsorted(record[order], np.arange(int(which.max()) + 1))
    return group[order][starts]


class _Repair:
    """Distinct records in groups, and the moves that make small groups large enough."""

    def __init__(self, points: Floats, counts: Integers, group: Integers, sizes: Integers, k: int) -> None:
        from scipy.spatial import cKDTree

        self.points, self.counts, self.group, self.sizes, self.k = points, counts, group, sizes, k
        self.tree = cKDTree(points)
        self.members: dict[int, set[int]] = {}

    def run(self, small: list[int]) -> None:
        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group[order], [*small, *(g + 1 for g in small)])
        for place, g in enumerate(small):
            self.members[g] = set(order[starts[place] : starts[place + len(small)]].tolist())
        for g in sorted(small, key=lambda g: -int(self.sizes[g])):
            if 0 < self.sizes[g] < self.k and not self._filled(g):
                self._dissolve(g)

    def _filled(self, g: int) -> bool:
        """Take the nearest records that other groups can spare; False where too few are near."""
        inside = sorted(self.members[g])
        centre = np.average(self.points[inside], axis=0, weights=self.counts[inside])
        for u in self._near(centre):
            h = int(self.group[u])
            if h != g and self.sizes[h] - self.counts[u] >= self.k:
                self._move(u, g)
                if self.sizes[g] >= self.k:
                    return True
        return False

    def _dissolve(self, g: int) -> None:
        for u in sorted(self.members[g]):
            near = (v for v in self._near(self.points[u]) if self.group[v] != g)
            v = next(near, None)
            if v is None:
                others = np.flatnonzero(self.group != g)
                if not others.size:
                    return  # everything is one group
                v = int(others[((self.points[others] - self.points[u]) ** 2).sum(axis=1).argmin()])
            self._move(u, int(self.group[v]))

    def _near(self, point: Floats) -> list[int]:
        count = min(_NEIGHBOURS, len(self.points))
        found = np.atleast_1d(self.tree.query(point, k=count)[1])
        return [int(u) for u in found]

    def _move(self, u: int, target: int) -> None:
        source = int(self.group[u])
        self.sizes[source] -= self.counts[u]
        self.sizes[target] += self.counts[u]
        self.group[u] = target
        for g, change in ((source, set.discard), (target, set.add)):
            if g in self.members:
                change(self.members[g], u)
