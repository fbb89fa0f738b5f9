"""ONA* with exchanges: never worse than ONA*, and no further change lowers the loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from published import computed
from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import ParameterError
from shoal.methods.distance.ona import random_start
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.distance.ona_star_plus import ona_star_plus
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.refinement.ona_star_moves import refine
from shoal.methods.refinement.sse_exchange import exchange_records

from naive import distance_moves
from naive.partition import can_swap
from strategies import points_and_k


@given(points_and_k(max_n=50))
@settings(max_examples=25)
def test_it_is_never_worse_than_ona_star_and_has_its_group_sizes(case):
    points, k = case
    labels = ona_star_plus(points, k).labels
    Grouping(labels, k, max_size=2 * k - 1)
    paper = total_cost(points, ona_star(points, k).labels)
    assert total_cost(points, labels) <= paper + 1e-9 * (paper + 1e-300)


@pytest.mark.parametrize(("n", "d", "k"), [(24, 2, 3), (40, 3, 2), (36, 1, 4)])
def test_refining_with_exchanges_equals_its_reference_implementation(n, d, k, rng):
    points = rng.normal(size=(n, d))
    start = random_start(n, k, rng)
    found = refine(points, start, k, moves="all").labels
    expected = distance_moves.refine_with_exchanges(points, start, k)
    np.testing.assert_array_equal(canonical_labels(found), canonical_labels(expected))


@given(points_and_k(max_n=24, max_k=3), st.integers(0, 2**32))
@settings(max_examples=10)
def test_at_the_end_neither_an_exchange_nor_a_move_lowers_the_loss(case, seed):
    """With at most six groups, all others are among the five nearest."""
    points, k = case
    points = points[: 6 * k]
    start = random_start(len(points), k, np.random.default_rng(seed))
    labels = refine(points, start, k, max_rounds=1000, moves="all").labels
    total = total_cost(points, np.zeros(len(points), np.int64))
    assert not can_swap(points, labels, k, 1e-8 * total)
    assert refine(points, labels, k, moves="all").diagnostics["rounds"] == 0


def test_diagnostics_count_the_changes(rng):
    diagnostics = refine(rng.normal(size=(200, 3)), random_start(200, 4, rng), 4, moves="all").diagnostics
    assert list(diagnostics) == ["rounds", "dissolved_groups", "reassigned_records", "split_groups", "exchanges"]
    assert diagnostics["exchanges"] > 0
    assert diagnostics["rounds"] > 0
    assert diagnostics["reassigned_records"] > 0


def test_exchanges_leave_their_input_unchanged():
    labels = np.array([0, 0, 1, 1])
    outcome = exchange_records(np.array([[0.0], [9.0], [1.0], [8.0]]), labels, 2)
    assert outcome.labels.tolist() == [1, 0, 1, 0]
    assert labels.tolist() == [0, 0, 1, 1]


def test_one_group_has_no_neighbours_to_exchange_with(rng):
    outcome = exchange_records(rng.normal(size=(5, 2)), np.zeros(5, np.int64), 3)
    assert outcome.labels.tolist() == [0] * 5
    assert outcome.diagnostics == {"exchanges": 0}
    with pytest.raises(ParameterError, match="neighbours=0"):
        exchange_records(rng.normal(size=(5, 2)), np.zeros(5, np.int64), 3, neighbours=0)


@pytest.mark.parametrize("name", ["census", "tarragona"])
def test_the_loss_falls_below_that_of_ona_star_on_the_reference_sets(name):
    table = computed.points(name)
    for k in (3, 5, 10):
        assert computed.loss(table, ona_star_plus(table, k).labels) < computed.loss(table, ona_star(table, k).labels)
