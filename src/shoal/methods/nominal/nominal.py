"""Large nominal tables: blocks of similar rows, each by column generation, then again with blocks that cross the first.

The partition of Cost 2023, chapter 4, carried beyond some hundred rows. Equal rows are joined; the distinct rows are
cut into blocks (``blocks``); each block is solved with exact pricing and an integer program over the columns near its
duals. In each further round the clusters found are the units of new blocks that cross the old ones, and a block is
solved again from what it has: the weight never rises. Cost O(n) blocks of bounded effort.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import attribute_weights, check_codes, collapse, hamming, weight_step
from shoal.core.threads import run_in_threads
from shoal.errors import ParameterError
from shoal.methods.nominal.category_blocks import cut_into_blocks
from shoal.methods.nominal.column_generation import solve_block
from shoal.methods.nominal.distinct_rows import Problem, labels_of
from shoal.methods.programs.restricted_master import Clock
from shoal.methods.registry import method


@method(
    "nominal",
    title="Categories at any size: column generation in blocks of similar rows",
    cost="n times the effort for a block",
    guarantee="k to 2k-1 records a group",
    reference="after Cost 2023, ch. 4",
    when="for nominal tables of any size; the default for them",
    data="codes",
    max_size=lambda k: 2 * k - 1,
)
def nominal(
    codes: NDArray[np.int32],
    k: int,
    *,
    block: int = 300,
    rounds: int = 3,
    time_limit: float | None = None,
    weights: Sequence[float] | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group nominal records so that the Hamming distances within groups add up to little.

    Parameters
    ----------
    codes
        n x m categories.
    k
        The smallest group.
    block
        How many distinct rows are solved together.
    rounds
        How often; blocks of each round cross those of the last. Ends early when a round brings less than one part in a
        thousand.
    time_limit
        Seconds, if there shall be a limit; the result then depends on the machine.
    weights
        How much each attribute counts.
    progress
        Hears how many blocks are solved.
    facts
        Receives the weight of the grouping after each round and, where the table is one block, its lower bound.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> told = {}
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], np.int32)
    >>> nominal(rows, 2, facts=told)
    array([0, 1, 1, 0, 0])
    >>> told["weight"]
    3.0
    """
    check_codes(codes)
    if block < 2 or rounds < 1:
        raise ParameterError(f"block={block} and rounds={rounds} are not possible; choose at least 2 and 1")
    table = collapse(codes)
    attribute_counts = attribute_weights(weights, codes.shape[1])
    clock = Clock(time_limit)
    parts = _Parts(table.rows, attribute_counts, k, weight_step(attribute_counts), clock, progress)
    units = Units(np.arange(len(table.counts), dtype=np.int32)[:, None], table.counts[:, None])
    history: list[float] = []
    stopped = "end"
    for turn in range(rounds):
        blocks = parts.cut(units, block, turn)
        progress.stage(f"grouping (nominal, round {turn + 1} of {rounds})", len(blocks))
        try:
            found = parts.solve(units, blocks, first=turn == 0)
        except KeyboardInterrupt:
            clock.stop()
            stopped = "interrupted"
            if turn:
                break
            found = parts.solve(units, blocks, first=True)
        units = Units(found.columns, (found.columns >= 0).astype(np.int64))
        history.append(found.weight)
        if clock.expired() or len(blocks) == 1 or (turn and history[-1] > 0.999 * history[-2]):
            stopped = "time limit" if clock.expired() and stopped == "end" else stopped
            break
    if facts is not None:
        facts.update({"weight": history[-1], "rounds": history, "blocks": len(blocks), "stopped": stopped})
        if len(blocks) == 1:
            facts["bound"] = found.bound
    return labels_of(units.rows, table)


class Units(NamedTuple):
    """What is put into blocks: distinct rows with their counts at first, then clusters; one per line.

    ``rows``: numbers of distinct rows, filled up with -1; ``times``: how often each.
    """

    rows: NDArray[np.int32]
    times: NDArray[np.int64]


class Found(NamedTuple):
    """A clustering, its weight, and the sum of the bounds of its blocks."""

    columns: NDArray[np.int32]
    weight: float
    bound: float


class _Parts(NamedTuple):
    """A table of distinct rows that is solved in parts."""

    table: NDArray[np.int32]
    weights: NDArray[np.float64]
    k: int
    step: float
    clock: Clock
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
                apart = (self.table[units.rows[:, a]] != self.table[units.rows[:, b]]) @ self.weights
                apart[(units.rows[:, a] < 0) | (units.rows[:, b] < 0)] = 0.0
                total[:, a] += apart
                total[:, b] += apart
        total[units.rows < 0] = np.inf
        middles: NDArray[np.int32] = np.take_along_axis(units.rows, total.argmin(axis=1)[:, None], axis=1)[:, 0]
        return middles

    def solve(self, units: Units, blocks: list[NDArray[np.int64]], *, first: bool) -> Found:
        """Solve each block; units that are clusters already are what it begins with."""
        solved = run_in_threads(partial(self._solve_block, units, first=first), blocks)
        columns = np.vstack([found.columns for found in solved])
        return Found(columns, sum(found.weight for found in solved), sum(found.bound for found in solved))

    def _solve_block(self, units: Units, members: NDArray[np.int64], *, first: bool) -> Found:
        inside = units.rows[members]
        rows, place = np.unique(inside[inside >= 0], return_inverse=True)
        counts = np.bincount(place.reshape(-1), weights=units.times[members][inside >= 0]).astype(np.int64)
        problem = Problem(hamming(self.table[rows], weights=self.weights), counts, self.k, self.step)
        start = None
        if not first:
            start = np.full(inside.shape, -1, np.int32)
            start[inside >= 0] = place.reshape(-1)
        found = solve_block(problem, start, self.clock)
        self.progress.advance()
        columns = np.append(rows, -1).astype(np.int32)[found.columns]
        return Found(columns, found.told["weight"], found.told["bound"])
