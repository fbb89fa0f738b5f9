"""The loops for small tables give the labels of the indexed ones for large tables."""

import numpy as np
from hypothesis import given

from shoal.methods.contract import labels_of
from shoal.methods.distance.mdav import mdav
from shoal.methods.distance.mdav_plus import mdav_plus
from shoal.methods.distance.mdav_star import mdav_star
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.kernels import small_mdav
from shoal.methods.refinement.ona_star_moves import refine

from strategies import points_and_k


def small_and_indexed(function):
    """The result of the loops for small tables, and of the indexed ones."""
    limit = small_mdav.SMALL_TABLE_RECORDS
    results = [function()]
    try:
        small_mdav.SMALL_TABLE_RECORDS = -1
        results.append(function())
    finally:
        small_mdav.SMALL_TABLE_RECORDS = limit
    return results


@given(points_and_k(max_n=150))
def test_methods_for_small_tables_agree_with_the_indexed_ones(case):
    points, k = case
    for method in (mdav, mdav_plus, mdav_star, ona_star):
        small, indexed = small_and_indexed(lambda method=method: labels_of(method(points, k)))
        np.testing.assert_array_equal(small, indexed, err_msg=method.__name__)


@given(points_and_k(max_n=150))
def test_refinement_of_small_tables_agrees_with_the_indexed_one(case):
    points, k = case
    start = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    for closest in ("cost", "centroid"):
        small, indexed = small_and_indexed(lambda closest=closest: refine(points, start, k, closest=closest))
        np.testing.assert_array_equal(small.labels, indexed.labels)
        assert small.diagnostics == indexed.diagnostics
