"""Safe k-anonymisation with sampling: the calculator, the theorem checked from first principles, and the release."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from shoal import dp
from shoal.errors import ParameterError


def tight_delta(k, beta, epsilon, largest):
    """The exact delta of one cell: all results, both directions, cells of up to so many records."""
    worst = 0.0
    for n in range(1, largest + 1):
        shown = np.arange(k, n + 1)
        more = np.append(binom.pmf(shown, n, beta), binom.cdf(k - 1, n, beta))
        less = np.append(binom.pmf(shown, n - 1, beta), binom.cdf(k - 1, n - 1, beta))
        for one, other in ((more, less), (less, more)):
            worst = max(worst, float(np.maximum(one - math.exp(epsilon) * other, 0).sum()))
    return worst


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(("beta", "epsilon"), [(0.05, 0.2), (0.2, 0.25), (0.2, 1.0), (0.5, 0.7), (0.5, 2.0)])
def test_the_theorem_covers_the_exact_loss_of_a_cell(k, beta, epsilon):
    bound = dp.safe_delta(k=k, beta=beta, epsilon=epsilon)
    exact = tight_delta(k, beta, epsilon, largest=200)
    assert exact <= bound * (1 + 1e-9)
    assert exact > bound / 100  # the bound is not trivial


def test_without_sampling_no_delta_below_one_suffices():
    assert tight_delta(5, 1.0, 3.0, largest=20) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.floats(0.02, 0.3), st.floats(0.4, 2.0))
def test_delta_falls_with_epsilon_and_k(k, beta, epsilon):
    delta = dp.safe_delta(k=k, beta=beta, epsilon=epsilon)
    assert dp.safe_delta(k=2 * k, beta=beta, epsilon=epsilon) <= delta
    assert dp.safe_delta(k=k, beta=beta, epsilon=1.5 * epsilon) <= delta * (1 + 1e-9)
    assert dp.safe_delta(k=k, beta=beta / 1.5, epsilon=epsilon) <= delta * (1 + 1e-9)


def test_the_calculators_invert_each_other():
    beta = dp.safe_beta(k=20, epsilon=0.5, delta=1e-6)
    assert dp.safe_delta(k=20, beta=beta, epsilon=0.5) <= 1e-6
    assert dp.safe_delta(k=20, beta=beta + 2e-6, epsilon=0.5) > 1e-6
    k = dp.safe_k(beta=0.1, epsilon=0.5, delta=1e-6)
    assert dp.safe_delta(k=k, beta=0.1, epsilon=0.5) <= 1e-6 < dp.safe_delta(k=k - 1, beta=0.1, epsilon=0.5)
    assert dp.safe_delta(k=1, beta=0.5, epsilon=100.0) == 0.0


def test_only_cells_of_k_sampled_records_are_released():
    cells = np.repeat(np.arange(50), np.arange(50) * 4)
    made = dp.strongly_safe(cells, k=10, epsilon=1.0, delta=1e-4)
    assert made.counts.min() >= 10
    assert (made.counts <= made.cells * 4).all()
    assert made.guarantee == dp.Guarantee(1.0, 1e-4)
    assert made.accountant.spent_delta == 1e-4


def test_the_sampled_fraction_is_beta():
    made = dp.strongly_safe(np.zeros(50_000, np.int64), k=20, epsilon=1.0, delta=1e-6, beta=0.2)
    # Binomial(50,000, 0.2) lies within 6 standard deviations (537) of 10,000 except with probability 2e-9
    assert abs(int(made.counts[0]) - 10_000) < 537


def test_epsilon_safe_adds_the_loss_of_its_boxes():
    codes = np.random.default_rng(0).integers(0, 256, (4000, 2))
    made = dp.epsilon_safe(codes, (256, 256), k=10, epsilon=2.0, delta=1e-5, structure=0.25)
    assert made.guarantee == dp.Guarantee(2.0, 1e-5)
    assert made.counts.min() >= 10
    lines = made.accountant.spends
    assert sum(line.total_epsilon for line in lines[:-1]) <= 0.5
    assert float(lines[-1].total_epsilon) == 1.5
    assert made.low.shape == made.high.shape == (len(made.cells), 2)
    assert (made.low <= made.high).all()


def test_wrong_input_raises_an_error():
    cells = np.zeros(10, np.int64)
    with pytest.raises(ParameterError, match="needs delta above 0"):
        dp.strongly_safe(cells, k=5, epsilon=1.0, delta=0.0)
    with pytest.raises(ParameterError, match="delta=2"):
        dp.strongly_safe(cells, k=5, epsilon=1.0, delta=2)
    with pytest.raises(ParameterError, match="k=0"):
        dp.strongly_safe(cells, k=0, epsilon=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="epsilon=0"):
        dp.strongly_safe(cells, k=5, epsilon=0, delta=1e-6)
    with pytest.raises(ParameterError, match="more than the requested 1e-06"):
        dp.strongly_safe(cells, k=5, epsilon=1.0, delta=1e-6, beta=0.4)
    with pytest.raises(ParameterError, match="too small for sampling with beta"):
        dp.strongly_safe(cells, k=5, epsilon=0.1, delta=1e-6, beta=0.4)
    with pytest.raises(ParameterError, match="beta"):
        dp.safe_delta(k=5, beta=1.0, epsilon=1.0)
    with pytest.raises(ParameterError, match="structure"):
        dp.epsilon_safe(np.zeros((9, 1), np.int64), (4,), k=5, epsilon=1.0, delta=1e-6, structure=1.0)
    with pytest.raises(ParameterError, match="no sampling probability satisfies"):
        dp.safe_beta(k=1, epsilon=1e-5, delta=1e-30)
