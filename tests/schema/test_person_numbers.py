"""Columns that look like the number of a person and repeat are reported, and few others."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.schema import person_numbers
from shoal.schema.column_words import named_as_person
from shoal.schema.inference import infer_schema
from shoal.schema.person_numbers import repeated_numbers
from shoal.tables import Table

NUMBERS = [
    "id", "nr", "no", "key", "pid", "hhid", "patient", "person_nr", "PatientID", "patientid", "subject_no",
    "member-key", "client id", "household", "household_id", "case.id", "id_patient", "study_id", "ori_hid", "Subj",
    "USUBJID", "childid", "userId",
]  # fmt: skip
OTHERS = [
    "age", "patient_age", "person_income", "household_size", "ward_id", "hospital_nr", "zip_code", "no_of_children",
    "visit_no", "house_no", "idea", "keyboard", "notes", "members", "phone_number", "name", "", "NO2", "SCH_ID",
    "job_ad_id", "movieId", "license_number",
]  # fmt: skip


def stays(n=200, seed=0, *, name="patient_id"):
    """Patients with several rows that lie together: sex and region constant, days and weight not."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), rng.integers(1, 6, n))
    return pl.DataFrame(
        {
            name: person * 7 + 1000,
            "sex": rng.choice(["f", "m"], n)[person],
            "region": rng.choice(["n", "e", "s"], n)[person],
            "age": rng.integers(20, 90, n)[person],
            "days": rng.poisson(6, person.size),
            "kilos": np.round(rng.normal(75, 12, person.size)).astype(np.int64),
        }
    )


def found(frame, *, unclear=True):
    return [one.column for one in repeated_numbers(Table.from_native(frame), frame.columns, frame.columns * unclear)]


def check_detector():
    """Raise where the detector reports what is no number of a person, or misses one."""
    assert found(stays()) == ["patient_id"]
    assert found(stays().drop("patient_id")) == []


def test_names_of_persons():
    assert [name for name in NUMBERS if not named_as_person(name)] == []
    assert [name for name in OTHERS if named_as_person(name)] == []


@pytest.mark.parametrize("kind", [pl.Int32, pl.Float64, pl.String, pl.Categorical])
def test_a_repeated_number_of_every_type_is_found(kind):
    frame = stays()
    text = frame["patient_id"].cast(pl.String) if kind == pl.Categorical else frame["patient_id"]
    assert found(frame.with_columns(text.cast(kind))) == ["patient_id"]


def test_the_values_that_repeat_are_counted():
    frame = stays().with_columns(pl.when(pl.int_range(pl.len()) > 3).then("patient_id").alias("patient_id"))
    (one,) = repeated_numbers(Table.from_native(frame), ["patient_id"])
    counts = frame["patient_id"].drop_nulls().value_counts()["count"].to_list()
    assert one.repeated == sum(count > 1 for count in counts)


def test_numbers_without_repeats_and_with_few_values_are_no_question():
    n = 400
    frame = pl.DataFrame({"id": range(n), "nr": [i % 9 for i in range(n)], "key": [i % 20 for i in range(n)]})
    assert found(frame) == []
    assert found(frame.with_columns(id=pl.lit(None, pl.Int64), nr=pl.lit("x"), key=pl.lit(0.5))) == []
    assert found(frame.head(0)) == []


def test_a_name_that_is_also_a_word_needs_a_constant_column():
    rng = np.random.default_rng(0)
    air = pl.DataFrame(
        {"NO": rng.integers(20, 90, 300), "O3": rng.integers(0, 9, 300), "month": rng.integers(1, 13, 300)}
    )
    assert found(air) == []
    assert found(stays(name="no")) == ["no"]
    assert found(stays(name="no").sample(fraction=1, shuffle=True, seed=1)) == ["no"]


