"""The linear program of perfect matching: rows for records, odd sets and, if n is odd, the one group of three.

Edmonds 1965: the shortest perfect matching is the optimum of min c x over x >= 0 with x(edges at a record) = 1 and
x(edges that leave S) >= 1 for odd sets S. Sets are added when the solution violates them, edges when their reduced cost
is negative (Grötschel & Holland 1985, doi:10.1007/BF01582013), so the bound holds for all pairs, not only for near
neighbours. If n is odd, triples are columns too, exactly one is taken, and it counts for S if it has an odd number of
its records: where S is odd, no pair leaves S and the triple takes an even number from it, an odd number is left for
pairs, which is impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.methods.programs.highs import new_highs

THRESHOLDS = (1e-7, 0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85)  # of shares, in the search for odd sets
SHARE_TOLERANCE = 1e-7  # a share that is nearer to 0 or 1 than this is 0 or 1


@dataclass
class DualSolution:
    """The dual values of each record, each odd set and the triple.

    ``total`` is their sum: a lower bound, once no group has a negative reduced cost.
    """

    records: NDArray[np.float64]
    sets: NDArray[np.float64]
    triple: float
    total: float


class MatchingProgram:
    """The program over the groups and sets seen so far.

    Parameters
    ----------
    points
        n x d, scaled so that costs are of the order of 1.
    """

    def __init__(self, points: NDArray[np.float64]) -> None:
        self.points = points
        self.n = n = len(points)
        self.groups = np.empty((0, 3), np.int64)  # pairs have -1 in the end
        self.inside = np.zeros((0, n + 1), bool)  # one line a set; the last entry belongs to -1
        self._known: set[tuple[int, ...]] = set()
        self._highs = new_highs(presolve="off", primal_feasibility_tolerance=1e-9, dual_feasibility_tolerance=1e-9)
        rows = n + n % 2
        none = np.zeros(0, np.int32)
        self._highs.addRows(rows, np.ones(rows), np.ones(rows), 0, np.zeros(rows, np.int32), none, np.zeros(0))

    def add_groups(self, groups: NDArray[np.int64]) -> int:
        """Add pairs (with -1 as third entry) and triples that are not there yet; return how many were new."""
        ordered = np.sort(groups, axis=1)
        ordered = np.where(ordered[:, :1] < 0, np.roll(ordered, -1, axis=1), ordered)
        new = []
        for group in ordered.tolist():
            if tuple(group) not in self._known:
                self._known.add(tuple(group))
                new.append(group)
        if new:
            fresh = np.array(new, np.int64)
            self.groups = np.vstack([self.groups, fresh])
            self._pass(fresh)
        return len(new)

    def _pass(self, groups: NDArray[np.int64]) -> None:
        first = self.n + self.n % 2
        line, position = np.nonzero(groups >= 0)
        rows = groups[line, position]
        triples = np.flatnonzero(groups[:, 2] >= 0)
        odd, column = np.nonzero(self._odd(groups))
        line = np.concatenate([line, triples, column])
        rows = np.concatenate([rows, np.full(triples.size, self.n), first + odd])
        order = np.lexsort((rows, line))
        starts = np.searchsorted(line[order], np.arange(len(groups)))
        self._highs.addCols(
            len(groups), costs(self.points, groups), np.zeros(len(groups)), np.full(len(groups), np.inf), line.size,
            starts.astype(np.int32), rows[order].astype(np.int32), np.ones(line.size),
        )  # fmt: skip

    def _odd(self, groups: NDArray[np.int64], inside: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Return sets x groups: whether the set has an odd number of the group's records."""
        sets = self.inside if inside is None else inside
        return sets[:, groups[:, 0]] ^ sets[:, groups[:, 1]] ^ sets[:, groups[:, 2]]

    def solve(self) -> tuple[NDArray[np.float64], DualSolution]:
        """Solve the program; return the shares of the groups and the dual solution."""
        self._highs.run()
        if self._highs.getModelStatus().name != "kOptimal":
            raise RuntimeError(f"the matching program ended as {self._highs.getModelStatus().name}")
        solution = self._highs.getSolution()
        duals = np.array(solution.row_dual)
        first = self.n + self.n % 2
        sets = np.maximum(duals[first:], 0.0)
        triple = float(duals[self.n]) if self.n % 2 else 0.0
        total = float(duals[: self.n].sum() + triple + sets.sum())
        return np.array(solution.col_value), DualSolution(duals[: self.n], sets, triple, total)

    def add_sets(self, shares: NDArray[np.float64]) -> int:
        """Add odd sets that the shares violate: parts of the graph of shares above some thresholds."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        found: dict[bytes, NDArray[np.bool_]] = {}
        for threshold in THRESHOLDS:
            taken = self.groups[shares > threshold]
            ends = np.vstack([taken[:, [0, 1]], taken[taken[:, 2] >= 0][:, [1, 2]]])
            graph = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(self.n, self.n))
            count, parts = connected_components(graph, directed=False)
            sizes = np.bincount(parts, minlength=count)
            for part in np.flatnonzero((sizes % 2 == 1) & (sizes > 1) & (sizes < self.n)):
                inside = np.append(parts == part, False)
                if inside[0] and not self.n % 2:  # the same pairs leave the complement
                    inside[: self.n] ^= True
                found.setdefault(inside.tobytes(), inside)
        return self._add(self._violated(found, shares))

    def _violated(self, found: dict[bytes, NDArray[np.bool_]], shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        if not found:
            return np.zeros((0, self.n + 1), bool)
        used = shares > 0
        sets = np.array(list(found.values()))
        return sets[self._odd(self.groups[used], sets) @ shares[used] < 1 - 1e-6]

    def _add(self, sets: NDArray[np.bool_]) -> int:
        for inside in sets:
            columns = np.flatnonzero(self._odd(self.groups, inside[None])[0]).astype(np.int32)
            self._highs.addRow(1.0, np.inf, columns.size, columns, np.ones(columns.size))
        self.inside = np.vstack([self.inside, sets])
        return len(sets)

    def reduced(self, groups: NDArray[np.int64], duals: DualSolution) -> NDArray[np.float64]:
        """Return the reduced costs of groups."""
        records = np.append(duals.records, 0.0)
        dual_sum = records[groups].sum(axis=1) + duals.sets @ self._odd(groups, self.inside[: duals.sets.size])
        return costs(self.points, groups) - dual_sum - np.where(groups[:, 2] >= 0, duals.triple, 0.0)

    def cheapest_groups(self, duals: DualSolution) -> tuple[NDArray[np.int64], float]:
        """Return for each record the group of smallest reduced cost that it leads, and the smallest of all."""
        offers, holders, amounts = self._offers(duals)
        partners, reduced = _best_pairs(self.points, offers, holders, amounts)
        pairs = np.column_stack([np.arange(self.n), partners, np.full(self.n, -1)])
        if not self.n % 2:
            return pairs[reduced < -1e-9], float(reduced.min())
        mates, more = _best_triples(self.points, offers, holders, amounts, duals.triple)
        triples = np.column_stack([np.arange(self.n), mates])
        found = np.vstack([pairs[reduced < -1e-9], triples[more < -1e-9]])
        return found, float(min(reduced.min(), more.min()))

    def near_groups(
        self, duals: DualSolution, limit: float, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return all pairs, and all triples, with a reduced cost of at most the limit; None if more than ``most``."""
        offers, holders, amounts = self._offers(duals)
        pairs = _pairs_within(self.points, offers, holders, amounts, limit, most)
        triples = np.empty((0, 3), np.int64)
        if self.n % 2:
            triples = _triples_within(self.points, offers, holders, amounts, duals.triple, limit, most)
        return None if max(len(pairs), len(triples)) >= most else (pairs, triples)

    def _offers(self, duals: DualSolution) -> tuple[Any, Any, Any]:
        """Return dual values of records plus those of their sets, the sets of each record (-1: no more), and theirs.

        A set counts for a group that holds an odd number of its records. The sums count it for each record, so that
        twice the dual value has to be added to the reduced cost for each two records of a group that share the set.
        """
        active = np.flatnonzero(duals.sets > 0)
        inside = self.inside[active, : self.n]
        offers = duals.records + duals.sets[active] @ inside
        holders = np.full((self.n, int(inside.sum(axis=0).max(initial=0)) + 1), -1, np.int64)
        for record in np.flatnonzero(inside.any(axis=0)):
            own = np.flatnonzero(inside[:, record])
            holders[record, : own.size] = own
        return offers, holders, np.append(duals.sets[active], 0.0)


