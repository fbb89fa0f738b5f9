"""Projections are never farther apart than their records, and trees of projections find what a scan finds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.compiled import compiled
from shoal.methods.kernels.box_tree import build_tree, remove, search, search_stack
from shoal.methods.kernels.projected_points import DIMENSIONS, project, projections_of

from naive import distance as naive
from strategies import points_and_k


@compiled
def find(projected, tree, gone, r, distances, found, stack):
    points, projections, _, margin = projected
    cells, numbers, layout, positions = tree
    for number in gone:
        remove(cells, numbers, layout, positions, number)
    first = np.int64(1)
    search(
        points, projections, r, points, positions, cells, numbers, layout, margin, 1.0, r, first, distances, found,
        stack,
    )  # fmt: skip


@given(points_and_k(max_n=60, max_d=30))
@settings(max_examples=20)
def test_projections_are_never_farther_apart_than_records(case):
    points, _ = case
    projected = project(points)
    assert projected.projections.shape[1] in (points.shape[1], min(points.shape[1], DIMENSIONS))
    for r in range(len(points)):
        distances = np.sqrt(naive.squared_distances(projected.projections, projected.projections[r]))
        assert (distances <= np.sqrt(naive.squared_distances(points, points[r])) * (1 + 1e-10) + projected.margin).all()


@given(points_and_k(max_n=150, max_d=30), st.integers(0, 2**32))
@settings(max_examples=20)
def test_the_nearest_records_are_those_of_a_scan(case, seed):
    points, k = case
    n = len(points)
    gone = np.random.default_rng(seed).permutation(n)[: n - k]
    free = [r for r in range(n) if r not in set(gone.tolist())]
    projected = project(points)
    tree = build_tree(projected.projections, np.arange(n))
    found = np.array([free[0]] * k)
    find(projected, tree, gone, free[0], np.full(k, np.inf), found, search_stack())
    assert found.tolist() == naive.nearest(points, free, free[0], k)


def test_the_projection_of_a_centroid_is_no_farther_than_the_centroid(rng):
    points = 1e6 + rng.normal(size=(500, 20)) * np.arange(1, 21)
    projected = project(points)
    assert projected.axes.size
    centre = points.mean(axis=0)
    projection = projections_of(centre[None], projected.axes)[0]
    distances = np.sqrt(naive.squared_distances(points, centre))
    assert (np.sqrt(naive.squared_distances(projected.projections, projection)) <= distances + projected.margin).all()


def test_records_that_vary_in_all_directions_are_not_projected(rng):
    points = rng.normal(size=(400, 30))
    assert project(points).projections is points
    points[:, 11:] /= 100
    assert project(points).projections.shape == (400, DIMENSIONS)
