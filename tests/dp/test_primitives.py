"""Noise and choices have the published distributions; a statistical test fails at random with probability < 1e-6."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from shoal import dp
from shoal.dp.opendp_library import _gumbel_selection, bernoulli_draws, certified_scale, integer_noise, select
from shoal.dp.quantile import quantile_scores
from shoal.errors import DataError, ParameterError

SMALLEST_P = 1e-7
"""A test is failed below this; the asymptotic p-values used here are accurate enough for a false alarm below 1e-6."""


def discrete_laplace(values, scale):
    """The probability of each integer under discrete Laplace noise."""
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(values)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (3, 0.5), (1, 4.0)])
def test_integer_noise_has_the_discrete_laplace_distribution(sensitivity, epsilon):
    draws = integer_noise(np.zeros(20_000, np.int64), sensitivity, epsilon)
    scale = sensitivity / epsilon
    edge = math.ceil(4 * scale)
    inside = np.arange(-edge, edge + 1)
    observed = [(draws < -edge).sum(), *[(draws == value).sum() for value in inside], (draws > edge).sum()]
    expected = discrete_laplace(inside, scale)
    tail = (1 - expected.sum()) / 2
    shares = np.array([tail, *expected, tail])
    assert chisquare(observed, shares * draws.size).pvalue > SMALLEST_P


def test_real_noise_has_the_laplace_distribution_and_its_variance():
    release = dp.laplace_mechanism(np.zeros(20_000), sensitivity=0.5, epsilon=0.25)
    assert release.scale == 2.0
    assert kstest(release.values, "laplace", args=(0, 2.0)).pvalue > SMALLEST_P
    # the variance is 2 b² = 8; the fourth moment 24 b⁴ gives its estimate a standard deviation of 0.126: 8 of them
    assert abs(release.values.var() - 8.0) < 1.1


def test_the_exponential_mechanism_draws_in_proportion_to_exp_of_utility():
    utilities, epsilon = np.array([0, 1, 2, 5]), 0.8
    draws = [dp.exponential_mechanism(utilities, sensitivity=1, epsilon=epsilon).index for _ in range(6_000)]
    weights = np.exp(epsilon * utilities / 2)
    assert chisquare(np.bincount(draws, minlength=4), weights / weights.sum() * len(draws)).pvalue > SMALLEST_P


def test_float_utilities_have_the_same_distribution():
    utilities, epsilon = np.array([0.0, 0.25, 0.5]), 2.0
    draws = [dp.exponential_mechanism(utilities, sensitivity=0.25, epsilon=epsilon).index for _ in range(4_000)]
    weights = np.exp(epsilon * utilities / 0.5)
    assert chisquare(np.bincount(draws, minlength=3), weights / weights.sum() * len(draws)).pvalue > SMALLEST_P


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
def test_bernoulli_draws_have_their_probability_and_are_independent(probability):
    draws = bernoulli_draws(40_000, probability)
    both = 2 * draws[:-1:2].astype(int) + draws[1::2]
    shares = np.array([(1 - probability) ** 2, *[probability * (1 - probability)] * 2, probability**2])
    assert chisquare(np.bincount(both, minlength=4), shares * both.size).pvalue > SMALLEST_P


def test_the_shortfall_of_the_exponential_mechanism_holds():
    utilities = np.arange(50)
    allowed = dp.exponential_shortfall(50, 1, 1.0, beta=0.1)
    worse = sum(
        49 - dp.exponential_mechanism(utilities, sensitivity=1, epsilon=1.0).index > allowed for _ in range(500)
    )
    # Binomial(500, 0.1) exceeds 90 with probability below 1e-6; the bound is far from tight
    assert worse <= 90


@given(st.integers(1, 10**9), st.floats(1e-6, 1e3))
def test_no_scale_is_too_small_for_its_epsilon(sensitivity, epsilon):
    from shoal.dp.opendp_library import _integer_laplace

    scale = certified_scale(sensitivity / epsilon, sensitivity, epsilon, _integer_laplace)
    assert _integer_laplace(scale).map(sensitivity) <= epsilon
    assert scale <= sensitivity / epsilon * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_opendp_certifies_the_loss_of_the_exponential_mechanism(epsilon):
    concentrated = _gumbel_selection(2 * 5 / epsilon).map(5)
    assert concentrated == pytest.approx(epsilon**2 / 8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 20), max_size=30),
    st.integers(0, 20),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]),
)
def test_one_record_changes_quantile_scores_by_at_most_their_sensitivity(values, one_more, quantile):
    candidates = np.arange(21)
    before, sensitivity = quantile_scores(np.array(values, np.int64), candidates, quantile)
    after, _ = quantile_scores(np.array([*values, one_more], np.int64), candidates, quantile)
    assert np.abs(after - before).max() <= sensitivity


def test_quantile_scores_are_best_at_the_quantile():
    values = np.arange(1, 101)
    for quantile in (0.1, 0.5, 0.9):
        scores, _ = quantile_scores(values, np.arange(0, 102), quantile)
        assert scores.argmax() == round(100 * quantile)


def test_a_private_quantile_is_close_with_a_large_budget():
    values = np.repeat(np.arange(1000), 3)
    found = [dp.private_quantile(values, np.arange(1000), epsilon=5.0, quantile=0.25) for _ in range(20)]
    # being 20 ranks of 1000 off (60 records) has a weight of exp(-5 * 0.75 * 60 / 1.5 / 2): never seen
    assert max(abs(value - 250) for value in found) < 20


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, True, "1"])
def test_a_wrong_epsilon_raises_an_error(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        dp.laplace_mechanism([1], sensitivity=1, epsilon=epsilon)
    with pytest.raises(ParameterError, match="epsilon"):
        dp.exponential_mechanism([1], sensitivity=1, epsilon=epsilon)


def test_the_type_of_noisy_numbers_is_declared_and_not_read_from_the_answers():
    for answers in ([61], [61.0], [91.5], np.array([61], np.uint8)):
        assert dp.laplace_mechanism(answers, sensitivity=1, epsilon=1.0).values.dtype == np.float64
    assert dp.laplace_mechanism([61], sensitivity=1, epsilon=1.0, integers=True).values.dtype == np.int64


@pytest.mark.parametrize("answer", [2**63 - 1, -(2**63), np.uint64(2**64 - 1)])
def test_answers_too_large_for_noise_in_64_bits_are_clipped(answer):
    made = dp.laplace_mechanism(np.array([answer]), sensitivity=1, epsilon=1.0, integers=True)
    assert abs(abs(int(made.values[0])) - 2**62) < 100


def test_integer_and_float_utilities_are_treated_alike(monkeypatch):
    seen = []
    monkeypatch.setattr("shoal.dp.exponential.select", lambda *query: seen.append(query) or 0)
    for utilities in ([0, 5, 3], [0.0, 5.0, 3.0]):
        dp.exponential_mechanism(utilities, sensitivity=2, epsilon=1.0)
    assert all(np.array_equal(one, other) for one, other in zip(*seen, strict=True))


def test_utilities_that_differ_by_any_amount_have_a_choice():
    assert dp.exponential_mechanism([0.0, 1e300], sensitivity=1, epsilon=1.0).index == 1
    assert dp.exponential_mechanism([-(2**62), 2**62], sensitivity=1, epsilon=1.0).index == 1


def test_wrong_values_and_sensitivities_raise_an_error():
    with pytest.raises(DataError, match="NaN or infinite"):
        dp.laplace_mechanism([math.nan], sensitivity=1, epsilon=1.0)
    with pytest.raises(DataError, match="list of numbers"):
        dp.laplace_mechanism(["a"], sensitivity=1, epsilon=1.0)
    with pytest.raises(ParameterError, match="round it up"):
        dp.laplace_mechanism([1], sensitivity=0.5, epsilon=1.0, integers=True)
    with pytest.raises(ParameterError, match="sensitivity=0"):
        dp.laplace_mechanism([1], sensitivity=0, epsilon=1.0)
    with pytest.raises(DataError, match="floats were given"):
        dp.laplace_mechanism([1.0], sensitivity=1, epsilon=1.0, integers=True)
    with pytest.raises(DataError, match="at least one candidate"):
        dp.exponential_mechanism([], sensitivity=1, epsilon=1.0)
    with pytest.raises(DataError, match="finite"):
        dp.exponential_mechanism([0.0, math.inf], sensitivity=1, epsilon=1.0)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        dp.private_quantile(np.array([1]), np.array([1]), epsilon=1.0, quantile=1.5)
    with pytest.raises(ParameterError, match="at least one candidate"):
        dp.private_quantile(np.array([1]), np.array([], np.int64), epsilon=1.0)


def test_a_single_candidate_is_chosen():
    assert select(np.array([7]), 1, 0.01) == 0


def test_without_opendp_the_error_says_how_to_install_it():
    code = (
        "import sys; sys.modules['opendp'] = None\n"
        "import shoal\n"
        "try:\n    shoal.dp.laplace_mechanism([1], sensitivity=1, epsilon=1.0)\n"
        "except shoal.errors.MissingExtra as problem:\n    print(problem)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "python3 -m pip install 'shoal[dp]'" in shown


def test_shoal_and_its_dp_namespace_do_not_import_opendp():
    code = (
        "import sys, shoal; shoal.dp.Guarantee; dir(shoal.dp); print('opendp' in sys.modules, 'scipy' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "False False"


@pytest.mark.parametrize("name", dp.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(dp, name).__doc__
    assert name in dir(dp)


def test_an_unknown_name_raises_an_error():
    with pytest.raises(AttributeError, match="laplas"):
        _ = dp.laplas
