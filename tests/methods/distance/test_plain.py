"""The plain loops for small tables give the labels of the indexed ones for large tables."""

import numpy as np
from hypothesis import given

from shoal.methods.distance.mdav import mdav
from shoal.methods.distance.mdav_plus import mdav_plus
from shoal.methods.distance.mdav_star import mdav_star
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.kernels import small_mdav as plain
from shoal.methods.refinement.ona_star_moves import refine

from strategies import points_and_k


def both_ways(function):
    """The result of the plain loops, and of the indexed ones."""
    few = plain.FEW
    found = [function()]
    try:
        plain.FEW = -1
        found.append(function())
    finally:
        plain.FEW = few
    return found


@given(points_and_k(max_n=150))
def test_plain_and_indexed_methods_agree(case):
    points, k = case
    for method in (mdav, mdav_plus, mdav_star, ona_star):
        few, many = both_ways(lambda method=method: method(points, k))
        np.testing.assert_array_equal(few, many, err_msg=method.__name__)


@given(points_and_k(max_n=150))
def test_plain_and_indexed_refinement_agree(case):
    points, k = case
    start = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    facts = {}, {}
    for closest in ("cost", "centroid"):
        tally = iter(facts)
        few, many = both_ways(
            lambda closest=closest, tally=tally: refine(points, start, k, closest=closest, facts=next(tally))
        )
        np.testing.assert_array_equal(few, many)
        assert facts[0] == facts[1]
