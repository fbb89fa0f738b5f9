"""Groups that keep limits beyond k, from the groups of any method: exchange, join, split, refine.

All limits (l, p, alpha, beta, t) have one thing in common: if two groups keep them, so do both together. So one group
of all records of a block is the best that can be reached, and a target beyond that is refused with that best value.
From the labels of a method, groups that break a limit exchange records with their neighbours or join them, whichever
costs less per amount of violation removed (see ``exchange``); groups that grew are split where both parts keep the
limits; then records are exchanged while that lowers the squared error and breaks nothing. For t-closeness this is the
merging and swapping of Soria-Comas et al. 2015, sections 5 and 6, for groups of any method. Neighbours are looked up
only for groups that break a limit; cost about O(n log n) for a fixed group size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.privacy.counts import Floats, Integers
from shoal.privacy.requirement_exchange import KEPT, NO_WAY, LimitTable, exchange, violations
from shoal.privacy.requirement_splitting import split_groups

_AROUND = 6
_DIMENSIONS = 8
_SLACK = 5
_PASSES = 3


class _State:
    """The groups while they are repaired: members in one array, with some room behind each group."""

    def __init__(self, points: Floats, codes: Integers, table: LimitTable, labels: Integers) -> None:
        self.points, self.codes, self.table = points, codes, table
        self.rebuild(labels)

    def rebuild(self, labels: Integers) -> None:
        """Lay the groups out anew."""
        labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
        self.sizes = np.bincount(labels).astype(np.int64)
        self.room = self.sizes + _SLACK
        self.starts = np.append(0, np.cumsum(self.room)[:-1]).astype(np.int64)
        order = np.argsort(labels, kind="stable")
        first = np.append(0, np.cumsum(self.sizes)[:-1])
        places = np.repeat(self.starts - first, self.sizes) + np.arange(labels.size)
        self.members = np.full(int(self.room.sum()), -1, np.int64)
        self.members[places] = order
        self.centroids = np.column_stack([np.bincount(labels, column) for column in self.points.T])
        self.centroids = np.ascontiguousarray(self.centroids / self.sizes[:, None])
        self.broken = violations(self.codes, self.members, self.starts, self.sizes, self.table)

    def labels(self) -> Integers:
        """Return the group of each record."""
        groups = np.repeat(np.arange(self.sizes.size), self.sizes)
        ends = np.cumsum(self.sizes)
        places = np.repeat(self.starts - (ends - self.sizes), self.sizes) + np.arange(int(ends[-1]))
        labels = np.empty(len(self.points), np.int64)
        labels[self.members[places]] = groups
        return labels

    def around(self, queue: Integers, *, kept: NDArray[np.bool_] | None = None) -> Integers:
        """Return the groups with the nearest centroids for each group of the queue, -1 where there are no more."""
        from scipy.spatial import cKDTree

        candidates = np.arange(self.sizes.size) if kept is None else np.flatnonzero(kept)
        count = min(_AROUND + 1, candidates.size)
        if count < 1:
            return np.full((queue.size, 1), -1, np.int64)
        spread = self.centroids.var(axis=0)
        axes = np.sort(np.argsort(-spread, kind="stable")[:_DIMENSIONS])
        seen = np.ascontiguousarray(self.centroids[:, axes])
        _, found = cKDTree(seen[candidates]).query(seen[queue], k=count)
        near: Integers = candidates[np.asarray(found).reshape(queue.size, count)]
        return np.where(near == queue[:, None], -1, near)


def keep_limits(
    points: Floats,
    labels: Integers,
    k: int,
    codes: Integers,
    table: LimitTable,
    *,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> Integers:
    """Return groups that keep all limits, near the given ones.

    Parameters
    ----------
    points
        n x d, standardised.
    labels
        The groups of any method, each with at least k records.
    k
        The smallest group allowed.
    codes
        n x columns: the values of the confidential columns.
    table
        The limits; all records together must keep them.
    progress
        Hears how many groups still break a limit.
    facts
        Receives how many groups broke a limit at first, and how many exchanges, joins and splits repaired them.

    Returns
    -------
    labels
        Groups of at least k records, each of which keeps every limit.
    """
    points, codes = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(codes, np.int64)
    state = _State(points, codes, table, labels)
    told = {"groups that broke a limit": int((state.broken > KEPT).sum()), "exchanges": 0, "joins": 0, "splits": 0}
    if told["groups that broke a limit"]:
        _repair(state, k, told, progress)
        _refine(state, k, told, progress)
    if facts is not None:
        facts.update(told)
    return state.labels()


def _repair(state: _State, k: int, told: dict[str, int], progress: Progress) -> None:
    progress.stage("keeping limits", told["groups that broke a limit"])
    open_before = told["groups that broke a limit"]
    while (queue := np.flatnonzero(state.broken > KEPT)).size:
        progress.advance(max(open_before - queue.size, 0))
        open_before = min(open_before, queue.size)
        near = np.hstack([state.around(queue), state.around(queue, kept=state.broken <= KEPT)])
        near = _without_repeats(near)
        wish = np.full(state.sizes.size, -1, np.int64)
        steps = _exchange(state, queue, near, k, wish, refining=False)
        labels, joins = _join(state, queue, near, wish)
        told["exchanges"] += steps
        told["joins"] += joins
        if not steps and not joins:  # one group is left, and the limits are out of reach
            break
        state.rebuild(labels)


def _without_repeats(near: Integers) -> Integers:
    """Return the neighbours with -1 where one has been named before in the row."""
    order = np.argsort(near, axis=1, kind="stable")
    ordered = np.take_along_axis(near, order, axis=1)
    again = np.zeros(near.shape, bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(again, -1, near)


def _exchange(state: _State, queue: Integers, near: Integers, k: int, wish: Integers, *, refining: bool) -> int:
    return int(
        exchange(
            state.points, state.codes, state.table, state.members, state.starts, state.room, state.sizes,
            state.centroids, state.broken, queue, near, k, refining, wish,
        )
    )  # fmt: skip


def _join(state: _State, queue: Integers, near: Integers, wish: Integers) -> tuple[Integers, int]:
    """Join groups that wish it, the cheapest first, each at most once; one that found no way joins its nearest."""
    still = state.broken[queue] > KEPT
    left, near = queue[still], near[still]
    target = wish[left]
    lost = target == NO_WAY
    if lost.any():
        first = np.argmax(near[lost] >= 0, axis=1)
        target[lost] = near[lost][np.arange(int(lost.sum())), first]
    labels = state.labels()
    left, target = left[target >= 0], target[target >= 0]
    if not left.size:
        return labels, 0
    sizes = state.sizes
    apart = ((state.centroids[left] - state.centroids[target]) ** 2).sum(axis=1)
    cost = apart * sizes[left] * sizes[target] / (sizes[left] + sizes[target])
    free = np.ones(sizes.size, bool)
    number = np.arange(sizes.size)
    joins = 0
    for place in np.argsort(cost, kind="stable"):
        g, h = int(left[place]), int(target[place])
        if free[g] and free[h]:
            free[g] = free[h] = False
            number[g] = h
            joins += 1
    return number[labels], joins


def _refine(state: _State, k: int, told: dict[str, int], progress: Progress) -> None:
    """Split what grew, then exchange while that lowers the squared error and breaks nothing."""
    progress.stage("refining", _PASSES)
    for _ in range(_PASSES):
        labels, splits = split_groups(state, k)
        told["splits"] += splits
        if splits:
            state.rebuild(labels)
        queue = np.arange(state.sizes.size)
        wish = np.full(queue.size, -1, np.int64)
        steps = _exchange(state, queue, state.around(queue), k, wish, refining=True)
        told["exchanges"] += steps
        state.rebuild(state.labels())
        progress.advance()
        if not steps and not splits:
            break
