"""Annealing of records of numbers and categories: one visit of every record, with moves whose exact cost is computed.

The moves are those of ``annealing_moves``, their costs those of ``mixed_costs``: a record is shifted to a near group or
exchanged with the record of it that suits best; now and then a group of k is dissolved, or a new group is founded. A
change is accepted if it raises the cost by less than a random limit, which the temperature scales. Cost O(k columns)
per visit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.methods.kernels.mixed_costs import cost_change, move_record
from shoal.methods.kernels.random_numbers import random_bits

NONE = np.int64(-1)
RARE = 1311
"""Of 65,536 visits, how many try to dissolve a group, and as many to found one: 2 per cent."""


@inner
def _exchange(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, i: int, b: int, limit: float,
) -> Any:  # fmt: skip
    """Exchange a record with the record of another group that suits best, if that costs less than the limit."""
    a = group[i]
    best = limit
    y = NONE
    for p in range(sizes[b]):
        z = members[b, p]
        change = cost_change(
            rows, prices, shape, special, summary, lists, a, i, z
        )  # fmt: skip
        change += cost_change(
            rows, prices, shape, special, summary, lists, b, z, i
        )  # fmt: skip
        if change < best:
            best = change
            y = z
    if y < 0:
        return False
    move_record(
        rows, prices, shape, special, summary, lists, group, place, members, sizes, y, a
    )  # fmt: skip
    move_record(
        rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b
    )  # fmt: skip
    return True


@inner
def _dissolve(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, near: Any, free: Any, moved: Any, a: int, largest: int, limit: float,
) -> Any:  # fmt: skip
    """Distribute the records of a group over their nearest groups; undone if that costs the limit or more."""
    k = sizes[a]
    for p in range(k):
        moved[p] = members[a, p]
    change = 0.0
    done = np.int64(0)
    while done < k:
        i = moved[done]
        best = np.inf
        target = NONE
        for q in range(near.shape[1]):
            b = near[i, q]
            if b != a and 0 < sizes[b] < largest:
                rise = cost_change(
                    rows, prices, shape, special, summary, lists, b, NONE, i
                )  # fmt: skip
                if rise < best:
                    best = rise
                    target = b
        if target < 0:
            break
        change += best
        change += cost_change(
            rows, prices, shape, special, summary, lists, a, i, NONE
        )  # fmt: skip
        move_record(
            rows, prices, shape, special, summary, lists, group, place, members, sizes, i, target
        )  # fmt: skip
        done += 1
    if done == k and change < limit:
        free[0] += 1
        free[free[0]] = a
        return True
    while done > 0:
        done -= 1
        move_record(
            rows, prices, shape, special, summary, lists, group, place, members, sizes, moved[done], a
        )  # fmt: skip
    return False


@inner
def _found(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, near: Any, free: Any, moved: Any, origin: Any, i: int, k: int, limit: float,
) -> Any:  # fmt: skip
    """Found a group with a record and the cheapest records of the groups around it that can spare one."""
    if free[0] == 0:
        return False
    new = free[free[0]]
    own = group[i]
    change = cost_change(
        rows, prices, shape, special, summary, lists, own, i, NONE
    )  # fmt: skip
    done = np.int64(0)
    y: Any = i
    while True:
        moved[done] = y
        origin[done] = group[y]
        move_record(
            rows, prices, shape, special, summary, lists, group, place, members, sizes, y, new
        )  # fmt: skip
        done += 1
        if done == k:
            break
        best = np.inf
        y = NONE
        for q in range(-1, near.shape[1]):
            c = own if q < 0 else near[i, q]
            if sizes[c] > k and c != new:
                for p in range(sizes[c]):
                    z = members[c, p]
                    rise = cost_change(
                        rows, prices, shape, special, summary, lists, new, NONE, z
                    )  # fmt: skip
                    rise += cost_change(
                        rows, prices, shape, special, summary, lists, c, z, NONE
                    )  # fmt: skip
                    if rise < best:
                        best = rise
                        y = z
        if y < 0:
            break
        change += best
    if done == k and change < limit:
        free[0] -= 1
        return True
    while done > 0:
        done -= 1
        move_record(
            rows, prices, shape, special, summary, lists, group, place, members, sizes, moved[done], origin[done]
        )  # fmt: skip
    return False


@compiled(error_model="numpy")
def mixed_sweep(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, near: Any, unit: Any, free: Any, moved: Any, origin: Any, exponentials: Any, state: Any, k: int,
    largest: int, temperature: float,
) -> int:  # fmt: skip
    """Visit every record once; return how many changes were accepted.

    Parameters
    ----------
    rows, prices, shape, special, summary, lists, group, place, members, sizes
        See ``mixed_costs``; the groups are changed.
    near
        The nearest groups of each record.
    unit
        The cost per record around each record: the scale of the temperature.
    free
        How many rows of the groups are unused, and their numbers.
    moved, origin
        Work arrays of k elements.
    exponentials
        The table of -ln u.
    state
        One uint64, the state of the random numbers.
    k, largest, temperature
        Minimum and maximum group size, and the temperature.
    """
    changes = 0
    for i in range(group.size):
        bits = random_bits(state)
        a = group[i]
        m = sizes[a]
        limit = temperature * unit[i] * exponentials[np.int64(bits & np.uint64(1023))]
        choice = np.int64((bits >> np.uint64(10)) & np.uint64(0xFFFF))
        if choice < RARE and m == k:
            changes += _dissolve(
                rows, prices, shape, special, summary, lists, group, place, members, sizes, near, free, moved, a,
                largest, limit
            )  # fmt: skip
            continue
        if RARE <= choice < 2 * RARE and m > k:
            changes += _found(
                rows, prices, shape, special, summary, lists, group, place, members, sizes, near, free, moved, origin,
                i, k, limit
            )  # fmt: skip
            continue
        u = (bits >> np.uint64(26)) & np.uint64(0xFFFF)
        # floor(q u²) of q near groups: those at the front are drawn more often
        q = np.int64((u * u * np.uint64(near.shape[1])) >> np.uint64(32))
        b = near[i, q]
        l = sizes[b]
        if b == a or l == 0:
            continue
        if m > k and l < largest:
            change = cost_change(
                rows, prices, shape, special, summary, lists, b, NONE, i
            )  # fmt: skip
            change += cost_change(
                rows, prices, shape, special, summary, lists, a, i, NONE
            )  # fmt: skip
            if change < limit:
                move_record(
                    rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b
                )  # fmt: skip
                near[i, q] = a
                changes += 1
                continue
        if _exchange(
            rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b, limit
        ):  # fmt: skip
            near[i, q] = a
            changes += 1
    return changes


@compiled(error_model="numpy")
def mixed_descent(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, near: Any, k: int, largest: int, least: float,
) -> int:  # fmt: skip
    """Visit every record once, with all of its near groups, and accept only changes that lower the cost."""
    changes = 0
    for i in range(group.size):
        for q in range(near.shape[1]):
            a = group[i]
            b = near[i, q]
            if b == a or sizes[b] == 0:
                continue
            if sizes[a] > k and sizes[b] < largest:
                change = cost_change(
                    rows, prices, shape, special, summary, lists, b, NONE, i
                )  # fmt: skip
                change += cost_change(
                    rows, prices, shape, special, summary, lists, a, i, NONE
                )  # fmt: skip
                if change < -least:
                    move_record(
                        rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b
                    )  # fmt: skip
                    near[i, q] = a
                    changes += 1
                    continue
            if _exchange(
                rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b, -least
            ):  # fmt: skip
                near[i, q] = a
                changes += 1
    return changes
