"""Partition by column generation: equal to trying everything, bounds that hold, and an answer whatever happens."""

import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.frequency_tables import full_rows
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.core.row_classes import (
    cluster_weights,
    clustering_weight,
    collapse,
    compact,
    hamming,
    problem_rows,
    weight_step,
)
from shoal.errors import DataError, ParameterError
from shoal.methods.nominal.category_blocks import cut_into_blocks
from shoal.methods.nominal.column_generation import column_generation, heuristic_master
from shoal.methods.nominal.distinct_rows import Problem, nearest_duals, start_columns
from shoal.methods.nominal.hamming_annealing import annealed
from shoal.methods.nominal.hamming_exchange import exchange
from shoal.methods.nominal.hamming_pricing import NominalPricer, column_weights
from shoal.methods.nominal.nominal import nominal
from shoal.methods.programs.rank1_cuts import violated_cuts
from shoal.methods.programs.restricted_master import Clock, Master, solve_integer
from shoal.methods.programs.set_partitioning import Partitioning

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
    state = Partitioning(pricer, start, column_weights(start, problem.distance), stop_at_best=False, **options)
    state.generate()
    return state


@given(case=tables(max_n=9))
@settings(max_examples=40)
def test_the_optimum_equals_that_of_all_partitions(case):
    codes, k = case
    facts = {}
    labels = column_generation(codes, k, facts=facts)
    best = naive.least_weight(codes, k)
    assert facts["stopped"] == "optimal"
    assert facts["weight"] == facts["bound"] == best
    assert clustering_weight(codes, labels) == best
    Grouping(labels, k, max_size=2 * k - 1)


@given(case=tables(max_n=9))
@settings(max_examples=15)
def test_clusters_of_2k_or_more_rows_are_never_needed(case):
    codes, k = case
    assert naive.least_weight(codes, k) == naive.least_weight(codes, k, largest=2 * k - 1)


@given(case=tables())
@settings(max_examples=25)
def test_the_linear_master_equals_the_one_with_all_columns(case):
    codes, k = case
    state = linear_master(problem_of(codes, k))
    wanted = naive.linear_optimum(codes, k)
    assert state.converged
    assert state.linear == pytest.approx(wanted, abs=1e-6)
    assert state.lower == pytest.approx(wanted, abs=1e-6)
    assert wanted <= naive.least_weight(codes, k) + 1e-6
    assert heuristic_master(problem_of(codes, k), Clock(None))[0] >= wanted - 1e-6


@given(case=tables())
@settings(max_examples=25)
def test_at_the_end_no_column_has_a_negative_reduced_cost(case):
    codes, k = case
    state = linear_master(problem_of(codes, k))
    _, duals = state.master.solve()
    rows = duals.elements[collapse(codes).inverse]
    assert naive.least_reduced_cost(codes, rows, k) >= -1e-6
    assert duals.worth(state.pricer.demand) == pytest.approx(state.linear, abs=1e-6)


@given(case=tables(max_n=16))
@settings(max_examples=15)
def test_master_values_fall_and_bounds_rise_and_never_cross(case):
    codes, k = case
    facts = {}
    column_generation(codes, k, facts=facts)
    steps = [line for line in facts["log"] if line["step"] == "generate" and line["cuts"] == 0]
    values = [line["linear"] for line in steps]
    assert all(after <= before + 1e-6 for before, after in pairwise(values))
    bounds = [line["bound"] for line in facts["log"]]
    assert bounds == sorted(bounds)
    assert all(line["bound"] <= facts["weight"] + 1e-9 for line in facts["log"])


@given(case=tables(max_n=9))
@settings(max_examples=25)
def test_bounds_never_exceed_the_optimum_however_early_the_clock_stops(case):
    codes, k = case
    best = naive.least_weight(codes, k)
    problem = problem_of(codes, k)
    assert nearest_duals(problem) @ problem.counts <= best + 1e-9
    for limit in (0.0, 0.002):
        facts = {}
        labels = column_generation(codes, k, time_limit=limit, facts=facts)
        Grouping(labels, k, max_size=2 * k - 1)
        assert facts["bound"] <= best <= facts["weight"]


def test_duals_are_free_in_sign():
    codes = np.array([[1, 1], [1, 0], [1, 2], [0, 1], [2, 1]], np.int32)
    assert naive.linear_optimum(codes, 3) == pytest.approx(19 / 3)
    assert naive.linear_optimum(codes, 3, covering=True) == pytest.approx(6)
    assert linear_master(problem_of(codes, 3)).linear == pytest.approx(19 / 3)


def test_cluster_weights_count_unordered_pairs():  # Example 4.1.1
    codes = np.array([[0, 0], [0, 1], [1, 0], [0, 0], [0, 1], [0, 1]], np.int32)
    assert cluster_weights(codes, np.array([0, 0, 0, 1, 1, 1])).tolist() == [4.0, 2.0]


@given(case=tables(max_n=12))
@settings(max_examples=25)
def test_the_optimum_is_zero_only_if_the_table_is_k_anonymous(case):
    codes, k = case
    facts = {}
    column_generation(codes, k, facts=facts)
    assert (facts["weight"] == 0) == (not problem_rows(codes, k).any())


