"""Theorem 4.4, Corollary 4.5 and Figure 4.3 of Thaeter 2021: equal records in k-means and in groups of at least k."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal


@given(st.lists(st.integers(0, 6), min_size=3, max_size=20), st.integers(1, 6))
def test_k_means_of_one_column_never_separates_equal_values_unless_it_costs_nothing(values, clusters):
    values = np.array(values, float)
    labels = shoal.optimal_1d(values, 1, groups=min(clusters, values.size))
    cost = sum(((values[labels == g] - values[labels == g].mean()) ** 2).sum() for g in np.unique(labels))
    if cost > 1e-9:
        assert all(np.unique(labels[values == value]).size == 1 for value in values)


def test_groups_of_at_least_two_must_separate_equal_records():
    points = np.array([[0.0], [1.0], [1.0], [2.0]])
    best = shoal.run_method("brute-force", points, 2)
    assert best.labels.tolist() == [0, 0, 1, 1]
    assert best.objective.value == pytest.approx(1.0)
    together = [[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0]]
    allowed = [labels for labels in together if min(np.bincount(labels)) >= 2]
    costs = [sum(points[np.array(g) == j].var() * g.count(j) for j in set(g)) for g in allowed]
    assert min(costs) == pytest.approx(2.0)
