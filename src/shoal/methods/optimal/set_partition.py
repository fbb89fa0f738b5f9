"""set-partition: the best groups that the time allows, with a proof of how good they are.

Beyond the papers. Simulated annealing on windows of groups (``annealing``) finds groups that are better than those of
all published methods and notes every group it meets. Column generation (``column_bound``) prices what is missing and
proves a lower bound. An integer program over all groups seen puts the best of them together. The three feed each other
until the gap is closed or the time is over. Large tables are annealed only, cell by cell.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.optimal.block_bound import block_bound
from shoal.methods.optimal.linear_bound import Relaxation
from shoal.methods.optimal.sse_annealing import anneal, group_costs
from shoal.methods.optimal.sse_pricing import column_costs
from shoal.methods.programs.restricted_master import Clock, solve_integer
from shoal.methods.refinement.ona_star_moves import in_order, split_large
from shoal.methods.registry import get_method, method

TINY = 2_000  # records up to which one linear program holds all groups where there is no time limit,
SMALL = 6_000  # and where there is one;
MIDDLE = 100_000  # up to which the programs of blocks are solved if there are at least
MINUTE = 50.0  # seconds,
BLOCK_K = 3  # and k is not larger: else they seldom end in time
QUADRATIC = 20_000  # records up to which ona-star makes the start
QUICK_K = 5  # the largest k for which groups are priced without a limit of time,
SHORT_K = 7  # with one,
LONG_K = 12  # and with one of at least
LONG = 200.0  # seconds
POOL = 60_000  # groups noted at most,
COLUMNS = 12_000  # and those that the linear program begins with
FAR = 0.02  # the gap above which groups are not combined where there is no time limit
NODES = 20  # of the integer program where there is no time limit
SOLVER = 2e-6  # what the bound of an integer program may err, as a share of it
CLOSED = 1e-5  # the gap at which a grouping is called optimal


@method(
    "set-partition",
    title="Annealing, column generation and an integer program: near-optimal groups with a proven bound",
    cost="as long as it may",
    guarantee="groups of k to 2k-1; never worse than ona-star (large tables: mona-plus); a proven bound",
    reference="beyond the papers; Cost 2023, chapter 4, for the column generation",
    when="the loss matters more than the time; or to know how far from the optimum a grouping is",
    max_size=lambda k: 2 * k - 1,
)
def set_partition(
    points: NDArray[np.float64],
    k: int,
    *,
    seconds: float | None = None,
    effort: float = 100.0,
    bound: Literal["auto", "none", "instant", "columns"] = "auto",
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records as well as the time allows.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    seconds
        How long to search. The groups then depend on the speed of the machine. Without it a fixed amount of work is
        done, which gives the same groups everywhere.
    effort
        Without ``seconds``: steps of annealing per record.
    bound
        ``columns``: price all groups, for a bound that comes close (small k; with a large k it may take very long
        unless there is a limit of time; tables of more than 6,000 records block by block). ``instant``: sum up nearest
        neighbours. ``auto``: columns where that is quick or time is limited, else instant. ``none``: no bound.
    seed
        Chooses the random numbers.
    progress
        Hears how far the work is.
    facts
        Receives ``sse``, ``bound`` (no grouping has a smaller squared error), ``gap`` (how far the groups are above it,
        as a share of it) and ``stopped`` (why the search ended).

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> found = {}
    >>> set_partition(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [8.0, 8.0]]), 2, facts=found).tolist()
    [0, 1, 0, 1]
    >>> round(found["gap"], 6)
    0.0
    """
    if seconds is not None and not seconds > 0:
        raise ParameterError(
            f"seconds={seconds} leaves no time; give a positive number, or None for a fixed amount of work"
        )
    if not effort > 0:
        raise ParameterError(f"effort={effort} does no work; give a positive number of steps per record")
    clock = Clock(seconds)
    centred = np.ascontiguousarray(points - points.mean(axis=0), dtype=np.float64)
    search = _Search(centred, k, clock, seed, progress)
    try:
        search.begin()
        if search.cost > 0.0:
            search.run(effort, bound)
    except KeyboardInterrupt:
        if search.labels is None:
            raise
        search.stopped = "interrupted"
    if facts is not None:
        facts |= search.facts()
    assert search.labels is not None
    return search.labels