@pytest.mark.parametrize("fractional", ["optimal", "heuristic"])
@pytest.mark.parametrize("construction", ["best", "exact", "greedy"])
def test_every_variant_gives_groups_and_tells_its_weight(fractional, construction, rng):
    codes = rng.integers(0, [2, 3, 4], size=(40, 3)).astype(np.int32)
    facts = {}
    labels = column_generation(codes, 3, fractional=fractional, construction=construction, facts=facts)
    Grouping(labels, 3, max_size=5)
    assert facts["weight"] == clustering_weight(codes, labels)
    best = {}
    column_generation(codes, 3, facts=best)
    assert best["weight"] <= facts["weight"]
    assert best["bound"] <= facts["weight"]
    if construction != "best":
        assert (facts["gamma"], facts["lambda"]) == ((0.75, 1.5) if fractional == "optimal" else (0.25, 1.5))
        assert facts["linear"] <= facts["weight"] + 1e-6 or fractional == "heuristic"


def test_attribute_weights_change_the_optimum_and_its_step():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    facts = {}
    labels = column_generation(codes, 2, weights=[0.25, 1.5], facts=facts)
    assert labels.tolist() == [0, 1, 0, 1]  # the second attribute is kept
    assert facts["weight"] == facts["bound"] == 0.5
    assert weight_step(np.array([0.25, 1.5])) == 0.25


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
        facts = {}
        column_generation(codes, 3, facts=facts)
        assert state.lower <= facts["weight"] + 1e-6
    assert raised


def test_the_integer_program_over_columns_starts_where_it_is_told(rng):
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


def test_a_master_knows_its_columns_once():
    master = Master(np.array([1, 1, 1]))
    columns = np.array([[0, 1, 2], [2, 1, 0], [0, 1, -1]], np.int32)
    assert master.add(columns, np.array([3.0, 3.0, 1.0])) == 2
    assert master.add(columns, np.array([3.0, 3.0, 1.0])) == 0
    assert len(master) == 2


class Impatient(Progress):
    """Somebody who presses Ctrl-C once, after some steps."""

    def __init__(self, steps):
        self.steps = steps

    def advance(self, amount=1):  # noqa: ARG002 - the signature of the protocol
        self.steps -= 1
        if self.steps == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_an_interrupt_leaves_the_best_grouping_so_far(steps, rng):
    codes = rng.integers(0, [2, 5, 6], size=(60, 3)).astype(np.int32)
    facts = {}
    labels = column_generation(codes, 3, progress=Impatient(steps), facts=facts)
    Grouping(labels, 3, max_size=5)
    assert facts["stopped"] == "interrupted"
    assert facts["bound"] <= facts["weight"] == clustering_weight(codes, labels)


@pytest.mark.parametrize("steps", [2, 14])  # in the first round, and later
def test_an_interrupt_of_a_large_table_leaves_groups_for_all_records(steps, rng):
    codes = rng.integers(0, [2, 5, 6, 4], size=(300, 4)).astype(np.int32)
    facts = {}
    labels = nominal(codes, 3, block=30, progress=Impatient(steps), facts=facts)
    Grouping(labels, 3, max_size=5)
    assert facts["stopped"] == "interrupted"
    assert facts["weight"] == clustering_weight(codes, labels)


@pytest.mark.slow
def test_an_interrupt_reaches_the_solver(rng):
    codes = rng.integers(0, [2, 5, 6, 7, 7], size=(400, 5)).astype(np.int32)
    column_generation(codes[:20], 3)  # compiled before the clock of this test runs
    presser = threading.Timer(3.0, signal.raise_signal, [signal.SIGINT])
    facts = {}
    presser.start()
    labels = column_generation(codes, 3, time_limit=200, facts=facts)
    Grouping(labels, 3, max_size=5)
    assert facts["stopped"] in {"interrupted", "optimal"}
    assert facts["bound"] <= facts["weight"]


@pytest.mark.parametrize("name", ["column-generation", "nominal"])
def test_nasty_tables(name, rng):
    run = {"column-generation": column_generation, "nominal": nominal}[name]
    many = np.column_stack([np.arange(120) * 83, rng.integers(2, size=120)]).astype(np.int32)  # a domain of 10,000
    for codes in (
        np.zeros((7, 1), np.int32),  # one category only
        many,
        np.arange(13, dtype=np.int32)[:, None],  # unique per row
        rng.integers(3, size=(3, 2)).astype(np.int32),  # n = k
        rng.integers(3, size=(5, 2)).astype(np.int32),  # n = 2k-1
    ):
        Grouping(run(codes, 3), 3, max_size=5)
    facts = {}
    run(np.arange(9, dtype=np.int32)[:, None], 3, facts=facts)
    assert facts["weight"] == 9.0  # three groups of three rows that differ in the only attribute


