"""Methods that read which cells are known: compared with slow versions, and with what is wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.threads import set_threads
from shoal.methods.kernels import completed_points as completing
from shoal.methods.kernels.completed_points import completed_points
from shoal.methods.kernels.observed_mdav import mdav_of_known_cells
from shoal.methods.refinement.observed_search import descend, observed_cost
from shoal.methods.running import run

from naive import observed as naive

METHODS = ["mdav", "ona-star", "mona-plus", "annealing", "auto"]


@st.composite
def tables(draw):
    k = draw(st.integers(2, 4))
    n = draw(st.sampled_from([k, 2 * k - 1, 2 * k, 3 * k + 1, 23]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    points = rng.normal(size=(n, draw(st.integers(1, 3))))
    if draw(st.booleans()):
        points = points.round()  # ties and duplicates
    observed = rng.random(points.shape) > draw(st.sampled_from([0.05, 0.3, 0.8]))
    return points, observed, k


@settings(max_examples=100)
@given(tables())
def test_mdav_is_that_of_the_description(table):
    points, observed, k = table
    assert np.array_equal(mdav_of_known_cells(points, observed, k), naive.mdav(points, observed, k))


def test_without_missing_cells_it_is_mdav():
    points = np.random.default_rng(0).normal(size=(200, 3))
    everything = np.ones(points.shape, bool)
    plain = run("mdav", points, 4).labels
    assert np.array_equal(run("mdav", points, 4, observed=everything).labels, plain)
    found = mdav_of_known_cells(points, everything, 4)
    assert np.array_equal(np.unique(found, return_index=True)[1][found], np.unique(plain, return_index=True)[1][plain])


@settings(max_examples=25)
@given(tables(), st.sampled_from(METHODS))
def test_groups_are_of_k_to_2k_and_cost_what_their_known_cells_cost(table, method):
    points, observed, k = table
    options = {"effort": "fast"} if method == "auto" else {}
    labels = run(method, np.where(observed, points, 0.0), k, observed=observed, **options).labels
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert observed_cost(points, labels, observed) == pytest.approx(naive.cost(points, observed, labels), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_the_known_cells_count_in_the_search(method, share):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(300, 1))
    points = z + 0.5 * rng.normal(size=(300, 4))
    observed = rng.random(points.shape) > share
    hidden = np.where(observed, points, 0.0)
    options = {"effort": "fast"} if method == "auto" else {}
    labels = run(method, hidden, 3, observed=observed, **options).labels
    wrong = run(method, hidden, 3, **options).labels  # the wrong version: the mean of the column as if it were known
    assert observed_cost(points, labels, observed) < observed_cost(points, wrong, observed)


def test_descent_never_raises_the_cost_and_ends_where_no_exchange_helps():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(60, 2))
    observed = rng.random(points.shape) > 0.2
    start = np.arange(60) // 4
    found = descend(points, start, 4, observed)
    assert naive.cost(points, observed, found) < naive.cost(points, observed, start)
    assert np.bincount(found).min() >= 4


def test_completed_cells_come_from_near_records_and_known_cells_stay():
    rng = np.random.default_rng(3)
    z = rng.normal(size=400)
    points = np.column_stack([z, z + 0.01 * rng.normal(size=400)])
    observed = np.ones(points.shape, bool)
    observed[::10, 1] = False
    found = completed_points(np.where(observed, points, 0.0), observed)
    assert np.array_equal(found[observed], points[observed])
    errors = np.abs(found - points)[~observed]
    assert errors.mean() < 0.1 < np.abs(points[~observed]).mean()


def test_large_tables_are_completed_in_blocks_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(completing, "WHOLE_RECORDS", 100)
    monkeypatch.setattr(completing, "BLOCK_RECORDS", 80)
    rng = np.random.default_rng(4)
    points = rng.normal(size=(500, 2))
    observed = rng.random(points.shape) > 0.3
    found = []
    for threads in (1, 2):
        set_threads(threads)
        found.append(completed_points(points, observed))
    set_threads(None)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0][observed], points[observed])
