from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.frequency_errors import frequency_errors, gaps
from shoal.core.row_classes import domain_sizes, problem_rows
from shoal.datasets import adult_categories, category_codes
from shoal.errors import DataError, ParameterError
from shoal.evaluate.regression import mcfadden, regression_check

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


def test_rows_may_stand_for_several_records():
    rows = np.array([[0], [1]])
    errors = frequency_errors(rows, rows, original_counts=np.array([3, 1]), released_counts=np.array([4, 0]))
    assert errors.chi_square == pytest.approx(1 / 3 + 1)
    assert errors.vanished == 1


def test_many_attributes_are_compared_in_small_tables_only(rng):
    wide = rng.integers(0, 2, size=(30, 40))
    assert max(frequency_errors(wide, wide).dimensions) == 2
    assert frequency_errors(wide, wide).max_absolute == 0


def test_tables_of_different_shape_are_refused():
    with pytest.raises(DataError, match="same attributes"):
        frequency_errors(np.zeros((3, 2)), np.zeros((3, 1)))


def test_gaps_are_relative_to_the_best():
    found = gaps({"a": 2.0, "b": 3.0, "c": 2.0})
    assert found == {"a": 0.0, "b": 0.5, "c": 0.0}
    with pytest.raises(ParameterError, match="positive"):
        gaps({"a": 0.0})


def test_the_share_of_problems_in_adult_is_as_printed():
    reference.path("adult.csv.gz")
    printed = [0.000, 0.002, 0.013, 0.059, 0.185, 0.239]  # Table 6.3, last line
    codes = category_codes(adult_categories(attributes=8))
    assert len(codes) == 30_162
    found = [problem_rows(codes[:, :m], 3).mean() for m in range(3, 9)]
    assert found == pytest.approx(printed, abs=5.5e-4)
    assert int(problem_rows(codes[:, :3], 3).sum()) == 2
    assert domain_sizes(codes).tolist() == [2, 5, 6, 7, 7, 14, 16, 41]  # 8 and 42 in the documentation of Adult


def test_the_models_of_adult_explain_about_as_much_as_printed():
    reference.path("adult.csv.gz")
    codes = category_codes(adult_categories())
    for j, printed in enumerate([0.438, 0.042, 0.602, 0.584, 0.032]):  # section 6.2.8; which pseudo-R² is not named
        assert mcfadden(codes, j) == pytest.approx(printed, abs=0.013)
    assert [regression_check(codes[:500], codes[:500], j).usable for j in (0, 2)] == [True, True]


def test_the_regression_of_an_unchanged_table_does_not_move(rng):
    codes = rng.integers(0, 3, size=(100, 3))
    check = regression_check(codes, codes, 1)
    assert check.distances == (0.0, 0.0, 0.0)
    assert not check.usable
    assert 0 <= check.pseudo_r2 < 0.2
    moved = codes.copy()
    moved[:50, 1] = 0
    assert min(regression_check(codes, moved, 1).distances) > 0


def test_a_regression_that_cannot_be_is_refused():
    with pytest.raises(DataError, match="at least two"):
        regression_check(np.zeros((3, 1)), np.zeros((3, 1)), 0)
    assert mcfadden(np.array([[0, 1], [0, 2]]), 0) == 0.0
