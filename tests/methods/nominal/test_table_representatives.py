from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.methods.nominal.clique_choice import clique_choice, edge_weights
from shoal.methods.nominal.table_representatives import (
    greedy,
    search,
    select_representatives,
    selection,
    table_representatives,
)
from shoal.methods.nominal.table_representatives_exact import exact_choice

from naive import nominal_tables as naive

F, M = 0, 1
GER, OTH = 0, 1
STATUS = np.array([[sex, status] for status in range(3) for sex in (F, F, M)], np.int32)  # Example 5.1.2
STATUS_LABELS = np.repeat([0, 1, 2], 3)
THREE = np.array(  # Example 5.4.1
    [[F, GER]] * 3 + [[F, OTH], [F, OTH], [M, OTH]] + [[F, GER], [M, GER], [M, OTH]], np.int32
)
THREE_LABELS = np.repeat([0, 1, 2], 3)


@st.composite
def clustered(draw, max_clusters=4):
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=max_clusters))
    m = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, draw(st.integers(1, 3)), size=(sum(sizes), m)).astype(np.int32)
    return codes, np.repeat(np.arange(len(sizes)), sizes)


def value(problem, chosen):
    return pytest.approx(problem.chi_square(chosen), abs=1e-9)


@pytest.mark.parametrize(("tables", "error"), [(1, 0), (2, 9), ([[0, 1]], 4.5)])
def test_the_status_example_has_the_known_optimum(tables, error):
    problem = selection(STATUS, STATUS_LABELS, tables)
    assert error == value(problem, exact_choice(problem).chosen)


def test_the_mode_everywhere_loses_the_rarer_value():
    problem = selection(STATUS, STATUS_LABELS, 2)
    mode = np.array([0, 2, 4])  # (f, status) of each cluster
    assert problem.chi_square(mode) == 9.0
    assert selection(STATUS, STATUS_LABELS, 1).chi_square(mode) == 4.5
    rows = select_representatives(STATUS, STATUS_LABELS, variant="exact", tables=1).rows
    assert sorted(STATUS[rows, 0].tolist()) == [F, F, M]


@pytest.mark.parametrize(("tables", "error"), [(1, Fraction(9, 20)), (2, Fraction(99, 20))])
def test_greedy_and_clique_select_as_in_the_three_cluster_example(tables, error):
    problem = selection(THREE, THREE_LABELS, tables)
    assert np.diff(problem.starts).tolist() == [1, 2, 3]
    for chosen in (greedy(problem), clique_choice(problem)):
        assert THREE[problem.rows[chosen]].tolist() == [[F, GER], [M, OTH], [F, GER]]
        assert float(error) == value(problem, chosen)


def test_the_exact_choice_beats_greedy_in_the_three_cluster_example():
    problem = selection(THREE, THREE_LABELS, 2)
    exact = exact_choice(problem).chosen
    assert value(problem, exact) == 81 / 20
    assert THREE[problem.rows[exact]].tolist() == [[F, GER], [F, OTH], [M, OTH]]


@given(case=clustered())
@settings(max_examples=25)
def test_the_exact_choice_equals_brute_force_and_no_heuristic_is_better(case):
    codes, labels = case
    problem = selection(codes, labels, 2)
    best = float(naive.best_choice(codes, labels, problem.tables.tables))
    exact = exact_choice(problem)
    assert best == value(problem, exact.chosen)
    assert exact.optimal
    assert exact.bound == pytest.approx(best, abs=1e-6)
    for chosen in (greedy(problem), clique_choice(problem), search(problem, greedy(problem))):
        assert problem.chi_square(chosen) >= best - 1e-9
    assert problem.chi_square(search(problem, greedy(problem))) <= problem.chi_square(greedy(problem)) + 1e-9


