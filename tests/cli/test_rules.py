"""``shoal verify --rules`` as a person uses it: lines, exit codes, JSON."""

import json

import polars as pl
import pytest

from cli.test_compare import run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "safe.csv"
    pl.DataFrame({"age": [30] * 12 + [61] * 12, "sex": ["f"] * 24}).write_csv(path)
    return path


def test_a_book_is_printed_line_by_line(table, tmp_path):
    found = run("verify", table, "--rules", "ema-0.09", "--quasi", "age,sex")
    assert found.returncode == 0, found.stderr
    assert "1/12 = 0.0833" in found.stdout
    assert "lawyer" in found.stdout
    own = tmp_path / "own.toml"
    own.write_text('title = "Ours"\n[thresholds]\nk = 13\n[columns]\nlargest_age = 60\n')
    found = run("verify", table, "--rules", own, "--quasi", "age,sex", "--json")
    assert found.returncode == 1
    assert [line["satisfied"] for line in json.loads(found.stdout)["lines"]] == [False, False]


def test_wrong_use_has_exit_code_2(table):
    assert run("verify", table, "--rules", "none").returncode == 2
    assert run("verify", table, "--rules", "cms-11").returncode == 2
    assert run("verify", table, "-k", "3", "--quasi", "age,sex", "--populations", table).returncode == 2
