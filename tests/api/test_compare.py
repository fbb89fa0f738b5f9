"""Methods side by side: one table, one picture, and no failure that ends the run."""

import json
import re

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.api.combinations import Combination, Comparison
from shoal.api.compare import _with_efficient
from shoal.core.progress import Progress
from shoal.errors import ParameterError

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
