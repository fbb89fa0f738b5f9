"""mixed-annealing: a search for groups of numbers and categories whose exact loss is small.

Beyond the papers. Other methods compare categories by coordinates, one for each category, although the reported loss
counts categories that are replaced by another one. Here such groups are only the start: records then change groups one
by one, while a temperature falls, and each change is judged by the loss that is reported: squared error for numbers
(to the mean, median, middle of the range, minimum or maximum, whichever is released), the number of changed cells for
categories (or what suppression, a set or a hierarchy costs), each with sampling weights and weights of columns, and
over the known cells where some are missing. Cost
O(k columns) for each visit of a record; the same groups for any number of threads and on every machine, unless there is
a time limit. Never worse than its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import ColumnCost, NeverWorse, Objective, Outcome, Stopped
from shoal.methods.kernels.completed_points import completed_points
from shoal.methods.options import Range
from shoal.methods.refinement.mixed_search import HOT, ONE_BLOCK_RECORDS, anneal_mixed
from shoal.methods.refinement.mixed_table import MixedTable, exact_crossover, group_figures, mixed_table
from shoal.methods.refinement.record_annealing import anneal_records
from shoal.methods.registry import method
from shoal.methods.running import run

Integers = NDArray[np.int64]
REHEAT_PASSES = 2
"""of a table of several blocks"""
MOST_REHEATS = 1_000_000
"""within a time limit"""
OBJECTIVE = "reported loss"
_OPTIONS = (
    "start", "start_effort", "start_sweeps", "passes", "sweeps", "block", "reheats", "reheat_sweeps", "heat"
)  # fmt: skip


@method(
    "mixed-annealing",
    title="Numbers and categories: a search by annealing whose cost is the loss that is reported",
    complexity="that of the start + sweeps n k d, with the number of columns d",
    guarantees=(NeverWorse("never worse than its start", "mixed-annealing", {"passes": 0, "start_sweeps": 0}),),
    reference="beyond the papers",
    when="tables with categories, or with medians, ranges or hierarchies as representatives; auto selects it",
    max_size=lambda k: 2 * k - 1,
    version=1,
)
def mixed_annealing(
    mixed: NDArray[np.float64],
    k: int,
    *,
    start: Literal["ona-star", "mixed-blocks"] = "ona-star",
    start_effort: Literal["fast", "balanced", "best"] = "fast",
    start_sweeps: Annotated[int, Range(0)] = 30,
    passes: Annotated[int, Range(0)] = 1,
    sweeps: Annotated[int, Range(1)] = 100,
    block: Annotated[int, Range(1)] = 5_000,
    reheats: Annotated[int, Range(0)] = 0,
    reheat_sweeps: Annotated[int, Range(1)] = 100,
    heat: Annotated[float, Range(0)] = HOT,
    nominal: NDArray[np.bool_] | None = None,
    column_weights: NDArray[np.float64] | None = None,
    record_weights: NDArray[np.float64] | None = None,
    column_costs: Sequence[ColumnCost] | None = None,
    observed: NDArray[np.bool_] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records of numbers and categories by their exact loss.

    Parameters
    ----------
    start
        The method that makes the first groups: ``ona-star`` on one coordinate per category, or ``mixed-blocks``, which
        needs no such coordinates and is faster for large tables.
    start_effort
        The effort of ``mixed-blocks``.
    start_sweeps
        After ``ona-star``: sweeps of a search by the same coordinates, before the search by the exact loss.
    passes
        How often a table of several blocks is cut anew; the temperature falls across the passes.
    sweeps
        How often every record is visited in a pass.
    block
        Maximum number of records of a block; a table of up to 8,000 records is one block.
    reheats
        How often the search is heated again.
    reheat_sweeps
        Sweeps after each heating.
    heat
        The first temperature, in units of the cost per record around a record.
    time_limit
        Seconds; the search is heated again until they end. The options of the outcome state how often, and the same
        options without a time limit find the same groups. An interrupt from the keyboard also ends the search with
        the best groups so far.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 7], [0.1, 8], [0.2, 7], [0.3, 8]])
    >>> mixed_annealing(rows, 2, nominal=np.array([False, True])).labels
    array([0, 1, 0, 1])
    """
    chosen = {name: value for name, value in locals().items() if name in _OPTIONS}
    deadline = Deadline(time_limit)
    table = mixed_table(
        mixed, nominal, column_weights=column_weights, record_weights=record_weights, column_costs=column_costs,
        observed=observed,
    )  # fmt: skip
    points = completed_points(table.points(), table.known_coordinates()) if start == "ona-star" else mixed
    if start == "mixed-blocks":
        labels = run(
            "mixed-blocks", mixed, k, effort=start_effort, nominal=nominal, column_weights=column_weights,
            progress=progress,
        ).labels  # fmt: skip
    else:
        labels = run("ona-star", points, k, progress=progress).labels
    search = _Search(table, k, seed, progress, labels)
    stopped: Stopped = "finished"
    if table.n >= 2 * k and search.cost() > 0:
        try:
            if start == "ona-star" and start_sweeps:
                search.begin(points, start_sweeps)
            search.anneal(passes, sweeps, block, heat)
            stopped = search.reheat(MOST_REHEATS if deadline.limited else reheats, reheat_sweeps, block, heat, deadline)
        except KeyboardInterrupt:
            stopped = "interrupted"
    # these options without a time limit repeat the search
    done = {
        "start_sweeps": start_sweeps if search.begun else 0,
        "passes": passes if search.completed else 0,
        "reheats": search.reheats,
    }
    return Outcome(
        search.labels,
        objective=Objective(OBJECTIVE, search.cost()),
        diagnostics=done,
        stopped=stopped,
        method="mixed-annealing",
        options=chosen | done,
    )


