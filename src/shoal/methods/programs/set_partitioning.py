"""Column generation for set partitioning with any costs of columns, and a proven bound.

A *pricer* defines the costs: it finds columns of negative reduced cost. The steps (Cost 2023, sections 4.3 and 4.4,
then beyond):

1. ``generate``: the linear master, with smoothed dual values (Wentges 1997) and a valid Lagrangian bound from each
   exact pricing;
2. ``improve``: the integer program over the columns of the smallest reduced costs;
3. ``cut``: subset-row cuts raise the bound, priced exactly;
4. ``close``: every column that a better solution could use has a reduced cost below the gap (Baldacci, Christofides and
   Mingozzi 2008); all of them are listed and one integer program over them ends the search.

Each step stops when the deadline expires; the best solution and the best bound so far are valid at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.methods.programs.rank1_cuts import violated_cuts
from shoal.methods.programs.restricted_master import Duals, Master, solve_integer, widened

_TOLERANCE = 1e-6
_SMOOTHING = 0.5
_SHARE_TO_GENERATE = 0.6
_COLUMNS_TO_IMPROVE = 3_000
_COLUMNS_TO_CLOSE = 100_000
_CUT_ROUNDS = 30


class Priced(NamedTuple):
    """Columns from pricing: their elements, their costs, the least reduced cost, and whether that is proven."""

    columns: NDArray[np.int32]
    costs: NDArray[np.float64]
    least: float
    proven: bool


class Pricer(Protocol):
    """Defines the costs of columns; ``k`` is the smallest number of elements of a column."""

    demand: NDArray[np.int64]
    k: int

    def price(self, duals: Duals, deadline: Deadline, /) -> Priced:
        """Return columns with negative reduced cost; none if there are none."""

    def below(self, duals: Duals, threshold: float, most: int, deadline: Deadline, /) -> Priced:
        """Return all columns with a reduced cost below the threshold; not proven if there are more than ``most``."""


class Partitioning:
    """A set-partitioning problem being solved: the best solution, the best bound, and the log of how they came.

    Parameters
    ----------
    pricer
        Defines the costs of columns.
    columns, costs
        A solution to begin with.
    step
        All costs of solutions are multiples of it; 0 if unknown.
    lower
        A lower bound that is known already.
    deadline
        When to stop.
    stop_at_best
        Whether to stop as soon as the best solution is proven to be optimal, even if the linear master is not solved.
    nodes
        The most nodes of each integer program.
    progress
        Progress callback.
    watch
        Is called with the master each time the linear program over its columns is solved.
    """

    def __init__(
        self,
        pricer: Pricer,
        columns: NDArray[np.int32],
        costs: NDArray[np.float64],
        *,
        step: float = 0.0,
        lower: float = 0.0,
        deadline: Deadline | None = None,
        stop_at_best: bool = True,
        nodes: int | None = None,
        progress: Progress = SILENT,
        watch: Callable[[Master], None] | None = None,
    ) -> None:
        self.pricer, self.step, self.progress = pricer, step, progress
        self.deadline = deadline or Deadline(None)
        self.stop_at_best, self.nodes, self.watch = stop_at_best, nodes, watch
        self.master = Master(pricer.demand)
        self.master.add(columns, costs)
        self.best, self.best_costs, self.upper = columns, costs, float(costs.sum())
        self.lower = lower
        self.linear = np.inf
        self.duals: Duals | None = None
        self.converged = False
        self.exhausted = False
        self.iterations = 0
        self.log: list[dict[str, Any]] = []
        self._anchor: Duals | None = None

    @property
    def bound(self) -> float:
        """A proven lower bound, rounded up to the next possible cost, and never above the best solution."""
        bound = self.lower
        if self.step:
            bound = np.ceil(bound / self.step - _TOLERANCE) * self.step
        return float(min(bound, self.upper))

    @property
    def solved(self) -> bool:
        """Whether the best solution is proven to be optimal."""
        return self.bound >= self.upper - _TOLERANCE * max(1.0, self.upper)

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do, or no time."""
        return (self.solved and self.stop_at_best) or self.deadline.expired()

    def offer(self, columns: NDArray[np.int32], costs: NDArray[np.float64]) -> bool:
        """Take a solution if it is better than the best; its columns join the master anyway."""
        self.master.add(columns, costs)
        if costs.sum() >= self.upper - _TOLERANCE:
            return False
        self.best, self.best_costs, self.upper = columns, costs, float(costs.sum())
        return True

    def solve(self, rebuild: Callable[[NDArray[np.float64]], Priced] | None = None) -> None:
        """Do all steps while there is time.

        ``rebuild`` may construct a solution from the dual values of the elements, once the linear master is solved.
        """
        self.generate(self.deadline.part(_SHARE_TO_GENERATE))
        if rebuild is not None and self.duals is not None and not self.done:
            built = rebuild(self.duals.elements)
            self.offer(built.columns, built.costs)
            self._note("construct")
        for step in (self.improve, self.cut, self.close):
            if not self.done and (self.converged or step == self.improve):
                step()

    def generate(self, deadline: Deadline | None = None) -> None:
        """Solve the linear master by column generation, until the optimum or the deadline."""
        deadline = deadline or self.deadline
        self.converged = False
        self.exhausted = False
        while not self.converged and not self.exhausted and not self.done and not deadline.expired():
            self.iterations += 1
            try:
                value, self.duals = self.master.solve(deadline)
            except TimeoutError:
                return
            if not len(self.master.cuts.divisors):
                self.linear = value
            if self.watch is not None:
                self.watch(self.master)
            if value <= self.lower + _TOLERANCE and self._anchor is not None:
                self.converged = True
            else:
                self.converged = self._price(self.duals, deadline)
            self._note("generate")

    def _price(self, duals: Duals, deadline: Deadline) -> bool:
        """Add columns that improve the master; return whether it is proven that there are none."""
        proven = False
        for trial in [duals] if self._anchor is None else [self._smoothed(duals), duals]:
            priced = self.pricer.price(trial, deadline)
            self._raise_bound(trial, priced)
            useful = duals.reduced_costs(priced.columns, priced.costs) < -1e-7
            if self.master.add(priced.columns[useful], priced.costs[useful]):
                return False
            proven = priced.proven
        self.exhausted = True
        return proven

    def _smoothed(self, duals: Duals) -> Duals:
        """Return dual values between those of the best bound and those of the master."""
        assert self._anchor is not None
        old = self._anchor
        new = len(duals.cuts.dual_values) - len(old.cuts.dual_values)
        of_cuts = np.concatenate([old.cuts.dual_values, np.zeros(new)])
        return Duals(
            _SMOOTHING * old.elements + (1 - _SMOOTHING) * duals.elements,
            duals.cuts._replace(dual_values=_SMOOTHING * of_cuts + (1 - _SMOOTHING) * duals.cuts.dual_values),
        )

    def _raise_bound(self, duals: Duals, priced: Priced) -> None:
        """Take the Lagrangian bound of exact pricing: at most n/k columns, none below the least reduced cost."""
        if not priced.proven:
            return
        most = int(self.pricer.demand.sum()) // self.pricer.k
        bound = duals.value(self.pricer.demand) + most * min(0.0, priced.least)
        if bound > self.lower or self._anchor is None:
            self._anchor = duals
            self.lower = max(self.lower, bound)

    def improve(self, most: int = _COLUMNS_TO_IMPROVE) -> None:
        """Solve the integer program over the columns of least reduced cost, in at most a quarter of the time left."""
        duals = self._anchor or self.duals
        if duals is None:
            return
        threshold = self._threshold(duals)
        for _ in range(12):
            near = self.pricer.below(duals, threshold, most, self.deadline)
            if near.proven or self.deadline.expired():
                break
            threshold /= 1.5
        self._note("improve", self._integer(near, self.deadline.left() / 4, more=not near.proven))

    def cut(self) -> None:
        """Add violated cuts and generate columns again, while that raises the bound."""
        before, idle = self.lower, 0
        for _ in range(_CUT_ROUNDS):
            self.master.solve()
            members, divisors = violated_cuts(
                self.master.columns, self.master.shares(), self.pricer.demand, (2, self.pricer.k)
            )
            if not len(divisors):
                break
            self.master.add_cuts(members, divisors)
            self.generate()
            idle = 0 if self.lower > before + 0.02 * (self.upper - before) else idle + 1
            before = self.lower
            if self.done or not self.converged or idle == 3:
                break

    def close(self, most: int = _COLUMNS_TO_CLOSE) -> None:
        """List every column that a better solution can use, and solve the integer program over them."""
        assert self._anchor is not None
        every = self.pricer.below(self._anchor, self._threshold(self._anchor), most, self.deadline)
        if not every.proven:
            self.improve(most // 10)
            return
        self._note("close", self._integer(every, self.deadline.left(), everything=True))

    def _threshold(self, duals: Duals) -> float:
        """Return the reduced cost that no column of a better solution reaches."""
        value = min(self.lower, duals.value(self.pricer.demand))
        return self.upper - value - self.step + _TOLERANCE

    def _integer(self, priced: Priced, time_limit: float, *, everything: bool = False, more: bool = False) -> int:
        """Solve the integer program over columns and the best solution; return how many columns there were.

        Where they are ``everything`` that a better solution can use, the bound is one of the whole problem. The other
        columns of the master only slow it down, unless some of least reduced cost are missing (``more``).
        """
        parts = [(self.best, self.best_costs), (priced.columns, priced.costs)]
        if more:
            parts.append((self.master.columns, self.master.costs))
        width = max(part.shape[1] for part, _ in parts)
        columns = np.sort(np.vstack([widened(part, width) for part, _ in parts]), axis=1)[:, ::-1]
        costs = np.concatenate([part for _, part in parts])
        small = (columns >= 0).sum(axis=1) < 2 * self.pricer.k
        small[: len(self.best)] = True
        columns, costs = columns[small], costs[small]
        columns, first, position = np.unique(columns, axis=0, return_index=True, return_inverse=True)
        costs, start = costs[first], position.reshape(-1)[: len(self.best)]
        chosen = solve_integer(self.pricer.demand, columns, costs, start=start, time_limit=time_limit, nodes=self.nodes)
        if chosen.columns is not None:
            self.offer(columns[chosen.columns], costs[chosen.columns])
        if everything:
            self.lower = max(self.lower, self.upper if chosen.complete else min(chosen.bound, self.upper))
        if chosen.interrupted:
            raise KeyboardInterrupt
        return len(costs)

    def _note(self, step: str, columns: int | None = None) -> None:
        """Add an entry to the log."""
        self.log.append(
            {
                "step": step,
                "seconds": round(self.deadline.elapsed(), 3),
                "columns": len(self.master) if columns is None else columns,
                "cuts": len(self.master.cuts.divisors),
                "linear": None if self.duals is None else round(self.duals.value(self.pricer.demand), 6),
                "bound": round(self.bound, 6),
                "best": round(self.upper, 6),
            }
        )
        self.progress.advance()
