"""ReleaseIntervals: boxes cover the space, losses add up to the budget, the accuracy theorem holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import dp
from shoal.dp.interval_mechanism import _cut
from shoal.errors import DataError, ParameterError


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.sampled_from([0.6, 0.9]), st.floats(0.05, 50), st.integers(0, 200), st.integers(0, 2**32))
def test_intervals_cover_the_column_in_order_and_are_few(sigma, alpha, epsilon, n, seed):
    codes = np.random.default_rng(seed).integers(0, 2**sigma, (n, 1))
    made = dp.release_intervals(codes, sigma, epsilon=epsilon, alpha=alpha)
    assert made.low[0, 0] == 0
    assert made.high[-1, 0] == 2**sigma - 1
    assert (made.low[1:, 0] == made.high[:-1, 0] + 1).all()
    assert (made.low <= made.high).all()
    assert len(made.low) <= dp.max_intervals(alpha)
    assert made.accountant.spent_epsilon <= epsilon
    (line,) = made.accountant.spends
    assert line.times == sigma * dp.max_intervals(alpha)
    assert float(line.total_epsilon) == pytest.approx(epsilon)


def test_boxes_of_two_columns_are_disjoint_and_cover_everything():
    codes = np.random.default_rng(0).integers(0, 8, (300, 2))
    made = dp.release_intervals(codes, 3, epsilon=20.0, alpha=0.9)
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(-1, 1, 2)
    inside = ((grid >= made.low) & (grid <= made.high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert made.accountant.spent_epsilon == pytest.approx(20.0)
    assert [line.times for line in made.accountant.spends] == [27, 27]
    assert made.accountant.spends[1].parts > 1
    drawn = made.synthetic(1000)
    assert ((drawn >= 0) & (drawn < 8)).all()
    assert len(drawn) % len(made.low) == 0


def test_with_little_noise_intervals_have_the_expected_content():
    codes = np.repeat(np.arange(64), 100)
    pieces = _cut(codes, 6, 1e5, alpha=0.6)
    sizes = [piece[2].stop - piece[2].start for piece in pieces]
    assert sizes[0] == 700  # the shortest run of cells of 100 that contains a tenth of 6400
    assert all(size == 700 for size in sizes[:-1])
    assert sum(sizes) == 6400


def test_a_frequent_value_has_an_interval_of_its_own():
    codes = np.sort(np.concatenate([np.full(5000, 17), np.arange(32)]))
    pieces = _cut(codes, 5, 1e5, alpha=0.9)
    assert (17, 17) in {(first, last) for first, last, _ in pieces[:2]} or pieces[0][1] == 17


def test_the_accuracy_theorem_holds_for_interval_queries():
    sigma, alpha, epsilon, beta = 4, 0.5, 50.0, 0.05
    n = dp.intervals_records_needed(sigma=sigma, epsilon=epsilon, alpha=alpha, beta=beta)
    rng = np.random.default_rng(5)
    worse = 0
    for _ in range(40):
        codes = np.minimum(rng.geometric(0.3, (n, 1)) - 1, 15)
        drawn = dp.release_intervals(codes, sigma, epsilon=epsilon, alpha=alpha).synthetic(20_000)
        below = [np.cumsum(np.bincount(values[:, 0], minlength=16)) / len(values) for values in (codes, drawn)]
        gaps = np.concatenate([[0.0], below[0] - below[1]])
        worse += gaps.max() - gaps.min() > alpha  # the worst interval query
    assert worse <= 15  # Binomial(40, 0.05) exceeds 15 with probability below 1e-9


def test_records_beyond_the_grid_count_in_its_last_cells():
    outside = np.repeat([[-7], [99]], 500, axis=0)
    made = dp.release_intervals(outside, 3, epsilon=1e5, alpha=0.9)
    assert made.high[0, 0] == 0
    assert made.low[-1, 0] >= 1


def test_wrong_input_raises_an_error():
    codes = np.zeros((5, 1), np.int64)
    with pytest.raises(ParameterError, match="alpha"):
        dp.release_intervals(codes, 3, epsilon=1.0, alpha=0)
    with pytest.raises(ParameterError, match="sigma"):
        dp.release_intervals(codes, 0, epsilon=1.0, alpha=0.5)
    with pytest.raises(ParameterError, match="epsilon"):
        dp.release_intervals(codes, 3, epsilon=-1.0, alpha=0.5)
    with pytest.raises(DataError, match="n x d"):
        dp.release_intervals(codes[:, 0], 3, epsilon=1.0, alpha=0.5)
    with pytest.raises(ParameterError, match="larger alpha or fewer columns"):
        dp.release_intervals(np.zeros((5, 6), np.int64), 3, epsilon=1.0, alpha=0.5)
    with pytest.raises(ParameterError, match="sigma"):
        dp.intervals_records_needed(sigma=0, epsilon=1.0, alpha=0.5, beta=0.1)
