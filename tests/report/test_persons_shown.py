"""Report, comparison and evaluation name what k counts, and state figures of persons beside those of records."""

import re

import numpy as np
import polars as pl
import pytest
from tests.flow.test_units import QUASI, protect, stays

import shoal
from shoal.api.evaluation import evaluate
from shoal.report.page import render_report
from shoal.tables import Table

SPACE = "\N{NO-BREAK SPACE}"


def text_of(page):
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def shown(release, table):
    return text_of(render_report(release.released, release.released.paired(Table.from_native(table))))


@pytest.fixture(scope="module")
def table():
    frame = stays(persons=80, seed=3).drop("row")
    return frame.with_columns(home=pl.col("patient").str.slice(1).cast(int) // 2)


def test_the_report_states_persons_and_rows(table):
    release = protect(table, confidential=["diagnosis"], household="home", l=2, max_share=0.5)
    text = shown(release, table)
    assert f"{table.height} records of 80 persons in 40 households" in text
    assert "Requested: k = 5 persons; achieved: k = 5 persons" in text
    assert "At least 5 different persons have" in text
    assert f"the smallest equivalence class has {release.classes.k_rows} records" in text
    assert "l-diversity: different values in each equivalence class; counted by persons" in text
    assert "largest share of one person in the rows of an equivalence class; counted by persons" in text
    for name in ("Person risk", "Share of a class", "Linked person risk", "Household risk"):
        assert f"{name}, highest" in text
    assert text.count("cannot be linked") + text.count("cannot link") >= 4
    assert "counted by records" in text
    assert f"{100 * release.risk.persons.share.highest:.1f}{SPACE}%".replace(SPACE, " ") in text.replace(SPACE, " ")


def test_the_public_report_names_what_k_counts_and_no_figures_of_persons(table):
    release = protect(table, confidential=["diagnosis"])
    text = text_of(render_report(release.released, None, public=True))
    assert "k = 5 persons" in text
    assert "Person risk" not in text


def test_households_without_a_unit_are_rows_of_persons(table):
    release = shoal.protect(
        table.drop("patient"), 4, quasi=QUASI, household="home", of="households", unnamed="other", method="mdav"
    )
    text = shown(release, table.drop("patient"))
    assert "k = 4 households" in text
    assert "Each row is a person" in text
    assert "Household risk, highest" in text
    assert "Linked person risk" not in text


def test_tables_without_a_unit_say_records(table):
    release = shoal.protect(table, 4, quasi=QUASI, of="rows", unnamed="other", method="mdav")
    text = shown(release, table)
    assert "Requested: k = 4 records" in text
    assert "person risk" not in text.lower()
    assert release.risk.persons is None


def test_a_person_with_most_rows_of_a_class_is_a_finding():
    frame = stays(persons=12, most=2).drop("row")
    row = frame[:1]
    frame = pl.concat([frame, *[row.with_columns(diagnosis=pl.lit(letter)) for letter in "abcde" * 2]])
    release = protect(frame, k=2, accept_relinking=True)
    assert release.risk.persons.share.highest > 0.5
    assert "draws a row of this class finds this person" in shown(release, frame)
    limited = protect(frame, k=2, max_share=0.5, accept_relinking=True, accept_loss=True)
    assert "draws a row of this class finds this person" not in shown(limited, frame)


def test_comparisons_name_what_k_counts(table):
    found = shoal.compare(table, [4], methods=["mdav"], quasi=QUASI, unit="patient", unnamed="other")
    (line,) = found.combinations
    release = protect(table, k=4)
    assert (line.k_of, line.k_achieved, line.k_rows) == ("units", release.k, release.classes.k_rows)
    assert line.highest_risk == pytest.approx(release.risk.persons.risk.highest)
    assert line.highest_share == pytest.approx(release.risk.persons.share.highest)
    assert f"{release.k} persons ({release.classes.k_rows} records)" in str(found)
    assert f"{table.height} records of 80 persons: k counts persons; highest and average risk are those of" in str(
        found
    )
    assert "k counts persons" in text_of(found.html())
    assert found.to_dict()["persons"] == 80
    rows = shoal.compare(table, [4], methods=["mdav"], quasi=QUASI, unnamed="other")
    assert rows.note == ""
    assert "persons" not in str(rows)
    homes = shoal.compare(table, [4], methods=["mdav"], quasi=QUASI, household="home", of="households", unnamed="other")
    assert "k counts households; highest and average risk are those of records" in homes.note


def test_evaluate_states_persons_of_a_written_release(table, tmp_path):
    release = protect(table, household="home")
    paths = release.write(tmp_path / "safe.csv")
    record = next(path for path in paths if "holder" in path.name)
    table.write_csv(tmp_path / "stays.csv")
    given = {"quasi": QUASI, "unit": "patient", "household": "home", "unnamed": "other"}
    risk, _ = evaluate(tmp_path / "stays.csv", tmp_path / "safe.csv", **given, record=record)
    assert risk.persons == release.risk.persons
    assert "person risk, highest" in str(risk)
    assert risk.to_dict()["persons"]["households"] == 40


def test_kept_links_are_measured_with_all_rows_of_a_person(tmp_path):
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 4, 60)
    patient = np.repeat(np.arange(60), sizes)
    table = pl.DataFrame(
        {"patient": patient, "age": rng.integers(20, 90, 60)[patient], "dose": rng.normal(size=patient.size)}
    )
    release = shoal.protect(table, 4, quasi=["age", "dose"], unit="patient", keep_links=True)
    found = release.released.recount.persons
    assert found.linked.highest <= 1 / 4
    kept = release.data["patient"].n_unique()
    assert found.persons == kept <= 60
    release.report(tmp_path / "report.html")
    shown = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    assert "from all rows of the person together" in shown
    loose = shoal.protect(table, 4, quasi=["age", "dose"], unit="patient", keep_links=True, of="units")
    assert loose.released.recount.persons.linked.highest > 1 / 4, "k persons per class do not protect linked rows"
