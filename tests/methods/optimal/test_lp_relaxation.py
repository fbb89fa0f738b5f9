"""The linear relaxation: below every integer solution, exact over all centroids, and a bound over a grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.methods.optimal import (
    dual_bound,
    grid_bound,
    grid_candidates,
    integrality_gap,
    pair_candidates,
    relax,
    subset_candidates,
)
from shoal.methods.optimal.brute_force import brute_force

from naive import optimal as naive


def instance(seed, largest_n=7):
    """Few records of a nasty kind, within some units of the origin."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    n = int(rng.integers(k, largest_n + 1))
    points = rng.normal(size=(n, 2))
    if seed % 4 == 1:
        points = rng.integers(0, 3, size=(n, 2)).astype(float)
    elif seed % 4 == 2:
        points = points[rng.integers(0, max(1, n // 2), n)]
    elif seed % 4 == 3:
        points[:, 0] = 7.0
    return points, k


def optimum(points, k):
    return float(naive.grouping_cost(points, brute_force(points, k).labels))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=60)
def test_over_all_centroids_the_relaxation_is_below_and_the_integer_solution_is_the_optimum(seed):
    points, k = instance(seed)
    best = optimum(points, k)
    candidates = subset_candidates(points, k)
    fractional = relax(points, k, candidates)
    assert fractional.bound <= best * (1 + 1e-9) + 1e-12
    assert fractional.bound <= fractional.value * (1 + 1e-6) + 1e-9
    assert fractional.bound >= fractional.value - 1e-5 * (1 + best)
    assert relax(points, k, candidates, integer=True).value == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert relax(points, k, candidates, max_size=2 * k - 1, integer=True).value == pytest.approx(
        best, rel=1e-6, abs=1e-6
    )


@given(seed=st.integers(0, 10_000), epsilon=st.sampled_from([0.3, 0.7, 2.0]))
@settings(max_examples=60)
def test_bound_over_a_grid_is_never_above_the_optimum_nor_far_below(seed, epsilon):
    points, k = instance(seed)
    n, d = points.shape
    best = optimum(points, k)
    assert grid_bound(points, k, epsilon) <= best
    integer = relax(points, k, grid_candidates(points, epsilon), integer=True)
    assert integer.value <= best + n * d * epsilon**2 / 4 + 1e-6
    assert integer.value >= best - 1e-6


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_solutions_satisfy_every_condition(seed):
    points, k = instance(seed)
    for max_size in (None, 2 * k - 1):
        found = relax(points, k, pair_candidates(points), max_size=max_size)
        x, y = found.assigned, found.opened
        np.testing.assert_allclose(x.sum(axis=0), 1.0, atol=1e-6)
        assert (x >= -1e-7).all()
        assert (x <= y[:, None] + 1e-6).all()
        assert (x.sum(axis=1) >= k * y - 1e-6).all()
        if max_size:
            assert (x.sum(axis=1) <= max_size * y + 1e-6).all()
        else:
            assert (y <= 1 + 1e-7).all()
        assert integrality_gap(points, k, pair_candidates(points)) >= 1 - 1e-6


@given(seed=st.integers(0, 10_000), scale=st.floats(0.0, 3.0))
@settings(max_examples=60)
def test_any_dual_values_give_a_valid_bound(seed, scale):
    """The bound is valid for wrong dual values, too."""
    points, k = instance(seed)
    candidates = subset_candidates(points, k)
    squares = ((candidates[:, None] - points[None]) ** 2).sum(axis=2)
    dual_values = np.random.default_rng(seed).normal(size=len(points)) * scale
    for max_size in (None, 2 * k - 1):
        assert dual_bound(squares, k, dual_values, max_size) <= optimum(points, k) * (1 + 1e-12) + 1e-12


def test_pairs_are_not_enough():
    """Thaeter 2021, section 9.3: x = (0, α, α), k = 3 has candidates α/2 and α and the optimum 2α²/3."""
    points = np.array([[0.0], [1.0], [1.0]])
    assert sorted(set(pair_candidates(points).ravel())) == [0.5, 1.0]
    assert relax(points, 3, pair_candidates(points), integer=True).value == pytest.approx(0.75)
    assert optimum(points, 3) == pytest.approx(2 / 3)


def test_some_instances_have_a_gap():
    """Two triangles side by side: each record has two mates at the same distance, and half of each is cheaper."""
    angles = 2 * np.pi * np.arange(3) / 3
    triangle = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.vstack([triangle, triangle + np.array([1.9, 0.0])])
    gaps = [integrality_gap(points, k, subset_candidates(points, k)) for k in (2, 4)]
    assert max(gaps) > 1.01
    assert min(gaps) >= 1 - 1e-6


def test_groups_that_share_a_grid_point_are_allowed():
    """Two groups of 2 equal records around one grid point: a coarse grid must not cost more than its stated error."""
    points = np.array([[0.0], [0.0], [0.1], [0.1]])
    assert grid_bound(points, 2, 0.5) <= 0.0
    assert relax(points, 2, np.array([[0.05]]), max_size=3, integer=True).value == pytest.approx(0.01)


def test_too_large_programs_and_wrong_options_raise_and_name_the_alternative():
    with pytest.raises(ParameterError, match="choose a larger epsilon"):
        grid_candidates(np.array([[0.0, 0.0], [1.0, 1.0]]), 1e-4)
    with pytest.raises(ParameterError, match="use grid_candidates"):
        subset_candidates(np.zeros((60, 1)), 4)
    with pytest.raises(ParameterError, match=r"epsilon=0\.0 is not possible; choose a number above 0"):
        grid_candidates(np.zeros((2, 1)), 0.0)
    with pytest.raises(ParameterError, match="max_size=2 is not possible; choose at least"):
        relax(np.zeros((4, 1)), 2, np.zeros((1, 1)), max_size=2)
