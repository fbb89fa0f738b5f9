"""``shoal compare``, ``--hierarchy`` and ``--globally`` as a person uses them."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace
from unittest import mock

import polars as pl
import pytest

from shoal import datasets
from shoal.cli.application import main


def run(*arguments):
    out, err = StringIO(), StringIO()
    code = 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return SimpleNamespace(returncode=code or 0, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    datasets.patients(50).write_csv(path)
    return path


def test_compare_prints_a_table_and_writes_what_was_asked_for(people, tmp_path):
    paths = {ending: tmp_path / f"c.{ending}" for ending in ("csv", "svg", "html")}
    options = [word for ending, path in paths.items() for word in (f"--{ending}", path)]
    found = run(
        "compare", people, "-k", "3,5", "--methods", "mdav,optimal-1d", "--quasi", "age,income", *options,
        "--unnamed", "other",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "mdav" in found.stdout
    assert "optimal-1d k=3 failed" in found.stdout
    assert all(path.exists() for path in paths.values())


def test_compare_as_json(people):
    found = run(
        "compare", people, "-k", "3", "--methods", "mdav", "--quasi", "age,income", "--json", "--unnamed", "other"
    )
    (one,) = json.loads(found.stdout)["combinations"]
    assert (one["method"], one["k"]) == ("mdav", 3)
    assert one["information_loss"] > 0


def test_compare_says_what_is_wrong(people, tmp_path):
    assert "is not an integer" in run("compare", people, "-k", "x", "--quasi", "age").stderr
    assert "call it c.svg" in run("compare", people, "-k", "3", "--quasi", "age", "--svg", tmp_path / "c.png").stderr
    nothing = run("compare", people, "-k", "99", "--methods", "mdav", "--quasi", "age", "--unnamed", "other")
    assert nothing.returncode == 1
    assert "mdav k=99 failed" in nothing.stdout


def test_evaluate_measures_a_release_against_its_original(people, tmp_path):
    safe = tmp_path / "safe.csv"
    run(
        "protect", people, "-k", "5", "--quasi", "age,income", "--identifiers", "name", "--method", "mdav", "-o",
        safe, "--unnamed", "other",
    )  # fmt: skip
    shown = run("evaluate", people, safe, "--quasi", "age,income", "--confidential", "diagnosis", "--unnamed", "other")
    assert shown.returncode == 0, shown.stderr
    assert "prosecutor, highest" in shown.stdout
    assert "IL1s" in shown.stdout
    found = json.loads(run("evaluate", people, safe, "--quasi", "age,income", "--json", "--unnamed", "other").stdout)
    assert found["risk"]["classes"]["prosecutor"]["highest"] <= 0.2
    assert found["utility"]["columns"]["age"]["changed"] > 0
    assert "--quasi age,region" in run("evaluate", people, safe, "--unnamed", "other").stderr
    assert (
        run("evaluate", people, safe, "--quasi", "age,income", "--delimiter", ",", "--unnamed", "other").returncode == 0
    )


def test_protect_by_a_hierarchy_file_and_globally(people, tmp_path):
    regions = sorted(set(pl.read_csv(people)["region"]))
    tree = tmp_path / "region.csv"
    tree.write_text("\n".join(f"{region};{'a' if place % 2 else 'b'};*" for place, region in enumerate(regions)))
    safe = tmp_path / "safe.csv"
    found = run(
        "protect", people, "-k", "5", "--quasi", "age,region", "--identifiers", "name", "--hierarchy", f"region={tree}",
        "--recode", "age=range", "--global-recoding", "-o", safe, "--unnamed", "other",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert set(pl.read_csv(safe)["region"]) <= {*regions, "a", "b", "*"}
    assert run("verify", safe, "-k", "5", "--quasi", "age,region", "--unnamed", "other").returncode == 0
    broken = run(
        "protect", people, "-k", "5", "--quasi", "region", "--hierarchy", "region=none.csv", "-o", safe, "--force",
        "--unnamed", "other",
    )  # fmt: skip
    assert broken.returncode == 2
    assert 'hierarchy file "none.csv" does not exist' in broken.stderr
