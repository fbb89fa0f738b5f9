"""Moves of rows between groups at a price for what groups lack: pass on, exchange, dissolve, split.

The objective is the squared error plus the price times what all groups lack (``priced_groups``). Passing on a row x
from g to h changes the squared error by |h|/(|h|+1) |x-c_h|² - |g|/(|g|-1) |x-c_g|²; exchanging x of g for y of h
changes it by -2(y-x)(c_g-c_h) - |y-x|² (1/|g|+1/|h|). What a group lacks is counted only where the gain could suffice.
At a price above any squared error no move can make a group that satisfies its requirements violate one: this is the
final round, in which groups are also split. A group can be cut in two with k units on both sides if and only if the
sum over its units of min(rows, 2) is at least 2k.
"""

from __future__ import annotations

from typing import Any

from shoal.core.compiled import compiled, inner
from shoal.core.requirement_violation import sort_values, violation_amount
from shoal.methods.persons.group_tallies import counted_amount_after
from shoal.methods.persons.priced_groups import (
    NEAR,
    OWN_PLACE,
    PARTNERS,
    TRIAL_PLACE,
    amount_after,
    missing_units,
    renew_amount,
)
from shoal.methods.persons.unit_row_moves import (
    apart,
    enter,
    force_cut,
    leave,
    line_up,
    renew,
    rows_of_unit,
)

EXCHANGED = 6
"""How many near groups a row may be exchanged with."""
CUTS = 9
"""How many cuts of a group are tried, those that lower the squared error most first."""


@inner
def best_target(state: Any, scratch: Any, near: Any, r: int, g: int, worth: float, best: float, limits: Any) -> Any:
    """Return the gain and number of the near group that a row should join, -1 where no gain exceeds ``best``.

    ``worth`` is what its leaving is worth.
    """
    target = -1
    k, price = limits.k, limits.price
    for i in range(NEAR):
        h = near[g, i]
        size = state.counts[h, 0]
        if h == g or size == 0 or size >= limits.largest:
            continue
        gain = worth - size / (size + 1.0) * apart(state, r, h)
        missing = missing_units(state, h, k)
        if gain + price * (min(1, missing) + min(state.amounts[h], limits.step)) <= best:
            continue
        if missing > 0 and rows_of_unit(state, state.units[r], h) == 0:
            gain += price
        if len(state.table.rows) > 0:
            gain += price * (state.amounts[h] - amount_after(state, scratch, h, i, -1, r))
        if gain > best:
            best = gain
            target = h
    return best, target


@inner
def units_change(state: Any, r: int, g: int, s: int, h: int, k: int) -> int:
    """Return how many units two groups lack more if row r of g and row s of h change places."""
    u, v = state.units[r], state.units[s]
    if u == v:
        return 0
    left = state.counts[g, 1] - (rows_of_unit(state, u, g) == 1) + (rows_of_unit(state, v, g) == 0)
    right = state.counts[h, 1] - (rows_of_unit(state, v, h) == 1) + (rows_of_unit(state, u, h) == 0)
    return max(0, k - left) + max(0, k - right) - missing_units(state, g, k) - missing_units(state, h, k)


@inner
def same_codes(state: Any, r: int, s: int) -> bool:
    """Whether two rows have the same confidential values."""
    equal = True
    for column in range(state.codes.shape[1]):
        equal &= state.codes[r, column] == state.codes[s, column]
    return equal


@inner
def amount_change(state: Any, scratch: Any, r: int, g: int, i: int, h: int, place: int, most: float) -> float:
    """Return by how much two groups lack more for the requirements if r and the i-th partner change places.

    Any number of at least ``most`` is returned where it is not below. Partners with equal values share the result.
    """
    s = scratch.partners[i]
    if same_codes(state, r, s):
        return 0.0
    for earlier in range(i):
        if scratch.partner_known[earlier] and same_codes(state, scratch.partners[earlier], s):
            return scratch.partner_changes[earlier]
    change = amount_after(state, scratch, g, OWN_PLACE, r, s) - state.amounts[g]
    if change - state.amounts[h] >= most:
        return change
    change += amount_after(state, scratch, h, place, s, r) - state.amounts[h]
    scratch.partner_known[i] = True
    scratch.partner_changes[i] = change
    return change


