"""The variants of Cost 2023 and the methods on frequency vectors: by name, through protect and the command line."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.core.frequency_errors import frequency_errors
from shoal.core.row_classes import within_group_distance
from shoal.datasets import category_codes, nominal_problems
from shoal.errors import DataError, ParameterError
from shoal.methods.registry import all_methods, get_method
from shoal.methods.running import run as run_method

OWN = [f"own-{f}{i}{a}" for f in "eh" for i in "eh" for a in "egc"]
RAND = ["rand-e", "rand-g", "rand-c"]
VECTORS = {
    "safe-ex": "largest error",
    "msafe-ex": "largest error and distance",
    "chi-ex": "chi-square",
    "chi-search": "chi-square",
}
NAMES = [*OWN, *RAND, "safe", *VECTORS]
CODES = nominal_problems(60, 0.3, seed=5)


def table(codes=CODES):
    names = ["sex", "race", "role", "status", "work"]
    frame = pl.DataFrame(
        {name: [f"{name}{value}" for value in column] for name, column in zip(names, codes.T, strict=True)}
    )
    return frame.with_columns(income=pl.Series(np.arange(len(codes)) * 10))


def run(name, codes=CODES, time_limit=20.0, **options):
    limit = time_limit if "time_limit" in get_method(name).injected else None
    return run_method(name, codes, 3, time_limit=limit, **options)


def released(outcome, codes=CODES):
    return codes[outcome.representatives[outcome.labels]]


def test_every_variant_of_cost_2023_is_registered():
    assert not set(NAMES) - set(all_methods())
    assert all(get_method(name).represents and get_method(name).data == "codes" for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_only_combinations_that_occur_are_released_at_least_k_times_each(name):
    outcome = run(name)
    assert np.bincount(outcome.labels).min() >= 3
    after = released(outcome)
    assert frequency_errors(CODES, after).appeared == 0
    assert np.unique(after, axis=0, return_counts=True)[1].min() >= 3
    diagnostics = dict(outcome.diagnostics)
    assert diagnostics["chi_square"] == pytest.approx(frequency_errors(CODES, after, 3).chi_square)
    assert json.loads(json.dumps(diagnostics)) == diagnostics


@pytest.mark.parametrize("name", NAMES)
def test_a_representative_belongs_to_its_group(name):
    outcome = run(name)
    np.testing.assert_array_equal(outcome.labels[outcome.representatives], np.arange(outcome.representatives.size))


@pytest.mark.parametrize("name", OWN)
def test_own_variants_report_the_distance_of_the_partition_and_the_error_of_its_tables(name):
    outcome = run(name)
    assert outcome.objective.name == "within-group distance"
    assert outcome.objective.value == within_group_distance(CODES, outcome.labels)
    assert 0 < outcome.objective.bound <= outcome.objective.value
    if name.endswith("e"):
        assert outcome.diagnostics["representatives_optimal"]
        assert outcome.diagnostics["chi_square_bound"] == pytest.approx(outcome.diagnostics["chi_square"])
    else:
        assert "chi_square_bound" not in outcome.diagnostics


@pytest.mark.parametrize("name", VECTORS)
def test_methods_on_frequency_vectors_report_their_own_objective(name):
    objective = run(name).objective
    assert objective.name == VECTORS[name]
    assert objective.optimal == (name != "chi-search")


def test_an_error_of_zero_is_optimal_and_nothing_else_is_proven_by_search():
    anonymous = np.repeat(np.array([[0, 0], [0, 1], [1, 1]], np.int32), [3, 4, 5], axis=0)
    assert run("chi-search", anonymous).objective == shoal.Objective("chi-square", 0.0, 0.0)
    objective = run("chi-search").objective
    assert objective.value > 0
    assert objective.bound is None


def test_exact_programs_are_not_beaten_by_methods_that_keep_the_number_of_records():
    best = run("chi-ex").objective
    assert best.optimal
    for name in ("own-eee", "own-hhg", "safe-ex", "msafe-ex", "chi-search", "rand-e"):
        outcome = run(name)
        after = released(outcome)
        assert np.unique(after, axis=0, return_counts=True)[1].sum() == 60
        moved = 2 * (after != CODES).any(axis=1).sum() / 60
        assert outcome.diagnostics["chi_square"] + moved >= best.value - 1e-6


def test_exact_representatives_are_at_least_as_good_as_heuristic_ones():
    exact, greedy, clique = (run(f"own-ee{a}").diagnostics["chi_square"] for a in "egc")
    assert exact <= min(greedy, clique) + 1e-9


def test_an_expired_time_limit_still_gives_a_release():
    codes = nominal_problems(150, 1.0, seed=1)
    for name in ("chi-ex", "safe-ex", "own-hhe"):
        outcome = run(name, codes, time_limit=0.5)
        assert np.bincount(outcome.labels).min() >= 3
        assert outcome.diagnostics["chi_square"] > 0
        assert outcome.stopped == "time limit" or outcome.objective.optimal or name == "own-hhe"


def test_control_tables_can_be_written_as_a_text():
    as_text = run("own-hhg", tables="0,1,0+1")
    assert as_text.diagnostics["control_tables"] == 3
    option = get_method("safe").options["tables"]
    assert [option.parse(text) for text in ("2", "0,1,0+1", "none")] == [2, "0,1,0+1", None]
    with pytest.raises(ParameterError, match="dimension of at least 1"):
        run("safe", tables=0)


def test_unknown_choices_raise_with_a_suggestion():
    with pytest.raises(
        ParameterError, match='keep="lst" is not possible; choose one of best, last; did you mean "last"'
    ):
        run("safe", keep="lst")
    with pytest.raises(ParameterError, match="option weight=-1 is not possible; choose a number at least 0 or none"):
        run("chi-ex", weight=-1)


@pytest.mark.parametrize("name", ["own-hhg", "safe", "chi-ex", "auto", "nominal"])
def test_protect_releases_nominal_tables(name):
    before = table()
    recode = {"recode": "frequencies"} if name == "auto" else {}
    release = shoal.protect(before, k=3, quasi=before.columns[:5], confidential=["income"], method=name, **recode)
    assert release.k >= 3
    assert release.data["income"].to_list() == before["income"].to_list()
    assert release.data.columns == before.columns
    joint = {tuple(row) for row in before.select(before.columns[:5]).rows()}
    assert {tuple(row) for row in release.data.select(before.columns[:5]).rows()} <= joint
    tables = release.loss.frequency_tables
    assert tables.chi_square == pytest.approx(
        frequency_errors(category_codes(before[:, :5]), _same_codes(before[:, :5], release.data[:, :5])).chi_square
    )
    assert release.manifest["loss"]["frequency_tables"]["dimensions"]["1"]["tables"] == 5


def _same_codes(before, after):
    return np.column_stack(
        [
            np.searchsorted(np.unique(before[name].to_numpy().astype(str)), after[name].to_numpy().astype(str))
            for name in before.columns
        ]
    )


@pytest.mark.parametrize(("recode", "selected"), [("frequencies", "nominal"), ("mode", "mixed-annealing")])
def test_auto_selects_a_method_for_what_is_released_and_reports_it(recode, selected):
    stated = {} if recode == "mode" else {"recode": recode}
    release = shoal.protect(
        table(), k=3, quasi=table().columns[:5], options={"effort": "fast"}, unnamed="other", **stated
    )
    assert [entry["name"] for entry in release.manifest["method"]["resolved"]] == [selected]
    assert {entry["recode"] for entry in release.manifest["schema"]["columns"] if "recode" in entry} == {recode}


def test_table_aware_recoding_works_with_any_method_and_an_explicit_recode_wins():
    names = table().columns[:5]
    aware = shoal.protect(table(), k=3, quasi=names, method="mdav", recode="frequencies", unnamed="other")
    mode = shoal.protect(table(), k=3, quasi=names, method="own-hhg", recode="mode", unnamed="other")
    assert aware.k >= 3
    assert aware.loss.frequency_tables.appeared == 0
    assert {entry["recode"] for entry in mode.manifest["schema"]["columns"] if "recode" in entry} == {"mode"}


def test_a_warning_reports_that_safe_changed_the_number_of_records():
    for seed in range(6):
        codes = nominal_problems(60, 0.3, seed=seed)
        release = shoal.protect(table(codes), k=3, quasi=table().columns[:5], method="safe", unnamed="other")
        found = release.manifest["method"]["diagnostics"]["vector_records"]
        assert release.table.n_rows == 60
        assert any(f"frequencies of {found} records" in remark.text for remark in release.remarks) == (found != 60)


def test_methods_that_select_representatives_respect_strata():
    frame = table().with_columns(region=pl.Series(["a", "b"] * 30))
    release = shoal.protect(frame, k=3, quasi=frame.columns[:5], strata=["region"], method="own-hhg", unnamed="other")
    assert release.k >= 3
    assert release.data["region"].to_list() == frame["region"].to_list()


def test_numeric_columns_raise_an_error_that_names_them():
    frame = table()
    with pytest.raises(DataError, match='"own-hhg" works on categories, but "income" is numeric; call it nominal'):
        shoal.protect(frame, k=3, quasi=["sex", "income"], method="own-hhg", unnamed="other")


def test_the_command_line_runs_safe(tmp_path):
    table().write_csv(tmp_path / "people.csv")
    done = CliRunner().invoke(
        app,
        ["protect", str(tmp_path / "people.csv"), "-k", "3", "--quasi", "sex,race,role,status,work", "--method", "safe",
         "--option", "tables=2", "--unnamed", "other", "-o", str(tmp_path / "safe.csv")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "largest cell error" in done.output
    manifest = json.loads((tmp_path / "safe.manifest.json").read_text())
    assert manifest["method"]["diagnostics"]["control_tables"] == 20  # 15, with the one digit that 60 records allow
    assert pl.read_csv(tmp_path / "safe.csv").height == 60


@pytest.mark.parametrize("name", ["own-hhg", "own-hhe", "safe", "msafe-ex", "chi-search"])
def test_unusual_tables_are_grouped(name, rng):
    with pytest.raises(ParameterError, match="k=3 needs at least 3 records, the table has 2"):
        run(name, np.zeros((2, 2), np.int32))
    assert run(name, np.zeros((7, 2), np.int32)).representatives.size >= 1  # one category only
    wide = np.column_stack([rng.integers(0, 10_000, 40), rng.integers(0, 2, 40)]).astype(np.int32)
    unique = np.column_stack([np.arange(40), rng.integers(0, 2, 40)]).astype(np.int32)
    for codes in (wide, unique):
        assert np.bincount(run(name, codes, tables=2).labels).min() >= 3


UNUSUAL = {
    "one category": pl.DataFrame({"sex": ["f"] * 9, "job": ["x"] * 9}),
    "unique": pl.DataFrame({"sex": ["f", "m", "f"] * 3, "name": [f"p{i}" for i in range(9)]}),
}


@pytest.mark.parametrize("title", UNUSUAL)
@pytest.mark.parametrize("name", ["auto", "own-hhe", "safe", "chi-ex", "safe-ex"])
def test_protect_releases_unusual_tables(name, title):
    frame = UNUSUAL[title]
    release = shoal.protect(frame, k=3, quasi=frame.columns, method=name)
    assert release.k >= 3
    assert release.table.n_rows == 9
    with pytest.raises(ParameterError, match="k=10 needs at least 10 records, the table has 9"):
        shoal.protect(frame, k=10, quasi=frame.columns, method=name)


def test_a_column_of_ten_thousand_categories_raises_an_error_with_a_way_out(tmp_path):
    frame = pl.DataFrame({"code": [f"c{i}" for i in range(10_000)], "sex": ["f", "m"] * 5_000})
    text = 'column "code" has 10000 categories, more than the 1000 that a nominal quasi-identifier may have'
    with pytest.raises(DataError, match=text):
        shoal.protect(frame, k=3, quasi=["code", "sex"], method="mdav")
    frame.write_csv(tmp_path / "people.csv")
    words = ["protect", str(tmp_path / "people.csv"), "-k", "3", "--quasi", "code,sex", "--method", "mdav"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "o.csv")])
    assert done.exit_code != 0
    assert text in str(done.exception)
    assert not (tmp_path / "o.csv").exists()
