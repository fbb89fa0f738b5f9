"""EXPQ from the gaps between records and from the points of a grid: the same distribution."""

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.dp.quantile import quantile_scores


def by_gaps(values, low, high, quantile, epsilon):
    """The published form on integers: a gap by its length and score, then one of its points at random."""
    q = Fraction(quantile).limit_denominator(1000)
    sensitivity = max(q.numerator, q.denominator - q.numerator)
    ends = sorted({low, *(value for value in values if low <= value <= high), high + 1})
    probabilities = {}
    weights = []
    for start, end in pairwise(ends):
        below = sum(value <= start for value in values)
        distance = abs((q.denominator - q.numerator) * below - q.numerator * (len(values) - below))
        weights.append(((start, end), (end - start) * exp(-epsilon * distance / (2 * sensitivity))))
    total = sum(weight for _, weight in weights)
    for (start, end), weight in weights:
        for point in range(start, end):
            probabilities[point] = weight / total / (end - start)
    return [probabilities[point] for point in range(low, high + 1)]


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=12),
    st.sampled_from([0.25, 0.5, 0.9]),
    st.sampled_from([0.5, 2.0]),
)
def test_a_gap_and_a_point_of_it_have_the_probabilities_of_the_points_of_the_grid(values, quantile, epsilon):
    grid = np.arange(13)
    scores, sensitivity = quantile_scores(np.array(values), grid, quantile)
    weights = np.exp(epsilon * scores / (2 * sensitivity))
    assert by_gaps(values, 0, 12, quantile, epsilon) == pytest.approx((weights / weights.sum()).tolist())


def test_gaps_without_their_lengths_are_another_distribution():
    values, grid = [0, 9], np.arange(10)
    scores, sensitivity = quantile_scores(np.array(values), grid)
    weights = np.exp(scores / (2 * sensitivity))
    points = by_gaps(values, 0, 9, 0.5, 1.0)
    assert points == pytest.approx((weights / weights.sum()).tolist())
    assert sum(points[:9]) != pytest.approx(
        1 / (1 + exp(-1.0))
    )  # the probability of the first of two gaps by score alone
