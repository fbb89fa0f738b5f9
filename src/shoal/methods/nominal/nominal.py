"""nominal: large nominal tables in blocks of similar rows, each block solved by column generation.

The partition of Cost 2023, chapter 4, for more than a few hundred rows. Equal rows are joined; the distinct rows are
cut into blocks (``category_blocks``); each block is solved with exact pricing and an integer program over the columns
of small reduced cost. In each further round the groups found are the units of new blocks that cross the old ones, and a
block is solved again from its present groups, so the within-group distance never rises. Time: O(n) blocks of bounded
effort.

With ``search="annealing"`` blocks are annealed instead (``annealed_block``), with a number of trials that is known
beforehand; ``auto`` does so where programs would take long.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes, checked_column_weights, collapse, distance_step, hamming
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Objective, Outcome, Stopped
from shoal.methods.nominal.annealed_block import anneal_block, passes_for
from shoal.methods.nominal.category_blocks import cut_into_blocks
from shoal.methods.nominal.column_generation import solve_block
from shoal.methods.nominal.distinct_rows import OBJECTIVE, Problem, record_labels
from shoal.methods.options import Range
from shoal.methods.registry import method

_SMALLEST_GAIN = 0.001  # a round that lowers the distance by a smaller share is the last one


@method(
    "nominal",
    frequencies=True,
    title="Categories at any size: column generation in blocks of similar rows",
    complexity="n times the effort for a block",
    reference="after Cost 2023, ch. 4",
    when="frequency tables matter, at any size; auto selects it with --recode frequencies",
    max_size=lambda k: 2 * k - 1,
    proves=OBJECTIVE,
    version=1,
)
def nominal(
    codes: NDArray[np.int32],
    k: int,
    *,
    block: Annotated[int, Range(2)] = 300,
    rounds: Annotated[int, Range(1)] = 3,
    search: Literal["program", "annealing"] = "program",
    trials: Annotated[int, Range(1)] = 100_000_000,
    time_limit: float | None = None,
    column_weights: NDArray[np.float64] | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group nominal records so that the sum of the Hamming distances within groups is small.

    Parameters
    ----------
    block
        Maximum number of distinct rows that are solved together.
    rounds
        Maximum number of rounds; the blocks of each round cross those of the last. The search ends early when a round
        lowers the distance by less than one part in a thousand.
    search
        What solves a block: ``program``, column generation with an integer program, whose time grows steeply with k,
        or ``annealing``.
    trials
        Number of trials of ``annealing`` in all rounds, about 60 nanoseconds each; at least 20 for each record and
        round.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], np.int32)
    >>> outcome = nominal(rows, 2)
    >>> outcome.labels, outcome.objective.value
    (array([0, 1, 1, 0, 0]), 3.0)
    """
    check_codes(codes)
    table = collapse(codes)
    weights = checked_column_weights(column_weights, codes.shape[1])
    deadline = Deadline(time_limit)
    passes = passes_for(trials, table.counts, k, rounds) if search == "annealing" else 0
    parts = _Blocks(table.rows, weights, k, distance_step(weights), passes, deadline, progress)
    units = Units(np.arange(len(table.counts), dtype=np.int32)[:, None], table.counts[:, None])
    history: list[float] = []
    bound: float | None = None
    stopped: Stopped = "finished"
    for turn in range(rounds):
        blocks = parts.cut(units, block, turn)
        progress.stage(f"grouping (nominal, round {turn + 1} of {rounds})", len(blocks))
        try:
            found = parts.solve(units, blocks, first=turn == 0)
        except KeyboardInterrupt:
            deadline.stop()
            stopped = "interrupted"
            if turn:
                break
            found = parts.solve(units, blocks, first=True)
        units = Units(found.columns, (found.columns >= 0).astype(np.int64))
        history.append(found.distance)
        # the bounds of several blocks hold only for groupings that respect the blocks
        bound = found.bound if len(blocks) == 1 and not passes else None
        little = turn > 0 and history[-1] > (1 - _SMALLEST_GAIN) * history[-2]
        if deadline.expired() or len(blocks) == 1 or little:
            stopped = "time limit" if deadline.expired() and stopped == "finished" else stopped
            break
    return Outcome(
        record_labels(units.rows, table),
        objective=Objective(OBJECTIVE, history[-1], bound),
        diagnostics={"rounds": history, "blocks": len(blocks)},
        timings={"total": deadline.elapsed()},
        stopped=stopped,
    )


