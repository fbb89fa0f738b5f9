"""Methods side by side: one table, one picture, and no failure that ends the run."""

import json
import re

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.api.combinations import Combination, Comparison
from shoal.api.compare import _with_efficient
from shoal.api.compared_utility import same_linkage
from shoal.core.progress import Progress
from shoal.errors import ParameterError

import reference

PEOPLE = shoal.datasets.patients(60)
QUASI = ["age", "sex", "income"]


def test_every_combination_has_its_figures():
    found = shoal.compare(
        PEOPLE, k=[3, 6], methods=["mdav", "max-distance"], quasi=QUASI, confidential=["diagnosis"], unnamed="other"
    )
    assert [(one.method, one.k) for one in found] == [
        ("mdav", 3),
        ("mdav", 6),
        ("max-distance", 3),
        ("max-distance", 6),
    ]
    for one in found:
        release = shoal.protect(
            PEOPLE, one.k, quasi=QUASI, confidential=["diagnosis"], method=one.method, unnamed="other"
        )
        assert one.information_loss == release.loss.information_loss
        assert one.k_achieved == release.k
        assert one.highest_risk == 1 / release.k
        assert one.record_linkage == pytest.approx(release.risk.attack("record-linkage").success.value)
        assert one.record_linkage_low <= one.record_linkage <= one.record_linkage_high
        assert one.seconds > 0
        assert 0 <= one.attribute_disclosure <= 1
    assert any(one.efficient for one in found)
    json.dumps(found.to_dict())
    assert found.table().height == 4


def test_limits_beyond_k_are_levels_of_their_own():
    settings = {"quasi": QUASI, "confidential": ["diagnosis"]}
    found = shoal.compare(PEOPLE, k=3, l=[2, 3], t=0.5, methods=["mdav"], **settings, unnamed="other")
    assert [(one.k, one.l, one.t) for one in found] == [(3, 2, 0.5), (3, 3, 0.5)]
    for one in found:
        release = shoal.protect(PEOPLE, 3, l=one.l, t=one.t, method="mdav", **settings, unnamed="other")
        assert one.information_loss == release.loss.information_loss
        figures = shoal.assess(release.data, **settings, unnamed="other").to_dict()["figures"]
        assert figures["k"] >= 3
        assert figures["l"] >= one.l
        assert figures["t"] <= one.t + 1e-12


def test_a_failing_combination_is_listed_with_its_reason_and_the_others_go_on(monkeypatch):
    found = shoal.compare(PEOPLE, k=[3, 100], methods=["optimal-1d", "mdav"], quasi=QUASI, unnamed="other")
    failed = {one.name: one.reason for one in found if one.reason}
    assert set(failed) == {"optimal-1d k=3", "optimal-1d k=100", "mdav k=100"}
    assert "k=100" in failed["mdav k=100"]
    assert "failed" in str(found)
    assert "mdav k=100 failed" in str(found)

    def broken(*_, **__):
        raise RuntimeError("a value of a record: 4711")

    monkeypatch.setattr("shoal.api.compare.run_prepared", broken)
    (one,) = shoal.compare(PEOPLE, k=3, methods="mdav", quasi=QUASI, unnamed="other")
    assert one.reason == "internal error (RuntimeError)"


def test_the_picture_has_a_mark_per_success_and_escapes_names():
    points = [
        Combination(
            "<b>", k, information_loss=0.1 * k, record_linkage=1 / k, record_linkage_low=0.0, record_linkage_high=1.0
        )
        for k in (3, 5)
    ]
    comparison = Comparison((*points, Combination("mdav", 3, reason="too small")), 60)
    picture = comparison.svg()
    assert picture.count("<circle") == 3  # two points and the legend
    assert "<b>" not in picture
    assert "too small" in comparison.html()
    assert re.search(r'(src|href)="', comparison.html()) is None
    assert "no combination succeeded" in Comparison(comparison.combinations[2:], 60).svg()


def test_files_appear_by_their_ending(tmp_path):
    found = shoal.compare(PEOPLE, k=3, methods=["mdav"], quasi=QUASI, unnamed="other")
    paths = [tmp_path / f"c{ending}" for ending in (".csv", ".svg", ".html")]
    assert found.write(*paths) == paths
    assert pl.read_csv(paths[0])["information_loss"].to_list() == pytest.approx(
        [found.combinations[0].information_loss]
    )
    assert paths[1].read_text(encoding="utf-8").startswith("<svg xmlns")
    assert paths[2].read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(ParameterError, match=r"written as .csv, .svg or .html"):
        found.write(tmp_path / "c.txt")


