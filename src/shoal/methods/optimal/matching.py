"""The best pairs: strict microaggregation for k = 2 is a shortest perfect matching.

Thaeter 2021, section 4.3. All groups are pairs, one has three records if n is odd; allowing more groups of three can be
better (brute-force, set-partition), but no fast method is known that finds the best of those. A linear program over
near neighbours grows by odd sets and by pairs of negative reduced cost among all pairs, until it proves its bound
(``matching_program``); what it leaves fractional is matched by rustworkx, on the groups whose reduced cost is below the
gap that is left. Where these are too many (records in tight clumps of odd sizes), near groups are matched and a gap is
reported. O(n² d) time for each of a few dozen rounds: tables of up to about 5,000 records. The 4,092 records of EIA
take half a minute of processor time and 1.4 GB, and leave a gap of 0.6 %; 2,000 of them take 8 seconds and are proven.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import MissingExtra, ParameterError
from shoal.methods.contract import Objective, Optimal, Outcome
from shoal.methods.optimal.matching_program import SHARE_TOLERANCE, DualSolution, MatchingProgram, costs
from shoal.methods.programs.highs import load_highspy
from shoal.methods.registry import method

SCOPE = "groups of two and one of three"  # the groupings that the bound holds for; no group of three if n is even
NEIGHBOURS = 10
ROUNDS_PER_PRICING = 6  # rounds of odd sets between searches of all pairs: sets that no near pair leaves need far ones
PATIENCE_ROUNDS = 200  # after which odd sets are left out if they raise the bound by less than this share of the cost:
LEAST_RISE = 1e-5
GROUPS_PER_RECORD = 12  # that rustworkx may be given
ROUNDING_GAP = 1e-9  # a gap of this share of the cost is rounding


@method(
    "matching",
    title="The best pairs of all, and one group of three if the number of records is odd",
    complexity="n² d for each of a few dozen rounds",
    guarantees=(Optimal("pairs, and one group of three if n is odd, of the smallest SSE, or a proven gap; k=2 only"),),
    reference="Thaeter 2021, section 4.3; Edmonds 1965; Grötschel & Holland 1985",
    when="k=2 with pairs only; up to about 5,000 records (4,092 of EIA: half a minute, 1.4 GB)",
    max_size=lambda k: 2 * k - 1,
    proves="sse",
)
def matching(points: NDArray[np.float64], k: int = 2, *, progress: Progress = SILENT) -> Outcome:
    """Group records into the best pairs.

    The bound of the objective holds for groupings into pairs (and one group of three if n is odd) only.

    Parameters
    ----------
    k
        Must be 2.

    Examples
    --------
    >>> import numpy as np
    >>> matching(np.array([[0.0], [9.0], [1.0], [8.0], [4.0], [5.0]]), 2).labels
    array([0, 1, 0, 1, 2, 2])
    """
    if k != 2:
        raise ParameterError(f"matching makes pairs and needs k=2, not k={k}; use set-partition or ona-star")
    _matching_library()
    n = len(points)
    progress.stage("grouping (matching)")
    exponent = int(np.frexp(np.ptp(points / 2, axis=0).max(initial=0.0))[1])
    scaled = np.ascontiguousarray(np.ldexp(points, -exponent))
    if n <= 3:
        sse = float(np.ldexp(costs(scaled, np.array([[0, 1, 2 if n == 3 else -1]]))[0], 2 * exponent))
        return Outcome(np.zeros(n, np.int64), objective=Objective("sse", sse, sse, SCOPE))
    variance = float(((scaled - scaled.mean(axis=0)) ** 2).sum()) / n
    if variance == 0:
        return Outcome(np.minimum(np.arange(n) // 2, n // 2 - 1), objective=Objective("sse", 0.0, 0.0, SCOPE))
    scaled /= np.sqrt(variance)
    groups, bound, proven = best_groups(scaled, progress)
    cost = float(costs(scaled, groups).sum())
    bound = cost if proven else min(max(bound, 0.0), cost)
    sse, bound = (float(np.ldexp(value * variance, 2 * exponent)) for value in (cost, bound))
    labels = np.empty(n, np.int64)
    for number, group in enumerate(groups[np.argsort(groups[:, 0])]):
        labels[group[group >= 0]] = number
    return Outcome(labels, objective=Objective("sse", sse, bound, SCOPE))


def best_groups(points: NDArray[np.float64], progress: Progress = SILENT) -> tuple[NDArray[np.int64], float, bool]:
    """Return the best pairs (third entry -1) and at most one triple, a lower bound on the cost, and if it is proven.

    Examples
    --------
    >>> groups, bound, proven = best_groups(np.array([[0.0], [1.0], [5.0], [7.0]]))
    >>> groups.tolist(), round(bound, 6), proven
    ([[0, 1, -1], [2, 3, -1]], 2.5, True)
    """
    program = MatchingProgram(points)
    near = _near(points)
    best = _greedy(points, near)
    upper = float(costs(points, best).sum())
    program.add_groups(np.vstack([best, near]))
    if len(points) % 2:
        first, second = _two_nearest(points)
        program.add_groups(np.column_stack([np.arange(len(points)), first, second]))
    rounds, before = 0, -np.inf
    while True:
        rounds += 1
        shares, duals = program.solve()
        added = program.add_sets(shares)
        if added and rounds % ROUNDS_PER_PRICING:
            continue
        progress.note(f"matching: round {rounds}, {len(program.groups)} groups, {len(program.inside)} odd sets")
        found, smallest = program.cheapest_groups(duals)
        bound = duals.total + (len(points) // 2) * min(0.0, smallest)
        if upper - bound <= ROUNDING_GAP * upper:
            return best, bound, True
        new = program.add_groups(found)
        growing = rounds < PATIENCE_ROUNDS or bound - before > LEAST_RISE * upper
        if (new and rounds < 2 * PATIENCE_ROUNDS) or (added and growing):
            before = bound
            continue
        if (np.minimum(shares, np.abs(1 - shares)) < SHARE_TOLERANCE).all():
            return program.groups[shares > 0.5], bound, True
        return _finish(program, duals, bound, best)


def _finish(
    program: MatchingProgram, duals: DualSolution, bound: float, best: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float, bool]:
    """Return the best groups: better ones than the best known have reduced costs below the gap that is left.

    The cost of any solution is at least the bound plus the reduced costs of its groups. So all groups within a limit
    are matched; once the limit reaches the gap between the best found and the bound, the best found is optimal.
    """
    points, most = program.points, GROUPS_PER_RECORD * program.n
    upper = float(costs(points, best).sum())
    limit = min(upper - bound, 1e-7 * upper)
    while True:
        near = program.near_groups(duals, limit, most)
        if near is None:
            pairs, triples = _good_groups(program, duals, best)
            return _match(program, duals, bound, best, pairs, triples), bound, False
        best = _match(program, duals, bound, best, *near)
        upper = float(costs(points, best).sum())
        if upper - bound <= limit * (1 + 1e-12) + ROUNDING_GAP * upper:
            return best, bound, True
        limit = min(4 * limit, upper - bound)


def _match(
    program: MatchingProgram,
    duals: DualSolution,
    bound: float,
    best: NDArray[np.int64],
    pairs: NDArray[np.int64],
    triples: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the best groups among these pairs and, one at a time, these triples; or those known before."""
    if program.n % 2 and not len(triples):
        return best
    upper = float(costs(program.points, best).sum())
    matcher = _Matcher(program.points, pairs)
    reduced = program.reduced(triples, duals) if len(triples) else np.zeros(1)
    for number in np.argsort(reduced, kind="stable"):  # for an even n once, without a triple
        if bound + reduced[number] >= upper:
            break
        triple = triples[number : number + 1]
        inside = np.ones(program.n, bool)
        inside[triple] = False
        chosen = matcher.match(inside)
        if chosen is not None:
            chosen = np.vstack([chosen, triple])
            cost = float(costs(program.points, chosen).sum())
            if cost < upper:
                best, upper = chosen, cost
    return best


