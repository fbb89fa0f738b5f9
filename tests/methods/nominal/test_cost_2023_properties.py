"""Properties of Cost 2023 that hold across steps: distances, duality, bounds, and the tables it draws."""

from itertools import product
from math import ceil, comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.deadline import Deadline
from shoal.core.frequency_errors import frequency_errors
from shoal.core.frequency_tables import full_rows
from shoal.core.row_classes import collapse, hamming, unsafe_rows, within_group_distance
from shoal.datasets import nominal_problems
from shoal.methods.nominal.chi_square_program import chi_square_vector
from shoal.methods.nominal.clique_choice import clique_choice, edge_weights
from shoal.methods.nominal.column_generation import column_generation, heuristic_master
from shoal.methods.nominal.distinct_rows import Problem
from shoal.methods.nominal.frequency_vectors import adjusted_vector, frequency_vector
from shoal.methods.nominal.hamming_pricing_search import search_groups
from shoal.methods.nominal.largest_error_program import largest_error_vector
from shoal.methods.nominal.safe import extra_error
from shoal.methods.nominal.table_representatives import select_representatives, selection
from shoal.methods.running import run

from naive import nominal_partition as naive


@st.composite
def tables(draw, least=4, most=9):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, draw(st.integers(1, 4)), size=(draw(st.integers(least, most)), 3)).astype(np.int32)
    return codes, draw(st.integers(2, 3)), rng


@given(case=tables())
@settings(max_examples=25)
def test_hamming_distances_are_a_metric(case):  # A4
    codes, _, _ = case
    distance = hamming(codes)
    np.testing.assert_array_equal(distance, distance.T)
    np.testing.assert_array_equal(distance == 0, (codes[:, None] == codes[None]).all(axis=2))
    assert (distance[:, None] <= distance[:, :, None] + distance[None]).all()
    assert distance.max() <= codes.shape[1]


@pytest.mark.parametrize(("n", "k"), [(5, 2), (7, 3), (9, 3), (4, 4)])
def test_pricing_reaches_every_cluster_of_k_to_2k_minus_1_rows(n, k):  # B2
    """With rewards for the rows of one cluster only, this cluster is the best of all that the formula counts."""
    codes = np.arange(3 * n, dtype=np.int32).reshape(n, 3)  # all rows differ everywhere
    clusters = list(naive.clusters(n, k))
    assert len(clusters) == sum(comb(n, size) for size in range(k, 2 * k))
    for cluster in clusters:
        rewards = np.zeros(n)
        rewards[list(cluster)] = 100.0
        found = search_groups(hamming(codes), rewards, np.ones(n, np.int64), k, threshold=np.inf)[1].min()
        assert found == pytest.approx(naive.reduced_cost(codes, rewards, cluster))


@given(case=tables())
@settings(max_examples=15)
def test_the_column_of_all_rows_only_begins_the_master(case):  # B4, B6
    codes, k, _ = case
    table = collapse(codes)
    value, duals, _ = heuristic_master(Problem(hamming(table.rows), table.counts, k, 1.0), Deadline(None))
    assert duals @ table.counts == pytest.approx(value, abs=1e-6)
    everything = sum(naive.distance(a, b) for i, a in enumerate(codes) for b in codes[:i])
    assert naive.linear_optimum(codes, k) <= value + 1e-6 <= everything + 2e-6


@given(case=tables())
@settings(max_examples=20)
def test_the_next_cluster_is_priced_like_a_column_or_without_duals(case):  # B10
    codes, k, rng = case
    table = collapse(codes)
    duals = rng.uniform(0, 4, size=table.counts.size)

    def best(rewards):
        return search_groups(hamming(table.rows), rewards, table.counts, k, threshold=np.inf)[1].min()

    rows = duals[table.inverse]
    assert best(1.0 * duals + 0.0) == pytest.approx(naive.least_reduced_cost(codes, rows, k))  # gamma = 1: P6 is P5
    least = min(naive.group_distance(codes, cluster) for cluster in naive.clusters(len(codes), k))
    assert best(0.0 * duals) == pytest.approx(least)  # gamma = 0: duals do not matter


@given(case=tables())
@settings(max_examples=20)
def test_the_bound_of_column_generation_is_a_lagrangian_bound(case):  # B11, B12
    """It lies between the best of random dual values, over all sets of clusters, and the least distance."""
    codes, k, rng = case
    n = len(codes)
    columns = list(naive.clusters(n, k))
    distances = np.array([naive.group_distance(codes, cluster) for cluster in columns])
    inside = np.array([[i in cluster for i in range(n)] for cluster in columns], float)

    def lagrangian(duals):  # h(u), which every set of clusters exceeds by epsilon, and a partition by epsilon + delta
        return duals.sum() + np.minimum(distances - inside @ duals, 0).sum()

    objective = column_generation(codes, k).objective
    best = max(lagrangian(rng.uniform(0, 3, size=n)) for _ in range(20))
    assert best - 1e-9 <= objective.bound <= naive.least_distance(codes, k) + 1e-9


