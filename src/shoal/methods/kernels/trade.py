"""Groups that trade records: dissolve a group of k, pass a record on, split a group of 2k.

The two moves of ONA* (Thaeter 2021, Algorithms 15 to 17; Thaeter & Reischuk 2021, Algorithm 3). A record always goes to
the nearest centroid, and only if the cost falls by more than the tolerance; so the cost never rises and the search
ends. What cannot pay is excluded by a bound on the distance before the nearest centroid is looked for: a record that
leaves saves a known amount, and to join a group of m it pays m/(m+1) ≥ k/(k+1) of its squared distance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.closest import closed, closest, moved
from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.groups import Groups, add, cost_of, cost_of_joining, distance, drop, no_groups, open_group
from shoal.methods.kernels.inner import inner

DISSOLVED, PASSED_ON, SPLIT, VISITED, LARGE = range(5)


class Trade(NamedTuple):
    """Records and their groups: labels, state, members in ascending order (room for 3k), and where groups descend from.

    ``tally`` counts dissolved groups, records passed on, splits, the visits made, and the groups that are too large
    now.
    """

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    groups: Groups
    members: NDArray[np.int64]
    origin: NDArray[np.int64]
    tally: NDArray[np.int64]


def open_trade(points: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> Trade:
    """Return the state of a grouping whose labels are 0, 1, ... and whose groups have fewer than 2k records."""
    count = int(labels.max()) + 1
    room = count + count // 4 + 4 * k + 16
    trade = Trade(
        points,
        labels.copy(),
        no_groups(room, points.shape[1]),
        np.zeros((room, 3 * k), np.int64),
        np.arange(room),
        np.zeros(5, np.int64),
    )
    _enter(trade, count)
    return trade


def with_more_room(trade: Trade) -> Trade:
    """Return the same state with room for twice as many groups."""

    def longer(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array, np.zeros_like(array)])

    old = trade.groups
    groups = Groups(longer(old.sizes), longer(old.totals), longer(old.errors), longer(old.centroids), old.used)
    origin = np.concatenate([trade.origin, np.arange(trade.origin.size, 2 * trade.origin.size)])
    return Trade(trade.points, trade.labels, groups, longer(trade.members), origin, trade.tally)


@compiled
def _enter(trade: Any, count: int) -> None:
    """Put every record into the state of its group."""
    groups = trade.groups
    groups.used[0] = count
    for r in range(trade.labels.size):
        g = trade.labels[r]
        trade.members[g, groups.sizes[g]] = r
        add(groups, g, trade.points[r])


@inner
def put(trade: Any, index: Any, r: int, g: int) -> None:
    """Put a record into a group."""
    members = trade.members[g]
    i = trade.groups.sizes[g]
    while i > 0 and members[i - 1] > r:
        members[i] = members[i - 1]
        i -= 1
    members[i] = r
    trade.labels[r] = g
    add(trade.groups, g, trade.points[r])
    moved(index, trade.groups, g)


@inner
def take(trade: Any, index: Any, r: int, g: int) -> None:
    """Take a record out of its group."""
    members = trade.members[g]
    i = 0
    while members[i] != r:
        i += 1
    for place in range(i, trade.groups.sizes[g] - 1):
        members[place] = members[place + 1]
    drop(trade.groups, g, trade.points[r])
    moved(index, trade.groups, g)


@inner
def replace_by_two(trade: Any, index: Any, g: int, parts: Any) -> None:
    """Replace a group by two new ones; parts: 0 or 1 for each member, in the order of the members."""
    size = trade.groups.sizes[g]
    for part in range(2):
        new = trade.groups.used[0]
        m = 0
        for i in range(size):
            if parts[i] == part:
                trade.members[new, m] = trade.members[g, i]
                trade.labels[trade.members[g, i]] = new
                m += 1
        open_group(trade.groups, trade.points, trade.members[new, :m])
        trade.origin[new] = trade.origin[g]
    closed(index, trade.groups, g)
    trade.tally[SPLIT] += 1


@compiled
def split(trade: Any, index: Any, g: int, parts: Any) -> None:
    """Replace a group by two new ones, as ``replace_by_two`` does, for Python code."""
    replace_by_two(trade, index, g, parts)


@inner
def dissolve(trade: Any, index: Any, g: int, rule: Any, targets: Any, joining: Any) -> bool:
    """Give the members of a group of k to their nearest groups if that lowers the cost; say whether it did.

    Joining a group of at least as many costs at least half of the squared distance, which bounds the search.
    """
    groups = trade.groups
    k = targets.size
    members = trade.members[g, :k]
    own = cost_of(trade.points, members)
    budget = 2.000001 * own
    for i in range(k):
        targets[i], spent = closest(index, groups, trade.points[members[i]], g, rule.by_cost, 1.0, budget)
        if targets[i] < 0 or own <= 0.0:
            return False
        budget -= spent
    rise = 0.0
    for i in range(k):
        size = 0
        for other in range(k):
            if targets[other] == targets[i]:
                if other < i:
                    break  # this target has been counted
                joining[size] = members[other]
                size += 1
        if size:
            rise += cost_of_joining(groups, targets[i], trade.points, joining[:size])
    if own <= rise + rule.tolerance:
        return False
    for i in range(k):
        put(trade, index, members[i], targets[i])
    closed(index, groups, g)
    return True


@inner
def pass_on(trade: Any, index: Any, g: int, k: int, rule: Any) -> Any:
    """Move the record of a group of more than k that gains most to its nearest group; return that group, -1 if none."""
    groups = trade.groups
    size = groups.sizes[g]
    best = rule.tolerance
    mover = np.int64(-1)  # a plain -1 would compile every callee twice
    target = np.int64(-1)
    for i in range(size):
        r = trade.members[g, i]
        saved = size / (size - 1.0) * distance(trade.points[r], groups.centroids[g])
        limit = 1.000001 * (saved - best) * (k + 1) / k
        if limit <= 0.0:
            continue
        t, far = closest(index, groups, trade.points[r], g, rule.by_cost, 1.0, limit)
        if t >= 0:
            gain = saved - groups.sizes[t] / (groups.sizes[t] + 1.0) * far
            if gain > best:
                best = gain
                mover = r
                target = t
    if mover >= 0:
        take(trade, index, mover, g)
        put(trade, index, mover, target)
    return target


@compiled
def dissolve_some(trade: Any, index: Any, visits: Any, k: int, rule: Any, large: Any, limit: int) -> None:
    """Visit groups of k and dissolve them where it pays, until some groups have become too large."""
    targets = np.empty(k, np.int64)
    joining = np.empty(k, np.int64)
    trade.tally[LARGE] = 0
    for _ in range(limit):
        if trade.tally[VISITED] >= visits.size or trade.tally[LARGE] > 0:
            break
        g = visits[trade.tally[VISITED]]
        trade.tally[VISITED] += 1
        if trade.groups.sizes[g] == k and dissolve(trade, index, g, rule, targets, joining):
            trade.tally[DISSOLVED] += 1
            for i in range(k):
                if trade.groups.sizes[targets[i]] >= 2 * k:
                    large[trade.tally[LARGE]] = targets[i]
                    trade.tally[LARGE] += 1


@compiled
def pass_on_some(trade: Any, index: Any, visits: Any, k: int, rule: Any, large: Any, limit: int) -> None:
    """Visit groups of more than k and pass records on while it pays, until a group has become too large."""
    trade.tally[LARGE] = 0
    for _ in range(limit):
        if trade.tally[VISITED] >= visits.size or trade.tally[LARGE] > 0:
            break
        g = visits[trade.tally[VISITED]]
        target = pass_on(trade, index, g, k, rule) if trade.groups.sizes[g] > k else np.int64(-1)
        if target < 0:
            trade.tally[VISITED] += 1
            continue
        trade.tally[PASSED_ON] += 1
        if trade.groups.sizes[target] >= 2 * k:
            large[0] = target
            trade.tally[LARGE] = 1
