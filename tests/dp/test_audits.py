"""Every mechanism is attacked on neighbouring databases; its guarantee stands, and without noise it is refuted.

Each audit runs a mechanism 300 times on both databases with the claim epsilon = 1. A sound mechanism is refuted with
probability below 1e-8. The same audit with the same runs is then applied to wrong versions of the mechanism, without
noise in one place or without sampling; all of them must be refuted, so that an audit that cannot fail is an error.
test_audits_of_many_runs.py refutes mechanisms with half the noise, and test_exact_losses.py computes exact losses.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import pytest

from shoal import dp
from shoal.dp.insensitive_mechanism import group_sums
from shoal.dp.opendp_library import integer_noise
from shoal.dp.quantile import quantile_scores

RUNS = 300
FALSE_ALARM = 1e-8


def without_noise(values, _sensitivity, _epsilon):
    return np.asarray(values, np.int64)


def means_without_noise(values, sensitivity, epsilon):
    return values if sensitivity > 1 else integer_noise(values, sensitivity, epsilon)


def counts_without_noise(values, sensitivity, epsilon):
    return values if sensitivity == 1 else integer_noise(values, sensitivity, epsilon)


def best(scores, _sensitivity, _epsilon):
    return int(np.argmax(scores))


def everyone(n, _probability):
    return np.ones(n, bool)


@dataclass(frozen=True)
class Case:
    """An attack on a mechanism: the statistic of a result, two databases, and wrong versions."""

    statistic: object
    database: object
    neighbour: object
    wrong: dict = field(default_factory=dict)
    delta: float = 0.0

    def audit(self, replaced=(), runs=RUNS):
        attack = lambda database, runs: np.array([self.statistic(database) for _ in range(runs)])  # noqa: E731
        with ExitStack() as patches:
            for place, function in replaced:
                patches.enter_context(mock.patch(f"shoal.dp.{place}", function))
            return dp.audit(
                attack, self.database, self.neighbour, epsilon=1.0, delta=self.delta, runs=runs, false_alarm=FALSE_ALARM
            )


def column(*counts):
    """So many records in the first, second, ... cell of a column."""
    return np.repeat(np.arange(len(counts)), counts)[:, None]


def histogram(codes, cells=3):
    return dp.HistogramDatabase.of(codes, (cells,))


def intervals(codes):
    made = dp.release_intervals(codes, 2, epsilon=1.0, alpha=0.99)
    return made.high[0, 0] + 10 * len(made.high)


def mondrian(codes, k, **options):
    return dp.mondrian(codes, (3,), k=k, epsilon=1.0, **options)


def mondrian_sum(codes):
    made = mondrian(codes, 500)
    return ((made.means[:, 0] - 1) * np.maximum(made.counts, 1)).sum()


def epsilon_safe(codes):
    return dp.epsilon_safe(codes, (3,), k=20, epsilon=1.0, delta=0.05, beta=0.05)


def insensitive(codes):
    sums = [group_sums(table, (3,), 4, "lexicographic")[0] for table in (column(7, 0, 9), column(6, 0, 10))]
    made = dp.insensitive_noise(codes, (3,), k=4, epsilon=1.0, order="lexicographic").means / 2 * 4 * 2**16
    return (np.abs(made - sums[1]) - np.abs(made - sums[0])).sum()


def small_db(codes):
    queries = dp.all_range_queries(dp.Universe((3,)))
    return dp.small_db(histogram(codes), queries, epsilon=1.0, alpha=0.7).database.counts @ [1, 10, 100]


HALVES = column(500, 1, 500), column(500, 1, 501)  # one record moves the median from the first to the second cut
CASES = {
    "intervals, replaced": Case(
        intervals, column(1, 0, 0, 0), column(0, 0, 0, 1),
        {"no noise": [("interval_mechanism.integer_noise", without_noise)]},
    ),
    "intervals, added": Case(
        intervals, column(0, 0, 0, 1), column(1, 0, 0, 1),
        {"no noise": [("interval_mechanism.integer_noise", without_noise)]},
    ),
    "mondrian, count": Case(
        lambda codes: mondrian(codes, 500).counts.sum(), column(50, 10, 50), column(50, 10, 51),
        {
            "no noise": [("mondrian_release.integer_noise", without_noise)],
            "no noise on counts": [("mondrian_release.integer_noise", counts_without_noise)],
        },
    ),
    "mondrian, mean": Case(
        mondrian_sum, column(50, 10, 50), column(50, 10, 51),
        {"no noise on means": [("mondrian_release.integer_noise", means_without_noise)]},
    ),
    "mondrian, where it is split": Case(
        lambda codes: mondrian(codes, 400).high[0, 0], *HALVES, {"best median": [("quantile.select", best)]},
    ),
    "mondrian, which parts are split": Case(
        lambda codes: len(mondrian(codes, 3).high), column(2, 2, 2), column(2, 2, 3),
        {"no noise": [("private_mondrian.integer_noise", without_noise)]},
    ),
    "epsilon-safe, count": Case(
        lambda codes: epsilon_safe(codes).counts.sum(), *HALVES,
        {"no sampling": [("safe_k_anonymity.bernoulli_draws", everyone)]}, delta=0.05,
    ),
    "epsilon-safe, boxes": Case(
        lambda codes: (epsilon_safe(codes).high[:, 0] == 0).any(), *HALVES,
        {"best median": [("quantile.select", best)]}, delta=0.05,
    ),
    "strongly-safe": Case(
        lambda codes: dp.strongly_safe(codes[:, 0], k=3, epsilon=1.0, delta=0.09, beta=0.3).counts.sum(),
        column(6), column(7), {"no sampling": [("safe_k_anonymity.bernoulli_draws", everyone)]}, delta=0.09,
    ),
    "histogram": Case(
        lambda codes: dp.laplace_histograms(histogram(codes), epsilon=1.0).counts[1], column(3, 0, 1), column(3, 1, 1),
        {"no noise": [("histogram_mechanism.integer_noise", without_noise)]},
    ),
    "insensitive": Case(
        insensitive, column(7, 0, 9), column(6, 0, 10),
        {"no noise": [("insensitive_mechanism.integer_noise", without_noise)]},
    ),
    "small-db": Case(
        small_db, column(3, 0, 1), column(3, 0, 2), {"best database": [("small_db_mechanism.select", best)]},
    ),
    "quantile": Case(
        lambda codes: dp.private_quantile(codes[:, 0], np.arange(2), epsilon=1.0), *HALVES,
        {"best median": [("quantile.select", best)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_only_a_mechanism_without_noise_is_refuted(name):
    case = CASES[name]
    finding = case.audit()
    assert not finding.violated, (finding.epsilon_lower, finding.event)
    assert case.wrong
    for replaced in case.wrong.values():
        finding = case.audit(replaced)
        assert finding.violated, (finding.epsilon_lower, finding.event)


def test_the_median_of_the_databases_is_moved_by_one_record():
    assert [best(*quantile_scores(codes[:, 0], np.arange(2)), 1.0) for codes in HALVES] == [0, 1]


@pytest.mark.parametrize("times", [1, 2])
def test_a_count_with_half_the_noise_is_refuted(times):
    draw = lambda count, runs: integer_noise(np.full(runs, count), 1, times * 1.0)  # noqa: E731
    finding = dp.audit(draw, 10, 11, epsilon=1.0, runs=6_000, false_alarm=FALSE_ALARM)
    assert finding.violated == (times == 2)
