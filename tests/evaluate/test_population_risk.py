"""Risk against the population: figures of the specification, reference implementations, and wrong neighbours."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.datasets import reference_path
from shoal.errors import DataError, ParameterError
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn
from shoal.evaluate.population_risk import (
    against_population,
    expected_inverse,
    known_population,
    nearest_individuals,
    persons_in_found_households,
)
from shoal.evaluate.superpopulation import (
    Pitman,
    _log_likelihood,
    expected_inverse_of_class,
    fit_pitman,
    slide_negative_binomial,
    zayatz,
)

from naive import population as naive

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
FIVE = ["age", "sex", "race", "marital-status", "education"]
SEVEN = [*FIVE, "occupation", "native-country"]


@pytest.fixture(scope="module")
def adult():
    return pl.read_csv(reference_path("adult"), infer_schema_length=None)


def sizes_of(table, keys):
    return table.group_by(keys).len()["len"].to_numpy().astype(np.int64)


# sampling weights


def test_francdat_as_in_the_specification():
    table = pl.read_csv(reference_path("francdat"))
    quasi = ["Key1", "Key2", "Key3", "Key4"]
    found = shoal.assess(table, quasi=quasi, sampling_weight="w", unnamed="other").risk
    assert round(found.journalist.highest, 4) == 0.4024
    assert round(found.journalist.average, 4) == 0.1208
    with_sums = table.with_columns(f=pl.len().over(quasi), F=pl.col("w").sum().over(quasi))
    f, people = with_sums["f"].to_numpy().astype(float), with_sums["F"].to_numpy()
    risks = [0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426]
    assert f.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert expected_inverse(f, people).round(8).tolist() == risks
    wrong = [naive.one_over_sum(*pair) for pair in zip(f, people, strict=True)]
    assert (max(wrong), round(float(np.mean(wrong)), 4)) == (0.2, 0.0534)


def test_testdata_as_in_the_specification():
    table = pl.read_csv(reference_path("testdata"))
    found = shoal.assess(
        table, quasi=KEYS, sampling_weight="sampling_weight", household="ori_hid", of="rows", unnamed="other"
    ).risk.population
    assert round(found.expected, 6) == 10.775525
    assert round(found.highest, 7) == 0.0465169
    assert found.uniques.sample_uniques == 157
    assert round(found.in_found_households, 2) == 51.80


@given(st.integers(1, 60), st.floats(0.02, 1))
def test_the_expectation_of_one_over_f(f, p):
    found = float(expected_inverse(np.array([float(f)]), np.array([f / p]))[0])
    assert found == pytest.approx(naive.expected_inverse(f, p), rel=1e-9)
    assert found >= naive.one_over_sum(f, f / p) * (1 - 1e-12)  # Jensen: today's figure was never too high


@pytest.mark.parametrize("f", [1, 2, 19, 20, 21, 1000, 1_000_000])
@pytest.mark.parametrize("p", [1e-9, 1e-4, 0.4999, 0.5, 0.5001, 0.99, 1.0])
def test_small_and_large_classes_and_fractions(f, p):
    from scipy.integrate import quad

    found = float(expected_inverse(np.array([float(f)]), np.array([f / p]))[0])
    # with v = exp(-s / f) the integrand falls like exp(-s)
    inside = quad(lambda s: np.exp(-s) / (p + (1 - p) * np.exp(-s / f)) / f, 0, 700, epsabs=0, epsrel=1e-11, limit=900)
    assert found == pytest.approx(p * inside[0], rel=1e-6)
    assert 0 < found <= 1 / f * (1 + 1e-12)


def test_a_full_count_is_the_prosecutor():
    assert expected_inverse(np.array([1.0, 4.0]), np.array([1.0, 2.0])).tolist() == [1.0, 0.25]


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), None])
def test_wrong_weights_are_refused(weight):
    table = pl.DataFrame({"x": [1, 1], "w": [1.0, weight]})
    with pytest.raises(DataError, match="sampling weights"):
        shoal.assess(table, quasi=["x"], sampling_weight="w")


# only the size of the population


CASES = [
    (FIVE, 4, (4480.8, 1103.9, 1472.6), 4471.22, 4332.3, (1018.0, 550.8), (3948, 1003, 1406.2)),
    (FIVE, 10, (4672.5, 467.0, 694.4), 5776.20, 3576.1, (353.4, 138.1), (3948, 401, 646.0)),
    (FIVE, 50, (2879.0, 57.7, 117.3), 14230.17, 12162.0, (41.7, 10.4), (3948, 75, 140.5)),
    (SEVEN, 10, (14077.2, 1409.3, 1905.4), 21620.13, 17959.2, (802.4, 313.7), (15620, 1528, 2006.8)),
]
"""Keys, step, Pitman, Zayatz, SNB, expected matches by weights and by 1/F, and the truth."""


def matches_by_weights(sizes, population):
    """The expected matches with sample uniques by weights, and by the wrong neighbour 1/F."""
    ones, people = float((sizes == 1).sum()), population / sizes.sum()
    return round(ones * float(expected_inverse(np.ones(1), np.array([people]))[0]), 1), round(ones / people, 1)


def truth_of(everyone, sample, keys):
    """Population uniques, sample uniques that are unique in the population, and the sum of 1/F over sample uniques."""
    counts = everyone.group_by(keys).len("F")
    joined = sample.group_by(keys).len("f").join(counts, on=keys).filter(f=1)
    return int((counts["F"] == 1).sum()), int((joined["F"] == 1).sum()), round(float((1 / joined["F"]).sum()), 1)


@pytest.mark.parametrize(("keys", "step", "pitman", "by_zayatz", "snb", "weights", "truth"), CASES)
def test_the_table_of_the_specification(adult, keys, step, pitman, by_zayatz, snb, weights, truth):
    sample = adult.gather_every(step)
    sizes = sizes_of(sample, keys)
    risk, found = against_population(sizes, population=adult.height)
    uniques = found.uniques
    assert tuple(round(x, 1) for x in (uniques.pitman, uniques.unique_in_both, uniques.expected_matches)) == pitman
    assert round(uniques.zayatz, 2) == by_zayatz
    assert round(uniques.snb, 1) == snb
    assert matches_by_weights(sizes, adult.height) == weights
    assert truth_of(adult, sample, keys) == truth
    assert risk[sizes == 1].max() == found.highest
    assert abs(uniques.expected_matches / truth[2] - 1) < 0.18 < abs(weights[1] / truth[2] - 1)


def test_the_page_states_how_far_the_estimates_lie_from_the_truth():
    """The bands of the page follow from the figures that the tests on both sides of this one compute again."""
    covertype = ((534.6,), (198.0, 42.6), (518.9,))
    cases = [covertype, *((pitman, weights, truth) for _, _, pitman, _, _, weights, truth in CASES)]
    model, weighted, inverse = (
        [round(100 * (estimate / truth[-1] - 1)) for estimate, truth in found]
        for found in (
            [(pitman[-1], truth) for pitman, _, truth in cases],
            [(weights[0], truth) for _, weights, truth in cases],
            [(weights[1], truth) for _, weights, truth in cases],
        )
    )
    page = " ".join(
        Path(__file__).parents[2].joinpath("docs", "population-risk.md").read_text(encoding="utf-8").split()
    )
    assert f"lay between {-min(model)} % below and {max(model)} % above the truth" in page
    assert f"that by weights between {-max(weighted)} and {-min(weighted)} % below" in page
    assert f"the sum of the weights between {-max(inverse)} and {-min(inverse)} % below" in page


def test_covertype_as_in_the_specification():
    names = ["Elevation", "Aspect", "Slope", "Hillshade_9am", "Horizontal_Distance_To_Roadways"]
    widths = [50, 30, 3, 10, 500]
    table = pl.read_csv(reference_path("covertype"), columns=names)
    bands = table.select([(pl.col(name) // width).alias(name) for name, width in zip(names, widths, strict=True)])
    sample = bands.gather_every(100)
    sizes = sizes_of(sample, names)
    found = against_population(sizes, population=bands.height)[1]
    assert (sample.height, truth_of(bands, sample, names)) == (5811, (13979, 139, 518.9))
    assert matches_by_weights(sizes, bands.height) == (198.0, 42.6)
    assert (round(found.uniques.pitman), round(found.uniques.unique_in_both, 1)) == (15607, 155.7)
    assert round(found.uniques.expected_matches, 1) == 534.6
    assert (round(found.uniques.zayatz), round(found.uniques.snb)) == (312620, 303544)
    assert found.uniques.a == 0
    assert "model of Ewens" in found.notes[0]


def test_the_parameters_of_the_specification(adult):
    sizes = sizes_of(adult.gather_every(10), FIVE)
    assert ((sizes == 1).sum(), (sizes == 2).sum(), sizes.size) == (1381, 332, 2140)
    model = fit_pitman(sizes, adult.height)
    assert (round(model.a, 4), round(model.t, 2)) == (0.5145, 391.30)
    assert round(float(model.risk(np.array([1]))[0]), 5) == 0.50281
    limit = np.exp(model.a * np.log(adult.height) + _lgamma(model.t + 1) - _lgamma(model.t + model.a))
    assert limit == pytest.approx(4690.585, rel=1e-6)


def _lgamma(x):
    from math import lgamma

    return lgamma(x)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=12), st.floats(0.01, 0.99), st.floats(0.1, 50))
def test_the_likelihood_equals_the_reference_implementation(sizes, a, t):
    different, counts = np.unique(sizes, return_counts=True)
    found = _log_likelihood(a, float(np.log(t)), different.astype(float), counts.astype(float))
    assert found == pytest.approx(naive.log_likelihood(a, t, sizes), rel=1e-9, abs=1e-9)


@given(st.integers(1, 5), st.integers(0, 300), st.floats(0, 0.95), st.floats(0.5, 40), st.integers(0, 30))
def test_the_sum_over_the_population_equals_the_reference_implementation(f, further, a, t, others):
    model = Pitman(a, t, f + others, f + others + further)
    wanted = 1 / f if not further else naive.beta_binomial_inverse(f, further, f - a, t + others + a)
    assert float(model.risk(np.array([f]))[0]) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("f", [1, 3, 100, 399, 401, 1500])
@pytest.mark.parametrize("further", [30_000, 2_000_000])
def test_large_populations_are_integrated_instead_of_summed(f, further):
    """Against all terms with logarithms; also where the probability of the first term is below the smallest float."""
    from scipy.special import betaln, gammaln

    alpha, beta = f - 0.4, 300.0 + 20_000 - f + 0.4
    h = np.arange(further + 1.0)
    logs = gammaln(further + 1.0) - gammaln(h + 1) - gammaln(further - h + 1) + betaln(h + alpha, further - h + beta)
    wanted = float((np.exp(logs - betaln(alpha, beta)) / (f + h)).sum())
    assert expected_inverse_of_class(f, further, alpha, beta) == pytest.approx(wanted, rel=1e-7)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=15), st.integers(1, 60))
def test_zayatz_equals_exact_fractions(sizes, further):
    N = sum(sizes) + further
    assert zayatz(np.array(sizes), N) == pytest.approx(float(naive.zayatz(sizes, N)) if 1 in sizes else 0.0)


def test_no_uniques_are_zero_and_no_solution_is_not():
    found = against_population(np.array([3, 4, 5]), population=120)[1]
    assert (found.uniques.estimate, found.uniques.pitman, found.population_unique) == (0, 0, 0)
    assert 1 / 10 * 0.3 < found.highest < 1 / 3
    every = against_population(np.ones(50, np.int64), population=5000)[1]
    assert every.uniques.pitman is None
    assert every.uniques.snb is None
    assert "can understate the risk" in every.notes[0]
    assert slide_negative_binomial(np.array([1, 1, 3]), 50) is None


def test_the_whole_population_is_the_prosecutor():
    found = against_population(np.array([1, 1, 2, 3, 1]), population=8)[1]
    assert found.highest == pytest.approx(1)
    assert found.average == pytest.approx(5 / 8)


# a table of the population


def test_the_example_of_a_population_table():
    released = pl.DataFrame({"age": [31, 31, 61, 61]})
    population = pl.DataFrame({"age": [28, 29, 30, 31, 32, 33, 45, 58, 60, 62, 64]})
    for found in (
        shoal.assess(released, quasi=["age"], population=population).risk,
        shoal.risk(released, released, quasi=["age"], population=population).classes,
    ):
        assert found.journalist.highest == 1 / 4
        assert round(found.journalist.average, 6) == 0.196429
        assert found.population.k_map == 4
        assert found.population.presence == pytest.approx((2 / 7, 1 / 2))


def test_means_of_adult_match_the_population(adult):
    """The printed 2.13 % counts an individual with several nearest classes at the first; the definition shares it."""
    from scipy.spatial import cKDTree

    quasi = ["age", "education-num", "hours-per-week"]
    everyone = adult.select(quasi)
    sample = everyone.gather_every(10)
    release = shoal.protect(sample, 5, quasi=quasi, method="mdav", sums="exact")
    found = shoal.risk(sample, release.data, quasi=quasi, population=everyone).classes
    classes = release.data.group_by(quasi, maintain_order=True).len("f")
    f, scale = classes["f"].to_numpy(), sample.to_numpy().astype(float).std(axis=0)
    nearest = cKDTree(classes.select(quasi).to_numpy() / scale).query(everyone.to_numpy() / scale)[1]
    first = np.bincount(nearest, minlength=f.size)
    assert round(100 * float((f / np.maximum(first, f)).sum()) / sample.height, 2) == 2.13
    assert round(100 * found.journalist.average, 2) == 2.08
    equal = classes.join(everyone.group_by(quasi).len("F"), on=quasi, how="left")["F"].fill_null(0).to_numpy()
    assert round(100 * float((f / np.maximum(equal, f)).sum()) / sample.height, 1) == 10.2  # by equal values only


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6, unique=True), st.lists(st.integers(0, 20), min_size=1))
def test_individuals_count_at_their_nearest_class(classes, individuals):
    values = np.repeat(np.array(classes, float), 2)
    column = PairedColumn("x", values, values)
    found = nearest_individuals(
        Matcher([column], np.repeat(np.arange(len(classes)), 2)), [np.array(individuals, float)]
    )
    assert found.tolist() == pytest.approx(naive.nearest_individuals(classes, individuals))
    assert found.sum() == pytest.approx(len(individuals))


def test_a_population_that_does_not_hold_the_table_is_reported():
    table = pl.DataFrame({"x": [1, 1, 1, 9]})
    found = shoal.assess(table, quasi=["x"], population=pl.DataFrame({"x": [1, 9, 9]})).risk.population
    assert found.uncovered == 1
    assert "does not hold the table" in found.notes[0]
    assert found.presence == (0.5, 1.0)


# arguments


@pytest.mark.parametrize("population", [3, "3", 10.5, float("nan"), True])
def test_impossible_populations_are_refused(population):
    with pytest.raises(ParameterError, match="population"):
        known_population(population, None, 4)


def test_size_and_fraction_exclude_each_other():
    with pytest.raises(ParameterError, match="give one of them"):
        known_population(100, 0.1, 4)


def test_households():
    assert persons_in_found_households(np.array([1.0, 0.0, 0.5]), np.array([0, 0, 1])) == pytest.approx(2.5)


def test_the_word_journalist_needs_a_population(tmp_path):
    file = tmp_path / "people.csv"
    pl.DataFrame({"x": [1, 1, 2, 3], "y": [1, 2, 1, 2]}).write_csv(file)
    plain = ["--quasi", "x", "--unnamed", "other"]
    words = {"assess": ["assess", str(file)], "evaluate": ["evaluate", str(file), str(file)]}
    for start in words.values():
        without = CliRunner().invoke(app, [*start, *plain])
        assert without.exit_code == 0, without.output
        assert "ournalist" not in without.output
        for option in (["--population", "100"], ["--sampling-fraction", "0.04"], ["--population", str(file)]):
            shown = CliRunner().invoke(app, [*start, *plain, *option])
            assert "journalist, highest" in shown.output, shown.output
            assert "An intruder with a register" in shown.output
    printed = CliRunner().invoke(app, [*words["assess"], *plain, "--population", "100", "--json"])
    assert json.loads(printed.output)["risk"]["population"]["population"] == 100
    wrong = CliRunner().invoke(app, [*words["assess"], *plain, "--population", "2"])
    assert wrong.exit_code != 0


def test_the_report_states_the_risk_against_the_population():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"age": rng.integers(20, 80, 200), "w": rng.integers(5, 30, 200).astype(float)})
    release = shoal.protect(table, 5, quasi=["age"], sampling_weight="w", method="mdav")
    from shoal.report.page import render_report

    text = render_report(release.released, release._original)
    assert "Journalist risk, average" in text
    assert "An intruder with a register of the population" in text
    plain = shoal.protect(table.drop("w"), 5, quasi=["age"], method="mdav")
    assert "ournalist" not in render_report(plain.released, plain._original)
