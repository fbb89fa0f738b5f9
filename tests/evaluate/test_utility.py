"""The utility of a release: reference implementations, scipy, invariants, zeros, missing values and constants."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import shoal
from shoal.errors import DataError, SchemaError, UnknownColumn
from shoal.evaluate.analyses import (
    interval_overlap,
    regression_agreement,
    trained_on_release,
)
from shoal.evaluate.distribution_distances import (
    hellinger,
    kolmogorov_smirnov,
    largest_difference,
    pairwise_variation,
    total_variation,
    wasserstein,
)
from shoal.evaluate.moments import il1s, joint_moments, mean_shift, quantile_shift, variance_change
from shoal.evaluate.paired_columns import PairedColumn, number_of_text
from shoal.evaluate.propensity_scores import null_pmse, propensity
from shoal.evaluate.regression_models import Fit, least_squares, logistic, predict

from naive import rivals as naive_rivals
from naive import utility as naive

NUMBERS = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=2, max_size=40)


def paired(pairs):
    original, released = (np.array(part, float) for part in zip(*pairs, strict=True))
    return PairedColumn("x", original, released)


@given(NUMBERS)
def test_il1s_equals_the_reference_implementation(pairs):
    column = paired(pairs)
    if np.ptp(column.original) == 0:
        assert il1s(column) == (column.original != column.released).mean()
    else:
        assert il1s(column) == pytest.approx(naive.il1s(column.original.tolist(), column.released.tolist()))


@given(NUMBERS)
def test_distances_of_distributions_equal_those_of_scipy(pairs):
    column = paired(pairs)
    scale = column.deviation or 1.0
    largest = stats.ks_2samp(column.original, column.released, method="asymp").statistic
    assert kolmogorov_smirnov(column) == pytest.approx(largest)
    expected = stats.wasserstein_distance(column.original / scale, column.released / scale)
    assert wasserstein(column) == pytest.approx(expected, abs=1e-12)
    shorter = PairedColumn("x", column.original, column.released[1:])
    expected = stats.wasserstein_distance(shorter.original / scale, shorter.released / scale)
    assert wasserstein(shorter) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_total_variation_equals_the_reference_implementation(pairs):
    before, after = (np.array(part, float) for part in zip(*pairs, strict=True))
    column = PairedColumn("x", before, after, tuple("abcd"))
    assert total_variation(column) == pytest.approx(naive.total_variation(before.tolist(), after.tolist()))
    other = PairedColumn("y", before[::-1], after[::-1], tuple("abcd"))
    pair = naive.total_variation(
        list(zip(before, before[::-1], strict=True)), list(zip(after, after[::-1], strict=True))
    )
    assert pairwise_variation([column, other])["x", "y"] == pytest.approx(pair)


def test_zeros_count_like_all_other_values(rng):
    """The IL1 of other software drops cells whose original is zero: a mask that changes only those looks perfect."""
    original = np.where(rng.random(500) < 0.6, 0.0, rng.normal(10, 3, 500))
    changed = np.where(original == 0, 5.0, original)
    assert il1s(PairedColumn("x", original, changed)) > 0.3
    assert np.isfinite(il1s(PairedColumn("x", original, np.zeros(500))))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_moments_do_not_depend_on_the_unit(rng, scale):
    x = rng.normal(size=300)
    y = 0.5 * x + rng.normal(size=300)
    columns = [PairedColumn("x", x, x.round(0)), PairedColumn("y", y, y.round(0))]
    scaled = [PairedColumn(c.name, c.original * scale + 7 * scale, c.released * scale + 7 * scale) for c in columns]
    for figure in (il1s, mean_shift, variance_change, quantile_shift, kolmogorov_smirnov, wasserstein):
        assert figure(scaled[0]) == pytest.approx(figure(columns[0]), rel=1e-6, abs=1e-9)
    assert joint_moments(scaled) == pytest.approx(joint_moments(columns), rel=1e-6)


def test_joint_moments_against_numpy(rng):
    x = rng.normal(size=(200, 3))
    shown = x + rng.normal(0, 0.5, x.shape)
    columns = [PairedColumn(str(j), x[:, j], shown[:, j]) for j in range(3)]
    found = joint_moments(columns)
    upper = np.triu_indices(3, 1)
    before, after = np.corrcoef(x.T), np.corrcoef(shown.T)
    assert found["correlation"] == pytest.approx(np.abs(before - after)[upper].mean())
    spread = np.cov(x.T, bias=True) / np.outer(x.std(axis=0), x.std(axis=0))
    other = np.cov(shown.T, bias=True) / np.outer(x.std(axis=0), x.std(axis=0))
    roots = [np.sort(np.linalg.eigvalsh(matrix)) for matrix in (spread, other)]
    assert found["eigenvalues"] == pytest.approx(np.abs(roots[0] - roots[1]).sum() / 3)


def test_least_squares_agrees_with_scipy(rng):
    x = rng.normal(size=100)
    y = 3 - 2 * x + rng.normal(size=100)
    fit, line = least_squares(x[:, None], y), stats.linregress(x, y)
    assert fit.coefficients == pytest.approx([line.intercept, line.slope])
    assert fit.errors == pytest.approx([line.intercept_stderr, line.stderr])


def test_logistic_regression_is_the_maximum_of_its_likelihood(rng):
    X = rng.normal(size=(200, 2))
    y = (rng.random(200) < 1 / (1 + np.exp(-(0.5 + X @ [1.0, -2.0])))).astype(float)

    def loss(b):
        z = b[0] + X @ b[1:]
        return np.logaddexp(0, z).sum() - y @ z + 0.5 * 1e-6 * 200 * (b @ b)

    assert logistic(X, y).coefficients == pytest.approx(optimize.minimize(loss, np.zeros(3), tol=1e-12).x, abs=1e-4)


def test_logistic_regression_survives_separation():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    fit = logistic(X, np.array([0.0, 0.0, 1.0, 1.0]))
    assert np.isfinite(fit.coefficients).all()
    assert ((predict(X, fit.coefficients) > 0) == [False, False, True, True]).all()


@given(st.tuples(*[st.floats(-3, 3), st.floats(0.1, 2)] * 2))
def test_interval_overlap_equals_the_reference_implementation(numbers):
    one, error, other, error2 = numbers
    fits = [Fit(np.array([b]), np.array([e])) for b, e in ((one, error), (other, error2))]
    ends = [(float(fit.interval()[0][0]), float(fit.interval()[1][0])) for fit in fits]
    assert interval_overlap(*fits)[0] == pytest.approx(naive.interval_overlap(*ends), abs=1e-9)


def population(rng, n=600):
    age = rng.integers(20, 80, n).astype(float)
    sex = rng.integers(0, 2, n).astype(float)
    income = 100 + 2 * age - 10 * sex + rng.normal(0, 5, n)
    return {"age": age, "sex": sex, "income": income}


def columns_of(before, after):
    return [
        PairedColumn(name, before[name], after[name], ("f", "m") if name == "sex" else ())
        for name in ("age", "sex", "income")
    ]


def test_an_identical_release_is_perfect(rng):
    people = population(rng)
    columns = columns_of(people, people)
    assert regression_agreement(columns, columns[2]).overlap == 1
    assert propensity(columns).share == pytest.approx(0, abs=1e-12)
    found = trained_on_release(columns, columns[2])
    assert found.from_release == found.from_original > 0.9
    assert found.baseline < 0.1


def test_noise_is_seen_by_every_analysis(rng):
    people = population(rng)
    noisy = {
        "age": rng.permutation(people["age"]) * 3,
        "sex": rng.permutation(people["sex"]),
        "income": people["income"],
    }
    columns = columns_of(people, noisy)
    assert regression_agreement(columns, columns[2]).overlap < 0.5
    assert propensity(columns).share > 0.2
    assert trained_on_release(columns, columns[2]).from_release < 0.3
    far = columns_of(people, {**people, "age": people["age"] + 1000})
    assert propensity(far).share > 0.95


def test_missing_values_of_different_columns_are_different_indicators(rng):
    values = rng.normal(size=(2, 400))
    absent = np.arange(400) < 100
    with_missing = [np.where(absent, np.nan, part) for part in values]
    only_y = [PairedColumn("x", values[0], values[0]), PairedColumn("y", values[1], with_missing[1])]
    crossed = [PairedColumn("x", with_missing[0], values[0]), PairedColumn("y", values[1], with_missing[1])]
    assert propensity(only_y).share > 0.1
    assert propensity(crossed).share > propensity(only_y).share


def test_categories_are_predicted_too(rng):
    people = population(rng)
    people["sex"] = (people["age"] > 50).astype(float)
    columns = columns_of(people, people)
    found = trained_on_release(columns, columns[1])
    assert found.score == "accuracy"
    assert found.from_release > 0.9
    assert regression_agreement(columns, columns[1]) is not None


def test_nothing_to_explain_gives_nothing():
    flat = PairedColumn("x", np.zeros(9), np.zeros(9))
    assert regression_agreement([flat], flat) is None
    assert trained_on_release([flat], flat) is None
    assert propensity([flat]) is None
    assert joint_moments([flat]) == {}


def test_means_survive_microaggregation_and_variance_shrinks():
    people = shoal.datasets.patients(300)
    quasi = ["age", "income", "height"]
    release = shoal.protect(people, 5, quasi=quasi, method="mdav", decimals="full", sums="exact", unnamed="other")
    found = shoal.utility(people, release.data, columns=quasi)
    for name in quasi:
        assert found.columns[name].mean == pytest.approx(0, abs=1e-9)
        lost = release.loss.columns[name].information_loss
        assert found.columns[name].variance == pytest.approx(-lost, abs=1e-9)  # SST = SSE + what is left
    assert 0 < found.il1s < 1
    assert found.regression.terms == 2


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_same_table_loses_nothing_whatever_it_holds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    table = pl.DataFrame(
        {
            "number": rng.choice([0.0, 1.5, -2.0, np.nan], n),
            "text": rng.choice(["a", "b", None], n).tolist(),
            "same": [7] * n,
        },
        schema_overrides={"text": pl.String},
    )
    found = shoal.utility(table, table)
    for one in found.columns.values():
        assert one.changed == one.distribution == 0
        assert one.il1s in {None, 0.0}
    assert found.pairwise == 0
    assert found.tables["max_absolute"] == 0
    assert found.propensity is None or found.propensity < 1e-9
    json.dumps(found.to_dict())
    assert "IL1s" in str(found)


def test_generalised_and_suppressed_values_are_read():
    before = pl.DataFrame({"age": [30, 34, 60, 66], "job": ["a", "b", "a", "b"]})
    after = pl.DataFrame({"age": ["30-34", "30-34", None, None], "job": ["*", "*", "a", "b"]})
    found = shoal.utility(before, after)
    assert found.columns["age"].changed == 1
    assert found.columns["age"].il1s > 0
    assert found.columns["job"].distribution == 0.5
    assert [number_of_text(text) for text in ("-5 to -3", "1e3-2e3", "(1500,3000]")] == [-4.0, 1500.0, 2250.0]


def test_a_release_with_fewer_records_is_compared_by_its_columns(rng):
    before = pl.DataFrame({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    found = shoal.utility(before, before.head(100))
    assert found.columns["x"].il1s is None
    assert found.columns["x"].distribution > 0
    assert "200 records and the release 100" in found.notes[0]


def test_positions_count_not_labels(rng):
    before = pd.DataFrame({"x": rng.normal(size=50), "c": list("ab") * 25}, index=rng.permutation(50))
    after = before.reset_index(drop=True)
    assert shoal.utility(before, after).columns["x"].changed == 0


def test_many_columns_are_sampled_with_a_note(rng):
    before = pl.DataFrame({f"x{j}": rng.normal(size=40) for j in range(16)})
    found = shoal.utility(before, before.select(pl.all().round(1)))
    assert len(found.pairs) == 100
    assert any("first 8 columns" in note for note in found.notes)


def test_wrong_use_raises_an_error():
    table = pl.DataFrame({"x": [1, 2, 3]})
    with pytest.raises(SchemaError, match="no column of the same name"):
        shoal.utility(table, table.rename({"x": "y"}))
    with pytest.raises(UnknownColumn):
        shoal.utility(table, table, target="z")
    with pytest.raises(DataError, match="no records"):
        shoal.utility(table, table.head(0))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_hellinger_equals_the_reference_implementation(pairs):
    before, after = zip(*pairs, strict=True)
    column = PairedColumn("x", np.array(before, float), np.array(after, float), ("a", "b", "c", "d"))
    assert hellinger(column) == pytest.approx(naive_rivals.hellinger(before, after), abs=1e-7)


def test_hellinger_specks_and_the_null_value_have_the_published_values():
    before, after = np.repeat([0.0, 1.0, 2.0], [5, 3, 2]), np.repeat([0.0, 1.0, 2.0], [6, 3, 1])
    assert round(hellinger(PairedColumn("x", before, after, ("a", "b", "c"))), 6) == 0.104193
    assert largest_difference(np.array([0.2, 0.4, 0.4, 0.6]), np.array([0.4, 0.6, 0.6, 0.8])) == 0.5
    assert null_pmse(6, 2000, 0.5) == 0.0003125


def test_pmse_of_records_drawn_from_the_original_is_its_null_value_on_average():
    """With the original held fixed the expectation is (m - 1)(1 - c)^2 c / N; for two samples 1 / (1 - c) times it."""
    rng = np.random.default_rng(1)
    drawn, sampled = [], []
    for _ in range(60):
        left, right = rng.normal(size=(2, 2, 400))
        rows = rng.integers(0, 400, 400)
        drawn.append(propensity([PairedColumn(str(j), left[j], left[j][rows]) for j in range(2)]).ratio)
        sampled.append(propensity([PairedColumn(str(j), left[j], right[j]) for j in range(2)]).ratio)
    assert abs(np.mean(drawn) - 1) < 4 * np.std(drawn) / np.sqrt(60)
    assert abs(np.mean(sampled) - 2) < 4 * np.std(sampled) / np.sqrt(60)
    assert abs(np.mean(sampled) - 1) > 4 * np.std(sampled) / np.sqrt(60)


def test_squares_of_indicators_are_not_counted_as_parameters():
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(60):
        codes = rng.integers(0, 3, 500).astype(float)
        ratios.append(propensity([PairedColumn("c", codes, rng.choice(codes, 500), ("a", "b", "c"))]).ratio)
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios) / np.sqrt(60)
