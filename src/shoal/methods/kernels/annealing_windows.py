"""Windows: the records of a few neighbouring groups are grouped anew, and the result is accepted or rejected.

The step of the search in ``sse_annealing``. A window holds two or more groups around a random record. Its records are
assigned to new groups (one fewer, as many, or one more) that grow from random records, then moved and exchanged inside
the window while that lowers the cost. So moves, exchanges, ejection chains, merging, splitting and reassigning are all
cases of one step, whose cost depends on k and d only, not on n. A result that is slightly worse is accepted with a
probability that falls with the temperature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner

MOST_PASSES = 50  # of moves and exchanges in a window; a few are the rule


@inner
def draw(state: Any, below: int) -> int:
    """Return a random integer from 0 to ``below - 1`` (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return int(((x * np.uint64(2685821657736338717)) >> np.uint64(11)) % np.uint64(below))


@inner
def squared_error(points: Any, members: Any, size: int) -> float:
    """Return the squared error of a group, summed around its first member."""
    total = 0.0
    for a in range(points.shape[1]):
        origin = points[members[0], a]
        s = 0.0
        q = 0.0
        for t in range(1, size):
            z = points[members[t], a] - origin
            s += z
            q += z * z
        total += q - s * s / size
    return max(total, 0.0)


@inner
def distance(x: Any, i: int, centres: Any, g: int) -> float:
    """Return the squared distance between a record and a centre."""
    total = 0.0
    for a in range(x.shape[1]):
        z = x[i, a] - centres[g, a]
        total += z * z
    return total


@inner
def join(x: Any, i: int, centres: Any, sizes: Any, labels: Any, g: int) -> None:
    """Put record i into group g."""
    size = sizes[g]
    for a in range(x.shape[1]):
        centres[g, a] = (centres[g, a] * size + x[i, a]) / (size + 1)
    sizes[g] = size + 1
    labels[i] = g


@inner
def grow_groups(x: Any, count: int, groups: int, k: int, labels: Any, sizes: Any, centres: Any, state: Any) -> None:
    """Group the records of a window: groups grow from random records by nearest ones, the rest join at least cost."""
    for i in range(count):
        labels[i] = -1
    for g in range(groups):
        seed = draw(state, count - g * k)
        sizes[g] = 0
        for a in range(x.shape[1]):
            centres[g, a] = 0.0
        for i in range(count):
            if labels[i] < 0:
                if seed == 0:
                    join(x, i, centres, sizes, labels, g)
                    break
                seed -= 1
        while sizes[g] < k:
            nearest = -1
            least = np.inf
            for i in range(count):
                if labels[i] < 0:
                    apart = distance(x, i, centres, g)
                    if nearest < 0 or apart < least:
                        least = apart
                        nearest = i
            join(x, nearest, centres, sizes, labels, g)
    for i in range(count):
        if labels[i] < 0:
            cheapest = -1
            least = np.inf
            for g in range(groups):
                if sizes[g] < 2 * k - 1:
                    extra = distance(x, i, centres, g) * sizes[g] / (sizes[g] + 1)
                    if cheapest < 0 or extra < least:
                        least = extra
                        cheapest = g
            join(x, i, centres, sizes, labels, cheapest)


@inner
def improve_groups(
    x: Any, count: int, groups: int, k: int, tolerance: float, labels: Any, sizes: Any, centres: Any
) -> float:
    """Move and exchange records while that gains more than the tolerance; return the squared error of the window."""
    d = x.shape[1]
    for _ in range(MOST_PASSES):
        still = True
        for i in range(count):
            a = labels[i]
            before = distance(x, i, centres, a)
            best = -tolerance
            target = -1
            partner = -1
            if sizes[a] > k:
                gain = before * sizes[a] / (sizes[a] - 1)
                for b in range(groups):
                    if b != a and sizes[b] < 2 * k - 1:
                        change = distance(x, i, centres, b) * sizes[b] / (sizes[b] + 1) - gain
                        if change < best:
                            best = change
                            target = b
            for j in range(i + 1, count):
                b = labels[j]
                if b == a:
                    continue
                share = 1.0 / sizes[a] + 1.0 / sizes[b]
                change = -before
                for c in range(d):
                    to_a = x[j, c] - centres[a, c]
                    to_b = x[i, c] - centres[b, c]
                    from_b = x[j, c] - centres[b, c]
                    apart = x[j, c] - x[i, c]
                    change += to_a * to_a + to_b * to_b - from_b * from_b - apart * apart * share
                if change < best:
                    best = change
                    partner = j
            if partner >= 0:
                b = labels[partner]
                for c in range(d):
                    apart = x[partner, c] - x[i, c]
                    centres[a, c] += apart / sizes[a]
                    centres[b, c] -= apart / sizes[b]
                labels[i] = b
                labels[partner] = a
                still = False
            elif target >= 0:
                for c in range(d):
                    centres[a, c] = (centres[a, c] * sizes[a] - x[i, c]) / (sizes[a] - 1)
                sizes[a] -= 1
                join(x, i, centres, sizes, labels, target)
                still = False
        if still:
            break
    total = 0.0
    for i in range(count):
        total += distance(x, i, centres, labels[i])
    return total


@compiled(error_model="numpy")
def windows(
    points: Any,
    neighbours: Any,
    labels: Any,
    members: Any,
    sizes: Any,
    costs: Any,
    best: Any,
    counters: Any,
    k: int,
    width: int,
    first: float,
    last: float,
    steps: int,
    state: Any,
    exponentials: Any,
) -> None:
    """Take ``steps`` steps while the temperature falls from ``first`` to ``last``.

    ``labels``, ``members``, ``sizes`` and ``costs`` describe the groups and are updated together; ``counters`` holds
    the number of groups, the cost now, and the lowest cost, whose labels are in ``best``. Temperatures are in units of
    the mean cost of the groups of a window. ``exponentials`` is a table of -ln u, which is the same on every
    processor; if it is empty, logarithms are computed.
    """
    n, d = points.shape
    most = 2 * k - 1
    x = np.empty((width * most, d))
    records = np.empty(width * most, np.int64)
    local = np.empty(width * most, np.int64)
    local_sizes = np.empty(width + 1, np.int64)
    centres = np.empty((width + 1, d))
    window = np.empty(width + 1, np.int64)
    one = np.int64(1)  # not a literal, for which the functions called here would be compiled once more
    for step in range(steps):
        temperature = first + (last - first) * step / steps
        wanted = 2 + draw(state, width - 1)
        record = draw(state, n)
        window[0] = labels[record]
        found = one
        for q in range(neighbours.shape[1]):
            if found == wanted:
                break
            g = labels[neighbours[record, q]]
            fresh = draw(state, 4) > 0
            for t in range(found):
                fresh = fresh and window[t] != g
            if fresh:
                window[found] = g
                found += 1
        old = 0.0
        count = 0 * one
        for t in range(found):
            g = window[t]
            old += costs[g]
            for s in range(sizes[g]):
                records[count] = members[g, s]
                count += 1
        groups = found + draw(state, 3) - 1
        groups = min(max(groups, (count + most - 1) // most), count // k)
        if old <= 0.0 or groups > found + 1:
            continue
        for i in range(count):
            for a in range(d):
                x[i, a] = points[records[i], a]
        grow_groups(x, count, groups, k, local, local_sizes, centres, state)
        tolerance = 1e-12 * old
        new = improve_groups(x, count, groups, k, tolerance, local, local_sizes, centres)
        grace = temperature * old / found
        if grace > 0.0:
            if exponentials.size:
                grace *= exponentials[draw(state, exponentials.size)]
            else:
                grace *= -np.log((draw(state, 1 << 30) + 1.0) / (1 << 30))
        if not new < old + grace - tolerance or abs(new - old) <= tolerance:
            continue
        for h in range(found, groups):
            window[h] = np.int64(counters[0])
            counters[0] += 1.0
        for h in range(groups):
            g = window[h]
            sizes[g] = 0
            for i in range(count):
                if local[i] == h:
                    members[g, sizes[g]] = records[i]
                    labels[records[i]] = g
                    sizes[g] += 1
            costs[g] = squared_error(points, members[g], sizes[g])
            counters[1] += costs[g]
        counters[1] -= old
        for h in range(groups, found):  # the last group gets the number of one that was removed
            g = window[h]
            end = np.int64(counters[0]) - 1
            counters[0] -= 1.0
            if g != end:
                sizes[g] = sizes[end]
                costs[g] = costs[end]
                for s in range(sizes[g]):
                    members[g, s] = members[end, s]
                    labels[members[g, s]] = g
                for t in range(h + 1, found):
                    if window[t] == end:
                        window[t] = g
        if counters[1] < counters[2] * (1.0 - 1e-13):
            counters[2] = counters[1]
            for i in range(n):
                best[i] = labels[i]
