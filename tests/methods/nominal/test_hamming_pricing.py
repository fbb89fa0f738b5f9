"""Pricing of groups: greedy, enumeration and exact search against full enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.row_classes import collapse, hamming
from shoal.methods.nominal.hamming_pricing import column_costs, enumerated_group, greedy_groups
from shoal.methods.nominal.hamming_pricing_search import ALL, BEST, BEST_OF_EACH_ROOT, search_groups
from shoal.methods.nominal.integer_construction import PUBLISHED, construct
from shoal.methods.programs.restricted_master import Cuts, Duals, no_cuts

from naive import nominal_partition as naive


@st.composite
def tables(draw, max_n=9, max_k=3):
    k = draw(st.integers(2, max_k))
    n = draw(st.integers(k, max(max_n, k)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, 4))
    codes = rng.integers(0, draw(st.integers(1, 4)), size=(n, m)).astype(np.int32)
    return codes, k, rng


def duals_of(codes, rng, scale=3.0):
    """A dual value per row, equal for equal rows."""
    table = collapse(codes)
    return table, rng.normal(scale / 3, scale / 2, size=len(table.counts))


@given(case=tables())
@settings(max_examples=40)
def test_exact_pricing_equals_the_least_reduced_cost_of_all_groups(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    columns, values, complete = search_groups(hamming(table.rows), duals, table.counts, k, threshold=np.inf)
    assert complete
    assert values[0] == pytest.approx(naive.least_reduced_cost(codes, duals[table.inverse], k), abs=1e-9)
    held = columns[0][columns[0] >= 0]
    assert k <= held.size <= 2 * k - 1
    assert (np.bincount(held, minlength=len(table.counts)) <= table.counts).all()


@given(case=tables(max_n=7))
@settings(max_examples=10)
def test_exact_pricing_equals_the_mixed_integer_program_p5(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    _, values, _ = search_groups(hamming(table.rows), duals, table.counts, k, threshold=np.inf)
    assert values[0] == pytest.approx(naive.pricing_program(codes, duals[table.inverse], k), abs=1e-6)


@given(case=tables())
@settings(max_examples=30)
def test_all_groups_below_a_threshold_are_listed_once(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    columns, values, complete = search_groups(
        hamming(table.rows), duals, table.counts, k, threshold=0.5, mode=ALL, capacity=10_000
    )
    wanted = {
        tuple(sorted(table.inverse[list(cluster)].tolist()))
        for cluster in naive.clusters(len(codes), k)
        if naive.reduced_cost(codes, duals[table.inverse], cluster) < 0.5 - 1e-9
    }
    found = [tuple(sorted(column[column >= 0].tolist())) for column in columns]
    assert complete
    assert len(found) == len(set(found))
    assert {cluster for cluster, value in zip(found, values, strict=True) if value < 0.5 - 1e-9} == wanted


@given(case=tables())
@settings(max_examples=20)
def test_cuts_add_their_dual_values_to_the_costs_of_groups(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    n = len(table.counts)
    cuts = Cuts(rng.uniform(size=(3, n)) < 0.5, np.array([2, 2, 3]), rng.uniform(0, 2, size=3))
    distance = hamming(table.rows)
    columns, values, _ = search_groups(
        distance, duals, table.counts, k, threshold=1.0, mode=ALL, cuts=cuts, capacity=10_000
    )
    reduced = Duals(duals, cuts).reduced_costs(columns, column_costs(columns, distance))
    np.testing.assert_allclose(values, reduced, atol=1e-9)
    plain = search_groups(distance, duals, table.counts, k, threshold=1.0, mode=ALL, capacity=10_000)[0]
    reduced = Duals(duals, cuts).reduced_costs(plain, column_costs(plain, distance))
    assert (reduced < 1.0 - 1e-9).sum() == (values < 1.0 - 1e-9).sum()


@given(case=tables(max_n=20))
@settings(max_examples=20)
def test_the_best_of_each_root_holds_the_best_of_all(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    distance = hamming(table.rows)
    _, best, _ = search_groups(distance, duals, table.counts, k, threshold=np.inf, mode=BEST)
    columns, values, complete = search_groups(
        distance, duals, table.counts, k, threshold=np.inf, mode=BEST_OF_EACH_ROOT
    )
    assert complete
    assert values.min() == pytest.approx(best[0], abs=1e-9)
    roots = columns[:, 0].tolist()
    assert len(roots) == len(set(roots))


def test_a_search_beyond_its_capacity_or_steps_is_incomplete(rng):
    distance = hamming(rng.integers(3, size=(30, 4)).astype(np.int32))
    counts = np.ones(30, np.int64)
    for limit in ({"capacity": 5}, {"steps": 100}):
        columns, _, complete = search_groups(
            distance, np.full(30, 2.0), counts, 3, threshold=0.0, mode=ALL, **({"capacity": 10_000} | limit)
        )
        assert not complete
        assert len(columns) <= limit.get("capacity", 10_000)


@given(case=tables(max_n=14), n_max=st.integers(1, 4))
@settings(max_examples=30)
def test_greedy_pricing_follows_algorithm_5(case, n_max):
    codes, k, rng = case
    codes = np.column_stack([codes, np.arange(len(codes))]).astype(np.int32)  # no equal rows
    duals = rng.uniform(0, 4, size=len(codes))
    found = greedy_groups(hamming(codes), duals, np.ones(len(codes), np.int64), k, most=n_max)
    assert [tuple(column[column >= 0].tolist()) for column in found] == naive.greedy_pricing(codes, duals, k, n_max)


@given(case=tables(max_n=14))
@settings(max_examples=30)
def test_greedy_groups_are_disjoint_and_of_negative_reduced_cost(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    distance = hamming(table.rows)
    found = greedy_groups(distance, duals, table.counts, k)
    used = np.bincount(found[found >= 0], minlength=len(table.counts))
    assert (used <= table.counts).all()
    reduced = Duals(duals, no_cuts(len(duals))).reduced_costs(found, column_costs(found, distance))
    assert (reduced < 0).all()


@given(case=tables(max_n=14))
@settings(max_examples=30)
def test_enumeration_finds_a_group_of_the_row_of_largest_dual_value_and_its_neighbours(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    distance = hamming(table.rows)
    found = enumerated_group(distance, duals, table.counts, k)
    root = int(duals.argmax())
    if len(found):
        held = found[0][found[0] >= 0]
        assert root in held
        assert column_costs(found, distance)[0] - duals[held].sum() < 0
    if len(codes) <= 2 * k - 1:  # all rows are among the 2k-2 nearest
        wanted = any(
            naive.reduced_cost(codes, duals[table.inverse], cluster) < -1e-6
            for cluster in naive.clusters(len(codes), k)
            if root in table.inverse[list(cluster)]
        )
        assert bool(len(found)) == wanted


@given(case=tables(max_n=25, max_k=4), exact=st.booleans(), leftovers=st.sampled_from(["increase", "total"]))
@settings(max_examples=30)
def test_the_integer_construction_always_gives_a_partition(case, exact, leftovers):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    columns = construct(
        hamming(table.rows), duals, table.counts, k, gamma=0.5, lambda_=1.0, exact=exact, leftovers=leftovers
    )
    np.testing.assert_array_equal(np.bincount(columns[columns >= 0], minlength=len(table.counts)), table.counts)
    sizes = (columns >= 0).sum(axis=1)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1


@given(case=tables(max_n=12))
@settings(max_examples=20)
def test_a_larger_reward_never_shrinks_the_best_group(case):
    codes, k, rng = case
    table, duals = duals_of(codes, rng)
    distance = hamming(table.rows)
    sizes = []
    for reward in (0.0, 0.37, 1.13, 2.71, 5.2):
        columns = search_groups(distance, 0.5 * duals + reward, table.counts, k, threshold=np.inf)[0]
        sizes.append(int((columns[0] >= 0).sum()))
    assert sizes == sorted(sizes)


def test_published_parameters_are_within_their_ranges():
    for pairs in PUBLISHED.values():
        for gamma, lambda_ in pairs.values():
            assert 0.25 <= gamma <= 0.75  # never 0 or 1
            assert 0 < lambda_ <= 3
            alpha = 1 / (2 - gamma)
            assert 0.5 <= alpha <= 1  # gamma = 2 - 1/alpha
