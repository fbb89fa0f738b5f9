import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.group_statistics import group_means, group_medians, group_medoids, group_modes, group_ranges
from shoal.core.grouping import Grouping
from shoal.recoding.rounding import _one_of_each_size, round_keeping_sum

from naive import recoding as naive


@st.composite
def grouped(draw, whole=False):
    """Values with ties, a grouping and sampling weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups = draw(st.integers(1, 8))
    labels = np.repeat(np.arange(groups), 2)
    labels = rng.permutation(np.concatenate([labels, rng.integers(0, groups, draw(st.integers(0, 30)))]))
    values = rng.integers(-3, 4, labels.size).astype(float)
    if not whole and draw(st.booleans()):
        values = rng.normal(draw(st.sampled_from([0, 1e6])), 1, labels.size)
    weights = rng.uniform(0.5, 3, labels.size) if draw(st.booleans()) else None
    return values, Grouping(labels, k=2), weights


@given(grouped())
def test_means_equal_the_reference_implementation(case):
    values, grouping, weights = case
    expected = naive.per_group(naive.mean, values, grouping.labels, weights)
    np.testing.assert_allclose(group_means(values, grouping, weights), expected, rtol=1e-12, atol=1e-12)


@given(grouped())
def test_medians_equal_the_reference_implementation(case):
    values, grouping, weights = case
    expected = naive.per_group(naive.median, values, grouping.labels, weights)
    np.testing.assert_allclose(group_medians(values, grouping, weights), expected, rtol=1e-12, atol=1e-12)


@given(grouped())
def test_lower_medians_are_values_of_the_group(case):
    values, grouping, _ = case
    expected = naive.per_group(naive.lower_median, values, grouping.labels)
    np.testing.assert_array_equal(group_medians(values, grouping, lower=True), expected)


@given(grouped(whole=True))
def test_modes_have_the_greatest_count_of_their_group(case):
    values, grouping, weights = case
    codes = (values + 3).astype(np.int64)
    found = group_modes(codes, grouping, weights)
    weights = np.ones(codes.size) if weights is None else weights
    for g, code in enumerate(found):
        inside = grouping.labels == g
        reached = weights[inside & (codes == code)].sum()
        assert reached == pytest.approx(naive.greatest_count(codes[inside], weights[inside]))


def test_ties_of_the_mode_keep_the_frequencies_of_the_column():
    labels = np.repeat(np.arange(100), 2)
    codes = np.tile([0, 1], 100)
    found = group_modes(codes, Grouping(labels, k=2))
    assert abs(int((found == 0).sum()) - 50) <= 1


@given(grouped())
def test_medoids_are_nearest_to_the_centroid(case):
    values, grouping, _ = case
    points = np.column_stack([values, values**2 % 7])
    found = group_medoids(points, grouping)
    for medoid, (members, distances) in zip(found, naive.medoid(points, grouping.labels), strict=True):
        assert medoid in members
        assert distances[members == medoid][0] <= distances.min() * (1 + 1e-9) + 1e-9


@given(grouped())
def test_ranges_hold_all_values_of_their_group(case):
    values, grouping, _ = case
    lowest, highest = group_ranges(values, grouping)
    for g in range(len(grouping)):
        inside = values[grouping.labels == g]
        assert (values[lowest[g]], values[highest[g]]) == (inside.min(), inside.max())


@given(grouped())
def test_rounding_goes_to_a_neighbour_and_keeps_the_sum(case):
    values, grouping, weights = case
    means = group_means(values, grouping, weights)
    sizes = grouping.sizes.astype(float) if weights is None else np.bincount(grouping.labels, weights)
    rounded = round_keeping_sum(means, sizes)
    assert ((rounded == np.floor(means)) | (rounded == np.ceil(means))).all()
    assert abs((rounded - means) @ sizes) <= sizes.max() / 2 + 1e-6


def test_rounding_is_exact_where_group_sizes_allow_it():
    means = np.array([1 + 1 / 3, 2 + 2 / 3, 7.25, 9.5])
    sizes = np.array([3.0, 3.0, 4.0, 4.0])
    assert (round_keeping_sum(means, sizes) * sizes).sum() == pytest.approx((means * sizes).sum())


def test_compiled_and_plain_loops_agree(rng, monkeypatch):
    labels = np.arange(300) // 3
    codes, means, sizes = rng.integers(0, 3, 300), rng.normal(5, 3, 100), rng.integers(3, 6, 100).astype(float)
    plain = group_modes(codes, Grouping(labels, k=3)), round_keeping_sum(means, sizes)
    monkeypatch.setattr("shoal.core.group_statistics.INTERPRETED_RECORDS", 0)
    monkeypatch.setattr("shoal.recoding.rounding.INTERPRETED_GROUPS", 0)
    np.testing.assert_array_equal(group_modes(codes, Grouping(labels, k=3)), plain[0])
    np.testing.assert_array_equal(round_keeping_sum(means, sizes), plain[1])


def test_whole_means_are_left_alone():
    np.testing.assert_array_equal(
        round_keeping_sum(np.array([3.0, np.nan, -2.0]), np.array([2.0, 2.0, 2.0])), [3, np.nan, -2]
    )


def test_a_mean_halfway_is_rounded_down_where_both_ways_are_as_near():
    assert round_keeping_sum(np.array([0.5]), np.array([1.0])).tolist() == [0.0]
    assert round_keeping_sum(np.array([0.5, 1.5]), np.array([1.0, 1.0])).tolist() == [0.0, 2.0]


def test_of_many_sizes_the_32_nearest_to_the_other_way_are_tried():
    sizes, cost = np.arange(1.0, 34.0), np.linspace(0.0, 1.0, 33)
    assert len(_one_of_each_size(np.arange(32), sizes, cost)) == 32
    assert _one_of_each_size(np.arange(33), sizes, cost) == list(range(32))


def test_two_groups_are_not_turned_round_for_a_rounding_error():
    """Turning both round leaves the sum as it is, and both means farther away; 0.3 - 3 + 3 is a little below 0.3."""
    assert round_keeping_sum(np.array([1.3, 2.8]), np.array([3.0, 3.0])).tolist() == [1.0, 3.0]
    assert round_keeping_sum(np.array([2.4, 2.8]), np.array([5.0, 5.0])).tolist() == [2.0, 3.0]
