"""The bound of the semidefinite program, against enumeration and in fractions."""

from fractions import Fraction

import numpy as np
import pytest

import shoal.methods.optimal.semidefinite_program as module
from shoal.core.deadline import Deadline
from shoal.methods.kernels.centroids import group_costs
from shoal.methods.optimal import instant_bound, semidefinite_bound
from shoal.methods.optimal.set_partition import set_partition
from shoal.methods.running import run

from naive import optimal as naive


def test_the_bound_is_never_above_the_optimum(repetitions):
    """Ties, duplicates, offsets and scales, k from 2 to 4, enumerated without rounding."""
    for seed in range(repetitions(3_000)):
        points, k = naive.small_instance(seed)
        found = semidefinite_bound(points, k, iterations=1 + seed % 60)
        assert Fraction(found) <= naive.small_optimum(seed), f"seed {seed}"


def test_any_dual_values_and_vectors_prove_no_more_than_the_optimum(repetitions):
    """Just below the formula in fractions; without the pairs of one record the formula would be wrong."""
    wrong = 0
    for seed in range(repetitions(1_000)):
        points, k = naive.small_instance(seed)
        points, _ = module.scaled_columns(points)
        if not points.size:
            continue
        rng = np.random.default_rng([7, seed])
        size = float(module.squared_distances(points).mean())
        duals = size * rng.uniform(0, 0.7, len(points))
        vectors = np.sqrt(size) * rng.normal(scale=0.4, size=(len(points), 3))
        if seed % 3 == 0:  # vectors whose sum is zero cost least
            vectors -= vectors.mean(axis=0)
        found = Fraction(module.proven(points, k, duals, vectors))
        exact = naive.semidefinite_value(points, k, duals, vectors)
        optimum = naive.optimum(points, k)
        assert found <= max(exact, 0) <= optimum, f"seed {seed}"
        assert found >= exact - Fraction(size) / 10**9
        wrong += naive.semidefinite_value(points, k, duals, vectors, own=False) > optimum
    assert wrong > 0


def test_the_bound_is_much_closer_than_that_of_neighbours(rng):
    points = rng.normal(size=(150, 5))
    cost = float(group_costs(points, run("annealing", points, 10).labels).sum())
    near, close = instant_bound(points, 10), semidefinite_bound(points, 10)
    assert cost - close < 0.5 * (cost - near)
    assert close <= cost
    labels = run("ona-star", points, 10).labels
    assert cost - semidefinite_bound(points, 10, labels=labels) < 0.5 * (cost - near)


def test_the_bound_follows_the_scale_and_survives_extremes(rng):
    points = rng.normal(size=(30, 2))
    bound = semidefinite_bound(points, 3)
    assert semidefinite_bound(points * 2.0**-400, 3) == pytest.approx(bound * 2.0**-800, rel=1e-9)
    assert np.isfinite(semidefinite_bound(points * 2.0**511, 3))
    assert semidefinite_bound(np.ones((6, 2)), 3) == 0.0
    assert semidefinite_bound(np.array([[1.7e308], [-1.7e308], [0.0], [1e300]]), 2) >= 0.0
    few = np.array([[0.0], [1.0], [2.0]])
    assert 0.0 < semidefinite_bound(few, 3) <= 2.0
    nearly = np.repeat([[0.0], [1.0]], 3, axis=0) + 1e-150 * np.arange(6)[:, None]
    assert semidefinite_bound(nearly, 3) <= 1e-290


def test_the_work_ends_in_time_and_where_it_is_enough(rng):
    points = rng.normal(size=(60, 3))
    whole = semidefinite_bound(points, 5)
    assert 0.0 <= semidefinite_bound(points, 5, deadline=Deadline(0.0)) < whole
    assert 0.5 * whole <= semidefinite_bound(points, 5, enough=0.5 * whole) <= whole


def test_set_partition_takes_the_bound_for_a_larger_k(rng):
    points = rng.normal(size=(90, 4))
    near = set_partition(points, 9, bound="instant", steps_per_record=20).objective
    close = set_partition(points, 9, bound="semidefinite", steps_per_record=20).objective
    assert close.value == near.value
    assert close.gap < near.gap / 2
