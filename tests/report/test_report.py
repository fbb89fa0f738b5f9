"""The report of a release: whole, strict HTML, honest figures, and nothing about single records."""

import re
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from pages import HTML, SVG, checked, words
from shoal.errors import ParameterError
from shoal.evaluate.paired_columns import pair_columns
from shoal.report.page import render_report
from shoal.report.palette import DARK, LIGHT, SERIES, contrast, shades
from shoal.tables import Table

PEOPLE = shoal.datasets.patients(120, missing=0.1)
MIXED = ["age", "sex", "education", "income", "admitted"]


def protected(data=PEOPLE, k=4, *, quasi=MIXED, **choices):
    given = {
        "confidential": ["diagnosis"], "identifiers": ["name"], "missing": "own-group", "method": "mdav",
        "orders": {"education": shoal.datasets.EDUCATION_ORDER},
    }  # fmt: skip
    return shoal.protect(data, k, quasi=quasi, **{**given, **choices})


@pytest.fixture(scope="module")
def release():
    return protected()


@pytest.fixture(scope="module")
def report(release):
    return render_report(release)


def test_the_report_tells_k_loss_risk_and_what_was_done(release, report):
    text = words(checked(report))
    risk = shoal.risk(PEOPLE, release.data, quasi=MIXED, confidential=["diagnosis"], schema=release.schema)
    for phrase in (
        f"k = 4 was asked for and k = {release.k} was counted on the finished table",
        f"{100 * release.loss.information:.2f} %",
        "Identifiers were dropped: name",
        "same holes",
        "Confidential columns were released unchanged: diagnosis",
        release.manifest["input"]["fingerprint"],
        release.manifest["output"]["fingerprint"],
        f"{100 * risk.classes.prosecutor.average:.1f} %",
        f"{100 * risk.attack('linkage').success.value:.1f} %",
        f"{100 * risk.attack('one-to-one').success.value:.1f} %",
        f"{100 * risk.attack('attribute', 'diagnosis').success.value:.1f} %",
        "Name and office",
    ):
        assert phrase in text
    for name, column in release.loss.columns.items():
        assert name in text
        assert f"{100 * column.information:.2f} %" in text


def test_the_report_holds_no_value_of_a_single_record(report):
    text = words(checked(report))
    for name in ("name", "diagnosis"):
        assert not any(value in text for value in PEOPLE[name].unique())
    for name in ("income", "height", "admitted"):
        for value in (PEOPLE[name].min(), PEOPLE[name].max()):
            assert str(value) not in text


def test_a_rare_category_of_the_original_is_never_named():
    regions = ["Ahausen"] * 60 + ["Bedorf"] * 50 + ["Cewinkel"] * 4 + ["Dezell"]
    people = pl.DataFrame({"region": regions, "age": [20 + place % 50 for place in range(115)]})
    for public in (False, True):
        text = words(checked(render_report(protected(people, quasi=["region", "age"], confidential=[],
                                                     identifiers=[], orders={}), public=public)))  # fmt: skip
        assert "Ahausen" in text
        assert "Dezell" not in text
        assert "Cewinkel" not in text


def test_the_public_report_is_the_same_whatever_the_original_was(release):
    public = render_report(release, public=True)
    text = words(checked(public))
    assert public == render_report(replace(release, original=None), public=True)
    assert release.manifest["input"]["fingerprint"] not in text
    for word in ("Linkage", "Signature", "in the original,", "by chance", "groups with one value"):
        assert word not in text
    assert f"{100 * release.loss.information:.2f} %" in text
    assert release.manifest["output"]["fingerprint"] in text


def test_a_release_without_its_original_still_has_a_report(release):
    text = words(checked(render_report(replace(release, original=None))))
    assert "The original was not at hand" in text
    assert "Linkage" not in text


def test_the_same_release_gives_the_same_bytes(report):
    assert render_report(protected()) == report


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
    html = render_report(protected(people, quasi=[evil, right_to_left], identifiers=[], orders={}))
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
        {"recode": {"sex": "tables", "education": "tables"}},
        {"missing": "impute"},
        {"quasi": ["sex", "region"], "missing": "as-value", "method": "auto"},
        {"within": ["ward"], "quasi": ["age", "income"], "data": PEOPLE.with_columns(ward=pl.Series([1, 2, 3] * 40))},
        {"sampling_weight": "stay_days", "quasi": ["age"]},
        {"globally": True, "quasi": ["age", "sex"]},
        {"l": 2, "t": 0.9},
        {"l": 1.5, "l_kind": "entropy", "alpha": 0.8},
        {"method": "set-partition", "quasi": ["age", "stay_days"], "confidential": [], "options": {"seconds": 5}},
        {"k": 120},
        {"k": 2},
        {"quasi": ["age"], "confidential": [], "identifiers": []},
    ],
    ids=lambda choices: "-".join(f"{name}" for name in choices),
)
def test_every_choice_gives_a_whole_report(choices):
    release = protected(**choices)
    for public in (False, True):
        text = words(checked(render_report(release, public=public)))
        assert f"k = {release.grouping.k} was asked for" in text
        for name, limit in release.manifest.get("limits", {}).items():
            if isinstance(limit, dict) and "asked" in limit:
                assert f"{name} = {limit['reached']:.4g} was counted" in text
        if release.loss.gap is not None:
            assert "It is proven that no grouping" in text


