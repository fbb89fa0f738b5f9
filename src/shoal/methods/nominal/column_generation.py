"""column-generation: groups of nominal records of least within-group distance, with a proven bound.

Cost 2023, chapter 4: groups of k to 2k-1 records whose pairwise Hamming distances have the least sum (P4). Equal rows
are joined first, which changes no optimum and removes the symmetry between them. The linear master with exact pricing
gives a bound, the integer program over the columns of small reduced cost gives groups; cuts and, at the end, the list
of all columns within the gap close it. A few hundred distinct rows are solved to proven optimality in seconds for
k = 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes, checked_column_weights, collapse, distance_step, hamming
from shoal.errors import DataError
from shoal.methods.contract import Diagnostic, Objective, Outcome, Stopped
from shoal.methods.nominal.distinct_rows import (
    OBJECTIVE,
    Problem,
    build_columns,
    nearest_duals,
    record_labels,
    simple_bound,
    start_columns,
)
from shoal.methods.nominal.hamming_annealing import annealed
from shoal.methods.nominal.hamming_pricing import NominalPricer, column_costs, enumerated_group, greedy_groups
from shoal.methods.nominal.hamming_pricing_search import SEARCH_STEPS, search_groups
from shoal.methods.nominal.integer_construction import DEFAULT, construct
from shoal.methods.options import Range
from shoal.methods.programs.restricted_master import Master
from shoal.methods.programs.set_partitioning import Partitioning, Priced
from shoal.methods.registry import method

Fractional = Literal["optimal", "heuristic"]
Construction = Literal["best", "exact", "greedy"]
MOST_DISTINCT = 5_000
_STEPS_IN_BLOCK = 20_000_000
_NODES_IN_BLOCK = 10
_COLUMNS_IN_BLOCK = 500


@method(
    "column-generation",
    title="Categories: groups of least within-group distance, with a proven bound",
    complexity="exponential in k at worst; seconds for a few hundred distinct rows and k=3",
    reference="Cost 2023, ch. 4",
    when="for nominal tables of up to about a thousand distinct rows; above that: nominal",
    max_size=lambda k: 2 * k - 1,
    proves=OBJECTIVE,
)
def column_generation(
    codes: NDArray[np.int32],
    k: int,
    *,
    fractional: Fractional = "optimal",
    construction: Construction = "best",
    gamma: Annotated[float, Range(0, 1)] | None = None,
    lambda_: Annotated[float, Range(0)] | None = None,
    time_limit: float = 60.0,
    column_weights: NDArray[np.float64] | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group nominal records so that the sum of the Hamming distances within groups is least.

    Parameters
    ----------
    fractional
        Solution of the linear master: ``optimal``, with exact pricing, or ``heuristic``, with the pricing heuristics of
        Cost 2023 only (Alg. 5 and 6).
    construction
        ``best``: all steps, with a proven gap. ``exact`` and ``greedy``: only Algorithm 7 of Cost 2023, with the
        auxiliary problem P6 solved exactly or greedily.
    gamma, lambda_
        Factor of the dual values and reward of each row in Algorithm 7; by default 0.75 and 1.5 for optimal, 0.25 and
        1.5 for heuristic dual values.
    time_limit
        Seconds (default 60) after which the best groups so far are returned with the bound so far; the groups then
        depend on the machine.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], np.int32)
    >>> outcome = column_generation(rows, 2)
    >>> outcome.labels, outcome.objective.value, outcome.objective.optimal
    (array([0, 1, 1, 0, 0]), 3.0, True)
    """
    check_codes(codes)
    table = collapse(codes)
    if len(table.counts) > MOST_DISTINCT:
        raise DataError(
            f'the table has {len(table.counts)} distinct rows, more than the {MOST_DISTINCT} of "column-generation"; '
            'choose method "nominal"'
        )
    weights = checked_column_weights(column_weights, codes.shape[1])
    problem = Problem(hamming(table.rows, column_weights=weights), table.counts, k, distance_step(weights))
    progress.stage("grouping (column generation)")
    # both calls compile their loops, so that compilation does not count against the time limit
    start_columns(Problem(np.zeros((1, 1)), np.array([k]), k, 0.0), np.zeros(1))
    search_groups(np.zeros((1, 1)), np.zeros(1), np.array([k]), k, threshold=0.0)
    deadline = Deadline(time_limit)
    if construction == "best":
        partition = solve_best(problem, fractional, deadline, progress)
    else:
        default = DEFAULT[fractional]
        chosen = default[0] if gamma is None else gamma, default[1] if lambda_ is None else lambda_
        partition = solve_as_published(problem, fractional, deadline, chosen, exact=construction == "exact")
    return Outcome(
        record_labels(partition.columns, table),
        objective=Objective(OBJECTIVE, partition.distance, partition.bound),
        diagnostics=partition.diagnostics,
        timings=partition.timings,
        stopped=partition.stopped,
    )


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of distinct rows, with their within-group distance and a proven lower bound.

    Parameters
    ----------
    columns
        The rows of one group per line, padded with -1.
    distance, bound
        The within-group distance, and a lower bound for all groupings.
    stopped
        Why the search ended.
    diagnostics, timings
        As in an outcome.
    """

    columns: NDArray[np.int32]
    distance: float
    bound: float
    stopped: Stopped = "finished"
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)


def solve_best(problem: Problem, fractional: Fractional, deadline: Deadline, progress: Progress = SILENT) -> Partition:
    """Return the best groups that are found before the deadline, with their bound."""
    state = _begin(problem, None, deadline, exact=fractional == "optimal", progress=progress)
    stopped: Stopped = "finished"
    try:
        state.solve(lambda duals: _rebuilt(problem, duals, fractional, deadline))
        if not state.solved and deadline.expired():
            stopped = "time limit"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return Partition(
        state.best, state.upper, _bound(state), stopped,
        {"linear_value": _finite(state.linear), "iterations": state.iterations}, {"total": deadline.elapsed()},
    )  # fmt: skip


def solve_block(problem: Problem, start: NDArray[np.int32] | None, deadline: Deadline) -> Partition:
    """Return good groups of a block, with an effort that does not depend on the machine unless the deadline ends it.

    ``start``: groups to begin with; the result is not worse.
    """
    state = _begin(problem, start, deadline, steps=_STEPS_IN_BLOCK, nodes=_NODES_IN_BLOCK)
    if not state.done:
        _anneal(problem, state, state.best)
    state.generate()
    if state.duals is not None and not state.done:
        built = _rebuilt(problem, state.duals.elements, "optimal", deadline, exact=False)
        _anneal(problem, state, built.columns)
    if not state.done:
        state.improve(_COLUMNS_IN_BLOCK)
    return Partition(state.best, state.upper, _bound(state))


def _bound(state: Partitioning) -> float:
    """Return the proven bound; the value itself if it is optimal up to rounding errors."""
    return state.upper if state.solved else state.bound


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _anneal(problem: Problem, state: Partitioning, columns: NDArray[np.int32]) -> None:
    """Anneal groups and offer the result to the search."""
    columns = annealed(columns, problem.distance, problem.k)
    state.offer(columns, column_costs(columns, problem.distance))


def _begin(
    problem: Problem,
    start: NDArray[np.int32] | None,
    deadline: Deadline,
    *,
    exact: bool = True,
    steps: int = SEARCH_STEPS,
    nodes: int | None = None,
    progress: Progress = SILENT,
) -> Partitioning:
    distance, counts, k, step = problem
    duals = nearest_duals(problem)
    columns = start_columns(problem, duals) if start is None else start
    return Partitioning(
        NominalPricer(distance, counts, k, exact=exact, steps=steps), columns, column_costs(columns, distance),
        step=step, lower=float(duals @ counts), deadline=deadline, nodes=nodes, progress=progress,
    )  # fmt: skip


def _rebuilt(
    problem: Problem, duals: NDArray[np.float64], fractional: Fractional, deadline: Deadline, *, exact: bool = True
) -> Priced:
    """Return the groups of Algorithm 7 for dual values, after exchanges."""
    exact = exact and problem.counts.size <= 300 and problem.k <= 4
    columns = build_columns(problem, duals, DEFAULT[fractional], exact=exact, deadline=deadline.part(0.2))
    return Priced(columns, column_costs(columns, problem.distance), 0.0, proven=False)


def solve_as_published(
    problem: Problem, fractional: Fractional, deadline: Deadline, parameters: tuple[float, float], *, exact: bool
) -> Partition:
    """Return the groups of Algorithm 7 with dual values of the linear master, as in the experiments of Cost 2023."""
    distance, counts, k, _ = problem
    bound = simple_bound(problem)
    if fractional == "heuristic":
        linear, duals, iterations = heuristic_master(problem, deadline)
    else:
        start = start_columns(problem, nearest_duals(problem))
        state = Partitioning(
            NominalPricer(distance, counts, k), start, column_costs(start, distance), step=problem.step,
            deadline=deadline, stop_at_best=False,
        )  # fmt: skip
        state.generate()
        linear, iterations = state.linear, state.iterations
        duals = nearest_duals(problem) if state.duals is None else state.duals.elements
        bound = max(bound, state.bound)
    between = deadline.elapsed()
    columns = construct(
        distance, duals, counts, k, gamma=parameters[0], lambda_=parameters[1], exact=exact, deadline=deadline
    )
    total = deadline.elapsed()
    diagnostics: dict[str, Diagnostic] = {
        "linear_value": _finite(linear), "iterations": iterations, "gamma": parameters[0], "lambda": parameters[1]
    }  # fmt: skip
    timings = {"fractional": between, "integer": total - between, "total": total}
    stopped: Stopped = "time limit" if deadline.expired() else "finished"
    return Partition(columns, float(column_costs(columns, distance).sum()), bound, stopped, diagnostics, timings)


def heuristic_master(problem: Problem, deadline: Deadline) -> tuple[float, NDArray[np.float64], int]:
    """Return value, dual values and iterations of the linear master with pricing heuristics only (h, section 4.3).

    The first column holds all rows; the enumeration is used where the greedy rule finds no new column.
    """
    distance, counts, k, _ = problem
    master = Master(counts)
    everything = np.repeat(np.arange(counts.size, dtype=np.int32), counts)[None, :]
    master.add(everything, np.array([counts @ distance @ counts / 2]))
    value, duals, iterations = np.inf, nearest_duals(problem), 0
    while not deadline.expired():
        try:
            value, solution = master.solve(deadline)
        except TimeoutError:
            break
        iterations, duals = iterations + 1, solution.elements
        found = greedy_groups(distance, duals, counts, k)
        if not master.add(found, column_costs(found, distance)):
            found = enumerated_group(distance, duals, counts, k)
            if not master.add(found, column_costs(found, distance)):
                break
    return value, duals, iterations
