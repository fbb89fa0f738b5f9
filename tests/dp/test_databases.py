"""Histogram databases, queries, VC dimension, SmallDB and LaplaceHistograms."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import dp
from shoal.dp.database import clipped_cells
from shoal.dp.queries import STEPS_PER_UNIT
from shoal.dp.small_db_mechanism import _databases, small_db_scores
from shoal.errors import DataError, ParameterError


def database(counts):
    return dp.HistogramDatabase(dp.Universe((len(counts),)), np.array(counts, np.int64))


def probabilities(scores, sensitivity, epsilon):
    """The exact distribution of the exponential mechanism."""
    weights = np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))
    return weights / weights.sum()


def test_a_histogram_counts_records_and_returns_them():
    rows = np.array([[0, 1], [2, 0], [2, 0], [1, 1]])
    made = dp.HistogramDatabase.of(rows, (3, 2))
    assert made.size == 4
    assert sorted(map(tuple, made.records())) == sorted(map(tuple, rows))
    assert made.distance(dp.HistogramDatabase.of(rows[1:], (3, 2))) == 1
    assert made.distance(dp.HistogramDatabase.of([[0, 0], *rows[1:]], (3, 2))) == 2


def test_records_beyond_the_universe_are_counted_in_its_last_cells():
    assert dp.HistogramDatabase.of([[3], [-1], [7]], (3,)).counts.tolist() == [1, 0, 2]


def test_wrong_databases_raise_an_error():
    with pytest.raises(DataError, match="d numbers of cells"):
        clipped_cells([3], (3,))
    with pytest.raises(DataError, match="integers"):
        database([1, -1])
    with pytest.raises(ParameterError, match="too large to count"):
        dp.Universe((2000, 2000))
    with pytest.raises(ParameterError, match="at least one cell"):
        dp.Universe(())
    with pytest.raises(DataError, match="different universes"):
        database([1]).distance(database([1, 2]))


def test_queries_answer_by_their_definitions():
    made = dp.HistogramDatabase.of([[0, 0], [0, 2], [1, 2], [1, 1]], (2, 3))
    assert dp.range_query(made.universe, (0, 1), (1, 2))(made) == 0.75
    assert dp.range_query(made.universe, (0, 1), (1, 2), normalised=False)(made) == 3
    assert dp.histogram_query(made.universe, 5)(made) == 0.25
    assert dp.linear_query(np.linspace(0, 1, 6), normalised=False)(made) == pytest.approx(0 + 0.4 + 1 + 0.8, abs=1e-5)
    line = database([1, 0, 2, 1])
    assert dp.interval_query(line.universe, 1, 2)(line) == 0.5
    assert dp.counting_query([True, False, False, True], normalised=False)(line) == 2
    assert dp.interval_query(line.universe, 0, 3)(database([0, 0, 0, 0])) == 0


def test_wrong_queries_raise_an_error():
    with pytest.raises(ParameterError, match="between 0 and 1"):
        dp.linear_query([0.5, 1.5])
    with pytest.raises(ParameterError, match="one column"):
        dp.interval_query(dp.Universe((2, 2)), 0, 1)
    with pytest.raises(ParameterError, match="number of records"):
        dp.linear_query([0.5]).sensitivity()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2**32))
def test_sensitivities_of_queries_hold(counts, old, new, seed):
    query = dp.linear_query(np.random.default_rng(seed).random(3))
    counts = np.array(counts) + np.eye(3, dtype=int)[old]
    replaced = counts - np.eye(3, dtype=int)[old] + np.eye(3, dtype=int)[new]
    size = int(counts.sum())
    assert abs(query(database(counts)) - query(database(replaced))) <= query.sensitivity(size) + 1e-12
    raw = dp.LinearQuery(query.property_steps, normalised=False)
    assert abs(raw(database(counts)) - raw(database(counts - np.eye(3, dtype=int)[old]))) <= raw.sensitivity()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_unit_vectors_of_both_signs_are_shattered_by_boxes(d):
    universe = dp.Universe((3,) * d)
    queries = dp.all_range_queries(universe)
    units = [np.ones(d, int) + sign * np.eye(d, dtype=int)[axis] for axis in range(d) for sign in (-1, 1)]
    cells = [int(np.ravel_multi_index(tuple(unit), universe.shape)) for unit in units]
    assert dp.shatters(queries, cells)
    assert len(cells) == dp.vc_dimension_of_boxes(d)


@pytest.mark.parametrize("shape", [(5,), (3, 3), (4, 3)])
def test_the_vc_dimension_of_boxes_is_twice_the_number_of_columns(shape):
    assert dp.vc_dimension(dp.all_range_queries(dp.Universe(shape))) == 2 * len(shape)


def test_the_vc_dimension_is_at_most_the_logarithm_of_the_number_of_queries():
    rng = np.random.default_rng(3)
    for _ in range(20):
        queries = [dp.counting_query(rng.random(6) < 0.5) for _ in range(rng.integers(1, 20))]
        assert dp.vc_dimension(queries) <= math.log2(len(queries))
    everything = [dp.counting_query(members) for members in itertools.product([False, True], repeat=3)]
    assert dp.vc_dimension(everything) == 3


def test_the_vc_dimension_of_other_than_counting_queries_raises_an_error():
    with pytest.raises(ParameterError, match="counting queries"):
        dp.vc_dimension([dp.linear_query([0.5, 0.2])])
    with pytest.raises(ParameterError, match="no queries"):
        dp.vc_dimension([])
    with pytest.raises(ParameterError, match="at least 1"):
        dp.vc_dimension_of_boxes(0)


def test_small_db_enumerates_every_database_once():
    made = _databases(dp.Universe((4,)), 3)
    assert len(made) == math.comb(6, 3) == len({tuple(row) for row in made})
    assert (made.sum(axis=1) == 3).all()
    assert (made >= 0).all()
    assert _databases(dp.Universe((1,)), 3).tolist() == [[3]]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_exact_distribution_of_small_db_satisfies_its_guarantee_on_all_neighbours(epsilon):
    universe = dp.Universe((3,))
    queries = dp.all_range_queries(universe)
    candidates = _databases(universe, dp.small_db_size(len(queries), 0.7))
    exact = {}
    for counts in itertools.product(range(4), repeat=3):
        if sum(counts):
            scores, sensitivity = small_db_scores(database(counts), queries, candidates)
            exact[counts] = np.log(probabilities(scores, sensitivity, epsilon))
    pairs = 0
    for one, other in itertools.combinations(exact, 2):
        difference = np.array(one) - other
        added = np.abs(difference).sum() == 1
        replaced = difference.sum() == 0 and np.abs(difference).sum() == 2
        if added or replaced:
            pairs += 1
            assert np.abs(exact[one] - exact[other]).max() <= epsilon + 1e-9
    assert pairs > 200


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(0, 3), st.integers(0, 2**32))
def test_one_record_changes_the_scores_of_small_db_by_at_most_their_sensitivity(counts, extra, seed):
    rng = np.random.default_rng(seed)
    queries = [dp.linear_query(rng.random(4)) for _ in range(5)]
    candidates = _databases(dp.Universe((4,)), 3)
    before, sensitivity = small_db_scores(database(counts), queries, candidates)
    after, _ = small_db_scores(database(np.array(counts) + np.eye(4, dtype=int)[extra]), queries, candidates)
    assert sensitivity == 3 * STEPS_PER_UNIT
    assert np.abs(after - before).max() <= sensitivity


def test_the_error_of_small_db_stays_within_its_bound():
    original = database([600, 250, 100, 50])
    queries = dp.all_range_queries(original.universe)
    beta, alpha, epsilon = 0.05, 0.6, 1.0
    allowed = dp.small_db_error(
        universe=4, queries=len(queries), size=original.size, epsilon=epsilon, alpha=alpha, beta=beta
    )
    worse = 0
    for _ in range(200):
        made = dp.small_db(original, queries, epsilon=epsilon, alpha=alpha)
        assert made.database.size == dp.small_db_size(len(queries), alpha) == 7
        worse += max(abs(query(original) - query(made.database)) for query in queries) > allowed
    assert worse <= 32  # Binomial(200, 0.05) exceeds 32 with probability below 1e-7


def test_small_db_raises_an_error_for_wrong_input():
    original = database([5] * 30)
    queries = dp.all_range_queries(original.universe)
    with pytest.raises(ParameterError, match=r"SmallDB would enumerate .* databases"):
        dp.small_db(original, queries, epsilon=1.0, alpha=0.2)
    with pytest.raises(ParameterError, match="alpha=1"):
        dp.small_db(original, queries, epsilon=1.0, alpha=1)
    with pytest.raises(ParameterError, match="at least one query"):
        dp.small_db(original, [], epsilon=1.0, alpha=0.5)
    tiny = database([5, 5])
    with pytest.raises(ParameterError, match="normalised"):
        dp.small_db(tiny, [dp.counting_query([True, False], normalised=False)], epsilon=1.0, alpha=0.5)
    with pytest.raises(ParameterError, match="epsilon"):
        dp.small_db(tiny, dp.all_range_queries(tiny.universe), epsilon=0, alpha=0.5)


def test_histograms_have_the_corrected_scale():
    original = database([40, 0, 7])
    assert dp.laplace_histograms(original, epsilon=0.5).scale == 2.0
    replaced = dp.laplace_histograms(original, epsilon=0.5, neighbours="replace")
    assert replaced.scale == 4.0
    assert replaced.guarantee.public == ("the number of records",)
    assert replaced.accountant.spent_epsilon == 0.5


def test_histograms_become_databases_without_negative_counts():
    released = dp.laplace_histograms(database([0] * 200), epsilon=0.5)
    assert (released.counts < 0).any()
    assert released.database.counts.tolist() == np.maximum(released.counts, 0).tolist()
    assert released.shares().sum() == pytest.approx(1.0)
    assert released.accountant.spends[0].parts == 200


def test_noise_of_a_histogram_has_its_scale():
    noise = dp.laplace_histograms(database([100] * 20_000), epsilon=0.5).counts - 100
    # discrete Laplace of scale 2: mean absolute value 1.92; its estimate has a standard deviation of 0.014
    assert abs(np.abs(noise).mean() - 1.92) < 0.1