@given(case=clustered())
@settings(max_examples=25)
def test_greedy_agrees_with_its_reference_implementation(case):
    codes, labels = case
    problem = selection(codes, labels, 2)
    rows = codes[problem.rows[greedy(problem)]]
    expected = naive.greedy_choice(codes, labels, problem.tables.tables)
    released = naive.chi_square(codes, rows[labels], problem.tables.tables)
    assert released == naive.chi_square(codes, np.array(expected)[labels], problem.tables.tables)


@given(case=clustered())
@settings(max_examples=25)
def test_clique_weights_are_the_error_of_the_choice(case):
    codes, labels = case
    problem = selection(codes, labels, 2)
    p = problem.sizes.size
    parts = [range(*span) for span in zip(problem.starts, problem.starts[1:], strict=False)]
    if p < 2:
        return
    weights = edge_weights(problem)
    cliques = list(product(*parts))
    assert len(cliques) == prod(np.diff(problem.starts))
    for clique in cliques[:20]:
        weight = sum(weights[i, l] for a, i in enumerate(clique) for l in clique[a + 1 :])
        assert weight == pytest.approx(problem.chi_square(np.array(clique)), abs=1e-7)


@given(case=clustered())
@settings(max_examples=25)
def test_chi_square_is_the_sum_of_squares_less_a_constant(case):
    codes, labels = case
    problem = selection(codes, labels, 2)
    chosen = greedy(problem)
    squares = (problem.value(chosen) ** 2 / problem.target).sum()
    assert squares - len(codes) * len(problem.tables.tables) == pytest.approx(problem.chi_square(chosen), abs=1e-9)


def test_the_clique_graph_of_seven_rows_has_the_known_size():
    labels = np.array([0, 0, 1, 1, 1, 2, 2])  # Example 5.3.1
    problem = selection(np.arange(7, dtype=np.int32)[:, None], labels, 1)
    sizes = np.diff(problem.starts)
    assert comb(7, 2) - sum(comb(int(size), 2) for size in sizes) == 16
    assert prod(sizes) == 12


def test_only_records_of_the_group_are_selected(rng):
    codes = np.array([[0, 0], [0, 1], [1, 2], [2, 2]], np.int32)  # Example 5.1.3: the mode (0, 2) is no row
    for variant in ("greedy", "search", "clique", "exact"):
        assert select_representatives(codes, np.zeros(4, np.int64), variant=variant).rows.size == 1
    codes = rng.integers(0, 4, size=(60, 4)).astype(np.int32)
    labels = np.repeat(np.arange(20), 3)
    for variant in ("greedy", "search", "clique", "exact"):
        selected = select_representatives(codes, labels, variant=variant, time_limit=5.0)
        np.testing.assert_array_equal(labels[selected.rows], np.arange(20))
    rows = select_representatives(codes, labels).rows
    np.testing.assert_array_equal(table_representatives(codes, labels), rows)


def test_the_time_limit_leaves_the_best_choice_so_far_and_a_bound(rng):
    codes = rng.integers(0, 5, size=(240, 5)).astype(np.int32)
    labels = np.repeat(np.arange(80), 3)
    selected = select_representatives(codes, labels, variant="exact", time_limit=0.01)
    assert selected.rows.size == 80
    assert selected.bound <= selected.chi_square + 1e-9
    assert selected.chi_square <= selection(codes, labels).chi_square(greedy(selection(codes, labels))) + 1e-9


def test_duplicates_are_one_candidate_and_groups_of_one_candidate_are_fixed():
    problem = selection(np.array([[1], [1], [0], [1]], np.int32), np.array([0, 0, 1, 1]))
    assert problem.free.tolist() == [1]
    assert problem.entries.size == 3


def test_the_clique_heuristic_raises_for_too_many_candidates():
    codes = np.arange(6_000, dtype=np.int32)[:, None]
    with pytest.raises(ParameterError, match="6,000 candidates"):
        select_representatives(codes, np.repeat(np.arange(2_000), 3), variant="clique", tables=1)
