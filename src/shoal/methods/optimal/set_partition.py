"""set-partition: near-optimal groups with a proven bound.

Beyond the papers. Simulated annealing on windows of groups (``sse_annealing``) finds groups that are better than those
of all published methods and collects every group that it visits. Column generation (``linear_bound``) adds what is
missing and proves a lower bound. An integer program over all groups seen combines the best of them. The three are
repeated until the gap is closed or the time limit is reached. Large tables are only annealed, cell by cell.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import NeverWorse, Objective, Outcome, Stopped, labels_of
from shoal.methods.effort import search_work
from shoal.methods.kernels.centroids import group_costs
from shoal.methods.optimal.block_bound import block_bound
from shoal.methods.optimal.linear_bound import GroupRelaxation
from shoal.methods.optimal.sse_pricing import column_costs
from shoal.methods.options import Range
from shoal.methods.programs.highs import load_highspy
from shoal.methods.programs.restricted_master import solve_integer
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.sse_annealing import anneal
from shoal.methods.registry import get_method, method
from shoal.methods.running import run

Bound = Literal["auto", "none", "instant", "columns", "semidefinite"]

PROGRAM_RECORDS = 2_000  # records up to which one linear program holds all groups without a time limit,
TIMED_PROGRAM_RECORDS = 6_000  # and with one;
BLOCK_RECORDS = 100_000  # up to which the programs of blocks are solved if the time limit is at least
BLOCK_SECONDS = 50.0
BLOCK_K = 3  # and k is not larger: otherwise they seldom end in time
ONA_STAR_RECORDS = 20_000  # records up to which ona-star makes the first groups
PRICED_K = 5  # the largest k for which groups are priced without a time limit,
TIMED_PRICED_K = 7  # with one,
LONG_PRICED_K = 12  # and with one of at least
LONG_SECONDS = 200.0
SEMIDEFINITE_RECORDS = 2_000  # up to which a semidefinite program is solved, with a larger k,
SEMIDEFINITE_SECONDS = 10.0  # and a time limit of at least
TIMED_ITERATIONS = 10_000
SEMIDEFINITE_SHARE = 0.6  # of the time that is left, if groups are priced, too
POOL_GROUPS = 60_000  # groups that are collected at most,
FIRST_COLUMNS = 12_000  # and those that the linear program begins with
COMBINING_GAP = 0.02  # the gap above which groups are not combined without a time limit
INTEGER_NODES = 20  # of the integer program without a time limit
SOLVER_TOLERANCE = 2e-6  # relative error that the bound of an integer program may have
OPTIMAL_GAP = 1e-5  # the gap at which a grouping counts as optimal


@method(
    "set-partition",
    title="Annealing, column generation and an integer program: near-optimal groups with a proven bound",
    complexity="as long as the time limit allows",
    guarantees=(
        NeverWorse("never worse than ona-star (up to 20,000 records)", "ona-star", most_records=ONA_STAR_RECORDS),
    ),
    reference="beyond the papers; Cost 2023, chapter 4, for the column generation",
    when="the loss matters more than the time; or to know how far from the optimum a grouping is",
    max_size=lambda k: 2 * k - 1,
    proves="sse",
    version=1,
)
def set_partition(
    points: NDArray[np.float64],
    k: int,
    *,
    time_limit: float | None = None,
    steps_per_record: Annotated[float, Range(above=0)] = 100.0,
    start: Literal["ona-star", "annealing"] = "ona-star",
    bound: Bound = "auto",
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records as well as the time allows.

    The objective of the outcome is the SSE with a lower bound that holds for every grouping. An interrupt from the
    keyboard ends the search with the best groups so far.

    Parameters
    ----------
    time_limit
        Seconds to search; the groups then depend on the speed of the machine. Without a time limit a fixed amount of
        work is done, which gives the same groups everywhere.
    steps_per_record
        Without a time limit: steps of annealing per record.
    start
        The method that makes the first groups: ``ona-star``, or ``annealing`` with the work of the balanced effort,
        which takes longer and loses less (above 20,000 records both take ``mona-plus``).
    bound
        ``columns``: price all groups, for a bound that comes close (small k; with a large k it may take very long
        without a time limit; tables of more than 6,000 records block by block). ``semidefinite``: solve a
        semidefinite program, for a large k and up to 2,000 records. ``instant``: sum up nearest neighbours. ``auto``:
        columns where that is quick or time is limited, semidefinite where time is limited and k is above 7, else
        instant. ``none``: no bound.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = set_partition(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [8.0, 8.0]]), 2)
    >>> outcome.labels
    array([0, 1, 0, 1])
    >>> round(outcome.objective.gap, 6)
    0.0
    """
    deadline = Deadline(time_limit)
    plan = _plan(len(points), k, deadline, bound)
    if plan.columns or plan.blocks:
        load_highspy()  # raises before any work if it is not installed
    centred = np.ascontiguousarray(points - points.mean(axis=0), dtype=np.float64)
    search = _Search(centred, k, deadline, seed, progress)
    try:
        search.begin(start)
        if search.cost > 0.0:
            search.run(steps_per_record, plan)
    except KeyboardInterrupt:
        if search.labels is None:
            raise
        search.stopped = "interrupted"
    return search.outcome()


