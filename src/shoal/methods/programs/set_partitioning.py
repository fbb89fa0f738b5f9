"""Column generation for set partitioning, with a proven gap: whatever a column costs.

A *pricer* knows the costs: it finds columns that are cheaper than their elements are worth. The steps (Cost 2023,
sections 4.3 and 4.4, then beyond):

1. ``generate``: the linear master, with smoothed duals (Wentges 1997) and a valid Lagrangian bound from each exact
   pricing;
2. ``improve``: the integer program over the columns that lie closest to the duals;
3. ``cut``: subset-row cuts raise the bound, priced exactly;
4. ``close``: every column that a better solution could use has a reduced cost below the gap (Baldacci, Christofides and
   Mingozzi 2008); all of them are listed and one integer program over them ends the search.

Each step stops when the clock does, and the best solution and bound so far always stand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.programs.rank1_cuts import violated_cuts
from shoal.methods.programs.restricted_master import Clock, Duals, Master, solve_integer, widened

_TOLERANCE = 1e-6
_SMOOTHING = 0.5
_SHARE_TO_GENERATE = 0.6
_ROOM_TO_IMPROVE = 3_000
_ROOM_TO_CLOSE = 100_000
_CUT_ROUNDS = 30


class Priced(NamedTuple):
    """Columns from pricing: their elements, their costs, the least reduced cost, and whether that is proven."""

    columns: NDArray[np.int32]
    costs: NDArray[np.float64]
    least: float
    proven: bool


class Pricer(Protocol):
    """Who knows what columns cost; ``k`` is the fewest elements of a column."""

    demand: NDArray[np.int64]
    k: int

    def price(self, duals: Duals, clock: Clock) -> Priced:
        """Return columns with negative reduced cost; none if there are none."""

    def below(self, duals: Duals, threshold: float, room: int, clock: Clock) -> Priced:
        """Return all columns with a reduced cost below the threshold; not proven if there are more than ``room``."""


class Partitioning:
    """A set-partitioning problem being solved: the best solution, the best bound, and the log of how they came.

    Parameters
    ----------
    pricer
        Who knows what columns cost.
    columns, costs
        A solution to begin with.
    step
        All costs of solutions are multiples of it; 0 if unknown.
    lower
        A lower bound that is known already.
    clock
        Ends the work.
    stop_at_best
        Whether to stop as soon as the best solution is proven to be optimal, even if the linear master is not solved.
    nodes
        The most nodes of each integer program.
    progress
        Hears about each step.
    watch
        Is shown the master each time the linear program over its columns is solved.
    """

    def __init__(
        self,
        pricer: Pricer,
        columns: NDArray[np.int32],
        costs: NDArray[np.float64],
        *,
        step: float = 0.0,
        lower: float = 0.0,
        clock: Clock | None = None,
        stop_at_best: bool = True,
        nodes: int | None = None,
        progress: Progress = SILENT,
        watch: Callable[[Master], None] | None = None,
    ) -> None:
        self.pricer, self.step, self.clock, self.progress = pricer, step, clock or Clock(None), progress
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
        return (self.solved and self.stop_at_best) or self.clock.expired()

    def offer(self, columns: NDArray[np.int32], costs: NDArray[np.float64]) -> bool:
        """Take a solution if it is better than the best; its columns join the master anyway."""
        self.master.add(columns, costs)
        if costs.sum() >= self.upper - _TOLERANCE:
            return False
        self.best, self.best_costs, self.upper = columns, costs, float(costs.sum())
        return True

    def solve(self, rebuild: Callable[[NDArray[np.float64]], Priced] | None = None) -> None:
        """Do all steps while there is time.

        ``rebuild`` may construct a solution from the duals of the elements, once the linear master is solved.
        """
        self.generate(self.clock.part(_SHARE_TO_GENERATE))
        if rebuild is not None and self.duals is not None and not self.done:
            built = rebuild(self.duals.elements)
            self.offer(built.columns, built.costs)
            self._note("construct")
        for step in (self.improve, self.cut, self.close):
            if not self.done and (self.converged or step == self.improve):
                step()

    def generate(self, clock: Clock | None = None) -> None:
        """Solve the linear master by column generation, until the optimum or the end of the clock."""
        clock = clock or self.clock
        self.converged = False
        self.exhausted = False
        while not self.converged and not self.exhausted and not self.done and not clock.expired():
            self.iterations += 1
            try:
                value, self.duals = self.master.solve(clock)
            except TimeoutError:
                return
            if not len(self.master.cuts.divisors):
                self.linear = value
            if self.watch is not None:
                self.watch(self.master)
            if value <= self.lower + _TOLERANCE and self._anchor is not None:
                self.converged = True
            else:
                self.converged = self._price(self.duals, clock)
            self._note("generate")

    def _price(self, duals: Duals, clock: Clock) -> bool:
        """Add columns that improve the master; returns whether it is proven that there are none."""
        proven = False
        for trial in [duals] if self._anchor is None else [self._smoothed(duals), duals]:
            priced = self.pricer.price(trial, clock)
            self._raise_bound(trial, priced)
            useful = duals.reduced_costs(priced.columns, priced.costs) < -1e-7
            if self.master.add(priced.columns[useful], priced.costs[useful]):
                return False
            proven = priced.proven
        self.exhausted = True
        return proven

    def _smoothed(self, duals: Duals) -> Duals:
        """Return duals between those of the best bound and those of the master."""
        assert self._anchor is not None
        old = self._anchor
        prices = np.concatenate([old.cuts.prices, np.zeros(len(duals.cuts.prices) - len(old.cuts.prices))])
        return Duals(
            _SMOOTHING * old.elements + (1 - _SMOOTHING) * duals.elements,
            duals.cuts._replace(prices=_SMOOTHING * prices + (1 - _SMOOTHING) * duals.cuts.prices),
        )

    def _raise_bound(self, duals: Duals, priced: Priced) -> None:
        """Take the Lagrangian bound of exact pricing: at most n/k columns, none below the least reduced cost."""
        if not priced.proven:
            return
        most = int(self.pricer.demand.sum()) // self.pricer.k
        bound = duals.worth(self.pricer.demand) + most * min(0.0, priced.least)
        if bound > self.lower or self._anchor is None:
            self._anchor = duals
            self.lower = max(self.lower, bound)

    def improve(self, room: int = _ROOM_TO_IMPROVE) -> None:
        """Solve the integer program over the columns closest to the duals, for at most a quarter of the time left."""
        duals = self._anchor or self.duals
        if duals is None:
            return
        threshold = self._threshold(duals)
        for _ in range(12):
            near = self.pricer.below(duals, threshold, room, self.clock)
            if near.proven or self.clock.expired():
                break
            threshold /= 1.5
        self._note("improve", self._integer(near, self.clock.left() / 4, more=not near.proven))

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

    def close(self, room: int = _ROOM_TO_CLOSE) -> None:
        """List every column that a better solution can use, and solve the integer program over them."""
        assert self._anchor is not None
        every = self.pricer.below(self._anchor, self._threshold(self._anchor), room, self.clock)
        if not every.proven:
            self.improve(room // 10)
            return
        self._note("close", self._integer(every, self.clock.left(), everything=True))

    def _threshold(self, duals: Duals) -> float:
        """Return the reduced cost that no column of a better solution reaches."""
        worth = min(self.lower, duals.worth(self.pricer.demand))
        return self.upper - worth - self.step + _TOLERANCE

    def _integer(self, priced: Priced, seconds: float, *, everything: bool = False, more: bool = False) -> int:
        """Solve the integer program over columns and the best solution; returns how many columns there were.

        Where they are ``everything`` that a better solution can use, the bound is one of the whole problem. The other
        columns of the master only slow it down, unless some of the nearest are missing (``more``).
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
        columns, first, place = np.unique(columns, axis=0, return_index=True, return_inverse=True)
        costs, start = costs[first], place.reshape(-1)[: len(self.best)]
        chosen = solve_integer(self.pricer.demand, columns, costs, start=start, time_limit=seconds, nodes=self.nodes)
        if chosen.columns is not None:
            self.offer(columns[chosen.columns], costs[chosen.columns])
        if everything:
            self.lower = max(self.lower, self.upper if chosen.complete else min(chosen.bound, self.upper))
        if chosen.interrupted:
            raise KeyboardInterrupt
        return len(costs)

    def _note(self, step: str, columns: int | None = None) -> None:
        """Write a line into the log."""
        self.log.append(
            {
                "step": step,
                "seconds": round(self.clock.elapsed(), 3),
                "columns": len(self.master) if columns is None else columns,
                "cuts": len(self.master.cuts.divisors),
                "linear": None if self.duals is None else round(self.duals.worth(self.pricer.demand), 6),
                "bound": round(self.bound, 6),
                "best": round(self.upper, 6),
            }
        )
        self.progress.advance()
