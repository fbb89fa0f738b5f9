"""The baselines for nominal records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.frequency_tables import full_rows
from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.row_classes import hamming, within_group_distance
from shoal.errors import DataError, ParameterError
from shoal.methods.nominal.c_modes import c_modes
from shoal.methods.nominal.castro_rounding import castro_rounding, round_columns, round_edges
from shoal.methods.nominal.distinct_rows import Problem
from shoal.methods.nominal.k_member import k_member
from shoal.methods.nominal.nominal_mdav import nominal_mdav
from shoal.methods.nominal.nominal_v_mdav import nominal_v_mdav
from shoal.methods.nominal.random_groups import random_groups
from shoal.methods.running import run

from naive import nominal_baselines as baselines
from naive import nominal_partition as naive


@given(seed=st.integers(0, 10_000), n=st.integers(4, 40), k=st.integers(2, 4), values=st.integers(1, 5))
@settings(max_examples=40)
def test_nominal_mdav_agrees_with_its_reference_implementation(seed, n, k, values):
    codes = np.random.default_rng(seed).integers(0, values, size=(max(n, k), 3)).astype(np.int32)
    np.testing.assert_array_equal(nominal_mdav(codes, k), canonical_labels(naive.mdav(codes.tolist(), k)))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 200), k=st.integers(2, 9))
@settings(max_examples=40)
def test_random_sizes_lie_between_k_and_2k_minus_1(seed, n, k):
    codes = np.zeros((max(n, k), 1), np.int32)
    Grouping(random_groups(codes, k, seed=seed), k, max_size=2 * k - 1)


def test_a_gain_of_zero_keeps_groups_at_k_and_a_large_one_lets_them_grow(rng):
    codes = rng.integers(0, 4, size=(60, 3)).astype(np.int32)
    assert np.bincount(nominal_v_mdav(codes, 3, gamma=0.0)).tolist() == [3] * 20
    assert np.bincount(nominal_v_mdav(codes, 3, gamma=100.0)).max() == 5
    with pytest.raises(ParameterError, match="option gamma=-1 is not possible; choose a number at least 0"):
        run("nominal-v-mdav", codes, 3, gamma=-1)


def test_every_baseline_but_random_groups_equal_rows_together(rng):
    codes = np.repeat(rng.permutation(30).astype(np.int32), 3)[:, None][rng.permutation(90)]
    for method in (nominal_mdav, nominal_v_mdav, k_member):
        assert within_group_distance(codes, method(codes, 3)) == 0
    assert within_group_distance(codes, random_groups(codes, 3)) > 0


def test_c_modes_merges_small_clusters_and_raises_for_impossible_numbers(rng):
    codes = rng.integers(0, 3, size=(80, 4)).astype(np.int32)
    for clusters in (1, 5, 80):
        Grouping(c_modes(codes, 4, clusters=clusters), 4)
    assert c_modes(codes, 4, clusters=1).max() == 0
    with pytest.raises(ParameterError, match="clusters=81 is not possible; choose 1 to 80"):
        c_modes(codes, 4, clusters=81)
    with pytest.raises(ParameterError, match="option clusters=0 is not possible"):
        run("c-modes", codes, 4, clusters=0)


def test_all_baselines_are_better_than_random_groups(rng):
    centres = rng.integers(0, 6, size=(12, 6))
    codes = centres[rng.integers(12, size=240)]
    codes = np.where(rng.uniform(size=codes.shape) < 0.2, rng.integers(0, 6, size=codes.shape), codes).astype(np.int32)
    at_random = within_group_distance(codes, random_groups(codes, 3))
    for method in (nominal_mdav, nominal_v_mdav, k_member):
        assert within_group_distance(codes, method(codes, 3)) < 0.6 * at_random


def drawn(seed, n, m=3, values=4):
    return np.random.default_rng(seed).integers(0, values, size=(n, m)).astype(np.int32)


@given(
    seed=st.integers(0, 10_000), n=st.integers(4, 30), k=st.integers(2, 4), gamma=st.sampled_from([0.0, 0.6, 1.0, 2.0])
)
@settings(max_examples=40)
def test_v_mdav_agrees_with_its_reference_implementation(seed, n, k, gamma):
    codes = drawn(seed, n)
    expected = baselines.v_mdav(codes.tolist(), k, gamma)
    np.testing.assert_array_equal(nominal_v_mdav(codes, k, gamma=gamma), canonical_labels(np.array(expected)))


@given(seed=st.integers(0, 10_000), n=st.integers(4, 30), k=st.integers(2, 4))
@settings(max_examples=40)
def test_k_member_agrees_with_its_reference_implementation(seed, n, k):
    codes = drawn(seed, n)
    first = int(np.random.default_rng(seed).integers(n))
    expected = baselines.k_member(codes.tolist(), k, first)
    np.testing.assert_array_equal(k_member(codes, k, seed=seed), canonical_labels(np.array(expected)))


@given(seed=st.integers(0, 10_000), n=st.integers(4, 30), k=st.integers(2, 4), passes=st.integers(1, 20))
@settings(max_examples=40)
def test_c_modes_agrees_with_its_reference_implementation(seed, n, k, passes):
    codes = drawn(seed, n)
    first = np.random.default_rng(seed).choice(n, n // k, replace=False)
    expected = baselines.c_modes(codes.tolist(), k, first.tolist(), passes)
    np.testing.assert_array_equal(c_modes(codes, k, passes=passes, seed=seed), canonical_labels(np.array(expected)))


@st.composite
def fractional_solutions(draw):
    """Distinct rows and a fractional solution that is a weighted mean of up to three groupings."""
    seed, k, values = draw(st.integers(0, 10_000)), draw(st.integers(2, 3)), draw(st.integers(2, 3))
    rng = np.random.default_rng(seed)
    rows = full_rows([values, 3, 3])
    codes = rows[np.sort(rng.choice(len(rows), draw(st.integers(k, 12)), replace=False))]
    parts = rng.dirichlet(np.ones(draw(st.integers(1, 3))))
    shares = {}
    for part in parts:
        labels = random_groups(codes, k, seed=int(rng.integers(1000)))
        for group in range(labels.max() + 1):
            members = tuple(np.flatnonzero(labels == group).tolist())
            shares[members] = shares.get(members, 0.0) + float(part)
    return codes, k, list(shares.items())


def as_problem(codes, k, shares):
    columns = np.full((len(shares), 2 * k - 1), -1, np.int32)
    for line, (members, _) in zip(columns, shares, strict=True):
        line[: len(members)] = members
    problem = Problem(hamming(codes), np.ones(len(codes), np.int64), k, 1.0)
    return problem, columns, np.array([share for _, share in shares])


@given(case=fractional_solutions())
@settings(max_examples=60)
def test_rounding_takes_the_columns_of_its_reference_implementation(case):
    codes, k, shares = case
    problem, columns, values = as_problem(codes, k, shares)
    rounded = [tuple(row[row >= 0].tolist()) for row in round_columns(problem, columns, values)]
    expected = baselines.whole_columns(shares)
    if 0 < len(codes) - sum(map(len, expected)) < k:  # too few rows are left for a group: the last column is dissolved
        expected.pop()
    assert rounded[: len(expected)] == expected
    assert sorted(i for members in rounded for i in members) == list(range(len(codes)))
    assert all(k <= len(members) < 2 * k for members in rounded)


@given(case=fractional_solutions())
@settings(max_examples=60)
def test_rounding_merges_along_the_edges_of_its_reference_implementation(case):
    codes, k, shares = case
    labels = round_edges(*as_problem(codes, k, shares), np.arange(len(codes)))
    Grouping(labels, k, max_size=2 * k - 1)
    merged = baselines.merged_edges(codes.tolist(), k, shares)
    found = {tuple(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)}
    if all(len(members) >= k for members in merged):
        assert found == {tuple(members) for members in merged}
    if all(share > 0.999 for _, share in shares):
        assert found == {members for members, _ in shares}


@given(seed=st.integers(0, 10_000), n=st.integers(3, 9), k=st.integers(2, 3), values=st.integers(1, 4))
@settings(max_examples=30)
def test_rounding_lies_between_the_optimum_and_its_variants(seed, n, k, values):
    codes = drawn(seed, n, values=values)
    outcome = castro_rounding(codes, k)
    Grouping(outcome.labels, k, max_size=2 * k - 1)
    linear = naive.linear_optimum(codes.tolist(), k)
    assert outcome.diagnostics["linear_value"] == pytest.approx(linear, abs=1e-6)
    least = naive.least_distance(codes.tolist(), k)
    assert outcome.objective.bound <= least <= outcome.objective.value
    assert outcome.objective.value == within_group_distance(codes, outcome.labels)
    assert outcome.diagnostics["roundings"] >= 1
    for rounding in ("columns", "edges"):
        assert castro_rounding(codes, k, rounding=rounding).objective.value >= outcome.objective.value


def test_rounding_uses_every_fractional_solution_and_ends_at_the_time_limit(rng):
    codes = rng.integers(0, [2, 5, 6], size=(40, 3)).astype(np.int32)
    outcome = castro_rounding(codes, 3)
    assert outcome.diagnostics["roundings"] > 2
    assert outcome.diagnostics["linear_value"] <= outcome.objective.value
    assert outcome.objective.value <= within_group_distance(codes, random_groups(codes, 3))
    late = castro_rounding(codes, 3, time_limit=0.0)
    Grouping(late.labels, 3, max_size=5)
    assert late.diagnostics["roundings"] == 1
    assert late.stopped == "time limit"
    assert 0 < late.objective.bound <= outcome.objective.value


def test_rounding_groups_equal_records_together_and_raises_for_unknown_options():
    codes = np.repeat(np.arange(5, dtype=np.int32), 3)[:, None]
    for rounding in ("columns", "edges", "both"):
        assert castro_rounding(codes, 3, rounding=rounding).objective.value == 0
    with pytest.raises(ParameterError, match='rounding="up" is not possible; choose one of both, columns, edges'):
        run("castro-rounding", codes, 3, rounding="up")
    with pytest.raises(DataError, match='at most 3,000 records; the table has 3,001; choose method "nominal"'):
        castro_rounding(np.zeros((3001, 1), np.int32), 3)
