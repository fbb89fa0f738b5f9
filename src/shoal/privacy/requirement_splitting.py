"""Split groups that grew while they were repaired, where both parts satisfy the requirements.

A group is projected on the line between two of its most distant members and cut where the squared error falls most
among the cuts that leave k records and no violation on either side. All groups are split at once, again and again until
none can be split.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.requirement_violation import SATISFIED, violations
from shoal.privacy.counts import Floats, Integers

_CUTS = 9  # cuts that are tried for each group


def split_groups(state: Any, k: int) -> tuple[Integers, int]:
    """Return the labels after splitting every group of 2k or more that can be split, and the number of splits."""
    labels: Integers = state.labels()
    sizes = np.bincount(labels)
    open_groups = sizes >= 2 * k
    count = sizes.size
    splits = 0
    while open_groups.any():
        records = np.flatnonzero(open_groups[labels])
        group = np.unique(labels[records], return_inverse=True)[1].reshape(-1)
        old = np.flatnonzero(open_groups)
        order = records[np.lexsort((_along(state.points[records], group), group))]
        sizes = np.bincount(group)
        cut = _best_cuts(state, order, sizes, k)
        found = np.flatnonzero(cut > 0)
        position = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        second = (np.repeat(cut, sizes) > 0) & (position >= np.repeat(cut, sizes))
        new = np.zeros(sizes.size, np.int64)
        new[found] = count + np.arange(found.size)
        labels[order[second]] = np.repeat(new, sizes)[second]
        count += found.size
        splits += found.size
        open_groups = np.zeros(count, bool)
        open_groups[old[found]] = cut[found] >= 2 * k
        open_groups[new[found]] = sizes[found] - cut[found] >= 2 * k
    return labels, splits


def _along(points: Floats, group: Integers) -> Floats:
    """Return the position of each record on the line between two distant members of its group."""
    sizes = np.bincount(group)
    centroids = np.column_stack([np.bincount(group, column) for column in points.T]) / sizes[:, None]
    first = _farthest(points, centroids[group], group)
    second = _farthest(points, points[first][group], group)
    along: Floats = np.einsum("ij,ij->i", points, points[second][group] - points[first][group])
    return along


def _farthest(points: Floats, reference: Floats, group: Integers) -> Integers:
    """Return the member of each group that is farthest from its reference; the first of several."""
    apart = ((points - reference) ** 2).sum(axis=1)
    order = np.lexsort((np.arange(group.size), -apart, group))
    return order[np.unique(group[order], return_index=True)[1]]


def _best_cuts(state: Any, order: Integers, sizes: Integers, k: int) -> Integers:
    """Return where to cut each group, as the number of records of its first part; 0 where no cut is allowed."""
    ends = np.cumsum(sizes)
    firsts = ends - sizes
    sums = np.vstack([np.zeros(state.points.shape[1]), np.cumsum(state.points[order], axis=0)])
    parts = np.rint(k + (sizes - 2 * k)[:, None] * np.linspace(0.0, 1.0, _CUTS)).astype(np.int64)
    whole = (sums[ends] - sums[firsts])[:, None, :]
    first = sums[firsts[:, None] + parts] - sums[firsts][:, None, :]
    left, right = parts[..., None], (sizes[:, None] - parts)[..., None]
    gap = ((first / left - (whole - first) / right) ** 2).sum(axis=2)
    gain = gap * (parts * (sizes[:, None] - parts)) / sizes[:, None]
    starts = np.stack([np.broadcast_to(firsts[:, None], parts.shape), firsts[:, None] + parts], axis=2)
    lengths = np.stack([parts, sizes[:, None] - parts], axis=2)
    violation = violations(
        state.codes, order, starts.reshape(-1).astype(np.int64), lengths.reshape(-1).astype(np.int64), state.table
    )
    allowed = (violation.reshape(lengths.shape) <= SATISFIED).all(axis=2)
    best = np.argmax(np.where(allowed, gain, -1.0), axis=1)
    rows = np.arange(sizes.size)
    return np.where(allowed[rows, best], parts[rows, best], 0)
