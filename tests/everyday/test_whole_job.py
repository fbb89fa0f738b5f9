"""The whole job on public tables of different origin, by the command line.

For each: draft a schema, correct it as a steward would, protect with a report, verify, evaluate, and read the released
file by another library. Tables are fetched from packages (benchmarks/everyday_tables.py); none is committed. Where the
registries cannot be reached, a table is skipped with the reason. Run with ``make test-everyday``.
"""

import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
pytestmark = pytest.mark.everyday
K = 5


@dataclass(frozen=True)
class Job:
    """What a steward decides after reading the proposed schema: the quasi-identifiers, and options of protect."""

    quasi: str
    options: str = ""
    output: str = ""
    reading: str = ""
    dropped: str = ""
    shuffled: bool = False


JOBS = {
    "covid.csv": Job(
        "gender pan_day clinic_name demo_group age payor_group patient_class", "--missing impute",
        dropped="subject_id fake_first_name fake_last_name", shuffled=True,
    ),
    "employees.sav": Job("GENDER BDATE EDUC JOBCAT PREVEXP MINORITY", "--missing fill", dropped="ID"),
    "survey.sav": Job(
        "sex age educ race cregion", "--missing impute --accept-derived", dropped="respid"  # census repeats cregion
    ),
    "wages.dta": Job("age s expr rns smsa"),
    "iris.sas7bdat": Job("Sepal_Length Sepal_Width Species", output="safe.sav"),
    "eusilc.parquet": Job("age rb090 db040 pb220a hsize", "--missing impute", dropped="rb030 db030", shuffled=True),
    "boys.arrow": Job("age hgt wgt reg", "--missing fill"),
    "transplants.csv": Job("birth.dt accept.dt age", "--accept-derived", output="safe.csv"),  # fu.date minus futime
    "liver.tsv": Job("age sex", "--accept-relinking", reading="--na-values NA", dropped="id", shuffled=True),
    "insurance.csv": Job("STYPE MGEMLEEF MOSHOOFD MINKGEM"),
    "census.xlsx": Job("employment race age gender citizen married edu", "--missing impute", reading="--sheet people"),
    "attrition.parquet": Job("Age Department Education Gender JobRole MaritalStatus"),
    "hie.csv.gz": Job(
        "xage female educdec site", "--missing impute --accept-relinking", dropped="zper", shuffled=True
    ),
    "youth.csv": Job("age gender hispanic race height weight", "--missing fill"),
    "credit.db": Job("Age Home Marital Job", "--missing impute"),
    "terms.csv": Job("start treat", "--of rows --accept-relinking --keep start<=end", dropped="id", shuffled=True),
    "general": Job("age educcat maritalcat wrkstat gender", "--missing impute", output="safe.parquet"),
}  # fmt: skip
TERMS = ["--quasi", "start,treat", "--identifiers", "id", "--unnamed", "other", "--of", "rows", "-k", K]
UNITS = {"hie.csv.gz": {"zper": "unit"}, "eusilc.parquet": {"db030": "household", "rb030": "unit"}}
"""Columns that number persons and households, where the name does not say so."""


def fetched(name):
    from everyday_tables import fetched

    try:
        return fetched(name)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"{name} cannot be fetched: {type(problem).__name__}")


def succeeds(*words, cwd):
    command = [sys.executable, "-c", "from shoal.cli.application import program; program()", *map(str, words)]
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


def decided(text, quasi, units):
    """A drafted schema after a steward has read it: other quasi-identifiers, and no column left to decide."""
    lines, name = [], ""
    for line in text.splitlines():
        heading = re.match(r'\[columns\.(?:"(.+?)"|(\S+))\]', line)
        name = heading.group(1) or heading.group(2) if heading else name
        if line.startswith("role = "):
            kept = "other" if '"other?"' in line or '"quasi"' in line else line.split('"')[1]
            line = f'role = "{"quasi" if name in quasi else units.get(name, kept)}"'
        lines.append(line)
    return "\n".join(lines) + "\n"


