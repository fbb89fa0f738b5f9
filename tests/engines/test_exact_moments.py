import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.engines.exact_moments import ExactMoments, square_root

from naive import cut_tree as naive

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=1, max_size=30))
def test_mean_and_variance_are_exact(values):
    moments = ExactMoments.of(np.array(values))
    assert (moments.mean(), moments.variance()) == naive.exact_moments(values)


@given(st.lists(FINITE, min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_order_and_division_change_nothing(values, random):
    whole = ExactMoments.of(np.array(values))
    shuffled = random.sample(values, len(values))
    cut = random.randrange(1, len(values))
    assert ExactMoments.of(np.array(shuffled[:cut])) + ExactMoments.of(np.array(shuffled[cut:])) == whole


def test_plain_sums_depend_on_the_order():
    values = np.array([1e16, 1.0, -1e16, 1.0])
    assert sum(values.tolist()) != sum(values[[0, 2, 1, 3]].tolist())  # the wrong version
    assert ExactMoments.of(values) == ExactMoments.of(values[[0, 2, 1, 3]])


def test_a_tiny_spread_beside_a_huge_value_is_not_lost():
    values = np.concatenate([1e12 + np.arange(5) * 1e-3, [-1e12]])
    assert ExactMoments.of(values).variance() > 0
    assert square_root(ExactMoments.of(np.array([3.0, 7.0])).variance()) == 2.0
