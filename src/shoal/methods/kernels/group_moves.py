"""Groups that trade records: dissolve a group of k, pass a record on, split a group of 2k.

The two moves of ONA* (Thaeter 2021, Algorithms 15 to 17; Thaeter & Reischuk 2021, Algorithm 3). A record always goes to
the nearest centroid, and only if the cost falls by more than the tolerance; so the cost never rises and the search
ends. What cannot pay is excluded by a bound on the distance before the nearest centroid is looked for: a record that
leaves saves a known amount, and to join a group of m it pays m/(m+1) ≥ k/(k+1) of its squared distance. And what did
not pay is not looked for again until a centroid has moved near enough to alter that: every change is told as news.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.inner import inner
from shoal.methods.kernels.box_tree import LEAF, NOBODY, apart, remove, search
from shoal.methods.kernels.centroid_index import follow
from shoal.methods.kernels.centroids import Groups, add, cost_of, cost_of_joining, open_groups
from shoal.methods.kernels.projected_points import Cloud

DISSOLVED, PASSED_ON, SPLIT, VISITED, LARGE, NEWS = range(6)
BLOCKS = 64


class Trade(NamedTuple):
    """Who belongs where.

    Parameters
    ----------
    labels
        The group of each record.
    members
        The records of each group in ascending order, with room for 3k.
    origin
        For each group the one it descends from by splits.
    tally
        How many groups were dissolved, records passed on, groups split; the visits made; the groups too large now; the
        news there are.
    news
        Where centroids were and went: blocks x the length of a shade x 32; inf where nothing is written yet.
    heard
        How many news there were when a group was last visited in vain.
    spheres
        How far from its centroid a change could alter that; -1 if the group itself has changed.
    near
        For the records of groups of k, a lower bound of the squared distance to all other centroids at that time.
    """

    labels: NDArray[np.int64]
    members: NDArray[np.int64]
    origin: NDArray[np.int64]
    tally: NDArray[np.int64]
    news: NDArray[np.float64]
    heard: NDArray[np.int64]
    spheres: NDArray[np.float64]
    near: NDArray[np.float64]


class Scratch(NamedTuple):
    """Room for targets and records that move, the answer of a search, and the groups that have become too large."""

    targets: NDArray[np.int64]
    joining: NDArray[np.int64]
    far: NDArray[np.float64]
    host: NDArray[np.int64]
    large: NDArray[np.int64]


def scratch_for(k: int) -> Scratch:
    """Return the scratch of the kernels."""
    return Scratch(
        np.empty(k, np.int64), np.empty(3 * k, np.int64), np.empty(1), np.empty(1, np.int64), np.empty(k, np.int64)
    )


def open_trade(cloud: Cloud, labels: NDArray[np.int64], k: int) -> tuple[Groups, Trade]:
    """Return the state of a grouping whose labels are 0, 1, ... and whose groups have fewer than 2k records."""
    sizes = np.bincount(labels)
    room = sizes.size + sizes.size // 4 + 4 * k + 16
    order = np.argsort(labels, kind="stable")
    members = np.zeros((room, 3 * k), np.int64)
    members[labels[order], np.arange(labels.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = order
    trade = Trade(
        labels.copy(),
        members,
        np.arange(room),
        np.zeros(6, np.int64),
        np.full((BLOCKS + k // 2, cloud.shades.shape[1], LEAF), np.inf),
        np.zeros(room, np.int64),
        np.full(room, -1.0),
        np.zeros(labels.size),
    )
    return open_groups(cloud, labels, room), trade


def with_more_room(groups: Groups, trade: Trade) -> tuple[Groups, Trade]:
    """Return the same state with room for twice as many groups."""

    def longer(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array, np.zeros_like(array)])

    sizes, sums, centroids, shades, used = groups
    origin = np.concatenate([trade.origin, np.arange(trade.origin.size, 2 * trade.origin.size)])
    means = longer(centroids)
    return (
        Groups(longer(sizes), longer(sums), means, means if shades is centroids else longer(shades), used),
        trade._replace(
            members=longer(trade.members),
            origin=origin,
            heard=longer(trade.heard),
            spheres=np.concatenate([trade.spheres, np.full_like(trade.spheres, -1.0)]),
        ),
    )


def make_room_for_news(trade: Trade, k: int) -> None:
    """If there is little room for news, forget all; every group has to be visited again."""
    if trade.tally[NEWS] + 12 * k + 16 > trade.news.shape[0] * LEAF:
        trade.news[:] = np.inf
        trade.spheres[:] = -1.0
        trade.tally[NEWS] = 0


@inner
def tell(news: Any, tally: Any, shades: Any, g: int) -> None:
    """Write down where the centroid of a group was or is now."""
    number = tally[NEWS]
    tally[NEWS] = number + 1
    for j in range(news.shape[1]):
        news[number >> 5, j, number & 31] = shades[g, j]


@inner
def nearest_news(news: Any, start: int, stop: int, shades: Any, q: int, stack: Any) -> float:
    """Return the least squared distance of the news start..stop-1 to shade q."""
    width = news.shape[2]
    least = np.inf
    for block in range(start >> 5, (stop + 31) >> 5):
        for i in range(width):
            stack[0, i] = 0.0
        for j in range(news.shape[1]):
            centre = shades[q, j]
            for i in range(width):
                gap = news[block, j, i] - centre
                stack[0, i] += gap * gap
        for i in range(max(start - (block << 5), 0), width):
            least = min(least, stack[0, i])
    return least


@inner
def transfer(
    points: Any, axes: Any, labels: Any, members: Any, tally: Any, news: Any, spheres: Any, sizes: Any, sums: Any,
    centroids: Any, shades: Any, cells: Any, numbers: Any, plan: Any, places: Any, r: int, g: int,
) -> None:  # fmt: skip
    """Move a record from its group to group g, which may be new; a group whose last record leaves is closed."""
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
        spheres[h] = -1.0
        tell(news, tally, shades, h)
        add(sizes, sums, centroids, h, points, r, sign)
        if sizes[h] > 0:
            follow(axes, centroids, shades, h, cells, numbers, plan, places)
            tell(news, tally, shades, h)
        else:
            remove(cells, numbers, plan, places, h)
        sign = np.int64(1)
        h = g


@inner
def rise_of(
    points: Any, sizes: Any, sums: Any, centroids: Any, members: Any, g: int, targets: Any, joining: Any
) -> float:  # fmt: skip
    """Return by how much the cost rises if the members of a group go to their targets."""
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
def trade_some(
    cloud: Any, groups: Any, trade: Any, index: Any, scratch: Any, visits: Any, split: int, parts: Any, k: int,
    dissolving: bool, tolerance: float, stack: Any,
) -> None:  # fmt: skip
    """Visit up to 500 groups until some are too large: those of k may dissolve, or the others may pass records on.

    Before that, group ``split`` (-1: none) is replaced by two new ones; parts: 0 or 1 for each of its members. Of a
    group of more than k the record that gains most moves to its nearest group, and the group is visited again. A group
    that was visited in vain is left alone until something changes that could alter that. Joining a group of at least as
    many costs at least half of the squared distance, which bounds the searches for a group that might dissolve.
    """
    points, shades, axes, slack = cloud
    labels, members, origin, tally, news, heard, spheres, near = trade
    sizes, sums, centroids, group_shades, used = groups
    cells, numbers, plan, places = index
    targets, joining, far, host, large = scratch
    zero = np.int64(0)
    moved = sizes[split]
    if split >= 0:
        for i in range(moved):
            joining[i] = members[split, i]
        known = tally[NEWS]
        for i in range(moved):
            transfer(
                points, axes, labels, members, tally, news, spheres, sizes, sums, centroids, group_shades, cells,
                numbers, plan, places, joining[i], used[0] + parts[i],
            )  # fmt: skip
            tally[NEWS] = known + 1  # where the group was; the steps between do not matter
        for _ in range(2):
            tell(news, tally, group_shades, used[0])
            origin[used[0]] = origin[split]
            used[0] += 1
        tally[SPLIT] += 1
        return
    tally[LARGE] = 0
    for _ in range(500):
        if tally[VISITED] >= visits.size or tally[LARGE] > 0 or tally[NEWS] + 8 * k > news.shape[0] * LEAF:
            break
        g = visits[tally[VISITED]]
        size = sizes[g]
        if size < k or (size == k) != dissolving:
            tally[VISITED] += 1
            continue
        own = 0.0
        if dissolving:
            for i in range(k):
                joining[i] = members[g, i]
            own = cost_of(points, joining, zero, k)
        calm = spheres[g] >= 0.0
        if calm and dissolving:
            spared = -2.000001 * own
            for i in range(k):
                r = members[g, i]
                if near[r] > 0.0:
                    side = np.sqrt(nearest_news(news, heard[g], tally[NEWS], shades, r, stack)) - slack
                    side = 0.999999999 * side * side if side > 0.0 else 0.0
                    if side <= near[r]:  # a centroid came nearer, or the nearest one has moved
                        calm = False
                        near[r] = side
                    spared += near[r]
            calm |= spared > 0.0
        elif calm:
            side = spheres[g] + slack
            calm = nearest_news(news, heard[g], tally[NEWS], group_shades, g, stack) > 1.000000001 * side * side
        if calm:
            heard[g] = tally[NEWS]
            tally[VISITED] += 1
            continue
        spheres[g] = 0.0
        moved = zero
        budget = 2.000001 * own
        best = tolerance
        if dissolving:
            for i in range(k):
                near[members[g, i]] = 0.0
        for i in range(size):
            r = members[g, i]
            saved = apart(points, r, centroids, g)
            far[0] = budget
            if not dissolving:
                away = np.sqrt(saved)
                saved *= size / (size - 1.0)
                far[0] = 1.000001 * (saved - best) * (k + 1) / k
                spheres[g] = max(spheres[g], away + np.sqrt(max(far[0], 0.0)))
            host[0] = NOBODY
            if far[0] > 0.0:
                search(
                    points, shades, r, centroids, sizes, cells, numbers, plan, slack, 1.0, g, zero, far, host, stack
                )  # fmt: skip
            if dissolving:
                near[r] = max(far[0], 0.0)  # the limit if nobody was found
                if host[0] == NOBODY:
                    break
                budget -= far[0]
                targets[i] = host[0]
                moved += 1
            elif host[0] < NOBODY:
                gain = saved - sizes[host[0]] / (sizes[host[0]] + 1.0) * far[0]
                if gain > best:
                    best = gain
                    moved = zero + 1
                    joining[0] = r
                    targets[0] = host[0]
        if dissolving:
            if moved < k or own <= rise_of(points, sizes, sums, centroids, members, g, targets, joining) + tolerance:
                moved = zero
            for i in range(k):
                joining[i] = members[g, i]
            tally[DISSOLVED] += moved > 0
        else:
            tally[PASSED_ON] += moved
        for i in range(moved):
            transfer(
                points, axes, labels, members, tally, news, spheres, sizes, sums, centroids, group_shades, cells,
                numbers, plan, places, joining[i], targets[i],
            )  # fmt: skip
        heard[g] = tally[NEWS]
        if dissolving or moved == 0:
            tally[VISITED] += 1
        for i in range(moved):
            if sizes[targets[i]] >= 2 * k:
                large[tally[LARGE]] = targets[i]
                tally[LARGE] += 1
