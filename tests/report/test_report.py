"""The report of a release: complete, valid HTML, correct figures, and no value of a single record."""

import hashlib
import re
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from pages import HTML, SVG, checked, words
from shoal.errors import ParameterError
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.report.associations import association
from shoal.report.evidence import measure_evidence
from shoal.report.findings import findings_to_decide
from shoal.report.page import render_report
from shoal.report.palette import DARK, LIGHT, SERIES, contrast, shades
from shoal.tables import Table

PEOPLE = shoal.datasets.patients(120, missing=0.1)
MIXED = ["age", "sex", "education", "income", "admitted"]


def protected(data=PEOPLE, k=4, *, quasi=MIXED, **choices):
    given = {
        "confidential": ["diagnosis"], "identifiers": ["name"], "missing": "by-pattern", "method": "mdav",
        "orders": {"education": shoal.datasets.EDUCATION_ORDER},
    }  # fmt: skip
    return shoal.protect(data, k, quasi=quasi, **{**given, **choices}, unnamed="other", accept_loss=True)


def page(release, *, public=False, original=True):
    return render_report(release.released, release._original if original else None, public=public)


@pytest.fixture(scope="module")
def release():
    return protected()


@pytest.fixture(scope="module")
def report(release):
    return page(release)


def test_the_report_states_k_loss_risk_and_method(release, report):
    text = words(checked(report))
    risk = shoal.risk(PEOPLE, release.data, quasi=MIXED, confidential=["diagnosis"], schema=release.schema)
    for phrase in (
        f"Requested: k = 4 records; achieved: k = {release.k} records",
        f"{100 * release.loss.information_loss:.2f} %",
        "Direct identifiers were dropped: name",
        "same missingness pattern",
        "Confidential attributes were released unchanged: diagnosis",
        release.manifest["output"]["fingerprint"],
        f"{100 * risk.classes.prosecutor.average:.1f} %",
        f"{100 * risk.attack('record-linkage').success.value:.1f} %",
        f"{100 * risk.attack('assignment-linkage').success.value:.1f} %",
        f"{100 * risk.attack('attribute-disclosure', 'diagnosis').success.value:.1f} %",
        "Name and office",
    ):
        assert phrase in text
    for name, column in release.loss.columns.items():
        assert name in text
        assert f"{100 * column.information_loss:.2f} %" in text


def test_the_report_holds_no_value_of_a_single_record(report):
    text = words(checked(report))
    for name in ("name", "diagnosis"):
        assert not any(value in text for value in PEOPLE[name].unique())
    for name in ("income", "height", "admitted"):
        for value in (PEOPLE[name].min(), PEOPLE[name].max()):
            assert str(value) not in text


def test_a_rare_category_of_the_original_is_never_named():
    regions = ["Ahausen"] * 60 + ["Bedorf"] * 50 + ["Cewinkel"] * 4 + ["Dezell"]
    people = pl.DataFrame({"region": regions, "age": [20 + row % 50 for row in range(115)]})
    for public in (False, True):
        text = words(checked(page(protected(people, quasi=["region", "age"], confidential=[], identifiers=[],
                                            orders={}), public=public)))  # fmt: skip
        assert "Ahausen" in text
        assert "Dezell" not in text
        assert "Cewinkel" not in text


def test_the_public_report_does_not_depend_on_the_original(release):
    public = page(release, public=True)
    text = words(checked(public))
    assert public == page(release, public=True, original=False)
    assert release.manifest["plan"] not in text
    for word in ("linkage", "Signature", "original:", "baseline", "classes with one value", "Seed"):
        assert word not in text
    assert f"{100 * release.manifest['loss']['information_loss']:.2f} %" in text
    for column in release.loss.columns.values():
        assert f"{100 * column.information_loss:.2f} %" not in text
    assert release.manifest["output"]["fingerprint"] in text
    assert "no statistics of the original data except information loss" in text


def test_a_release_without_its_original_still_has_a_report(release):
    text = words(checked(page(release, original=False)))
    assert "The original table was not available" in text
    assert "linkage" not in text


