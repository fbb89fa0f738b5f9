"""Means are the exact ones rounded once: inside the group, and equal to its value where all values are equal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.group_statistics import group_means, group_medians, group_summary
from shoal.core.grouping import Groups

from naive import recoding as naive


@st.composite
def columns(draw):
    """A column with groups, huge and tiny offsets, zeros, equal values, and weights of any size or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.integers(0, draw(st.integers(1, 5)), draw(st.integers(1, 30)))
    offset = draw(st.sampled_from([0.0, 1e6, 1e17, -1e17, 1e-300, 1e300, -1.7e308]))
    scale = draw(st.sampled_from([1.0, 1e-3, 1e17, 1e-300])) if abs(offset) < 1e308 else 1e306
    values = offset + scale * rng.uniform(-1, 1, labels.size)
    shape = draw(st.sampled_from(["plain", "zeros", "constant groups", "constant"]))
    if shape == "zeros":
        values[rng.random(labels.size) < 0.8] = 0.0
    elif shape == "constant groups":
        values = values[labels % labels.size]
    elif shape == "constant":
        values[:] = values[0]
    weights = 10 ** rng.uniform(-2, 3, labels.size) if draw(st.booleans()) else None
    return values, Groups(labels), weights


@given(columns())
def test_means_equal_exact_rational_means_rounded_once(case):
    values, grouping, weights = case
    expected = naive.per_group(naive.exact_mean, values, grouping.labels, weights).astype(float)
    np.testing.assert_array_equal(group_means(values, grouping, weights), expected)


@given(columns())
def test_means_lie_between_minimum_and_maximum(case):
    values, grouping, weights = case
    found = group_summary(values, grouping, weights)
    for g in range(len(grouping)):
        inside = values[grouping.labels == g]
        assert inside.min() == found.lowest[g] <= found.means[g] <= found.highest[g] == inside.max()
        if (inside == inside[0]).all():
            assert found.means[g].tobytes() == inside[0].tobytes()


@given(columns())
def test_medians_lie_between_minimum_and_maximum(case):
    values, grouping, weights = case
    found = group_medians(values, grouping, weights)
    for g in range(len(grouping)):
        assert values[grouping.labels == g].min() <= found[g] <= values[grouping.labels == g].max()


def test_a_plain_weighted_sum_would_leave_the_group():
    """The computation that these tests reject: sums of products divided by sums of weights."""
    rng = np.random.default_rng(0)
    outside = 0
    for _ in range(200):
        weights = 10 ** rng.uniform(-2, 3, 5)
        plain = (np.full(5, 0.1) * weights).sum() / weights.sum()
        outside += plain != 0.1
        assert group_means(np.full(5, 0.1), Groups(np.zeros(5, int)), weights)[0] == 0.1
    assert outside > 20


@pytest.mark.parametrize("weights", [None, np.array([0.1, 7.0, 1e-3])])
def test_zeros_keep_their_sign_and_create_no_negative_zero(weights):
    groups = Groups([0, 0, 0])
    assert math.copysign(1, group_means(np.zeros(3), groups, weights)[0]) == 1
    assert math.copysign(1, group_means(np.array([0.0, -0.0, 0.0]), groups, weights)[0]) == 1
    assert math.copysign(1, group_means(np.full(3, -0.0), groups, weights)[0]) == -1


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_and_plain_loops_agree_to_the_bit(rng, monkeypatch, weighted):
    values, labels = rng.normal(1e6, 1, 500), rng.integers(0, 60, 500)
    weights = rng.uniform(0.01, 1000, 500) if weighted else None
    plain = group_summary(values, Groups(labels), weights)
    monkeypatch.setattr("shoal.core.group_statistics.INTERPRETED_RECORDS", 0)
    found = group_summary(values, Groups(labels), weights)
    for part in ("means", "lowest", "highest"):
        assert getattr(plain, part).tobytes() == getattr(found, part).tobytes()


def test_a_group_with_a_missing_value_has_no_mean():
    found = group_summary(np.array([1.0, np.nan, 2.0, 3.0]), Groups([0, 0, 1, 1]))
    np.testing.assert_array_equal(found.means, [np.nan, 2.5])
    np.testing.assert_array_equal(found.lowest, [np.nan, 2.0])
