"""A release that has lost everything, or emptied a column, is not returned unless the user accepts the loss."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest import mock

import polars as pl
import pytest

import shoal
from shoal.cli.application import main
from shoal.errors import LossNotAccepted

PEOPLE = pl.DataFrame({"age": [20 + i for i in range(12)], "sex": ["f", "m"] * 6})


def run(*words):
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()


def test_an_emptied_column_stops_the_run_until_it_is_accepted():
    with pytest.raises(LossNotAccepted, match='column "age" has one value left; column "sex" has one value left: noth'):
        shoal.protect(PEOPLE, 7, quasi=["age", "sex"], method="mdav")
    accepted = shoal.protect(PEOPLE, 7, quasi=["age", "sex"], method="mdav", accept_loss=True)
    assert accepted.data["sex"].n_unique() == 1


def test_suppressed_columns_stop_the_run():
    with pytest.raises(LossNotAccepted, match='column "age" has one value left'):
        shoal.protect(PEOPLE, 3, quasi=["age", "sex"], recode={"age": "suppress"}, method="mdav")


def test_a_loss_over_100_percent_stops_the_run():
    table = pl.DataFrame({"x": [0, 0, 0, 100, 1, 2, 3, 4, 300, 7]})
    choices = {"quasi": ["x"], "recode": "max", "method": "mdav"}
    with pytest.raises(LossNotAccepted, match=r"the information loss is \d+ %"):
        shoal.protect(table, 5, **choices)
    assert shoal.protect(table, 5, **choices, accept_loss=True).loss.information_loss > 1


def test_a_column_that_was_constant_before_is_not_emptied():
    table = PEOPLE.with_columns(wave=pl.lit(1))
    assert shoal.protect(table, 3, quasi=["age", "wave"], other=["sex"], method="mdav").data["wave"].n_unique() == 1


def test_the_command_stops_with_exit_code_1_and_writes_nothing(tmp_path):
    PEOPLE.write_csv(tmp_path / "in.csv")
    words = ["protect", tmp_path / "in.csv", "-k", 7, "--quasi", "age,sex", "--method", "mdav"]
    words += ["-o", tmp_path / "out.csv"]
    code, _, err = run(*words)
    assert code == 1
    assert "--accept-loss" in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    assert run(*words, "--accept-loss", "--quiet")[0] == 0
    assert (tmp_path / "out.csv").exists()


def test_a_category_that_disappears_is_a_finding_without_its_name(tmp_path):
    table = pl.DataFrame({"age": [20 + i % 30 for i in range(60)], "sex": ["f", "m"] * 29 + ["other"] * 2})
    release = shoal.protect(table, 5, quasi=["age", "sex"], method="mdav")
    assert "other" not in release.data["sex"].unique().to_list()
    (remark,) = [remark for remark in release.remarks if remark.code == "lost-category"]
    assert remark.text == '1 category of "sex" does not occur in the released table any more'
    assert not any(
        entry["code"] == "lost-category" and "other" in entry["text"] for entry in release.manifest["remarks"]
    )
    release.write(tmp_path / "out.csv", report=tmp_path / "out.html", public_report=tmp_path / "public.html")
    for name in ("out.html", "public.html"):
        assert "does not occur in the released table any more" in (tmp_path / name).read_text()