SECTIONS = [
    "Summary", "Findings", "Decision", "Method", "Groups", "Information loss", "Distributions", "Associations", "Risk",
    "Sources of risk", "Attacks", "Attribute disclosure", "Expert page", "Glossary", "Provenance",
]  # fmt: skip


def test_sections_have_the_decided_names_and_anchors(release, report):
    headings = [(one.attrib["id"], one.text) for one in checked(report).iter(f"{HTML}h2")]
    assert headings == [(name.lower().replace(" ", "-"), name) for name in SECTIONS]
    public = [one.text for one in checked(page(release, public=True)).iter(f"{HTML}h2")]
    assert public == [
        name for name in SECTIONS if name not in {"Decision", "Sources of risk", "Attacks", "Expert page"}
    ]


def test_texts_use_the_vocabulary_of_the_field(release, report):
    text = words(checked(report)) + words(checked(page(release, public=True)))
    avoided = (
        "told tells picked whoever nobody somebody chance alike outsider outsiders handed hole holes verdict secret "
        "asked reached fractions"
    )
    assert not set(avoided.split()) & set(re.findall(r"[a-z]+", text.lower()))


def test_the_same_release_gives_the_same_bytes(report):
    assert page(protected()) == report


def test_a_policy_forbids_everything_but_the_style_of_the_page(report):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', report).group(1)
    assert "default-src &#39;none&#39;" in policy
    assert re.search(r"style-src &#39;sha256-[\w+/]{43}=&#39;", policy)
    assert "unsafe" not in policy


def test_pictures_have_titles_descriptions_and_their_figures_as_tables(report):
    root = checked(report)
    pictures = [one for one in root.iter(f"{SVG}svg") if "aria-hidden" not in one.attrib]
    assert len(pictures) == 1 + 3 + 3 + 3  # sizes, three numeric columns, correlations, associations
    assert len(list(root.iter(f"{HTML}details"))) == 1 + 3 + 1 + 1


def test_names_are_escaped_and_kept_whole():
    evil = '<script>alert("x")</script> & 🐟'
    right_to_left = "שם משפחה"
    people = pl.DataFrame({evil: range(40), right_to_left: ["א", "ב"] * 20, "diagnosis": ["A", "B", "C", "D"] * 10})
    html = page(protected(people, quasi=[evil, right_to_left], identifiers=[], orders={}))
    root = checked(html)
    assert "<script" not in html
    assert evil in words(root)
    names = {"".join(one.itertext()) for one in root.iter(f"{HTML}bdi")}
    assert {evil, right_to_left, "א"} <= names


@pytest.mark.parametrize(
    "choices",
    [
        {"recode": {"age": "range", "education": "range", "admitted": "range"}},
        {"recode": "set"},
        {"recode": "suppress"},
        {"recode": "medoid"},
        {"recode": {"age": "midrange", "income": "min", "admitted": "max"}},
        {"hierarchies": {"age": "intervals", "sex": "flat", "admitted": "calendar", "education": "order"}},
        {"recode": {"sex": "frequencies", "education": "frequencies"}},
        {"missing": "impute"},
        {"quasi": ["sex", "region"], "missing": "category", "method": "auto"},
        {"strata": ["ward"], "quasi": ["age", "income"], "data": PEOPLE.with_columns(ward=pl.Series([1, 2, 3] * 40))},
        {"sampling_weight": "stay_days", "quasi": ["age"]},
        {"global_recoding": True, "quasi": ["age", "sex"]},
        {"l": 2, "t": 0.9},
        {"l": 1.5, "l_kind": "entropy", "alpha": 0.8},
        {"method": "set-partition", "quasi": ["age", "stay_days"], "confidential": [], "time_limit": 5},
        {"method": "matching", "k": 2, "quasi": ["age", "stay_days"]},
        {"decimals": 1, "quasi": ["age", "height"]},
        {"k": 120},
        {"k": 2},
        {"quasi": ["age"], "confidential": [], "identifiers": []},
    ],
    ids=lambda choices: "-".join(f"{name}" for name in choices),
)
def test_every_choice_gives_a_complete_report(choices):
    release = protected(**choices)
    for public in (False, True):
        text = words(checked(page(release, public=public)))
        assert f"Requested: k = {release.plan.requirements.k} records" in text
        for name, entry in release.manifest.get("achieved", {}).items():
            assert f"achieved: {name} = {entry['achieved']:.4g}" in text
        if release.loss.gap is not None:
            assert "It is proven that the objective of the method" in text
        assert ("Global recoding" in text) == release.plan.requirements.global_recoding


