"""The exact privacy loss of every mechanism, from the inputs of its queries on neighbouring tables.

The answers of a run are recorded and replayed on a neighbouring table. Each query then has two inputs and one answer:
the inputs must differ by at most the sensitivity of the query, the sum of epsilon over the queries that differ must be
within the budget, and so must the privacy loss, the logarithm of the ratio of the probabilities of all answers. Unlike
an audit by many runs this finds half the noise in a few runs. That the noise itself has the distribution of its scale
is tested in test_primitives.py.
"""

import numpy as np
import pytest

from noise_transcripts import Transcript
from shoal import dp
from shoal.dp import (
    histogram_mechanism,
    insensitive_mechanism,
    interval_mechanism,
    mondrian_release,
    opendp_library,
    private_mondrian,
    quantile,
    small_db_mechanism,
)

EPSILON = 2.0


def line(codes):
    return dp.HistogramDatabase.of(codes, (4,))


def mondrian(criterion, *, means=True):
    return lambda codes: (
        dp.mondrian(codes, (16, 16), k=20, epsilon=EPSILON, split_criterion=criterion, means=means).accountant
    )


def small_db(codes):
    universe = dp.Universe((4,))
    return dp.small_db(line(codes), dp.all_range_queries(universe), epsilon=EPSILON, alpha=0.7).accountant


RUNS = {  # columns, cells of a column, and the accounting of a run
    "mondrian side": (2, 16, mondrian("side")),
    "mondrian deviation": (2, 16, mondrian("deviation")),
    "mondrian mad": (2, 16, mondrian("mad")),
    "mondrian without means": (2, 16, mondrian("side", means=False)),
    "intervals": (1, 16, lambda codes: dp.release_intervals(codes, 4, epsilon=EPSILON, alpha=0.9).accountant),
    "intervals of two columns": (
        2, 4, lambda codes: dp.release_intervals(codes, 2, epsilon=EPSILON, alpha=0.99).accountant,
    ),
    "histogram": (1, 4, lambda codes: dp.laplace_histograms(line(codes), epsilon=EPSILON).accountant),
    "histogram replace": (
        1, 4, lambda codes: dp.laplace_histograms(line(codes), epsilon=EPSILON, neighbours="replace").accountant,
    ),
    "small-db": (1, 4, small_db),
    "insensitive": (1, 16, lambda codes: dp.insensitive_noise(codes, (16,), k=4, epsilon=EPSILON).accountant),
    "insensitive of two columns": (
        2, 16, lambda codes: dp.insensitive_noise(codes, (16, 16), k=4, epsilon=EPSILON).accountant,
    ),
    "epsilon-safe boxes": (
        2, 16, lambda codes: dp.epsilon_safe(codes, (16, 16), k=8, epsilon=EPSILON, delta=0.1).accountant,
    ),
}  # fmt: skip
REPLACED = ("histogram replace", "insensitive", "insensitive of two columns")


def neighbours(name, seed):
    """Two tables that differ in one record, which is in a corner as often as not; few records, or many in one place."""
    columns, cells, _ = RUNS[name]
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cells, (400 if cells**columns == 256 else int(rng.integers(16, 60)), columns))
    if seed % 3 == 0:
        codes = np.where(rng.random(codes.shape) < 0.8, 0, cells - 1)
    corner = rng.integers(0, 2, columns) * (cells - 1)
    one = corner if seed % 2 else rng.integers(0, cells, columns)
    if name in REPLACED:
        return np.vstack([codes, [one]]), np.vstack([codes, [cells - 1 - corner]])
    return codes, np.vstack([codes, [one]])


def check(name, seed, halved=None):
    """Assert all bounds on the loss of one run; returns the epsilon of the queries that differ, and the loss."""
    table, neighbour = neighbours(name, seed)
    run = RUNS[name][2]
    transcript = Transcript(halved=halved)
    with transcript.recording():
        accountant = run(table)
    with transcript.replaying():
        again = run(neighbour)
    assert accountant.spends == again.spends
    if name.startswith("intervals"):
        per_query = {entry.epsilon for entry in accountant.spends}
        assert {query.epsilon for query in transcript.queries} <= per_query, "another epsilon than accounted"
    sampled = [entry for entry in accountant.spends if "sampled" in entry.query]  # no noise there
    budget = EPSILON - float(sum(entry.total_epsilon for entry in sampled))
    spent, loss = transcript.spent(), abs(transcript.losses().sum())
    assert spent <= budget, "more than the budget"
    assert loss <= budget * (1 + 1e-9), "more than the budget"
    return spent / budget, loss / budget


