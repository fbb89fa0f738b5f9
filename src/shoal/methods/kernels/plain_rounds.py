"""The rounds of ONA* without an index, for tables of up to a thousand records (see ``plain``).

Thaeter 2021, Algorithms 15 to 17. Groups live in slots that are used again; the serial number of a group is its place
in the order of visits, and a group that was split gives way to two with new numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.inner import inner
from shoal.methods.kernels.plain import cost_of, mean_of, plain_star, squared

DISSOLVED, PASSED_ON, SPLIT, NEXT, LARGE = range(5)


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
    renew(points, slots, 0, room)
    return slots


@compiled
def renew(points: Any, slots: Any, start: int, stop: int) -> None:
    """Compute the centroids of the slots start..stop-1."""
    for g in range(start, stop):
        if slots.sizes[g] > 0:
            mean_of(points, slots.members[g], slots.sizes[g], slots.centroids[g])


@inner
def nearest_other(points: Any, slots: Any, own: int, record: int) -> int:
    """Return the group with the nearest centroid other than the own one; ties go to the first in the order."""
    best = -1
    lowest = np.inf
    for g in range(slots.sizes.size):
        if g == own or slots.sizes[g] == 0:
            continue
        d = squared(points[record], slots.centroids[g])
        if d < lowest or (d == lowest and slots.serial[g] < slots.serial[best]):
            lowest = d
            best = g
    return best


@inner
def add_sorted(points: Any, slots: Any, g: int, record: int) -> None:
    """Put a record into a group, in ascending order."""
    place = slots.sizes[g]
    while place > 0 and slots.members[g, place - 1] > record:
        slots.members[g, place] = slots.members[g, place - 1]
        place -= 1
    slots.members[g, place] = record
    slots.sizes[g] += 1


def plain_round(points: NDArray[np.float64], slots: Slots, k: int, by_cost: bool, tolerance: float) -> None:
    """Run both phases once: dissolve groups of k, then pass records of larger groups on."""
    large = np.empty(k, np.int64)
    for phase in (dissolve_some, pass_on_some):
        order = in_order_of_visits(slots)
        serial = slots.serial[order]
        place = 0
        while place < order.size:
            slots.tally[LARGE] = 0
            place = phase(points, slots, order, serial, place, k, tolerance, large)
            for g in large[: slots.tally[LARGE]]:
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
        renew(points, slots, slot, slot + 1)


@compiled
def dissolve_some(
    points: Any, slots: Any, order: Any, serial: Any, place: int, k: int, tolerance: float, large: Any
) -> int:
    """Visit the groups of k that are still there; return where to go on when groups have become too large."""
    for i in range(place, order.size):
        g = order[i]
        if slots.sizes[g] == k and slots.serial[g] == serial[i]:
            dissolve_plainly(points, slots, g, k, tolerance, large)
            if slots.tally[LARGE] > 0:
                return i + 1
    return int(order.size)


@compiled
def pass_on_some(
    points: Any, slots: Any, order: Any, serial: Any, place: int, k: int, tolerance: float, large: Any
) -> int:
    """Visit the larger groups that are still there, each until no record gains; return where to go on after a split."""
    for i in range(place, order.size):
        g = order[i]
        while slots.sizes[g] > k and slots.serial[g] == serial[i]:
            if not pass_on_plainly(points, slots, g, k, tolerance, large):
                break
            if slots.tally[LARGE] > 0:
                return i
    return int(order.size)


@inner
def note_if_large(slots: Any, g: int, k: int, large: Any) -> None:
    """Remember a group that has to be split."""
    if slots.sizes[g] >= 2 * k:
        large[slots.tally[LARGE]] = g
        slots.tally[LARGE] += 1


@inner
def dissolve_plainly(points: Any, slots: Any, g: int, k: int, tolerance: float, large: Any) -> None:
    """Give all records of a group to their nearest other groups if that costs less than the group does."""
    own = cost_of(points, slots.members[g], k)
    if own <= 0.0:
        return
    targets = np.empty(k, np.int64)
    for i in range(k):
        targets[i] = nearest_other(points, slots, g, slots.members[g, i])
        if targets[i] < 0:
            return
    distinct = np.empty(k, np.int64)
    count = 0
    for i in range(k):
        known = False
        for t in range(count):
            known |= distinct[t] == targets[i]
        if not known:
            distinct[count] = targets[i]
            count += 1
    merged = np.empty(points.shape[1])
    together = np.empty(slots.members.shape[1], np.int64)
    rise = 0.0
    for t in range(count):
        target = distinct[t]
        size = slots.sizes[target]
        for i in range(size):
            together[i] = slots.members[target, i]
        total = size
        for i in range(k):
            if targets[i] == target:
                together[total] = slots.members[g, i]
                total += 1
        mean_of(points, together, total, merged)
        rise += size * squared(slots.centroids[target], merged)
        for i in range(size, total):
            rise += squared(points[together[i]], merged)
    if own <= rise + tolerance:
        return
    for i in range(k):
        add_sorted(points, slots, targets[i], slots.members[g, i])
    slots.sizes[g] = 0
    slots.tally[DISSOLVED] += 1
    for t in range(count):
        mean_of(points, slots.members[distinct[t]], slots.sizes[distinct[t]], slots.centroids[distinct[t]])
        note_if_large(slots, distinct[t], k, large)


@inner
def pass_on_plainly(points: Any, slots: Any, g: int, k: int, tolerance: float, large: Any) -> bool:
    """Give the record away that gains most, if any gains; return whether one did."""
    size = slots.sizes[g]
    best = tolerance
    record = -1
    target = -1
    for i in range(size):
        s = slots.members[g, i]
        other = nearest_other(points, slots, g, s)
        if other < 0:
            return False
        saved = size / (size - 1.0) * squared(points[s], slots.centroids[g])
        paid = slots.sizes[other] / (slots.sizes[other] + 1.0) * squared(points[s], slots.centroids[other])
        if saved - paid > best:
            best = saved - paid
            record = s
            target = other
    if record < 0:
        return False
    count = 0
    for i in range(size):
        if slots.members[g, i] != record:
            slots.members[g, count] = slots.members[g, i]
            count += 1
    slots.sizes[g] = count
    mean_of(points, slots.members[g], count, slots.centroids[g])
    add_sorted(points, slots, target, record)
    mean_of(points, slots.members[target], slots.sizes[target], slots.centroids[target])
    slots.tally[PASSED_ON] += 1
    note_if_large(slots, target, k, large)
    return True
