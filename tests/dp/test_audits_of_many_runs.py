"""Audits with so many runs that half the noise, or the noise of a published error, is refuted.

A sound mechanism is found violated with probability below 1e-8 in each audit. Every audit of a sound mechanism has
enough runs to refute one that distinguishes the databases with certainty. The slow audits do the same with many more
runs, which brings the lower bounds closer to the claimed epsilon.
"""

from contextlib import ExitStack
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from shoal import dp
from shoal.dp.insensitive_mechanism import group_sums
from shoal.dp.interval_mechanism import _too_few
from shoal.dp.opendp_library import bernoulli_draws, integer_noise, real_noise, select
from shoal.dp.quantile import quantile_scores
from shoal.errors import ParameterError

FALSE_ALARM = 1e-8


def repeated(mechanism):
    """An attack that runs a mechanism again and again."""
    return lambda database, runs: np.array([mechanism(database) for _ in range(runs)])


def not_refuted(attack, database, neighbour, *, epsilon, delta=0.0, runs):
    finding = dp.audit(attack, database, neighbour, epsilon=epsilon, delta=delta, runs=runs, false_alarm=FALSE_ALARM)
    assert not finding.violated, (finding.epsilon_lower, finding.event)
    certain = lambda side, count: np.full(count, side)  # noqa: E731
    perfect = dp.audit(certain, 0, 1, epsilon=epsilon, delta=delta, runs=runs, false_alarm=FALSE_ALARM)
    assert perfect.violated, "too few runs: this audit cannot fail"
    return finding.epsilon_lower


def refuted(attack, database, neighbour, *, epsilon, delta=0.0, runs, false_alarm=FALSE_ALARM):
    finding = dp.audit(attack, database, neighbour, epsilon=epsilon, delta=delta, runs=runs, false_alarm=false_alarm)
    assert finding.violated, (finding.epsilon_lower, finding.event)


def line(counts):
    return dp.HistogramDatabase(dp.Universe((len(counts),)), np.array(counts, np.int64))


def laplace(epsilon, sensitivity):
    return lambda answer, runs: (
        dp.laplace_mechanism(
            np.full(runs, answer), sensitivity=sensitivity, epsilon=epsilon, integers=isinstance(answer, int)
        ).values
    )


def test_laplace_on_integers_and_floats_is_not_refuted():
    assert not_refuted(laplace(1.0, 1), 0, 1, epsilon=1.0, runs=20_000) > 0.65
    assert not_refuted(laplace(1.0, 0.3), 0.0, 0.3, epsilon=1.0, runs=20_000) > 0.65


def test_laplace_with_half_the_sensitivity_is_refuted():
    refuted(laplace(1.0, 1), 0, 2, epsilon=1.0, runs=20_000)


def test_exponential_is_refuted_only_with_a_wrong_sensitivity():
    def choose(utilities):
        return dp.exponential_mechanism(utilities, sensitivity=1, epsilon=2.0).index

    assert not_refuted(repeated(choose), [0, 1, 0], [1, 0, 1], epsilon=2.0, runs=2_000) > 0.3
    refuted(repeated(choose), [0, 4, 0], [4, 0, 4], epsilon=2.0, runs=1_000)  # four times the sensitivity


def test_histograms_are_refuted_only_with_the_published_scale():
    counts, neighbour = np.array([3, 0, 1]), np.array([3, 1, 1])

    def noisy_cell(database):
        return dp.laplace_histograms(line(database), epsilon=1.0).counts[1]

    not_refuted(repeated(noisy_cell), counts, neighbour, epsilon=1.0, runs=2_000)

    def as_printed(database, runs):  # shares with noise of scale 1 / (epsilon |universe|), 60 cells for 5 records
        return real_noise(np.full(runs, database[1] / database.sum()), 1 / 60, 1.0)

    refuted(as_printed, counts, neighbour, epsilon=1.0, runs=2_000)


def test_histograms_under_replacement_need_twice_the_scale():
    one, other = np.array([3, 0]), np.array([2, 1])

    def difference(neighbours):
        def attack(database):
            counts = dp.laplace_histograms(line(database), epsilon=1.0, neighbours=neighbours).counts
            return counts[1] - counts[0]

        return repeated(attack)

    not_refuted(difference("replace"), one, other, epsilon=1.0, runs=1_500)
    refuted(lambda x, n: integer_noise(np.full(n, x[1] - x[0]), 1, 1.0), one, other, epsilon=1.0, runs=10_000)


