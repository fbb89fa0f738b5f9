"""Groups that satisfy requirements beyond k, from the groups of any method: exchange, merge, split, refine.

All requirements (l, p, alpha, beta, t) have one property in common: if two groups satisfy them, so do both merged. So
one group of all records of a block is the best that can be achieved, and a stricter requirement is rejected with that
best value. From the labels of a method, groups that violate a requirement exchange records with their neighbours or are
merged with them, whichever costs less per amount of violation removed (see ``requirement_exchange``); groups that grew
are split where both parts satisfy the requirements; then records are exchanged while that lowers the squared error and
violates nothing. For t-closeness this is the merging and swapping of Soria-Comas et al. 2015, sections 5 and 6, for
groups of any method. Neighbours are searched only for groups that violate a requirement; cost about O(n log n) for a
fixed group size.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.requirement_violation import SATISFIED, RequirementTable, violations
from shoal.privacy.counts import Floats, Integers
from shoal.privacy.requirement_exchange import NO_STEP, exchange
from shoal.privacy.requirement_splitting import split_groups

_NEIGHBOURS = 6
_SEARCH_COLUMNS = 8  # columns of largest variance in which neighbours are searched
_SPARE_MEMBERS = 5
_REFINEMENT_PASSES = 3


@dataclass(frozen=True, eq=False)
class Enforcement:
    """Groups that satisfy requirements, and the steps that led to them.

    Parameters
    ----------
    labels
        The group of each record.
    groups_violating
        The number of groups that violated a requirement at first.
    exchanges, merges, splits
        The number of steps of each kind.
    groups_repaired
        The number of groups that still violated a requirement after a search with a price, where there was one.
    """

    labels: Integers
    groups_violating: int = 0
    exchanges: int = 0
    merges: int = 0
    splits: int = 0
    groups_repaired: int = 0

    def counts(self) -> dict[str, int]:
        """Return the number of violating groups and of steps by name, for diagnostics."""
        names = ("groups_violating", "groups_repaired", "exchanges", "merges", "splits")
        return {name: getattr(self, name) for name in names}


class _State:
    """The groups while they are repaired: members in one array, with some spare entries behind each group."""

    def __init__(self, points: Floats, codes: Integers, table: RequirementTable, labels: Integers) -> None:
        self.points, self.codes, self.table = points, codes, table
        self.rebuild(labels)

    def rebuild(self, labels: Integers) -> None:
        """Write the groups into new arrays."""
        labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
        self.sizes = np.bincount(labels).astype(np.int64)
        self.capacity = self.sizes + _SPARE_MEMBERS
        self.starts = np.append(0, np.cumsum(self.capacity)[:-1]).astype(np.int64)
        order = np.argsort(labels, kind="stable")
        first = np.append(0, np.cumsum(self.sizes)[:-1])
        positions = np.repeat(self.starts - first, self.sizes) + np.arange(labels.size)
        self.members = np.full(int(self.capacity.sum()), -1, np.int64)
        self.members[positions] = order
        self.centroids = np.column_stack([np.bincount(labels, column) for column in self.points.T])
        self.centroids = np.ascontiguousarray(self.centroids / self.sizes[:, None])
        self.violation = violations(self.codes, self.members, self.starts, self.sizes, self.table)

    def labels(self) -> Integers:
        """Return the group of each record."""
        groups = np.repeat(np.arange(self.sizes.size), self.sizes)
        ends = np.cumsum(self.sizes)
        positions = np.repeat(self.starts - (ends - self.sizes), self.sizes) + np.arange(int(ends[-1]))
        labels = np.empty(len(self.points), np.int64)
        labels[self.members[positions]] = groups
        return labels

    def around(self, queue: Integers, *, among: NDArray[np.bool_] | None = None) -> Integers:
        """Return the groups with the nearest centroids for each group of the queue, -1 where there are no more.

        ``among`` restricts the search to some groups.
        """
        from scipy.spatial import cKDTree

        candidates = np.arange(self.sizes.size) if among is None else np.flatnonzero(among)
        count = min(_NEIGHBOURS + 1, candidates.size)
        if count < 1:
            return np.full((queue.size, 1), -1, np.int64)
        variance = self.centroids.var(axis=0)
        columns = np.sort(np.argsort(-variance, kind="stable")[:_SEARCH_COLUMNS])
        centroids = np.ascontiguousarray(self.centroids[:, columns])
        _, found = cKDTree(centroids[candidates]).query(centroids[queue], k=count)
        near: Integers = candidates[np.asarray(found).reshape(queue.size, count)]
        return np.where(near == queue[:, None], -1, near)


def satisfy_requirements(
    points: Floats, labels: Integers, k: int, codes: Integers, table: RequirementTable, *, progress: Progress = SILENT
) -> Enforcement:
    """Return groups near the given ones that satisfy all requirements.

    Parameters
    ----------
    points
        n x d, standardised.
    labels
        The groups of any method, each with at least k records.
    k
        The minimum group size.
    codes
        n x columns: the values of the confidential columns.
    table
        The requirements; all records in one group must satisfy them.
    progress
        Progress callback: the number of groups that still violate a requirement.

    Returns
    -------
    enforcement
        Groups of at least k records, each of which satisfies every requirement, and the number of steps. Groups without
        any violation are returned unchanged.
    """
    points, codes = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(codes, np.int64)
    state = _State(points, codes, table, labels)
    violating = int((state.violation > SATISFIED).sum())
    if not violating:
        return Enforcement(state.labels())
    steps = _repair(state, k, violating, progress) + _refine(state, k, progress)
    return Enforcement(state.labels(), violating, steps["exchanges"], steps["merges"], steps["splits"])


def count_violating(labels: Integers, codes: Integers, table: RequirementTable) -> int:
    """Return how many groups violate a requirement.

    Parameters
    ----------
    labels
        The group of each record, 0, 1, ... without gaps.
    codes, table
        As in :func:`satisfy_requirements`.
    """
    sizes = np.bincount(labels).astype(np.int64)
    members = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    return int((violations(np.ascontiguousarray(codes, np.int64), members, starts, sizes, table) > SATISFIED).sum())


def repair_violating(
    points: Floats, labels: Integers, k: int, codes: Integers, table: RequirementTable, *, progress: Progress = SILENT
) -> Enforcement:
    """Return groups near the given ones that satisfy all requirements; only groups near violating ones are read.

    Violating groups and those around them are repaired as a table of their own, without refinement. Where they cannot
    satisfy the requirements among themselves, more of the groups around them join in, and at last all.

    Parameters
    ----------
    points, labels, k, codes, table, progress
        As in :func:`satisfy_requirements`; with a requirement of k different units, groups may have fewer records.

    Returns
    -------
    enforcement
        Groups that satisfy every requirement, if one group of all records does, and the number of steps.
    """
    points, codes = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(codes, np.int64)
    state = _State(points, codes, table, labels)
    labels = state.labels()
    violating = state.violation > SATISFIED
    first, steps = int(violating.sum()), Counter[str]()
    reached = violating
    while violating.any():
        if not reached.all():
            wider = reached.copy()
            for among in (None, ~violating):
                near = state.around(np.flatnonzero(reached), among=among)
                wider[near[near >= 0]] = True
            reached = wider if (wider > reached).any() else np.ones_like(reached)
        rows = np.flatnonzero(reached[labels])
        part = _State(points[rows], codes[rows], table, labels[rows])
        steps += _repair(part, k, first, progress)
        if reached.all() or not (part.violation > SATISFIED).any():
            labels[rows] = part.labels() + labels.size
            break
    return Enforcement(ordered_labels(labels), first, steps["exchanges"], steps["merges"])


def merge_groups(
    points: Floats, labels: Integers, codes: Integers, table: RequirementTable, *, progress: Progress = SILENT
) -> Enforcement:
    """Return unions of the given groups that satisfy all requirements; no group is ever divided.

    Used where records with identical quasi-identifiers must stay together: each violating group is merged with the
    group of the nearest centroid until none violates a requirement.

    Parameters
    ----------
    points, labels, codes, table, progress
        As in :func:`satisfy_requirements`.

    Returns
    -------
    enforcement
        The merged groups and the number of merges.
    """
    points, codes = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(codes, np.int64)
    state = _State(points, codes, table, labels)
    violating = int((state.violation > SATISFIED).sum())
    progress.stage("satisfying requirements", violating)
    merges = 0
    while (queue := np.flatnonzero(state.violation > SATISFIED)).size and state.sizes.size > 1:
        nearest = _first_neighbour(state.around(queue))
        merged_into = np.arange(state.sizes.size)
        used = np.zeros(state.sizes.size, bool)  # a group takes part in one merge of a pass
        for group, target in zip(queue.tolist(), nearest.tolist(), strict=True):
            if not used[group] and not used[target]:
                merged_into[group] = target
                used[[group, target]] = True
                merges += 1
        state.rebuild(merged_into[state.labels()])
    return Enforcement(state.labels(), violating, merges=merges)


def _first_neighbour(near: Integers) -> Integers:
    """Return the first group in each row of neighbours that is not -1."""
    first: Integers = near[np.arange(len(near)), (near >= 0).argmax(axis=1)]
    return first


def _repair(state: _State, k: int, violating: int, progress: Progress) -> Counter[str]:
    """Exchange records and merge groups until no group violates a requirement; returns the number of steps."""
    progress.stage("satisfying requirements", violating)
    steps: Counter[str] = Counter()
    while (queue := np.flatnonzero(state.violation > SATISFIED)).size:
        progress.advance(max(violating - queue.size, 0))
        violating = min(violating, queue.size)
        near = np.hstack([state.around(queue), state.around(queue, among=state.violation <= SATISFIED)])
        near = _without_repeats(near)
        merge_target = np.full(state.sizes.size, -1, np.int64)
        exchanges = _exchange(state, queue, near, k, merge_target, refining=False)
        labels, merges = _merge(state, queue, near, merge_target)
        steps.update(exchanges=exchanges, merges=merges)
        if not exchanges and not merges:  # one group is left, and it cannot satisfy the requirements
            break
        state.rebuild(labels)
    return steps


def _without_repeats(near: Integers) -> Integers:
    """Return the neighbours with -1 where one has been named before in the row."""
    order = np.argsort(near, axis=1, kind="stable")
    ordered = np.take_along_axis(near, order, axis=1)
    again = np.zeros(near.shape, bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(again, -1, near)


def _exchange(state: _State, queue: Integers, near: Integers, k: int, merge_target: Integers, *, refining: bool) -> int:
    return int(
        exchange(
            state.points, state.codes, state.table, state.members, state.starts, state.capacity, state.sizes,
            state.centroids, state.violation, queue, near, k, refining, merge_target,
        )
    )  # fmt: skip


def _merge(state: _State, queue: Integers, near: Integers, merge_target: Integers) -> tuple[Integers, int]:
    """Merge groups with their targets, the cheapest pairs first, each group at most once.

    A group for which no step helps is merged with its nearest neighbour.
    """
    still = state.violation[queue] > SATISFIED
    left, near = queue[still], near[still]
    target = merge_target[left]
    no_step = target == NO_STEP
    if no_step.any():
        first = np.argmax(near[no_step] >= 0, axis=1)
        target[no_step] = near[no_step][np.arange(int(no_step.sum())), first]
    labels = state.labels()
    left, target = left[target >= 0], target[target >= 0]
    sizes = state.sizes
    distance = ((state.centroids[left] - state.centroids[target]) ** 2).sum(axis=1)
    cost = distance * sizes[left] * sizes[target] / (sizes[left] + sizes[target])
    free = np.ones(sizes.size, bool)
    number = np.arange(sizes.size)
    merges = 0
    for position in np.argsort(cost, kind="stable"):
        g, h = int(left[position]), int(target[position])
        if free[g] and free[h]:
            free[g] = free[h] = False
            number[g] = h
            merges += 1
    return number[labels], merges


def _refine(state: _State, k: int, progress: Progress) -> Counter[str]:
    """Split groups that grew, then exchange records while that lowers the squared error and violates nothing."""
    progress.stage("refining", _REFINEMENT_PASSES)
    steps: Counter[str] = Counter()
    for _ in range(_REFINEMENT_PASSES):
        labels, splits = split_groups(state, k)
        if splits:
            state.rebuild(labels)
        queue = np.arange(state.sizes.size)
        merge_target = np.full(queue.size, -1, np.int64)
        exchanges = _exchange(state, queue, state.around(queue), k, merge_target, refining=True)
        steps.update(exchanges=exchanges, splits=splits)
        state.rebuild(state.labels())
        progress.advance()
        if not exchanges and not splits:
            break
    return steps
