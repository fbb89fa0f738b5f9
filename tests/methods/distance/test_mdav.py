import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import SILENT
from shoal.methods.distance import mdav as mdav_module
from shoal.methods.distance.mdav import mdav
from shoal.methods.kernels import indexed_mdav

from naive import distance as naive
from naive.distance_float32 import mdav_in_single_precision
from strategies import points_and_k


@given(points_and_k())
def test_labels_equal_the_reference_implementation(case):
    points, k = case
    np.testing.assert_array_equal(canonical_labels(mdav(points, k)), canonical_labels(naive.mdav(points, k)))


@given(points_and_k())
def test_large_groups_equal_the_reference_implementation(case):
    points, k = case
    labels = indexed_mdav.mdav_of_large_groups(points, k, SILENT)
    np.testing.assert_array_equal(canonical_labels(labels), canonical_labels(naive.mdav(points, k)))


def test_large_groups_equal_those_of_the_tree(rng, monkeypatch):
    points = rng.integers(0, 12, (4000, 3)).astype(float)  # many ties
    large = mdav(points, 300)
    monkeypatch.setattr(mdav_module, "LARGE_GROUP", 10**9)
    np.testing.assert_array_equal(large, mdav(points, 300))


@given(points_and_k())
def test_all_groups_have_k_records_but_one(case):
    points, k = case
    sizes = np.sort(Grouping(mdav(points, k), k, max_size=2 * k - 1).sizes)
    assert (sizes[:-1] == k).all()


@pytest.mark.parametrize("n", [5, 9])
def test_fewer_than_2k_records_make_one_group(n, rng):
    assert set(mdav(rng.normal(size=(n, 3)), 5)) == {0}


@given(points_and_k(), st.floats(1e-3, 1e3))
def test_scaling_by_a_power_of_two_changes_nothing(case, scale):
    points, k = case
    scale = 2.0 ** round(np.log2(scale))
    np.testing.assert_array_equal(mdav(points, k), mdav(points * scale, k))


@given(points_and_k())
def test_single_precision_equals_its_reference_implementation(case):
    points, k = case
    expected = mdav_in_single_precision(points, k)
    np.testing.assert_array_equal(canonical_labels(mdav(points, k, precision="single")), canonical_labels(expected))
