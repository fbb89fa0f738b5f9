"""Shades are never farther apart than their records, and trees of shades find what a scan over all records finds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.compiled import compiled
from shoal.methods.kernels.box_tree import no_stack, plant, remove, search
from shoal.methods.kernels.projected_points import SHORT, cloud_of, shades_of

from naive import distance as naive
from strategies import points_and_k


@compiled
def find(cloud, tree, gone, r, distances, found, stack):
    points, shades, _, slack = cloud
    cells, numbers, plan, places = tree
    for number in gone:
        remove(cells, numbers, plan, places, number)
    first = np.int64(1)
    search(points, shades, r, points, places, cells, numbers, plan, slack, 1.0, r, first, distances, found, stack)


@given(points_and_k(max_n=60, max_d=30))
@settings(max_examples=20)
def test_shades_are_never_farther_apart_than_records(case):
    points, _ = case
    cloud = cloud_of(points)
    assert cloud.shades.shape[1] == min(points.shape[1], SHORT)
    for r in range(len(points)):
        shade = np.sqrt(naive.squared_distances(cloud.shades, cloud.shades[r]))
        assert (shade <= np.sqrt(naive.squared_distances(points, points[r])) * (1 + 1e-10) + cloud.slack).all()


@given(points_and_k(max_n=150, max_d=30), st.integers(0, 2**32))
@settings(max_examples=20)
def test_the_nearest_records_are_those_of_a_scan(case, seed):
    points, k = case
    n = len(points)
    gone = np.random.default_rng(seed).permutation(n)[: n - k]
    free = [r for r in range(n) if r not in set(gone.tolist())]
    cloud = cloud_of(points)
    tree = plant(cloud.shades, np.arange(n))
    found = np.array([free[0]] * k)
    find(cloud, tree, gone, free[0], np.full(k, np.inf), found, no_stack())
    assert found.tolist() == naive.nearest(points, free, free[0], k)


def test_a_centroid_lies_in_the_reach_of_its_shade(rng):
    points = 1e6 + rng.normal(size=(500, 20))
    cloud = cloud_of(points)
    centre = points.mean(axis=0)
    shade = shades_of(centre[None], cloud.axes)[0]
    distances = np.sqrt(naive.squared_distances(points, centre))
    assert (np.sqrt(naive.squared_distances(cloud.shades, shade)) <= distances + cloud.slack).all()
