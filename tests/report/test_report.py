import re
from html.parser import HTMLParser

import polars as pl
import pytest

import shoal
from shoal.report import render_report
from shoal.report.pictures import bars, columns


class Checker(HTMLParser):
    """Fails on tags that are closed wrongly; collects text and attributes."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.text, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def checked(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return checker


@pytest.fixture(scope="module")
def report():
    people = shoal.datasets.patients(80, missing=0.1)
    release = shoal.protect(
        people, 4, quasi=["age", "education", "income"], identifiers=["name"], confidential=["diagnosis"],
        missing="own-group", orders={"education": shoal.datasets.EDUCATION_ORDER}, method="mdav",
    )  # fmt: skip
    return people, release, render_report(release)


def test_the_report_is_well_formed_and_needs_nothing_from_outside(report):
    _, _, html = report
    checker = checked(html)
    assert not [value for name, value in checker.attributes if name in {"src", "href"}]
    assert not re.search(r"https?://|url\(|@import", html)


def test_the_report_tells_k_loss_and_what_was_done(report):
    _, release, html = report
    text = " ".join(checked(html).text)
    assert f"k = 4 was asked for and k = {release.k} was counted" in text
    assert f"{100 * release.loss.information:.2f} %" in text
    for phrase in (
        "Identifiers were dropped: name",
        "same holes",
        "diagnosis",
        release.manifest["input"]["fingerprint"],
    ):
        assert phrase in text


def test_the_report_holds_no_value_of_a_record(report):
    people, _, html = report
    for name in ("name", "diagnosis"):
        assert not any(value in html for value in people[name].unique())


def test_every_picture_has_a_title_and_a_description(report):
    _, _, html = report
    assert html.count("<svg") == html.count("<title>") - 1 == html.count("<desc>") == 2


def test_names_of_columns_are_escaped():
    evil = '<script>alert("x")</script> 🐟 שלום'
    release = shoal.protect(pl.DataFrame({evil: [1, 2, 3, 4]}), 2, quasi=[evil], method="mdav")
    html = render_report(release)
    assert "<script" not in html
    assert evil in "".join(checked(html).text)


def test_many_sizes_are_joined_into_ranges():
    picture = columns(dict.fromkeys(range(3, 300), 1), "size", "groups")
    assert picture.count("<rect") <= 20


def test_a_loss_above_one_is_printed_and_cut_at_the_edge():
    picture = bars({"x": 1.7}, "loss")
    assert "170.00 %" in picture
    assert 'width="440.0"' in picture