def halves(points, k):
    """Cut at the median of the first column."""
    return (np.argsort(np.argsort(points[:, 0], kind="stable")) >= len(points) // 2).astype(np.int64)


def test_a_method_that_is_not_registered_is_shown_by_its_name():
    text = words(checked(page(protected(quasi=["age", "height"], method=halves))))
    assert f"by the method {halves.__module__}:halves." in text


def test_a_method_selected_by_auto_is_named_with_the_reason():
    release = protected(quasi=["age"], method="auto")
    (run,) = release.manifest["method"]["resolved"]
    text = words(checked(page(release)))
    assert f"by the method {run['name']}, selected by auto" in text
    assert run["reason"] in text
    assert run["algorithm"] in text


def test_what_replaced_a_column_is_what_the_recoding_applied():
    text = words(checked(page(protected(quasi=["sex", "region"], missing="category", recode="frequencies"))))
    assert text.count("replaced by the value of a record, selected such that frequency tables are kept") == 2
    assert 'The released values of "sex" reveal true values of one record of every group.' in text


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """The same table as a DataFrame and as a CSV file: confidential integers, decimals, dates and texts."""
    rng = np.random.default_rng(5)
    n = 200
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "height": rng.normal(170, 9, n).round(1),
            "debt": rng.integers(0, 40, n) * 250,
            "score": rng.normal(0, 2, n).round(2),
            "seen": [date(2024, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 90, n)],
            "diagnosis": rng.choice(["A", "B", "C"], n),
        }
    )
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    frame.write_csv(path)
    return frame, path


def test_a_file_and_a_data_frame_give_the_same_figures(survey):
    confidential = ["debt", "score", "seen", "diagnosis"]
    measured = []
    for data in survey:
        release = shoal.protect(data, 5, quasi=["age", "height"], confidential=confidential, method="mdav")
        measured.append(measure_evidence(release.released, release._original))
    frame, file = measured
    assert [column.figures for column in frame.confidential] == [column.figures for column in file.confidential]
    assert [column.figures.distance for column in file.confidential] == ["ordered", "ordered", "ordered", "equal"]
    assert frame.attacks == file.attacks
    assert frame.correlation.names == file.correlation.names == ("age", "height", "debt", "score", "seen")
    np.testing.assert_array_equal(frame.correlation.after, file.correlation.after)
    np.testing.assert_array_equal(frame.association.after, file.association.after)


def test_a_decimal_comma_and_marks_of_missing_values_do_not_change_the_figures(tmp_path):
    plain = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42] * 5, "debt": [1.5, 2.5, None, 4.5, 5.5, 6.5] * 5})
    path = tmp_path / "comma.csv"
    rows = (f"{age};{'?' if debt is None else str(debt).replace('.', ',')}" for age, debt in plain.iter_rows())
    path.write_text("age;debt\n" + "\n".join(rows) + "\n", encoding="utf-8")
    choices = {"quasi": ["age"], "confidential": ["debt"], "method": "mdav"}
    file = shoal.protect(path, 3, read_options={"decimal": ",", "na_values": ["?"]}, **choices)
    frame = shoal.protect(plain, 3, **choices)
    one, other = (measure_evidence(release.released, release._original) for release in (file, frame))
    assert one.confidential == other.confidential
    assert one.attacks == other.attacks


@pytest.mark.parametrize("recode", ["mean", "range", "set", "suppress", "medoid"])
def test_figures_of_the_released_table_are_the_same_in_both_reports(recode):
    columns = {"age": recode, "income": recode, "height": recode, "admitted": recode}
    if recode == "mean":
        columns = {}
    release = protected(PEOPLE, 5, quasi=["age", "sex", "income", "height", "admitted"], recode=columns, orders={})
    full, public = (measure_evidence(release.released, table) for table in (release._original, None))
    for name in ("correlation", "association"):
        shown, alone = getattr(full, name), getattr(public, name)
        if shown is None:
            assert alone is None
            continue
        assert shown.names == alone.names
        np.testing.assert_allclose(shown.after, alone.after, atol=1e-9)
    assert full.after == public.after
    assert full.confidential == public.confidential
    texts = [words(checked(page(release, public=variant))) for variant in (False, True)]
    for left, right, _, value in public.association.pairs():
        pattern = re.compile(rf"{left} and {right} ?([\d.]+ ?)?{value:.3f}")
        assert all(pattern.search(text) for text in texts)


