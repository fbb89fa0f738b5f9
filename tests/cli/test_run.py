"""``protect --save`` and ``shoal run``: a release repeated byte by byte, and everything that stops it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from cli.test_commands import run
from shoal import datasets
from shoal.methods import auto as auto_module
from shoal.methods.effort import MethodChoice

ROLES = ("--confidential", "diagnosis", "--identifiers", "name", "--unnamed", "other")
CASES = {
    "one column": ("--quasi", "age"),
    "a named method": ("--quasi", "age,income,stay_days", "--method", "mdav", "--seed", 5, "--decimals", 1),
    "strata": ("--quasi", "age,income", "--strata", "region", "--method", "mondrian-v"),
    "categories": ("--quasi", "sex,education", "--method", "nominal-mdav"),
    "a hierarchy in a file": ("--quasi", "sex,education", "--hierarchy", "education=tree.csv", "--method", "mdav"),
    "an order, weights and recodes": (
        "--quasi", "age,education", "--ordinal", "education=none<primary<secondary<bachelor<master<doctorate",
        "--column-weight", "age=2", "--recode", "age=median", "--method", "mdav",
    ),
    "requirements": ("--quasi", "age,income", "--l", 2, "--method", "mdav", "--sums", "exact"),
    "missing values": ("--quasi", "age,height", "--missing", "by-pattern", "--method", "mdav", "--na-values", "NA"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = datasets.patients(90).with_columns(
        height=pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("NA")).otherwise(pl.col("height").cast(pl.String))
    )
    people.write_csv("people.csv")
    found = people["education"].unique().drop_nulls().sort().to_list()
    (tmp_path / "tree.csv").write_text("".join(f"{value};some\n" for value in found))
    return tmp_path


def protect(*arguments, k=3, output="safe.csv"):
    """Protect the people and save a run file; return table and manifest as bytes."""
    words = ("-k", k, "-o", output, "--save", "release.toml", "--force", *arguments)
    result = run("protect", "people.csv", *words)
    assert result.returncode == 0, result.stderr
    return written(output)


def written(output="safe.csv"):
    manifest = Path(output).with_suffix(".manifest.json")
    return Path(output).read_bytes(), manifest.read_bytes()


def remove(folder):
    for path in folder.glob("safe.*"):
        path.unlink()


@pytest.mark.parametrize("case", CASES)
def test_a_run_gives_the_bytes_of_the_protection(folder, case):
    height = () if "height" in str(CASES[case]) else ("--na-values", "NA")
    first = protect(*CASES[case], *ROLES, *height)
    assert (folder / "release.toml").stat().st_mode & 0o777 == 0o600
    assert 'name = "auto"' not in (folder / "release.toml").read_text().partition("[[method.resolved]]")[2]
    for _ in range(2):
        remove(folder)
        result = run("run", "release.toml", "--force", "--quiet")
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert written() == first


@pytest.mark.parametrize("output", ["safe.parquet", "safe.arrow", "safe.csv.gz"])
def test_other_formats(folder, output):
    first = (
        protect("--quasi", "age", *ROLES, "--na-values", "NA", output=output)[0] if output != "safe.csv.gz" else None
    )
    if first is None:
        result = run("protect", "people.csv", "-k", 3, "-o", output, "--save", "release.toml", "--quasi", "age", *ROLES)
        assert result.returncode == 0, result.stderr
        first = (folder / output).read_bytes()
    remove(folder)
    assert run("run", "release.toml", "--force", "--quiet").returncode == 0
    assert (folder / output).read_bytes() == first


def test_the_resolved_methods_run_whatever_auto_would_select_now(folder, monkeypatch):
    arguments = ("--quasi", "age,income", *ROLES, "--na-values", "NA")
    first = protect(*arguments)
    entry = shoal.load_run("release.toml").plan.method
    assert (entry.name, entry.resolved[0].identity) == ("auto", "annealing@1")
    monkeypatch.setattr(auto_module, "choose", lambda *_, **__: MethodChoice("mondrian", {}, 0.0, "another version"))
    assert run("run", "release.toml", "--force", "--quiet").returncode == 0
    assert written() == first
    assert protect(*arguments)[0] != first[0]  # auto alone would give other groups


def test_methods_are_resolved_for_each_block(folder, monkeypatch):
    def by_size(n, *_, **__):
        return MethodChoice("mdav" if n % 2 else "mondrian", {}, 0.0, f"{n % 2}")

    people = pl.read_csv("people.csv").with_columns(part=pl.Series(["a"] * 21 + ["b"] * 22 + ["c"] * 47))
    people.write_csv("people.csv")
    monkeypatch.setattr(auto_module, "choose", by_size)
    first = protect("--quasi", "age,income", "--strata", "part", *ROLES, "--na-values", "NA")
    resolved = shoal.load_run("release.toml").plan.method.resolved
    assert [(entry.name, entry.blocks) for entry in resolved] == [("mdav", (0, 2)), ("mondrian", (1,))]
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run("run", "release.toml", "--force", "--quiet").returncode == 0
    assert written() == first
    people.with_columns(part=pl.Series(["a"] * 45 + ["b"] * 45)).write_csv("people.csv")
    stopped = run("run", "release.toml", "--force")
    assert stopped.returncode == 2
    assert "for 3 strata or missingness patterns, and this table has 2" in stopped.stderr


def test_with_a_unit_the_groups_are_equal_and_the_order_is_not(folder):
    rng = np.random.default_rng(3)
    visits = pl.DataFrame({
        "person": np.repeat(np.arange(60), 3), "age": np.repeat(rng.integers(20, 80, 60), 3),
        "cost": rng.integers(1, 10**6, 180),
    })  # fmt: skip
    visits.write_csv("visits.csv")
    result = run("protect", "visits.csv", "-k", 4, "--unit", "person", "--quasi", "age", "--other", "cost",
                 "-o", "safe.csv", "--save", "release.toml", "--method", "mdav", "--accept-relinking")  # fmt: skip
    assert result.returncode == 0, result.stderr
    first = pl.read_csv("safe.csv")
    assert run("run", "release.toml", "--force", "--quiet").returncode == 0
    second = pl.read_csv("safe.csv")
    assert first.sort("cost").equals(second.sort("cost"))
    assert not first.equals(second)
    assert shoal.load_run("release.toml").accept.relinking


def test_a_second_release_is_repeated_from_the_record_of_the_first(folder):
    protect("--quasi", "age,income", *ROLES, "--na-values", "NA", "--method", "mdav")
    people = pl.read_csv("people.csv")
    people[5:].write_csv("people.csv")
    result = run("protect", "people.csv", "-k", 3, "--quasi", "age,income", *ROLES, "--na-values", "NA", "--method",
                 "mdav", "-o", "later.csv", "--previous", "safe.holder.parquet", "--save", "later.toml")  # fmt: skip
    assert result.returncode == 0, result.stderr
    first = written("later.csv")
    assert shoal.load_run("later.toml").plan.method.resolved[0].identity == "previous@1"
    assert run("run", "later.toml", "--force", "--quiet").returncode == 0
    assert written("later.csv") == first


def test_output_of_a_run(folder):
    protect("--quasi", "age", *ROLES, "--na-values", "NA", "--report", "safe.html", "--public-report", "public.html")
    (folder / "public.html").unlink()
    result = run("run", "release.toml", "--force", "--json")
    assert json.loads(result.stdout) == json.loads((folder / "safe.manifest.json").read_text())
    assert (folder / "public.html").exists()
    shown = run("run", "release.toml", "--force")
    assert "k requested / achieved  3 / 3" in shown.stdout
    assert "confidential, keep with the original: safe.holder.parquet, safe.html" in shown.stdout


def test_inputs_and_the_run_file_are_never_replaced(folder):
    protect(
        "--quasi", "education", "--hierarchy", "education=tree.csv", *ROLES, "--na-values", "NA", "--method", "mdav"
    )
    text = (folder / "release.toml").read_text()
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    for wrong in ("people.csv", "tree.csv", "release.toml"):
        for key in ("table", "manifest"):
            before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
            if key == "table" and wrong == "release.toml":
                continue
            (folder / "release.toml").write_text(text.replace(before, f'{key} = "{wrong}"'))
            stopped = run("run", "release.toml", "--force")
            assert stopped.returncode == 2, wrong
            assert "the input is never changed" in stopped.stderr
    (folder / "release.toml").write_text(text)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    for wrong in ("people.csv", "tree.csv", "safe.csv"):
        stopped = run("protect", "people.csv", "-k", 3, "--quasi", "education", "--hierarchy", "education=tree.csv",
                      *ROLES, "-o", "safe.csv", "--save", wrong)  # fmt: skip
        assert stopped.returncode == 2
        assert len(stopped.stderr.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept


def test_exit_codes_of_a_run(folder):
    protect("--quasi", "age", *ROLES, "--na-values", "NA")
    run_file = shoal.load_run("release.toml")
    (folder / "wrong.toml").write_text((folder / "release.toml").read_text().replace("k = 3", "k = 0"))
    people = pl.read_csv("people.csv")
    people.rename({"age": "years"}).write_csv("renamed.csv")
    people.with_columns(new=1).write_csv("wider.csv")
    shoal.save_run(replace(run_file, input=shoal.InputFiles("renamed.csv")), "renamed.toml")
    shoal.save_run(replace(run_file, input=shoal.InputFiles("wider.csv")), "wider.toml")
    for file, sentence in {
        "wrong.toml": 'run file "wrong.toml"', "none.toml": "does not exist", "renamed.toml": '"age"',
        "wider.toml": '"new"', "people.csv": "not valid TOML",
    }.items():  # fmt: skip
        stopped = run("run", file, "--force")
        assert stopped.returncode == 2, file
        assert sentence in stopped.stderr, file
        assert len(stopped.stderr.splitlines()) == 1


def test_a_table_that_is_no_file_has_no_run_file(folder):
    release = shoal.protect(datasets.patients(30), k=3, quasi=["age"], unnamed="other", method="mdav")
    with pytest.raises(shoal.errors.ParameterError, match="a run file names the files"):
        release.write("safe.csv", run_file="release.toml")
    assert not (folder / "safe.csv").exists()
