"""annealing: a search that begins with the groups of another method and lowers their loss as long as work is allowed.

Beyond the papers. Records change groups one by one, in sweeps over the table, while a temperature falls (see
``record_annealing``). A small table is searched by several independent chains, and an integer program combines the
groups that they found; then the search is heated again a number of times. Cost O(k d) per record and sweep, so O(n k d)
for a given amount of work; the same groups for any number of threads and on every machine, unless there is a time
limit. Never worse than its start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import NeverWorse, Outcome, Stopped
from shoal.methods.kernels.logarithm_table import exponential_table
from shoal.methods.options import Range
from shoal.methods.programs.group_selection import select_groups
from shoal.methods.refinement.crossover import crossover, group_costs_by_column
from shoal.methods.refinement.record_annealing import HOT, ONE_BLOCK_RECORDS, Neighbours, anneal_records, anneal_whole
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.sse_annealing import anneal
from shoal.methods.registry import method
from shoal.methods.running import run

REHEATED = 0.3  # the temperature at which a search that has cooled begins again
REHEAT_PASSES = 2  # of a table of several blocks
START_SHARE = 0.5  # of a time limit, what the first groups may take at most
MOST_REHEATS = 1_000_000  # within a time limit
WINDOW_HOT, WINDOW_WARM = 0.25, 0.1  # temperatures of the two searches in windows
PROGRAM_COLUMNS = 450  # groups among which an integer program selects
PROGRAM_NODES = 1
_OPTIONS = (
    "start", "start_block", "start_passes", "start_rounds", "start_leaf", "passes", "made", "sweeps", "costly_sweeps",
    "block", "neighbours", "chains", "chain_heat", "windows", "program", "reheats", "reheat_sweeps",
)  # fmt: skip


@method(
    "annealing",
    title="A search by annealing from the groups of another method; the number of sweeps sets its work",
    complexity="that of the start + sweeps n k d",
    guarantees=(NeverWorse("never worse than its start", "ona-star"),),
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
    made: Annotated[int, Range(0)] | None = None,
    sweeps: Annotated[int, Range(1)] = 20,
    costly_sweeps: Annotated[int, Range(0)] = 50,
    block: Annotated[int, Range(1)] = 10_000,
    neighbours: Neighbours = "group",
    chains: Annotated[int, Range(1)] = 1,
    chain_heat: Annotated[float, Range(above=0)] = HOT,
    windows: Annotated[float, Range(0)] = 0.0,
    program: bool = False,
    reheats: Annotated[int, Range(0)] = 0,
    reheat_sweeps: Annotated[int, Range(1)] = 150,
    observed: NDArray[np.bool_] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by a search that begins with the groups of another method.

    Where cells are missing, they are completed from near records, and the groups found then are searched once more by
    the squared error of the known cells.

    Parameters
    ----------
    start
        The method that makes the first groups.
    start_block, start_passes, start_rounds, start_leaf
        Options of the start ``mona-plus``: ``block``, ``passes``, ``rounds`` and ``leaf``.
    passes
        How often a table of several blocks is cut anew; the temperature falls across the passes.
    made
        How many of these passes are made: the first ones, and then the last, coldest one. None for all.
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
    chain_heat
        The temperature at which every second pair of chains begins. The others begin at 0.4, and a hotter chain
        finds other groups.
    windows
        Steps per record of a search that forms a few neighbouring groups anew at a time, on a table of several chains:
        half of them from the start, half from the best groups of the chains. 0 for none.
    program
        Whether an integer program selects among all groups that the chains found.
    reheats
        How often the search is heated again.
    reheat_sweeps
        Sweeps after each heating.
    time_limit
        Seconds; the search is heated again until they end. The options of the outcome state how often, and the same
        options without a time limit find the same groups, unless the diagnostics state that the time limit changed
        the first groups. An interrupt from the keyboard also ends the search with the best groups so far.

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
    if deadline.limited:
        options["time_limit"] = START_SHARE * deadline.left()
    if observed is not None and not observed.all():
        from shoal.methods.kernels.completed_points import completed_points
        from shoal.methods.refinement.observed_search import anneal_observed

        half = None if time_limit is None else time_limit / 2
        completed = completed_points(points, observed)
        begun = annealing(completed, k, time_limit=half, seed=seed, progress=progress, **chosen)
        labels = anneal_observed(
            np.ascontiguousarray(points, np.float64), begun.labels, k, observed, passes=passes, sweeps=sweeps,
            block=block, seed=seed, progress=progress,
        )  # fmt: skip
        return replace(begun, labels=labels)
    first = run(start, points, k, progress=progress, **(options if start == "mona-plus" else {}))
    search = _Search(points, k, seed, progress, first.labels, deadline, neighbours)
    stopped: Stopped = "finished"
    if len(points) >= 2 * k and group_costs_by_column(points, first.labels).any():
        try:
            chosen_chains = _Chains(chains, chain_heat, windows, program)
            search.begin(passes, made, sweeps, costly_sweeps, block, chosen_chains)
            stopped = search.reheat(MOST_REHEATS if deadline.limited else reheats, reheat_sweeps, block)
        except KeyboardInterrupt:
            stopped = "interrupted"
    # these options without a time limit repeat the search
    done: dict[str, Any] = {"passes": passes if search.completed else 0, "reheats": search.reheats} | search.shortened
    resolved = chosen | done | (storage if points.dtype == np.float32 else {"storage": "float64"})
    if first.stopped != "finished":
        done["first_groups"] = first.stopped
    return Outcome(search.labels, stopped=stopped, method="annealing", options=resolved, diagnostics=done)


@dataclass(frozen=True)
class _Chains:
    """The chains of a table that is one block, and what combines their groups."""

    count: int
    heat: float
    windows: float
    program: bool


class _Search:
    """The best grouping so far."""

    def __init__(
        self, points: NDArray[np.floating[Any]], k: int, seed: int, progress: Progress, labels: NDArray[np.int64],
        deadline: Deadline, neighbours: Neighbours,
    ) -> None:  # fmt: skip
        self.points, self.k, self.seed, self.progress = points, k, seed, progress
        self.labels, self.deadline, self.neighbours = labels, deadline, neighbours
        self.shortened: dict[str, Any] = {}
        self.reheats = 0
        self.completed = False

    @property
    def whole(self) -> bool:
        """Whether the table is one block."""
        return len(self.points) <= ONE_BLOCK_RECORDS

    def begin(
        self, passes: int, made: int | None, sweeps: int, costly_sweeps: int, block: int, chains: _Chains
    ) -> None:  # fmt: skip
        """Search once, from hot to cold."""
        if passes == 0:
            return
        if self.whole and chains.count > 1:
            self._run_chains(passes * sweeps, chains)
        else:
            outcome = anneal_records(
                self.points, self.labels, self.k, passes=passes, made=made, sweeps=sweeps, costly_sweeps=costly_sweeps,
                block=block, neighbours=self.neighbours, seed=self.seed, progress=self.progress,
                deadline=self.deadline,
            )  # fmt: skip
            self.labels = outcome.labels
            if outcome.stopped != "finished":
                found = outcome.diagnostics
                self.shortened = {"made": found["passes"], "costly_sweeps": found["costly_sweeps"]}
        self.completed = True

    def reheat(self, most: int, sweeps: int, block: int) -> Stopped:
        """Heat the search again, at most so many times; the result is never worse."""
        deadline = self.deadline
        takes = 0.5 * deadline.elapsed() if deadline.limited else 0.0
        while self.reheats < most:
            if deadline.left() <= takes:
                return "time limit"
            started = deadline.elapsed()
            passes = 1 if self.whole else REHEAT_PASSES
            outcome = anneal_records(
                self.points, self.labels, self.k, passes=passes, made=passes, sweeps=sweeps, block=block, hot=REHEATED,
                neighbours=self.neighbours, seed=self.seed + self.reheats + 1, progress=self.progress,
                deadline=deadline,
            )  # fmt: skip
            if outcome.stopped != "finished":
                return "time limit"
            self.labels = outcome.labels
            self.reheats += 1
            takes = deadline.elapsed() - started
        return "finished"

    def _run_chains(self, sweeps: int, chains: _Chains) -> None:
        """Search from two starts with chains that share nothing, and combine what they find."""
        points = np.ascontiguousarray(self.points, np.float64)
        starts = [self.labels, run("mdav", points, self.k).labels]
        self.progress.stage("searching for better groups", chains.count)

        def walk(number: int) -> NDArray[np.int64]:
            heat = chains.heat if number // len(starts) % 2 else HOT
            found = anneal_whole(points, starts[number % len(starts)], self.k, sweeps, (self.seed, number), heat)
            self.progress.advance()
            return found

        # the windows come first: where their loops have to be compiled, a second process compiles those of the chains
        hot = [self._windows(points, self.labels, chains.windows / 2, WINDOW_HOT)] if chains.windows else []
        found = run_in_threads(walk, range(chains.count)) + hot
        for labels in found:
            self.labels = crossover(points, self.labels, labels)
        if chains.windows:
            found.append(self._windows(points, self.labels, chains.windows / 2, WINDOW_WARM))
            self.labels = crossover(points, self.labels, found[-1])
        if chains.program:
            self.labels = select_groups(points, [self.labels, *found], self.k, PROGRAM_COLUMNS, PROGRAM_NODES)

    def _windows(
        self, points: NDArray[np.float64], labels: NDArray[np.int64], steps: float, temperature: float
    ) -> NDArray[np.int64]:
        """Search in windows of groups, which finds what no move of one record reaches."""
        start = split_large(points, ordered_labels(labels), self.k)
        return anneal(
            points - points.mean(axis=0), start, self.k, steps_per_record=steps, temperature=temperature,
            seed=self.seed, exponentials=exponential_table(), progress=self.progress,
        )  # fmt: skip