def test_small_db_is_not_refuted():
    queries = dp.all_range_queries(dp.Universe((3,)))

    def first_cell(counts):
        made = dp.small_db(line(counts), queries, epsilon=2.0, alpha=0.7).database
        return made.counts @ [1, 10, 100]

    not_refuted(repeated(first_cell), [3, 0, 1], [3, 0, 2], epsilon=2.0, runs=800)
    not_refuted(repeated(first_cell), [1, 0, 0], [0, 0, 1], epsilon=2.0, runs=800)


def intervals(values):
    made = dp.release_intervals(np.array(values)[:, None], 2, epsilon=3.0, alpha=0.99)
    return made.high[0, 0] + 10 * len(made.high)


def released_count(k, epsilon, delta, beta=None):
    def attack(size):
        made = dp.strongly_safe(np.zeros(size, np.int64), k=k, epsilon=epsilon, delta=delta, beta=beta)
        return int(made.counts.sum())

    return repeated(attack)


def test_strongly_safe_is_refuted_only_without_sampling():
    delta = dp.safe_delta(k=3, beta=0.3, epsilon=0.8)
    not_refuted(released_count(3, 0.8, delta, 0.3), 6, 7, epsilon=0.8, delta=delta, runs=1_500)
    unsampled = lambda size, runs: np.full(runs, size)  # noqa: E731
    refuted(unsampled, 6, 7, epsilon=0.8, delta=delta, runs=1_000)


def test_the_mean_of_sampled_records_is_refuted():
    delta = dp.safe_delta(k=20, beta=0.2, epsilon=0.5)

    def mean(values, runs):
        means = []
        for _ in range(runs):
            sample = values[bernoulli_draws(values.size, 0.2)]
            means.append(sample.mean() if sample.size >= 20 else -1.0)
        return np.array(means)

    usual = np.zeros(200)
    refuted(mean, np.append(usual, 1.0), usual, epsilon=0.5, delta=delta, runs=1_500)


def shifted(columns):
    """Databases on which replacing one record moves every group: the first record goes to the far end."""
    one = np.column_stack([np.arange(256), np.repeat(np.tile([0, 63], 32), 4)])[:, :columns]
    other = one.copy()
    other[0] = one[-1]
    return one, other


@pytest.mark.parametrize("columns", [1, 2])
def test_insensitive_noise_is_refuted_only_with_the_sensitivity_of_one_mean(columns):
    one, other = shifted(columns)
    shape = (256, 64)[:columns]
    true_sums = [group_sums(codes, shape, 4, "lexicographic")[0] for codes in (one, other)]

    def likelier(sums):  # the logarithm of the likelihood ratio, up to a factor
        return (np.abs(sums - true_sums[1]) - np.abs(sums - true_sums[0])).sum() / 2**16

    def sound(codes):
        made = dp.insensitive_noise(codes, shape, k=4, epsilon=1.0, order="lexicographic")
        return likelier(made.means / (np.array(shape) - 1) * 4 * 2**16)

    not_refuted(repeated(sound), one, other, epsilon=1.0, runs=600)
    if columns == 2:

        def for_one_mean(codes):  # as if only one mean could move
            sums, _, _ = group_sums(codes, shape, 4, "lexicographic")
            return likelier(integer_noise(sums.ravel(), 2 * 2**16, 1.0).reshape(sums.shape))

        refuted(repeated(for_one_mean), one, other, epsilon=1.0, runs=600)


def test_private_quantile_is_not_refuted():
    def median(values):
        return dp.private_quantile(np.array(values), np.arange(4), epsilon=2.0)

    not_refuted(repeated(median), [0, 3], [0, 3, 3], epsilon=2.0, runs=1_500)


@pytest.mark.parametrize("times", [1, 2])
def test_a_comparison_of_intervals_is_refuted_only_with_half_the_noise(times):
    def too_few(count):  # one of six records moves to another interval
        return _too_few(count, 6, Fraction(1, 6), times * 1.0)

    (refuted if times == 2 else not_refuted)(repeated(too_few), 0, 1, epsilon=1.0, runs=6_000)


@pytest.mark.parametrize("times", [1, 2])
def test_a_choice_is_refuted_only_with_half_the_noise(times):
    def choose(scores):
        return select(np.array(scores), 1, times * 1.0)

    (refuted if times == 2 else not_refuted)(repeated(choose), [0, 3], [1, 2], epsilon=1.0, runs=16_000)


HALVES = np.repeat([0, 1, 2], [500, 1, 500])[:, None], np.repeat([0, 1, 2], [500, 1, 501])[:, None]
MONDRIAN_EPSILON = 3.0


