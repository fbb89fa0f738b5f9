"""Partition of nominal records by column generation, with a proven gap.

Cost 2023, chapter 4: clusters of k to 2k-1 rows whose pairwise Hamming distances add up to least (P4). Equal rows are
joined first, which changes no optimum and removes all symmetry between them. Then: the linear master with exact pricing
gives a bound; the integer program over the columns near its duals a clustering; cuts and, at the end, the list of all
columns inside the gap close it. Some hundred distinct rows are solved to proven optimality in seconds for k = 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import attribute_weights, check_codes, collapse, hamming, weight_step
from shoal.errors import DataError, ParameterError
from shoal.methods.nominal.distinct_rows import Problem, build_columns, labels_of, nearest_duals, start_columns
from shoal.methods.nominal.hamming_annealing import annealed
from shoal.methods.nominal.hamming_pricing import NominalPricer, column_weights, enumerated_cluster, greedy_clusters
from shoal.methods.nominal.hamming_pricing_search import STEPS, search_clusters
from shoal.methods.nominal.integer_construction import DEFAULT, construct
from shoal.methods.programs.restricted_master import Clock, Master
from shoal.methods.programs.set_partitioning import Partitioning, Priced
from shoal.methods.registry import method

MOST_DISTINCT = 5_000
_STEPS_IN_BLOCK = 20_000_000
_NODES_IN_BLOCK = 10
_ROOM_IN_BLOCK = 500


@method(
    "column-generation",
    title="Categories: clusters of least total distance, with a proven bound",
    cost="exponential in k at worst; seconds for some hundred distinct rows and k=3",
    guarantee="k to 2k-1 records a group; the gap to the optimum is proven and told",
    reference="Cost 2023, ch. 4",
    when="for nominal tables of up to about a thousand distinct rows; above that: nominal",
    data="codes",
    max_size=lambda k: 2 * k - 1,
)
def column_generation(
    codes: NDArray[np.int32],
    k: int,
    *,
    fractional: Literal["optimal", "heuristic"] = "optimal",
    construction: Literal["best", "exact", "greedy"] = "best",
    gamma: float | None = None,
    lambda_: float | None = None,
    time_limit: float = 60.0,
    weights: Sequence[float] | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group nominal records so that the Hamming distances within groups add up to least.

    Parameters
    ----------
    codes
        n x m categories.
    k
        The smallest group.
    fractional
        How the linear master is solved: with exact pricing, or with the heuristics of the thesis only (Alg. 5 and 6).
    construction
        ``best``: everything, with a proven gap. ``exact`` and ``greedy``: Algorithm 7 of the thesis and nothing else,
        with the auxiliary problem P6 solved exactly or greedily.
    gamma, lambda_
        How Algorithm 7 weighs duals and rewards rows; by default 0.75 and 1.5 for optimal, 0.25 and 1.5 for heuristic
        duals.
    time_limit
        Seconds. When they are over, the best grouping so far is returned with the bound so far; the result then depends
        on the machine.
    weights
        How much each attribute counts.
    progress
        Hears about each step.
    facts
        Receives the weight of the grouping, its lower bound, the gap, the value of the linear master, the number of
        iterations and the log.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> told = {}
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], np.int32)
    >>> column_generation(rows, 2, facts=told)
    array([0, 1, 1, 0, 0])
    >>> told["weight"], told["bound"], told["stopped"]
    (3.0, 3.0, 'optimal')
    """
    check_codes(codes)
    table = collapse(codes)
    if len(table.counts) > MOST_DISTINCT:
        raise DataError(
            f'the table has {len(table.counts)} distinct rows, more than the {MOST_DISTINCT} of "column-generation"; '
            'choose method "nominal"'
        )
    attribute_counts = attribute_weights(weights, codes.shape[1])
    problem = Problem(hamming(table.rows, weights=attribute_counts), table.counts, k, weight_step(attribute_counts))
    progress.stage("grouping (column generation)")
    start_columns(Problem(np.zeros((1, 1)), np.array([k]), k, 0.0), np.zeros(1))  # compiles, before the clock starts
    search_clusters(np.zeros((1, 1)), np.zeros(1), np.array([k]), k, threshold=0.0)
    clock = Clock(time_limit)
    if construction == "best":
        solved = solve_best(problem, fractional, clock, progress)
    else:
        chosen = _gamma_and_lambda(fractional, gamma, lambda_)
        solved = solve_as_published(problem, fractional, clock, chosen, exact=construction == "exact")
    if facts is not None:
        facts.update(solved.told)
    return labels_of(solved.columns, table)


class Solved(NamedTuple):
    """A clustering and what there is to tell about it."""

    columns: NDArray[np.int32]
    told: dict[str, Any]


def solve_best(problem: Problem, fractional: str, clock: Clock, progress: Progress = SILENT) -> Solved:
    """Return the best clustering that is found in time, with its gap."""
    state = _begin(problem, None, clock, exact=fractional == "optimal", progress=progress)
    stopped = "optimal"
    try:
        state.solve(lambda duals: _rebuilt(problem, duals, fractional, clock))
        if not state.solved:
            stopped = "time limit" if clock.expired() else "gap"
    except KeyboardInterrupt:
        stopped = "interrupted"
    told = {
        "weight": state.upper,
        "bound": state.bound,
        "gap": (state.upper - state.bound) / state.upper if state.upper else 0.0,
        "stopped": stopped,
        "linear": state.linear if np.isfinite(state.linear) else None,
        "iterations": state.iterations,
        "seconds": round(clock.elapsed(), 3),
        "log": state.log,
    }
    return Solved(state.best, told)


