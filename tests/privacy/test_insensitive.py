import numpy as np
import pytest
from hypothesis import given, settings

from shoal.errors import ParameterError
from shoal.methods.running import run
from shoal.methods.univariate.insensitive import _can_be_paired, insensitive, is_insensitive

from strategies import points_and_k


@given(points_and_k(max_n=40, max_d=3))
@settings(max_examples=30)
def test_a_fixed_order_passes_whatever_the_data(case):
    points, k = case
    assert is_insensitive(insensitive, points, k, trials=15)
    assert is_insensitive(lambda x, k: insensitive(x, k, order="lexicographic"), points, k, trials=5)


@pytest.mark.parametrize("name", ["mdav", "mdav-star", "ona-star", "lloyd"])
def test_methods_that_look_at_all_data_fail(name, rng):
    assert not is_insensitive(lambda points, k: run(name, points, k).labels, rng.normal(size=(90, 2)), 3)


def test_groups_follow_the_order_and_only_the_last_is_larger(rng):
    points = rng.normal(size=(23, 2))
    labels = insensitive(points, 5)
    assert np.bincount(labels).tolist() == [5, 5, 5, 8]
    totals = points.sum(axis=1)
    assert all(totals[labels == g].max() <= totals[labels == g + 1].min() for g in range(3))


def test_an_unknown_order_is_refused():
    with pytest.raises(ParameterError, match='order="size" is not possible'):
        run("insensitive", np.zeros((4, 1)), 2, order="size")


def test_pairing_finds_a_column_for_every_row():
    assert _can_be_paired(np.array([[True, True], [True, False]]))
    assert not _can_be_paired(np.array([[True, False], [True, False]]))
