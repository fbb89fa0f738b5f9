"""Moves of records between groups: dissolve a group of k, reassign a record, split a group of 2k.

The two moves of ONA* (Thaeter 2021, Algorithms 15 to 17; Thaeter & Reischuk 2021, Algorithm 3). A record always goes to
the nearest centroid, and only if the cost falls by more than the tolerance; so the cost never rises and the search
ends. A bound on the distance excludes moves that cannot pay before the nearest centroid is searched for: a record that
leaves saves a known amount, and joining a group of m costs m/(m+1) ≥ k/(k+1) of its squared distance. A move that did
not pay is not tried again until a centroid has moved near enough to alter that: every change is written into a log.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.box_tree import LEAF, NOT_FOUND, remove, search
from shoal.methods.kernels.centroid_index import update_index
from shoal.methods.kernels.centroids import Groups, add, cost_of_joining, groups_of_labels
from shoal.methods.kernels.projected_points import ProjectedPoints
from shoal.methods.kernels.small_mdav import cost_of, squared_distance

DISSOLVED, REASSIGNED, SPLIT, VISITED, LARGE, LOGGED = range(6)
LOG_BLOCKS = 64


class MoveState(NamedTuple):
    """Membership of the records, and the log of changes.

    Parameters
    ----------
    labels
        The group of each record.
    members
        The records of each group in ascending order, with capacity for 3k.
    origin
        For each group the one it descends from by splits.
    counters
        Groups dissolved, records reassigned, groups split; the visits made; the groups that are too large now; the
        entries in the log.
    change_log
        Positions of centroids before and after each change: blocks x the length of a projection x 32; inf where nothing
        is written yet.
    changes_seen
        The length of the log when a group was last visited in vain.
    radii
        The distance from its centroid within which a change could alter that; -1 if the group itself has changed.
    near
        For the records of groups of k, a lower bound of the squared distance to all other centroids at that time.
    """

    labels: NDArray[np.int64]
    members: NDArray[np.int64]
    origin: NDArray[np.int64]
    counters: NDArray[np.int64]
    change_log: NDArray[np.float64]
    changes_seen: NDArray[np.int64]
    radii: NDArray[np.float64]
    near: NDArray[np.float64]


class Scratch(NamedTuple):
    """Work arrays: targets and records that move, the result of a search, and the groups that have become too large."""

    targets: NDArray[np.int64]
    joining: NDArray[np.int64]
    far: NDArray[np.float64]
    target: NDArray[np.int64]
    large: NDArray[np.int64]


def scratch_for(k: int) -> Scratch:
    """Return the work arrays of the kernels."""
    return Scratch(
        np.empty(k, np.int64), np.empty(3 * k, np.int64), np.empty(1), np.empty(1, np.int64), np.empty(k, np.int64)
    )


def begin_moves(projected: ProjectedPoints, labels: NDArray[np.int64], k: int) -> tuple[Groups, MoveState]:
    """Return the state of a grouping whose labels are 0, 1, ... and whose groups have fewer than 2k records."""
    sizes = np.bincount(labels)
    capacity = sizes.size + sizes.size // 4 + 4 * k + 16
    order = np.argsort(labels, kind="stable")
    members = np.zeros((capacity, 3 * k), np.int64)
    members[labels[order], np.arange(labels.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = order
    state = MoveState(
        labels.copy(),
        members,
        np.arange(capacity),
        np.zeros(6, np.int64),
        np.full((LOG_BLOCKS + k // 2, projected.projections.shape[1], LEAF), np.inf),
        np.zeros(capacity, np.int64),
        np.full(capacity, -1.0),
        np.zeros(labels.size),
    )
    return groups_of_labels(projected, labels, capacity), state


def with_more_capacity(groups: Groups, state: MoveState) -> tuple[Groups, MoveState]:
    """Return the same state with the capacity for twice as many groups."""

    def longer(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array, np.zeros_like(array)])

    sizes, sums, centroids, projections, used = groups
    origin = np.concatenate([state.origin, np.arange(state.origin.size, 2 * state.origin.size)])
    means = longer(centroids)
    return (
        Groups(longer(sizes), longer(sums), means, means if projections is centroids else longer(projections), used),
        state._replace(
            members=longer(state.members),
            origin=origin,
            changes_seen=longer(state.changes_seen),
            radii=np.concatenate([state.radii, np.full_like(state.radii, -1.0)]),
        ),
    )


def clear_full_log(state: MoveState, k: int) -> None:
    """Clear the log if it is nearly full; every group has to be visited again then."""
    if state.counters[LOGGED] + 12 * k + 16 > state.change_log.shape[0] * LEAF:
        state.change_log[:] = np.inf
        state.radii[:] = -1.0
        state.counters[LOGGED] = 0


@inner
def log_change(change_log: Any, counters: Any, projections: Any, g: int) -> None:
    """Write the position of the centroid of a group into the log."""
    number = counters[LOGGED]
    counters[LOGGED] = number + 1
    for j in range(change_log.shape[1]):
        change_log[number >> 5, j, number & 31] = projections[g, j]


@inner
def nearest_change(change_log: Any, start: int, stop: int, projections: Any, q: int, stack: Any) -> float:
    """Return the least squared distance of the entries start..stop-1 of the log to projection q."""
    width = change_log.shape[2]
    least = np.inf
    for block in range(start >> 5, (stop + 31) >> 5):
        for i in range(width):
            stack[0, i] = 0.0
        for j in range(change_log.shape[1]):
            centre = projections[q, j]
            for i in range(width):
                gap = change_log[block, j, i] - centre
                stack[0, i] += gap * gap
        for i in range(max(start - (block << 5), 0), width):
            least = min(least, stack[0, i])
    return least


@inner
def transfer(
    points: Any, axes: Any, labels: Any, members: Any, counters: Any, change_log: Any, radii: Any, sizes: Any, sums:
    Any, centroids: Any, projections: Any, cells: Any, numbers: Any, layout: Any, positions: Any, r: int, g: int,
) -> None:  # fmt: skip
    """Move a record from its group to group g, which may be new; a group whose last record leaves ends."""
    old = labels[r]
    i = np.int64(0)
    while members[old, i] != r:
        i += 1
    while i < sizes[old] - 1:
        members[old, i] = members[old, i + 1]
        i += 1
    i = sizes[g]
    while i > 0 and members[g, i - 1] > r:
        members[g, i] = members[g, i - 1]
        i -= 1
    members[g, i] = r
    labels[r] = g
    sign = np.int64(-1)
    h = old
    for _ in range(2):
        radii[h] = -1.0
        log_change(change_log, counters, projections, h)
        add(sizes, sums, centroids, h, points, r, sign)
        if sizes[h] > 0:
            update_index(axes, centroids, projections, h, cells, numbers, layout, positions)
            log_change(change_log, counters, projections, h)
        else:
            remove(cells, numbers, layout, positions, h)
        sign = np.int64(1)
        h = g


@inner
def rise_of(
    points: Any, sizes: Any, sums: Any, centroids: Any, members: Any, g: int, targets: Any, joining: Any
) -> float:  # fmt: skip
    """Return the increase of cost if the members of a group join their targets."""
    rise = 0.0
    for i in range(targets.size):
        size = np.int64(0)
        for other in range(targets.size):
            if targets[other] == targets[i]:
                if other < i:
                    break  # this target has been counted
                joining[size] = members[g, other]
                size += 1
        if size > 0:
            rise += cost_of_joining(sizes, sums, centroids, targets[i], points, joining, size)
    return rise


@compiled
def move_some(
    projected: Any, groups: Any, state: Any, index: Any, scratch: Any, visits: Any, split: int, parts: Any, k: int,
    dissolving: bool, tolerance: float, stack: Any,
) -> None:  # fmt: skip
    """Visit up to 500 groups until some are too large: dissolve groups of k, or reassign records of the others.

    Before that, group ``split`` (-1: none) is replaced by two new ones; parts: 0 or 1 for each of its members. Of a
    group of more than k the record whose move lowers the cost most joins its nearest group, and the group is visited
    again. A group that was visited in vain is skipped until a change could alter that. Joining a group of at least as
    many costs at least half of the squared distance, which bounds the searches for a group that might dissolve.
    """
    points, projections, axes, margin = projected
    labels, members, origin, counters, change_log, changes_seen, radii, near = state
    sizes, sums, centroids, group_projections, used = groups
    cells, numbers, layout, positions = index
    targets, joining, far, target, large = scratch
    zero = np.int64(0)
    moved = sizes[split]
    if split >= 0:
        for i in range(moved):
            joining[i] = members[split, i]
        known = counters[LOGGED]
        for i in range(moved):
            transfer(
                points, axes, labels, members, counters, change_log, radii, sizes, sums, centroids, group_projections,
                cells, numbers, layout, positions, joining[i], used[0] + parts[i],
            )  # fmt: skip
            counters[LOGGED] = known + 1  # the old position; the steps between do not matter
        for _ in range(2):
            log_change(change_log, counters, group_projections, used[0])
            origin[used[0]] = origin[split]
            used[0] += 1
        counters[SPLIT] += 1
        return
    counters[LARGE] = 0
    for _ in range(500):
        if (
            counters[VISITED] >= visits.size
            or counters[LARGE] > 0
            or counters[LOGGED] + 8 * k > change_log.shape[0] * LEAF
        ):
            break
        g = visits[counters[VISITED]]
        size = sizes[g]
        if size < k or (size == k) != dissolving:
            counters[VISITED] += 1
            continue
        own = 0.0
        if dissolving:
            for i in range(k):
                joining[i] = members[g, i]
            own = cost_of(points, joining, k)
        unchanged = radii[g] >= 0.0
        if unchanged and dissolving:
            spared = -2.000001 * own
            for i in range(k):
                r = members[g, i]
                if near[r] > 0.0:
                    side = (
                        np.sqrt(nearest_change(change_log, changes_seen[g], counters[LOGGED], projections, r, stack))
                        - margin
                    )
                    side = 0.999999999 * side * side if side > 0.0 else 0.0
                    if side <= near[r]:  # a centroid came nearer, or the nearest one has moved
                        unchanged = False
                        near[r] = side
                    spared += near[r]
            unchanged |= spared > 0.0
        elif unchanged:
            side = radii[g] + margin
            unchanged = (
                nearest_change(change_log, changes_seen[g], counters[LOGGED], group_projections, g, stack)
                > 1.000000001 * side * side
            )
        if unchanged:
            changes_seen[g] = counters[LOGGED]
            counters[VISITED] += 1
            continue
        radii[g] = 0.0
        moved = zero
        budget = 2.000001 * own
        best = tolerance
        if dissolving:
            for i in range(k):
                near[members[g, i]] = 0.0
        for i in range(size):
            r = members[g, i]
            saved = squared_distance(points[r], centroids[g])
            far[0] = budget
            if not dissolving:
                away = np.sqrt(saved)
                saved *= size / (size - 1.0)
                far[0] = 1.000001 * (saved - best) * (k + 1) / k
                radii[g] = max(radii[g], away + np.sqrt(max(far[0], 0.0)))
            target[0] = NOT_FOUND
            if far[0] > 0.0:
                search(
                    points, projections, r, centroids, sizes, cells, numbers, layout, margin, 1.0, g, zero, far, target,
                    stack
                )  # fmt: skip
            if dissolving:
                near[r] = max(far[0], 0.0)  # the limit if no group was found
                if target[0] == NOT_FOUND:
                    break
                budget -= far[0]
                targets[i] = target[0]
                moved += 1
            elif target[0] < NOT_FOUND:
                gain = saved - sizes[target[0]] / (sizes[target[0]] + 1.0) * far[0]
                if gain > best:
                    best = gain
                    moved = zero + 1
                    joining[0] = r
                    targets[0] = target[0]
        if dissolving:
            if moved < k or own <= rise_of(points, sizes, sums, centroids, members, g, targets, joining) + tolerance:
                moved = zero
            for i in range(k):
                joining[i] = members[g, i]
            counters[DISSOLVED] += moved > 0
        else:
            counters[REASSIGNED] += moved
        for i in range(moved):
            transfer(
                points, axes, labels, members, counters, change_log, radii, sizes, sums, centroids, group_projections,
                cells, numbers, layout, positions, joining[i], targets[i],
            )  # fmt: skip
        changes_seen[g] = counters[LOGGED]
        if dissolving or moved == 0:
            counters[VISITED] += 1
        for i in range(moved):
            if sizes[targets[i]] >= 2 * k:
                large[counters[LARGE]] = targets[i]
                counters[LARGE] += 1