def test_efficient_means_that_no_other_is_better_in_both():
    rng = np.random.default_rng(1)
    points = [
        Combination("m", k, information_loss=float(a), record_linkage=float(b))
        for k, (a, b) in enumerate(rng.random((30, 2)))
    ]
    for one in _with_efficient(points):
        better = any(
            o.information_loss < one.information_loss and o.record_linkage < one.record_linkage for o in points
        )
        assert one.efficient != better


def test_progress_names_the_combination():
    stages = []

    class Recorder(Progress):
        def stage(self, name, total=None):  # noqa: ARG002 - the protocol has it
            stages.append(name)

    shoal.compare(PEOPLE, k=[3, 4], methods=["mdav"], quasi=QUASI, progress=Recorder(), unnamed="other")
    assert "mdav k=4 (2 of 2): verifying" in stages


def test_wrong_use_is_refused_before_any_work():
    with pytest.raises(ParameterError, match="mdvv"):
        shoal.compare(PEOPLE, methods=["mdav", "mdvv"], quasi=QUASI, unnamed="other")
    with pytest.raises(ParameterError, match="k names no value"):
        shoal.compare(PEOPLE, k=[], methods=["mdav"], quasi=QUASI, unnamed="other")


def test_rivals_are_measured_beside_groupings_and_marked():
    found = shoal.compare(
        PEOPLE, k=3, methods=["mdav"], quasi=QUASI, unnamed="other", against=["noise:0.05,2", "rank-swap:0.5+pram:0.3"]
    )
    lines = {one.name: one for one in found}
    assert list(lines) == ["mdav k=3", "noise 0.05", "noise 2", "rank-swap+pram 0.5+0.3"]
    for one in lines.values():
        assert one.rival == (one.k is None)
        assert 0 <= one.hellinger <= 1
        assert 0 <= one.specks <= 1
        assert one.il1s > 0
    assert lines["mdav k=3"].efficient
    assert lines["noise 0.05"].k_achieved == 1
    assert not any(one.efficient for one in found if one.rival)
    again = shoal.compare(PEOPLE, k=3, methods=["mdav"], quasi=QUASI, unnamed="other", against="noise:0.05")
    assert list(again)[1] == lines["noise 0.05"]
    assert "never" not in str(found)
    assert "does not release" in str(found)
    assert "At the same record linkage" in found.html()
    assert len(found.to_dict()["same_linkage"]) == 2


def test_census_rivals_cost_more_at_the_same_linkage():
    """Census, 13 columns: the figures of one seed were published with two points of tolerance."""
    census = pl.read_csv(reference.path("census.csv"))
    found = shoal.compare(
        census, k=[3, 5, 10], methods=["mdav"], quasi=census.columns, decimals="full", sums="exact",
        against=["noise:0.1,0.2,0.5", "rank-swap:0.1,0.15,0.2"],
    )  # fmt: skip
    lines = {one.name: one for one in found}
    for name, linkage, il1s in (("mdav k=3", 0.293, 0.1145), ("mdav k=5", 0.160, 0.1462), ("mdav k=10", 0.073, 0.1833)):
        assert lines[name].record_linkage == pytest.approx(linkage, abs=0.0006)
        assert lines[name].il1s == pytest.approx(il1s, abs=6e-5)
    for name, linkage, il1s in (
        ("noise 0.1", 0.45, 0.174), ("noise 0.2", 0.26, 0.246), ("noise 0.5", 0.10, 0.388),
        ("rank-swap 0.1", 0.61, 0.157), ("rank-swap 0.15", 0.32, 0.219), ("rank-swap 0.2", 0.16, 0.275),
    ):  # fmt: skip
        assert lines[name].record_linkage == pytest.approx(linkage, abs=0.02)
        assert lines[name].il1s == pytest.approx(il1s, abs=0.02)
    for name, amount in (("noise 0.1", 0.1), ("noise 0.2", 0.2), ("noise 0.5", 0.5)):
        # the expectation is sqrt(a / pi); the single draw that was published lies 2.5 % below it in all three lines
        assert lines[name].il1s == pytest.approx(np.sqrt(amount / np.pi), rel=0.015)
    swapped = [one for one in same_linkage(found) if (one.grouping, one.rival) == ("mdav k=5", "rank-swap")]
    assert round(swapped[0].ratio, 1) == 1.9


def test_a_column_without_released_numbers_has_no_variance_to_compare():
    people = PEOPLE.select("age", "sex")
    hierarchies = {"age": "flat", "sex": "flat"}
    (found,) = shoal.compare(people, k=30, methods=["full-domain"], quasi=["age", "sex"], hierarchies=hierarchies)
    assert found.variance is None
    assert found.ncp is not None
    assert "nan" not in str(found)