def test_bad_input_is_refused_with_a_sentence():
    with pytest.raises(DataError, match="2 of 4 codes are negative"):
        column_generation(np.array([[0, -1], [0, -1]], np.int32), 2)
    with pytest.raises(DataError, match='6000 distinct rows, more than the 5000 of "column-generation"; choose'):
        column_generation(np.arange(6000, dtype=np.int32)[:, None], 2)
    with pytest.raises(ParameterError, match="gamma=2 is not possible"):
        column_generation(np.zeros((4, 1), np.int32), 2, construction="exact", gamma=2)
    with pytest.raises(ParameterError, match="there are 1 attributes but 2 attribute weights"):
        column_generation(np.zeros((4, 1), np.int32), 2, weights=[1, 2])
    with pytest.raises(ParameterError, match="block=0"):
        nominal(np.zeros((4, 1), np.int32), 2, block=0)


@given(case=tables(max_n=40, max_k=4))
@settings(max_examples=20)
def test_exchanges_and_annealing_never_raise_the_weight(case):
    codes, k = case
    problem = problem_of(codes, k)
    rng = np.random.default_rng(len(codes))
    elements = rng.permutation(np.repeat(np.arange(len(problem.counts)), problem.counts))
    parts = np.array_split(elements, len(codes) // k)
    columns = np.full((len(parts), 2 * k - 1), -1, np.int32)
    for line, part in zip(columns, parts, strict=True):
        line[: part.size] = part
    for better in (exchange(columns, problem.distance, k), annealed(columns, problem.distance, k, passes=20)):
        assert column_weights(better, problem.distance).sum() <= column_weights(columns, problem.distance).sum()
        np.testing.assert_array_equal(np.bincount(better[better >= 0], minlength=len(problem.counts)), problem.counts)
        sizes = (better >= 0).sum(axis=1)
        assert k <= sizes.min()
        assert sizes.max() <= 2 * k - 1


def test_annealing_goes_on_where_exchanges_get_stuck_and_repeats_itself(rng):
    codes = full_rows([3, 5, 4, 2])[rng.permutation(120)][:90]
    problem = problem_of(codes, 3)
    start = start_columns(problem, nearest_duals(problem))
    better = annealed(start, problem.distance, 3)
    assert column_weights(better, problem.distance).sum() < column_weights(start, problem.distance).sum()
    np.testing.assert_array_equal(better, annealed(start, problem.distance, 3))


@given(case=tables(max_n=60, max_k=4), size=st.integers(2, 20), turn=st.integers(0, 3))
@settings(max_examples=25)
def test_blocks_hold_every_unit_once_and_k_records(case, size, turn):
    codes, k = case
    table = collapse(codes)
    blocks = cut_into_blocks(table.rows, np.ones(len(table.counts), np.int64), table.counts, k, size=size, turn=turn)
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(len(table.counts)))
    assert min(table.counts[block].sum() for block in blocks) >= k


def test_rounds_of_blocks_never_raise_the_weight_and_come_close_to_the_optimum(rng):
    codes = rng.integers(0, [2, 4, 4, 3], size=(200, 4)).astype(np.int32)
    facts, best = {}, {}
    labels = nominal(codes, 3, block=30, facts=facts)
    assert facts["rounds"] == sorted(facts["rounds"], reverse=True)
    assert facts["weight"] == clustering_weight(codes, labels)
    column_generation(codes, 3, time_limit=20, facts=best)
    assert best["bound"] <= facts["weight"] <= 1.2 * best["bound"]


def test_threads_do_not_change_the_groups(rng):
    from shoal.core.threads import set_threads

    codes = rng.integers(0, [2, 4, 4, 3], size=(150, 4)).astype(np.int32)
    try:
        set_threads(1)
        one = nominal(codes, 3, block=40, rounds=2)
        set_threads(3)
        np.testing.assert_array_equal(one, nominal(codes, 3, block=40, rounds=2))
    finally:
        set_threads(None)


def test_a_large_table_respects_its_time_limit_and_k(rng):
    codes = rng.integers(0, 6, size=(3000, 5)).astype(np.int32)
    facts = {}
    labels = nominal(codes, 3, time_limit=0.1, facts=facts)
    Grouping(labels, 3, max_size=5)
    assert facts["stopped"] == "time limit"


@given(case=tables(max_n=30))
@settings(max_examples=20)
def test_collapsing_and_renumbering_lose_nothing(case):
    codes, _ = case
    table = collapse(codes)
    np.testing.assert_array_equal(table.rows[table.inverse], codes)
    assert table.counts.sum() == len(codes)
    assert len(np.unique(table.rows, axis=0)) == len(table.rows)
    np.testing.assert_array_equal(np.concatenate(table.members()), np.argsort(table.inverse, kind="stable"))
    renumbered, domains = compact(codes)
    np.testing.assert_array_equal(
        np.column_stack([domain[column] for domain, column in zip(domains, renumbered.T, strict=True)]), codes
    )
    distances = hamming(codes)
    np.testing.assert_array_equal(distances, distances.T)
    assert distances.max() <= codes.shape[1]
    np.testing.assert_array_equal(distances == 0, (codes[:, None] == codes[None]).all(axis=2))