def _good_groups(
    program: MatchingProgram, duals: DualSolution, best: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs and a few triples of the smallest reduced costs in the program, and those known to be possible."""
    order = np.argsort(program.reduced(program.groups, duals), kind="stable")
    groups = program.groups[order]
    is_pair, known = groups[:, 2] < 0, best[:, 2] < 0
    pairs = np.unique(np.vstack([groups[is_pair][: 5 * program.n], np.sort(best[known], axis=1)[:, [1, 2, 0]]]), axis=0)
    return pairs, np.vstack([groups[~is_pair][:3], best[~known]])


class _Matcher:
    """Shortest perfect matchings on some of the records, along given pairs, part by part; parts are remembered."""

    def __init__(self, points: NDArray[np.float64], pairs: NDArray[np.int64]) -> None:
        self._n = len(points)
        self._pairs = pairs
        self._costs = costs(points, pairs)
        self._known: dict[bytes, NDArray[np.int64] | None] = {}

    def match(self, inside: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Return the numbers of the records in pairs; None if there is no perfect matching."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        use = np.flatnonzero(inside[self._pairs[:, 0]] & inside[self._pairs[:, 1]])
        ends = self._pairs[use]
        graph = coo_matrix((np.ones(use.size), (ends[:, 0], ends[:, 1])), shape=(self._n, self._n))
        count, parts = connected_components(graph, directed=False)
        members = np.bincount(parts[inside], minlength=count)
        if (members % 2).any():
            return None
        order = np.argsort(parts[ends[:, 0]], kind="stable")
        found = []
        for piece in np.split(use[order], np.flatnonzero(np.diff(parts[ends[order, 0]])) + 1):
            chosen = self._part(piece)
            if chosen is None:
                return None
            found.append(chosen)
        return np.vstack(found)

    def _part(self, piece: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the matching of one connected part, given by the numbers of its pairs."""
        pairs = self._pairs[piece]
        if len(pairs) == 1:
            return pairs
        key = piece.tobytes()
        if key not in self._known:
            self._known[key] = _shortest(pairs, self._costs[piece])
        return self._known[key]


def _shortest(pairs: NDArray[np.int64], lengths: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the shortest perfect matching by rustworkx, in integer multiples of 2⁻⁵⁰ of the longest."""
    rustworkx = _matching_library()
    records, ends = np.unique(pairs[:, :2], return_inverse=True)
    ends = ends.reshape(-1, 2)
    integers = np.rint(lengths / (lengths.max() or 1.0) * 2.0**50).astype(np.int64)
    weights = int(integers.max()) + 1 - integers
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(records.size))
    graph.add_edges_from(list(zip(ends[:, 0].tolist(), ends[:, 1].tolist(), weights.tolist(), strict=True)))
    chosen = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    if 2 * len(chosen) < records.size:
        return None
    found = records[np.sort(np.array(sorted(map(sorted, chosen)), np.int64), axis=1)]
    return np.column_stack([found, np.full(len(found), -1)])


def _near(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each record with each of its nearest neighbours, as groups without repetition."""
    from scipy.spatial import cKDTree

    n = len(points)
    width = min(NEIGHBOURS, n - 1)
    found = cKDTree(points).query(points, width + 1)[1].astype(np.int64)
    ends = np.column_stack([np.repeat(np.arange(n), width + 1), found.ravel()])
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return np.column_stack([ends, np.full(len(ends), -1)])


def _two_nearest(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two near others of each record, its nearest where records differ."""
    from scipy.spatial import cKDTree

    found = cKDTree(points).query(points, 3)[1].astype(np.int64)
    own = found == np.arange(len(points))[:, None]
    own[~own.any(axis=1), -1] = True
    others = found[~own].reshape(-1, 2)
    return others[:, 0], others[:, 1]


def _greedy(points: NDArray[np.float64], near: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs from the shortest on, then the same among those left; an odd one joins where it costs least."""
    left = np.arange(len(points))
    pairs: list[list[int]] = []
    while left.size > 1:
        free = [True] * len(points)
        for number in np.argsort(costs(points, near), kind="stable").tolist():
            u, v = int(near[number, 0]), int(near[number, 1])
            if free[u] and free[v]:
                free[u] = free[v] = False
                pairs.append([u, v, -1])
        left = left[np.array(free)[left]]
        if left.size > 1:
            near = _near(points[left])
            near[:, :2] = left[near[:, :2]]
    groups = np.array(pairs, np.int64)
    if left.size:
        grown = groups.copy()
        grown[:, 2] = left[0]
        best = int(np.argmin(costs(points, grown) - costs(points, groups)))
        groups[best] = grown[best]
    return groups


def _matching_library() -> Any:
    """Return rustworkx, or raise MissingExtra if it or the solver is not installed."""
    try:
        import rustworkx
    except ImportError as error:
        raise MissingExtra(
            "matching needs rustworkx and highspy; install them with: python3 -m pip install 'shoal[matching]'"
        ) from error
    load_highspy()
    return rustworkx
