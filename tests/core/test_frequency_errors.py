from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.frequency_errors import above_best, frequency_errors
from shoal.core.row_classes import domain_sizes, unsafe_rows
from shoal.datasets import adult_categories, category_codes
from shoal.errors import DataError, ParameterError

import reference
from naive import nominal_tables as naive


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 3))
@settings(max_examples=30)
def test_errors_agree_with_counting(seed, m):
    rng = np.random.default_rng(seed)
    before, after = rng.integers(0, 3, size=(9, m)), rng.integers(0, 3, size=(8, m))
    errors = frequency_errors(before, after)
    for d in range(1, m + 1):
        chosen = [table for table in naive.tables(m, m) if len(table) == d]
        old, new = naive.cell_counts(before, chosen), naive.cell_counts(after, chosen)
        found = errors.dimensions[d]
        assert found.chi_square == pytest.approx(float(naive.chi_square(before, after, chosen)))
        assert found.max_absolute == max(abs(old[cell] - new[cell]) for cell in old | new)
        assert found.max_relative == pytest.approx(float(max(Fraction(abs(new[c] - old[c]), old[c]) for c in old)))
        assert found.vanished == sum(new[cell] == 0 for cell in old)
        assert found.appeared == sum(old[cell] == 0 for cell in new)
        assert found.tables == len(chosen)
    assert errors.chi_square == pytest.approx(sum(e.chi_square for e in errors.dimensions.values()))


def test_rows_may_have_counts():
    rows = np.array([[0], [1]])
    errors = frequency_errors(rows, rows, original_counts=np.array([3, 1]), released_counts=np.array([4, 0]))
    assert errors.chi_square == pytest.approx(1 / 3 + 1)
    assert errors.vanished == 1


def test_of_many_attributes_only_small_tables_are_compared(rng):
    wide = rng.integers(0, 2, size=(30, 40))
    assert max(frequency_errors(wide, wide).dimensions) == 2
    assert frequency_errors(wide, wide).max_absolute == 0


def test_tables_of_different_shape_raise():
    with pytest.raises(DataError, match="same attributes"):
        frequency_errors(np.zeros((3, 2)), np.zeros((3, 1)))


def test_values_are_compared_with_the_best():
    found = above_best({"a": 2.0, "b": 3.0, "c": 2.0})
    assert found == {"a": 0.0, "b": 0.5, "c": 0.0}
    with pytest.raises(ParameterError, match="positive"):
        above_best({"a": 0.0})


def test_the_share_of_unsafe_records_in_adult_is_as_published():
    reference.path("adult.csv.gz")
    published = [0.000, 0.002, 0.013, 0.059, 0.185, 0.239]  # Table 6.3, last line
    codes = category_codes(adult_categories(attributes=8))
    assert len(codes) == 30_162
    found = [unsafe_rows(codes[:, :m], 3).mean() for m in range(3, 9)]
    assert found == pytest.approx(published, abs=5.5e-4)
    assert int(unsafe_rows(codes[:, :3], 3).sum()) == 2
    assert domain_sizes(codes).tolist() == [2, 5, 6, 7, 7, 14, 16, 41]  # 8 and 42 in the documentation of Adult