def costs(points: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the SSE of pairs and triples: the sum of squared distances divided by the size."""
    a, b = points[groups[:, 0]], points[groups[:, 1]]
    pair = ((a - b) ** 2).sum(axis=1)
    c = points[groups[:, 2]]
    triple = pair + ((a - c) ** 2).sum(axis=1) + ((b - c) ** 2).sum(axis=1)
    return np.where(groups[:, 2] >= 0, triple / 3, pair / 2)


@compiled
def _square(points: Any, i: int, j: int) -> float:
    total = 0.0
    for column in range(points.shape[1]):
        difference = points[i, column] - points[j, column]
        total += difference * difference
    return total


@compiled
def _shared(holders: Any, amounts: Any, i: int, j: int) -> float:
    """Return twice the dual values of the sets that hold both records: offers count them, though the pair does not."""
    total = 0.0
    for own in holders[i]:
        if own < 0:
            break
        for other in holders[j]:
            if other < 0:
                break
            if other == own:
                total += 2 * amounts[own]
    return total


@compiled
def _too_much(holders: Any, amounts: Any, a: int, b: int, c: int) -> float:
    """Return what offers count too much for a triple: twice the dual values of sets that hold two or three of it."""
    total = 0.0
    for own in holders[a]:
        if own < 0:
            break
        others = 0
        for other in holders[b]:
            others += other == own
        for other in holders[c]:
            others += other == own
        if others:
            total += 2 * amounts[own]
    for own in holders[b]:
        if own < 0:
            break
        in_a = False
        for other in holders[a]:
            in_a |= other == own
        in_c = False
        for other in holders[c]:
            in_c |= other == own
        if in_c and not in_a:
            total += 2 * amounts[own]
    return total


@compiled
def _best_pairs(points: Any, offers: Any, holders: Any, amounts: Any) -> Any:
    """Return for each record the partner of smallest reduced cost, and that cost."""
    n = points.shape[0]
    partners = np.zeros(n, np.int64)
    best = np.full(n, np.inf)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            reduced = _square(points, i, j) / 2 - offers[i] - offers[j]
            if reduced < best[i]:
                reduced += _shared(holders, amounts, i, j)
                if reduced < best[i]:
                    best[i] = reduced
                    partners[i] = j
    return partners, best


@compiled
def _pairs_within(points: Any, offers: Any, holders: Any, amounts: Any, limit: float, most: int) -> Any:
    """Return the pairs of at most that reduced cost, as groups, until there are ``most``."""
    n = points.shape[0]
    found = np.empty((most, 3), np.int64)
    count = 0
    for i in range(n):
        for j in range(i):
            reduced = _square(points, i, j) / 2 - offers[i] - offers[j]
            if reduced <= limit and reduced + _shared(holders, amounts, i, j) <= limit:
                found[count, 0] = j
                found[count, 1] = i
                found[count, 2] = -1
                count += 1
                if count == most:
                    return found
    return found[:count]


@compiled
def _mates(points: Any, offers: Any, a: int, beyond: float, mates: Any) -> int:
    """List the records that can be in a triple led by a, its highest offer: a pair's half square is its least cost."""
    count = 0
    for b in range(points.shape[0]):
        lower = offers[b] < offers[a] or (offers[b] == offers[a] and b < a)
        if lower and _square(points, a, b) / 2 <= beyond + 2 * offers[a] + offers[b]:
            mates[count] = b
            count += 1
    return count


@compiled
def _best_triples(points: Any, offers: Any, holders: Any, amounts: Any, triple_dual: float) -> Any:
    """Return for each record the others of the triple of smallest negative reduced cost that it leads, and the cost."""
    n = points.shape[0]
    best = np.zeros(n)
    chosen = np.zeros((n, 2), np.int64)
    mates = np.empty(n, np.int64)
    for a in range(n):
        count = _mates(points, offers, a, triple_dual, mates)
        for x in range(count):
            b = mates[x]
            near = _square(points, a, b)
            for y in range(x):
                c = mates[y]
                dual_sum = triple_dual + offers[a] + offers[b] + offers[c]
                reduced = (near + _square(points, a, c) + _square(points, b, c)) / 3 - dual_sum
                if reduced < best[a]:
                    reduced += _too_much(holders, amounts, a, b, c)
                    if reduced < best[a]:
                        best[a] = reduced
                        chosen[a, 0] = b
                        chosen[a, 1] = c
    return chosen, best


@compiled
def _triples_within(
    points: Any, offers: Any, holders: Any, amounts: Any, triple_dual: float, limit: float, most: int
) -> Any:
    """Return the triples of at most that reduced cost, until there are ``most``."""
    n = points.shape[0]
    found = np.empty((most, 3), np.int64)
    mates = np.empty(n, np.int64)
    total = 0
    for a in range(n):
        count = _mates(points, offers, a, triple_dual + limit, mates)
        for x in range(count):
            b = mates[x]
            near = _square(points, a, b)
            for y in range(x):
                c = mates[y]
                dual_sum = triple_dual + offers[a] + offers[b] + offers[c]
                reduced = (near + _square(points, a, c) + _square(points, b, c)) / 3 - dual_sum
                if reduced <= limit and reduced + _too_much(holders, amounts, a, b, c) <= limit:
                    found[total, 0] = a
                    found[total, 1] = b
                    found[total, 2] = c
                    total += 1
                    if total == most:
                        return found
    return found[:total]
