"""Differential privacy: neighbouring tables differ in nothing but the noisy answers.

Every mechanism is run on a table and its answers are recorded; then it is run on a neighbouring table, in which one
record is added, removed or replaced, with the same answers. Table, types, manifest, messages and errors must be the
same to the byte.
"""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest import mock

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv as arrow_csv
import pyarrow.parquet
import pytest

from noise_transcripts import NotReplayable, Transcript
from shoal import dp
from shoal.cli.application import main
from shoal.dp import declared_values
from shoal.errors import DataError, MissingValues, ShoalError
from shoal.tables import read_table, text_fields
from shoal.tables.text_fields import read_as_declared

HEADER = ["age", "rate", "sex", "admitted", "note"]
BOUNDS = {"age": (0, 120), "rate": (0.0, 1.0), "admitted": ("2020-01-01", "2029-12-31")}
SEXES = ["1", "2", "9"]
PLAIN = ["44", "0.5", "1", "2024-02-29", "x"]
ODD = {  # a record, or what it has in a column
    "plain": {},
    "fraction": {"age": "30.5", "rate": "0.123456789"},
    "whole": {"rate": "1"},
    "missing": {"age": "", "rate": "", "sex": "", "admitted": ""},
    "missing mark": {"age": "NA", "rate": "NaN", "sex": "NA", "admitted": "NA"},
    "text": {"age": "old", "rate": "high", "sex": "unknown", "admitted": "soon"},
    "beyond": {"age": "999", "rate": "-7.5", "sex": "3", "admitted": "1850-01-01"},
    "huge": {"age": "1e300", "rate": "-1e300", "sex": "18446744073709551615", "admitted": "9999-12-31"},
    "too long": {"age": "9" * 40, "sex": "1" * 40},
    "infinite": {"age": "inf", "rate": "-inf"},
    "leading zero": {"age": "007", "sex": "01"},
    "decimal comma": {"age": '"30,5"', "rate": '"0,5"', "sex": '"1,0"'},
    "float category": {"sex": "1.5"},
    "with time": {"admitted": "2024-02-29 12:30:00"},
    "another date format": {"admitted": "29.02.2024"},
    "true": {"age": "true", "rate": "False", "sex": "TRUE"},
    "quotes and delimiters": {"note": '"a ""b"", c; d | e\tf"'},
    "line end inside": {"note": '"a\nb"'},
    "empty quotes": {"age": '""', "sex": '""'},
    "only empty fields": dict.fromkeys(HEADER, ""),
}
BROKEN = {  # rows that only a damaged file has
    "too few fields": "44,0.5\n",
    "too many fields": "44,0.5,1,2024-02-29,x,y,z\n",
    "blank line": "\n",
    "not utf-8": "44,0.5,\udcff,2024-02-29,\udce9\n",
    "zero byte": "44,0.5,\0,2024-02-29,x\n",
    "quote inside a quoted field": '44,0.5,1,2024-02-29,"a"b\n',
}
MECHANISMS = {
    "mondrian": {"k": 8},
    "mondrian deviation": {"k": 8, "split_criterion": "deviation"},
    "mondrian synthetic": {"k": 8, "output": "synthetic", "split_criterion": "mad"},
    "histogram": {"cells": 3},
    "histogram replace": {"cells": 3, "neighbours": "replace"},
    "intervals": {"alpha": 0.9, "records": 50},
    "insensitive": {"k": 10},
    "strongly-safe": {"k": 2, "delta": 0.1, "cells": 2},
    "epsilon-safe": {"k": 2, "delta": 0.1},
    "small-db": {"cells": 2, "alpha": 0.8},
}


def _as_parquet(path):
    written = path.with_suffix(".parquet")
    pyarrow.parquet.write_table(arrow_csv.read_csv(path), written)
    return written


READERS = {
    "file": lambda path: path,
    "pandas": pd.read_csv,
    "pandas objects": lambda path: pd.read_csv(path, dtype=object),
    "polars": lambda path: pl.read_csv(
        path, infer_schema_length=None, truncate_ragged_lines=True, try_parse_dates=True
    ),
    "pyarrow": arrow_csv.read_csv,
    "parquet": _as_parquet,
}


def row(changes=None):
    return ",".join((dict(zip(HEADER, PLAIN, strict=True)) | (changes or {})).values()) + "\n"


