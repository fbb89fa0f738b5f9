"""annealing: a search that begins with the groups of another method and lowers their loss as long as work is allowed.

Beyond the papers. Records change groups one by one, in sweeps over the table, while a temperature falls (see
``record_annealing``). A small table is searched by several independent chains, and an integer program combines the
groups that they found; then the search is heated again a number of times. Cost O(k d) per record and sweep, so O(n k d)
for a given amount of work; the same groups for any number of threads and on every machine, unless there is a time
limit. Never worse than its start.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Outcome, Stopped
from shoal.methods.options import Range
from shoal.methods.programs.group_selection import select_groups
from shoal.methods.refinement.crossover import crossover, group_costs_by_column
from shoal.methods.refinement.record_annealing import ONE_BLOCK_RECORDS, Neighbours, anneal_records, anneal_whole
from shoal.methods.registry import method
from shoal.methods.running import run

REHEATED = 0.3  # the temperature at which a search that has cooled begins again
REHEAT_PASSES = 2  # of a table of several blocks
MOST_REHEATS = 1_000_000  # within a time limit
PROGRAM_COLUMNS = 450  # groups among which an integer program selects
PROGRAM_NODES = 1
_OPTIONS = (
    "start", "start_block", "start_passes", "start_rounds", "start_leaf", "passes", "sweeps", "costly_sweeps", "block",
    "neighbours", "chains", "program", "reheats", "reheat_sweeps",
)  # fmt: skip


@method(
    "annealing",
    title="A search by annealing from the groups of a fast method: less loss than ona-star in about twice its time",
    complexity="that of the start + sweeps n k d",
    guarantee="groups of k to 2k-1; never worse than its start",
    reference="beyond the papers",
    when="the least loss for the time, at any size; auto selects it",
    max_size=lambda k: 2 * k - 1,
    float32=True,
    version=1,
)
def annealing(
    points: NDArray[np.floating[Any]],
    k: int,
    *,
    start: Literal["ona-star", "mona-plus"] = "ona-star",
    start_block: Annotated[int, Range(1)] = 50_000,
    start_passes: Annotated[int, Range(0)] = 1,
    start_rounds: Annotated[int, Range(0)] = 1,
    start_leaf: Literal["mdav-star", "mdav-plus"] = "mdav-star",
    passes: Annotated[int, Range(0)] = 6,
    sweeps: Annotated[int, Range(1)] = 20,
    costly_sweeps: Annotated[int, Range(0)] = 50,
    block: Annotated[int, Range(1)] = 10_000,
    neighbours: Neighbours = "group",
    chains: Annotated[int, Range(1)] = 1,
    program: bool = False,
    reheats: Annotated[int, Range(0)] = 0,
    reheat_sweeps: Annotated[int, Range(1)] = 150,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by a search that begins with the groups of another method.

    Parameters
    ----------
    start
        The method that makes the first groups.
    start_block, start_passes, start_rounds, start_leaf
        Options of the start ``mona-plus``: ``block``, ``passes``, ``rounds`` and ``leaf``.
    passes
        How often a table of several blocks is cut anew; the temperature falls across the passes.
    sweeps
        How often every record is visited in a pass.
    costly_sweeps
        How often the records of the costliest groups are visited in each of two further passes.
    block
        Maximum number of records of a block; a table of up to 15,000 records is one block.
    neighbours
        Which groups a record may join: those near its ``group``, or those near the ``record`` itself. The latter takes
        longer, and finds less loss where there are many attributes.
    chains
        Independent searches of a table that is one block; the best parts of all are combined.
    program
        Whether an integer program selects among all groups that the chains found.
    reheats
        How often the search is heated again.
    reheat_sweeps
        Sweeps after each heating.
    time_limit
        Seconds; the search is heated again until they end. The options of the outcome state how often, and the same
        options without a time limit find the same groups. An interrupt from the keyboard also ends the search with
        the best groups so far.

    Examples
    --------
    >>> import numpy as np
    >>> annealing(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [8.0, 8.0]]), 2).labels
    array([0, 1, 0, 1])
    """
    chosen = {name: value for name, value in locals().items() if name in _OPTIONS}
    deadline = Deadline(time_limit)
    storage: dict[str, Any] = {"storage": str(points.dtype)}
    options = {"block": start_block, "passes": start_passes, "rounds": start_rounds, "leaf": start_leaf} | storage
    labels = run(start, points, k, progress=progress, **(options if start == "mona-plus" else {})).labels
    search = _Search(points, k, seed, progress, labels, neighbours)
    stopped: Stopped = "finished"
    if len(points) >= 2 * k and group_costs_by_column(points, labels).any():
        try:
            search.begin(passes, sweeps, costly_sweeps, block, chains, program=program)
            stopped = search.reheat(MOST_REHEATS if deadline.limited else reheats, reheat_sweeps, block, deadline)
        except KeyboardInterrupt:
            stopped = "interrupted"
    # these options without a time limit repeat the search
    done = {"passes": passes if search.completed else 0, "reheats": search.reheats}
    resolved = chosen | done | (storage if points.dtype == np.float32 else {"storage": "float64"})
    return Outcome(search.labels, stopped=stopped, method="annealing", options=resolved, diagnostics=done)


