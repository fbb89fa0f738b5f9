"""Column generation and nominal: equal to full enumeration, valid bounds, and a result after any interruption."""

import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.deadline import Deadline
from shoal.core.frequency_tables import full_rows
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.core.row_classes import collapse, hamming, unsafe_rows, within_group_distance
from shoal.errors import DataError, ParameterError
from shoal.methods.nominal.category_blocks import cut_into_blocks
from shoal.methods.nominal.column_generation import column_generation, heuristic_master
from shoal.methods.nominal.distinct_rows import Problem, nearest_duals, start_columns
from shoal.methods.nominal.hamming_annealing import annealed
from shoal.methods.nominal.hamming_exchange import exchange
from shoal.methods.nominal.hamming_pricing import NominalPricer, column_costs
from shoal.methods.nominal.nominal import nominal
from shoal.methods.programs.rank1_cuts import violated_cuts
from shoal.methods.programs.restricted_master import Master, solve_integer
from shoal.methods.programs.set_partitioning import Partitioning
from shoal.methods.running import run

from naive import nominal_partition as naive


@st.composite
def tables(draw, max_n=8, max_k=3):
    k = draw(st.integers(2, max_k))
    n = draw(st.integers(k, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, draw(st.integers(1, 4)), size=(n, draw(st.integers(1, 4)))).astype(np.int32), k


def problem_of(codes, k):
    table = collapse(codes)
    return Problem(hamming(table.rows), table.counts, k, 1.0)


def linear_master(problem, **options):
    start = start_columns(problem, nearest_duals(problem))
    pricer = NominalPricer(problem.distance, problem.counts, problem.k)
    state = Partitioning(pricer, start, column_costs(start, problem.distance), stop_at_best=False, **options)
    state.generate()
    return state


@given(case=tables(max_n=9))
@settings(max_examples=40)
def test_the_optimum_equals_that_of_all_partitions(case):
    codes, k = case
    outcome = column_generation(codes, k)
    best = naive.least_distance(codes, k)
    assert outcome.stopped == "finished"
    assert outcome.objective.optimal
    assert outcome.objective.value == outcome.objective.bound == best
    assert within_group_distance(codes, outcome.labels) == best
    Grouping(outcome.labels, k, max_size=2 * k - 1)


@given(case=tables(max_n=9))
@settings(max_examples=15)
def test_clusters_of_2k_or_more_rows_are_never_needed(case):
    codes, k = case
    assert naive.least_distance(codes, k) == naive.least_distance(codes, k, largest=2 * k - 1)


@given(case=tables())
@settings(max_examples=25)
def test_the_linear_master_equals_the_one_with_all_columns(case):
    codes, k = case
    state = linear_master(problem_of(codes, k))
    wanted = naive.linear_optimum(codes, k)
    assert state.converged
    assert state.linear == pytest.approx(wanted, abs=1e-6)
    # a grouping has at most n/k groups, a fractional solution may have more: the bound can exceed the linear value
    assert wanted - 1e-6 <= state.lower <= naive.least_distance(codes, k) + 1e-6
    assert heuristic_master(problem_of(codes, k), Deadline(None))[0] >= wanted - 1e-6


@given(case=tables())
@settings(max_examples=25)
def test_at_the_end_no_column_has_a_negative_reduced_cost(case):
    codes, k = case
    state = linear_master(problem_of(codes, k))
    _, duals = state.master.solve()
    rows = duals.elements[collapse(codes).inverse]
    assert naive.least_reduced_cost(codes, rows, k) >= -1e-6
    assert duals.value(state.pricer.demand) == pytest.approx(state.linear, abs=1e-6)


@given(case=tables(max_n=16))
@settings(max_examples=15)
def test_master_values_fall_and_bounds_rise_and_never_cross(case):
    codes, k = case
    problem = problem_of(codes, k)
    start = start_columns(problem, nearest_duals(problem))
    pricer = NominalPricer(problem.distance, problem.counts, k)
    state = Partitioning(pricer, start, column_costs(start, problem.distance), step=1.0)
    state.solve()
    values = [line["linear"] for line in state.log if line["step"] == "generate" and line["cuts"] == 0]
    assert all(after <= before + 1e-6 for before, after in pairwise(values))
    bounds = [line["bound"] for line in state.log]
    assert bounds == sorted(bounds)
    assert all(bound <= column_generation(codes, k).objective.value + 1e-9 for bound in bounds)


@given(case=tables(max_n=9))
@settings(max_examples=25)
def test_bounds_never_exceed_the_optimum_whatever_the_time_limit(case):
    codes, k = case
    best = naive.least_distance(codes, k)
    problem = problem_of(codes, k)
    assert nearest_duals(problem) @ problem.counts <= best + 1e-9
    for limit in (0.0, 0.002):
        outcome = column_generation(codes, k, time_limit=limit)
        Grouping(outcome.labels, k, max_size=2 * k - 1)
        assert outcome.objective.bound <= best <= outcome.objective.value


def test_duals_are_free_in_sign():
    codes = np.array([[1, 1], [1, 0], [1, 2], [0, 1], [2, 1]], np.int32)
    assert naive.linear_optimum(codes, 3) == pytest.approx(19 / 3)
    assert naive.linear_optimum(codes, 3, covering=True) == pytest.approx(6)
    assert linear_master(problem_of(codes, 3)).linear == pytest.approx(19 / 3)


@given(case=tables(max_n=12))
@settings(max_examples=25)
def test_the_optimum_is_zero_only_if_the_table_is_k_anonymous(case):
    codes, k = case
    assert (column_generation(codes, k).objective.value == 0) == (not unsafe_rows(codes, k).any())


@pytest.mark.parametrize("fractional", ["optimal", "heuristic"])
@pytest.mark.parametrize("construction", ["best", "exact", "greedy"])
def test_every_variant_returns_groups_with_their_distance(fractional, construction, rng):
    codes = rng.integers(0, [2, 3, 4], size=(40, 3)).astype(np.int32)
    outcome = column_generation(codes, 3, fractional=fractional, construction=construction)
    Grouping(outcome.labels, 3, max_size=5)
    assert outcome.objective.name == "within-group distance"
    assert outcome.objective.value == within_group_distance(codes, outcome.labels)
    best = column_generation(codes, 3).objective
    assert outcome.objective.bound <= best.value <= outcome.objective.value
    assert best.bound <= outcome.objective.value
    if construction != "best":
        diagnostics = outcome.diagnostics
        assert (diagnostics["gamma"], diagnostics["lambda"]) == ((0.75 if fractional == "optimal" else 0.25), 1.5)
        assert diagnostics["linear_value"] <= outcome.objective.value + 1e-6 or fractional == "heuristic"
        assert set(outcome.timings) == {"fractional", "integer", "total"}


@pytest.mark.parametrize("method", [column_generation, nominal])
def test_column_weights_change_the_optimum_and_its_step(method):
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    outcome = method(codes, 2, column_weights=np.array([0.25, 1.5]))
    assert outcome.labels.tolist() == [0, 1, 0, 1]  # the second column is preserved
    assert outcome.objective.value == outcome.objective.bound == 0.5


def test_cuts_are_violated_where_they_are_said_to_be_and_raise_the_bound(rng):
    raised = 0
    for _ in range(10):
        codes = rng.integers(0, [2, 5, 6], size=(24, 3)).astype(np.int32)
        state = linear_master(problem_of(codes, 3), step=1.0)
        columns, shares, demand = state.master.columns, state.master.shares(), state.pricer.demand
        members, divisors = violated_cuts(columns, shares, demand, (2, 3))
        for inside, divisor in zip(members, divisors, strict=True):
            held = np.append(inside, False)[columns].sum(axis=1) // divisor
            assert shares @ held > demand[inside].sum() // divisor + 0.01
        before = state.lower
        state.stop_at_best = True
        state.cut()
        raised += state.lower > before + 1e-6
        assert state.lower <= column_generation(codes, 3).objective.value + 1e-6
    assert raised


def test_the_integer_program_over_columns_begins_with_a_given_solution(rng):
    demand = np.ones(12, np.int64)
    columns = np.array([rng.choice(12, 3, replace=False) for _ in range(60)], np.int32)
    start = np.arange(60, 64)
    columns = np.vstack([columns, np.arange(12, dtype=np.int32).reshape(4, 3)])
    costs = rng.uniform(1, 2, size=64)
    chosen = solve_integer(demand, columns, costs, start=start)
    assert chosen.complete
    assert costs[chosen.columns].sum() <= costs[start].sum() + 1e-9
    np.testing.assert_array_equal(np.bincount(columns[chosen.columns].ravel()), demand)
    assert solve_integer(demand, columns[:3], costs[:3]).columns is None


def test_a_master_stores_each_column_once():
    master = Master(np.array([1, 1, 1]))
    columns = np.array([[0, 1, 2], [2, 1, 0], [0, 1, -1]], np.int32)
    assert master.add(columns, np.array([3.0, 3.0, 1.0])) == 2
    assert master.add(columns, np.array([3.0, 3.0, 1.0])) == 0
    assert len(master) == 2


class Interrupting(Progress):
    """A progress callback that raises KeyboardInterrupt once, after some steps."""

    def __init__(self, steps):
        self.steps = steps

    def advance(self, amount=1):  # noqa: ARG002 - the signature of the protocol
        self.steps -= 1
        if self.steps == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_an_interrupt_leaves_the_best_grouping_so_far(steps, rng):
    codes = rng.integers(0, [2, 5, 6], size=(60, 3)).astype(np.int32)
    outcome = column_generation(codes, 3, progress=Interrupting(steps))
    Grouping(outcome.labels, 3, max_size=5)
    assert outcome.stopped == "interrupted"
    assert outcome.objective.bound <= outcome.objective.value == within_group_distance(codes, outcome.labels)


@pytest.mark.parametrize("steps", [2, 14])  # in the first round, and later
def test_an_interrupt_of_a_large_table_leaves_groups_for_all_records(steps, rng):
    codes = rng.integers(0, [2, 5, 6, 4], size=(300, 4)).astype(np.int32)
    outcome = nominal(codes, 3, block=30, progress=Interrupting(steps))
    Grouping(outcome.labels, 3, max_size=5)
    assert outcome.stopped == "interrupted"
    assert outcome.objective.bound is None
    assert outcome.objective.value == within_group_distance(codes, outcome.labels)


@pytest.mark.slow
def test_an_interrupt_reaches_the_solver(rng):
    codes = rng.integers(0, [2, 5, 6, 7, 7], size=(400, 5)).astype(np.int32)
    column_generation(codes[:20], 3)  # compiles before the interrupt is scheduled
    interrupt = threading.Timer(3.0, signal.raise_signal, [signal.SIGINT])
    interrupt.start()
    outcome = column_generation(codes, 3, time_limit=200)
    Grouping(outcome.labels, 3, max_size=5)
    assert outcome.stopped == "interrupted" or outcome.objective.optimal
    assert outcome.objective.bound <= outcome.objective.value


@pytest.mark.parametrize("method", [column_generation, nominal])
def test_unusual_tables_are_grouped(method, rng):
    many = np.column_stack([np.arange(120) * 83, rng.integers(2, size=120)]).astype(np.int32)  # a domain of 10,000
    for codes in (
        np.zeros((7, 1), np.int32),  # one category only
        many,
        np.arange(13, dtype=np.int32)[:, None],  # unique per row
        rng.integers(3, size=(3, 2)).astype(np.int32),  # n = k
        rng.integers(3, size=(5, 2)).astype(np.int32),  # n = 2k-1
    ):
        Grouping(method(codes, 3).labels, 3, max_size=5)
    outcome = method(np.arange(9, dtype=np.int32)[:, None], 3)
    assert outcome.objective.value == 9.0  # three groups of three rows that differ in the only attribute


def test_bad_input_raises_an_error_with_a_way_out():
    zeros = np.zeros((4, 1), np.int32)
    with pytest.raises(DataError, match="2 of 4 codes are negative"):
        column_generation(np.array([[0, -1], [0, -1]], np.int32), 2)
    with pytest.raises(DataError, match='6000 distinct rows, more than the 5000 of "column-generation"; choose'):
        column_generation(np.arange(6000, dtype=np.int32)[:, None], 2)
    with pytest.raises(ParameterError, match="there are 2 column weights for 1 columns"):
        run("column-generation", zeros, 2, column_weights=np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("name", "option", "text"),
    [
        ("column-generation", {"gamma": 2}, "option gamma=2 is not possible; choose a number from 0 to 1"),
        ("column-generation", {"fractional": "optmal"}, 'fractional="optmal" is not possible.*did you mean "optimal"'),
        ("column-generation", {"construction": "exct"}, 'did you mean "exact"'),
        ("nominal", {"block": 0}, "option block=0 is not possible; choose an integer at least 2"),
        ("nominal", {"rounds": 0}, "option rounds=0"),
    ],
)
def test_impossible_options_are_found_before_any_work(name, option, text):
    with pytest.raises(ParameterError, match=text):
        run(name, np.zeros((4, 1), np.int32), 2, **option)


@given(case=tables(max_n=40, max_k=4))
@settings(max_examples=20)
def test_exchanges_and_annealing_never_raise_the_distance(case):
    codes, k = case
    problem = problem_of(codes, k)
    rng = np.random.default_rng(len(codes))
    elements = rng.permutation(np.repeat(np.arange(len(problem.counts)), problem.counts))
    parts = np.array_split(elements, len(codes) // k)
    columns = np.full((len(parts), 2 * k - 1), -1, np.int32)
    for line, part in zip(columns, parts, strict=True):
        line[: part.size] = part
    for better in (exchange(columns, problem.distance, k), annealed(columns, problem.distance, k, passes=20)):
        assert column_costs(better, problem.distance).sum() <= column_costs(columns, problem.distance).sum()
        np.testing.assert_array_equal(np.bincount(better[better >= 0], minlength=len(problem.counts)), problem.counts)
        sizes = (better >= 0).sum(axis=1)
        assert k <= sizes.min()
        assert sizes.max() <= 2 * k - 1


def test_annealing_improves_what_exchanges_cannot_and_is_deterministic(rng):
    codes = full_rows([3, 5, 4, 2])[rng.permutation(120)][:90]
    problem = problem_of(codes, 3)
    start = start_columns(problem, nearest_duals(problem))
    better = annealed(start, problem.distance, 3)
    assert column_costs(better, problem.distance).sum() < column_costs(start, problem.distance).sum()
    np.testing.assert_array_equal(better, annealed(start, problem.distance, 3))


@given(case=tables(max_n=60, max_k=4), size=st.integers(2, 20), turn=st.integers(0, 3))
@settings(max_examples=25)
def test_blocks_hold_every_unit_once_and_k_records(case, size, turn):
    codes, k = case
    table = collapse(codes)
    blocks = cut_into_blocks(table.rows, np.ones(len(table.counts), np.int64), table.counts, k, size=size, turn=turn)
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(len(table.counts)))
    assert min(table.counts[block].sum() for block in blocks) >= k


def test_rounds_of_blocks_never_raise_the_distance_and_come_close_to_the_optimum(rng):
    codes = rng.integers(0, [2, 4, 4, 3], size=(200, 4)).astype(np.int32)
    outcome = nominal(codes, 3, block=30)
    rounds = outcome.diagnostics["rounds"]
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[-1] == outcome.objective.value == within_group_distance(codes, outcome.labels)
    assert outcome.diagnostics["blocks"] > 1
    assert outcome.objective.bound is None  # bounds of blocks do not hold for the table
    bound = column_generation(codes, 3, time_limit=20).objective.bound
    assert bound <= outcome.objective.value <= 1.2 * bound


def test_a_table_of_one_block_has_a_proven_bound(rng):
    codes = rng.integers(0, [2, 3, 3], size=(40, 3)).astype(np.int32)
    objective = nominal(codes, 3).objective
    assert 0 < objective.bound <= column_generation(codes, 3).objective.value <= objective.value


def test_threads_do_not_change_the_groups(rng):
    from shoal.core.threads import set_threads

    codes = rng.integers(0, [2, 4, 4, 3], size=(150, 4)).astype(np.int32)
    try:
        set_threads(1)
        single = nominal(codes, 3, block=40, rounds=2).labels
        set_threads(3)
        np.testing.assert_array_equal(single, nominal(codes, 3, block=40, rounds=2).labels)
    finally:
        set_threads(None)


def test_a_large_table_respects_its_time_limit_and_k(rng):
    codes = rng.integers(0, 6, size=(3000, 5)).astype(np.int32)
    outcome = nominal(codes, 3, time_limit=0.1)
    Grouping(outcome.labels, 3, max_size=5)
    assert outcome.stopped == "time limit"
