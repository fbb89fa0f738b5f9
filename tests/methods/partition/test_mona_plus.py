import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels, ordered_labels
from shoal.core.threads import set_threads
from shoal.errors import GroupTooSmall, ParameterError
from shoal.methods.contract import labels_of
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition.mona import mona
from shoal.methods.partition.mona_plus import mona_plus
from shoal.methods.partition.mondrian import mondrian_v
from shoal.methods.refinement.block_refinement import repair
from shoal.methods.refinement.sse_exchange import exchange_records
from shoal.methods.running import run

from naive import partition as naive
from strategies import points_and_k


def some_groups(points, k):
    """A grouping that does not depend on the points: k or k+1 records in the order of the table."""
    return np.minimum(np.arange(len(points)) // k, len(points) // k - 1)


@given(points_and_k(), st.integers(1, 3))
def test_a_repair_never_raises_the_loss(case, passes):
    points, k = case
    labels = some_groups(points, k)
    repaired = repair(points, labels, k, passes=passes, block=3 * k).labels
    Grouping(repaired, k, max_size=max(2 * k - 1, 0))
    assert total_cost(points, repaired) <= total_cost(points, labels) * (1 + 1e-9)


@given(points_and_k(max_n=24, max_d=3, max_k=3))
def test_after_swaps_no_exchange_pays(case):
    points, k = case
    points = points - points[0]
    labels = ordered_labels(mondrian_v(points, k, whole="2k-1"))
    before = naive.cost(points, labels)
    labels = exchange_records(points, labels, k, neighbours=100, rounds=1000).labels
    Grouping(labels, k, max_size=2 * k - 1)
    assert naive.cost(points, labels) <= before * (1 + 1e-9)
    assert not naive.can_swap(points, labels, k, 1e-8 * before)


@given(points_and_k(max_n=24, max_d=3, max_k=3))
def test_after_many_rounds_no_group_is_better_dissolved(case):
    points, k = case
    labels = some_groups(points, k)
    before = naive.cost(points, labels)
    found = repair(points, labels, k, passes=1, block=len(points), rounds=1000, neighbours=0).labels
    Grouping(found, k, max_size=2 * k - 1)
    assert naive.cost(points, found) <= before * (1 + 1e-9)
    assert not naive.can_dissolve(points - points[0], found, k, 1e-8 * before)


@given(points_and_k(), st.sampled_from([0, 2]))
def test_groups_that_are_too_large_are_split(case, rounds):
    points, k = case
    labels = np.zeros(len(points), np.int64)
    found = repair(points, labels, k, passes=1, rounds=rounds).labels
    Grouping(found, k, max_size=2 * k - 1)
    assert total_cost(points, found) <= total_cost(points, labels) * (1 + 1e-9)


@given(points_and_k())
def test_sizes_lie_between_k_and_2k_less_1(case):
    points, k = case
    for options in ({}, {"block": 2 * k}, {"block": 4 * k, "passes": 1, "rounds": 0}, {"rho": 0.7, "leaf": "mdav"}):
        Grouping(mona_plus(points, k, **options).labels, k, max_size=2 * k - 1)


def test_it_loses_less_than_mona_with_the_same_blocks(rng):
    points = rng.normal(size=(5000, 4))
    ours, other = (total_cost(points, method(points, 5, block=500).labels) for method in (mona_plus, mona))
    assert ours < 0.95 * other


def test_it_loses_no_more_than_ona_star(rng):
    points = rng.normal(size=(2000, 5))
    assert total_cost(points, mona_plus(points, 4).labels) <= total_cost(points, labels_of(ona_star(points, 4)))


def test_more_passes_never_lose_more(rng):
    points = rng.normal(size=(3000, 4))
    costs = [total_cost(points, mona_plus(points, 5, block=300, passes=passes).labels) for passes in (1, 2, 4)]
    assert costs == sorted(costs, reverse=True)


def test_the_number_of_threads_changes_nothing(rng):
    points = rng.integers(0, 30, size=(20_000, 3)).astype(float)
    found = []
    for threads in (1, 3):
        set_threads(threads)
        found.append(mona_plus(points, 5, block=2000, passes=2).labels)
    set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])


def test_float32_is_read_as_it_is(rng):
    points = rng.normal(size=(3000, 3)).astype(np.float32)
    np.testing.assert_array_equal(
        canonical_labels(mona_plus(points, 5, block=500).labels),
        canonical_labels(mona_plus(points.astype(np.float64), 5, block=500).labels),
    )


def test_input_is_not_changed(rng):
    points = rng.normal(size=(500, 3))
    before = points.copy()
    mona_plus(points, 3, block=100)
    np.testing.assert_array_equal(points, before)


def test_equal_records_cost_nothing_and_end():
    points = np.repeat(np.arange(4.0), 25)[:, None]
    assert total_cost(points, mona_plus(points, 5, block=30).labels) == 0.0


def test_groups_below_k_are_refused(rng):
    with pytest.raises(GroupTooSmall):
        repair(rng.normal(size=(7, 2)), np.array([0, 0, 0, 0, 0, 1, 1]), 3)


def test_diagnostics_report_blocks_and_changes(rng):
    outcome = mona_plus(rng.normal(size=(1000, 3)), 5, block=300, passes=2)
    assert outcome.diagnostics["blocks"] == 4
    assert outcome.diagnostics["largest_block"] == 250
    assert len(outcome.diagnostics["changes_in_each_pass"]) == 2
    assert outcome.stopped == "finished"


@pytest.mark.parametrize(("name", "value"), [("passes", 0), ("block", 0), ("rounds", -1), ("rho", 2.0)])
def test_impossible_options_raise_an_error_that_names_them(name, value, rng):
    with pytest.raises(ParameterError, match=f"{name}={value} is not possible"):
        run("mona-plus", rng.normal(size=(50, 3)), 2, **{name: value})
