"""Optimal representatives of given groups: P7 of Cost 2023 (section 5.2) as a linear integer program.

The chi-square error of a cell is convex in its entry, and the entry can only be a sum of group sizes. Chords between
neighbouring reachable entries therefore give the exact error at every reachable entry, and a much tighter program than
chords between integers. Entries whose error alone exceeds that of a known choice need no chord. Groups with a single
candidate are fixed; an error with only two reachable entries is linear and needs no variable of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.nominal.table_representatives import Selection, greedy, search
from shoal.methods.programs.chord_bounds import WIDTHS, near
from shoal.methods.programs.mixed_integer import Program


class ExactChoice(NamedTuple):
    """Candidates, a lower bound of the chi-square error of all choices, and whether the choice is proven optimal."""

    chosen: NDArray[np.int64]
    bound: float
    optimal: bool


def exact_choice(problem: Selection, *, time_limit: float | None = None, seed: int = 0) -> ExactChoice:
    """Return the choice with the least chi-square error of the control tables, or the best one found in time."""
    known = search(problem, greedy(problem), passes=50, seed=seed)
    if not problem.free.size:
        return ExactChoice(known, problem.chi_square(known), optimal=True)
    deadline = Deadline(time_limit)
    best, value, bound, optimal = known, problem.chi_square(known), 0.0, False
    for width in WIDTHS:
        left = deadline.left() if deadline.limited else None
        chosen, below, solved = _solve_with_chords(problem, best, width, left)
        bound = max(bound, below)
        if problem.chi_square(chosen) < value - 1e-9:  # otherwise the known choice, independent of the time limit
            best, value = chosen, problem.chi_square(chosen)
        optimal = solved and value <= bound + 1e-6
        if optimal or not solved:
            break
    return ExactChoice(best, value if optimal else min(bound, value), optimal)


def _solve_with_chords(
    problem: Selection, known: NDArray[np.int64], width: float, time_limit: float | None
) -> tuple[NDArray[np.int64], float, bool]:
    """Return a choice, a bound for all choices, and whether the program was solved."""
    candidates = np.concatenate([np.arange(problem.starts[c], problem.starts[c + 1]) for c in problem.free])
    group = np.repeat(problem.free, np.diff(problem.starts)[problem.free])
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
    for cell, members, equal in _distinct_cells(touching, base, problem.target):
        reachable = base[cell] + _sums(problem.sizes[np.unique(group[members])])
        error = (reachable - problem.target[cell]) ** 2 / problem.target[cell]
        keep = np.flatnonzero(error <= ceiling + 1e-9)
        keep = np.arange(max(keep[0] - 1, 0), min(keep[-1] + 2, error.size))
        reachable, error = reachable[keep], error[keep]
        if reachable.size <= 2:
            slope = (error[-1] - error[0]) / (reachable[-1] - reachable[0])
            constant += equal * float(error[0] + slope * (base[cell] - reachable[0]))
            cost[members] += equal * slope * problem.sizes[group[members]]
        else:
            reachable = near(reachable, problem.target[cell], width)
            error = (reachable - problem.target[cell]) ** 2 / problem.target[cell]
            curved.append((cell, members, reachable, error, float(equal)))
    z = program.variables(candidates.size, cost=cost, upper=1.0, whole=True)
    first = program.variables(len(curved), cost=[curve[-1] for curve in curved])
    for c in problem.free:
        program.row(z + np.flatnonzero(group == c), np.ones((group == c).sum()), lower=1.0, upper=1.0)
    for q, (cell, members, reachable, error, _) in enumerate(curved, first):
        _add_chords(program, q, z + members, problem.sizes[group[members]], base[cell], reachable, error)
    start = _start(problem, known, candidates, [curve[0] for curve in curved])
    solved = program.solve(start=start, time_limit=time_limit)
    if solved.x is None:
        return known, solved.bound + constant, False
    chosen = known.copy()
    taken = solved.x[: candidates.size] > 0.5
    chosen[group[taken]] = candidates[taken]
    return chosen, solved.bound + constant, solved.optimal


def _by_cell(cells: NDArray[np.int32]) -> dict[int, NDArray[np.int64]]:
    """Return the candidates that count in each cell."""
    order = np.argsort(cells.ravel(), kind="stable")
    numbers, counts = np.unique(cells.ravel(), return_counts=True)
    members = np.split(order // cells.shape[1], np.cumsum(counts)[:-1])
    return dict(zip(numbers.tolist(), members, strict=True))


def _distinct_cells(
    touching: dict[int, NDArray[np.int64]], base: NDArray[np.float64], target: NDArray[np.float64]
) -> list[tuple[int, NDArray[np.int64], int]]:
    """Return one cell of each set of cells that always have the same entry, its candidates, and the size of the set."""
    equal: dict[tuple[bytes, float, float], list[int]] = {}
    for cell, members in touching.items():
        equal.setdefault((members.tobytes(), float(base[cell]), float(target[cell])), []).append(cell)
    return [(cells[0], touching[cells[0]], len(cells)) for cells in equal.values()]


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
