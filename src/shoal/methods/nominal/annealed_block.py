"""A block of nominal rows grouped by annealing alone: a fixed number of trials, without programs.

Annealing keeps the number of groups, so it starts twice: from the construction of Cost 2023, Algorithm 7, which joins
many similar rows, and from groups of k rows, larger only by equal rows. The first is better where rows repeat, the
second where nearly all rows differ. For more than about a hundred distinct rows and k above 3 the result is about as
good as that of the programs, which take minutes there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.nominal.distinct_rows import Problem, build_columns, nearest_duals, start_columns
from shoal.methods.nominal.hamming_annealing import annealed
from shoal.methods.nominal.hamming_pricing import column_costs

FEWEST_PASSES, MOST_PASSES = 20, 20_000
STARTS = 2
_ROOTS_ONLY = (1e-6, 0.0)  # rewards that order the roots of groups and join equal rows, nothing else


def anneal_block(
    problem: Problem, start: NDArray[np.int32] | None, passes: int, deadline: Deadline
) -> tuple[NDArray[np.int32], float]:
    """Return groups of a block, and their within-group distance.

    Parameters
    ----------
    problem
        The distinct rows of the block.
    start
        Groups to begin with, and never worse than these; None for both constructions.
    passes
        Trials for each record and start.
    deadline
        After it nothing is annealed any more.

    Examples
    --------
    >>> problem = Problem(np.array([[0.0, 1], [1, 0]]), np.array([2, 2]), 2, 1.0)
    >>> anneal_block(problem, None, 10, Deadline(None))[1]
    0.0
    """
    duals = nearest_duals(problem) if start is None else np.zeros(0)
    starts = [start] if start is not None else [start_columns(problem, duals)]
    if start is None and not deadline.expired():
        starts.append(build_columns(problem, duals, _ROOTS_ONLY, exact=False))
    best, least = starts[0], np.inf
    for columns in starts:
        found = columns if deadline.expired() else annealed(columns, problem.distance, problem.k, passes=passes)
        distance = float(column_costs(found, problem.distance).sum())
        if distance < least:
            best, least = found, distance
    return best, least


def passes_for(trials: int, counts: NDArray[np.int64], k: int, rounds: int) -> int:
    """Return the trials of each record in one annealing when a number of trials is distributed over a table.

    Rows that occur often form groups of their own, which are not annealed.

    Examples
    --------
    >>> passes_for(1_000_000, np.ones(1_000, np.int64), 3, 3)
    250
    """
    annealed_records = int(np.minimum(counts, 2 * k - 1).sum())
    return int(np.clip(trials // (annealed_records * (STARTS + rounds - 1)), FEWEST_PASSES, MOST_PASSES))