class _Search:
    """The best grouping so far, the bound, and the groups seen."""

    def __init__(self, points: NDArray[np.float64], k: int, clock: Clock, seed: int, progress: Progress) -> None:
        self.points, self.k, self.clock, self.seed, self.progress = points, k, clock, seed, progress
        self.labels: NDArray[np.int64] | None = None
        self.cost = np.inf
        self.scale = 1.0
        self.bound: float | None = None
        self.stopped = "done"
        self.pool: dict[bytes, NDArray[np.int32]] = {}

    def begin(self) -> None:
        """Start with the best quick grouping."""
        labels = split_large(self.points, in_order(_quick_grouping(self.points, self.k, self.progress)), self.k)
        cost = float(group_costs(self.points, labels).sum())
        if cost > 0.0:  # solvers have absolute tolerances: let a record cost about 1
            self.scale = float(2.0 ** np.round(np.log2(labels.size / cost) / 2))
            self.points = self.points * self.scale
        self.offer(labels)

    def offer(self, labels: NDArray[np.int64]) -> bool:
        """Take a grouping if it is better; note its groups in any case."""
        labels = in_order(labels)
        cost = float(group_costs(self.points, labels).sum())
        better = self.labels is None or cost < self.cost
        if better:
            self.labels, self.cost = labels, cost
        self.note(labels)
        return better

    def note(self, labels: NDArray[np.int64]) -> None:
        """Remember the groups of a grouping."""
        if self.points.shape[0] > SMALL or len(self.pool) > POOL:
            return
        for group in _groups(labels):
            self.pool.setdefault(group.tobytes(), group)

    def run(self, effort: float, bound: str) -> None:
        """Search until the work is done or the time is over."""
        n = self.points.shape[0]
        timed = np.isfinite(self.clock.seconds)
        largest = LONG_K if self.clock.seconds >= LONG else SHORT_K
        priced = bound == "columns" or (bound == "auto" and self.k <= (largest if timed else QUICK_K))
        columns = priced and n <= (SMALL if timed else TINY)
        long = timed and self.clock.seconds >= MINUTE
        blocks = priced and not columns and (bound == "columns" or (long and n <= MIDDLE and self.k <= BLOCK_K))
        first = self.clock
        if timed and (columns or blocks):
            first = self.clock.part(min(0.35, 0.1 + 20.0 / self.clock.seconds) if columns else 0.65)
        if bound == "instant" or (bound == "auto" and not blocks and n <= (MIDDLE if long else QUADRATIC)):
            self._instant()
        self.offer(self._anneal(effort, first, 0.25, self.seed))
        if columns and not self.clock.expired():
            self._columns(effort)
        if blocks and not self.clock.expired():
            assert self.labels is not None
            found = block_bound(self.points, self.labels, self.k, clock=self.clock, progress=self.progress)
            self.bound = max(self.bound or 0.0, min(found, self.cost))
        if timed and self.clock.expired():
            self.stopped = "the time is over"

    def _anneal(self, effort: float, clock: Clock, heat: float, seed: int) -> NDArray[np.int64]:
        assert self.labels is not None
        return anneal(
            self.points, self.labels, self.k, effort=effort, clock=clock, heat=heat, seed=seed, note=self.note,
            progress=self.progress,
        )  # fmt: skip

    def _instant(self) -> None:
        from shoal.methods.optimal.neighbour_bound import instant_bound

        self.progress.stage("bounding")
        self.bound = max(self.bound or 0.0, instant_bound(self.points, self.k))

    def _columns(self, effort: float) -> None:
        """Generate columns, cut, and put groups together, in turns."""
        self.progress.stage("pricing groups")
        relaxation = Relaxation(self.points, self.k, *self._pool_columns(), progress=self.progress)
        timed = np.isfinite(self.clock.seconds)
        clock = self.clock.part(0.5) if timed else self.clock
        enough = self.cost * (1 - CLOSED)
        closed = relaxation.solve(clock, enough)
        turn = 0
        while not self._settled(relaxation):
            cuts = relaxation.cut() if closed and not clock.expired() else 0
            if cuts:
                closed = relaxation.solve(clock, enough)
                self._learn(relaxation)
                continue
            turn += 1
            better = self._assemble(relaxation)
            if self._settled(relaxation) or self.clock.expired() or (turn > 1 and not better and not timed):
                break
            self.offer(self._anneal(effort / 2, self.clock.part(0.3) if timed else self.clock, 0.1, self.seed + turn))
            new = relaxation.add(*self._pool_columns())
            clock = self.clock.part(0.5) if timed else self.clock
            enough = self.cost * (1 - CLOSED)
            if new and not self.clock.expired():
                closed = relaxation.solve(clock, enough)
        self._learn(relaxation)

    def _settled(self, relaxation: Relaxation) -> bool:
        self._learn(relaxation)
        return self.bound is not None and self.cost - self.bound <= CLOSED * self.cost

    def _learn(self, relaxation: Relaxation) -> None:
        self.bound = max(self.bound or 0.0, min(relaxation.bound, self.cost))

    def _assemble(self, relaxation: Relaxation) -> bool:
        """Put the best groups seen together; return whether that is a better grouping."""
        assert self.labels is not None
        timed = np.isfinite(self.clock.seconds)
        if not timed and self.bound is not None and self.cost > (1.0 + FAR) * self.bound:
            return False  # so many groups would fit that the program could take for ever
        self.progress.stage("combining groups")
        everything = relaxation.contenders(self.cost)
        if everything is None:
            keep = relaxation.promising(self.cost)
            columns, costs = relaxation.master.columns[keep], relaxation.master.costs[keep]
        else:
            columns, costs = everything, column_costs(self.points, everything)
        n = self.points.shape[0]
        chosen = solve_integer(
            np.ones(n, np.int64), columns, costs,
            time_limit=max(0.4 * self.clock.left(), 1.0) if timed else np.inf, nodes=None if timed else NODES,
        )  # fmt: skip
        if chosen.interrupted:
            raise KeyboardInterrupt
        if everything is not None:  # no other group can be in a better grouping than the one there is
            self.bound = max(self.bound or 0.0, min(chosen.bound * (1 - SOLVER), self.cost))
        if chosen.columns is None:
            return False
        labels = np.empty(n, np.int64)
        for number, column in enumerate(columns[chosen.columns]):
            labels[column[column >= 0]] = number
        return self.offer(labels)

    def _pool_columns(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the groups of the best grouping and those noted last: the cooler the search, the better they are."""
        assert self.labels is not None
        groups = _groups(self.labels) + list(self.pool.values())[-COLUMNS:]
        columns = np.full((len(groups), 2 * self.k - 1), -1, np.int32)
        for line, group in zip(columns, groups, strict=True):
            line[: group.size] = group
        return columns, column_costs(self.points, columns)

    def facts(self) -> dict[str, Any]:
        """Return what is known about the grouping."""
        told: dict[str, Any] = {"sse": self.cost / self.scale**2, "stopped": self.stopped}
        if self.cost <= 0.0:
            told |= {"bound": 0.0, "gap": 0.0}
        elif self.bound:
            told |= {"bound": float(self.bound / self.scale**2), "gap": float(self.cost / self.bound - 1.0)}
        return told


def _groups(labels: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    """Return the records of each group, in ascending order."""
    order = np.argsort(labels, kind="stable").astype(np.int32)
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _quick_grouping(points: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Return the groups to begin with."""
    name = "ona-star" if points.shape[0] <= QUADRATIC else "mona-plus"
    return get_method(name).run(points, k, progress=progress)