def solve_block(problem: Problem, start: NDArray[np.int32] | None, clock: Clock) -> Solved:
    """Return a good clustering of a block with an effort that does not depend on the machine, unless the clock ends it.

    ``start`` is a clustering to begin with; the result weighs no more.
    """
    state = _begin(problem, start, clock, steps=_STEPS_IN_BLOCK, nodes=_NODES_IN_BLOCK)
    if not state.done:
        _anneal(problem, state, state.best)
    state.generate()
    if state.duals is not None and not state.done:
        built = _rebuilt(problem, state.duals.elements, "optimal", clock, exact=False)
        _anneal(problem, state, built.columns)
    if not state.done:
        state.improve(_ROOM_IN_BLOCK)
    return Solved(state.best, {"weight": state.upper, "bound": state.bound})


def _anneal(problem: Problem, state: Partitioning, columns: NDArray[np.int32]) -> None:
    """Offer what annealing makes of a clustering."""
    columns = annealed(columns, problem.distance, problem.k)
    state.offer(columns, column_weights(columns, problem.distance))


def _begin(
    problem: Problem,
    start: NDArray[np.int32] | None,
    clock: Clock,
    *,
    exact: bool = True,
    steps: int = STEPS,
    nodes: int | None = None,
    progress: Progress = SILENT,
) -> Partitioning:
    distance, counts, k, step = problem
    duals = nearest_duals(problem)
    columns = start_columns(problem, duals) if start is None else start
    return Partitioning(
        NominalPricer(distance, counts, k, exact=exact, steps=steps), columns, column_weights(columns, distance),
        step=step, lower=float(duals @ counts), clock=clock, nodes=nodes, progress=progress,
    )  # fmt: skip


def _rebuilt(
    problem: Problem, duals: NDArray[np.float64], fractional: str, clock: Clock, *, exact: bool = True
) -> Priced:
    """Return the clustering of Algorithm 7 for duals, after exchanges."""
    exact = exact and problem.counts.size <= 300 and problem.k <= 4
    columns = build_columns(problem, duals, DEFAULT[fractional], exact=exact, clock=clock.part(0.2))
    return Priced(columns, column_weights(columns, problem.distance), 0.0, proven=False)


def solve_as_published(
    problem: Problem, fractional: str, clock: Clock, parameters: tuple[float, float], *, exact: bool
) -> Solved:
    """Return the clustering of Algorithm 7 with duals of the linear master, as in the experiments of the thesis."""
    distance, counts, k, _ = problem
    if fractional == "heuristic":
        linear, duals, iterations = heuristic_master(problem, clock)
    else:
        start = start_columns(problem, nearest_duals(problem))
        state = Partitioning(
            NominalPricer(distance, counts, k), start, column_weights(start, distance), step=problem.step, clock=clock,
            stop_at_best=False,
        )  # fmt: skip
        state.generate()
        linear, iterations = state.linear, state.iterations
        duals = nearest_duals(problem) if state.duals is None else state.duals.elements
    between = clock.elapsed()
    columns = construct(
        distance, duals, counts, k, gamma=parameters[0], lambda_=parameters[1], exact=exact, clock=clock
    )
    told = {
        "weight": float(column_weights(columns, distance).sum()),
        "stopped": "time limit" if clock.expired() else "end",
        "linear": linear if np.isfinite(linear) else None,
        "iterations": iterations,
        "gamma": parameters[0],
        "lambda": parameters[1],
        "seconds": round(clock.elapsed(), 3),
        "seconds_fractional": round(between, 3),
        "seconds_integer": round(clock.elapsed() - between, 3),
    }
    if fractional == "optimal" and state.converged:
        told["bound"] = state.bound
    return Solved(columns, told)


def heuristic_master(problem: Problem, clock: Clock) -> tuple[float, NDArray[np.float64], int]:
    """Return value, duals and iterations of the linear master with the pricing heuristics only (mode h, section 4.3).

    The first column holds all rows; the greedy rule is asked first, enumeration when it finds nothing.
    """
    distance, counts, k, _ = problem
    master = Master(counts)
    everything = np.repeat(np.arange(counts.size, dtype=np.int32), counts)[None, :]
    master.add(everything, np.array([counts @ distance @ counts / 2]))
    value, prizes, iterations = np.inf, nearest_duals(problem), 0
    while not clock.expired():
        try:
            value, duals = master.solve(clock)
        except TimeoutError:
            break
        iterations, prizes = iterations + 1, duals.elements
        found = greedy_clusters(distance, prizes, counts, k)
        if not master.add(found, column_weights(found, distance)):
            found = enumerated_cluster(distance, prizes, counts, k)
            if not master.add(found, column_weights(found, distance)):
                break
    return value, prizes, iterations


def _gamma_and_lambda(fractional: str, gamma: float | None, lambda_: float | None) -> tuple[float, float]:
    chosen = DEFAULT[fractional]
    gamma, lambda_ = chosen[0] if gamma is None else gamma, chosen[1] if lambda_ is None else lambda_
    if not 0 <= gamma <= 1:
        raise ParameterError(f"gamma={gamma} is not possible; choose 0 to 1")
    if not lambda_ >= 0:
        raise ParameterError(f"lambda_={lambda_} is not possible; choose 0 or more")
    return gamma, lambda_
