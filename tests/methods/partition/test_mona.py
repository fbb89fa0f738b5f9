import numpy as np
import pytest
from hypothesis import given

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.threads import set_threads
from shoal.errors import ParameterError
from shoal.methods.contract import labels_of
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.partition.mona import mona, mona_2d
from shoal.methods.partition.mondrian import mondrian_v, mondrian_v2d
from shoal.methods.running import run

from naive import partition as naive
from strategies import points_and_k


@given(points_and_k())
def test_rho_0_is_mondrian_and_rho_1_is_the_leaf_method(case):
    points, k = case
    np.testing.assert_array_equal(mona(points, k, rho=0.0).labels, mondrian_v(points, k))
    np.testing.assert_array_equal(mona_2d(points, k, rho=0.0).labels, mondrian_v2d(points, k))
    if len(points) > 2 * k:
        np.testing.assert_array_equal(mona(points, k, rho=1.0).labels, labels_of(ona_star(points, k)))


@given(points_and_k())
def test_sizes_lie_between_k_and_2k(case):
    points, k = case
    for rho in (0.3, 0.6, 0.9):
        Grouping(mona(points, k, rho=rho).labels, k, max_size=2 * k)


def test_each_block_is_grouped_by_itself(rng):
    points = rng.normal(size=(700, 3))
    points[:, 1] = np.round(points[:, 1])  # ties, which the inherited order decides
    blocks = [np.array(part) for part in naive.parts(points, 100, "variance")]
    labels = mona(points, 3, block=100).labels
    for block in blocks:
        expected = labels_of(ona_star(points[block], 3))
        np.testing.assert_array_equal(canonical_labels(labels[block]), canonical_labels(expected))
    assert len(set(labels)) == sum(len(set(labels[block])) for block in blocks)


def test_blocks_below_2k_make_it_mondrian(rng):
    points = rng.normal(size=(1000, 3))
    np.testing.assert_array_equal(mona(points, 20, rho=0.5).labels, mondrian_v(points, 20))


def test_the_number_of_threads_changes_nothing(rng):
    points = rng.normal(size=(20_000, 3))
    found = []
    for threads in (1, 3):
        set_threads(threads)
        found.append(mona(points, 5, block=700, leaf="mdav-plus").labels)
    set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])


def test_diagnostics_count_the_blocks(rng):
    outcome = mona(rng.normal(size=(1000, 2)), 3, rho=0.7)
    assert outcome.diagnostics == {"blocks": 8, "largest_block": 125}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rho": 1.5}, "rho=1.5 is not possible"),
        ({"block": 0}, "block=0 is not possible"),
        ({"first": 3}, "first=3 is not an attribute"),
        ({"leaf": "onastar"}, 'did you mean "ona-star"'),
        ({"leaf": "optimal-1d"}, "does not group points"),
    ],
)
def test_impossible_options_raise_an_error_that_names_them(options, text, rng):
    with pytest.raises(ParameterError, match=text):
        run("mona", rng.normal(size=(50, 3)), 2, **options)