class _Plan(NamedTuple):
    """How the bound is proven: from neighbours, by one linear program or one a block, by a semidefinite program."""

    instant: bool
    columns: bool
    blocks: bool
    semidefinite: bool


def _plan(n: int, k: int, deadline: Deadline, bound: Bound) -> _Plan:
    """Return how the bound is proven for a table of that size in that time."""
    timed = deadline.limited
    largest_k = (LONG_PRICED_K if deadline.seconds >= LONG_SECONDS else TIMED_PRICED_K) if timed else PRICED_K
    priced = bound == "columns" or (bound == "auto" and k <= largest_k)
    columns = priced and n <= (TIMED_PROGRAM_RECORDS if timed else PROGRAM_RECORDS)
    long = timed and deadline.seconds >= BLOCK_SECONDS
    blocks = priced and not columns and (bound == "columns" or (long and n <= BLOCK_RECORDS and k <= BLOCK_K))
    larger = timed and k > TIMED_PRICED_K and deadline.seconds >= SEMIDEFINITE_SECONDS
    semidefinite = n <= SEMIDEFINITE_RECORDS and (bound == "semidefinite" or (bound == "auto" and larger))
    instant = bound in {"instant", "semidefinite"} or (
        bound == "auto" and not blocks and n <= (BLOCK_RECORDS if long else ONA_STAR_RECORDS)
    )
    return _Plan(instant, columns, blocks, semidefinite)


