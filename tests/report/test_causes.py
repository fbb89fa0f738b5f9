"""What the report advises: the cause of a heavy loss, figures that survive suppression, and the expert page."""

import re

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.evaluate.paired_columns import PairedColumn
from shoal.report.associations import correlation
from shoal.report.evidence import measure_evidence
from shoal.report.figures import group_sizes, histogram
from shoal.report.findings import findings_to_decide
from shoal.report.histograms import number_distribution
from shoal.report.page import render_report
from shoal.tables import Table

N = 200
RANDOM = np.random.default_rng(5)
PEOPLE = pl.DataFrame(
    {
        "age": RANDOM.integers(18, 90, N),
        "income": RANDOM.normal(3000, 800, N).round(),
        "abroad": np.where(RANDOM.random(N) < 0.07, "yes", "no"),
        "job": [f"job {number}" for number in RANDOM.integers(0, 70, N)],
        "region": [f"region {number}" for number in RANDOM.integers(0, 25, N)],
        "illness": ["rare" if row in {20, 150} else "common" for row in range(N)],
        "score": np.where(RANDOM.random(N) < 0.85, np.nan, RANDOM.normal(0, 1, N)),
    }
).with_columns(pl.col("score").fill_nan(None))


def heavy(people=PEOPLE, k=5, **options):
    options = {"accept_loss": True, "unnamed": "other", "method": "mdav"} | options
    release = shoal.protect(people, k, **options)
    evidence = measure_evidence(release.released, Table.from_native(people))
    return evidence.causes, findings_to_decide(release.released, evidence)


@pytest.mark.parametrize(
    ("column", "cause", "remedy", "options"),
    [
        ("abroad", "the records have the same category", "weight above 1",
         {"quasi": ["age", "income", "abroad"], "k": 15}),
        ("job", "categories, most of them of fewer than 5 records", "Merge", {"quasi": ["age", "job"]}),
        ("age", r"the 25 strata \(region\) leave 1\.\d groups each", "coarser strata",
         {"quasi": ["age", "income"], "strata": ["region"]}),
        ("income", r"times k, because of the requirement l = 2", "weaker requirement",
         {"quasi": ["age", "income", "noise"], "confidential": ["illness"], "l": 2}),
        ("score", "were emptied in groups that mix", "missing=fill",
         {"quasi": ["age", "income", "score"], "missing": "suppress", "k": 40}),
        ("income", "cannot be similar in all 4 quasi-identifiers", "smaller k",
         {"quasi": ["age", "income", "noise", "more"], "k": 40}),
    ],
)  # fmt: skip
def test_the_advice_names_what_caused_a_heavy_loss(column, cause, remedy, options):
    people = PEOPLE.with_columns(noise=pl.Series(RANDOM.normal(0, 1, N)), more=pl.Series(RANDOM.normal(0, 1, N)))
    if column == "score":  # known for most records, so that mixed groups empty many known cells
        people = people.with_columns(score=pl.Series([None if row % 9 == 0 else float(row % 7) for row in range(N)]))
    if "strata" in options:
        people = people.with_columns(pl.Series("region", [f"region {row % 25}" for row in range(N)]))
    causes, findings = heavy(people, **options)
    assert re.search(cause, causes[column].cause), causes[column].cause
    assert remedy in causes[column].remedy
    (found,) = [finding for finding in findings if causes[column].cause in finding.text]
    assert f'"{column}" lost' in found.text
    assert found.advice == causes[column].remedy


def test_a_light_loss_has_no_cause():
    causes, _ = heavy(quasi=["age"], k=2)
    assert causes == {}


def test_a_suppressed_column_costs_its_own_correlations_only():
    x = np.arange(50.0)
    y, gone = (x * 7) % 13, np.full(50, np.nan)
    part = np.where(x < 25, np.nan, y)
    columns = [PairedColumn("x", x, x), PairedColumn("gone", y, gone), PairedColumn("part", y, part)]
    matrix = correlation(columns, shown=True)
    known = x >= 25  # over records that are complete in all columns no correlation is left at all
    assert matrix.after[0, 2] == pytest.approx(np.corrcoef(x[known], y[known])[0, 1])
    assert matrix.before[0, 2] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert np.isnan(matrix.after[1, [0, 2]]).all()
    assert matrix.without_figures == ("gone",)
    assert set(matrix.largest_change[:2]) == {"x", "part"}


def test_columns_without_any_pair_have_no_matrix():
    gone = np.full(50, np.nan)
    assert correlation([PairedColumn("x", gone, gone), PairedColumn("y", gone, gone)], shown=True) is None
    constant = np.ones(50)
    assert correlation([PairedColumn("x", gone + 1, constant), PairedColumn("y", gone, constant)], shown=False) is None


def test_the_report_of_a_release_with_a_suppressed_column_shows_the_other_correlations():
    few = pl.Series([float(row % 7) if row < 39 else None for row in range(N)])
    people = PEOPLE.with_columns(score=few)  # known for fewer than k records: every group mixes, and is emptied
    release = shoal.protect(
        people,
        40,
        quasi=["age", "income", "score"],
        missing="suppress",
        unnamed="other",
        accept_loss=True,
        method="mdav",
    )
    assert pl.DataFrame(release)["score"].null_count() == N
    page = render_report(release.released, Table.from_native(people))
    assert "Pearson" in page
    assert "No figure for <bdi>score</bdi>" in page


def test_axes_have_names_and_ticks_stay_inside():
    values = np.repeat(np.arange(20.0, 80.0), 5)
    distribution = number_distribution(values, values, 5, integers=True)
    drawn = histogram(distribution, "Distribution of age", "years", "one")
    assert "share of records per 5 years" in drawn
    assert "number of groups" in group_sizes({5: 10, 6: 2}, "sizes")[0]
    places = [float(place) for place in re.findall(r'<text class="soft" x="([\d.]+)"', drawn)]
    assert all(0 <= place <= 320 for place in places)
    # the area below the line is 1: heights refer to one step of the axis
    assert sum(entry.before for entry in distribution.bins) == pytest.approx(1)
    assert distribution.step == 5


def test_the_normalised_excess_is_called_so_and_defined():
    release = shoal.protect(PEOPLE, 5, quasi=["age", "income"], confidential=["illness", "job"], unnamed="other",
                            method="mdav")  # fmt: skip
    page = render_report(release.released, Table.from_native(PEOPLE))
    assert "normalised excess" in page
    assert "(released − baseline) / (100 % − baseline)" in page
    attack = measure_evidence(release.released, Table.from_native(PEOPLE)).attacks.attributes[1]
    normal = (attack.success.value - attack.baseline.value) / (1 - attack.baseline.value)
    assert attack.baseline_adjusted_success == pytest.approx(max(normal, 0.0))


def test_the_expert_page_has_candidates_and_population_risk():
    people = PEOPLE.with_columns(weight=pl.Series(RANDOM.uniform(5, 30, N)))
    release = shoal.protect(
        people,
        5,
        quasi=["age", "abroad"],
        sampling_weight="weight",
        recode={"age": "range"},
        unnamed="other",
        method="mdav",
    )
    page = render_report(release.released, Table.from_native(people))
    expert = page[page.index('id="expert-page"') : page.index('id="glossary"')]
    for phrase in ("with fewer than 5 candidates", "journalist risk, highest", "k-map", "delta-presence"):
        assert phrase in expert
    plain = shoal.protect(people, 5, quasi=["age", "abroad"], unnamed="other", method="mdav")
    page = render_report(plain.released, Table.from_native(people))
    assert "not measured, nothing is known of the population" in page[page.index('id="expert-page"') :]
