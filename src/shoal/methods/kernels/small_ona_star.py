"""The rounds of ONA* without an index, for tables of up to some thousand records (see ``plain``).

Thaeter 2021, Algorithms 15 to 17. Groups live in slots that are used again; the serial number of a group is its place
in the order of visits, and a group that was split gives way to two with new numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.inner import inner
from shoal.methods.kernels.small_mdav import cost_of, mean_of, plain_star, squared

DISSOLVED, PASSED_ON, SPLIT, NEXT, LARGE = range(5)
DISSOLVE, PASS_ON, RENEW = range(3)


class Slots(NamedTuple):
    """The groups: members in ascending order, size (0: the slot is empty), serial number, centroid, and the tally."""

    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    serial: NDArray[np.int64]
    centroids: NDArray[np.float64]
    tally: NDArray[np.int64]


def open_slots(points: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> Slots:
    """Return the slots of groups that have k to 2k-1 records, numbered by their labels."""
    n, d = points.shape
    count = int(labels.max()) + 1
    room = n // k + 3
    slots = Slots(
        np.empty((room, 3 * k + 1), np.int64),
        np.zeros(room, np.int64),
        np.arange(room),
        np.empty((room, d)),
        np.zeros(5, np.int64),
    )
    for g in range(count):
        members = np.flatnonzero(labels == g)
        slots.members[g, : members.size] = members
        slots.sizes[g] = members.size
    slots.tally[NEXT] = count
    _renew(points, slots, np.arange(count))
    return slots


class Room(NamedTuple):
    """Room to work in: groups that became too large, where records go, and records and mean of a larger group."""

    large: NDArray[np.int64]
    targets: NDArray[np.int64]
    distinct: NDArray[np.int64]
    together: NDArray[np.int64]
    merged: NDArray[np.float64]


def _room(points: NDArray[np.float64], slots: Slots, k: int) -> Room:
    large, targets, distinct = (np.empty(k, np.int64) for _ in range(3))
    return Room(large, targets, distinct, np.empty(slots.members.shape[1], np.int64), np.empty(points.shape[1]))


def _renew(points: NDArray[np.float64], slots: Slots, which: NDArray[np.int64]) -> None:
    """Compute the centroids of some slots."""
    visit_some(points, *slots, which, which, RENEW, 0, 1, 0.0, *_room(points, slots, 1))


@inner
def nearest_other(points: Any, sizes: Any, serial: Any, centroids: Any, own: int, record: int) -> int:
    """Return the group with the nearest centroid other than the own one; ties go to the first in the order."""
    best = -1
    lowest = np.inf
    for g in range(sizes.size):
        if g == own or sizes[g] == 0:
            continue
        d = squared(points[record], centroids[g])
        if d < lowest or (d == lowest and serial[g] < serial[best]):
            lowest = d
            best = g
    return best


@inner
def add_sorted(members: Any, sizes: Any, g: int, record: int) -> None:
    """Put a record into a group, in ascending order."""
    place = sizes[g]
    while place > 0 and members[g, place - 1] > record:
        members[g, place] = members[g, place - 1]
        place -= 1
    members[g, place] = record
    sizes[g] += 1


def plain_round(points: NDArray[np.float64], slots: Slots, k: int, by_cost: bool, tolerance: float) -> None:
    """Run both phases once: dissolve groups of k, then pass records of larger groups on."""
    room = _room(points, slots, k)
    for phase in (DISSOLVE, PASS_ON):
        order = in_order_of_visits(slots)
        serial = slots.serial[order]
        place = 0
        while place < order.size:
            slots.tally[LARGE] = 0
            place = int(visit_some(points, *slots, order, serial, phase, place, k, tolerance, *room))
            for g in room.large[: slots.tally[LARGE]]:
                split(points, slots, g, k, by_cost, tolerance)


def in_order_of_visits(slots: Slots) -> NDArray[np.int64]:
    """Return the slots of the groups in the order of visits."""
    alive = np.flatnonzero(slots.sizes)
    return alive[np.argsort(slots.serial[alive])]


def split(points: NDArray[np.float64], slots: Slots, g: int, k: int, by_cost: bool, tolerance: float) -> None:
    """Replace a group of 2k or more by the groups of MDAV* inside it, at the end of the order."""
    inside = slots.members[g, : slots.sizes[g]].copy()
    parts = plain_star(points[inside], k, 1.0, by_cost, tolerance)
    slots.sizes[g] = 0
    slots.tally[SPLIT] += 1
    for part in range(int(parts.max()) + 1):
        slot = int(np.argmin(slots.sizes))  # the first that is empty
        members = inside[parts == part]
        slots.members[slot, : members.size] = members
        slots.sizes[slot] = members.size
        slots.serial[slot] = slots.tally[NEXT]
        slots.tally[NEXT] += 1
        _renew(points, slots, np.array([slot]))


@compiled
def visit_some(
    points: Any, members: Any, sizes: Any, serial: Any, centroids: Any, tally: Any, order: Any, numbers: Any,
    phase: int, place: int, k: int, tolerance: float, large: Any, targets: Any, distinct: Any, together: Any,
    merged: Any,
) -> int:  # fmt: skip
    """Visit the groups that are still there; return where to go on when groups have become too large.

    ``DISSOLVE`` looks at the groups of k, ``PASS_ON`` at the larger ones, each until no record gains; ``RENEW`` only
    computes centroids.
    """
    for i in range(place, order.size):
        g = order[i]
        if phase == RENEW:
            mean_of(points, members[g], sizes[g], centroids[g])
        elif phase == DISSOLVE:
            if sizes[g] == k and serial[g] == numbers[i]:
                _dissolve(
                    points, members, sizes, serial, centroids, tally, g, k, tolerance, large, targets, distinct,
                    together, merged,
                )  # fmt: skip
                if tally[LARGE] > 0:
                    return i + 1
        else:
            while sizes[g] > k and serial[g] == numbers[i]:
                if not _pass_on(points, members, sizes, serial, centroids, tally, g, k, tolerance, large):
                    break
                if tally[LARGE] > 0:
                    return i
    return int(order.size)


@inner
def note_if_large(sizes: Any, tally: Any, g: int, k: int, large: Any) -> None:
    """Remember a group that has to be split."""
    if sizes[g] >= 2 * k:
        large[tally[LARGE]] = g
        tally[LARGE] += 1


@inner
def _dissolve(
    points: Any, members: Any, sizes: Any, serial: Any, centroids: Any, tally: Any, g: int, k: int, tolerance: float,
    large: Any, targets: Any, distinct: Any, together: Any, merged: Any,
) -> None:  # fmt: skip
    """Give all records of a group to their nearest other groups if that costs less than the group does."""
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
        rise += size * squared(centroids[target], merged)
        for i in range(size, total):
            rise += squared(points[together[i]], merged)
    if own <= rise + tolerance:
        return
    for i in range(k):
        add_sorted(members, sizes, targets[i], members[g, i])
    sizes[g] = 0
    tally[DISSOLVED] += 1
    for t in range(count):
        mean_of(points, members[distinct[t]], sizes[distinct[t]], centroids[distinct[t]])
        note_if_large(sizes, tally, distinct[t], k, large)


@inner
def _pass_on(
    points: Any, members: Any, sizes: Any, serial: Any, centroids: Any, tally: Any, g: int, k: int, tolerance: float,
    large: Any,
) -> bool:  # fmt: skip
    """Give the record away that gains most, if any gains; return whether one did."""
    size = sizes[g]
    best = tolerance
    record = np.int64(-1)
    target = np.int64(-1)
    for i in range(size):
        s = members[g, i]
        other = nearest_other(points, sizes, serial, centroids, g, s)
        if other < 0:
            return False
        saved = size / (size - 1.0) * squared(points[s], centroids[g])
        paid = sizes[other] / (sizes[other] + 1.0) * squared(points[s], centroids[other])
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
    tally[PASSED_ON] += 1
    note_if_large(sizes, tally, target, k, large)
    return True
