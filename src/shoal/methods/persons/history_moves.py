"""Moves of whole histories between groups on the exact cost, and the alignment of rows inside a group.

A history is a record of slots, each with a row or without one. A slot that all members of a group have is released as
its mean; rows of other slots are suppressed, each of them costs ``price`` times its squared distance to the mean of
the table, which is the origin here. With count, sum and sum of squares of every slot, the cost of any change of members
follows in O(slots x columns).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

EXCHANGED = 8
"""How many near groups a person may be exchanged with; all near groups may be joined."""


class HistoryGroups(NamedTuple):
    """The groups of persons while they change.

    Parameters
    ----------
    rows
        Coordinates of the rows, persons x slots x columns; zeros where a person has no row.
    present
        1 where a person has a row, persons x slots.
    lengths
        Squared norm of each row, persons x slots.
    labels
        The group of each person.
    sizes
        Persons of each group.
    members
        Persons of each group as a chain: the first of each group, then the next of each person (after the groups).
    counts, sums, squares
        By group and slot: rows, their sum, and the sum of their squared norms.
    """

    rows: NDArray[np.float64]
    present: NDArray[np.int64]
    lengths: NDArray[np.float64]
    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    members: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]


def open_histories(
    rows: NDArray[np.float64], present: NDArray[np.int64], labels: NDArray[np.int64], k: int
) -> HistoryGroups:
    """Return the state of groups 0, 1, ... with room for as many groups as there can be."""
    persons, slots, d = rows.shape
    groups = max(int(labels.max()) + 1, persons // k) + 1
    counts = np.zeros((groups, slots), np.int64)
    sums, squares = np.zeros((groups, slots, d)), np.zeros((groups, slots))
    lengths = (rows**2).sum(axis=2)
    np.add.at(counts, labels, present)
    np.add.at(sums, labels, rows)
    np.add.at(squares, labels, lengths)
    members = np.full(groups + persons, -1, np.int64)
    for person in range(persons - 1, -1, -1):
        members[groups + person] = members[labels[person]]
        members[labels[person]] = person
    sizes = np.bincount(labels, minlength=groups).astype(np.int64)
    return HistoryGroups(rows, present, lengths, labels.copy(), sizes, members, counts, sums, squares)


@inner
def changed_cost(state: Any, g: int, out: int, into: int, price: float) -> float:
    """Return the cost of a group after one person leaves and another joins; -1 for none."""
    size = state.sizes[g] - (out >= 0) + (into >= 0)
    total = 0.0
    for s in range(state.present.shape[1]):
        count, square = state.counts[g, s], state.squares[g, s]
        if out >= 0:
            count -= state.present[out, s]
            square -= state.lengths[out, s]
        if into >= 0:
            count += state.present[into, s]
            square += state.lengths[into, s]
        if count < size:
            total += price * square
        elif size > 0:
            mean = 0.0
            for j in range(state.rows.shape[2]):
                value = state.sums[g, s, j]
                if out >= 0:
                    value -= state.rows[out, s, j]
                if into >= 0:
                    value += state.rows[into, s, j]
                mean += value * value
            total += max(square - mean / size, 0.0)
    return total


@inner
def put(state: Any, person: int, g: int, sign: int) -> None:
    """Add a person to the sums and the chain of a group (sign 1), or take it out (sign -1)."""
    start = state.sizes.size
    if sign > 0:
        state.members[start + person] = state.members[g]
        state.members[g] = person
        state.labels[person] = g
    else:
        at = g
        while state.members[at] != person:
            at = start + state.members[at]
        state.members[at] = state.members[start + person]
    state.sizes[g] += sign
    for s in range(state.present.shape[1]):
        state.counts[g, s] += sign * state.present[person, s]
        state.squares[g, s] += sign * state.lengths[person, s]
        for j in range(state.rows.shape[2]):
            state.sums[g, s, j] += sign * state.rows[person, s, j]


@inner
def improve_person(state: Any, near: Any, costs: Any, person: int, k: int, price: float, least: float) -> bool:
    """Pass a person on, or exchange it for another, whichever lowers the cost most."""
    g = state.labels[person]
    start = state.sizes.size
    none = np.int64(-1)
    best, target, partner = least, none, none
    if state.sizes[g] > k:
        saved = costs[g] - changed_cost(state, g, person, none, price)
        for i in range(near.shape[1]):
            h = near[g, i]
            if h != g and h >= 0 and state.sizes[h] > 0:
                gain = saved + costs[h] - changed_cost(state, h, none, person, price)
                if gain > best:
                    best = gain
                    target = h
    for i in range(min(EXCHANGED, near.shape[1])):
        h = near[g, i]
        if h == g or h < 0 or state.sizes[h] == 0:
            continue
        other = state.members[h]
        while other >= 0:
            gain = costs[h] + costs[g] - changed_cost(state, h, other, person, price)
            if gain > best:
                gain -= changed_cost(state, g, person, other, price)
                if gain > best:
                    best = gain
                    target = h
                    partner = other
            other = state.members[start + other]
    if target < 0:
        return False
    put(state, person, g, -1)
    if partner >= 0:
        put(state, partner, target, -1)
        put(state, partner, g, 1)
    put(state, person, target, 1)
    costs[g] = changed_cost(state, g, none, none, price)
    costs[target] = changed_cost(state, target, none, none, price)
    return True


@inner
def dissolve_group(state: Any, near: Any, costs: Any, g: int, price: float, least: float, moved: Any) -> bool:
    """Pass all persons of a group on to near groups if that lowers the cost; otherwise everything stays."""
    none = np.int64(-1)
    left = costs[g] - least
    gone = 0
    done = True
    while state.sizes[g] > 0:
        person = state.members[g]
        best, target = left, none
        for i in range(near.shape[1]):
            h = near[g, i]
            if h != g and h >= 0 and state.sizes[h] > 0:
                rise = changed_cost(state, h, none, person, price) - costs[h]
                if rise < best:
                    best = rise
                    target = h
        if target < 0:
            done = False
            break
        left -= best
        put(state, person, g, -1)
        put(state, person, target, 1)
        costs[target] = changed_cost(state, target, none, none, price)
        moved[gone] = person
        gone += 1
    if not done:
        for i in range(gone - 1, -1, -1):
            h = state.labels[moved[i]]
            put(state, moved[i], h, -1)
            put(state, moved[i], g, 1)
            costs[h] = changed_cost(state, h, none, none, price)
    costs[g] = changed_cost(state, g, none, none, price)
    return done


@inner
def split_group(state: Any, costs: Any, g: int, new: int, k: int, price: float, least: float, moved: Any) -> bool:
    """Split off k persons where that lowers the cost: the one that costs most, then those that fit it best."""
    none = np.int64(-1)
    start = state.sizes.size
    before = costs[g]
    for number in range(k):
        best, chosen = np.inf, none
        person = state.members[g]
        while person >= 0:
            value = changed_cost(state, g, person, none, price)
            if number > 0:
                value += changed_cost(state, new, none, person, price)
            if value < best or (value == best and person < chosen):
                best = value
                chosen = person
            person = state.members[start + person]
        put(state, chosen, g, -1)
        put(state, chosen, new, 1)
        moved[number] = chosen
    costs[g] = changed_cost(state, g, none, none, price)
    costs[new] = changed_cost(state, new, none, none, price)
    if before - costs[g] - costs[new] > least:
        return True
    for number in range(k):
        put(state, moved[number], new, -1)
        put(state, moved[number], g, 1)
    costs[g] = changed_cost(state, g, none, none, price)
    costs[new] = 0.0
    return False


@compiled
def improve_histories(
    state: Any, near: Any, costs: Any, used: int, k: int, price: float, least: float, moved: Any
) -> Any:  # fmt: skip
    """Run one round: split, dissolve, pass on and exchange; return the changes and how many numbers are in use."""
    none = np.int64(-1)
    for g in range(used):
        costs[g] = changed_cost(state, g, none, none, price)
    changes = 0
    empty: Any = np.int64(0)
    for g in range(used):
        while state.sizes[g] >= 2 * k:
            while empty < used and state.sizes[empty] > 0:
                empty += 1
            if not split_group(state, costs, g, empty, k, price, least, moved):
                break
            used = max(used, empty + 1)
            changes += 1
    for g in range(min(used, near.shape[0])):
        if state.sizes[g] > 0 and dissolve_group(state, near, costs, g, price, least, moved):
            changes += 1
    for person in range(state.labels.size):
        if state.labels[person] < near.shape[0] and improve_person(state, near, costs, person, k, price, least):
            changes += 1
    return changes, used


@compiled
def align_rows(rows: Any, count: int, profile: Any, length: int, price: float, table: Any, slots: Any) -> float:
    """Choose as many rows as the profile has, in order, at the least cost; write the slot of each row or -1.

    The cost of a chosen row is its squared distance to the profile, that of another one ``price`` times its squared
    norm. ``rows`` are ``count`` rows in order of time; ``table`` is a work array of (rows + 1) x (slots + 1).
    """
    d = rows.shape[1]
    table[0, 0] = 0.0
    for t in range(1, length + 1):
        table[0, t] = np.inf
    for i in range(1, count + 1):
        dropped = 0.0
        for j in range(d):
            dropped += rows[i - 1, j] * rows[i - 1, j]
        dropped *= price
        table[i, 0] = table[i - 1, 0] + dropped
        for t in range(1, length + 1):
            taken = 0.0
            for j in range(d):
                gap = rows[i - 1, j] - profile[t - 1, j]
                taken += gap * gap
            table[i, t] = min(table[i - 1, t] + dropped, table[i - 1, t - 1] + taken)
    t = length
    for i in range(count, 0, -1):
        dropped = 0.0
        for j in range(d):
            dropped += rows[i - 1, j] * rows[i - 1, j]
        if t > 0 and (table[i, t] != table[i - 1, t] + price * dropped or i == t):
            t -= 1
            slots[i - 1] = t
        else:
            slots[i - 1] = -1
    return float(table[count, length])
