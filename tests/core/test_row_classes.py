"""Equal rows, distinct rows and Hamming distances against comparing rows one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.row_classes import (
    checked_column_weights,
    collapse,
    compact,
    distance_step,
    equal_rows,
    group_distances,
    hamming,
    hamming_to_row,
)
from shoal.errors import DataError, ParameterError


@st.composite
def tables(draw, max_n=30):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, max_n)), draw(st.integers(1, 4))
    return rng.integers(0, draw(st.integers(1, 4)), size=shape).astype(np.int32)


@given(codes=tables())
@settings(max_examples=30)
def test_equal_rows_have_equal_classes_and_no_others(codes):
    classes = equal_rows(list(codes.T))
    np.testing.assert_array_equal(classes[:, None] == classes, (codes[:, None] == codes).all(axis=2))
    np.testing.assert_array_equal(classes, collapse(codes).inverse)  # both in lexicographic order


def test_missing_values_equal_each_other_and_texts_can_be_compared():
    columns = [np.array([1.0, np.nan, np.nan, 1.0]), np.array(["a", "b", "b", "a"])]
    assert equal_rows(columns).tolist() == [0, 1, 1, 0]
    assert equal_rows([np.empty(0)]).tolist() == []
    with pytest.raises(DataError, match="no column is given"):
        equal_rows([])


@given(codes=tables())
@settings(max_examples=20)
def test_distinct_rows_and_renumbered_codes_reproduce_the_table(codes):
    table = collapse(codes)
    np.testing.assert_array_equal(table.rows[table.inverse], codes)
    assert table.counts.sum() == len(codes)
    assert len(np.unique(table.rows, axis=0)) == len(table.rows)
    np.testing.assert_array_equal(np.concatenate(table.members()), np.argsort(table.inverse, kind="stable"))
    renumbered, domains = compact(codes)
    np.testing.assert_array_equal(
        np.column_stack([domain[column] for domain, column in zip(domains, renumbered.T, strict=True)]), codes
    )


@given(codes=tables())
@settings(max_examples=20)
def test_hamming_distances_count_the_columns_that_differ(codes):
    distances = hamming(codes)
    np.testing.assert_array_equal(distances, (codes[:, None] != codes).sum(axis=2))
    records = np.arange(len(codes))[::2]
    np.testing.assert_array_equal(hamming_to_row(codes, records, codes[0]), distances[records, 0])


def test_group_distances_count_unordered_pairs():  # Cost 2023, Example 4.1.1
    codes = np.array([[0, 0], [0, 1], [1, 0], [0, 0], [0, 1], [0, 1]], np.int32)
    assert group_distances(codes, np.array([0, 0, 0, 1, 1, 1])).tolist() == [4.0, 2.0]
    assert group_distances(codes, np.array([0, 0, 0, 1, 1, 1]), [0.0, 2.0]).tolist() == [4.0, 4.0]


def test_column_weights_are_checked_and_have_a_common_step():
    assert distance_step(np.array([0.25, 1.5])) == 0.25
    with pytest.raises(ParameterError, match="there are 2 column weights for 1 columns"):
        checked_column_weights([1, 2], 1)
    with pytest.raises(ParameterError, match="finite and not negative"):
        checked_column_weights([1, np.nan], 2)