def read(path, table="safe"):
    """A file, or a table of a database, as a DataFrame of pandas, by another library than Shoal reads it with."""
    if path.suffix == ".db":
        return pd.read_sql_query(f'select * from "{table}"', sqlite3.connect(path))
    if path.suffix == ".csv" and b";" in path.read_bytes().splitlines()[0]:
        return pd.read_csv(path, sep=";", decimal=",", encoding="cp1252")
    readers = {
        ".csv": pd.read_csv, ".gz": pd.read_csv, ".tsv": lambda path: pd.read_csv(path, sep="\t"),
        ".sav": lambda path: pyreadstat.read_sav(path)[0], ".dta": pd.read_stata,
        ".sas7bdat": lambda path: pd.read_sas(path, encoding="latin-1"),
        ".xlsx": lambda path: pd.read_excel(path, sheet_name=0), ".parquet": pd.read_parquet,
        ".arrow": lambda path: pyarrow.feather.read_table(path).to_pandas(),
        "": lambda path: pa.parquet.read_table(path).to_pandas(),
    }  # fmt: skip
    return readers[path.suffix](path)


class Elements(HTMLParser):
    """The elements of a page: which are open, and which files it loads."""

    EMPTY = frozenset({"meta", "link", "br", "hr", "img", "input", "col"})

    def __init__(self):
        super().__init__()
        self.open, self.loaded, self.headings = [], [], 0

    def handle_starttag(self, tag, attributes):
        self.headings += tag in {"h1", "h2"}
        self.loaded += [
            value
            for name, value in attributes
            if name == "src" or (name == "href" and not value.startswith("#") and tag != "a")
        ]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", JOBS)
def test_the_whole_job(name, tmp_path):
    path, job = fetched(name), JOBS[name]
    database = path.suffix == ".db"
    if database:
        path = Path(tmp_path, name)
        path.write_bytes(fetched(name).read_bytes())
    table = f"sqlite:///{path}?table=people" if database else path
    safe = f"sqlite:///{path}?table=safe" if database else tmp_path / (job.output or f"safe{''.join(path.suffixes)}")
    quasi, dropped, reading = job.quasi.split(), job.dropped.split(), job.reading.split()

    succeeds("schema", table, *reading, "-o", "draft.toml", cwd=tmp_path)
    Path(tmp_path, "schema.toml").write_text(
        decided(Path(tmp_path, "draft.toml").read_text(encoding="utf-8"), quasi, UNITS.get(name, {})), encoding="utf-8"
    )
    options = ["--schema", "schema.toml", *reading]
    protect = ["protect", table, *options, *job.options.split(), "-k", K, "-o", safe, "--report", "report.html"]
    manifest = json.loads(
        succeeds(
            *protect, "--public-report", "public.html", "--holder-record", "record.parquet", "--json", cwd=tmp_path
        )
    )
    assert manifest["k"]["achieved"] >= K

    manifest_file = next(tmp_path.glob("*.manifest.json"))
    succeeds("verify", safe, *reading, "--manifest", manifest_file, cwd=tmp_path)
    evaluated = ["evaluate", table, safe, *options, "--json", "--record", "record.parquet"]
    figures = json.loads(succeeds(*evaluated, cwd=tmp_path))
    assert figures["risk"]
    assert figures["utility"]

    for page in ("report.html", "public.html"):
        elements = Elements()
        elements.feed(Path(tmp_path, page).read_text(encoding="utf-8"))
        assert not elements.open
        assert not elements.loaded, "the page loads other files"
        assert elements.headings > 3

    original = read(path, "people")
    released = read(path if database else Path(safe))
    assert list(released.columns) == [column for column in original.columns if column not in dropped]
    assert len(released) == len(original)
    assert released.groupby(quasi, dropna=False).size().min() >= K
    for column in released.columns.difference(quasi):
        before, after = (frame[column].map(repr) for frame in (original, released))
        if job.shuffled:
            before, after = before.sort_values(), after.sort_values()
        assert before.tolist() == after.tolist(), column
    for column in quasi:
        assert released[column].dtype.kind == original[column].dtype.kind, column


@pytest.mark.parametrize(("kept", "violated"), [(("--keep", "start<=end"), False), ((), True)])
def test_no_term_ends_before_it_starts_if_that_is_to_be_kept(kept, violated, tmp_path):
    """``end`` is released unchanged, so that a mean of ``start`` may lie after it."""
    path = fetched("terms.csv")
    succeeds("protect", path, *TERMS, "--method", "mdav", *kept, "-o", "safe.csv", cwd=tmp_path)
    original, released = (pd.read_csv(file, parse_dates=["start", "end"]) for file in (path, tmp_path / "safe.csv"))
    assert not (original["start"] > original["end"]).any()
    assert (released["start"] > released["end"]).any() == violated
    assert released.groupby(["start", "treat"]).size().min() >= K