def test_persons_with_many_rows_are_found_where_the_name_says_so():
    """From 21 to 50 rows a person by the name alone, with more rows where they lie together."""
    for persons, shuffled, expected in ((30, True, ["subject"]), (20, False, ["subject"]), (12, True, [])):
        frame = pl.DataFrame({"subject": np.repeat(np.arange(persons), 1_000 // persons)})
        frame = frame.with_columns(reaction=pl.Series(np.random.default_rng(1).normal(size=frame.height)))
        assert found(frame.sample(fraction=1, shuffle=True, seed=2) if shuffled else frame) == expected


def test_places_firms_and_times_are_no_persons():
    for name in ("county", "townid", "SchoolNR", "zipcode", "company", "response_datetime", "cluster"):
        assert found(stays(name=name)) == []


def test_a_name_that_says_nothing_is_judged_by_its_pattern():
    assert found(stays(name="zper")) == ["zper"]
    assert found(stays(name="zper"), unclear=False) == []
    assert found(stays(name="zper").sample(fraction=1, shuffle=True, seed=1)) == []
    ordered = stays().drop("patient_id").sort("age", "kilos")
    assert found(ordered) == []
    quarters = pl.DataFrame({"yyyy": [1900 + i // 4 for i in range(200)], "q": [i % 4 for i in range(200)]})
    assert found(quarters.with_columns(decade=pl.col("yyyy") // 10, century=pl.col("yyyy") // 100)) == []


@pytest.mark.parametrize("wrong", ["every repeated column", "no column"])
def test_a_wrong_detector_is_caught(monkeypatch, wrong):
    check_detector()
    monkeypatch.setattr(person_numbers, "named_as_person", lambda _: wrong == "every repeated column")
    if wrong == "no column":
        monkeypatch.setattr(person_numbers, "_repeated_together", lambda *_: 0)
    with pytest.raises(AssertionError):
        check_detector()


def test_the_schema_asks(tmp_path):
    frame = stays()
    reasons = {column.name: column.reason for column in infer_schema(Table.from_native(frame)).columns}
    assert [name for name, reason in reasons.items() if "is one row one person?" in reason] == ["patient_id"]
    frame.write_csv(tmp_path / "stays.csv")
    printed = CliRunner().invoke(app, ["schema", str(tmp_path / "stays.csv")])
    assert printed.exit_code == 0
    assert "is one row one person?" in printed.output


def test_protect_asks_until_it_is_answered(tmp_path):
    frame = stays()
    roles = {"quasi": ["age", "days"], "unnamed": "other", "method": "mdav", "identifiers": ["patient_id"]}
    (asked,) = [one for one in shoal.protect(frame, 3, **roles).remarks if one.code == "several-rows"]
    assert asked.column == "patient_id"
    assert "--unit patient_id" in asked.text
    assert "--of rows" in asked.text
    answered = shoal.protect(frame, 3, of="rows", **roles)
    assert "several-rows" not in {one.code for one in answered.remarks}
    del roles["identifiers"]
    answered = shoal.protect(frame, 3, unit="patient_id", accept_relinking=True, **roles)
    assert "several-rows" not in {one.code for one in answered.remarks}
    frame.write_csv(tmp_path / "stays.csv")
    words = ["-k", "3", "--quasi", "age,days", "--identifiers", "patient_id", "--unnamed", "other", "--method", "mdav"]
    files = ["-o", str(tmp_path / "safe.csv"), "--report", str(tmp_path / "report.html")]
    run = CliRunner().invoke(app, ["protect", str(tmp_path / "stays.csv"), *words, *files])
    assert run.exit_code == 0, run.output
    assert "is one row one person?" in " ".join(run.output.split())
    assert "is one row one person?" in (tmp_path / "report.html").read_text(encoding="utf-8")
    remarks = json.loads((tmp_path / "safe.manifest.json").read_text(encoding="utf-8"))["remarks"]
    assert asked.text in [one["text"] for one in remarks]
    assert not any(str(value) in asked.text for value in frame["patient_id"].to_list())


def test_a_household_that_is_named_is_no_question():
    frame = stays(name="household_id").with_columns(person_id=pl.int_range(pl.len()))
    roles = {"quasi": ["age", "days"], "identifiers": ["person_id"], "unnamed": "other", "method": "mdav"}
    release = shoal.protect(frame, 3, household="household_id", **roles)
    assert "several-rows" not in {one.code for one in release.remarks}
