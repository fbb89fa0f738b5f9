"""How good can it get? A lower bound on the squared error of every grouping, by column generation.

Choose groups so that each record is in one of them: a linear program with a column for each possible group, solved with
the few columns that matter, while ``pricing`` proves that no other one does. Cost 2023, section 2.7 and chapter 4, do
this for categories; here the cost is the squared error.

**The bound holds at every moment**, also if the search is stopped early. Let y be any worth of the records, and let
r_i <= 0 be such that no group with root i costs less than r_i beside its worth. Lower the worth of each record i to
y_i + r_i: then no group costs less than its records are worth, since it contains its root. A grouping contains each
record once, so it costs at least the sum of y_i + r_i. Each group has one root and there are at most n/k groups, so
that only the n/k lowest r_i need to be added. With cuts that every grouping obeys, their prices are subtracted as
often as a grouping may meet them.

**Cuts** (see ``separation``) say what no grouping can do but a fraction of one can.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.optimal.sse_pricing import Priced, Pricer
from shoal.methods.programs.grouping_cuts import violated
from shoal.methods.programs.restricted_master import Clock, Duals, Master

SMOOTHING = 0.7  # how much of the best worth so far is kept; less, once that finds nothing new
CLOSED = 1e-6  # the gap of the linear program at which it is called solved
WORK = 300_000  # nodes in all where there is no limit of time
SPEED = 200_000.0  # nodes a second, until it is measured
FEWEST = 50
CONTENDERS = 100  # groups per record that an integer program can choose among
QUICK = 2_000  # nodes below a root while the worth is still far off


class Relaxation:
    """The linear program over groups, which can be brought nearer to its end as long as time allows.

    Parameters
    ----------
    points
        n x d, centred.
    k
        The smallest group.
    columns, costs
        Groups to begin with, filled up with -1, and their squared errors; they must hold a grouping.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> start = Relaxation(points, 2, np.array([[0, 2, -1], [1, 3, -1]], np.int32), np.array([12.5, 12.5]))
    >>> start.solve(Clock(None))
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
        self.pricer = Pricer(points, k)
        self.master = Master(np.ones(self.n, np.int64))
        self.master.add(columns, costs)
        self.bound = 0.0  # a squared error is not negative
        self.value = np.inf
        self.log: list[tuple[float, float, float, int, int]] = []
        self.nodes = 0
        self.speed = SPEED
        self.best: Duals | None = None
        self._best_bound = -np.inf  # of the cuts there are now
        self._packed: list[NDArray[np.uint8]] = []  # the cuts there are, to know them again
        self._progress = progress

    def add(self, columns: NDArray[np.int32], costs: NDArray[np.float64]) -> int:
        """Add groups found elsewhere; return how many are new."""
        return self.master.add(columns, costs)

    def solve(self, clock: Clock, enough: float = np.inf) -> bool:
        """Generate columns until no group is missing, the bound reaches ``enough``, or the time is over."""
        smoothing, limit = SMOOTHING, QUICK
        while not clock.expired():
            try:
                self.value, duals = self.master.solve(clock)
            except TimeoutError:
                return False
            worth = self._smoothed(duals, smoothing)
            found = self._price(worth, clock, limit)
            bound = self._bound_of(worth, found.slack)
            if bound > self._best_bound or self.best is None:
                self._best_bound, self.best = bound, worth
            self.bound = max(self.bound, bound)
            new = self.master.add(found.columns, found.costs)
            self.log.append((clock.elapsed(), self.value, self.bound, len(self.master), len(self.master.cuts.divisors)))
            self._progress.advance(1)
            if self.value - self._best_bound <= CLOSED * self.value or self.bound >= enough:
                return self.value - self._best_bound <= CLOSED * self.value
            if not np.isfinite(clock.seconds) and self.nodes > WORK:
                return False
            if new == 0:
                if smoothing == 0.0 and limit >= 100 * QUICK:
                    return False
                limit = min(10 * limit, 100 * QUICK)
                smoothing = smoothing / 2 if smoothing > 0.1 else 0.0
        return False

    def _price(self, worth: Duals, clock: Clock, limit: int) -> Priced:
        """Price groups, looking at so many nodes as a share of the time, or of the work without a clock, allows."""
        timed = np.isfinite(clock.seconds)
        spare = 0.25 * clock.left() * self.speed if timed else float(WORK - self.nodes)
        before = clock.elapsed()
        found = self.pricer.price(worth, limit=int(min(limit, max(spare / self.n, FEWEST))))
        self.nodes += found.nodes
        if timed and found.nodes > 100 * self.n:
            self.speed = found.nodes / max(clock.elapsed() - before, 1e-3)
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
            if self.best is not None:  # still a valid worth: new cuts cost nothing yet
                prices = np.append(self.best.cuts.prices, np.zeros(len(new)))
                self.best = Duals(self.best.elements, self.master.cuts._replace(prices=prices))
        return len(new)

    def promising(self, cost: float) -> NDArray[np.int64]:
        """Return the columns that a grouping cheaper than ``cost`` can contain.

        In a grouping of that cost the reduced costs add up to less than ``cost`` minus the bound of the same worth, and
        only groups whose root has a slack may lower that sum.
        """
        if self.best is None:
            return np.arange(len(self.master))
        reduced = self.best.reduced_costs(self.master.columns, self.master.costs)
        return np.flatnonzero(reduced <= max(cost - self._best_bound, 0.0) * (1 + 1e-9) + 1e-12)

    def contenders(self, cost: float) -> NDArray[np.int32] | None:
        """Return every group that a grouping cheaper than ``cost`` can contain (see ``promising``); None: too many."""
        if self.best is None:
            return None
        room = max(cost - self._best_bound, 0.0) * (1 + 1e-9) + 1e-12
        found = self.pricer.all_below(self.best, room, keep=CONTENDERS, limit=100 * CONTENDERS)
        return None if found is None or len(found) > CONTENDERS * self.n else found

    def _smoothed(self, duals: Duals, smoothing: float) -> Duals:
        if self.best is None or smoothing == 0.0:
            return duals
        elements = smoothing * self.best.elements + (1 - smoothing) * duals.elements
        prices = smoothing * self.best.cuts.prices + (1 - smoothing) * duals.cuts.prices
        return Duals(elements, duals.cuts._replace(prices=prices))

    def _bound_of(self, worth: Duals, slack: NDArray[np.float64]) -> float:
        lowest = np.sort(np.minimum(slack, 0.0))[: self.n // self.k].sum()
        rounding = 1e-11 * float(np.abs(worth.elements).sum() + worth.cuts.prices.sum())
        return worth.worth(self.master.demand) + float(lowest) - rounding
