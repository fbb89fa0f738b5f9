"""Pricing: for each record the group that contains it and costs least beside what its records are worth.

The subproblem of column generation for squared error (Cost 2023, section 2.7, asks the same for categories). The worth
of a record is its dual price. Records are put in order of worth, highest first, and the first member of a group in that
order is its root, so that each group is looked at once, under its root. Below a root a depth-first search adds records.

Which records it looks at: a group G of m records costs at least half the squared distance of any two of its members. If
it costs less than it is worth, and its root i is worth most, then the squared distance from i to each other member is
below 2 m worth_i. Records are kept in small boxes, so that those near enough are found without looking at the others.

Why a branch may be cut off: let S be the s records chosen so far, m the size aimed at, and T the m-s records to come.
Then

    SSE(S u T) = 1/m [ P(S) + sum over j in T of D_j(S) + P(T) ],

with P the sum of squared distances over pairs and D_j(S) that from j to S. In P(T) each j of T meets m-s-1 others of T,
so P(T) is at least half the sum over T of what the m-s-1 nearest records of j, whichever they are, add up to: N_j. So j
adds at least w_j = (D_j(S) + N_j/2) / m - worth_j, and the m-s smallest of these bound everything below the branch.

Cuts only make groups dearer. A cut has a price for each ``divisor`` members of a set of records. Where S lacks one
member to the next payment, T pays once if it holds any; as many as r can share that payment, so each of them is charged
the r-th part, and the last one to come all of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.inner import inner
from shoal.methods.optimal.master import Cuts, Duals
from shoal.threads import get_threads, run_in_threads

CHUNKS = 8  # of roots at least, shared by the threads
CHUNK = 4_000  # roots in one at most, so that an interrupt is heard
SAMPLED = 40  # of so many roots one is tried first
HAIR = 1e-9  # of the mean worth: what a group must cost less than it is worth to be found
CROWD = 20_000  # candidates below a root at most; more are only bounded
BOX = 32  # records in a box at most
LIMIT = 200_000  # nodes below one root


class Priced(NamedTuple):
    """What pricing found.

    ``columns``: groups that cost less than they are worth, filled up with -1; ``costs``: their squared errors;
    ``slack``: for each record no group with this root is cheaper, beside its worth, than this (at most 0);
    ``nodes``: how far the search went.
    """

    columns: NDArray[np.int32]
    costs: NDArray[np.float64]
    slack: NDArray[np.float64]
    nodes: int


class Pricer:
    """Prices the groups of a table.

    Parameters
    ----------
    points
        n x d, centred.
    k
        The smallest group.

    Examples
    --------
    >>> from shoal.methods.optimal.master import no_cuts
    >>> pricer = Pricer(np.array([[0.0], [1.0], [5.0], [6.0]]), 2)
    >>> found = pricer.price(Duals(np.full(4, 0.5), no_cuts(4)))
    >>> found.columns[:, :2].tolist(), found.slack.round(6).tolist()
    ([[0, 1], [2, 3]], [-0.5, 0.0, -0.5, 0.0])
    """

    def __init__(self, points: NDArray[np.float64], k: int) -> None:
        from scipy.spatial import cKDTree

        self.points, self.k = np.ascontiguousarray(points), k
        n = points.shape[0]
        near = np.asarray(cKDTree(points).query(points, k=np.arange(2, 2 * k), workers=get_threads())[0])
        near = np.where(np.isfinite(near), near, 0.0) ** 2 * (1.0 - 1e-12)  # rounded down: it is a bound
        self.nearest = np.zeros((n, 2 * k))
        self.nearest[:, 2:] = np.cumsum(near, axis=1)[:, : 2 * k - 2]  # [:, t]: the t-1 nearest others
        self.boxes = boxed(self.points)

    def price(
        self,
        duals: Duals,
        *,
        keep: int = 6,
        limit: int = LIMIT,
        roots: NDArray[np.int64] | None = None,
        high: NDArray[np.float64] | None = None,
    ) -> Priced:
        """Find cheap groups and the slack of each root.

        Parameters
        ----------
        duals
            What records and cuts are worth.
        keep
            Groups to return for a root at most, the cheapest ones.
        limit
            Nodes to look at below a root; where they do not suffice, the slack is a bound, not the truth.
        roots
            The records whose groups are looked at; the slack of the others is 0. None: all.
        high
            A worth that is nowhere lower, by which records are put in order; None: the worth itself.
        """
        worth = duals.elements
        n = worth.size
        high = worth if high is None else high
        order = np.argsort(-high, kind="stable")
        own = order if roots is None else order[np.isin(order, roots)]
        hair = HAIR * max(float(np.abs(worth).mean()), 1e-300)
        parts = self._run(duals, high, order, own, -hair, limit, keep, every=False)
        slack = np.zeros(n)
        slack[parts[2]] = parts[3]
        by_value = np.argsort(parts[1], kind="stable")
        columns = parts[0][by_value]
        return Priced(columns, column_costs(self.points, columns), slack, int(parts[4].sum()))

    def all_below(self, duals: Duals, ceiling: float, *, keep: int, limit: int) -> NDArray[np.int32] | None:
        """Return every group that costs less than ``ceiling`` beside its worth; None if they are too many.

        Parameters
        ----------
        duals
            What records and cuts are worth.
        ceiling
            A positive number.
        keep
            Groups of one root at most.
        limit
            Nodes to look at below a root at most.
        """
        order = np.argsort(-duals.elements, kind="stable")
        for own in (order[::SAMPLED], order):  # a few first: mostly they tell that there are too many
            parts = self._run(duals, duals.elements, order, own, ceiling, limit, keep, every=True)
            if (parts[3] < 0.0).any():
                return None
        return np.asarray(parts[0], np.int32)

    def _run(
        self,
        duals: Duals,
        high: NDArray[np.float64],
        order: NDArray[np.int64],
        own: NDArray[np.int64],
        ceiling: float,
        limit: int,
        keep: int,
        *,
        every: bool,
    ) -> list[NDArray[Any]]:
        """Look below all roots in threads; return columns, values, roots, slack and nodes."""
        chunks = max(CHUNKS, own.size // CHUNK)
        ranks = np.empty(order.size, np.int64)
        ranks[order] = np.arange(order.size)
        cuts = listed(duals.cuts)

        def work(chunk: int) -> tuple[NDArray[Any], ...]:
            mine = own[chunk::chunks]
            columns = np.empty((mine.size * keep, 2 * self.k - 1), np.int32)
            values = np.empty(mine.size * keep)
            slack = np.zeros(mine.size)
            told = price_roots(
                self.points, self.nearest, duals.elements, high, ranks, mine, self.k, ceiling, limit, keep, every,
                *self.boxes, *cuts, columns, values, slack,
            )  # fmt: skip
            return columns[: told[0]], values[: told[0]], mine, slack, np.array([told[1]])

        return [np.concatenate(part) for part in zip(*run_in_threads(work, range(chunks)), strict=True)]


class Boxes(NamedTuple):
    """Records in small boxes: box b holds ``records[starts[b]:starts[b + 1]]``, all between its corners."""

    records: NDArray[np.int64]
    starts: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]


def boxed(points: NDArray[np.float64]) -> Boxes:
    """Halve the records along the widest side until few are in a box.

    Examples
    --------
    >>> boxes = boxed(np.arange(100.0)[:, None])
    >>> np.diff(boxes.starts).max() <= BOX, boxes.lows[0], boxes.highs[-1]
    (np.True_, array([0.]), array([99.]))
    """
    waiting = [np.arange(points.shape[0])]
    done = []
    while waiting:
        records = waiting.pop()
        if records.size <= BOX:
            done.append(records)
            continue
        own = points[records]
        side = own[:, int(np.argmax(np.ptp(own, axis=0)))]
        halves = np.argpartition(side, records.size // 2)
        waiting += [records[halves[records.size // 2 :]], records[halves[: records.size // 2]]]
    starts = np.cumsum([0, *(records.size for records in done)])
    joined = np.concatenate(done)
    return Boxes(
        joined,
        starts,
        np.minimum.reduceat(points[joined], starts[:-1]),
        np.maximum.reduceat(points[joined], starts[:-1]),
    )


class Listed(NamedTuple):
    """Cuts with a price: their members, and for each record the cuts that it is in."""

    prices: NDArray[np.float64]
    divisors: NDArray[np.int64]
    shared: NDArray[np.float64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    firsts: NDArray[np.int64]
    owners: NDArray[np.int64]


def listed(cuts: Cuts) -> Listed:
    """Return the cuts that cost something as lists.

    Examples
    --------
    >>> found = listed(Cuts(np.array([[True, False, True, True]]), np.array([2]), np.array([0.5])))
    >>> found.members.tolist(), found.shared.tolist(), found.firsts.tolist()
    ([0, 2, 3], [0.25], [0, 1, 1, 2, 3])
    """
    active = np.flatnonzero(cuts.prices > 0.0)
    inside = cuts.members[active]
    owners, members = np.nonzero(inside)
    sizes = inside.sum(axis=1)
    prices, divisors = cuts.prices[active], cuts.divisors[active]
    by_member = np.argsort(members, kind="stable")
    shared = prices / np.maximum(sizes - divisors + 1, 1)
    return Listed(
        prices, divisors, shared, np.concatenate([[0], np.cumsum(sizes)]), members,
        np.searchsorted(members[by_member], np.arange(cuts.members.shape[1] + 1)), owners[by_member],
    )  # fmt: skip


def column_costs(points: NDArray[np.float64], columns: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the squared errors of groups that are given as lists of records, filled up with -1.

    Examples
    --------
    >>> column_costs(np.array([[0.0], [2.0], [3.0]]), np.array([[0, 1, -1], [2, 1, -1]]))
    array([2. , 0.5])
    """
    inside = (columns >= 0)[:, :, None]
    apart = np.where(inside, points[columns] - points[columns[:, 0]][:, None, :], 0.0)
    means = apart.sum(axis=1) / inside.sum(axis=1)
    return np.asarray((np.where(inside, apart - means[:, None, :], 0.0) ** 2).sum(axis=(1, 2)))


