"""The depth-first search of ``sse_pricing``: the groups of a root that have a negative reduced cost.

Which records are candidates: a group G of m records costs at least half the squared distance of any two of its members.
If its reduced cost is negative, and its root i has the highest dual value y_i, then the squared distance from i to each
other member is below 2 m y_i. Records are stored in small boxes, so that those near enough are found without examining
the others.

Why a branch may be cut off: let S be the s records chosen so far, m the size of the group, and T the m-s records to
come. Then

    SSE(S u T) = 1/m [ P(S) + sum over j in T of D_j(S) + P(T) ],

with P the sum of squared distances over pairs and D_j(S) that from j to S. In P(T) each j of T meets m-s-1 others of T,
so P(T) is at least half the sum over j in T of N_j, the sum of the squared distances from j to its m-s-1 nearest
records, whichever they are. So j adds at least w_j = (D_j(S) + N_j/2) / m - y_j, and the m-s smallest of these bound
every group below the branch.

Cuts only raise reduced costs: by the dual value of the cut for each ``divisor`` members of its set of records. Where S
lacks one member to the next multiple, T is charged once if it holds any member; as many as r can share that charge, so
each of them is charged the r-th part, and the last record to come is charged all of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner

MOST_CANDIDATES = 20_000  # below a root; if there are more, their groups are only bounded


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
    """Sort the first ``count`` candidates by their shares (Shell's sort: mostly a few, sometimes thousands)."""
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
def charge_members(
    q: int, sign: float, cut_duals: Any, shared: Any, starts: Any, members: Any, full: Any, soft: Any
) -> None:
    """Begin (sign 1) or end (sign -1) to charge the members of a cut."""
    for z in range(starts[q], starts[q + 1]):
        full[members[z]] += sign * cut_duals[q]
        soft[members[z]] += sign * shared[q]


@inner
def meet(
    j: int,
    cut_duals: Any,
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
    """Add a record to the chosen ones: the charges of the next one are in ``full``; return what is charged now."""
    charged = 0.0
    for z in range(firsts[j], firsts[j + 1]):
        q = owners[z]
        met[q] += 1
        if met[q] % divisors[q] == 0:
            charged += cut_duals[q]
            charge_members(q, -1.0, cut_duals, shared, starts, members, full, soft)
        if (met[q] + 1) % divisors[q] == 0:
            charge_members(q, 1.0, cut_duals, shared, starts, members, full, soft)
    return charged


@inner
def part(
    j: int,
    cut_duals: Any,
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
            charge_members(q, -1.0, cut_duals, shared, starts, members, full, soft)
        if met[q] % divisors[q] == 0:
            charge_members(q, 1.0, cut_duals, shared, starts, members, full, soft)
        met[q] -= 1


@inner
def gather(
    points: Any, ranks: Any, root: int, reach: float, records: Any, starts: Any, lows: Any, highs: Any, near: Any,
    apart: Any,
) -> int:  # fmt: skip
    """List the records after the root in order of dual values that are near enough; return how many."""
    d = points.shape[1]
    count = 0
    for b in range(lows.shape[0]):
        z2 = 0.0
        for c in range(d):
            z = max(lows[b, c] - points[root, c], points[root, c] - highs[b, c], 0.0)
            z2 += z * z
        if z2 > reach:
            continue
        for position in range(starts[b], starts[b + 1]):
            j = records[position]
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
    dual_values: Any,
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
    cut_duals: Any,
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

    The ``keep`` groups of least reduced cost below the ceiling, or with ``every`` all of them: then a slack below 0
    means that there were more than ``keep``, or more nodes than the limit.
    """
    n, d = points.shape
    met = np.zeros(cut_duals.size, np.int64)
    full = np.zeros(n)
    soft = np.zeros(n)
    near = np.empty(n, np.int64)
    apart = np.empty(n)
    smallest = np.empty(2 * k)
    capacity = 64
    shares = np.empty((2 * k, capacity))  # w of the candidates of each depth, ascending
    sums = np.empty((2 * k, capacity))  # their squared distances to the chosen records
    names = np.empty((2 * k, capacity), np.int64)
    counts = np.zeros(2 * k, np.int64)
    nexts = np.zeros(2 * k, np.int64)
    within = np.zeros(2 * k)  # squared distances among the chosen
    value = np.zeros(2 * k)  # of the chosen: within / m - dual values + charges
    collected = np.zeros(2 * k)  # dual values - charges
    chosen = np.zeros(2 * k, np.int64)
    written = 0
    nodes = 0
    for a in range(roots.size):
        root = roots[a]
        slack[a] = 0.0
        reach = 2.0 * ((2 * k - 1) * max(high[root], 0.0) + max(ceiling, 0.0)) * (1.0 + 1e-9)
        if reach <= 0.0:  # no record of its groups has a positive dual value
            continue
        around = gather(points, ranks, root, reach, records, box_starts, lows, highs, near, apart)
        if around + 1 < k:
            continue
        if around > capacity:
            capacity = 2 * around
            shares = np.empty((2 * k, capacity))
            sums = np.empty((2 * k, capacity))
            names = np.empty((2 * k, capacity), np.int64)
        meet(root, cut_duals, divisors, shared, starts, members, firsts, owners, met, full, soft)
        best = ceiling
        lowest = 0.0  # a bound for the groups that were left out,
        short = False  # whether some were because of the number of candidates
        found = 0
        spent = 0
        for m in range(k, min(2 * k, around + 2)):
            t = m - 1
            for q in range(t):
                smallest[q] = np.inf
            for z in range(around):
                j = near[z]
                share = (apart[z] + 0.5 * nearest[j, t]) / m - dual_values[j] + (full[j] if t == 1 else soft[j])
                insert(smallest, t, share)
            bound = -dual_values[root]
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
                share = (apart[z] + 0.5 * nearest[j, t]) / m - dual_values[j] + (full[j] if t == 1 else soft[j])
                if others + share < best:
                    count += 1
            if count > MOST_CANDIDATES:  # each node would take too long
                lowest = min(lowest, bound)
                short = True
                continue
            count = 0
            for z in range(around):
                j = near[z]
                share = (apart[z] + 0.5 * nearest[j, t]) / m - dual_values[j] + (full[j] if t == 1 else soft[j])
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
            collected[1] = dual_values[root]
            value[1] = -dual_values[root]
            s = 1
            fresh = True  # whether depth s was just entered; otherwise the record chosen there is removed again
            while s > 0:
                if not fresh:
                    part(chosen[s], cut_duals, divisors, shared, starts, members, firsts, owners, met, full, soft)
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
                    else:  # later ones cost more
                        best = values[line]
                        s -= 1
                    continue
                chosen[s] = j
                charged = meet(j, cut_duals, divisors, shared, starts, members, firsts, owners, met, full, soft)
                u = s + 1
                within[u] = within[s] + sums[s, b]
                collected[u] = collected[s] + dual_values[j] - charged
                value[u] = within[u] / m - collected[u]
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
                    share = (z2 + 0.5 * nearest[l, left]) / m - dual_values[l] + (full[l] if left == 1 else soft[l])
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
        part(root, cut_duals, divisors, shared, starts, members, firsts, owners, met, full, soft)
        written += min(found, keep)
        nodes += spent
        if every:
            slack[a] = -1.0 if short or spent > limit or found > keep else 0.0
        else:
            slack[a] = min(lowest, best)
    return written, nodes
