"""The best representatives there are: P7 of Cost 2023 (section 5.2) as a linear integer program.

The chi-square error of a cell is convex in its entry, and the entry can only be a sum of cluster sizes. Chords between
neighbouring reachable entries therefore give the exact error at every reachable entry, and a much tighter program than
chords between whole numbers. Entries whose error alone exceeds that of a known choice need no chord. Clusters without a
choice are fixed; an error with only two reachable entries is linear and needs no variable of its own.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.nominal.table_representatives import Selection, greedy, search
from shoal.methods.programs.chord_bounds import WIDTHS, near
from shoal.methods.programs.mixed_integer import Program


def exact_choice(
    problem: Selection,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Return the choice with the least chi-square error of the control tables, or the best found within the time.

    ``facts`` receives ``chi_square_bound``, which no choice can beat, and ``representatives_optimal``.
    """
    known = search(problem, greedy(problem), passes=50, seed=seed)
    best, bound, optimal = known, problem.chi_square(known), True
    if problem.free.size:
        best, bound, optimal = _solve(problem, known, time_limit)
    if facts is not None:
        facts["chi_square_bound"] = bound
        facts["representatives_optimal"] = optimal
    return best


def _solve(
    problem: Selection, known: NDArray[np.int64], time_limit: float | None
) -> tuple[NDArray[np.int64], float, bool]:
    """Return the best choice, a bound for all, and whether it is proven to be the best."""
    began = time.monotonic()
    best, value, bound, optimal = known, problem.chi_square(known), 0.0, False
    for width in WIDTHS:
        left = None if time_limit is None else time_limit - (time.monotonic() - began)
        chosen, below, solved = _solve_with_chords(problem, best, width, left)
        bound = max(bound, below)
        if problem.chi_square(chosen) < value - 1e-9:  # otherwise the same choice whatever the clock did
            best, value = chosen, problem.chi_square(chosen)
        optimal = solved and value <= bound + 1e-6
        if optimal or not solved:
            break
    return best, value if optimal else min(bound, value), optimal


def _solve_with_chords(
    problem: Selection, known: NDArray[np.int64], width: float, time_limit: float | None
) -> tuple[NDArray[np.int64], float, bool]:
    """Return a choice, a bound for all choices, and whether the program was solved."""
    candidates = np.concatenate([np.arange(problem.starts[c], problem.starts[c + 1]) for c in problem.free])
    cluster = np.repeat(problem.free, np.diff(problem.starts)[problem.free])
    fixed = np.setdiff1d(np.arange(problem.sizes.size), problem.free)
    base = problem.tables.totals(
        np.bincount(problem.entries[known[fixed]], problem.sizes[fixed], len(problem.tables.cells))
    )
    ceiling = problem.chi_square(known)
    program = Program()
    cost = np.zeros(candidates.size)
    curved = []
    touching = _by_cell(problem.tables.cells[problem.entries[candidates]])
    touched = np.zeros(problem.tables.size, bool)
    touched[list(touching)] = True
    constant = float(((base - problem.target) ** 2 / problem.target)[~touched].sum())
    for cell, members, alike in _alike(touching, base, problem.target):
        reachable = base[cell] + _sums(problem.sizes[np.unique(cluster[members])])
        error = (reachable - problem.target[cell]) ** 2 / problem.target[cell]
        keep = np.flatnonzero(error <= ceiling + 1e-9)
        keep = np.arange(max(keep[0] - 1, 0), min(keep[-1] + 2, error.size))
        reachable, error = reachable[keep], error[keep]
        if reachable.size <= 2:
            slope = (error[-1] - error[0]) / (reachable[-1] - reachable[0])
            constant += alike * float(error[0] + slope * (base[cell] - reachable[0]))
            cost[members] += alike * slope * problem.sizes[cluster[members]]
        else:
            reachable = near(reachable, problem.target[cell], width)
            error = (reachable - problem.target[cell]) ** 2 / problem.target[cell]
            curved.append((cell, members, reachable, error, float(alike)))
    z = program.variables(candidates.size, cost=cost, upper=1.0, whole=True)
    first = program.variables(len(curved), cost=[curve[-1] for curve in curved])
    for c in problem.free:
        program.row(z + np.flatnonzero(cluster == c), np.ones((cluster == c).sum()), lower=1.0, upper=1.0)
    for q, (cell, members, reachable, error, _) in enumerate(curved, first):
        _add_chords(program, q, z + members, problem.sizes[cluster[members]], base[cell], reachable, error)
    start = _start(problem, known, candidates, [curve[0] for curve in curved])
    solved = program.solve(start=start, time_limit=time_limit)
    if solved.x is None:
        return known, solved.bound + constant, False
    chosen = known.copy()
    taken = solved.x[: candidates.size] > 0.5
    chosen[cluster[taken]] = candidates[taken]
    return chosen, solved.bound + constant, solved.optimal


def _by_cell(cells: NDArray[np.int32]) -> dict[int, NDArray[np.int64]]:
    """Return the candidates that count in each cell."""
    order = np.argsort(cells.ravel(), kind="stable")
    numbers, counts = np.unique(cells.ravel(), return_counts=True)
    members = np.split(order // cells.shape[1], np.cumsum(counts)[:-1])
    return dict(zip(numbers.tolist(), members, strict=True))


def _alike(
    touching: dict[int, NDArray[np.int64]], base: NDArray[np.float64], target: NDArray[np.float64]
) -> list[tuple[int, NDArray[np.int64], int]]:
    """Return one of the cells that always have the same entry, its candidates, and how many such cells there are."""
    alike: dict[tuple[bytes, float, float], list[int]] = {}
    for cell, members in touching.items():
        alike.setdefault((members.tobytes(), float(base[cell]), float(target[cell])), []).append(cell)
    return [(cells[0], touching[cells[0]], len(cells)) for cells in alike.values()]


def _sums(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all sums of subsets in ascending order."""
    reached = np.zeros(int(sizes.sum()) + 1, bool)
    reached[0] = True
    for size in sizes:
        reached[size:] |= reached[:-size]
    return np.flatnonzero(reached)


def _add_chords(
    program: Program,
    q: int,
    members: NDArray[np.int64],
    sizes: NDArray[np.int64],
    base: float,
    reachable: NDArray[np.float64],
    error: NDArray[np.float64],
) -> None:
    """Add q >= the line through each two neighbouring reachable entries."""
    slopes = np.diff(error) / np.diff(reachable)
    for slope, entry, height in zip(slopes, reachable, error, strict=False):
        program.row(np.append(members, q), np.append(-slope * sizes, 1.0), lower=float(height + slope * (base - entry)))


def _start(
    problem: Selection, known: NDArray[np.int64], candidates: NDArray[np.int64], curved: list[int]
) -> NDArray[np.float64]:
    error = (problem.value(known) - problem.target) ** 2 / problem.target
    return np.concatenate([np.isin(candidates, known).astype(np.float64), error[curved]])