def test_cut_points_do_not_depend_on_the_original():
    rng = np.random.default_rng(1)
    released = np.repeat(rng.normal(size=40), 5)
    sex = np.repeat(rng.integers(0, 2, 40), 5).astype(float)
    originals = [released, released + rng.normal(size=200), 100 * rng.normal(size=200) - 7]
    figures = {
        association(
            [PairedColumn("income", original, released), PairedColumn("sex", sex, sex, ("f", "m"))], shown=True
        ).after[0, 1]
        for original in originals
    }
    assert len(figures) == 1


def test_two_hundred_columns_are_listed_and_the_worst_are_drawn():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({f"c{j}": rng.normal(size=150) for j in range(200)})
    html = page(shoal.protect(table, 5, quasi=table.columns, method="mdav"))
    root = checked(html)
    assert len(html) < 2_000_000
    assert "Of 200 columns, the 24 with the largest information loss are drawn" in words(root)
    assert all(f"c{j}" in {"".join(one.itertext()) for one in root.iter(f"{HTML}bdi")} for j in range(200))


def test_every_confidential_attribute_is_assessed_and_omissions_are_stated(rng):
    answers = {f"answer {j}": rng.integers(0, 9, 60) for j in range(11)}
    data = pl.DataFrame({"age": np.arange(60) // 5, **answers, "diagnosis": ["same"] * 60})
    release = shoal.protect(data, 5, quasi=["age"], confidential=[*answers, "diagnosis"], method="mdav")
    text = words(checked(page(release)))
    assert 'all records have the same value of "diagnosis"' in text
    assert "Attribute disclosure was simulated for 8 of 12 confidential attributes." in text
    assert "Associations are shown for 10 of 13 columns" in text


@pytest.mark.parametrize("n", [2, 4, 9])
def test_few_records_are_not_drawn(n):
    people = pl.DataFrame({"age": list(range(n)), "sex": ["f", "m"] * (n // 2) + ["f"] * (n % 2)})
    text = words(checked(page(shoal.protect(people, 2, quasi=["age", "sex"], method="mdav", accept_loss=True))))
    assert text.count("Not drawn: too few records") == 2


def test_many_types_of_columns():
    n = 60
    frame = pl.DataFrame(
        {
            "constant": [7] * n,
            "huge": np.linspace(1e15, 2e15, n),
            "tiny": np.linspace(1e-9, 2e-9, n),
            "offset": 1e12 + np.arange(n, dtype=np.float64),
            "day": [date(1950, 1, 1) + timedelta(days=300 * row) for row in range(n)],
            "instant": pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 3, 1), "1d", eager=True)[:n],
            "span": pl.Series([timedelta(hours=row) for row in range(n)]),
            "flag": [True, False] * (n // 2),
            "grade": pl.Series(["low", "high", "mid"] * (n // 3), dtype=pl.Enum(["low", "mid", "high"])),
            "price": pl.Series([f"{row}.50" for row in range(n)]).cast(pl.Decimal(10, 2)),
        }
    )
    release = shoal.protect(frame, 5, quasi=frame.columns, method="mdav")
    text = words(checked(page(release)))
    for name in frame.columns:
        assert name in text
    assert "1960 to 1970" in text or "1960 to 1965" in text
    some = {"quasi": ["huge", "day", "flag"], "method": "mdav", "unnamed": "other", "accept_derived": True}
    checked(page(shoal.protect(frame.to_pandas(), 5, **some)))


def test_ranges_of_dates_and_of_times_are_read_as_their_middle():
    days = pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 1, 3), "1d", eager=True)
    for dtype, day in ((pl.Date, 1.0), (pl.Datetime("us"), 86_400e6)):
        before = pl.DataFrame({"day": days.cast(dtype)})
        texts = [str(value) for value in before["day"]]
        after = pl.DataFrame({"day": [f"{texts[0]} to {texts[2]}", texts[1], "*"]})
        (column,) = pair_columns(Table.from_native(before), Table.from_native(after), ["day"])
        assert column.original.tolist() == [0.0, day, 2 * day]
        assert column.released.tolist()[:2] == [day, day]
        assert np.isnan(column.released[2])


def test_findings_are_listed_with_a_remedy():
    n = 100
    frame = pd.DataFrame(
        {
            "wealth": [1.0 * row for row in range(n - 1)] + [1e9],
            "noise": np.random.default_rng(0).normal(size=n),
            "diagnosis": ["A"] * 50 + ["B", "C"] * 25,
            "serial": [f"id{row:05}" for row in range(n)],
        }
    )
    release = shoal.protect(
        frame, 2, quasi=["wealth", "noise"], confidential=["diagnosis"], method="mdav", unnamed="other"
    )
    text = words(checked(page(release)))
    assert 'all records have the same value of "diagnosis"' in text
    assert re.search(r'The 2 most extreme records make up \d+ % of the variance of "wealth"', text)
    assert 'Column "serial" is released unchanged but may identify single persons' in text
    assert "Declare it as an identifier" in text
    assert "Request l-diversity" in text
    assert re.search(r"All privacy requirements are met; \d+ findings need a decision\.", text)
    public = words(checked(page(release, public=True)))
    assert "may identify single persons" not in public
    assert "the same value of" not in public.replace("the same values of all quasi-identifiers", "")
    assert "All privacy requirements are met." in public


def test_remarks_of_one_code_are_one_finding_with_the_advice_of_the_code():
    release = protected(missing="impute")
    findings = findings_to_decide(release.released, measure_evidence(release.released))
    codes = [remark.code for remark in release.remarks]
    assert set(codes) == {"imputed", "heavy-loss", "lost-category"}
    assert codes.count("imputed") > 1
    for code in set(codes):
        texts = [remark.text.lower() for remark in release.remarks if remark.code == code]
        (finding,) = [finding for finding in findings if texts[0] in finding.text.lower()]
        assert all(text in finding.text.lower() for text in texts)
        assert finding.advice


def test_a_release_without_findings_has_a_plain_summary():
    release = protected(missing="by-pattern", quasi=["age"], confidential=[])
    text = words(checked(page(release)))
    assert "All privacy requirements are met." in text
    assert "needs a decision" not in text


def test_reports_are_written_where_requested(release, tmp_path):
    paths = release.write(tmp_path / "s.csv", report=tmp_path / "r.html", public_report=tmp_path / "p.html")
    assert {path.name for path in paths} == {
        "s.csv", "s.manifest.json", "s.holder.parquet", "r.html", "p.html",
    }  # fmt: skip
    alone = release.report(tmp_path / "q.html", public=True).read_text(encoding="utf-8")
    beside = (tmp_path / "p.html").read_text(encoding="utf-8")
    digest = hashlib.sha256((tmp_path / "s.csv").read_bytes()).hexdigest()
    assert digest in beside
    assert digest not in alone
    assert len(set(alone.splitlines()) - set(beside.splitlines())) <= 2  # the line of the file name and date
    with pytest.raises(ParameterError, match="need different files"):
        release.write(tmp_path / "t.csv", report=tmp_path / "t.html", public_report=tmp_path / "t.html")
    with pytest.raises(ParameterError, match=r"call it p.html"):
        release.write(tmp_path / "t.csv", public_report=tmp_path / "p.txt")


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_has_enough_contrast(colours):
    for text in ("ink", "soft", "link"):
        for paper in ("paper", "panel"):
            assert contrast(colours[text], colours[paper]) >= 4.5
    for text in ("ink", "link", "good"):
        assert contrast(colours[text], colours["good-paper"]) >= 4.5
    for text in ("ink", "link", "warn"):
        assert contrast(colours[text], colours["warn-paper"]) >= 4.5
    for mark in ("after", "before-line", "negative"):
        assert contrast(colours[mark], colours["paper"]) >= 3
    for cell, text in shades(colours).values():
        assert contrast(cell, text) >= 4.5
    for series in SERIES:
        assert contrast(series, colours["paper"]) >= 3, series


def with_lost_categories(rare):
    """Return a release without two categories: one of twelve records, and one of some more or fewer."""
    towns = ["Ulm"] * 60 + ["Bonn"] * 60
    towns[::10] = ["Lostford"] * 12
    towns[5 : 5 + 20 * rare : 20] = ["Rarewick"] * rare
    people = pl.DataFrame({"age": range(120), "town": towns})
    roles = {"quasi": ["age", "town"], "confidential": [], "identifiers": [], "orders": {}}
    release = protected(people, 6, column_weights={"town": 0.01}, **roles)
    assert set(release.data["town"].unique()) == {"Ulm", "Bonn"}
    return release


def test_the_full_report_names_lost_categories_and_counts_those_of_few_persons():
    text = words(checked(page(with_lost_categories(rare=2))))
    assert '2 categories of "town" do not occur in the released table any more' in text
    assert '"Lostford" (12 records), 1 rarer category.' in text
    assert "Rarewick" not in text
    text = words(checked(page(with_lost_categories(rare=6))))
    assert '"Lostford" (12 records), "Rarewick" (6 records).' in text


def test_a_lost_category_of_many_records_of_few_persons_is_counted_and_not_named():
    """Counting records would name a town of one person, who has twelve rows there."""
    towns = ["Ulm"] * 60 + ["Bonn"] * 60
    towns[::10] = ["Lostford"] * 12
    towns[5::20] = ["Shareham"] * 6
    persons = [0 if town == "Lostford" else 1 + row for row, town in enumerate(towns)]
    people = pl.DataFrame({"age": range(120), "town": towns, "person": persons})
    roles = {"quasi": ["age", "town"], "confidential": [], "identifiers": [], "orders": {}, "unit": "person"}
    release = protected(people, 6, column_weights={"town": 0.01}, **roles)
    assert set(release.data["town"].unique()) == {"Ulm", "Bonn"}
    text = words(checked(page(release)))
    assert '"Shareham" (6 persons), 1 rarer category.' in text
    assert "Lostford" not in text


def test_the_public_report_the_manifest_and_a_report_without_the_original_only_count_lost_categories():
    release = with_lost_categories(rare=6)
    for text in (
        page(release, public=True),
        page(release, original=False),
        release.manifest_json(),
        str(release) + release._repr_html_(),
    ):
        assert "Lostford" not in text
        assert "Rarewick" not in text
    for text in (page(release, public=True), page(release, original=False)):
        assert '2 categories of "town" do not occur in the released table any more.' in words(checked(text))


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(("how", "below"), [("grouped", False), ("unchanged", True)])
def test_k_with_the_sampling_weight_is_always_beside_k(public, how, below):
    people = PEOPLE.with_columns(w=pl.Series(np.random.default_rng(1).lognormal(3, 1, 120).round(3)))
    release = protected(people, quasi=["age", "height"], sampling_weight="w", release_weight=how)
    counted = release.released.recount.with_weight
    text = words(checked(page(release, public=public)))
    assert f"k with the sampling weight (w): {counted.k}." in text
    assert f"with the sampling weight: {counted.k}" in text
    few = f"{counted.records_below(4)} records are in equivalence classes of fewer than 4 records"
    assert (few in text) == below
    assert ("No equivalence class has fewer than 4 records" in text) == (not below)


@pytest.mark.parametrize("public", [False, True])
def test_k_with_known_columns_is_always_beside_k(public):
    release = protected(quasi=["age"], known=["region", "sex"])
    k = release.released.recount.with_known.k
    text = words(checked(page(release, public=public)))
    assert f"k with all columns that an intruder may know (region, sex): {k}." in text
    constant = protected(PEOPLE.with_columns(country=pl.lit("D")), quasi=["age"], known=["country"])
    text = words(checked(page(constant, public=public)))
    assert f"k with all columns that an intruder may know (country): {constant.k}." in text
    assert "No equivalence class has fewer than 4 records" in text
    assert "that an intruder may know (" not in words(checked(page(protected(quasi=["age"]), public=public)))
