"""Measures of a large release come from a bounded sample of whole equivalence classes, and say so."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from engines.test_partitioned_run import people
from shoal.api.evaluation import evaluate
from shoal.engines import class_sample
from shoal.engines.class_sample import rows_of, sample_classes
from shoal.errors import DataError, FileProblem, ParameterError
from shoal.tables.parquet_parts import open_parts

QUASI = ["age", "income", "job"]
COLUMNS = {"quasi": QUASI, "confidential": ["diagnosis"], "unnamed": "other"}


@pytest.fixture
def release(tmp_path):
    """A release of engine disk in a folder, beside its original."""
    parquet.write_table(people(3_000), tmp_path / "people.parquet", row_group_size=700)
    return shoal.protect(
        tmp_path / "people.parquet", 4, method="mondrian", engine="disk", output=tmp_path / "safe", **COLUMNS
    )


def small_samples(monkeypatch, records=400):
    monkeypatch.setitem(sample_classes.__kwdefaults__, "records", records)


def test_classes_are_complete_and_rows_are_those_of_the_original(release, tmp_path):
    source = open_parts(tmp_path / "safe")
    sample = sample_classes(source, QUASI, records=400)
    whole = parquet.read_table(tmp_path / "safe")
    assert 400 <= sample.rows.size <= 800
    assert sample.table.equals(whole.take(sample.rows).combine_chunks())
    counts = whole.group_by(QUASI).aggregate([([], "count_all")]).to_pylist()
    totals = {tuple(row[name] for name in QUASI): row["count_all"] for row in counts}
    inside = sample.table.group_by(QUASI).aggregate([([], "count_all")]).to_pylist()
    assert all(totals[tuple(row[name] for name in QUASI)] == row["count_all"] for row in inside)
    rows = np.random.default_rng(1).choice(3_000, 400, replace=False)  # the wrong version: rows instead of classes
    broken = whole.take(pa.array(rows)).group_by(QUASI).aggregate([([], "count_all")]).to_pylist()
    assert any(totals[tuple(row[name] for name in QUASI)] != row["count_all"] for row in broken)
    before = rows_of(open_parts(tmp_path / "people.parquet"), sample.rows, ["age", "person"])
    assert before.native.equals(people(3_000).select(["age", "person"]).take(sample.rows).combine_chunks())


@pytest.mark.parametrize("share", [0.6, 0.98])
def test_a_class_of_very_many_rows_leaves_the_sample_bounded(share, tmp_path):
    ages = np.where(np.random.default_rng(0).random(30_000) < share, 0, np.arange(30_000) // 3)
    parquet.write_table(pa.table({"age": ages}), tmp_path / "a.parquet", row_group_size=1_000)
    sample = sample_classes(open_parts(tmp_path / "a.parquet"), ["age"], records=300)
    assert 300 <= sample.rows.size <= 600
    parquet.write_table(pa.table({"age": np.zeros(3_000)}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="more than 600 records each"):
        sample_classes(open_parts(tmp_path / "b.parquet"), ["age"], records=300)


def test_evaluate_states_its_sample(release, tmp_path, monkeypatch):
    paths = tmp_path / "people.parquet", tmp_path / "safe"
    whole, _ = evaluate(*paths, **COLUMNS)
    assert not any("sample of" in note for note in whole.notes)
    small_samples(monkeypatch)
    monkeypatch.setattr("shoal.core.memory.free_memory", lambda: 1_000)
    risk, utility = evaluate(*paths, population=30_000, **COLUMNS)
    found = re.search(r"sample of (\d+) of 3,000 records", risk.notes[0])
    assert int(found[1]) == risk.classes.records < 900
    assert utility.notes[0] == risk.notes[0]
    assert risk.classes.prosecutor.highest <= whole.classes.prosecutor.highest
    assert risk.classes.population.population == pytest.approx(10 * risk.classes.records, rel=0.01)


def test_a_report_states_its_sample_and_the_counts_of_all_records(release, tmp_path, monkeypatch):
    small_samples(monkeypatch)
    path = release.report(tmp_path / "report.html")
    text = path.read_text()
    found = re.search(r"were measured on (\d+) of 3,000 records", text)
    assert 400 <= int(found[1]) <= 800
    assert "3,000 records with 3 quasi-identifiers" in text
    assert f"{100 * release.loss.information_loss:.1f}" in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert 'id="attacks"' in text
    public = release.report(tmp_path / "public.html", public=True).read_text()
    assert "of 3,000 records" in public
    assert 'id="attacks"' not in public
    with pytest.raises(FileProblem, match="exists"):
        release.report(path)
    german = release.report(tmp_path / "bericht.html", language="de").read_text()
    assert "von 3.000 Datensätzen gemessen" in german
    monkeypatch.setitem(sample_classes.__kwdefaults__, "records", class_sample.SAMPLE_RECORDS)
    assert "were measured on" not in release.report(path, overwrite=True).read_text()  # the whole release


def test_a_report_of_persons_measures_the_release_alone(tmp_path, monkeypatch):
    small_samples(monkeypatch)
    parquet.write_table(people(3_000), tmp_path / "people.parquet")
    release = shoal.protect(
        tmp_path / "people.parquet", 4, unit="person", method="mondrian", engine="disk", output=tmp_path / "safe",
        **COLUMNS,
    )  # fmt: skip
    text = release.report(tmp_path / "report.html").read_text()
    assert "The original table was not available" in text
    assert "3,000 of 3,000 (100.0 %)" in text


def test_the_command_line_writes_both_reports(tmp_path):
    parquet.write_table(people(300), tmp_path / "people.parquet")
    command = [
        sys.executable, "-m", "shoal", "protect", str(tmp_path / "people.parquet"), "-k", "4", "--quasi",
        "age,income,job", "--unnamed", "other", "--method", "mondrian", "--engine", "disk", "-o",
        str(tmp_path / "safe"), "--report", str(tmp_path / "report.html"), "--public-report",
        str(tmp_path / "public.html"),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "report.html" in done.stdout
    assert all(Path(tmp_path, name).read_text().startswith("<!") for name in ("report.html", "public.html"))
    assert subprocess.run(command, check=False, capture_output=True).returncode == 2
    same = [*command[:-1], str(tmp_path / "report.html")]
    refused = subprocess.run([*same, "--force"], check=False, capture_output=True, text=True)
    assert (refused.returncode, "different names" in refused.stderr) == (2, True)


def test_the_report_of_a_dataframe_of_spark_reads_no_original_and_no_copy(tmp_path):
    from shoal.api.partitioned import SparkRelease

    with pytest.raises(ParameterError, match="measures the release alone"):
        SparkRelease(None, None).report(tmp_path / "report.html", original="people.parquet")
    with pytest.raises(ParameterError, match="lacks the DataFrame"):
        SparkRelease(None, None).report(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