@pytest.mark.parametrize("name", ["nominal", "column-generation"])
def test_a_k_anonymous_table_has_distance_zero_at_any_size(name, rng):  # B3
    codes = np.repeat(full_rows([10, 10, 9])[:700], rng.integers(3, 9, size=700), axis=0)
    outcome = run(name, codes, 3)
    assert outcome.objective.value == within_group_distance(codes, outcome.labels) == 0
    assert np.bincount(outcome.labels).max() <= 5


def test_one_way_tables_can_stay_while_two_way_tables_change():  # Example 5.1.1
    before = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    after = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    errors = frequency_errors(before, after)
    assert errors.dimensions[1].chi_square == 0
    assert errors.dimensions[2].chi_square == 4
    assert (errors.dimensions[2].max_absolute, errors.dimensions[2].max_relative) == (1, 1)


@given(case=tables(least=6, most=12))
@settings(max_examples=25)
def test_the_clique_heuristic_bounds_the_edges_of_a_candidate_and_leaves_one_each(case):  # C2, C7
    codes, k, _ = case
    labels = np.arange(len(codes)) % (len(codes) // k)
    problem = selection(codes, labels, 2)
    parts = [range(*span) for span in zip(problem.starts, problem.starts[1:], strict=False)]
    chosen = clique_choice(problem)
    assert [sum(i in part for i in chosen) for part in parts] == [1] * len(parts)
    if len(parts) < 2:
        return
    weights = edge_weights(problem)
    errors = []
    for clique in product(*parts):
        errors.append(problem.chi_square(np.array(clique)))
        for position, i in enumerate(clique):
            bound = sum(min(weights[i, l] for l in part) for other, part in enumerate(parts) if other != position)
            assert bound <= sum(weights[i, l] for l in clique if l != i) + 1e-7
    assert min(errors) <= problem.chi_square(chosen) + 1e-9


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_exact_programs_are_not_beaten_by_methods_that_keep_the_number_of_records(share):  # D1, D2, D3, D7
    codes = nominal_problems(60, share, seed=4, domains=(3, 4, 5))
    vector = frequency_vector(codes)
    tolerance, weight = extra_error(vector.target), 1 / 60
    start = adjusted_vector(vector, vector.counts, 3, 60)
    p1 = largest_error_vector(vector, 3, tolerance=tolerance)
    p3 = largest_error_vector(vector, 3, tolerance=tolerance, weight=weight)
    p9 = chi_square_vector(vector, 3, weight=weight, start=start)
    assert p1.optimal
    assert p3.optimal
    assert p9.optimal
    assert p3.value <= vector.largest(p1.y, tolerance) + weight * vector.distance(p1.y) + 1e-9
    assert p1.value <= vector.largest(p3.y, tolerance) + 1e-9
    assert p9.value == pytest.approx(vector.chi_square(p9.y) + weight * vector.distance(p9.y))
    others = [start, p1.y, p3.y]
    for name in ("own-hee", "own-hhg", "rand-e", "chi-search", "safe"):
        outcome = run(name, codes, 3)
        released = vector.distinct.inverse[outcome.representatives[outcome.labels]]
        others.append(np.bincount(released, minlength=vector.counts.size))
    for y in others:
        assert y.sum() == 60
        assert not ((y > 0) & (y < 3)).any()
        assert p1.value <= vector.largest(y, tolerance) + 1e-9
        assert p3.value <= vector.largest(y, tolerance) + weight * vector.distance(y) + 1e-9
        assert p9.value <= vector.chi_square(y) + weight * vector.distance(y) + 1e-6


def test_tolerances_need_not_be_integers():
    codes = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 2]], np.int32), [1, 5, 2, 22], axis=0)
    vector = frequency_vector(codes)
    tolerance = vector.target / 7
    found = largest_error_vector(vector, 3, tolerance=tolerance)
    assert found.optimal
    best = np.inf
    for y in product(*([0, *range(3, 31)] for _ in vector.counts[:-1])):
        last = 30 - sum(y)
        if last == 0 or last >= 3:
            best = min(best, vector.largest(np.array([*y, last]), tolerance))
    assert found.value == pytest.approx(best)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_generated_tables_have_the_requested_share_of_unsafe_records(share, k):  # E2
    codes = nominal_problems(200, share, k, seed=3)
    rare = unsafe_rows(codes, k)
    assert len(codes) == 200
    assert rare.sum() == ceil(share * 200)


def test_released_tables_agree_with_each_other_and_hold_no_small_cell(rng):  # C1
    codes = rng.integers(0, 3, size=(60, 4)).astype(np.int32)
    labels = column_generation(codes, 3, time_limit=20.0).labels
    rows = select_representatives(codes, labels, variant="exact", time_limit=5.0).rows
    released = codes[rows[labels]]
    for columns in ([0], [1, 3], [0, 1, 2], [0, 1, 2, 3]):
        found, counts = np.unique(released[:, columns], axis=0, return_counts=True)
        assert counts.min() >= 3
        assert {tuple(row) for row in found.tolist()} <= {tuple(row) for row in codes[:, columns].tolist()}
