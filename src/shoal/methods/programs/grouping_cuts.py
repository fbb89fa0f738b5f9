"""Cuts for groups of k to 2k-1 records that a fractional solution violates.

Three kinds of rank-1 cuts (see ``rank1_cuts`` for their origin), found by sparse products and shortest paths:

- of three records, at most one group holds two of them or all;
- of 2r+1 records, groups together hold two of them at most r times: records shared by neighbours in a ring of an odd
  number of groups, where a fraction takes half of every group;
- of (r+1)k-1 records, at most r groups hold k of them or more: five records are one group of three, not five thirds.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_VIOLATION = 0.02
MOST_CUTS = 300  # of one round
CUTS_PER_RECORD = 4  # of one kind in one round
MOST_PAIRS = 40_000  # of overlapping groups that are examined, those with the largest shares first
MOST_STARTS = 1_200  # such pairs from which a set of records grows,
GROWTH_LIMIT = 4  # to less than this times k
MOST_AROUND = 150  # groups that are compared with a set; if there are more, those near its first records only
RING_STARTS = 400  # groups from which a ring of overlapping groups is searched, those with the largest shares


class Found(NamedTuple):
    """Sets of records, the divisor of their cut, and by how much it is violated."""

    records: tuple[int, ...]
    divisor: int
    violation: float


def violated(n: int, k: int, columns: NDArray[np.int32], shares: NDArray[np.float64]) -> list[Found]:
    """Return cuts that the solution violates, the worst first, no record in too many of them.

    Parameters
    ----------
    n
        The number of records.
    k
        The smallest group.
    columns
        The records of each group, filled up with -1.
    shares
        How much of each group the solution takes.

    Examples
    --------
    >>> columns = np.array([[0, 1], [1, 2], [0, 2]], np.int32)
    >>> violated(3, 2, columns, np.array([0.5, 0.5, 0.5]))
    [Found(records=(0, 1, 2), divisor=2, violation=0.5)]
    >>> columns = np.array([[0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 1, 3]], np.int32)
    >>> max(len(found.records) for found in violated(5, 3, columns, np.full(4, 1 / 3)))
    4
    """
    from scipy.sparse import csr_array

    used = np.flatnonzero((shares > 1e-6) & (shares < 1 - 1e-6))
    if used.size == 0:
        return []
    line, position = np.nonzero(columns[used] >= 0)
    holds = csr_array((np.ones(line.size, np.float32), (line, columns[used][line, position])), shape=(used.size, n))
    share = shares[used]
    found = _spread(n, _triples(holds, share)) + _spread(n, _rings(holds, share))
    if k > 2:
        found += _spread(n, _crowds(k, holds, share))
    return sorted(found, key=_worst_first)[:MOST_CUTS]


def _worst_first(cut: Found) -> tuple[float, tuple[int, ...]]:
    return (-round(cut.violation, 9), cut.records)


def _spread(n: int, found: list[Found]) -> list[Found]:
    """Return the most violated cuts, no record in more than a few."""
    times = np.zeros(n, np.int64)
    chosen = []
    for cut in sorted(found, key=_worst_first):
        if (times[list(cut.records)] < CUTS_PER_RECORD).all():
            times[list(cut.records)] += 1
            chosen.append(cut)
    return chosen


def _triples(holds: Any, share: NDArray[np.float64]) -> list[Found]:
    """Return triples of records of which the solution takes more than one group with two of them."""
    together = (holds.T @ (holds * share[:, None])).tocsr()  # how much of the groups with both
    together.setdiag(0.0)
    together.eliminate_zeros()
    found = []
    by_record = holds.T.tocsr()
    for a in np.flatnonzero(np.diff(together.indptr) >= 2).tolist():
        partners = together.indices[together.indptr[a] : together.indptr[a + 1]]
        partners = np.sort(partners[partners > a])
        if partners.size < 2:
            continue
        with_a = by_record.indices[by_record.indptr[a] : by_record.indptr[a + 1]]
        inside = holds[with_a][:, partners].toarray()
        all_three = inside.T @ (share[with_a][:, None] * inside)
        with_first = np.asarray((inside * share[with_a][:, None]).sum(axis=0))
        total = with_first[:, None] + with_first[None, :] + together[partners][:, partners].toarray() - 2 * all_three
        for p, q in zip(*np.nonzero(np.triu(total > 1 + LEAST_VIOLATION, 1)), strict=True):
            found.append(Found((a, int(partners[p]), int(partners[q])), 2, float(total[p, q]) - 1.0))
    return found


def _rings(holds: Any, share: NDArray[np.float64]) -> list[Found]:
    """Return sets of records that rings of an odd number of groups share, group by group.

    Two groups that overlap are an edge of length 1 - share - share >= 0. A ring of 2r+1 groups whose edges are together
    shorter than 1 takes more than r of them. Each group is there twice, on either side, and edges lead from side to
    side, so that the shortest path from a group to its copy is the shortest odd ring.
    """
    from scipy.sparse import block_array, csr_array
    from scipy.sparse.csgraph import dijkstra

    overlap = (holds @ holds.T).tocoo()
    other = overlap.row != overlap.col
    one, two = overlap.row[other], overlap.col[other]
    lengths = np.maximum(1.0 - share[one] - share[two], 0.0) + 1e-6  # an edge of length 0 would be no edge
    count = share.size
    edges = csr_array((lengths, (one, two)), shape=(count, count))
    graph = block_array([[None, edges], [edges.T, None]]).tocsr()
    starts = np.argsort(-share, kind="stable")[:RING_STARTS]
    reach, before = dijkstra(graph, indices=starts, limit=1.0 - LEAST_VIOLATION, return_predecessors=True)
    found: dict[tuple[int, ...], float] = {}
    for line, start in enumerate(starts.tolist()):
        if not np.isfinite(reach[line, start + count]):
            continue
        path = [start + count]
        while path[-1] != start:
            path.append(int(before[line, path[-1]]))
        records = _shared(holds, [node % count for node in path])
        if len(records) > 3:
            inside = np.zeros(holds.shape[1], np.float32)
            inside[list(records)] = 1.0
            violation = float(share @ ((holds @ inside) // 2)) - len(records) // 2
            if violation > LEAST_VIOLATION:
                found[records] = violation
    return [Found(records, 2, violation) for records, violation in found.items()]


def _shared(holds: Any, ring: list[int]) -> tuple[int, ...]:
    """Return a record that each two neighbours of a closed ring share, all different; or none."""
    taken: set[int] = set()
    for one, two in pairwise(ring):
        both = np.intersect1d(
            holds.indices[holds.indptr[one] : holds.indptr[one + 1]],
            holds.indices[holds.indptr[two] : holds.indptr[two + 1]],
        )
        free = [record for record in both.tolist() if record not in taken]
        if not free:
            return ()
        taken.add(free[0])
    return tuple(sorted(taken))


def _crowds(k: int, holds: Any, share: NDArray[np.float64]) -> list[Found]:
    """Return sets of (r+1)k-1 records of which the solution takes more than r groups with k of them.

    Sets begin as two groups that overlap, and grow by the record that completes the most to k.
    """
    from scipy.sparse.csgraph import connected_components

    sizes = np.diff(holds.indptr)
    overlap = (holds @ holds.T).tocsr()
    parts = connected_components(overlap, directed=False)[1]
    pairs = overlap.tocoo()
    one, two = pairs.row, pairs.col
    fits = (one < two) & (sizes[one] + sizes[two] - pairs.data <= 2 * k - 1)
    one, two = one[fits], two[fits]
    first = np.argsort(-(share[one] + share[two]), kind="stable")[:MOST_PAIRS]
    if first.size == 0:
        return []
    sets = ((holds[one[first]] + holds[two[first]]) > 0).astype(np.float32).tocsr()
    met = (sets @ holds.T).tocsr()  # how many records of each set each group holds
    met.data = (met.data >= k).astype(np.float64)
    begin = np.argsort(-(met @ share), kind="stable")
    found: dict[tuple[int, ...], float] = {}
    seen: set[tuple[int, ...]] = set()
    for number in begin.tolist():
        records = tuple(np.sort(sets.indices[sets.indptr[number] : sets.indptr[number + 1]]).tolist())
        if records in seen:
            continue
        seen.add(records)
        if len(seen) > MOST_STARTS:
            break
        near = np.flatnonzero(parts == parts[one[first[number]]])
        if near.size > MOST_AROUND:
            near = np.unique(overlap[overlap[[one[first[number]]]].indices].indices)
        found |= _grown(k, holds[near], share[near], records)
    return [Found(records, k, value) for records, value in found.items()]


def _grown(k: int, near: Any, share: NDArray[np.float64], records: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Return the violated sets met while records are added that bring the most groups to k, or nearest to it."""
    names, position = np.unique(near.indices, return_inverse=True)
    inside = np.zeros((near.shape[0], names.size))
    inside[np.repeat(np.arange(near.shape[0]), np.diff(near.indptr)), position] = 1.0
    chosen = np.isin(names, records)
    held = inside[:, chosen].sum(axis=1)
    worst: dict[int, tuple[float, tuple[int, ...]]] = {}
    for size in range(int(chosen.sum()), min(GROWTH_LIMIT * k, names.size + 1)):
        violation = float(share[held >= k].sum()) - size // k
        if violation > max(LEAST_VIOLATION, worst.get(size // k, (0.0, ()))[0] + 1e-9):
            worst[size // k] = violation, tuple(names[chosen].tolist())
        pull = share * np.where(held >= k, 0.0, np.where(held == k - 1, 1.0, 0.01 * held / k))
        gain = np.where(chosen, -1.0, pull @ inside)
        best = int(np.argmax(gain))
        if gain[best] <= 0.0:
            break
        chosen[best] = True
        held += inside[:, best]
    return {records: violation for violation, records in worst.values()}
