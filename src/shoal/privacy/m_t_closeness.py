"""(m, t)-closeness: every class is t-close to some set of at least m records around it (Thaeter 2021, Def. 3.14).

t-closeness requires that a class resembles the whole table; here it must resemble some larger set C' of records that
contains it. (n, t)-closeness is t-closeness. For a class C with shares f and a size M of C' the best C' is an integer
program over the counts of values, bounded below by C and above by the table. Only sizes up to the next multiple of |C|
matter: at a multiple all M f are integers, and without rounding a larger M is never closer. A class is solved
exactly only where a quick construction leaves it open whether it is the worst of all.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import ParameterError
from shoal.privacy.counts import Counts, Floats, Integers
from shoal.privacy.ground_distances import GroundDistance
from shoal.privacy.t_closeness import closeness

MAX_VALUES = 1000
_CELLS_PER_CHUNK = 2**22


def m_t_closeness(counts: Counts, distance: GroundDistance, m: int) -> float:
    """Return the smallest t for which every class is (m, t)-close.

    Parameters
    ----------
    counts
        Classes and values.
    distance
        The ground distance of the values.
    m
        The smallest size of the set that a class is compared with.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> from shoal.privacy.ground_distances import ORDERED
    >>> counts = count_values(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]))
    >>> round(m_t_closeness(counts, ORDERED, 4), 4), round(m_t_closeness(counts, ORDERED, 2), 4)
    (0.3333, 0.0)
    """
    n = int(counts.totals.sum())
    if not 1 <= m <= n:
        raise ParameterError(f"m={m} is not possible; choose 1 to {n}, the number of records with a known value")
    n_values = counts.totals.size
    if n_values > MAX_VALUES:
        raise ParameterError(
            f"(m, t)-closeness is computed for up to {MAX_VALUES} different values, the column has {n_values}; "
            "round or coarsen it"
        )
    sets, weights = distance.sets(n_values)
    bounds = _quick_bounds(counts, sets, weights, m)
    # a class without known values may be as far from any set as the worst class is from the whole table
    unknown = counts.known == 0
    worst = float(closeness(counts, distance)[unknown].max(initial=0.0))
    starts = np.searchsorted(counts.group, np.arange(counts.sizes.size + 1))
    for group in np.argsort(-bounds, kind="stable"):
        if bounds[group] <= worst + 1e-12:
            break
        entries = slice(starts[group], starts[group + 1])
        inside = np.zeros(n_values, np.int64)
        inside[counts.value[entries]] = counts.count[entries]
        worst = max(worst, _least(inside, counts.totals, sets, weights, m, worst))
    return worst


def _sizes(size: int, m: int, n: int) -> range:
    """Return the sizes of the larger set that can be best."""
    lowest = max(m, size)
    return range(lowest, min(-(-lowest // size) * size, n) + 1)


def _quick_bounds(counts: Counts, sets: Floats, weights: Floats, m: int) -> Floats:
    """Return for each class the distance to one larger set, filled value by value along the order of the values."""
    n_values, n = counts.totals.size, int(counts.totals.sum())
    bounds = np.zeros(counts.sizes.size)
    step = max(_CELLS_PER_CHUNK // max(n_values, 1), 1)
    for start in range(0, counts.sizes.size, step):
        groups = slice(start, min(start + step, counts.sizes.size))
        entries = slice(*np.searchsorted(counts.group, [groups.start, groups.stop]))
        inside = np.zeros((groups.stop - groups.start, n_values), np.int64)
        inside[counts.group[entries] - start, counts.value[entries]] = counts.count[entries]
        size = np.maximum(inside.sum(axis=1), 1)
        lowest = np.maximum(m, size)
        larger = np.minimum(-(-lowest // size) * size, n)
        chosen = _filled(inside, counts.totals, larger, size)
        difference = inside / size[:, None] - chosen / larger[:, None]
        bounds[groups] = np.where(counts.known[groups] > 0, np.abs(difference @ sets.T) @ weights, 0.0)
    return bounds


def _filled(inside: Integers, totals: Integers, larger: Integers, size: Integers) -> Integers:
    """Return counts of a larger set with sums that follow those of the class as far as the table allows."""
    floor_after = inside.sum(axis=1)[:, None] - np.cumsum(inside, axis=1)
    capacity_after = totals.sum() - np.cumsum(totals)
    target = np.rint(np.cumsum(inside, axis=1) * (larger / size)[:, None]).astype(np.int64)
    chosen = np.empty_like(inside)
    reached = np.zeros(len(inside), np.int64)
    for value in range(totals.size):
        low = np.maximum(inside[:, value], larger - reached - capacity_after[value])
        high = np.minimum(totals[value], larger - reached - floor_after[:, value])
        chosen[:, value] = np.clip(target[:, value] - reached, low, high)
        reached += chosen[:, value]
    return chosen


def _least(inside: Integers, totals: Integers, sets: Floats, weights: Floats, m: int, enough: float) -> float:
    """Return the least distance of a class to a larger set; stops at ``enough``, below which it cannot be the worst."""
    size = int(inside.sum())
    best = np.inf
    for larger in reversed(_sizes(size, m, int(totals.sum()))):
        best = min(best, _least_at(inside, totals, sets, weights, larger))
        if best <= enough:
            break
    return float(best)


def _least_at(inside: Integers, totals: Integers, sets: Floats, weights: Floats, larger: int) -> float:
    """Solve the integer program for one size: counts of values, and one distance per set."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, n_values, n_sets = int(inside.sum()), totals.size, len(sets)
    wanted = sets @ inside * (larger / size)
    deviations = np.eye(n_sets)
    constraints = [
        LinearConstraint(np.hstack([sets, deviations]), lb=wanted),
        LinearConstraint(np.hstack([sets, -deviations]), ub=wanted),
        LinearConstraint(np.append(np.ones(n_values), np.zeros(n_sets))[None, :], larger, larger),
    ]
    solution = milp(
        np.append(np.zeros(n_values), weights),
        constraints=constraints,
        integrality=np.append(np.ones(n_values), np.zeros(n_sets)),
        bounds=Bounds(np.append(inside, np.zeros(n_sets)), np.append(totals, np.full(n_sets, np.inf))),
    )
    counts = np.rint(solution.x[:n_values])
    return float(np.abs(sets @ (inside / size - counts / larger)) @ weights)
