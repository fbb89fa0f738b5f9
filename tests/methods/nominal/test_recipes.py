"""The named recipes, through the registry, protect and the command line."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.core.frequency_errors import frequency_errors
from shoal.datasets import category_codes, nominal_problems
from shoal.errors import DataError, ParameterError
from shoal.methods.registry import all_methods, get_method

OWN = [f"own-{f}{i}{a}" for f in "eh" for i in "eh" for a in "egc"]
RECIPES = [*OWN, "rand-e", "rand-g", "rand-c", "safe", "safe-ex", "msafe-ex", "chi-ex", "chi-search"]
CODES = nominal_problems(60, 0.3, seed=5)


def table(codes=CODES):
    names = ["sex", "race", "role", "status", "work"]
    frame = pl.DataFrame(
        {name: [f"{name}{value}" for value in column] for name, column in zip(names, codes.T, strict=True)}
    )
    return frame.with_columns(income=pl.Series(np.arange(len(codes)) * 10))


def run(name, codes=CODES, **options):
    method = get_method(name)
    if "time_limit" in method.options:
        options.setdefault("time_limit", 20.0)
    facts = {}
    return method.run(codes, 3, facts=facts, **options), facts


def test_every_recipe_of_the_thesis_is_registered():
    assert not set(RECIPES) - set(all_methods())
    assert all(get_method(name).represents and get_method(name).data == "codes" for name in RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_release_only_combinations_that_occur_at_least_k_times(name):
    standing, facts = run(name)
    sizes = np.unique(standing, return_counts=True)[1]
    assert sizes.min() >= 3
    released = CODES[standing]
    errors = frequency_errors(CODES, released)
    assert errors.appeared == 0
    assert facts["chi_square"] == pytest.approx(frequency_errors(CODES, released, 3).chi_square)
    counts = np.unique(released, axis=0, return_counts=True)[1]
    assert counts.min() >= 3
    assert json.loads(json.dumps(facts)) == facts


def test_the_exact_programs_are_not_beaten_by_what_keeps_the_number_of_records():
    best = run("chi-ex")[1]
    assert best["optimal"]
    for name in ("own-eee", "own-hhg", "safe-ex", "msafe-ex", "chi-search", "rand-e"):
        standing, facts = run(name)
        released = np.unique(CODES[standing], axis=0, return_counts=True)
        assert released[1].sum() == 60
        moved = 2 * (CODES[standing] != CODES).any(axis=1).sum() / 60
        assert facts["chi_square"] + moved >= best["objective"] - 1e-6


def test_better_letters_give_better_representatives():
    exact, greedy, clique = (run(f"own-ee{a}")[1]["chi_square"] for a in "egc")
    assert exact <= min(greedy, clique) + 1e-9


def test_a_clock_that_runs_out_still_gives_a_release():
    codes = nominal_problems(150, 1.0, seed=1)
    for name in ("chi-ex", "safe-ex", "own-hhe"):
        standing, facts = run(name, codes, time_limit=0.5)
        assert np.unique(standing, return_counts=True)[1].min() >= 3
        assert facts["chi_square"] > 0


@pytest.mark.parametrize("name", ["own-hhg", "safe", "chi-ex", "auto", "nominal"])
def test_protect_releases_nominal_tables(name):
    before = table()
    release = shoal.protect(before, k=3, quasi=before.columns[:5], confidential=["income"], method=name)
    assert release.k >= 3
    assert release.data["income"].to_list() == before["income"].to_list()
    assert release.data.columns == before.columns
    joint = {tuple(row) for row in before.select(before.columns[:5]).rows()}
    if name != "nominal":  # recoded by modes unless asked otherwise
        assert {tuple(row) for row in release.data.select(before.columns[:5]).rows()} <= joint
    tables = release.loss.tables
    assert tables.chi_square == pytest.approx(
        frequency_errors(category_codes(before[:, :5]), _same_codes(before[:, :5], release.data[:, :5])).chi_square
    )
    assert release.manifest["loss"]["tables"]["dimensions"]["1"]["tables"] == 5


def _same_codes(before, after):
    return np.column_stack(
        [
            np.searchsorted(np.unique(before[name].to_numpy().astype(str)), after[name].to_numpy().astype(str))
            for name in before.columns
        ]
    )


def test_auto_takes_the_nominal_default_and_says_so():
    release = shoal.protect(table(), k=3, quasi=table().columns[:5], options={"effort": "fast"})
    assert release.manifest["method"]["facts"]["chosen"] == "nominal"
    assert {str(column.representative) for column in release.schema.quasi} == {"tables"}


def test_table_aware_recoding_works_with_any_method_and_an_explicit_recode_wins():
    names = table().columns[:5]
    aware = shoal.protect(table(), k=3, quasi=names, method="mdav", recode="tables")
    mode = shoal.protect(table(), k=3, quasi=names, method="own-hhg", recode="mode")
    assert aware.k >= 3
    assert aware.loss.tables.appeared == 0
    assert {str(column.representative) for column in mode.schema.quasi} == {"mode"}


def test_a_number_of_records_that_safe_changed_is_told():
    for seed in range(6):
        codes = nominal_problems(60, 0.3, seed=seed)
        release = shoal.protect(table(codes), k=3, quasi=table().columns[:5], method="safe")
        found = release.manifest["method"]["facts"]["vector_records"]
        assert release.table.n_rows == 60
        assert any(f"frequencies of {found} records" in text for text in release.warnings) == (found != 60)


def test_strata_are_kept_by_methods_that_choose_records():
    frame = table().with_columns(region=pl.Series(["a", "b"] * 30))
    release = shoal.protect(frame, k=3, quasi=frame.columns[:5], within=["region"], method="own-hhg")
    assert release.k >= 3
    assert release.data["region"].to_list() == frame["region"].to_list()


def test_numeric_columns_are_refused_by_name():
    frame = table()
    with pytest.raises(DataError, match='"own-hhg" works on categories, but "income" is numeric; call it nominal'):
        shoal.protect(frame, k=3, quasi=["sex", "income"], method="own-hhg")


def test_the_command_line_knows_the_recipes(tmp_path):
    table().write_csv(tmp_path / "people.csv")
    done = CliRunner().invoke(
        app,
        ["protect", str(tmp_path / "people.csv"), "-k", "3", "--quasi", "sex,race,role,status,work", "--method", "safe",
         "--option", "tables=2", "-o", str(tmp_path / "safe.csv")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "largest cell error" in done.output
    told = json.loads((tmp_path / "safe.manifest.json").read_text())
    assert told["method"]["facts"]["control_tables"] == 15
    assert pl.read_csv(tmp_path / "safe.csv").height == 60


@pytest.mark.parametrize("name", ["own-hhg", "own-hhe", "safe", "msafe-ex", "chi-search"])
def test_odd_tables_are_handled(name, rng):
    with pytest.raises(ParameterError, match="k=3 needs at least 3 records, the table has 2"):
        run(name, np.zeros((2, 2), np.int32))
    one = np.zeros((7, 2), np.int32)  # one category only
    assert np.unique(run(name, one)[0]).size >= 1
    wide = np.column_stack([rng.integers(0, 10_000, 40), rng.integers(0, 2, 40)]).astype(np.int32)
    unique = np.column_stack([np.arange(40), rng.integers(0, 2, 40)]).astype(np.int32)
    for codes in (wide, unique):
        assert np.unique(run(name, codes, tables=2)[0], return_counts=True)[1].min() >= 3


ODD = {
    "one category": pl.DataFrame({"sex": ["f"] * 9, "job": ["x"] * 9}),
    "unique": pl.DataFrame({"sex": ["f", "m", "f"] * 3, "name": [f"p{i}" for i in range(9)]}),
}


@pytest.mark.parametrize("title", ODD)
@pytest.mark.parametrize("name", ["auto", "own-hhe", "safe", "chi-ex", "safe-ex"])
def test_protect_handles_odd_tables(name, title):
    frame = ODD[title]
    release = shoal.protect(frame, k=3, quasi=frame.columns, method=name)
    assert release.k >= 3
    assert release.table.n_rows == 9
    with pytest.raises(ParameterError, match="k=10 needs at least 10 records, the table has 9"):
        shoal.protect(frame, k=10, quasi=frame.columns, method=name)


def test_a_column_of_ten_thousand_categories_is_refused_by_name_with_a_way_out(tmp_path):
    frame = pl.DataFrame({"code": [f"c{i}" for i in range(10_000)], "sex": ["f", "m"] * 5_000})
    text = 'column "code" has 10000 categories, more than the 1000 that a nominal quasi-identifier may have; coarsen it'
    with pytest.raises(DataError, match=text):
        shoal.protect(frame, k=3, quasi=["code", "sex"], method="nominal")
    frame.write_csv(tmp_path / "people.csv")
    done = CliRunner().invoke(
        app, ["protect", str(tmp_path / "people.csv"), "-k", "3", "--quasi", "code,sex", "-o", str(tmp_path / "o.csv")]
    )
    assert done.exit_code != 0
    assert text in str(done.exception)
    assert not (tmp_path / "o.csv").exists()
