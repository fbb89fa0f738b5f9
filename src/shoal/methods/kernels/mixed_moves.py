"""Annealing of records of numbers and categories: one visit of every record, with moves whose exact cost is computed.

The moves are those of ``annealing_moves``, their costs those of ``mixed_costs``: a record is shifted to a near group or
exchanged with the record of it that suits best; now and then a group of k is dissolved, or a new group is founded. A
change is accepted if it raises the cost by less than a random limit, which the temperature scales. Cost O(k columns)
per visit.

With a rule, groups must satisfy requirements on confidential values: a change that would violate one is not made. The
values of a group are read only where the cost would allow the change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.core.requirement_violation import SATISFIED, RequirementTable, sort_values, total_violation
from shoal.methods.kernels.mixed_costs import cost_change, move_record
from shoal.methods.kernels.random_numbers import random_bits

NONE = np.int64(-1)
RARE = 1311
"""Of 65,536 visits, how many try to dissolve a group, and as many to found one: 2 per cent."""


class GroupRule(NamedTuple):
    """What every group must satisfy.

    Parameters
    ----------
    codes, table
        The confidential values of the records of the block, n x columns, and the requirements.
    most
        The size up to which a group may be dissolved.
    values, counts
        Work arrays for the values of a group.
    """

    codes: NDArray[np.int64]
    table: RequirementTable
    most: int
    values: NDArray[np.int64]
    counts: NDArray[np.int64]


@inner
def _satisfies(rule: Any, members: Any, sizes: Any, g: int, out: int, into: int) -> Any:
    """Whether a group satisfies the rule after one record leaves it and another joins; -1 for none."""
    size = np.int64(0)
    for p in range(sizes[g]):
        i = members[g, p]
        if i != out:
            for column in range(rule.codes.shape[1]):
                rule.values[column, size] = rule.codes[i, column]
            size += 1
    if into >= 0:
        for column in range(rule.codes.shape[1]):
            rule.values[column, size] = rule.codes[into, column]
        size += 1
    if size == 0:
        return True
    for column in range(rule.codes.shape[1]):
        sort_values(rule.values[column], size)
    return total_violation(rule.values, size, rule.table, rule.counts, SATISFIED) <= SATISFIED


@inner
def _may_shift(rule: Any, group: Any, members: Any, sizes: Any, i: int, b: int) -> Any:
    """Whether a record may join another group."""
    if rule is None:
        return True
    return _satisfies(rule, members, sizes, group[i], i, NONE) and _satisfies(rule, members, sizes, b, NONE, i)


@inner
def _may_exchange(rule: Any, group: Any, members: Any, sizes: Any, i: int, z: int) -> Any:
    """Whether two records of different groups may change places."""
    if rule is None:
        return True
    same = True
    for column in range(rule.codes.shape[1]):
        same &= rule.codes[i, column] == rule.codes[z, column]
    if same:
        return True
    return _satisfies(rule, members, sizes, group[i], i, z) and _satisfies(rule, members, sizes, group[z], z, i)


@inner
def _may_stay(rule: Any, group: Any, members: Any, sizes: Any, moved: Any, others: Any, count: int) -> Any:
    """Whether the groups of some records, and other groups, satisfy the rule."""
    if rule is None:
        return True
    for p in range(count):
        if not _satisfies(rule, members, sizes, group[moved[p]], NONE, NONE):
            return False
        if not _satisfies(rule, members, sizes, others[p], NONE, NONE):
            return False
    return True


@inner
def _exchange(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, i: int, b: int, limit: float, rule: Any,
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
        if change < best and _may_exchange(rule, group, members, sizes, i, z):
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
    sizes: Any, near: Any, free: Any, moved: Any, origin: Any, a: int, largest: int, limit: float, rule: Any,
) -> Any:  # fmt: skip
    """Distribute the records of a group over their nearest groups; undone if that costs the limit or more."""
    k = sizes[a]
    for p in range(k):
        moved[p] = members[a, p]
        origin[p] = a
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
    if done == k and change < limit and _may_stay(rule, group, members, sizes, moved, origin, k):
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
    sizes: Any, near: Any, free: Any, moved: Any, origin: Any, i: int, k: int, limit: float, rule: Any,
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
    if done == k and change < limit and _may_stay(rule, group, members, sizes, moved, origin, k):
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
    largest: int, temperature: float, rule: Any,
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
        Work arrays of k elements, with a rule of as many as a group has that may be dissolved.
    exponentials
        The table of -ln u.
    state
        One uint64, the state of the random numbers.
    k, largest, temperature
        Minimum and maximum group size, and the temperature.
    rule
        What every group must satisfy; None for nothing else.
    """
    changes = 0
    few = k if rule is None else rule.most
    for i in range(group.size):
        bits = random_bits(state)
        a = group[i]
        m = sizes[a]
        limit = temperature * unit[i] * exponentials[np.int64(bits & np.uint64(1023))]
        choice = np.int64((bits >> np.uint64(10)) & np.uint64(0xFFFF))
        if choice < RARE and m <= few:
            changes += _dissolve(
                rows, prices, shape, special, summary, lists, group, place, members, sizes, near, free, moved,
                origin, a, largest, limit, rule
            )  # fmt: skip
            continue
        if RARE <= choice < 2 * RARE and m > k:
            changes += _found(
                rows, prices, shape, special, summary, lists, group, place, members, sizes, near, free, moved, origin,
                i, k, limit, rule
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
            if change < limit and _may_shift(rule, group, members, sizes, i, b):
                move_record(
                    rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b
                )  # fmt: skip
                near[i, q] = a
                changes += 1
                continue
        if _exchange(
            rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b, limit, rule
        ):  # fmt: skip
            near[i, q] = a
            changes += 1
    return changes


@compiled(error_model="numpy")
def mixed_descent(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, place: Any, members: Any,
    sizes: Any, near: Any, k: int, largest: int, least: float, rule: Any,
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
                if change < -least and _may_shift(rule, group, members, sizes, i, b):
                    move_record(
                        rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b
                    )  # fmt: skip
                    near[i, q] = a
                    changes += 1
                    continue
            if _exchange(
                rows, prices, shape, special, summary, lists, group, place, members, sizes, i, b, -least, rule
            ):  # fmt: skip
                near[i, q] = a
                changes += 1
    return changes