@inner
def best_partner(state: Any, scratch: Any, r: int, g: int, h: int, place: int, best: float, limits: Any) -> Any:
    """Return the gain and number of the row of h that row r of g should be exchanged for, -1 if none beats ``best``."""
    d = state.points.shape[1]
    k, price = limits.k, limits.price
    factor = 1.0 / state.counts[g, 0] + 1.0 / state.counts[h, 0]
    for j in range(d):
        scratch.between[j] = state.centroids[g, j] - state.centroids[h, j]
    room = min(1, missing_units(state, g, k)) + min(1, missing_units(state, h, k))
    amounts = min(state.amounts[g], limits.step) + min(state.amounts[h], limits.step)
    enough = best - price * (room + amounts)
    found = 0
    s = state.head[h]
    while s >= 0:
        along, squared = 0.0, 0.0
        for j in range(d):
            gap = state.points[s, j] - state.points[r, j]
            along += gap * scratch.between[j]
            squared += gap * gap
        gain = 2.0 * along + squared * factor
        if gain > enough and (found < PARTNERS or gain > scratch.partner_gains[PARTNERS - 1]):
            i = min(found, PARTNERS - 1)
            while i > 0 and scratch.partner_gains[i - 1] < gain:
                scratch.partner_gains[i] = scratch.partner_gains[i - 1]
                scratch.partners[i] = scratch.partners[i - 1]
                i -= 1
            scratch.partner_gains[i] = gain
            scratch.partners[i] = s
            found = min(found + 1, PARTNERS)
        s = state.following[s]
    partner = -1
    for i in range(found):
        scratch.partner_known[i] = False
    for i in range(found):
        gain, s = scratch.partner_gains[i], scratch.partners[i]
        if gain <= best - price * (room + amounts):
            break
        gain -= price * units_change(state, r, g, s, h, k)
        if len(state.table.rows) > 0 and gain + price * amounts > best:
            gain -= price * amount_change(state, scratch, r, g, i, h, place, (gain - best) / price)
        if gain > best:
            best = gain
            partner = s
    return best, partner


@inner
def best_counted_partner(state: Any, scratch: Any, r: int, g: int, h: int, best: float, limits: Any) -> Any:
    """Return what ``best_partner`` does where values are counted: every row of h is compared, not only the nearest."""
    d = state.points.shape[1]
    k, price = limits.k, limits.price
    factor = 1.0 / state.counts[g, 0] + 1.0 / state.counts[h, 0]
    for j in range(d):
        scratch.between[j] = state.centroids[g, j] - state.centroids[h, j]
    room = min(1, missing_units(state, g, k)) + min(1, missing_units(state, h, k))
    before = state.amounts[g] + state.amounts[h]
    most = price * (room + min(state.amounts[g], limits.step) + min(state.amounts[h], limits.step))
    partner = -1
    s = state.head[h]
    while s >= 0:
        along, squared = 0.0, 0.0
        for j in range(d):
            gap = state.points[s, j] - state.points[r, j]
            along += gap * scratch.between[j]
            squared += gap * gap
        gain = 2.0 * along + squared * factor
        if gain + most > best:
            gain -= price * units_change(state, r, g, s, h, k)
            if not same_codes(state, r, s):
                after = counted_amount_after(state, g, r, s)
                if gain + price * (before - after) > best:
                    after += counted_amount_after(state, h, s, r)
                gain += price * (before - after)
            if gain > best:
                best = gain
                partner = s
        s = state.following[s]
    return best, partner


