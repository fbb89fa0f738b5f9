"""The report with a population and a control table: the figures of evaluate, never in public, kept in run files."""

import json
import re

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.errors import ParameterError, ShoalError
from shoal.evaluate.risk import risk
from shoal.report.evidence import measure_evidence
from shoal.report.outside_data import outside_data

PEOPLE = shoal.datasets.patients(400)
TABLE, CONTROL = PEOPLE[:200], PEOPLE[200:]
QUASI = ["age", "sex", "income", "region"]
ROLES = {"quasi": QUASI, "confidential": ["diagnosis"], "unnamed": "other", "method": "mdav"}


@pytest.fixture(scope="module")
def release():
    return shoal.protect(TABLE, 4, **ROLES)


def measured(release, **given):
    stated = {"population": None, "sampling_fraction": None, "control": None} | given
    outside = outside_data(**stated, records=release.table.n_rows, schema=release.schema, options={})
    return measure_evidence(release.released, release.released.paired(release._original), outside=outside)


@pytest.mark.parametrize("given", [{"population": PEOPLE}, {"population": 5_000}, {"sampling_fraction": 0.04}])
def test_the_risk_against_the_population_is_that_of_evaluate(release, given):
    found = measured(release, **given)
    expected = risk(TABLE, release.data, quasi=QUASI, **given).classes.population
    present = found.after.population
    assert (present.source, present.k_map, present.presence) == (expected.source, expected.k_map, expected.presence)
    assert present.rows() == expected.rows()
    assert found.before.population.average > expected.average


def test_attacks_beside_a_control_table_are_those_of_evaluate(release):
    found = measured(release, control=CONTROL).attacks.controlled
    expected = risk(
        TABLE,
        release.data,
        quasi=release.schema.protected,
        confidential=["diagnosis"],
        control=CONTROL,
        schema=release.schema,
    )
    names = ["singling-out", "singling-out", "linkability", "membership", "attribute-disclosure"]
    assert [attack.name for attack in found] == names
    for attack in found:
        assert attack == expected.attack(attack.name, attack.target)


def test_the_page_states_them_with_a_sentence_and_without_them_says_so(release, tmp_path):
    texts = {}
    for name, given in {"with": {"population": PEOPLE, "control": CONTROL}, "without": {}}.items():
        page = release.report(tmp_path / f"{name}.html", **given).read_text(encoding="utf-8")
        texts[name] = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    risks, figures = measured(release, population=PEOPLE, control=CONTROL).after.population, texts["with"]
    assert risks.sentence() in figures
    assert "Journalist risk, highest" in figures
    assert "k-map, counted in the population table" in figures
    assert "Someone in the table is nearer to the release than someone who is not" in figures
    assert figures.count("A predicate on 3 columns") == 2  # attacks, and the page for the expert
    assert "no control" not in figures
    assert "ournalist" not in texts["without"]
    assert "not measured, nothing is known of the population" in texts["without"]
    assert "singling out, linkability, membership not measured, no control" in texts["without"]


def test_a_public_report_and_a_release_without_a_report_use_neither(release, tmp_path):
    for given in ({"population": 500}, {"sampling_fraction": 0.5}, {"control": CONTROL}):
        with pytest.raises(ParameterError, match="for the report for the data holder"):
            release.report(tmp_path / "public.html", public=True, **given)
        with pytest.raises(ParameterError, match="for the report for the data holder"):
            release.write(tmp_path / "safe.csv", public_report=tmp_path / "public.html", **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"control": CONTROL.drop("age")}, 'control table has no column "age"'),
        ({"population": PEOPLE.drop("sex")}, 'population table has no column "sex"'),
        ({"population": 10}, "at least as many as the 200 records"),
        ({"population": PEOPLE, "sampling_fraction": 0.5}, "give one of them"),
        ({"sampling_fraction": 2.0}, "at most 1"),
    ],
)
def test_wrong_tables_and_numbers_are_refused(release, tmp_path, given, message):
    with pytest.raises(ShoalError, match=message):
        release.report(tmp_path / "report.html", **given)
    assert not list(tmp_path.iterdir())


def test_mappings_before_grouping_are_applied_to_a_control_table():
    """The wrong version compares values with what they were mapped to: nobody of the control is like a person."""
    mapping = {value: f"area {value}" for value in PEOPLE["region"].unique()}
    release = shoal.protect(TABLE, 4, before={"region": f"map {json.dumps(mapping)}"}, **ROLES)
    attacks = {attack.name: attack for attack in measured(release, control=CONTROL).attacks.controlled}
    assert attacks["membership"].success.value < 0.7
    found, _ = shoal.evaluate_release(TABLE, release.data, schema=release.schema, control=CONTROL, population=PEOPLE)
    assert found.attack("membership").success.value == pytest.approx(attacks["membership"].success.value)
    assert found.classes.population.source == "population table"
    before, names = release.released.paired(release._original).native, release.schema.protected
    wrong = risk(before, release.data, quasi=names, control=CONTROL, schema=release.schema)
    assert wrong.attack("membership").success.value > 0.9


def test_a_run_file_repeats_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.write_csv("people.csv")
    CONTROL.write_csv("control.csv")
    words = ["protect", "people.csv", "-k", "4", "--quasi", ",".join(QUASI), "--confidential", "diagnosis", "--unnamed",
             "other", "--method", "mdav", "-o", "safe.csv"]  # fmt: skip
    given = ["--population", "5000", "--control", "control.csv"]
    alone = CliRunner().invoke(app, [*words, *given])
    assert alone.exit_code != 0
    assert not list(tmp_path.glob("safe*"))
    done = CliRunner().invoke(app, [*words, *given, "--report", "report.html", "--save", "run.toml"])
    assert done.exit_code == 0, done.output
    first = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "A predicate on 3 columns" in first
    assert "by a model of a population of 5,000 individuals" in first
    run = shoal.load_run("run.toml")
    assert (run.input.individuals, run.input.control.name, run.input.population) == (5000, "control.csv", None)
    again = CliRunner().invoke(app, ["run", "run.toml", "--force"])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == first
    taken = CliRunner().invoke(app, [*words[:-1], "control.csv", *given, "--report", "report.html", "--force"])
    assert taken.exit_code != 0
    assert CONTROL.equals(shoal.load_table("control.csv", unnamed="other")[0].native) or "name" in CONTROL.columns


def test_a_run_file_needs_files(tmp_path):
    TABLE.write_csv(tmp_path / "people.csv")
    release = shoal.protect(tmp_path / "people.csv", 4, **ROLES)
    with pytest.raises(ParameterError, match="give control as a file"):
        release.write(
            tmp_path / "safe.csv", report=tmp_path / "report.html", run_file=tmp_path / "run.toml", control=CONTROL
        )
    assert not (tmp_path / "safe.csv").exists()