class _Search:
    """The best grouping so far, the bound, and the groups seen."""

    def __init__(self, points: NDArray[np.float64], k: int, deadline: Deadline, seed: int, progress: Progress) -> None:
        self.points, self.k, self.deadline, self.seed, self.progress = points, k, deadline, seed, progress
        self.labels: NDArray[np.int64] | None = None
        self.cost = np.inf
        self.scale = 1.0
        self.bound: float | None = None
        self.stopped: Stopped = "finished"
        self.pool: dict[bytes, NDArray[np.int32]] = {}

    def begin(self, start: Literal["ona-star", "annealing"]) -> None:
        """Start with the groups of another method; an interrupt during its search ends with these groups."""
        first = _first_groups(self.points, self.k, start, self.seed, self.progress)
        labels = split_large(self.points, ordered_labels(first.labels), self.k)
        cost = float(group_costs(self.points, labels).sum())
        if cost > 0.0:  # solvers have absolute tolerances: scale the cost of a record to about 1
            self.scale = float(2.0 ** np.round(np.log2(labels.size / cost) / 2))
            self.points = self.points * self.scale
        self.offer(labels)
        if first.stopped == "interrupted":
            raise KeyboardInterrupt

    def offer(self, labels: NDArray[np.int64]) -> bool:
        """Keep a grouping if it is better; collect its groups in any case."""
        labels = ordered_labels(labels)
        cost = float(group_costs(self.points, labels).sum())
        better = self.labels is None or cost < self.cost
        if better:
            self.labels, self.cost = labels, cost
        self.collect(labels)
        return better

    def collect(self, labels: NDArray[np.int64]) -> None:
        """Add the groups of a grouping to the pool."""
        if self.points.shape[0] > TIMED_PROGRAM_RECORDS or len(self.pool) > POOL_GROUPS:
            return
        for group in _groups(labels):
            self.pool.setdefault(group.tobytes(), group)

    def run(self, steps_per_record: float, plan: _Plan) -> None:
        """Search until the work is done or the time limit is reached."""
        timed = self.deadline.limited
        first = self.deadline
        if timed and (plan.columns or plan.blocks or plan.semidefinite):
            share = min(0.35, 0.1 + 20.0 / self.deadline.seconds) if plan.columns else 0.65
            first = self.deadline.part(share)
        if plan.instant:
            self._instant()
        self.offer(self._anneal(steps_per_record, first, 0.25, self.seed))
        if plan.semidefinite and not self.deadline.expired():
            self._semidefinite(self.deadline.part(SEMIDEFINITE_SHARE) if plan.columns else self.deadline)
        if plan.columns and not self.deadline.expired():
            self._columns(steps_per_record)
        if plan.blocks and not self.deadline.expired():
            assert self.labels is not None
            found = block_bound(self.points, self.labels, self.k, deadline=self.deadline, progress=self.progress)
            self.bound = max(self.bound or 0.0, min(found, self.cost))
        if timed and self.deadline.expired():
            self.stopped = "time limit"

    def _anneal(self, steps_per_record: float, deadline: Deadline, temperature: float, seed: int) -> NDArray[np.int64]:
        assert self.labels is not None
        return anneal(
            self.points, self.labels, self.k, steps_per_record=steps_per_record, deadline=deadline,
            temperature=temperature, seed=seed, collect=self.offer, progress=self.progress,
        )  # fmt: skip

    def _instant(self) -> None:
        from shoal.methods.optimal.neighbour_bound import instant_bound

        self.progress.stage("bounding")
        self.bound = max(self.bound or 0.0, instant_bound(self.points, self.k))

    def _semidefinite(self, deadline: Deadline) -> None:
        from shoal.methods.optimal.semidefinite_program import ITERATIONS, semidefinite_bound

        found = semidefinite_bound(
            self.points, self.k, labels=self.labels, enough=self.cost * (1 - OPTIMAL_GAP), deadline=deadline,
            iterations=TIMED_ITERATIONS if deadline.limited else ITERATIONS, progress=self.progress,
        )  # fmt: skip
        self.bound = max(self.bound or 0.0, min(found, self.cost))

    def _columns(self, steps_per_record: float) -> None:
        """Generate columns, add cuts, and combine groups, in turns."""
        self.progress.stage("pricing groups")
        relaxation = GroupRelaxation(self.points, self.k, *self._pool_columns(), progress=self.progress)
        timed = self.deadline.limited
        deadline = self.deadline.part(0.5) if timed else self.deadline
        enough = self.cost * (1 - OPTIMAL_GAP)
        closed = relaxation.solve(deadline, enough)
        turn = 0
        while not self._is_optimal(relaxation):
            cuts = relaxation.cut() if closed and not deadline.expired() else 0
            if cuts:
                closed = relaxation.solve(deadline, enough)
                self._raise_bound(relaxation)
                continue
            turn += 1
            better = self._assemble(relaxation)
            if self._is_optimal(relaxation) or self.deadline.expired() or (turn > 1 and not better and not timed):
                break
            part = self.deadline.part(0.3) if timed else self.deadline
            self.offer(self._anneal(steps_per_record / 2, part, 0.1, self.seed + turn))
            new = relaxation.add(*self._pool_columns())
            deadline = self.deadline.part(0.5) if timed else self.deadline
            enough = self.cost * (1 - OPTIMAL_GAP)
            if new and not self.deadline.expired():
                closed = relaxation.solve(deadline, enough)
        self._raise_bound(relaxation)

    def _is_optimal(self, relaxation: GroupRelaxation) -> bool:
        self._raise_bound(relaxation)
        return self.bound is not None and self.cost - self.bound <= OPTIMAL_GAP * self.cost

    def _raise_bound(self, relaxation: GroupRelaxation) -> None:
        self.bound = max(self.bound or 0.0, min(relaxation.bound, self.cost))

    def _assemble(self, relaxation: GroupRelaxation) -> bool:
        """Combine the best groups seen; return whether that is a better grouping."""
        assert self.labels is not None
        timed = self.deadline.limited
        if not timed and self.bound is not None and self.cost > (1.0 + COMBINING_GAP) * self.bound:
            return False  # too many groups fit into the gap for an integer program
        self.progress.stage("combining groups")
        everything = relaxation.contenders(self.cost)
        if everything is None:
            keep = relaxation.promising(self.cost)
            columns, costs = relaxation.master.columns[keep], relaxation.master.costs[keep]
        else:
            columns, costs = everything, column_costs(self.points, everything)
        n = self.points.shape[0]
        chosen = solve_integer(
            np.ones(n, np.int64),
            columns,
            costs,
            time_limit=max(0.4 * self.deadline.left(), 1.0) if timed else np.inf,
            nodes=None if timed else INTEGER_NODES,
        )
        if chosen.interrupted:
            raise KeyboardInterrupt
        if everything is not None:  # no other group can be in a better grouping than the one there is
            self.bound = max(self.bound or 0.0, min(chosen.bound * (1 - SOLVER_TOLERANCE), self.cost))
        if chosen.columns is None:
            return False
        labels = np.empty(n, np.int64)
        for number, column in enumerate(columns[chosen.columns]):
            labels[column[column >= 0]] = number
        return self.offer(labels)

    def _pool_columns(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the groups of the best grouping and those collected last: they come from the lowest temperatures."""
        assert self.labels is not None
        groups = _groups(self.labels) + list(self.pool.values())[-FIRST_COLUMNS:]
        columns = np.full((len(groups), 2 * self.k - 1), -1, np.int32)
        for line, group in zip(columns, groups, strict=True):
            line[: group.size] = group
        return columns, column_costs(self.points, columns)

    def outcome(self) -> Outcome:
        """Return the best grouping with its bound."""
        assert self.labels is not None
        bound = 0.0 if self.cost <= 0.0 else self.bound or None  # a bound of 0 is none
        objective = Objective(
            "sse", float(self.cost / self.scale**2), None if bound is None else float(bound / self.scale**2)
        )
        return Outcome(self.labels, objective=objective, stopped=self.stopped)


def _groups(labels: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    """Return the records of each group, in ascending order."""
    order = np.argsort(labels, kind="stable").astype(np.int32)
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _first_groups(
    points: NDArray[np.float64], k: int, start: Literal["ona-star", "annealing"], seed: int, progress: Progress
) -> Outcome:
    """Return the groups to begin with, numbered by the method itself: the path of the search depends on the numbers."""
    n, d = points.shape
    if start == "annealing" and 2 * k <= n <= ONA_STAR_RECORDS:
        return run(start, points, k, progress=progress, seed=seed, **search_work(n, k, "balanced", d=d).options)
    name = "ona-star" if n <= ONA_STAR_RECORDS else "mona-plus"
    return Outcome(labels_of(get_method(name).function(points, k, progress=progress)))
