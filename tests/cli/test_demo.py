"""The demonstrations of persons: generated tables, protected with a unit or household, and the commands they print."""

import json
import shlex

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal import datasets
from shoal.cli.application import app
from shoal.errors import ParameterError


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.mark.parametrize(
    ("demo", "unit", "noun"), [("--stays", "patient_id", "persons"), ("--households", "household_id", "households")]
)
def test_the_printed_commands_run_and_count_the_same(demo, unit, noun, tmp_path):
    result = run("demo", demo, "--folder", tmp_path, "--rows", 60, "--method", "mdav", "-k", 4)
    assert result.exit_code == 0, result.output
    commands = [shlex.split(line) for line in result.output.splitlines() if line.startswith("shoal ")]
    assert [words[1] for words in commands] == ["protect", "verify", "assess", "evaluate"]
    released = pl.read_csv(tmp_path / "safe.csv")
    assert unit not in released.columns
    for _, *words in commands:
        again = run(*words)
        assert again.exit_code == 0, (words, again.output)
        if words[0] == "verify":
            assert f"k=4 {noun} is satisfied" in again.output
    assert pl.read_csv(tmp_path / "safe.csv").sort(released.columns).equals(released.sort(released.columns))
    source = pl.read_csv(next(path for path in tmp_path.glob("*.csv") if path.name != "safe.csv"))
    record = pl.read_parquet(tmp_path / "safe.holder.parquet")
    whose = pl.DataFrame({"whose": source[unit], "at": record["released_row"]}).sort("at")["whose"]
    manifest = json.loads((tmp_path / "safe.manifest.json").read_text())
    quasi = [column["name"] for column in manifest["schema"]["columns"] if column["role"] == "quasi"]
    written = pl.read_csv(tmp_path / "safe.csv")
    assert written.with_columns(whose).group_by(quasi).agg(pl.col("whose").n_unique())["whose"].min() >= 4
    assert noun in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_two_demonstrations_at_once_are_wrong_use(tmp_path):
    assert isinstance(run("demo", "--stays", "--households", "--folder", tmp_path / "x").exception, ParameterError)
    assert isinstance(run("demo", "--stays", "--missing", 0.1, "--folder", tmp_path / "x").exception, ParameterError)
    assert list(tmp_path.iterdir()) == []


def constant(table, unit, columns):
    return all(table.group_by(unit).agg(pl.col(name).n_unique())[name].max() == 1 for name in columns)


def test_stays_have_constant_and_varying_columns():
    table = datasets.stays(300)
    assert table["patient_id"].n_unique() == 300
    assert 1.8 < table.height / 300 < 2.6
    assert constant(table, "patient_id", ["sex", "birth_year", "region"])
    for name in ("admitted", "days", "diagnosis", "cost", "ward"):
        assert not constant(table, "patient_id", [name])
    assert table.select("patient_id", "admitted").is_duplicated().sum() == 0  # a time without ties
    assert table["admitted"].is_sorted()
    assert datasets.stays(300).equals(table)
    assert not datasets.stays(300, seed=1).equals(table)
    assert datasets.stays(1)["patient_id"].n_unique() == 1


def test_households_share_region_and_income():
    table = datasets.households(300)
    assert table["household_id"].n_unique() == 300
    assert constant(table, "household_id", ["region", "size", "household_income"])
    assert (table.group_by("household_id").agg(pl.len() == pl.col("size").first())["len"]).all()
    assert table.filter(relation="head").height == 300
    assert table.filter(pl.col("relation") != "child")["age"].min() >= 19
    assert datasets.households(300).equals(table)
    for wrong in (0, -1, 2.5, "x"):
        with pytest.raises(ParameterError):
            datasets.households(wrong)
        with pytest.raises(ParameterError):
            datasets.stays(wrong)
