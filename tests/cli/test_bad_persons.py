"""Bad input about persons on the command line: one sentence, the right exit code, and nothing written."""

import polars as pl
import pytest
from tests.flow.test_histories import visits
from typer.testing import CliRunner

from shoal.cli.application import app
from shoal.errors import ShoalError

ROW = pl.col("row")
UNIT = ["--quasi", "age,dose", "--unit", "patient", "--unnamed", "other"]
LINKED = [*UNIT, "--keep-links", "--time", "day"]


@pytest.mark.parametrize(
    ("change", "words", "problem"),
    [
        ({"patient": pl.when(ROW < 2).then(None).otherwise(pl.col("patient"))}, UNIT, "2 rows have no value"),
        ({}, [*UNIT[2:], "--quasi", "age,patient"], '"patient"'),
        ({}, [*UNIT, "-k", "61"], "k=61 needs at least 61 persons, the table has 60 persons"),
        ({"patient": pl.when(ROW > 40).then(pl.lit("?")).otherwise(pl.col("patient"))}, UNIT, "more than all others"),
        ({"area": (pl.col("patient") == "p3").cast(int)}, [*UNIT, "--strata", "area"], "strat"),
        ({"day": pl.lit(1)}, LINKED, "the same time"),
        ({"day": pl.when(ROW == 1).then(None).otherwise(pl.col("day"))}, LINKED, 'no value in the time "day"'),
        ({"dose": pl.when(pl.col("patient") == "p3").then(None).otherwise(pl.col("dose"))},
         [*LINKED, "--missing", "by-pattern"], '"dose" has one value left'),
    ],
    ids=["no unit", "unit and quasi", "few units", "one unit", "few units in a stratum", "ties", "no time", "pattern"],
)  # fmt: skip
def test_bad_input_gives_one_sentence_and_no_file(change, words, problem, tmp_path):
    visits().with_columns(**change).write_csv(tmp_path / "visits.csv")
    files = [str(tmp_path / "visits.csv"), "-o", str(tmp_path / "safe.csv")]
    k = [] if "-k" in words else ["-k", "4"]
    result = CliRunner().invoke(app, ["protect", *files, *k, *words])
    assert isinstance(result.exception, ShoalError)
    assert problem in str(result.exception)
    assert "\n" not in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]
