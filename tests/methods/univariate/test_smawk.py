import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.methods.univariate.smawk import smawk


def monge(rng, rows, columns, *, ties):
    """A matrix with M[i,j] + M[i+1,j+1] <= M[i,j+1] + M[i+1,j]: minus the sums of a non-negative density."""
    density = rng.integers(0, 2 if ties else 100, (rows, columns))
    matrix = -density.cumsum(axis=0).cumsum(axis=1)
    return (matrix + rng.integers(-50, 50, (rows, 1)) + rng.integers(-50, 50, (1, columns))).astype(float)


@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_finds_the_leftmost_minimum_of_every_row(rows, columns, ties, seed):
    matrix = monge(np.random.default_rng(seed), rows, columns, ties=ties)
    out = np.full(rows, -1)
    smawk(0, rows, 0, columns, matrix, out)
    np.testing.assert_array_equal(out, matrix.argmin(axis=1))


def test_reads_a_part_of_the_matrix(rng):
    matrix = monge(rng, 30, 30, ties=False)
    out = np.full(10, -1)
    smawk(5, 10, 12, 9, matrix, out)
    np.testing.assert_array_equal(out, 12 + matrix[5:15, 12:21].argmin(axis=1))


@pytest.mark.parametrize(("rows", "columns"), [(1000, 10), (10, 1000), (700, 700)])
def test_the_number_of_evaluations_is_linear(rows, columns, rng):
    matrix = monge(rng, rows, columns, ties=False)
    evaluations = 0

    def value(row, column, state):
        nonlocal evaluations
        evaluations += 1
        return state[row, column]

    plain = smawk.function
    copy = type(plain)(plain.__code__, {**plain.__globals__, "value": value})
    out = np.full(rows, -1)
    copy(0, rows, 0, columns, matrix, out)
    np.testing.assert_array_equal(out, matrix.argmin(axis=1))
    assert evaluations <= 5 * (rows + columns)
