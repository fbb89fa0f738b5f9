"""The instant bound: never above the optimum, in exact arithmetic, and never below the bound it sharpens."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from shoal.core.threads import set_threads
from shoal.errors import DataError, ParameterError
from shoal.methods.optimal import neighbour_bound as module
from shoal.methods.optimal.neighbour_bound import instant_bound
from shoal.methods.running import run

from naive import optimal as naive
from strategies import points_and_k


@pytest.mark.parametrize("block", range(10))
def test_bound_is_never_above_the_optimum(block):
    for seed in range(200 * block, 200 * (block + 1)):
        points, k = naive.small_instance(seed)
        assert Fraction(instant_bound(points, k)) <= naive.small_optimum(seed), f"seed {seed}"


@given(case=points_and_k(max_n=9, max_k=4))
@settings(max_examples=150)
def test_bound_is_never_above_the_optimum_of_nasty_points(case):
    points, k = case
    if len(points) <= 10:
        assert Fraction(instant_bound(points, k)) <= naive.optimum(points, k)


@given(case=points_and_k(max_n=60))
@settings(max_examples=60)
def test_bound_without_rounds_is_at_least_the_sum_of_the_smallest_distances(case):
    points, k = case
    plain = naive.first_bound(points, k)
    square = Fraction(float(np.ptp(points, axis=0).max())) ** 2
    assert Fraction(instant_bound(points, k, rounds=0)) >= plain - square / 10**9


@given(case=points_and_k(max_n=80))
@settings(max_examples=60)
def test_bound_is_never_above_any_grouping_without_rounding(case):
    points, k = case
    assert Fraction(instant_bound(points, k)) <= naive.grouping_cost(points, run("ona-star", points, k).labels)


def all_pairs(points, duals, k):
    """The formula of the proof with every pair, in fractions."""
    distances, scale = naive.exact_distances(points)
    u = [Fraction(float(x)) for x in duals]
    n = len(points)
    parts = sum(max(0, u[i] + u[j] - Fraction(distances[i][j], scale)) for i in range(n) for j in range(i))
    return ((k - 1) * sum(u) - parts) / k


@pytest.mark.parametrize("shape", ["normal", "powers", "clumps", "duplicates", "far"])
@pytest.mark.parametrize("pairs", [0, 2, 200])
def test_no_pair_is_left_out(shape, pairs, rng, monkeypatch):
    """The value is just below the formula over all pairs, whatever the search leaves out."""
    monkeypatch.setattr(module, "PAIRS_PER_RECORD", pairs)
    points = rng.normal(size=(60, 2))
    if shape == "powers":
        points = 4.0 ** np.arange(60)[:, None] * 2.0**-40
    elif shape == "clumps":
        points += 1e4 * rng.integers(0, 4, size=(60, 1))
    elif shape == "duplicates":
        points = points[rng.integers(0, 9, size=60)]
    elif shape == "far":
        points += 1e9
    scaled, _ = module.scaled_columns(points)
    duals, _, _, sums, lowered = module._duals_and_pairs(scaled, 3, 24)
    exact = all_pairs(scaled, duals, 3)
    found = Fraction(module._rounded_down(duals, sums, lowered, 3))
    assert found <= exact
    assert found >= exact - Fraction(float(duals.sum())) / 10**12


def test_bound_is_good_on_plain_data(rng):
    """Within 30 % of the optimum's heuristic neighbour, and more than the first bound by a tenth."""
    points = rng.normal(size=(400, 3))
    labels = run("ona-star", points, 4).labels
    cost = float(sum(((points[labels == g] - points[labels == g].mean(0)) ** 2).sum() for g in range(labels.max() + 1)))
    assert instant_bound(points, 4) > 0.7 * cost
    assert instant_bound(points, 4) > 1.1 * float(naive.first_bound(points, 4))


def test_pairs_far_apart_are_bounded_by_their_cost():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [100.0, 0.0], [100.0, 1.0]])
    assert instant_bound(points, 2) == pytest.approx(13.0, rel=1e-9)  # 25/2 + 1/2


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-500, 2.0**400, 2.0**511])
def test_scale_is_followed_and_never_overflows(scale, rng):
    points = rng.normal(size=(30, 2))
    bound = instant_bound(points * scale, 3)
    assert np.isfinite(bound)
    if 2.0**-500 <= scale <= 2.0**400:
        assert bound == pytest.approx(instant_bound(points, 3) * scale * scale, rel=1e-12)


def test_extreme_numbers_are_survived():
    assert np.isfinite(instant_bound(np.array([[1.7e308], [-1.7e308], [0.0], [1e300]]), 2))
    mixed = np.array([[1.7e308, 0.0], [1.7e308, 1e-200], [1.7e308, 3e-200], [1.7e308, 9e-200]])
    assert instant_bound(mixed, 2) == 0.0  # the SSE itself is below the smallest float


def test_equal_records_are_bounded_by_nothing():
    assert instant_bound(np.full((50, 3), 0.1), 4) == 0.0
    assert instant_bound(np.zeros((50, 0)), 4) == 0.0


def test_threads_do_not_matter(rng):
    points = rng.normal(size=(500, 4))
    try:
        set_threads(1)
        one = instant_bound(points, 5)
        set_threads(3)
        assert instant_bound(points, 5) == one
    finally:
        set_threads(None)


def test_missing_coordinates_and_a_large_k_raise():
    with pytest.raises(DataError, match="missing or infinite"):
        instant_bound(np.array([[0.0], [np.nan], [1.0]]), 2)
    with pytest.raises(ParameterError, match="needs at least 5 records"):
        instant_bound(np.zeros((3, 1)), 5)