class _Search:
    """The best grouping so far."""

    def __init__(
        self, points: NDArray[np.floating[Any]], k: int, seed: int, progress: Progress, labels: NDArray[np.int64],
        neighbours: Neighbours,
    ) -> None:  # fmt: skip
        self.points, self.k, self.seed, self.progress = points, k, seed, progress
        self.labels, self.neighbours = labels, neighbours
        self.reheats = 0
        self.completed = False

    @property
    def whole(self) -> bool:
        """Whether the table is one block."""
        return len(self.points) <= ONE_BLOCK_RECORDS

    def begin(
        self, passes: int, sweeps: int, costly_sweeps: int, block: int, chains: int, *, program: bool
    ) -> None:  # fmt: skip
        """Search once, from hot to cold."""
        if passes == 0:
            return
        if self.whole and chains > 1:
            self._run_chains(passes * sweeps, chains, program=program)
        else:
            self.labels = anneal_records(
                self.points, self.labels, self.k, passes=passes, sweeps=sweeps, costly_sweeps=costly_sweeps,
                block=block, neighbours=self.neighbours, seed=self.seed, progress=self.progress,
            ).labels  # fmt: skip
        self.completed = True

    def reheat(self, most: int, sweeps: int, block: int, deadline: Deadline) -> Stopped:
        """Heat the search again, at most so many times; the result is never worse."""
        takes = 0.5 * deadline.elapsed() if deadline.limited else 0.0
        while self.reheats < most:
            if deadline.left() <= takes:
                return "time limit"
            started = deadline.elapsed()
            passes = 1 if self.whole else REHEAT_PASSES
            self.labels = anneal_records(
                self.points, self.labels, self.k, passes=passes, sweeps=sweeps, block=block, hot=REHEATED,
                neighbours=self.neighbours, seed=self.seed + self.reheats + 1, progress=self.progress,
            ).labels  # fmt: skip
            self.reheats += 1
            takes = deadline.elapsed() - started
        return "finished"

    def _run_chains(self, sweeps: int, chains: int, *, program: bool) -> None:
        """Search from two starts with chains that share nothing, and combine what they find."""
        points = np.ascontiguousarray(self.points, np.float64)
        starts = [self.labels, run("mdav", points, self.k).labels]
        self.progress.stage("searching for better groups", chains)

        def walk(number: int) -> NDArray[np.int64]:
            found = anneal_whole(points, starts[number % len(starts)], self.k, sweeps, (self.seed, number))
            self.progress.advance()
            return found

        found = run_in_threads(walk, range(chains))
        for labels in found:
            self.labels = crossover(points, self.labels, labels)
        if program:
            self.labels = select_groups(points, [self.labels, *found], self.k, PROGRAM_COLUMNS, PROGRAM_NODES)