def rows(n, seed=3):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + rng.integers(0, 3650, n)
    ages, rates, sexes = rng.integers(18, 91, n), rng.integers(0, 1001, n) / 1000, rng.choice(["1", "2"], n)
    columns = zip(ages, rates, sexes, days, strict=True)
    return [f"{age},{rate},{sex},{day},x\n" for age, rate, sex, day in columns]


def write(path, lines):
    text = ",".join(HEADER) + "\n" + "".join(lines)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def released(data, mechanism, release=dp.release, **changes):
    """Everything that a release shows, or the error."""
    name = mechanism.partition(" ")[0]
    categories = {"sex": SEXES} if name in {"histogram", "strongly-safe"} else {}
    bounds = {"age": (0, 120)} if name in {"small-db", "intervals"} else BOUNDS
    given = {"epsilon": 2.0, "mechanism": name, "bounds": bounds, "categories": categories, **MECHANISMS[mechanism]}
    try:
        made = release(data, **{**given, **changes})
    except NotReplayable:
        raise
    except Exception as error:  # noqa: BLE001 - an error of any type is a message
        return type(error), str(error)
    frame = pl.DataFrame(made.data)
    return frame.schema, frame.write_csv(), made.manifest_json(), made.warnings, repr(made), made._repr_html_()


def compare(read, one, other, mechanism, odd, *, neighbouring=True, **changes):
    """Assert that a release reveals nothing about the odd record but by noisy answers, and no more than by epsilon."""
    transcript = Transcript(unsampled=odd)
    with transcript.recording():
        first = released(read(one), mechanism, **changes)
    with transcript.replaying():
        second = released(read(other), mechanism, **changes)
    assert first == second
    if neighbouring:
        assert transcript.spent() <= 2.0
    return first


def neighbours(folder, changes, n=60):
    """A table, the table with one record more at the end, and the table with its last record replaced."""
    lines, odd = rows(n), changes if isinstance(changes, str) else row(changes)
    base = write(folder / "base.csv", lines)
    more = write(folder / "more.csv", [*lines, odd])
    other = write(folder / "other.csv", [*lines[:-1], odd])
    return base, more, other


def pairs(folder, changes, mechanism, n=60):
    base, more, other = neighbours(folder, changes, n)
    if mechanism in {"insensitive", "histogram replace"}:
        return [(base, other, n - 1, True)]
    return [(base, more, n, True), (more, base, n, True), (base, other, n - 1, False)]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("odd", ODD)
def test_nothing_but_noisy_answers_depends_on_a_record(tmp_path, odd, reader, record):
    mechanism = "histogram"
    for one, other, position, neighbouring in pairs(tmp_path, ODD[odd], mechanism):
        try:
            READERS[reader](one), READERS[reader](other)
        except (pyarrow.ArrowInvalid, pl.exceptions.PolarsError):
            continue  # another reader rejects this table
        first = compare(READERS[reader], one, other, mechanism, position, neighbouring=neighbouring)
        assert len(first) == 6, first
        record("pairs of neighbouring tables", 1)


