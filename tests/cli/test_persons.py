"""Persons on the command line: protect, verify, assess and evaluate count them and name what k is about."""

import json

import polars as pl
import pytest
from tests.flow.test_units import stays
from typer.testing import CliRunner

from shoal.cli.application import app

ROLES = ["--quasi", "age,income", "--unnamed", "other"]


@pytest.fixture
def files(tmp_path):
    stays().write_csv(tmp_path / "stays.csv")
    words = ["-k", 4, *ROLES, "--unit", "patient", "--method", "mdav", "-o", tmp_path / "safe.csv"]
    result = CliRunner().invoke(app, ["protect", str(tmp_path / "stays.csv"), *map(str, words)])
    assert result.exit_code == 0, result.output
    assert "60 persons" in result.output
    assert "4 / 4 persons" in result.output
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_verify_names_what_it_counts(files):
    persons = ["--original", files / "stays.csv", "--record", files / "safe.holder.parquet"]
    counted = run("verify", files / "safe.csv", "-k", 4, *ROLES, *persons)
    assert counted.exit_code == 0
    assert "k=4 persons is satisfied" in counted.output
    rows = run("verify", files / "safe.csv", "-k", 4, *ROLES, "--unit", "patient")
    assert rows.exit_code == 0
    assert "k counts records" in rows.output.replace("\n", " ")
    found = run("verify", files / "safe.csv", "-k", 90, *ROLES, *persons, "--json")
    assert found.exit_code == 1
    assert json.loads(found.output)["k"]["of"] == "units"
    manifest = run("verify", files / "safe.csv", "--manifest", files / "safe.manifest.json")
    assert manifest.exit_code == 0
    assert "4 persons requested" in manifest.output.replace("\n", " ")


def test_assess_and_evaluate_count_persons(files):
    original = run("assess", files / "stays.csv", *ROLES, "--unit", "patient", "--json")
    assert json.loads(original.output)["of"] == "units"
    roles = [*ROLES, "--unit", "patient"]
    measured = run(
        "evaluate", files / "stays.csv", files / "safe.csv", *roles, "--record", files / "safe.holder.parquet"
    )
    assert measured.exit_code == 0
    shuffled = run("evaluate", files / "stays.csv", files / "safe.csv", *roles)
    assert shuffled.exit_code != 0


def test_the_manifest_states_persons(files):
    manifest = json.loads((files / "safe.manifest.json").read_text())
    assert manifest["k"]["of"] == "units"
    assert manifest["input"]["persons"] == 60
    assert "persons" in manifest["recount"]["result"]["k"]
    assert "patient" not in pl.read_csv(files / "safe.csv").columns
