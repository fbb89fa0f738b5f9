"""Pricing: for each record the group that contains it and costs least beside what its records are worth.

The subproblem of column generation for squared error (Cost 2023, section 2.7, asks the same for categories). The worth
of a record is its dual price. Records are put in order of worth, highest first, and the first member of a group in that
order is its root, so that each group is looked at once, under its root. Below a root a depth-first search adds records.

Why a branch may be cut off: let S be the s records chosen so far, m the size aimed at, and T the m-s records to come.
Then

    SSE(S u T) = 1/m [ P(S) + sum over j in T of D_j(S) + P(T) ],

with P the sum of squared distances over pairs and D_j(S) that from j to S. In P(T) each j of T meets m-s-1 others of T,
so P(T) is at least half the sum over T of what the m-s-1 nearest records of j, whichever they are, add up to: N_j. So j
adds at least w_j = (D_j(S) + N_j/2) / m - worth_j, and the m-s smallest of these bound everything below the branch.
Cuts only make groups dearer. Of a cut that S has already met once, T pays the price once even if it meets it twice, so
each candidate is charged half of it, and the last one all of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.inner import inner
from shoal.methods.optimal.master import Duals
from shoal.threads import run_in_threads

CHUNKS = 8  # of roots, shared by the threads
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
    ([[0, 1], [2, 3]], [-0.5, -0.0, -0.5, -0.0])
    """

    def __init__(self, points: NDArray[np.float64], k: int) -> None:
        from scipy.spatial import cKDTree

        self.points, self.k = np.ascontiguousarray(points), k
        n = points.shape[0]
        near = np.asarray(cKDTree(points).query(points, k=np.arange(2, 2 * k))[0])
        near = np.where(np.isfinite(near), near, 0.0) ** 2 * (1.0 - 1e-12)  # rounded down: it is a bound
        self.nearest = np.zeros((n, 2 * k))
        self.nearest[:, 2:] = np.cumsum(near, axis=1)[:, : 2 * k - 2]  # [:, t]: the t-1 nearest others

    def price(self, duals: Duals, *, keep: int = 6, limit: int = LIMIT) -> Priced:
        """Find cheap groups and the slack of each root.

        Parameters
        ----------
        duals
            What records and cuts are worth. Cuts must be sets of three with divisor 2.
        keep
            Groups to return for a root at most, the cheapest ones.
        limit
            Nodes to look at below a root; where they do not suffice, the slack is a bound, not the truth.
        """
        worth = duals.elements
        n = worth.size
        order = np.argsort(-worth, kind="stable")
        active = np.flatnonzero(duals.cuts.prices > 0.0)
        triples = np.array([np.flatnonzero(duals.cuts.members[q]) for q in active], np.int64).reshape(-1, 3)
        owners = np.repeat(np.arange(len(active)), 3)[np.argsort(triples.ravel(), kind="stable")]
        firsts = np.searchsorted(np.sort(triples.ravel()), np.arange(n + 1))
        prices = duals.cuts.prices[active]
        hair = 1e-9 * max(float(np.abs(worth).mean()), 1e-300)

        def work(chunk: int) -> tuple[NDArray[Any], ...]:
            ranks = np.arange(chunk, n, CHUNKS)
            columns = np.empty((ranks.size * keep, 2 * self.k - 1), np.int32)
            values = np.empty(ranks.size * keep)
            slack = np.zeros(ranks.size)
            told = price_roots(
                self.points, self.nearest, worth, order, ranks, self.k, hair, limit, keep, triples, prices, owners,
                firsts, columns, values, slack,
            )  # fmt: skip
            return columns[: told[0]], values[: told[0]], order[ranks], slack, np.array([told[1]])

        parts = [np.concatenate(part) for part in zip(*run_in_threads(work, range(CHUNKS)), strict=True)]
        slack = np.empty(n)
        slack[parts[2]] = parts[3]
        by_value = np.argsort(parts[1], kind="stable")
        columns = parts[0][by_value]
        return Priced(columns, column_costs(self.points, columns), slack, int(parts[4].sum()))


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
def meet(j: int, firsts: Any, owners: Any, triples: Any, prices: Any, met: Any, fine: Any) -> float:
    """Add a record to the chosen ones: what others would now pay for cuts is in ``fine``; return what is paid now."""
    paid = 0.0
    for z in range(firsts[j], firsts[j + 1]):
        q = owners[z]
        met[q] += 1
        if met[q] == 1:
            for t in range(3):
                fine[triples[q, t]] += prices[q]
        elif met[q] == 2:
            paid += prices[q]
            for t in range(3):
                fine[triples[q, t]] -= prices[q]
    return paid


