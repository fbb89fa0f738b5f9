from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.frequency_tables import (
    chosen_tables,
    control_tables,
    full_rows,
    full_vector,
    rows_of_vector,
    tables_up_to,
)
from shoal.core.row_classes import collapse, unsafe_rows
from shoal.errors import ParameterError

from naive import nominal_tables as naive

FEMALE, MALE = 0, 1
GERMANY, OTHERS = 0, 1
EMPLOYED, UNEMPLOYED, INACTIVE = 0, 1, 2
EXAMPLE = np.array(
    [
        [FEMALE, GERMANY, EMPLOYED],
        [FEMALE, GERMANY, EMPLOYED],
        [FEMALE, GERMANY, INACTIVE],
        [MALE, GERMANY, UNEMPLOYED],
        [MALE, OTHERS, INACTIVE],
    ],
    np.int32,
)


@st.composite
def codes(draw, max_n=12, max_m=4, max_values=3):
    n, m = draw(st.integers(1, max_n)), draw(st.integers(1, max_m))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, draw(st.integers(1, max_values)), size=(n, m)).astype(np.int32)


def test_the_first_example_of_cost_2023():
    found = control_tables(EXAMPLE, 3)
    assert [sum(len(table) == d for table in found.tables) for d in (1, 2, 3)] == [3, 3, 1]
    assert unsafe_rows(EXAMPLE, 2).tolist() == [False, False, True, True, True]
    assert full_vector(EXAMPLE, [2, 2, 3]).size == 12
    sex = control_tables(full_rows([2, 2, 3]), [[0]])
    assert sex.totals(full_vector(EXAMPLE, [2, 2, 3])).tolist() == [3, 2]
    by_status = control_tables(full_rows([2, 2, 3]), [[0, 2]])
    assert by_status.totals(full_vector(EXAMPLE, [2, 2, 3])).tolist() == [2, 0, 1, 0, 1, 1]


@given(table=codes())
@settings(max_examples=30)
def test_tables_are_complete_and_agree_with_counting(table):
    m = table.shape[1]
    distinct = collapse(table)
    found = control_tables(distinct.rows, m)
    assert len(found.tables) == 2**m - 1
    for d in range(1, m + 1):
        assert sum(len(attributes) == d for attributes in found.tables) == comb(m, d)
    totals = found.totals(distinct.counts)
    counted = naive.cell_counts(table, found.tables)
    for t, attributes in enumerate(found.tables):
        part = totals[found.starts[t] : found.starts[t + 1]]
        assert part.sum() == len(table)
        assert part.tolist() == [count for cell, count in sorted(counted.items()) if cell[0] == attributes]
    np.testing.assert_array_equal(totals[found.starts[-2] :], distinct.counts)


@given(table=codes(), dimension=st.integers(1, 3))
@settings(max_examples=30)
def test_the_cell_matrix_has_one_one_per_column_and_table(table, dimension):
    distinct = collapse(table)
    found = control_tables(distinct.rows, dimension)
    matrix = found.matrix().toarray()
    for start, end in zip(found.starts, found.starts[1:], strict=False):
        np.testing.assert_array_equal(matrix[start:end].sum(axis=0), 1)
    np.testing.assert_array_equal(matrix @ distinct.counts, found.totals(distinct.counts))
    assert found.dimensions().max() == min(dimension, table.shape[1])


def test_rows_of_the_full_cell_matrix_have_equal_sums():
    domains = [2, 3, 4]
    found = control_tables(full_rows(domains), 2)
    matrix = found.matrix().toarray()
    for t, table in enumerate(found.tables):
        others = np.prod([size for j, size in enumerate(domains) if j not in table])
        np.testing.assert_array_equal(matrix[found.starts[t] : found.starts[t + 1]].sum(axis=1), others)


@given(table=codes(), k=st.integers(2, 4))
@settings(max_examples=30)
def test_microdata_and_frequency_vectors_convert_into_each_other(table, k):
    domains = [3] * table.shape[1]
    vector = full_vector(table, domains)
    assert vector.size == np.prod(domains)
    back = rows_of_vector(full_rows(domains), vector)
    assert sorted(back.tolist()) == sorted(table.tolist())
    distinct = collapse(table)
    assert sorted(rows_of_vector(distinct.rows, distinct.counts).tolist()) == sorted(table.tolist())
    anonymous = not ((vector > 0) & (vector < k)).any()
    assert anonymous == (not unsafe_rows(table, k).any())


def test_control_tables_are_read_from_a_dimension_a_list_or_a_text():
    assert chosen_tables(2, 3) == tables_up_to(3, 2)
    assert chosen_tables([[1, 0], [2]], 3) == ((0, 1), (2,))
    assert chosen_tables("0+1,2", 3) == ((0, 1), (2,))
    assert len(chosen_tables(None, 8)) == 8 + 28 + 56
    assert len(chosen_tables(None, 20)) == 20 + 190
    assert len(chosen_tables(None, 8, 5_000_000)) == 8


@pytest.mark.parametrize(
    ("tables", "text"), [(0, "dimension of at least 1"), ("a+b", "not a list"), ([[0, 0]], "0[+]0"), ([[5]], "0 to 2")]
)
def test_impossible_control_tables_raise(tables, text):
    with pytest.raises(ParameterError, match=text):
        chosen_tables(tables, 3)


def test_huge_domains_do_not_overflow(rng):
    table = rng.integers(0, 2**31 - 1, size=(50, 6)).astype(np.int32)
    found = control_tables(table, 6)
    assert found.totals(np.ones(50))[found.starts[-2] :].tolist() == [1.0] * 50


def test_full_rows_are_all_combinations():
    assert full_rows([2, 3]).tolist() == [list(row) for row in product(range(2), range(3))]
