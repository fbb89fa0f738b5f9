"""The restricted master of column generation: a set-partitioning program on HiGHS that grows column by column.

min sum of cost x, such that each element is covered as often as it occurs, x >= 0 (integers in the end). A column is a
group of elements with a cost of any kind. Cost 2023, section 4.3, equations (4.3.1) to (4.3.3), with equal rows joined
to one row with a demand. The dual values are free in sign, since the rows are equations. HiGHS is imported when the
first program is built.
"""

from __future__ import annotations

from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.methods.programs.highs import load_highspy, new_highs


class Cuts(NamedTuple):
    """Rank-1 cuts: a set of elements with demand D lets the columns hold at most floor(D / divisor) times ``divisor``.

    ``dual_values`` are not negative: the reduced cost of a column is higher by the dual value of a cut for each
    ``divisor`` elements of its set that the column holds.
    """

    members: NDArray[np.bool_]
    divisors: NDArray[np.int64]
    dual_values: NDArray[np.float64]


def no_cuts(n: int) -> Cuts:
    """Return no cuts, for n elements."""
    return Cuts(np.zeros((0, n), bool), np.zeros(0, np.int64), np.zeros(0))


class Duals(NamedTuple):
    """A dual solution: the dual values of the elements, and the cuts with theirs."""

    elements: NDArray[np.float64]
    cuts: Cuts

    def value(self, demand: NDArray[np.int64]) -> float:
        """Return the value of the dual solution: a lower bound if no column has a negative reduced cost."""
        allowed = (self.cuts.members @ demand) // np.maximum(self.cuts.divisors, 1)
        return float(self.elements @ demand - self.cuts.dual_values @ allowed)

    def reduced_costs(self, columns: NDArray[np.int32], costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cost of each column minus the dual values of its elements, plus those of the cuts it meets."""
        reduced = costs - np.append(self.elements, 0.0)[columns].sum(axis=1)
        active = np.flatnonzero(self.cuts.dual_values > 0.0)
        for inside, divisor, dual_value in zip(*(part[active] for part in self.cuts), strict=True):
            reduced += dual_value * (np.append(inside, False)[columns].sum(axis=1) // divisor)
        return reduced


class Chosen(NamedTuple):
    """What an integer program over columns found.

    ``columns``: the numbers of the columns taken, one taken twice appears twice, or None if nothing was found;
    ``bound``: no choice among these columns costs less (infinite if there is none); ``complete``: solved to the end;
    ``interrupted``: stopped from the keyboard.
    """

    columns: NDArray[np.int64] | None
    bound: float
    complete: bool
    interrupted: bool


class Master:
    """A set-partitioning program over the columns seen so far.

    Parameters
    ----------
    demand
        How often each element is to be covered.

    Examples
    --------
    >>> master = Master(np.array([1, 1, 2]))
    >>> master.add(np.array([[0, 2, -1], [1, 2, -1], [0, 1, 2], [2, 2, -1]], np.int32), np.array([1.0, 1.0, 3.0, 5.0]))
    4
    >>> value, duals = master.solve()
    >>> round(value, 6), round(duals.value(master.demand), 6)
    (2.0, 2.0)
    """

    def __init__(self, demand: NDArray[np.int64]) -> None:
        self.demand = demand
        self.cuts = no_cuts(demand.size)
        self._columns: list[NDArray[np.int32]] = []
        self._costs: list[NDArray[np.float64]] = []
        self._known: set[bytes] = set()
        self._highs = quiet_highs()
        self._highs.setOptionValue("presolve", "off")  # the basis of the last solution is the start of the next
        bounds = demand.astype(np.float64)
        nothing = np.zeros(0, np.int32)
        self._highs.addRows(demand.size, bounds, bounds, 0, np.zeros(demand.size, np.int32), nothing, np.zeros(0))

    def __len__(self) -> int:
        return len(self._known)

    def add(self, columns: NDArray[np.int32], costs: NDArray[np.float64]) -> int:
        """Add columns that are not there yet; each lists its elements, repeated ones repeated, filled up with -1.

        Returns how many were new.
        """
        new = []
        for number, column in enumerate(np.sort(columns, axis=1)):
            key = column[column >= 0].tobytes()
            if key not in self._known:
                self._known.add(key)
                new.append(number)
        if new:
            self._columns.append(columns[new])
            self._costs.append(costs[new].astype(np.float64))
            starts, elements, times = sparse(columns[new], self.demand.size, self.cuts)
            count = len(new)
            self._highs.addCols(
                count, self._costs[-1], np.zeros(count), np.full(count, np.inf), elements.size, starts[:-1], elements,
                times,
            )  # fmt: skip
        return len(new)

    def add_cuts(self, members: NDArray[np.bool_], divisors: NDArray[np.int64]) -> None:
        """Add rank-1 cuts."""
        columns = self.columns
        for inside, divisor in zip(members, divisors.tolist(), strict=True):
            times = (np.append(inside, False)[columns].sum(axis=1) // divisor).astype(np.float64)
            used = np.flatnonzero(times)
            allowed = float(int(self.demand[inside].sum()) // divisor)
            self._highs.addRow(-np.inf, allowed, used.size, used.astype(np.int32), times[used])
        self.cuts = Cuts(
            np.vstack([self.cuts.members, members]),
            np.concatenate([self.cuts.divisors, divisors]),
            np.concatenate([self.cuts.dual_values, np.zeros(len(divisors))]),
        )

    @property
    def columns(self) -> NDArray[np.int32]:
        """All columns, one per line, filled up with -1."""
        width = max(part.shape[1] for part in self._columns)
        return np.vstack([widened(part, width) for part in self._columns])

    @property
    def costs(self) -> NDArray[np.float64]:
        """The costs of all columns."""
        return np.concatenate(self._costs)

    def solve(self, deadline: Deadline | None = None) -> tuple[float, Duals]:
        """Solve the linear program; return its value and its dual solution.

        Raises TimeoutError when the deadline expires, or when HiGHS fails even if it begins anew, which can happen with
        numbers of very different sizes.
        """
        if deadline is not None and deadline.limited:
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(deadline.left(), 0.01))
        self._highs.run()
        if self._highs.getModelStatus().name not in {"kOptimal", "kTimeLimit"}:
            self._highs.clearSolver()
            self._highs.run()
        status = self._highs.getModelStatus().name
        if status == "kInfeasible":
            raise RuntimeError("the columns of the restricted master cannot cover every element")
        if status != "kOptimal":
            raise TimeoutError(status)
        duals = np.array(self._highs.getSolution().row_dual)
        n = self.demand.size
        cuts = self.cuts._replace(dual_values=np.maximum(-duals[n:], 0.0))
        return float(self._highs.getInfo().objective_function_value), Duals(duals[:n], cuts)

    def shares(self) -> NDArray[np.float64]:
        """Return how much of each column the last linear solution takes."""
        return np.array(self._highs.getSolution().col_value)


def solve_integer(
    demand: NDArray[np.int64],
    columns: NDArray[np.int32],
    costs: NDArray[np.float64],
    *,
    start: NDArray[np.int64] | None = None,
    time_limit: float = np.inf,
    nodes: int | None = None,
) -> Chosen:
    """Solve a set-partitioning program over given columns in integers.

    Parameters
    ----------
    demand
        How often each element is to be covered.
    columns
        Elements of each column, filled up with -1.
    costs
        Their costs.
    start
        Numbers of columns that form a solution to begin with.
    time_limit
        Seconds; where they end the search, the result depends on the machine.
    nodes
        The most nodes of the search tree.

    Examples
    --------
    >>> columns = np.array([[0, 1, -1], [2, 3, -1], [0, 2, -1], [1, 3, -1], [0, 1, 2]], np.int32)
    >>> solve_integer(np.array([1, 1, 1, 1]), columns, np.array([1.0, 1.0, 3.0, 0.0, 0.0])).columns.tolist()
    [0, 1]
    """
    highspy = load_highspy()
    count = len(costs)
    starts, elements, times = sparse(columns, demand.size, no_cuts(demand.size))
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = count, demand.size
    program.col_cost_ = costs.astype(np.float64)
    program.col_lower_, program.col_upper_ = np.zeros(count), np.full(count, float(demand.max()))
    program.row_lower_ = program.row_upper_ = demand.astype(np.float64)
    program.integrality_ = [highspy.HighsVarType.kInteger] * count
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.num_col_, program.a_matrix_.num_row_ = count, demand.size
    program.a_matrix_.start_, program.a_matrix_.index_, program.a_matrix_.value_ = starts, elements, times
    highs = quiet_highs()
    if np.isfinite(time_limit):
        highs.setOptionValue("time_limit", max(float(time_limit), 0.01))
    if nodes is not None:
        highs.setOptionValue("mip_max_nodes", nodes)
    highs.passModel(program)
    if start is not None:
        known = highspy.HighsSolution()
        known.col_value = np.bincount(start, minlength=count).astype(np.float64).tolist()
        highs.setSolution(known)
    interrupted = run_interruptibly(highs)
    status, info = highs.getModelStatus().name, highs.getInfo()
    if status == "kInfeasible":
        return Chosen(None, np.inf, True, interrupted)
    if int(info.primal_solution_status) != 2:
        return Chosen(None, -np.inf, False, interrupted)
    taken = np.rint(np.array(highs.getSolution().col_value)).astype(np.int64)
    return Chosen(np.repeat(np.arange(count), taken), float(info.mip_dual_bound), status == "kOptimal", interrupted)


def quiet_highs() -> Any:
    """Return a HiGHS that solves integer programs to the end, on one thread, so that its solutions repeat."""
    return new_highs(parallel="off", random_seed=0, mip_rel_gap=0.0, mip_abs_gap=1e-6)


def run_interruptibly(highs: Any) -> bool:
    """Run HiGHS so that the keyboard can stop it with its best solution kept; return whether it did."""
    highs.HandleUserInterrupt = True
    worker = Thread(target=highs.run, daemon=True)
    worker.start()
    interrupted = False
    while worker.is_alive():
        try:
            worker.join(1.0)
        except KeyboardInterrupt:
            interrupted = True
            highs.cancelSolve()
    return interrupted


def sparse(
    columns: NDArray[np.int32], n: int, cuts: Cuts
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the columns in the format of HiGHS: where each starts, the rows it enters, and how often."""
    line, position = np.nonzero(columns >= 0)
    keys, times = np.unique(line * (n + len(cuts.divisors)) + columns[line, position], return_counts=True)
    for number, (inside, divisor) in enumerate(zip(cuts.members, cuts.divisors.tolist(), strict=True)):
        entries = np.append(inside, False)[columns].sum(axis=1) // divisor
        used = np.flatnonzero(entries)
        keys = np.concatenate([keys, used * (n + len(cuts.divisors)) + n + number])
        times = np.concatenate([times, entries[used]])
    order = np.argsort(keys)
    line, rows = np.divmod(keys[order], n + len(cuts.divisors))
    starts = np.searchsorted(line, np.arange(len(columns) + 1))
    return starts.astype(np.int32), rows.astype(np.int32), times[order].astype(np.float64)


def widened(columns: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    """Return columns with -1 added up to a width.

    Examples
    --------
    >>> widened(np.array([[0, 1]], np.int32), 3).tolist()
    [[0, 1, -1]]
    """
    return np.pad(columns, ((0, 0), (0, width - columns.shape[1])), constant_values=-1)
