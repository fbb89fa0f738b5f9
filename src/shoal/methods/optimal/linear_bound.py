"""A lower bound on the squared error of every grouping, by column generation.

Choose groups so that each record is in one of them: a linear program with a column for each possible group, solved with
the few columns that matter, while ``sse_pricing`` proves that no other one does. Cost 2023, section 2.7 and chapter 4,
does this for categories; here the cost is the squared error.

**The bound is valid at any time**, also if the search is stopped early. Let y be any dual values of the records, and
let r_i <= 0 be a lower bound on the reduced costs of the groups with root i. Lower the dual value of each record i to
y_i + r_i: then no group has a negative reduced cost, since it contains its root. A grouping contains each record once,
so it costs at least the sum of y_i + r_i. Each group has one root and there are at most n/k groups, so that only the
n/k lowest r_i need to be added. The dual values of cuts that every grouping satisfies are subtracted as often as a
grouping may meet them.

**Cuts** (see ``grouping_cuts``) are inequalities that every grouping satisfies and a fractional solution violates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.methods.optimal.sse_pricing import PricedGroups, SsePricer
from shoal.methods.programs.grouping_cuts import violated
from shoal.methods.programs.restricted_master import Duals, Master

SMOOTHING = 0.7  # share of the dual values of the best bound so far; less, once that finds nothing new
SOLVED_GAP = 1e-6  # the gap of the linear program at which it counts as solved
ALL_NODES = 300_000  # of all searches together without a time limit
NODES_PER_SECOND = 200_000.0  # until it is measured
FEWEST_NODES = 50  # below a root
CONTENDERS = 100  # groups per record that an integer program can choose among
FIRST_NODES = 2_000  # below a root while the dual values are far from the optimum


class GroupRelaxation:
    """The linear program over groups, which is solved as far as time allows.

    Parameters
    ----------
    points
        n x d, centred.
    k
        Minimum group size.
    columns, costs
        Groups to begin with, filled up with -1, and their squared errors; they must hold a grouping.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> start = GroupRelaxation(points, 2, np.array([[0, 2, -1], [1, 3, -1]], np.int32), np.array([12.5, 12.5]))
    >>> start.solve(Deadline(None))
    True
    >>> round(start.bound, 6)
    1.0
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        columns: NDArray[np.int32],
        costs: NDArray[np.float64],
        progress: Progress = SILENT,
    ) -> None:
        self.k = k
        self.n = points.shape[0]
        self.pricer = SsePricer(points, k)
        self.master = Master(np.ones(self.n, np.int64))
        self.master.add(columns, costs)
        self.bound = 0.0  # a squared error is not negative
        self.value = np.inf
        self.log: list[tuple[float, float, float, int, int]] = []
        self.nodes = 0
        self.speed = NODES_PER_SECOND
        self.best: Duals | None = None
        self._best_bound = -np.inf  # with the present cuts
        self._packed: list[NDArray[np.uint8]] = []  # the present cuts, to recognise them
        self._progress = progress

    def add(self, columns: NDArray[np.int32], costs: NDArray[np.float64]) -> int:
        """Add groups found elsewhere; return how many are new."""
        return self.master.add(columns, costs)

    def solve(self, deadline: Deadline, enough: float = np.inf) -> bool:
        """Generate columns until no group is missing, the bound reaches ``enough``, or the deadline expires."""
        smoothing, limit = SMOOTHING, FIRST_NODES
        while not deadline.expired():
            try:
                self.value, duals = self.master.solve(deadline)
            except TimeoutError:
                return False
            trial = self._smoothed(duals, smoothing)
            found = self._price(trial, deadline, limit)
            bound = self._bound_of(trial, found.slack)
            if bound > self._best_bound or self.best is None:
                self._best_bound, self.best = bound, trial
            self.bound = max(self.bound, bound)
            new = self.master.add(found.columns, found.costs)
            self.log.append(
                (deadline.elapsed(), self.value, self.bound, len(self.master), len(self.master.cuts.divisors))
            )
            self._progress.advance(1)
            if self.value - self._best_bound <= SOLVED_GAP * self.value or self.bound >= enough:
                return self.value - self._best_bound <= SOLVED_GAP * self.value
            if not deadline.limited and self.nodes > ALL_NODES:
                return False
            if new == 0:
                if smoothing == 0.0 and limit >= 100 * FIRST_NODES:
                    return False
                limit = min(10 * limit, 100 * FIRST_NODES)
                smoothing = smoothing / 2 if smoothing > 0.1 else 0.0
        return False

    def _price(self, duals: Duals, deadline: Deadline, limit: int) -> PricedGroups:
        """Price groups with as many nodes as a share of the time left, or of the nodes left without a limit, allows."""
        timed = deadline.limited
        spare = 0.25 * deadline.left() * self.speed if timed else float(ALL_NODES - self.nodes)
        before = deadline.elapsed()
        found = self.pricer.price(duals, limit=int(min(limit, max(spare / self.n, FEWEST_NODES))))
        self.nodes += found.nodes
        if timed and found.nodes > 100 * self.n:
            self.speed = found.nodes / max(deadline.elapsed() - before, 1e-3)
        return found

    def cut(self) -> int:
        """Add cuts that the last solution violates; return how many."""
        known = {
            (d, inside.tobytes()) for d, inside in zip(self.master.cuts.divisors.tolist(), self._packed, strict=True)
        }
        found = violated(self.n, self.k, self.master.columns, self.master.shares())
        members = np.zeros((len(found), self.n), bool)
        for line, cut in zip(members, found, strict=True):
            line[list(cut.records)] = True
        packed = np.packbits(members, axis=1)
        new = [q for q, cut in enumerate(found) if (cut.divisor, packed[q].tobytes()) not in known]
        if new:
            self._packed += list(packed[new])
            self.master.add_cuts(members[new], np.array([found[q].divisor for q in new]))
            if self.best is not None:  # still valid dual values: those of new cuts are 0
                dual_values = np.append(self.best.cuts.dual_values, np.zeros(len(new)))
                self.best = Duals(self.best.elements, self.master.cuts._replace(dual_values=dual_values))
        return len(new)

    def promising(self, cost: float) -> NDArray[np.int64]:
        """Return the columns that a grouping cheaper than ``cost`` can contain.

        In a grouping of that cost the reduced costs add up to less than ``cost`` minus the bound of the same dual
        values, and only groups whose root has a slack may lower that sum.
        """
        if self.best is None:
            return np.arange(len(self.master))
        reduced = self.best.reduced_costs(self.master.columns, self.master.costs)
        return np.flatnonzero(reduced <= max(cost - self._best_bound, 0.0) * (1 + 1e-9) + 1e-12)

    def contenders(self, cost: float) -> NDArray[np.int32] | None:
        """Return all groups that a grouping cheaper than ``cost`` can contain (see ``promising``); None: too many."""
        if self.best is None:
            return None
        ceiling = max(cost - self._best_bound, 0.0) * (1 + 1e-9) + 1e-12
        found = self.pricer.all_below(self.best, ceiling, keep=CONTENDERS, limit=100 * CONTENDERS)
        return None if found is None or len(found) > CONTENDERS * self.n else found

    def _smoothed(self, duals: Duals, smoothing: float) -> Duals:
        if self.best is None or smoothing == 0.0:
            return duals
        elements = smoothing * self.best.elements + (1 - smoothing) * duals.elements
        of_cuts = smoothing * self.best.cuts.dual_values + (1 - smoothing) * duals.cuts.dual_values
        return Duals(elements, duals.cuts._replace(dual_values=of_cuts))

    def _bound_of(self, duals: Duals, slack: NDArray[np.float64]) -> float:
        lowest = np.sort(np.minimum(slack, 0.0))[: self.n // self.k].sum()
        rounding = 1e-11 * float(np.abs(duals.elements).sum() + duals.cuts.dual_values.sum())
        return duals.value(self.master.demand) + float(lowest) - rounding
