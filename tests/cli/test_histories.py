"""Histories and constant columns on the command line: protect, verify, evaluate, compare and schema."""

import json

import polars as pl
import pytest
from tests.flow.test_histories import sequences, visits
from typer.testing import CliRunner

from shoal.cli.application import app
from shoal.errors import ShoalError

ROLES = ["--quasi", "age,sex,dose", "--other", "row", "--unit", "patient", "--time", "day"]


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.fixture
def table(tmp_path):
    visits(seed=4).write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


def test_histories_from_protect_to_evaluate(table, tmp_path):
    safe, record = tmp_path / "safe.csv", tmp_path / "safe.holder.parquet"
    done = run("protect", table, "-k", 4, *ROLES, "--keep-links", "--slots", "first", "-o", safe)
    assert done.exit_code == 0, done.output
    assert "4 / 4 histories" in done.output
    assert "rows kept" in done.output
    released = pl.read_csv(safe)
    assert min(sequences(released, "patient").values()) >= 4
    counted = run("verify", safe, "-k", 4, *ROLES, "--keep-links", "--json")
    assert counted.exit_code == 0, counted.output
    assert json.loads(counted.output)["k"]["of"] == "histories"
    assert run("verify", safe, "-k", 5, *ROLES, "--keep-links").exit_code == 1
    assert run("verify", safe, "-k", 4, *ROLES, "--original", table, "--record", record).exit_code == 0
    assert (
        "4 histories requested, 4 counted" in run("verify", safe, "--manifest", tmp_path / "safe.manifest.json").output
    )
    assert run("evaluate", table, safe, *ROLES, "--record", record).exit_code == 0
    assessed = run("assess", table, *ROLES, "--of", "histories", "--json")
    assert json.loads(assessed.output)["of"] == "histories"


def test_constants_on_the_command_line(table, tmp_path):
    done = run(
        "protect", table, "-k", 4, *ROLES, "--constant", "auto", "--weighting", "persons", "-o", tmp_path / "s.csv"
    )
    assert done.exit_code == 0, done.output
    assert "constant within persons" in done.output
    assert "every person counts the same" in done.output.replace("\n", " ")
    counted = [*ROLES, "--original", table, "--record", tmp_path / "s.holder.parquet", "--constant", "age,sex"]
    verified = run("verify", tmp_path / "s.csv", "-k", 4, *counted)
    assert verified.exit_code == 0, verified.output
    assert "constant age is satisfied" in verified.output
    varying = run("verify", tmp_path / "s.csv", "-k", 4, *counted[:-1], "dose")
    assert varying.exit_code == 1
    for wrong in (["--constant", "dose"], ["--constant", "age", "--method", "mdav"]):
        failed = run("protect", table, "-k", 4, *ROLES, *wrong, "-o", tmp_path / "t.csv")
        assert isinstance(failed.exception, ShoalError)
        assert not (tmp_path / "t.csv").exists()
    drafted = run("schema", table)
    assert 'constant within "patient"' in drafted.output


def test_compare_on_the_command_line(table):
    found = run("compare", table, "-k", "3", *ROLES, "--of", "units,histories", "--constant", "age,sex",
                "--methods", "mdav", "--json")  # fmt: skip
    assert found.exit_code == 0, found.output
    lines = json.loads(found.output)["combinations"]
    assert [(line["of"], line["constant"]) for line in lines] == [
        ("units", False), ("units", True), ("histories", True),
    ]  # fmt: skip
    assert all(0 < line["rows_kept"] <= 1 for line in lines)
    shown = run("compare", table, "-k", "3", *ROLES, "--of", "histories")
    assert shown.exit_code == 0
    assert "rows kept" in " ".join(shown.output.split())