class _Search:
    """The best grouping so far."""

    def __init__(self, table: MixedTable, k: int, seed: int, progress: Progress, labels: Integers) -> None:
        self.table, self.k, self.seed, self.progress = table, k, seed, progress
        self.labels = labels
        self.reheats = 0
        self.begun = self.completed = False

    def cost(self) -> float:
        """Return the exact loss of the groups."""
        return float(group_figures(self.table, self.labels).costs.sum())

    def begin(self, points: NDArray[np.float64], sweeps: int) -> None:
        """Search by the squared error of one coordinate per category."""
        found = anneal_records(
            points, self.labels, self.k, passes=1, sweeps=sweeps, seed=self.seed,
            progress=self.progress,
        ).labels  # fmt: skip
        self.labels = exact_crossover(self.table, self.labels, found)
        self.begun = True

    def anneal(self, passes: int, sweeps: int, block: int, heat: float) -> None:
        """Search once by the exact loss, from hot to cold."""
        if passes == 0:
            return
        self.labels = self._annealed(passes, sweeps, block, heat, self.seed)
        self.completed = True

    def reheat(self, most: int, sweeps: int, block: int, heat: float, deadline: Deadline) -> Stopped:
        """Heat the search again, at most so many times; the result is never worse."""
        takes = 0.5 * deadline.elapsed() if deadline.limited else 0.0
        passes = 1 if self.table.n <= max(ONE_BLOCK_RECORDS, block) else REHEAT_PASSES
        while self.reheats < most:
            if deadline.left() <= takes:
                return "time limit"
            started = deadline.elapsed()
            self.labels = self._annealed(passes, sweeps, block, heat, self.seed + self.reheats + 1)
            self.reheats += 1
            takes = deadline.elapsed() - started
        return "finished"

    def _annealed(self, passes: int, sweeps: int, block: int, heat: float, seed: int) -> Integers:
        return anneal_mixed(
            self.table, self.labels, self.k, passes=passes, sweeps=sweeps, hot=heat, block=block, seed=seed,
            progress=self.progress,
        ).labels  # fmt: skip