def test_two_hundred_columns_are_listed_and_the_worst_are_drawn():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({f"c{j}": rng.normal(size=150) for j in range(200)})
    html = render_report(shoal.protect(table, 5, quasi=table.columns, method="mdav"))
    root = checked(html)
    assert len(html) < 2_000_000
    assert "Of 200 columns the 24 that lost most are drawn" in words(root)
    assert all(f"c{j}" in {"".join(one.itertext()) for one in root.iter(f"{HTML}bdi")} for j in range(200))


def test_every_confidential_column_is_looked_at_and_what_is_left_out_is_said(rng):
    secrets = {f"answer {j}": rng.integers(0, 9, 60) for j in range(11)}
    data = pl.DataFrame({"age": np.arange(60) // 5, **secrets, "diagnosis": ["same"] * 60})
    release = shoal.protect(data, 5, quasi=["age"], confidential=[*secrets, "diagnosis"], method="mdav")
    text = words(checked(render_report(release)))
    assert 'all records share one value of "diagnosis"' in text
    assert "Guessing was tried for 8 of 12 confidential columns." in text
    assert "Relations are shown for 10 of 13 columns" in text


@pytest.mark.parametrize("n", [2, 4, 9])
def test_few_records_are_not_drawn(n):
    people = pl.DataFrame({"age": list(range(n)), "sex": ["f", "m"] * (n // 2) + ["f"] * (n % 2)})
    text = words(checked(render_report(shoal.protect(people, 2, quasi=["age", "sex"], method="mdav"))))
    assert text.count("Not drawn: too few records") == 2


def test_many_types_of_columns():
    n = 60
    frame = pl.DataFrame(
        {
            "constant": [7] * n,
            "huge": np.linspace(1e15, 2e15, n),
            "tiny": np.linspace(1e-9, 2e-9, n),
            "offset": 1e12 + np.arange(n, dtype=np.float64),
            "day": [date(1950, 1, 1) + timedelta(days=300 * place) for place in range(n)],
            "moment": pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 3, 1), "1d", eager=True)[:n],
            "span": pl.Series([timedelta(hours=place) for place in range(n)]),
            "flag": [True, False] * (n // 2),
            "grade": pl.Series(["low", "high", "mid"] * (n // 3), dtype=pl.Enum(["low", "mid", "high"])),
            "price": pl.Series([f"{place}.50" for place in range(n)]).cast(pl.Decimal(10, 2)),
        }
    )
    release = shoal.protect(frame, 5, quasi=frame.columns, method="mdav")
    text = words(checked(render_report(release)))
    for name in frame.columns:
        assert name in text
    assert "1960 to 1970" in text or "1960 to 1965" in text
    checked(render_report(shoal.protect(frame.to_pandas(), 5, quasi=["huge", "day", "flag"], method="mdav")))


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


def test_points_to_look_at_are_named_with_a_way_out():
    n = 100
    frame = pd.DataFrame(
        {
            "wealth": [1.0 * place for place in range(n - 1)] + [1e9],
            "noise": np.random.default_rng(0).normal(size=n),
            "diagnosis": ["A"] * 50 + ["B", "C"] * 25,
            "serial": [f"id{place:05}" for place in range(n)],
        }
    )
    release = shoal.protect(frame, 2, quasi=["wealth", "noise"], confidential=["diagnosis"], method="mdav")
    text = words(checked(render_report(release)))
    assert 'all records share one value of "diagnosis"' in text
    assert re.search(r'The 2 most extreme records make up \d+ % of the variation of "wealth"', text)
    assert 'Column "serial" is released unchanged although it may point at single persons' in text
    assert "Ask for l-diversity" in text
    assert "with reservations" in text
    public = words(checked(render_report(release, public=True)))
    assert "may point at single persons" not in public
    assert "share one value" not in public


def test_reports_are_written_where_asked_for(release, tmp_path):
    paths = release.write(tmp_path / "s.csv", report=tmp_path / "r.html", public_report=tmp_path / "p.html")
    assert {path.name for path in paths} == {"s.csv", "s.manifest.json", "r.html", "p.html"}
    assert release.report(tmp_path / "q.html", public=True).read_bytes() == (tmp_path / "p.html").read_bytes()
    with pytest.raises(ParameterError, match="need different files"):
        release.write(tmp_path / "s.csv", report=tmp_path / "r.html", public_report=tmp_path / "r.html")
    with pytest.raises(ParameterError, match=r"call it p.html"):
        release.write(tmp_path / "s.csv", public_report=tmp_path / "p.txt")


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