@inner
def part(j: int, firsts: Any, owners: Any, triples: Any, prices: Any, met: Any, fine: Any) -> None:
    """Undo ``meet``."""
    for z in range(firsts[j], firsts[j + 1]):
        q = owners[z]
        if met[q] == 1:
            for t in range(3):
                fine[triples[q, t]] -= prices[q]
        elif met[q] == 2:
            for t in range(3):
                fine[triples[q, t]] += prices[q]
        met[q] -= 1


@inner
def root_bound(apart: Any, nearest: Any, worth: Any, order: Any, fine: Any, rank: int, m: int, smallest: Any) -> float:
    """Return a bound for all groups of m records with this root; ``smallest`` gets the m-1 smallest shares."""
    t = m - 1
    for q in range(t):
        smallest[q] = np.inf
    for z in range(rank + 1, order.size):
        j = order[z]
        insert(smallest, t, (apart[j] + 0.5 * nearest[j, t]) / m - worth[j] + 0.5 * fine[j])
    bound = -worth[order[rank]]
    for q in range(t):
        bound += smallest[q]
    return bound


@compiled(error_model="numpy")
def price_roots(
    points: Any,
    nearest: Any,
    worth: Any,
    order: Any,
    ranks: Any,
    k: int,
    hair: float,
    limit: int,
    keep: int,
    triples: Any,
    prices: Any,
    owners: Any,
    firsts: Any,
    columns: Any,
    values: Any,
    slack: Any,
) -> Any:
    """Price the groups of some roots; return the number of columns written and of nodes visited."""
    n, d = points.shape
    met = np.zeros(prices.size, np.int64)
    fine = np.zeros(n)
    apart = np.empty(n)
    smallest = np.empty(2 * k)
    shares = np.empty((2 * k, n))  # w of the candidates of each depth, ascending
    sums = np.empty((2 * k, n))  # their squared distances to the chosen records
    names = np.empty((2 * k, n), np.int64)
    counts = np.zeros(2 * k, np.int64)
    nexts = np.zeros(2 * k, np.int64)
    within = np.zeros(2 * k)  # squared distances among the chosen
    value = np.zeros(2 * k)  # of the chosen: within / m - worth + fines paid
    owed = np.zeros(2 * k)  # worth - fines paid
    chosen = np.zeros(2 * k, np.int64)
    written = 0
    nodes = 0
    for a in range(ranks.size):
        rank = ranks[a]
        root = order[rank]
        for j in range(n):
            z2 = 0.0
            for c in range(d):
                z = points[j, c] - points[root, c]
                z2 += z * z
            apart[j] = z2
        meet(root, firsts, owners, triples, prices, met, fine)
        best = -hair
        lowest = 0.0  # a bound for what the limit left out
        found = 0
        spent = 0
        for m in range(k, min(2 * k, n - rank + 1)):
            bound = root_bound(apart, nearest, worth, order, fine, rank, m, smallest)
            if bound >= best:
                continue
            if spent > limit:
                lowest = min(lowest, bound)
                continue
            t = m - 1
            others = bound - smallest[t - 1]
            count = 0
            for z in range(rank + 1, n):
                j = order[z]
                share = (apart[j] + 0.5 * nearest[j, t]) / m - worth[j] + (fine[j] if t == 1 else 0.5 * fine[j])
                if others + share < best:
                    b = count
                    count += 1
                    while b > 0 and shares[1, b - 1] > share:
                        shares[1, b] = shares[1, b - 1]
                        names[1, b] = names[1, b - 1]
                        b -= 1
                    shares[1, b] = share
                    names[1, b] = j
            for b in range(count):
                sums[1, b] = apart[names[1, b]]
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
                    part(chosen[s], firsts, owners, triples, prices, met, fine)
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
                if t == 1:  # the share is exact, and later ones are dearer
                    best = value[s] + shares[s, b]
                    line = written + found % keep
                    for q in range(s):
                        columns[line, q] = chosen[q]
                    columns[line, s] = j
                    for q in range(s + 1, 2 * k - 1):
                        columns[line, q] = -1
                    values[line] = best
                    found += 1
                    s -= 1
                    continue
                chosen[s] = j
                paid = meet(j, firsts, owners, triples, prices, met, fine)
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
                    share = (z2 + 0.5 * nearest[l, left]) / m - worth[l] + (fine[l] if left == 1 else 0.5 * fine[l])
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
                            z2 = sums[u, z]
                            l = names[u, z]
                            b = kept
                            kept += 1
                            while b > 0 and shares[u, b - 1] > share:
                                shares[u, b] = shares[u, b - 1]
                                sums[u, b] = sums[u, b - 1]
                                names[u, b] = names[u, b - 1]
                                b -= 1
                            shares[u, b] = share
                            sums[u, b] = z2
                            names[u, b] = l
                counts[u] = kept
                nexts[u] = 0
                s = u
                fresh = True
        part(root, firsts, owners, triples, prices, met, fine)
        written += min(found, keep)
        nodes += spent
        slack[a] = min(lowest, best)
    return written, nodes
