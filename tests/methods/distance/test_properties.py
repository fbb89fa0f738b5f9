"""Properties that the papers state: costs that never rise, sizes, special cases."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import GroupTooSmall, ParameterError
from shoal.methods.auto import auto, choose
from shoal.methods.contract import labels_of
from shoal.methods.distance.lloyd import k_means
from shoal.methods.distance.mdav_plus import mdav_plus
from shoal.methods.distance.mdav_star import mdav_star
from shoal.methods.distance.ona import ona, random_start
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.distance.v_mdav import v_mdav
from shoal.methods.kernels.centroids import cost_of_joining, total_cost
from shoal.methods.refinement.ona_star_moves import refine
from shoal.methods.refinement.split import split_large
from shoal.methods.running import run

from naive import distance as naive
from strategies import points_and_k


@given(points_and_k(max_n=50), st.integers(0, 2**32))
@settings(max_examples=30)
def test_refining_is_never_worse_and_gives_k_to_2k_minus_1_records(case, seed):
    points, k = case
    labels = random_start(len(points), k, np.random.default_rng(seed))
    refined = refine(points, labels, k).labels
    Grouping(refined, k, max_size=2 * k - 1)
    before = total_cost(points, labels)
    assert total_cost(points, refined) <= before + 1e-9 * (before + 1e-300)


@given(points_and_k(max_n=30, max_k=4), st.integers(0, 2**32))
@settings(max_examples=10)
def test_no_round_of_the_refinement_raises_the_cost(case, seed):
    points, k = case
    labels = random_start(len(points), k, np.random.default_rng(seed))
    costs = [total_cost(points, refine(points, labels, k, max_rounds=rounds).labels) for rounds in range(6)]
    assert all(after <= before + 1e-9 * costs[0] for before, after in pairwise(costs))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_refining_the_result_of_ona_star_changes_nothing(k, rng):
    points = rng.normal(size=(300, 4))
    labels = ona_star(points, k).labels
    outcome = refine(points, labels, k)
    np.testing.assert_array_equal(labels, outcome.labels)
    assert outcome.diagnostics["rounds"] == 0


def test_a_grouping_below_k_cannot_be_refined(rng):
    with pytest.raises(GroupTooSmall):
        refine(rng.normal(size=(4, 2)), np.array([0, 0, 0, 1]), 2)
    with pytest.raises(ParameterError, match="max_rounds=-1"):
        refine(rng.normal(size=(4, 2)), np.array([0, 0, 0, 0]), 2, max_rounds=-1)
    with pytest.raises(ParameterError, match='split_position="start"'):
        refine(rng.normal(size=(4, 2)), np.array([0, 0, 0, 0]), 2, split_position="start")


def test_one_group_of_all_records_is_split_and_refined(rng):
    points = rng.normal(size=(200, 3))
    labels = refine(points, np.zeros(200, np.int64), 4).labels
    assert total_cost(points, labels) <= total_cost(points, mdav_plus(points, 4))


@given(points_and_k())
@settings(max_examples=25)
def test_v_mdav_without_gain_is_mdav_plus(case):
    points, k = case
    np.testing.assert_array_equal(v_mdav(points, k, gamma=0.0).labels, mdav_plus(points, k))


@given(points_and_k(max_n=20, max_k=6))
@settings(max_examples=40)
def test_mdav_star_makes_two_groups_of_2k_to_3k_minus_1_records(case):
    points, k = case
    assume(2 * k <= len(points) < 3 * k)
    assert len(Grouping(mdav_star(points, k), k, max_size=2 * k - 1)) == 2


@pytest.mark.parametrize("name", ["v-mdav", "mdav-star-gamma"])
def test_the_search_keeps_the_cheapest_gain_factor(name, rng):
    points = rng.normal(size=(60, 2))
    outcome = run(name, points, 3)
    costs = [total_cost(points, run(name, points, 3, gamma=i / 10).labels) for i in range(21)]
    assert total_cost(points, outcome.labels) == pytest.approx(min(costs), rel=1e-12)
    assert outcome.diagnostics["gamma"] == np.argmin(costs) / 10
    assert list(outcome.diagnostics["cost_of_each_gamma"]) == [f"{i / 10}" for i in range(21)]
    with pytest.raises(ParameterError, match="gamma=-1"):
        run(name, points, 3, gamma=-1.0)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_groups_of_equal_records_cost_exactly_nothing(offset, rng):
    """Identical records, as in Adult: every group is constant where the counts allow it."""
    points = np.repeat(rng.normal(size=(40, 3)), 6, axis=0) + offset
    for function in (mdav_star, ona_star, mdav_plus):
        assert total_cost(points, labels_of(function(points, 3))) == 0.0


def test_more_runs_of_ona_are_never_worse(rng):
    points = rng.normal(size=(90, 2))
    few, many = (ona(points, 3, runs=runs, seed=4).labels for runs in (2, 5))
    assert total_cost(points, many) <= total_cost(points, few)


@pytest.mark.parametrize("start", ["k-means++", "forgy", "partition"])
def test_k_means_finds_separate_clusters(start, rng):
    points = np.repeat(np.eye(4) * 50, 20, axis=0) + rng.normal(size=(80, 4))
    costs = []
    for seed in range(8):
        labels, rounds = k_means(points, 4, np.random.default_rng(seed), start=start)
        assert 2 <= rounds <= 50
        costs.append(total_cost(points, labels))
    assert min(costs) < 500


def test_options_that_are_not_possible_raise_parameter_error(rng):
    points = rng.normal(size=(9, 2))
    with pytest.raises(ParameterError, match=r"start=\"best\" is not possible; choose one of k-means\+\+"):
        run("lloyd", points, 3, start="best")
    for name, options in {"lmas": {"runs": 0}, "ona": {"runs": 0}, "pcl": {"steps": 0}}.items():
        with pytest.raises(ParameterError, match="=0 is not possible; choose an integer at least 1"):
            run(name, points, 3, **options)


def test_k_means_needs_a_possible_number_of_clusters(rng):
    with pytest.raises(ParameterError, match="clusters=10"):
        k_means(rng.normal(size=(9, 2)), 10, rng)


def test_large_groups_are_split_by_mdav_plus(rng):
    points = rng.normal(size=(50, 2))
    labels = split_large(points, np.zeros(50, np.int64), 4)
    np.testing.assert_array_equal(canonical_labels(labels), canonical_labels(mdav_plus(points, 4)))


@given(st.integers(2, 12), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32))
@settings(max_examples=25)
def test_costs_of_joining_equal_the_recomputed_ones(m, d, joining, seed):
    """Corollary 2.20 and theorem 2.19 of Thaeter 2021, by the kernel that all methods use."""
    points = np.random.default_rng(seed).normal(size=(m + joining, d))
    sums = np.stack([points[:m].sum(axis=0), np.zeros(d)])[None]
    members = np.arange(m, m + joining)
    centroids = points[:m].mean(axis=0)[None]
    rise = cost_of_joining.function(np.array([m]), sums, centroids, 0, points, members, joining)
    assert rise == pytest.approx(naive.cost(points) - naive.cost(points[:m]), rel=1e-9, abs=1e-12)


def test_auto_selects_the_method_that_loses_least_and_states_the_reason(rng):
    points = rng.normal(size=(100, 3))
    outcome = auto(points, 4)
    assert outcome.method == "annealing"
    assert "effort balanced" in outcome.reason
    np.testing.assert_array_equal(outcome.labels, run("annealing", points, 4, **outcome.options).labels)
    assert choose(5_000_000, 10, 5).options["start"] == "mona-plus"