def mondrian_likelihood(made, values):
    """The logarithm of the probability of a release of one or two parts, from its cut, counts and sums."""
    rate = 0.35 * MONDRIAN_EPSILON / 2
    scores = rate * quantile_scores(values, np.arange(2))[0]
    found = scores[made.high[0, 0]] - np.logaddexp.reduce(scores) if len(made.high) == 2 else 0.0
    for low, high, count, mean in zip(made.low[:, 0], made.high[:, 0], made.counts, made.means[:, 0], strict=True):
        inside = values[(values >= low) & (values <= high)]
        found -= 0.2 * MONDRIAN_EPSILON * abs(count - inside.size)
        if high > low:
            positions = (2 * inside - (low + high)) / (high - low)
            released = (2 * mean - (low + high)) / (high - low) * max(count, 1)
            found -= 0.3 * MONDRIAN_EPSILON * abs(released - positions.sum())
    return found


def mondrian_attack(codes):
    """The logarithm of the likelihood ratio of the entire release, which an intruder would use."""
    made = dp.mondrian(codes, (3,), k=400, epsilon=MONDRIAN_EPSILON)
    one, other = (mondrian_likelihood(made, database[:, 0]) for database in HALVES)
    return other - one


def test_mondrian_is_not_refuted_as_a_whole():
    not_refuted(repeated(mondrian_attack), *HALVES, epsilon=MONDRIAN_EPSILON, runs=8_000)


def test_mondrian_with_half_the_noise_is_refuted_as_a_whole():
    def half(draw):
        return lambda values, sensitivity, epsilon: draw(values, sensitivity, 2 * epsilon)

    with ExitStack() as patches:
        for place, draw in {
            "mondrian_release.integer_noise": integer_noise,
            "private_mondrian.integer_noise": integer_noise,
            "quantile.select": select,
        }.items():
            patches.enter_context(mock.patch(f"shoal.dp.{place}", half(draw)))
        refuted(repeated(mondrian_attack), *HALVES, epsilon=MONDRIAN_EPSILON, runs=30_000, false_alarm=1e-4)


def test_too_few_runs_or_a_wrong_false_alarm_raise_an_error():
    with pytest.raises(ParameterError, match="too few"):
        dp.audit(laplace(1.0, 1), 0, 1, epsilon=1.0, runs=5)
    with pytest.raises(ParameterError, match="false_alarm"):
        dp.audit(laplace(1.0, 1), 0, 1, epsilon=1.0, false_alarm=0)


@pytest.mark.slow
def test_the_lower_bound_for_laplace_is_close_to_its_epsilon():
    assert not_refuted(laplace(1.0, 1), 0, 1, epsilon=1.0, runs=1_000_000) > 0.95


@pytest.mark.slow
def test_release_intervals_is_not_refuted_with_many_runs():
    not_refuted(repeated(intervals), [0], [3], epsilon=3.0, runs=20_000)
    not_refuted(repeated(intervals), [3], [0, 3], epsilon=3.0, runs=20_000)


@pytest.mark.slow
@pytest.mark.parametrize("split_criterion", ["side", "deviation", "mad"])
def test_mondrian_is_not_refuted_with_many_runs(split_criterion):
    codes = np.column_stack([np.repeat([0, 15], [10, 9]), np.repeat([0, 15], [10, 9])])
    neighbour = np.vstack([codes, [[15, 15]]])

    def counts_and_cuts(values):
        made = dp.mondrian(values, (16, 16), k=4, epsilon=2.0, split_criterion=split_criterion)
        return made.counts[-1] + made.means[-1].sum() / 100

    def first_cut(values):
        return dp.mondrian(values, (16, 16), k=4, epsilon=2.0, split_criterion=split_criterion).high[0] @ [1, 16]

    not_refuted(repeated(counts_and_cuts), codes, neighbour, epsilon=2.0, runs=8_000)
    not_refuted(repeated(first_cut), codes, neighbour, epsilon=2.0, runs=8_000)


@pytest.mark.slow
def test_strongly_safe_is_not_refuted_with_many_runs():
    delta = dp.safe_delta(k=2, beta=0.4, epsilon=0.8)
    not_refuted(released_count(2, 0.8, delta, 0.4), 2, 3, epsilon=0.8, delta=delta, runs=50_000)
    not_refuted(released_count(2, 0.8, delta, 0.4), 3, 4, epsilon=0.8, delta=delta, runs=50_000)