@inner
def improve_row(state: Any, scratch: Any, near: Any, r: int, limits: Any) -> bool:
    """Pass a row on, or exchange it for another one, whichever lowers the objective most."""
    g = state.labels[r]
    size = state.counts[g, 0]
    own = state.amounts[g]
    best, target, partner = limits.least, -1, -1
    if size > limits.smallest:
        worth = size / (size - 1.0) * apart(state, r, g)
        if state.counts[g, 1] <= limits.k and rows_of_unit(state, state.units[r], g) == 1:
            worth -= limits.price
        if len(state.table.rows) > 0:
            worth += limits.price * (state.amounts[g] - amount_after(state, scratch, g, OWN_PLACE, r, -1))
        best, target = best_target(state, scratch, near, r, g, worth, best, limits)
    exchanged = EXCHANGED if limits.every or own > 0.0 or state.counts[g, 1] < limits.k else 0
    for i in range(exchanged):
        h = near[g, i]
        if h == g or state.counts[h, 0] == 0 or (own == 0.0 and state.amounts[h] > 0.0):
            continue  # a group that lacks values finds the exchange itself
        if state.tallies.counts.shape[1] > 0:
            gain, s = best_counted_partner(state, scratch, r, g, h, best, limits)
        else:
            gain, s = best_partner(state, scratch, r, g, h, i, best, limits)
        if s >= 0:
            best, target, partner = gain, h, s
    if target < 0:
        return False
    leave(state, r)
    if partner >= 0:
        leave(state, partner)
        enter(state, partner, g)
    enter(state, r, target)
    renew_amount(state, scratch, g)
    renew_amount(state, scratch, target)
    return True


@inner
def try_dissolve(state: Any, scratch: Any, near: Any, g: int, limits: Any) -> bool:
    """Pass all rows of a group on to near groups if that lowers the objective; otherwise everything stays."""
    left = renew(state, g) + limits.price * (missing_units(state, g, limits.k) + state.amounts[g]) - limits.least
    size = 0
    r = state.head[g]
    while r >= 0:
        scratch.order[size] = r
        size += 1
        r = state.following[r]
    moved = 0
    while moved < size:
        r = scratch.order[moved]
        gain, target = best_target(state, scratch, near, r, g, 0.0, -left, limits)
        if target < 0:
            break
        left += gain
        leave(state, r)
        enter(state, r, target)
        renew_amount(state, scratch, target)
        moved += 1
    if moved == size:
        renew_amount(state, scratch, g)
        return True
    for i in range(moved):
        h = state.labels[scratch.order[i]]
        leave(state, scratch.order[i])
        enter(state, scratch.order[i], g)
        renew_amount(state, scratch, h)
    renew(state, g)
    renew_amount(state, scratch, g)
    return False


@inner
def part_satisfies(state: Any, scratch: Any, begin: int, end: int) -> bool:
    """Whether the rows ``order[begin:end]`` as a group would satisfy the requirements on confidential attributes."""
    if len(state.table.rows) == 0:
        return True
    values = scratch.values[TRIAL_PLACE]
    for column in range(state.codes.shape[1]):
        for i in range(begin, end):
            values[column, i - begin] = state.codes[scratch.order[i], column]
        sort_values(values[column], end - begin)
    return violation_amount(values, end - begin, state.table, scratch.frequencies) == 0.0


