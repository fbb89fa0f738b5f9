"""Every distance-based method gives exactly the groups of its reference implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT
from shoal.methods.contract import labels_of
from shoal.methods.distance.density import density
from shoal.methods.distance.lloyd import k_means, merge
from shoal.methods.distance.max_distance import max_distance
from shoal.methods.distance.mdav import mdav
from shoal.methods.distance.mdav_plus import mdav_plus
from shoal.methods.distance.mdav_star import mdav_star, mdav_star_gamma
from shoal.methods.distance.ona import local_search, random_start
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.distance.rank_sum import rank_sum
from shoal.methods.distance.spanning_tree import spanning_tree
from shoal.methods.distance.tfrp import tfrp
from shoal.methods.distance.v_mdav import v_mdav
from shoal.methods.kernels.k_means_kernels import draw_centres
from shoal.methods.refinement.ona_star_moves import refine

from naive import distance as naive
from naive import distance_moves, distance_others
from strategies import points_and_k

REFERENCES = {
    "mdav": (mdav, naive.mdav),
    "mdav-plus": (mdav_plus, naive.mdav_plus),
    "v-mdav, 0.2": (lambda x, k: v_mdav(x, k, gamma=0.2), lambda x, k: naive.v_mdav(x, k, 0.2)),
    "v-mdav, 1.1": (lambda x, k: v_mdav(x, k, gamma=1.1), lambda x, k: naive.v_mdav(x, k, 1.1)),
    "mdav-star": (mdav_star, naive.mdav_star),
    "mdav-star by cost": (
        lambda x, k: mdav_star(x, k, closest="cost"),
        lambda x, k: naive.mdav_star(x, k, by_cost=True),
    ),
    "mdav-star-gamma, 0.8": (
        lambda x, k: mdav_star_gamma(x, k, gamma=0.8),
        lambda x, k: naive.mdav_star(x, k, 0.8, with_neighbour=True),
    ),
    "mdav-star-gamma, 1.3": (
        lambda x, k: mdav_star_gamma(x, k, gamma=1.3, closest="cost"),
        lambda x, k: naive.mdav_star(x, k, 1.3, with_neighbour=True, by_cost=True),
    ),
    "rank-sum": (rank_sum, distance_others.rank_sum),
    "tfrp": (tfrp, distance_others.tfrp),
    "spanning-tree": (spanning_tree, distance_others.spanning_tree),
}
SLOW_REFERENCES = {
    "max-distance": (max_distance, naive.max_distance),
    "density": (density, distance_others.density),
    "ona-star": (ona_star, distance_moves.ona_star),
    "ona-star by centroid": (
        lambda x, k: ona_star(x, k, closest="centroid"),
        lambda x, k: distance_moves.ona_star(x, k, by_cost=False),
    ),
}


def assert_same_groups(left, right):
    np.testing.assert_array_equal(canonical_labels(labels_of(left)), canonical_labels(labels_of(right)))


@pytest.mark.parametrize("name", REFERENCES)
@given(case=points_and_k())
@settings(max_examples=20)
def test_the_groups_are_those_of_the_reference_implementation(name, case):
    points, k = case
    fast, slow = REFERENCES[name]
    assert_same_groups(fast(points, k), slow(points, k))


@pytest.mark.parametrize("name", SLOW_REFERENCES)
@given(case=points_and_k(max_n=36, max_k=5))
@settings(max_examples=10)
def test_the_groups_are_those_of_the_slow_reference_implementation(name, case):
    points, k = case
    fast, slow = SLOW_REFERENCES[name]
    assert_same_groups(fast(points, k), slow(points, k))


@pytest.mark.parametrize("name", [name for name in REFERENCES if "v-mdav" not in name])
@pytest.mark.parametrize(("n", "d", "k"), [(400, 3, 3), (150, 50, 5), (230, 7, 50)])
def test_trees_of_many_leaves_change_nothing(name, n, d, k, rng):
    points = rng.standard_t(3, size=(n, d)).round(2)
    fast, slow = REFERENCES[name]
    assert_same_groups(fast(points, k), slow(points, k))


@pytest.mark.parametrize(("n", "d", "k"), [(130, 3, 3), (90, 20, 4)])
def test_ona_star_with_an_index_of_several_leaves_equals_its_reference(n, d, k, rng):
    points = rng.standard_t(3, size=(n, d)).round(1)
    assert_same_groups(ona_star(points, k), distance_moves.ona_star(points, k))


@given(points_and_k(max_n=40), st.integers(0, 2**32))
@settings(max_examples=20)
def test_refining_any_grouping_equals_the_naive_rounds(case, seed):
    points, k = case
    labels = random_start(len(points), k, np.random.default_rng(seed))
    assert_same_groups(refine(points, labels, k), distance_moves.refine(points, labels, k))


@given(points_and_k(max_n=30), st.integers(0, 2**32), st.sampled_from(["dissolve", "reassign"]), st.booleans())
@settings(max_examples=15)
def test_single_phases_equal_the_naive_phases(case, seed, phases, indexed):
    points, k = case
    labels = random_start(len(points), k, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        if indexed:
            patch.setattr("shoal.methods.kernels.small_mdav.SMALL_TABLE_RECORDS", 0)
        found = refine(points, labels, k, phases=phases)
    expected = distance_moves.refine(points, labels, k, phases=phases)
    assert_same_groups(found, expected)
    other = "dissolved_groups" if phases == "reassign" else "reassigned_records"
    assert found.diagnostics[other] == 0


@given(points_and_k(max_n=30, max_d=3), st.integers(0, 2**32))
@settings(max_examples=15)
def test_a_run_of_ona_equals_the_naive_run(case, seed):
    points, k = case
    if not np.array_equal(points, points.round(6)):  # sums of the two parts are single floats: avoid ties
        points = points - points.mean(axis=0)
    labels = random_start(len(points), k, np.random.default_rng(seed))
    found, _ = local_search(points, labels, k, 30, np.array([seed], np.uint64), SILENT)
    assert_same_groups(found, distance_moves.ona(points, labels, k, seed))


@pytest.mark.parametrize(("n", "d", "clusters"), [(50, 2, 7), (400, 4, 120), (300, 1, 40)])
def test_k_means_equals_the_naive_rounds(n, d, clusters, rng):
    points = rng.normal(size=(n, d))
    chosen = np.random.default_rng(5).choice(n, clusters, replace=False)
    found, _ = k_means(points, clusters, np.random.default_rng(5), start="forgy")
    assert_same_groups(found, distance_moves.k_means(points, points[chosen]))


@given(points_and_k(max_n=40), st.integers(0, 2**32))
@settings(max_examples=20)
def test_merging_equals_the_naive_merging(case, seed):
    points, k = case
    labels = np.random.default_rng(seed).integers(0, len(points) // 2 + 1, size=len(points))
    labels = np.unique(labels, return_inverse=True)[1]
    if k <= len(points):
        assert_same_groups(merge(points, labels, k), distance_moves.merge(points, labels, k))


def test_centres_are_drawn_by_squared_distance():
    points = np.array([[0.0], [0.0], [1.0], [3.0]])
    uniform = np.linspace(0, 1, 1000, endpoint=False)
    drawn = [int(draw_centres(points, 0, np.array([u]))[1]) for u in uniform]
    assert np.bincount(drawn, minlength=4).tolist() == [0, 0, 100, 900]
