import numpy as np
import pytest

from shoal.datasets import adult_categories, category_codes
from shoal.errors import DataError
from shoal.evaluate.regression import mcfadden, regression_check

import reference


def test_the_models_of_adult_explain_about_as_much_as_published():
    reference.path("adult.csv.gz")
    codes = category_codes(adult_categories())
    for j, published in enumerate([0.438, 0.042, 0.602, 0.584, 0.032]):  # section 6.2.8; which pseudo-R² is not named
        assert mcfadden(codes, j) == pytest.approx(published, abs=0.013)
    assert [regression_check(codes[:500], codes[:500], j).meaningful for j in (0, 2)] == [True, True]


def test_the_regression_of_an_unchanged_table_does_not_move(rng):
    codes = rng.integers(0, 3, size=(100, 3))
    check = regression_check(codes, codes, 1)
    assert check.distances == (0.0, 0.0, 0.0)
    assert not check.meaningful
    assert 0 <= check.pseudo_r2 < 0.2
    moved = codes.copy()
    moved[:50, 1] = 0
    assert min(regression_check(codes, moved, 1).distances) > 0


def test_an_impossible_regression_raises():
    with pytest.raises(DataError, match="at least two"):
        regression_check(np.zeros((3, 1)), np.zeros((3, 1)), 0)
    assert mcfadden(np.array([[0, 1], [0, 2]]), 0) == 0.0
