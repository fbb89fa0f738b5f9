"""The public earth mover's distance: against all permutations of single units, closed forms and the privacy models."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.hierarchy import Hierarchy
from shoal.errors import DataError, ParameterError
from shoal.privacy.counts import count_values
from shoal.privacy.ground_distances import hierarchical_distance
from shoal.privacy.t_closeness import closeness

from naive.privacy import earth_mover

UNITS = 5
TREE = Hierarchy(
    [("flu", "lung"), ("asthma", "lung"), ("ulcer", "stomach"), ("gastritis", "stomach"), ("burn", "skin")]
)


def by_units(p, q, matrix):
    """The obvious version for integer counts of equal sums: the best of all assignments of single units."""
    given_up = [value for value, count in enumerate(p) for _ in range(count)]
    received = [value for value, count in enumerate(q) for _ in range(count)]
    return min(
        sum(matrix[i][j] for i, j in zip(given_up, order, strict=True)) for order in permutations(received)
    ) / len(given_up)


def counts(m):
    """Counts of m values that sum up to a few units."""
    return st.lists(st.integers(0, m - 1), min_size=UNITS, max_size=UNITS).map(
        lambda values: np.bincount(values, minlength=m).tolist()
    )


@given(st.data(), st.integers(2, 5))
def test_a_matrix_gives_the_best_assignment_of_units(data, m):
    p, q = data.draw(counts(m)), data.draw(counts(m))
    entries = data.draw(st.lists(st.integers(0, 9), min_size=m * m, max_size=m * m))
    matrix = np.array(entries, float).reshape(m, m)
    np.fill_diagonal(matrix, 0.0)
    found = shoal.emd(p, q, matrix)
    assert found == pytest.approx(by_units(p, q, matrix), abs=1e-9)
    assert shoal.emd(q, p, matrix.T) == pytest.approx(found, abs=1e-9)
    assert shoal.emd(p, p, matrix) == 0.0


def test_the_nearest_value_first_is_not_the_least_work():
    """The wrong version that moves every share along the shortest free way pays 1 + 10 here instead of 4 + 4."""
    p, q = [1, 1, 0, 0], [0, 0, 1, 1]
    matrix = [[0, 9, 1, 4], [9, 0, 4, 10], [1, 4, 0, 9], [4, 10, 9, 0]]
    assert shoal.emd(p, q, matrix) == pytest.approx(4.0)
    assert (1 + 10) / 2 > 4.0


@given(st.data(), st.integers(1, 6))
def test_named_distances_are_the_closed_forms_of_their_matrices(data, m):
    p, q = data.draw(counts(m)), data.draw(counts(m))
    ranks = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) / max(m - 1, 1)
    assert shoal.emd(p, q) == pytest.approx(shoal.emd(p, q, ranks), abs=1e-9)
    assert shoal.emd(p, q, "equal") == pytest.approx(shoal.emd(p, q, 1 - np.eye(m)), abs=1e-9)
    shares = np.array(p) / sum(p), np.array(q) / sum(q)
    assert shoal.emd(p, q) == pytest.approx(earth_mover(*shares, ranks), abs=1e-7)


@given(st.lists(st.integers(0, 4), min_size=4, max_size=12))
def test_t_closeness_with_a_hierarchy_is_this_distance(codes):
    codes = np.array([*range(5), *codes])  # every value occurs
    groups = np.arange(codes.size) % 2
    expected = closeness(count_values(groups, codes), hierarchical_distance(TREE, np.arange(5)))
    values, matrix = shoal.hierarchy_distances(TREE)
    assert values == TREE.leaves
    whole = np.bincount(codes, minlength=5)
    for group in range(2):
        own = np.bincount(codes[groups == group], minlength=5)
        assert shoal.emd(own, whole, matrix) == pytest.approx(expected[group], abs=1e-9)


def test_the_size_of_the_common_class_is_the_share_of_values_below_it():
    values, matrix = shoal.hierarchy_distances(TREE, "size")
    for i, first in enumerate(values):
        for j, second in enumerate(values):
            assert matrix[i, j] == TREE.size(TREE.cca([first, second])) / 5
    assert matrix[0, 1] == 2 / 5
    assert shoal.hierarchy_distances(TREE, "height")[1][0, 1] == 1 / 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([1, 2], [1, 2, 3]), DataError), (([0, 0], [1, 1]), DataError), (([-1, 2], [1, 1]), DataError),
        (([np.nan, 1], [1, 1]), DataError), (([np.inf, 1], [1, 1]), DataError), (([], []), DataError),
        ((["a"], [1]), DataError), (([1, 1], [1, 1], [[0, 1], [1, 2]]), DataError),
        (([1, 1], [1, 1], [[0, 1]]), DataError), (([1, 1], [1, 1], [[0, -1], [1, 0]]), DataError),
        (([1, 1], [1, 1], "rank"), ParameterError), (([1, 1], [1, 1], [[0, np.inf], [1, 0]]), DataError),
    ],
)  # fmt: skip
def test_wrong_distributions_and_distances_are_refused(arguments, error):
    with pytest.raises(error):
        shoal.emd(*arguments)