def _compare_mechanism(folder, odd, mechanism, record):
    for one, other, position, neighbouring in pairs(folder, ODD[odd], mechanism):
        first = compare(READERS["file"], one, other, mechanism, position, neighbouring=neighbouring)
        assert len(first) == 6 or "no records are left" in first[1], first
        record("pairs of neighbouring tables", 1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("odd", ["fraction", "missing", "text", "beyond"])
def test_no_mechanism_depends_on_a_record_but_by_noise(tmp_path, odd, mechanism, record):
    _compare_mechanism(tmp_path, odd, mechanism, record)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("odd", sorted(ODD.keys() - {"fraction", "missing", "text", "beyond"}))
def test_no_mechanism_depends_on_any_kind_of_record_but_by_noise(tmp_path, odd, mechanism, record):
    _compare_mechanism(tmp_path, odd, mechanism, record)


@pytest.mark.parametrize("mechanism", ["mondrian", "histogram", "strongly-safe"])
@pytest.mark.parametrize("odd", BROKEN)
def test_a_broken_row_changes_no_other_row(tmp_path, odd, mechanism, record):
    for one, other, position, neighbouring in pairs(tmp_path, BROKEN[odd], mechanism):
        first = compare(READERS["file"], one, other, mechanism, position, neighbouring=neighbouring)
        assert len(first) == 6, first
        record("pairs of neighbouring tables", 1)


@pytest.mark.parametrize("extension", ["csv", "parquet", "arrow", "sav", "dta"])
@pytest.mark.parametrize("mechanism", ["mondrian", "histogram", "intervals", "strongly-safe", "small-db"])
def test_an_empty_table_is_a_neighbour_of_a_table_of_one_record(tmp_path, mechanism, extension):
    frame = pl.DataFrame({"age": [44.0], "rate": [0.5], "sex": ["1"], "admitted": ["2024-02-29"]})
    paths = [tmp_path / f"{name}.{extension}" for name in ("none", "one")]
    for path, part in zip(paths, (frame.head(0), frame), strict=True):
        if extension in {"sav", "dta"}:
            import pyreadstat

            getattr(pyreadstat, f"write_{extension}")(part.to_pandas(), str(path))
        else:
            getattr(part, {"csv": "write_csv", "parquet": "write_parquet"}.get(extension, "write_ipc"))(path)
    compare(lambda path: path, *paths, mechanism, 0)


def test_every_declared_column_has_the_declared_type_for_every_reader(tmp_path):
    base, more, _ = neighbours(tmp_path, ODD["fraction"])
    types = {"age": pl.Int64, "rate": pl.Float64, "sex": pl.String, "admitted": pl.Date}
    for path in (base, more):
        for reader in READERS.values():
            made = dp.release(
                reader(path), epsilon=9.0, mechanism="histogram", bounds=BOUNDS, categories={"sex": SEXES}, cells=3
            )
            found = dict(pl.DataFrame(made.data).schema)
            if isinstance(made.data, pd.DataFrame):  # pandas has no dates without time
                found["admitted"] = pl.Date
            assert found == types


def command(*arguments):
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return code or 0, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("odd", ["fraction", "missing", "text", "huge", "quotes and delimiters"])
@pytest.mark.parametrize("json_output", [False, True])
def test_the_command_shows_and_writes_the_same_for_neighbours(tmp_path, monkeypatch, odd, json_output):
    base, more, _ = neighbours(tmp_path, ODD[odd])
    monkeypatch.chdir(tmp_path)
    transcript, shown = Transcript(), []
    for path, run in ((base, transcript.recording), (more, transcript.replaying)):
        path.rename("people.csv")
        with run():
            done = command(
                "dp", "people.csv", "--epsilon", 2, "-k", 8, "--bounds", "age=0..120,rate=0.0..1.0",
                *(["--json"] if json_output else []), "-o", "private.csv", "--force",
            )  # fmt: skip
        files = [(tmp_path / name).read_bytes() for name in ("private.csv", "private.manifest.json")]
        shown.append((*done, *files))
    assert shown[0][0] == 0, shown[0]
    assert shown[0] == shown[1]
    assert b"." not in shown[0][3].split(b"\n")[1].split(b",")[0]  # whole ages, as declared


def test_delimiter_encoding_and_decimal_separator_do_not_depend_on_the_records(tmp_path):
    lines = [f"{age};{age},5\n" for age in range(20, 80)]
    transcript, shown = Transcript(), []
    odd = "a,b,c,d,e,f,g;1.5;\udcff\n"
    for name, content, run in (("one", lines, transcript.recording), ("two", [*lines, odd * 3], transcript.replaying)):
        path = tmp_path / f"{name}.csv"
        path.write_bytes(("age;rate\n" + "".join(content)).encode("utf-8", "surrogateescape"))
        with run():
            made = dp.release(path, epsilon=2.0, bounds={"age": (0, 120), "rate": (0.0, 99.0)}, k=10)
        written = made.write(tmp_path / "private.csv", overwrite=True)[0]
        shown.append((written.read_bytes(), made.manifest))
    assert shown[0] == shown[1]
    assert shown[0][0].startswith(b"age;rate\n")


# wrong versions, which the comparison must find


def _type_from_data(data, **given):
    made = dp.release(data, **given)
    ages = pl.read_csv(data, infer_schema_length=None, truncate_ragged_lines=True)["age"]
    frame = made.data if ages.dtype.is_integer() else made.data.with_columns(pl.col("age").cast(pl.Float64))
    return mock.Mock(
        data=frame, manifest_json=made.manifest_json, warnings=made.warnings, _repr_html_=made._repr_html_, spec=made
    )


def _error_for_missing(data, **given):
    if pl.read_csv(data, infer_schema=False)["age"].null_count():
        raise MissingValues('column "age" has 1 missing values')
    return dp.release(data, **given)


def _exact_count(data, **given):
    made = dp.release(data, **given)
    made.manifest["input"]["records"] = pl.read_csv(data, infer_schema=False).height
    return made


def _error_for_categories(data, **given):
    if not pl.read_csv(data, infer_schema=False)["sex"].is_in(SEXES).all():
        raise DataError("unknown category")
    return dp.release(data, **given)


@pytest.mark.parametrize(
    ("wrong", "odd"),
    [
        (_type_from_data, "fraction"),
        (_error_for_missing, "missing"),
        (_exact_count, "plain"),
        (_error_for_categories, "beyond"),
    ],
)
def test_wrong_versions_are_found(tmp_path, wrong, odd):
    base, more, _ = neighbours(tmp_path, ODD[odd])
    with pytest.raises(AssertionError):
        compare(READERS["file"], base, more, "histogram", 60, release=wrong)
    compare(READERS["file"], base, more, "histogram", 60)


def test_a_column_read_by_its_type_is_found(tmp_path, monkeypatch):
    def by_type(series, kind, dialect):
        wrong = series.dtype == nw.String  # one text makes a text column, and all of its numbers are lost
        return np.full(len(series), np.nan) if wrong else declared_values.declared_numbers(series, kind, dialect)

    base, more, _ = neighbours(tmp_path, ODD["text"])
    compare(pd.read_csv, base, more, "histogram", 60)
    monkeypatch.setattr("shoal.dp.domain.declared_numbers", by_type)
    with pytest.raises(AssertionError, match="integer_noise changes by"):
        compare(pd.read_csv, base, more, "histogram", 60)


def test_a_file_read_by_its_records_is_found(tmp_path, monkeypatch):
    """read_table finds a decimal comma where all numbers have one; one number with a point changes that."""
    paths = [tmp_path / "base.csv", tmp_path / "more.csv"]
    lines = [f"{age};{age / 100}".replace(".", ",") + "\n" for age in range(20, 80)]
    for path, further in zip(paths, ([], ["44;0.5\n"] * 7), strict=True):
        path.write_text("age;rate\n" + "".join([*lines, *further]), encoding="utf-8")
    settings = {"bounds": {"age": (0, 120), "rate": (0.0, 1.0)}, "categories": {}, "epsilon": 2.0}

    def changes():
        transcript = Transcript()
        with transcript.recording():
            released(paths[0], "histogram", **settings)
        with transcript.replaying():
            released(paths[1], "histogram", **settings)
        return transcript.queries[0].change(transcript.inputs[0])

    assert changes() == 7  # seven records more
    monkeypatch.setattr("shoal.dp.private_release.read_as_declared", lambda path, _names: read_table(path))
    assert changes() > 60


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("long", [99, 100, 101, 199, 200, 201, 1_000])
def test_a_line_above_the_limit_is_cut_and_changes_no_other_record(tmp_path, monkeypatch, end, encoding, long):
    """An error would reveal such a record, and without a limit one record fills the memory."""
    lines = ["age,note", "20,é", "30," + "x" * (long - 3), "40,y", "50,z" + "w" * (long - 4)]
    path = tmp_path / "people.csv"
    path.write_bytes((end.join(lines) + end).encode(encoding))
    whole = read_as_declared(path, ["age"]).native
    monkeypatch.setattr(text_fields, "LONGEST_LINE", 100)
    cut = read_as_declared(path, ["age"]).native
    assert cut["age"].to_list() == whole["age"].to_list() == ["20", "30", "40", "50"]
    assert cut["note"][0] == whole["note"][0]
    assert cut["note"][2] == "y"
    assert all(one == two if len(two) < 97 else two.startswith(one.rstrip("\r\n")) and len(one) >= 96
               for one, two in zip(cut["note"], whole["note"], strict=True))  # fmt: skip


def test_inputs_are_never_written_over(tmp_path):
    base, _, _ = neighbours(tmp_path, ODD["plain"])
    before = base.read_bytes()
    link = tmp_path / "link.csv"
    link.hardlink_to(base)
    made = dp.release(base, epsilon=1.0, bounds={"age": (0, 120)}, k=10)
    for target, manifest in ((base, None), (link, None), (tmp_path / "new.csv", base)):
        with pytest.raises(ShoalError, match="the input"):
            made.write(target, manifest=manifest)
    code, _, _ = command("dp", base, "--epsilon", 1, "-k", 10, "--bounds", "age=0..120", "-o", link)
    assert code == 2
    assert base.read_bytes() == before
    assert json.loads(made.manifest_json())["input"]["records"].startswith("not stated")