@inner
def insert(values: Any, count: int, value: float) -> None:
    """Keep the ``count`` smallest values seen, in order."""
    if value < values[count - 1]:
        a = count - 1
        while a > 0 and values[a - 1] > value:
            values[a] = values[a - 1]
            a -= 1
        values[a] = value


@inner
def arrange(shares: Any, sums: Any, names: Any, count: int) -> None:
    """Sort the first ``count`` candidates by their shares (Shell's sort: few are the rule, thousands can come)."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for a in range(gap, count):
            share = shares[a]
            total = sums[a]
            name = names[a]
            b = a
            while b >= gap and shares[b - gap] > share:
                shares[b] = shares[b - gap]
                sums[b] = sums[b - gap]
                names[b] = names[b - gap]
                b -= gap
            shares[b] = share
            sums[b] = total
            names[b] = name
        gap //= 3


@inner
def fine_members(
    q: int, sign: float, prices: Any, shared: Any, starts: Any, members: Any, full: Any, soft: Any
) -> None:
    """Let the members of a cut be charged, or no longer."""
    for z in range(starts[q], starts[q + 1]):
        full[members[z]] += sign * prices[q]
        soft[members[z]] += sign * shared[q]


@inner
def meet(
    j: int,
    prices: Any,
    divisors: Any,
    shared: Any,
    starts: Any,
    members: Any,
    firsts: Any,
    owners: Any,
    met: Any,
    full: Any,
    soft: Any,
) -> float:
    """Add a record to the chosen ones: what the next would pay for cuts is in ``full``; return what is paid now."""
    paid = 0.0
    for z in range(firsts[j], firsts[j + 1]):
        q = owners[z]
        met[q] += 1
        if met[q] % divisors[q] == 0:
            paid += prices[q]
            fine_members(q, -1.0, prices, shared, starts, members, full, soft)
        if (met[q] + 1) % divisors[q] == 0:
            fine_members(q, 1.0, prices, shared, starts, members, full, soft)
    return paid


@inner
def part(
    j: int,
    prices: Any,
    divisors: Any,
    shared: Any,
    starts: Any,
    members: Any,
    firsts: Any,
    owners: Any,
    met: Any,
    full: Any,
    soft: Any,
) -> None:
    """Undo ``meet``."""
    for z in range(firsts[j], firsts[j + 1]):
        q = owners[z]
        if (met[q] + 1) % divisors[q] == 0:
            fine_members(q, -1.0, prices, shared, starts, members, full, soft)
        if met[q] % divisors[q] == 0:
            fine_members(q, 1.0, prices, shared, starts, members, full, soft)
        met[q] -= 1


@inner
def gather(
    points: Any, ranks: Any, root: int, reach: float, records: Any, starts: Any, lows: Any, highs: Any, near: Any,
    apart: Any,
) -> int:  # fmt: skip
    """List the records after the root in order of worth that are near enough; return how many."""
    d = points.shape[1]
    count = 0
    for b in range(lows.shape[0]):
        z2 = 0.0
        for c in range(d):
            z = max(lows[b, c] - points[root, c], points[root, c] - highs[b, c], 0.0)
            z2 += z * z
        if z2 > reach:
            continue
        for place in range(starts[b], starts[b + 1]):
            j = records[place]
            if ranks[j] <= ranks[root]:
                continue
            z2 = 0.0
            for c in range(d):
                z = points[j, c] - points[root, c]
                z2 += z * z
            if z2 <= reach:
                near[count] = j
                apart[count] = z2
                count += 1
    return count


@compiled(error_model="numpy")
def price_roots(
    points: Any,
    nearest: Any,
    worth: Any,
    high: Any,
    ranks: Any,
    roots: Any,
    k: int,
    ceiling: float,
    limit: int,
    keep: int,
    every: bool,
    records: Any,
    box_starts: Any,
    lows: Any,
    highs: Any,
    prices: Any,
    divisors: Any,
    shared: Any,
    starts: Any,
    members: Any,
    firsts: Any,
    owners: Any,
    columns: Any,
    values: Any,
    slack: Any,
) -> Any:
    """Price the groups of some roots; return the number of columns written and of nodes visited.

    The ``keep`` cheapest groups below the ceiling, or with ``every`` all of them: then a slack below 0 says that they
    were more than ``keep``, or that the limit did not suffice.
    """
    n, d = points.shape
    met = np.zeros(prices.size, np.int64)
    full = np.zeros(n)
    soft = np.zeros(n)
    near = np.empty(n, np.int64)
    apart = np.empty(n)
    smallest = np.empty(2 * k)
    room = 64
    shares = np.empty((2 * k, room))  # w of the candidates of each depth, ascending
    sums = np.empty((2 * k, room))  # their squared distances to the chosen records
    names = np.empty((2 * k, room), np.int64)
    counts = np.zeros(2 * k, np.int64)
    nexts = np.zeros(2 * k, np.int64)
    within = np.zeros(2 * k)  # squared distances among the chosen
    value = np.zeros(2 * k)  # of the chosen: within / m - worth + fines paid
    owed = np.zeros(2 * k)  # worth - fines paid
    chosen = np.zeros(2 * k, np.int64)
    written = 0
    nodes = 0
    for a in range(roots.size):
        root = roots[a]
        slack[a] = 0.0
        reach = 2.0 * ((2 * k - 1) * max(high[root], 0.0) + max(ceiling, 0.0)) * (1.0 + 1e-9)
        if reach <= 0.0:  # no record of its groups is worth anything
            continue
        around = gather(points, ranks, root, reach, records, box_starts, lows, highs, near, apart)
        if around + 1 < k:
            continue
        if around > room:
            room = 2 * around
            shares = np.empty((2 * k, room))
            sums = np.empty((2 * k, room))
            names = np.empty((2 * k, room), np.int64)
        meet(root, prices, divisors, shared, starts, members, firsts, owners, met, full, soft)
        best = ceiling
        lowest = 0.0  # a bound for what was left out,
        short = False  # if anything was for its number
        found = 0
        spent = 0
        for m in range(k, min(2 * k, around + 2)):
            t = m - 1
            for q in range(t):
                smallest[q] = np.inf
            for z in range(around):
                j = near[z]
                share = (apart[z] + 0.5 * nearest[j, t]) / m - worth[j] + (full[j] if t == 1 else soft[j])
                insert(smallest, t, share)
            bound = -worth[root]
            for q in range(t):
                bound += smallest[q]
            if bound >= best:
                continue
            if spent > limit:
                lowest = min(lowest, bound)
                continue
            others = bound - smallest[t - 1]
            count = 0
            for z in range(around):
                j = near[z]
                share = (apart[z] + 0.5 * nearest[j, t]) / m - worth[j] + (full[j] if t == 1 else soft[j])
                if others + share < best:
                    count += 1
            if count > CROWD:  # every node would take too long
                lowest = min(lowest, bound)
                short = True
                continue
            count = 0
            for z in range(around):
                j = near[z]
                share = (apart[z] + 0.5 * nearest[j, t]) / m - worth[j] + (full[j] if t == 1 else soft[j])
                if others + share < best:
                    shares[1, count] = share
                    sums[1, count] = apart[z]
                    names[1, count] = j
                    count += 1
            arrange(shares[1], sums[1], names[1], count)
            chosen[0] = root
            counts[1] = count
            nexts[1] = 0
            within[1] = 0.0
            owed[1] = worth[root]
            value[1] = -worth[root]
            s = 1
            fresh = True  # whether depth s was just entered; otherwise a record chosen there has to leave again
            while s > 0:
                if not fresh:
                    part(chosen[s], prices, divisors, shared, starts, members, firsts, owners, met, full, soft)
                fresh = False
                t = m - s
                b = nexts[s]
                bound = np.inf
                if b + t <= counts[s]:
                    bound = value[s]
                    for q in range(t):
                        bound += shares[s, b + q]
                if bound < best and spent > limit:
                    lowest = min(lowest, bound)
                if bound >= best or spent > limit:
                    s -= 1
                    continue
                spent += 1
                nexts[s] = b + 1
                j = names[s, b]
                if t == 1:  # the share is exact
                    line = written + found % keep
                    for q in range(s):
                        columns[line, q] = chosen[q]
                    columns[line, s] = j
                    for q in range(s + 1, 2 * k - 1):
                        columns[line, q] = -1
                    values[line] = value[s] + shares[s, b]
                    found += 1
                    if every:
                        fresh = True
                    else:  # later ones are dearer
                        best = values[line]
                        s -= 1
                    continue
                chosen[s] = j
                paid = meet(j, prices, divisors, shared, starts, members, firsts, owners, met, full, soft)
                u = s + 1
                within[u] = within[s] + sums[s, b]
                owed[u] = owed[s] + worth[j] - paid
                value[u] = within[u] / m - owed[u]
                left = t - 1
                for q in range(left):
                    smallest[q] = np.inf
                count = 0
                for z in range(b + 1, counts[s]):
                    l = names[s, z]
                    z2 = sums[s, z]
                    for c in range(d):
                        zc = points[l, c] - points[j, c]
                        z2 += zc * zc
                    share = (z2 + 0.5 * nearest[l, left]) / m - worth[l] + (full[l] if left == 1 else soft[l])
                    sums[u, count] = z2
                    shares[u, count] = share
                    names[u, count] = l
                    count += 1
                    insert(smallest, left, share)
                others = value[u]
                for q in range(left - 1):
                    others += smallest[q]
                kept = 0
                if count >= left and others + smallest[left - 1] < best:
                    for z in range(count):
                        share = shares[u, z]
                        if others + share < best:
                            shares[u, kept] = share
                            sums[u, kept] = sums[u, z]
                            names[u, kept] = names[u, z]
                            kept += 1
                    arrange(shares[u], sums[u], names[u], kept)
                counts[u] = kept
                nexts[u] = 0
                s = u
                fresh = True
        part(root, prices, divisors, shared, starts, members, firsts, owners, met, full, soft)
        written += min(found, keep)
        nodes += spent
        if every:
            slack[a] = -1.0 if short or spent > limit or found > keep else 0.0
        else:
            slack[a] = min(lowest, best)
    return written, nodes
