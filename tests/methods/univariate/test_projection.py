"""Many columns: projections, k-means with merging, the forest of nearest neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings

from shoal.core.grouping import Grouping
from shoal.errors import ParameterError
from shoal.methods.registry import get_method
from shoal.methods.running import run
from shoal.methods.univariate.k_means_merged import k_means_merged
from shoal.methods.univariate.leaf_cut_forest import _cut
from shoal.methods.univariate.nearest_neighbour_forest import nearest_neighbour_forest
from shoal.methods.univariate.optimal_1d import optimal_1d
from shoal.methods.univariate.projection import (
    grouped_sse,
    individual_ranking_not_jointly_anonymous,
    principal_axis,
    projection,
)

from strategies import points_and_k

METHODS = ["projection", "k-means-merged", "nearest-neighbour-forest"]


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=60)
@given(case=points_and_k(max_d=50))
def test_groups_are_never_below_k(name, case):
    points, k = case
    method = get_method(name)
    before = points.copy()
    labels = run(name, points, k).labels
    Grouping(labels, k, max_size=method.max_size and method.max_size(k))
    np.testing.assert_array_equal(labels, run(name, points, k).labels)
    np.testing.assert_array_equal(points, before)


@settings(max_examples=30)
@given(case=points_and_k(max_d=5))
def test_options_keep_groups_at_k(case):
    points, k = case
    for factor in (0.5, 2.0, 100.0):
        Grouping(k_means_merged(points, k, factor=factor, seed=3).labels, k)
    Grouping(projection(points, k, axis="random", directions=3, signed=True).labels, k, max_size=2 * k - 1)
    Grouping(nearest_neighbour_forest(points, k, seed=5), k, max_size=2 * k - 1)


def test_one_column_is_its_own_projection(rng):
    values = rng.normal(size=200)
    np.testing.assert_array_equal(projection(values[:, None], 5).labels, optimal_1d(values, 5))


def test_principal_axis_finds_the_long_side(rng):
    points = rng.normal(size=(500, 1)) * np.array([[3.0, -4.0]]) + 0.01 * rng.normal(size=(500, 2))
    np.testing.assert_allclose(principal_axis(points - points.mean(axis=0)), [-0.6, 0.8], atol=1e-3)


def test_more_directions_are_never_worse(rng):
    points = rng.normal(size=(300, 4))
    outcomes = [projection(points, 4, axis="random", directions=tries, seed=2) for tries in (1, 5, 20)]
    for outcome in outcomes:
        assert outcome.objective.value == pytest.approx(grouped_sse(points, outcome.labels))
        assert outcome.objective.value == min(outcome.diagnostics["sse_of_each_direction"])
    losses = [outcome.objective.value for outcome in outcomes]
    assert losses == sorted(losses, reverse=True)
    few, many = (outcome.diagnostics["sse_of_each_direction"] for outcome in outcomes[1:])
    assert many[:5] == few


def test_individual_ranking_is_not_anonymous_over_two_columns(rng):
    points = rng.normal(size=(300, 2))
    labels = individual_ranking_not_jointly_anonymous(points, 5)
    assert labels.shape == (300, 2)
    for column in range(2):
        Grouping(labels[:, column], 5)
    assert np.unique(labels, axis=0, return_counts=True)[1].min() < 5
    assert "not k-anonymous" in individual_ranking_not_jointly_anonymous.__doc__


def test_a_path_is_cut_into_neighbours():
    path = {record: [r for r in (record - 1, record + 1) if 0 <= r < 10] for record in range(10)}
    groups = _cut(path, 3)
    assert sorted(map(len, groups)) == [3, 3, 4]
    assert all(max(group) - min(group) == len(group) - 1 for group in groups)


def test_a_star_is_cut_although_all_edges_meet():
    star = {0: list(range(1, 12)), **{leaf: [0] for leaf in range(1, 12)}}
    groups = _cut(star, 3)
    assert sorted(record for group in groups for record in group) == list(range(12))
    assert min(map(len, groups)) >= 3
    assert max(map(len, groups)) <= 5


def test_k_means_finds_separated_clusters(rng):
    points = np.repeat(rng.normal(scale=100, size=(10, 3)), 6, axis=0) + 0.01 * rng.normal(size=(60, 3))
    labels = k_means_merged(points, 5, factor=1.0, seed=1).labels
    assert all(np.unique(labels[6 * c : 6 * c + 6]).size == 1 for c in range(10))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda p: run("projection", p, 2, axis="minor"), 'axis="minor" is not possible'),
        (lambda p: run("projection", p, 2, axis="random", directions=0), "directions=0 is not possible"),
        (lambda p: run("k-means-merged", p, 2, factor=0.0), "factor=0.0 is not possible"),
    ],
)
def test_wrong_options_raise_an_error_that_names_them(call, text):
    with pytest.raises(ParameterError, match=text):
        call(np.zeros((4, 2)))
