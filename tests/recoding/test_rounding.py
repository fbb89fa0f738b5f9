"""Means rounded to whole numbers: which groups are turned round to bring the sum nearer."""

import numpy as np
import pytest

from shoal.recoding.rounding import _repair


@pytest.mark.parametrize(("mean", "rounded"), [(0.6, 1.0), (0.5 + 1e-10, 0.0), (0.5, 0.0), (0.4, 0.0)])
def test_a_group_is_turned_round_only_where_the_sum_comes_nearer_by_more_than_rounding(mean, rounded):
    found = np.zeros(1)
    _repair(np.array([mean]), np.array([2.0]), found)
    assert found.tolist() == [rounded]
