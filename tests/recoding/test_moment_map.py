"""The map that restores covariances: worked examples, Jacobi's method against a library, limits and rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.recoding.moment_map import covariance, limited, mapped, moment_map, restore_moments, symmetric_eigen

from naive import moments as naive


def standardised(table, labels):
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    standard = (table - mean) / deviation
    sizes = np.bincount(labels).astype(float)
    centroids = np.array([standard[labels == g].mean(axis=0) for g in range(len(sizes))])
    return standard, centroids, sizes, mean, deviation


def released(table, labels):
    """The representatives of groups after the map, without limits."""
    standard, centroids, sizes, mean, deviation = standardised(np.asarray(table, float), np.asarray(labels))
    found = moment_map(covariance(standard, np.ones(len(standard))), covariance(centroids, sizes))
    return mean + deviation * mapped(centroids, found.matrix), found


def test_one_column_of_the_worked_example():
    values, found = released([[1], [2], [3], [10], [11], [12], [13], [20]], [0, 0, 0, 1, 1, 1, 1, 1])
    assert round(float(found.matrix[0, 0]), 7) == 1.1293849
    # 9 - 7 sqrt(37.5 / 29.4) = 1.09430585; the printed 1.0943059 was computed from the rounded map
    assert values.ravel().round(6).tolist() == [1.094306, 13.743416]
    assert values[0, 0] == pytest.approx(9 - 7 * np.sqrt(37.5 / 29.4), abs=1e-9)
    assert np.repeat(values.ravel(), [3, 5]).var() == pytest.approx(37.5)


def test_two_columns_of_the_worked_example():
    table = np.array([(1, 2), (2, 1), (3, 4), (8, 9), (9, 7), (10, 11), (4, 10), (5, 9), (6, 11)], float)
    labels = np.repeat([0, 1, 2], 3)
    values, found = released(table, labels)
    assert found.matrix.round(6).tolist() == [[1.059350, -0.027129], [-0.027129, 1.088724]]
    assert values.round(6).tolist() == [[1.908489, 2.019668], [9.175583, 9.046327], [4.915928, 10.267338]]
    covered = np.cov(values[labels], rowvar=False, bias=True)
    assert covered.round(6).tolist() == [[8.888889, 7.851852], [7.851852, 13.209877]]

    def loss(shown):
        return 100 * (((table - shown) / table.std(axis=0)) ** 2).sum() / table.size

    means = np.array([table[labels == g].mean(axis=0) for g in range(3)])
    assert round(loss(means[labels]), 3) == 9.918
    assert round(loss(values[labels]), 3) == 10.222


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 9))
def test_the_map_equals_the_reference_implementation(seed, d, groups):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(groups), rng.integers(0, groups, 40)])
    table = rng.normal(size=(labels.size, d)) + 3 * rng.normal(size=(groups, d))[labels]
    if d > 2:
        table[:, 2] = table[:, 0] - 2 * table[:, 1]  # a linear rule
    values, found = released(table, labels)
    expected, _ = naive.unlimited(table, labels)
    assert values[labels] == pytest.approx(expected, abs=1e-5)
    if d > 2:
        assert values[:, 2] == pytest.approx(values[:, 0] - 2 * values[:, 1], abs=1e-6)
    if groups > d + 1 or d == 1:
        assert found.restored == pytest.approx(1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_eigenvectors_are_those_of_a_library(seed, d):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(d, d)).round(int(rng.integers(0, 4)))
    matrix = matrix + matrix.T
    values, vectors = symmetric_eigen(matrix)
    assert values == pytest.approx(np.linalg.eigvalsh(matrix), abs=1e-9)
    assert vectors @ np.diag(values) @ vectors.T == pytest.approx(matrix, abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(d), abs=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_values_stay_inside_the_limits_and_rules_survive(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(12), 4)
    table = rng.normal(size=(48, 3)) ** 3 + 2 * rng.normal(size=(12, 3))[labels]
    table = np.column_stack([table, table[:, 0] + table[:, 1]])
    standard, centroids, sizes, mean, deviation = standardised(table, labels)
    limits = centroids.min(axis=0), centroids.max(axis=0)
    found = restore_moments(covariance(standard, np.ones(48)), centroids, sizes, limits)
    assert (found.values >= limits[0] - 1e-12).all()
    assert (found.values <= limits[1] + 1e-12).all()
    values = mean + deviation * found.values
    assert values[:, 3] == pytest.approx(values[:, 0] + values[:, 1], abs=1e-6)


def test_without_limits_values_leave_the_range_and_this_is_noticed():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(12), 4)
    table = rng.normal(size=(48, 2)) ** 3
    _, centroids, _, mean, deviation = standardised(table, labels)
    plain = mean + deviation * centroids
    values, _ = naive.unlimited(table, labels)
    assert ((values < plain.min(axis=0)) | (values > plain.max(axis=0))).any()
    clipped = limited(plain, values[::4], (plain.min(axis=0), plain.max(axis=0)), np.zeros(2, bool))
    assert not ((clipped < plain.min(axis=0)) | (clipped > plain.max(axis=0))).any()


def test_a_column_without_variance_between_groups_cannot_be_restored():
    found = moment_map(np.eye(2), np.diag([0.5, 0.0]))
    assert found.restored == 0.5
    assert found.ruled.tolist() == [False, True]
    assert moment_map(np.eye(1), np.zeros((1, 1))).matrix.tolist() == [[0.0]]


def test_the_map_has_about_ten_decimals_so_that_no_library_changes_it():
    rng = np.random.default_rng(4)
    half = rng.normal(size=(3, 3))
    matrix = moment_map(half @ half.T + np.eye(3), np.eye(3)).matrix * 2.0**36
    assert (matrix == np.rint(matrix)).all()
    assert (matrix % 2).any()


def test_centroids_without_any_variance_follow_no_rule():
    found = moment_map(np.eye(2), np.zeros((2, 2)))
    assert (found.restored, found.matrix.any(), found.ruled.any()) == (0.0, False, False)


def test_eigenvalues_of_a_tiny_matrix_are_found():
    values = symmetric_eigen(np.array([[2.0, 1.0], [1.0, 2.0]]) * 1e-20)[0]
    assert values == pytest.approx([1e-20, 3e-20], rel=1e-12, abs=0.0)
