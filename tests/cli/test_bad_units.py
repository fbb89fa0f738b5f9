"""Bad input about persons on the command line: one sentence that names the way out, exit code 1 or 2, no file."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest import mock

import polars as pl
import pytest
from tests.flow.test_units import stays

from shoal.cli.application import main

ROW, PATIENT = pl.col("row"), pl.col("patient")
MOST = pl.when(ROW % 3 > 0).then(pl.lit("x")).otherwise(PATIENT)
CASES = {
    "missing unit": ({"patient": pl.when(ROW > 3).then(PATIENT)}, [], 2, "4 rows have no value in the unit"),
    "no such column": ({}, ["--unit", "pat"], 2, "pat"),
    "unit as quasi-identifier": ({}, ["--quasi", "patient"], 2, "two roles"),
    "fewer than k units": ({}, ["-k", "61"], 2, "k=61 needs at least 61 persons"),
    "one unit with most rows": ({"patient": MOST}, [], 2, "more than all others"),
    "strata of few units": ({"g": (PATIENT == "p1").cast(int)}, ["--strata", "g"], 2, "1 of its 2 strata"),
    "time with ties": ({"when": pl.lit(1)}, ["--time", "when"], 2, "the same time"),
    "missing time": ({"when": pl.when(ROW > 0).then(ROW)}, ["--time", "when"], 2, "no value in the time"),
    "time of text": ({"when": pl.lit("soon")}, ["--time", "when"], 2, "holds text"),
    "households without a column": ({}, ["--of", "households"], 2, "--household"),
    "an unknown count": ({}, ["--of", "people"], 2, "people"),
    "a share above 1": ({}, ["--max-share", "1.5"], 2, "above 0 and at most 1"),
    "a share of 0": ({}, ["--max-share", "0"], 2, "above 0 and at most 1"),
    "a share out of reach": ({}, ["--max-share", "0.001"], 2, "not achievable"),
    "more values than persons have": ({}, ["--l", "6"], 2, "counted by persons"),
    "a share of distinct rows": ({}, ["--alpha", "0.1"], 1, "counted by persons"),
}  # fmt: skip


def run(*words):
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_no_file(case, tmp_path):
    change, words, code, problem = CASES[case]
    stays(most=8).with_columns(**change).write_csv(tmp_path / "stays.csv")
    named = ["--unnamed", "other", "--method", "mdav", "--confidential", "diagnosis", "-o", tmp_path / "safe.csv"]
    usual = [] if "-k" in words else ["-k", "5"]
    usual += ["--quasi", "age,income"] + ([] if "--unit" in words else ["--unit", "patient"])
    found, out, err = run("protect", tmp_path / "stays.csv", *usual, *words, *named)
    assert found == code, err
    assert problem in " ".join(err.split())
    assert out == ""
    assert "Traceback" not in err
    assert err.count(": ") < 6
    assert [path.name for path in tmp_path.iterdir()] == ["stays.csv"]


def test_a_share_needs_a_unit(tmp_path):
    stays().write_csv(tmp_path / "stays.csv")
    words = ["-k", 5, "--quasi", "age,income", "--unnamed", "other"]
    code, _, err = run("protect", tmp_path / "stays.csv", *words, "--max-share", 0.2, "-o", tmp_path / "safe.csv")
    assert (code, "--unit" in err) == (2, True)
    code, _, err = run("verify", tmp_path / "stays.csv", *words, "--max-share", 0.2)
    assert (code, "--original" in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["stays.csv"]