class Units(NamedTuple):
    """The units that blocks consist of: first the distinct rows with their counts, then groups; one unit per line.

    ``rows``: numbers of distinct rows, padded with -1; ``times``: how often the unit holds each.
    """

    rows: NDArray[np.int32]
    times: NDArray[np.int64]


class Groups(NamedTuple):
    """Groups of distinct rows, their within-group distance, and the sum of the bounds of their blocks."""

    columns: NDArray[np.int32]
    distance: float
    bound: float


class _Blocks(NamedTuple):
    """A table of distinct rows that is solved block by block."""

    table: NDArray[np.int32]
    weights: NDArray[np.float64]
    k: int
    step: float
    passes: int  # of annealing; 0 for programs
    deadline: Deadline
    progress: Progress

    def cut(self, units: Units, size: int, turn: int) -> list[NDArray[np.int64]]:
        """Return the units of each block."""
        distinct = np.sort(units.rows, axis=1)
        distinct_rows = ((distinct[:, 1:] != distinct[:, :-1]) & (distinct[:, 1:] >= 0)).sum(axis=1) + (
            distinct[:, 0] >= 0
        )
        middles = self.table[self._middles(units)]
        return cut_into_blocks(middles, distinct_rows, units.times.sum(axis=1), self.k, size=size, turn=turn)

    def _middles(self, units: Units) -> NDArray[np.int32]:
        """Return for each unit the row with the smallest distance to the others."""
        width = units.rows.shape[1]
        total = np.zeros(units.rows.shape)
        for a in range(width):
            for b in range(a):
                distances = (self.table[units.rows[:, a]] != self.table[units.rows[:, b]]) @ self.weights
                distances[(units.rows[:, a] < 0) | (units.rows[:, b] < 0)] = 0.0
                total[:, a] += distances
                total[:, b] += distances
        total[units.rows < 0] = np.inf
        middles: NDArray[np.int32] = np.take_along_axis(units.rows, total.argmin(axis=1)[:, None], axis=1)[:, 0]
        return middles

    def solve(self, units: Units, blocks: list[NDArray[np.int64]], *, first: bool) -> Groups:
        """Solve each block; unless it is the first round, the units are the groups to begin with."""
        solved = run_in_threads(partial(self._solve_block, units, first=first), blocks)
        columns = np.vstack([found.columns for found in solved])
        return Groups(columns, sum(found.distance for found in solved), sum(found.bound for found in solved))

    def _solve_block(self, units: Units, members: NDArray[np.int64], *, first: bool) -> Groups:
        inside = units.rows[members]
        rows, inverse = np.unique(inside[inside >= 0], return_inverse=True)
        counts = np.bincount(inverse.reshape(-1), weights=units.times[members][inside >= 0]).astype(np.int64)
        problem = Problem(hamming(self.table[rows], column_weights=self.weights), counts, self.k, self.step)
        start = None
        if not first:
            start = np.full(inside.shape, -1, np.int32)
            start[inside >= 0] = inverse.reshape(-1)
        if self.passes:
            columns, distance = anneal_block(problem, start, self.passes, self.deadline)
            bound = 0.0
        else:
            found = solve_block(problem, start, self.deadline)
            columns, distance, bound = found.columns, found.distance, found.bound
        self.progress.advance()
        return Groups(np.append(rows, -1).astype(np.int32)[columns], distance, bound)
