"""Mixed-integer linear programs on HiGHS: a known solution to begin from, a time limit, and always a bound.

min cost x, such that lower <= A x <= upper, x within its bounds, some x integers. A solution that is known is the start
of the search, so that there is a solution whenever the time limit ends it. One thread and no randomness: the same
program has the same solution, unless the time limit ends the search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.programs.highs import load_highspy, new_highs

_SETTINGS: dict[str, Any] = {"parallel": "off", "random_seed": 0, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-7}


@dataclass(frozen=True)
class Solved:
    """What the solver found.

    Parameters
    ----------
    x
        The best solution; None if none was found.
    value
        Its cost; infinite if none was found.
    bound
        No solution costs less.
    optimal
        Whether the program was solved to the end; without a solution: whether none exists.
    """

    x: NDArray[np.float64] | None
    value: float
    bound: float
    optimal: bool


@dataclass
class Program:
    """A program that is built row by row.

    Examples
    --------
    >>> program = Program()
    >>> x = program.variables(2, cost=[-1.0, -1.0], upper=3.0, whole=True)
    >>> program.row([x, x + 1], [2.0, 2.0], upper=7.0)
    >>> program.solve().value
    -3.0
    """

    _cost: list[float] = field(default_factory=list)
    _lower: list[float] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)
    _whole: list[bool] = field(default_factory=list)
    _row_lower: list[float] = field(default_factory=list)
    _row_upper: list[float] = field(default_factory=list)
    _index: list[NDArray[np.int64]] = field(default_factory=list)
    _factor: list[NDArray[np.float64]] = field(default_factory=list)

    def variables(
        self, count: int, *, cost: Any = 0.0, lower: Any = 0.0, upper: Any = np.inf, whole: bool = False
    ) -> int:
        """Add variables; return the index of the first."""
        first = len(self._cost)
        for target, given in ((self._cost, cost), (self._lower, lower), (self._upper, upper)):
            target.extend(np.broadcast_to(np.asarray(given, np.float64), count).tolist())
        self._whole.extend([whole] * count)
        return first

    def add_cost(self, index: int, cost: float) -> None:
        """Add to the cost of a variable."""
        self._cost[index] += cost

    def row(self, index: Any, factor: Any, *, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add lower <= sum of factor x[index] <= upper."""
        self._index.append(np.asarray(index, np.int64))
        self._factor.append(np.asarray(factor, np.float64))
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def solve(
        self, *, start: NDArray[np.float64] | None = None, time_limit: float | None = None, nodes: int | None = None
    ) -> Solved:
        """Return the best solution that is found within the time or the nodes, and what is proven about it.

        A limit of nodes of the search tree ends at the same solution on every machine.
        """
        highspy = load_highspy()
        solver = new_highs(**_SETTINGS)
        if time_limit is not None:
            solver.setOptionValue("time_limit", max(float(time_limit), 0.01))
        if nodes is not None:
            solver.setOptionValue("mip_max_nodes", int(nodes))
        solver.passModel(self._model(highspy))
        if start is not None:
            known = highspy.HighsSolution()
            known.col_value = start.tolist()
            solver.setSolution(known)
        solver.run()
        return self._read(highspy, solver)

    def _model(self, highspy: Any) -> Any:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self._cost), len(self._row_lower)
        model.col_cost_ = np.array(self._cost)
        model.col_lower_, model.col_upper_ = np.array(self._lower), np.array(self._upper)
        model.row_lower_, model.row_upper_ = np.array(self._row_lower), np.array(self._row_upper)
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self._whole]
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.num_col_, matrix.num_row_ = model.num_col_, model.num_row_
        lengths = [index.size for index in self._index]
        matrix.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        matrix.index_ = np.concatenate([*self._index, np.empty(0, np.int64)]).astype(np.int32)
        matrix.value_ = np.concatenate([*self._factor, np.empty(0)])
        return model

    def _read(self, highspy: Any, solver: Any) -> Solved:
        info, status = solver.getInfo(), solver.getModelStatus()
        optimal = status == highspy.HighsModelStatus.kOptimal
        infeasible = status in {
            highspy.HighsModelStatus.kInfeasible,
            highspy.HighsModelStatus.kUnboundedOrInfeasible,
        }
        if int(info.primal_solution_status) != 2:
            return Solved(None, np.inf, np.inf if infeasible else -np.inf, infeasible)
        x = np.array(solver.getSolution().col_value)
        whole = np.array(self._whole, bool)
        x[whole] = np.rint(x[whole])
        value = float(np.dot(self._cost, x))
        bound = value if optimal else float(info.mip_dual_bound)
        return Solved(x, value, min(bound, value), optimal)
