"""The rounds of ONA* without an index, for tables of up to a few thousand records (see ``small_mdav``).

Thaeter 2021, Algorithms 15 to 17. Groups are stored in slots that are used again; the serial number of a group is its
position in the order of visits, and a group that is split is replaced by two with new numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.small_mdav import cost_of, mdav_star_of_small_table, mean_of, squared_distance

DISSOLVED, REASSIGNED, SPLIT, NEXT, LARGE = range(5)
DISSOLVE, REASSIGN, RENEW = range(3)


class Slots(NamedTuple):
    """The groups: members in ascending order, size (0: the slot is empty), serial number and centroid; counters."""

    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    serial: NDArray[np.int64]
    centroids: NDArray[np.float64]
    counters: NDArray[np.int64]


def open_slots(points: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> Slots:
    """Return the slots of groups that have k to 2k-1 records, numbered by their labels."""
    n, d = points.shape
    count = int(labels.max()) + 1
    capacity = n // k + 3
    slots = Slots(
        np.empty((capacity, 3 * k + 1), np.int64),
        np.zeros(capacity, np.int64),
        np.arange(capacity),
        np.empty((capacity, d)),
        np.zeros(5, np.int64),
    )
    for g in range(count):
        members = np.flatnonzero(labels == g)
        slots.members[g, : members.size] = members
        slots.sizes[g] = members.size
    slots.counters[NEXT] = count
    _renew(points, slots, np.arange(count))
    return slots


class WorkArrays(NamedTuple):
    """Work arrays: groups that became too large, targets of records, and the records and the mean of a merged group."""

    large: NDArray[np.int64]
    targets: NDArray[np.int64]
    distinct: NDArray[np.int64]
    together: NDArray[np.int64]
    merged: NDArray[np.float64]


def _work_arrays(points: NDArray[np.float64], slots: Slots, k: int) -> WorkArrays:
    large, targets, distinct = (np.empty(k, np.int64) for _ in range(3))
    return WorkArrays(large, targets, distinct, np.empty(slots.members.shape[1], np.int64), np.empty(points.shape[1]))


def _renew(points: NDArray[np.float64], slots: Slots, which: NDArray[np.int64]) -> None:
    """Compute the centroids of some slots."""
    visit_some(points, *slots, which, which, RENEW, 0, 1, 0.0, *_work_arrays(points, slots, 1))


@inner
def nearest_other(points: Any, sizes: Any, serial: Any, centroids: Any, own: int, record: int) -> int:
    """Return the group with the nearest centroid other than the own one; ties go to the first in the order."""
    best = -1
    lowest = np.inf
    for g in range(sizes.size):
        if g == own or sizes[g] == 0:
            continue
        d = squared_distance(points[record], centroids[g])
        if d < lowest or (d == lowest and serial[g] < serial[best]):
            lowest = d
            best = g
    return best


@inner
def add_sorted(members: Any, sizes: Any, g: int, record: int) -> None:
    """Insert a record into a group, in ascending order."""
    position = sizes[g]
    while position > 0 and members[g, position - 1] > record:
        members[g, position] = members[g, position - 1]
        position -= 1
    members[g, position] = record
    sizes[g] += 1


def run_round(
    points: NDArray[np.float64],
    slots: Slots,
    k: int,
    by_cost: bool,
    tolerance: float,
    phases: tuple[bool, ...] = (True, False),
) -> None:
    """Run each phase once: dissolve groups of k (true), or reassign records of larger groups (false)."""
    arrays = _work_arrays(points, slots, k)
    for phase in (DISSOLVE if dissolving else REASSIGN for dissolving in phases):
        order = in_order_of_visits(slots)
        serial = slots.serial[order]
        position = 0
        while position < order.size:
            slots.counters[LARGE] = 0
            position = int(visit_some(points, *slots, order, serial, phase, position, k, tolerance, *arrays))
            for g in arrays.large[: slots.counters[LARGE]]:
                split(points, slots, g, k, by_cost, tolerance)


def in_order_of_visits(slots: Slots) -> NDArray[np.int64]:
    """Return the slots of the groups in the order of visits."""
    alive = np.flatnonzero(slots.sizes)
    return alive[np.argsort(slots.serial[alive])]


def split(points: NDArray[np.float64], slots: Slots, g: int, k: int, by_cost: bool, tolerance: float) -> None:
    """Replace a group of 2k or more by the groups of MDAV* inside it, at the end of the order."""
    inside = slots.members[g, : slots.sizes[g]].copy()
    parts = mdav_star_of_small_table(points[inside], k, 1.0, by_cost, tolerance)
    slots.sizes[g] = 0
    slots.counters[SPLIT] += 1
    for part in range(int(parts.max()) + 1):
        slot = int(np.argmin(slots.sizes))  # the first that is empty
        members = inside[parts == part]
        slots.members[slot, : members.size] = members
        slots.sizes[slot] = members.size
        slots.serial[slot] = slots.counters[NEXT]
        slots.counters[NEXT] += 1
        _renew(points, slots, np.array([slot]))


@compiled
def visit_some(
    points: Any, members: Any, sizes: Any, serial: Any, centroids: Any, counters: Any, order: Any, numbers: Any,
    phase: int, position: int, k: int, tolerance: float, large: Any, targets: Any, distinct: Any, together: Any,
    merged: Any,
) -> int:  # fmt: skip
    """Visit the groups that still exist; return the position to continue at when groups have become too large.

    ``DISSOLVE`` visits the groups of k, ``REASSIGN`` the larger ones, each until no reassignment lowers the cost;
    ``RENEW`` only computes centroids.
    """
    for i in range(position, order.size):
        g = order[i]
        if phase == RENEW:
            mean_of(points, members[g], sizes[g], centroids[g])
        elif phase == DISSOLVE:
            if sizes[g] == k and serial[g] == numbers[i]:
                _dissolve(
                    points, members, sizes, serial, centroids, counters, g, k, tolerance, large, targets, distinct,
                    together, merged,
                )  # fmt: skip
                if counters[LARGE] > 0:
                    return i + 1
        else:
            while sizes[g] > k and serial[g] == numbers[i]:
                if not _reassign(points, members, sizes, serial, centroids, counters, g, k, tolerance, large):
                    break
                if counters[LARGE] > 0:
                    return i
    return int(order.size)


@inner
def note_if_large(sizes: Any, counters: Any, g: int, k: int, large: Any) -> None:
    """Note a group that has to be split."""
    if sizes[g] >= 2 * k:
        large[counters[LARGE]] = g
        counters[LARGE] += 1


@inner
def _dissolve(
    points: Any, members: Any, sizes: Any, serial: Any, centroids: Any, counters: Any, g: int, k: int, tolerance: float,
    large: Any, targets: Any, distinct: Any, together: Any, merged: Any,
) -> None:  # fmt: skip
    """Reassign all records of a group to their nearest other groups if that costs less than the group does."""
    own = cost_of(points, members[g], k)
    if own <= 0.0:
        return
    for i in range(k):
        targets[i] = nearest_other(points, sizes, serial, centroids, g, members[g, i])
        if targets[i] < 0:
            return
    count = 0
    for i in range(k):
        known = False
        for t in range(count):
            known |= distinct[t] == targets[i]
        if not known:
            distinct[count] = targets[i]
            count += 1
    rise = 0.0
    for t in range(count):
        target = distinct[t]
        size = sizes[target]
        for i in range(size):
            together[i] = members[target, i]
        total = size
        for i in range(k):
            if targets[i] == target:
                together[total] = members[g, i]
                total += 1
        mean_of(points, together, total, merged)
        rise += size * squared_distance(centroids[target], merged)
        for i in range(size, total):
            rise += squared_distance(points[together[i]], merged)
    if own <= rise + tolerance:
        return
    for i in range(k):
        add_sorted(members, sizes, targets[i], members[g, i])
    sizes[g] = 0
    counters[DISSOLVED] += 1
    for t in range(count):
        mean_of(points, members[distinct[t]], sizes[distinct[t]], centroids[distinct[t]])
        note_if_large(sizes, counters, distinct[t], k, large)


@inner
def _reassign(
    points: Any, members: Any, sizes: Any, serial: Any, centroids: Any, counters: Any, g: int, k: int, tolerance: float,
    large: Any,
) -> bool:  # fmt: skip
    """Reassign the record that lowers the cost most, if one does; return whether one did."""
    size = sizes[g]
    best = tolerance
    record = np.int64(-1)
    target = np.int64(-1)
    for i in range(size):
        s = members[g, i]
        other = nearest_other(points, sizes, serial, centroids, g, s)
        if other < 0:
            return False
        saved = size / (size - 1.0) * squared_distance(points[s], centroids[g])
        paid = sizes[other] / (sizes[other] + 1.0) * squared_distance(points[s], centroids[other])
        if saved - paid > best:
            best = saved - paid
            record = s
            target = other
    if record < 0:
        return False
    count = np.int64(0)
    for i in range(size):
        if members[g, i] != record:
            members[g, count] = members[g, i]
            count += 1
    sizes[g] = count
    mean_of(points, members[g], count, centroids[g])
    add_sorted(members, sizes, target, record)
    mean_of(points, members[target], sizes[target], centroids[target])
    counters[REASSIGNED] += 1
    note_if_large(sizes, counters, target, k, large)
    return True