@pytest.mark.parametrize("name", RUNS)
def test_no_answers_lose_more_than_epsilon(name, repetitions):
    found = [check(name, seed) for seed in range(repetitions(80))]
    assert max(loss for _, loss in found) > 0
    if name.startswith("intervals"):
        # a record changes at most sigma comparisons by one, all others by alpha/6, and there are sigma ceil(8/alpha)
        assert max(loss for _, loss in found) <= 0.26
        return
    shares = (check(name, seed)[0] for seed in range(100))
    assert any(share > 0.99 for share in shares)  # the budget is tight: any query with less noise exceeds it


def check_many(name, halved=None):
    for seed in range(100):
        check(name, seed, halved)


def wrong(function, change):
    """A version of a function that returns a changed sensitivity."""

    def other(*given, **options):
        *found, sensitivity = function(*given, **options)
        return *found, change(sensitivity)

    return other


MUTANTS = {
    "half the sensitivity of medians": ("mondrian side", quantile, "quantile_scores", lambda found: found / 2),
    "means as if there were one column": ("mondrian side", mondrian_release, "position_sums", lambda _found: 2**16),
    "groups as if one mean changed": (
        "insensitive of two columns", insensitive_mechanism, "group_sums", lambda _found: 2 * 2**16,
    ),
    "half the sensitivity of databases": ("small-db", small_db_mechanism, "small_db_scores", lambda found: found // 2),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_sensitivity_that_is_too_small_is_found(monkeypatch, mutant):
    name, module, function, change = MUTANTS[mutant]
    monkeypatch.setattr(module, function, wrong(getattr(module, function), change))
    with pytest.raises(AssertionError, match="changes by"):
        check_many(name)


def test_comparisons_of_intervals_with_half_the_sensitivity_are_found(monkeypatch):
    def too_few(count, size, content, epsilon):
        excess = content.denominator * count - content.numerator * size
        return interval_mechanism.integer_noise(np.array([excess]), content.denominator // 2, epsilon)[0] < 0

    monkeypatch.setattr(interval_mechanism, "_too_few", too_few)
    with pytest.raises(AssertionError, match="changes by"):
        check_many("intervals")


def test_a_histogram_of_replaced_records_with_the_noise_of_added_ones_is_found(monkeypatch):
    monkeypatch.setitem(
        RUNS, "histogram replace", (1, 4, lambda codes: dp.laplace_histograms(line(codes), epsilon=EPSILON).accountant)
    )
    with pytest.raises(AssertionError, match="changes by 2"):
        check_many("histogram replace")


HALVED = {
    "mondrian side": [(mondrian_release, "integer_noise"), (private_mondrian, "integer_noise"), (quantile, "select")],
    "mondrian deviation": [(private_mondrian, "select"), (quantile, "select")],
    "mondrian mad": [(quantile, "select")],
    "intervals": [(interval_mechanism, "integer_noise")],
    "histogram": [(histogram_mechanism, "integer_noise")],
    "insensitive": [(insensitive_mechanism, "integer_noise")],
    "small-db": [(small_db_mechanism, "select")],
    "epsilon-safe boxes": [(private_mondrian, "integer_noise"), (quantile, "select")],
}


@pytest.mark.parametrize(
    ("name", "module", "source"), [(name, *place) for name, places in HALVED.items() for place in places]
)
def test_half_the_noise_is_found(name, module, source):
    """Every place that draws noise, one at a time, with twice the epsilon."""
    with pytest.raises(AssertionError, match=r"more than the budget|another epsilon"):
        check_many(name, (module.__name__, source))


def test_the_functions_that_draw_noise_are_known():
    """A further function that draws noise would not be recorded."""
    drawn = {name for name in vars(opendp_library) if name.endswith(("_noise", "_draws")) or name == "select"}
    assert drawn == {"integer_noise", "real_noise", "select", "bernoulli_draws"}