@inner
def gains_of_cuts(state: Any, scratch: Any, g: int, size: int, k: int) -> None:
    """Write by how much the cut before each position of a sorted group lowers the cost; -1 where units are missing."""
    order = scratch.order
    for i in range(size):
        state.stamps[state.units[order[i]]] = 0
    units = 0
    for i in range(size - 1, -1, -1):
        if state.stamps[state.units[order[i]]] == 0:
            units += 1
        state.stamps[state.units[order[i]]] = 1
        scratch.units_before[i] = units  # units of the rows from i on
    for i in range(size):
        state.stamps[state.units[order[i]]] = 0
    for j in range(state.centroids.shape[1]):
        scratch.sums[0, j] = 0.0
    units = 0
    scratch.gains[0] = -1.0
    for i in range(size - 1):
        r = order[i]
        if state.stamps[state.units[r]] == 0:
            units += 1
        state.stamps[state.units[r]] = 1
        square = 0.0
        for j in range(state.centroids.shape[1]):
            scratch.sums[0, j] += state.points[r, j] - state.centroids[g, j]
            square += scratch.sums[0, j] * scratch.sums[0, j]
        allowed = units >= k and scratch.units_before[i + 1] >= k
        scratch.gains[i + 1] = square * (1.0 / (i + 1) + 1.0 / (size - i - 1)) if allowed else -1.0


@inner
def find_cut(state: Any, scratch: Any, g: int, size: int, limits: Any) -> int:
    """Return how many rows of the sorted group come first in the best cut that violates nothing, or -1."""
    gains_of_cuts(state, scratch, g, size, limits.k)
    for _ in range(CUTS):
        cut = -1
        best = limits.least
        for i in range(1, size):
            if scratch.gains[i] > best:
                best = scratch.gains[i]
                cut = i
        if cut < 0:
            break
        if part_satisfies(state, scratch, 0, cut) and part_satisfies(state, scratch, cut, size):
            return cut
        scratch.gains[cut] = -1.0
    cut = force_cut(state, scratch, size, limits.k)
    if cut > 0 and part_satisfies(state, scratch, 0, cut) and part_satisfies(state, scratch, cut, size):
        return cut
    return -1


@inner
def try_split(state: Any, scratch: Any, g: int, new: int, limits: Any) -> bool:
    """Cut a group in two if both parts satisfy everything and the cost falls."""
    before = renew(state, g)
    if before <= limits.least:
        return False
    size = line_up(state, scratch, g, limits.k)
    first = find_cut(state, scratch, g, size, limits)
    if first < 0:
        return False
    for i in range(first, size):
        leave(state, scratch.order[i])
    for i in range(first, size):
        enter(state, scratch.order[i], new)
    split = before - renew(state, g) - renew(state, new) > limits.least
    if not split:
        for i in range(first, size):
            leave(state, scratch.order[i])
            enter(state, scratch.order[i], g)
        renew(state, g)
    renew_amount(state, scratch, g)
    renew_amount(state, scratch, new)
    return split


@compiled(allocates=False)
def visit_rows(state: Any, scratch: Any, near: Any, active: Any, limits: Any) -> int:
    """Improve every row of an active group, in the order of the rows; return the number of changes."""
    changed = 0
    for r in range(state.labels.size):
        if active[state.labels[r]] and improve_row(state, scratch, near, r, limits):
            changed += 1
    for g in range(state.counts.shape[0]):
        if active[g] and state.counts[g, 0] > 0:
            renew(state, g)
    return changed


@compiled(allocates=False)
def dissolve_groups(state: Any, scratch: Any, near: Any, chosen: Any, limits: Any) -> int:
    """Dissolve the chosen groups where that lowers the objective; return their number."""
    dissolved = 0
    for g in range(state.counts.shape[0]):
        if chosen[g] and state.counts[g, 0] > 0 and try_dissolve(state, scratch, near, g, limits):
            dissolved += 1
    return dissolved


@compiled(allocates=False)
def split_groups(state: Any, scratch: Any, chosen: Any, limits: Any) -> int:
    """Split the chosen groups while that lowers the cost; new groups are chosen as well. Returns their number."""
    new, split = 0, 0
    g = 0
    while g < state.counts.shape[0]:
        while new < state.counts.shape[0] and state.counts[new, 0] > 0:
            new += 1
        if new == state.counts.shape[0]:
            break
        if chosen[g] and state.counts[g, 0] >= 2 * limits.k and try_split(state, scratch, g, new, limits):
            chosen[new] = True
            split += 1
            g = min(g, new)
        else:
            g += 1
    return split
