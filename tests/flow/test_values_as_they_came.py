"""Decimals, dates and times are released as they came, and files keep types: numbers as numbers, codes as text."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.flow.exact_numbers import decimals_of


def visits(n=60):
    rng = np.random.default_rng(0)
    start = dt.datetime(2024, 1, 1)
    when = [start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 400_000, n)]
    return pl.DataFrame(
        {
            "height": rng.normal(170, 9, n).round(1), "weight": rng.normal(70, 9, n).round(2),
            "visit": [moment.date() for moment in when], "seen": when,
            "zip": [f"{code:03d}" for code in rng.integers(0, 99, n)],
            "score": rng.normal(0, 1, n).round(2), "rooms": rng.integers(0, 9, n),
            "partial": [str(moment.date())[: (10, 7, 4)[i % 3]] for i, moment in enumerate(when)],
        }
    )  # fmt: skip


@pytest.mark.parametrize("sums", ["rounded", "exact"])
@pytest.mark.parametrize("recode", ["mean", "median", "midrange", "min", "medoid", "mode"])
def test_no_more_decimals_than_the_input_and_dates_and_minutes_stay(recode, sums):
    frame = visits()
    quasi = ["height", "weight", "visit", "seen"]
    data = shoal.protect(frame, 3, quasi=quasi, unnamed="other", method="mdav", recode=recode, sums=sums).data
    assert data.schema == frame.schema
    if recode != "mean" or sums == "rounded":
        assert decimals_of(data["height"].to_numpy()) <= 1
        assert decimals_of(data["weight"].to_numpy()) <= 2
    assert (data["seen"].dt.second() == 0).all()
    full = shoal.protect(
        frame, 3, quasi=quasi, unnamed="other", method="mdav", recode=recode, sums=sums, decimals="full"
    ).data
    if recode == "mean" and sums == "exact":
        assert decimals_of(full["height"].to_numpy()) is None
        assert full["height"].sum() == pytest.approx(frame["height"].sum(), rel=1e-12)
    assert decimals_of(shoal.protect(frame, 3, quasi=["weight"], unnamed="other", recode=recode, sums=sums,
                                     method="mdav", decimals=1).data["weight"].to_numpy()) <= 1  # fmt: skip


@pytest.mark.parametrize("extension", ["parquet", "arrow", "xlsx"])
def test_a_text_file_gets_types_in_formats_that_have_them(tmp_path, extension):
    frame = visits()
    frame.write_csv(tmp_path / "visits.csv", datetime_format="%Y-%m-%d %H:%M")
    release = shoal.protect(tmp_path / "visits.csv", 3, quasi=["height", "visit"], unnamed="other", method="mdav")
    release.write(tmp_path / f"safe.{extension}")
    read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "xlsx": pl.read_excel}[extension]
    if extension == "xlsx":
        pytest.importorskip("fastexcel")
    found = read(tmp_path / f"safe.{extension}")
    kinds = {name: type(dtype) for name, dtype in found.schema.items()}
    assert kinds == {name: type(dtype) for name, dtype in frame.schema.items()}
    for name in ("zip", "score", "rooms", "partial", "weight"):
        assert found[name].to_list() == frame[name].to_list()
    release.write(tmp_path / "again.csv")
    lines = [(tmp_path / name).read_text().splitlines() for name in ("visits.csv", "again.csv")]
    unchanged = [[line.split(",")[3:] for line in part] for part in lines]
    assert unchanged[0] == unchanged[1]
