"""``shoal assess``, and the further limits of ``shoal verify`` and ``shoal protect``."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.application import app, main
from shoal.errors import SchemaError

PEOPLE = pl.DataFrame(
    {
        "age": [31, 31, 31, 61, 61, 61],
        "region": ["n", "n", "n", "s", "s", "s"],
        "diagnosis": ["A", "B", "B", "C", "C", "C"],
        "cost": [1, 2, 3, 4, 5, 6],
    }
)


@pytest.fixture
def file(tmp_path):
    PEOPLE.write_csv(tmp_path / "safe.csv")
    return tmp_path / "safe.csv"


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_table_for_people(file):
    result = run("assess", file, "--quasi", "age,region", "--confidential", "diagnosis,cost", "--contributions")
    assert result.exit_code == 0, result.output
    for text in ("6 records in 2 equivalence classes", "distinct l", "t-closeness", "over all records", "k without it"):
        assert text in result.output


def test_json_for_machines(file):
    result = run(
        "assess", file, "--quasi", "age", "--confidential", "diagnosis,cost", "-m", 4, "--json", "--unnamed", "other"
    )
    printed = json.loads(result.output)
    assert printed["figures"]["k"] == 3
    assert printed["figures"]["l"] == 1
    assert printed["columns"]["cost"]["distance"] == "ordered"
    assert printed["columns"]["diagnosis"]["distance"] == "equal"
    assert printed["m"] == 4
    assert 0 <= printed["figures"]["m_t"] <= printed["figures"]["t"]


def test_kinds_orders_and_hierarchies_from_the_command_line(file, tmp_path):
    (tmp_path / "tree.csv").write_text("A;lung;*\nB;lung;*\nC;heart;*\n", encoding="utf-8")
    words = ["assess", file, "--quasi", "age", "--confidential", "diagnosis,cost", "--nominal", "cost", "--json"]
    printed = json.loads(run(*words, "--hierarchy", f"diagnosis={tmp_path / 'tree.csv'}", "--unnamed", "other").output)
    assert printed["columns"]["cost"]["distance"] == "equal"
    assert printed["columns"]["diagnosis"]["distance"] == "hierarchical"
    printed = json.loads(run(*words, "--ordinal", "diagnosis=A<B<C", "--unnamed", "other").output)
    assert printed["columns"]["diagnosis"]["distance"] == "ordered"


def test_missing_values_mean_what_is_said(tmp_path):
    pl.DataFrame({"q": ["a", "a", "a", "b", "b", "b", None]}).write_csv(tmp_path / "missing.csv")
    words = ["assess", tmp_path / "missing.csv", "--quasi", "q", "--json"]
    assert json.loads(run(*words).output)["figures"]["k"] == 1
    assert json.loads(run(*words, "--missing-semantics", "wildcard").output)["figures"]["k"] == 4
    assert run(*words, "--missing-semantics", "error").exit_code != 0


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (["--l", "1", "--t", "0.7"], 0),
        (["--l", "2"], 1),
        (["--alpha", "0.9"], 1),
        (["--delta", "3", "--beta", "2", "--p", "1"], 0),
        (["--l", "1", "--l-kind", "recursive", "--c", "2"], 0),
    ],
)
def test_verify_exits_0_or_1(file, limits, code):
    words = ["verify", file, "-k", 3, "--quasi", "age", "--confidential", "diagnosis", *limits, "--unnamed", "other"]
    result = run(*words)
    assert result.exit_code == code, result.output
    assert "k=3 is satisfied" in result.output
    printed = json.loads(run(*words, "--json").output)
    assert printed["satisfied"] == (code == 0)


@pytest.mark.parametrize("limits", [["--t", "1.5"], ["--l", "2.5"], ["--l", "2", "--l-kind", "many"], ["--alpha", "0"]])
def test_wrong_use_exits_2_with_one_sentence(file, limits, monkeypatch, capsys):
    words = ["verify", file, "-k", 3, "--quasi", "age", "--confidential", "diagnosis", *limits]
    monkeypatch.setattr("sys.argv", ["shoal", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("shoal: ")


def test_limits_without_confidential_columns_are_wrong_use(file):
    result = run("verify", file, "-k", 3, "--quasi", "age", "--l", 2, "--unnamed", "other")
    assert isinstance(result.exception, SchemaError)
    result = run("assess", file, "--quasi", "age", "--confidential", "age")
    assert isinstance(result.exception, SchemaError)


def test_protect_keeps_and_shows_limits(tmp_path):
    pl.DataFrame({"age": list(range(20, 50)), "diagnosis": ["A"] * 15 + ["B"] * 10 + ["C"] * 5}).write_csv(
        tmp_path / "people.csv"
    )
    words = ["protect", tmp_path / "people.csv", "-k", 3, "--quasi", "age", "--confidential", "diagnosis", "--l", 2]
    result = run(*words, "--t", 0.6, "-o", tmp_path / "safe.csv")
    assert result.exit_code == 0, result.output
    assert "l requested / achieved" in result.output
    checked = run(
        "verify", tmp_path / "safe.csv", "-k", 3, "--quasi", "age", "--confidential", "diagnosis", "--l", 2, "--t", 0.6
    )
    assert checked.exit_code == 0, checked.output
