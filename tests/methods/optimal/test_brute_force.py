"""The optimum: equal to listing all groupings without rounding."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from shoal.core.grouping import Grouping
from shoal.errors import ParameterError
from shoal.methods.contract import labels_of
from shoal.methods.optimal.brute_force import MOST_RECORDS, brute_force
from shoal.methods.running import run
from shoal.methods.univariate.optimal_1d import optimal_1d

from naive import optimal as naive
from strategies import points_and_k

ROUNDING = 1 + Fraction(1, 10**12)


@pytest.mark.parametrize("block", range(10))
def test_optimum_equals_the_best_of_all_groupings(block):
    for seed in range(200 * block, 200 * (block + 1)):
        points, k = naive.small_instance(seed)
        outcome = brute_force(points, k)
        labels = outcome.labels
        Grouping(labels, k, max_size=2 * k - 1)
        best = naive.small_optimum(seed)
        assert naive.grouping_cost(points, labels) <= best * ROUNDING, f"seed {seed}"
        assert abs(Fraction(outcome.objective.bound) - best) <= best * (ROUNDING - 1), f"seed {seed}"
        assert outcome.objective.optimal


def test_larger_groups_than_2k_minus_1_are_never_needed():
    for seed in range(200):
        points, k = naive.small_instance(seed)
        assert naive.optimum(points, k, 2 * k - 1) == naive.optimum(points, k), f"seed {seed}"


@given(case=points_and_k(max_n=12, max_d=1, max_k=4))
@settings(max_examples=60)
def test_one_column_agrees_with_the_method_for_one_column(case):
    points, k = case
    found, known = brute_force(points, k).labels, labels_of(optimal_1d(points[:, 0].copy(), k))
    scale = naive.grouping_cost(points, np.zeros(len(points)))
    difference = naive.grouping_cost(points, found) - naive.grouping_cost(points, known)
    assert abs(difference) <= scale / 10**12


@pytest.mark.parametrize(
    ("points", "k", "cost"),
    [
        ([[3, 6], [6, 3], [9, 3], [9, 3], [12, 6], [12, 9]], 3, 48),  # Thaeter 2021, Table 2.2
        ([[0], [1], [1], [2]], 2, 1),  # Figure 4.3
        ([[0, 1], [0, 1], [2, 2], [2, 0], [3, 2], [3, 0], [5, 1], [5, 1]], 2, 1),  # Figure 4.12
        ([[0, 1], [0, 1], [2, 2], [2, 0], [3, 2], [3, 0], [5, 1], [5, 1]], 4, 12),
    ],
)
def test_published_optima(points, k, cost):
    points = np.array(points, float)
    assert naive.grouping_cost(points, brute_force(points, k).labels) == cost


def test_ties_go_to_the_lowest_numbers():
    assert brute_force(np.zeros((6, 2)), 2).labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert brute_force(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), 2).labels.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("scale", [1e-160, 1e150])
def test_labels_do_not_depend_on_the_scale(scale, rng):
    points = rng.normal(size=(9, 2))
    np.testing.assert_array_equal(brute_force(points * scale, 3).labels, brute_force(points, 3).labels)


@pytest.mark.parametrize(("n", "k"), [(5, 5), (9, 5), (10, 5), (2, 2), (3, 2), (MOST_RECORDS, 6)])
def test_sizes_hold_at_the_edges(n, k, rng):
    Grouping(brute_force(rng.normal(size=(n, 2)), k).labels, k, max_size=2 * k - 1)


def test_a_table_that_is_too_large_raises_and_names_another_method():
    with pytest.raises(ParameterError, match="at most 18 records, the table has 19; use set-partition"):
        run("brute-force", np.zeros((19, 2)), 3)
