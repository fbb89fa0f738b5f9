"""Unchanged columns that give protected ones back are found; columns that merely resemble them are not."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DerivedNotAccepted
from shoal.flow.derived_columns import find_derived
from shoal.schema.column_words import bare_schema
from shoal.tables import Table

N = 300
AGE, DAYS = pl.col("age"), pl.col("days")


def found(frame, quasi):
    table = Table.from_native(frame)
    schema = bare_schema(table).updated(quasi=quasi, unnamed="other")
    return {rule.column: rule for rule in find_derived(table, schema)}


def base(seed=0):
    rng = np.random.default_rng(seed)
    return rng, pl.DataFrame(
        {"age": rng.integers(18, 90, N), "noise": rng.normal(size=N), "days": rng.integers(0, 40, N)}
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (AGE, '"other"'),
        (2026 - AGE, None),  # a year of birth determines the age, but is no sum of two columns
        (AGE + 7, "but for a constant"),
        (AGE * 12, "but for a factor"),
        (AGE + DAYS, '"other" minus "days"'),
        (AGE - DAYS, '"other" plus "days"'),
        (AGE**2, "determined by"),
    ],
)
def test_rules_are_found(other, words):
    _, frame = base()
    frame = frame.with_columns(other=other)
    rule = found(frame, ["age"])["age"]
    assert rule.share > 0.9
    assert (words or "determined by") in rule.rule
    assert "noise" not in rule.sources


@given(st.integers(0, 10**6))
def test_unrelated_columns_give_no_rule(seed):
    _, frame = base(seed)
    assert found(frame, ["age"]) == {}


def test_a_rule_that_holds_by_zeros_only_is_no_rule():
    rng, frame = base()
    zeros = np.where(rng.uniform(size=N) < 0.95, 0, rng.integers(1, 1000, N))
    frame = frame.with_columns(
        benefit=pl.Series(zeros), bonus=pl.Series(rng.permutation(zeros)), none=pl.Series(np.zeros(N))
    )
    assert found(frame, ["benefit"]) == {}


def test_dates_and_durations_are_subtracted():
    _, frame = base()
    start = pl.Series("start", np.datetime64("2020-01-01") + (np.arange(N) * 37 % 900).astype("timedelta64[D]")).cast(
        pl.Date
    )
    end = start + pl.Series(frame["days"] * 86_400_000_000).cast(pl.Duration("us"))
    frame = frame.with_columns(start=start, end=end)
    assert found(frame, ["start"])["start"].sources == ("end", "days")


def test_noise_in_some_records_does_not_hide_a_rule_and_noise_in_many_does():
    rng, frame = base()
    for part, expected in ((0.05, True), (0.3, False)):
        wrong = rng.uniform(size=N) < part
        other = frame.with_columns(copy=pl.Series(np.where(wrong, rng.permutation(frame["age"]), frame["age"])))
        assert ("age" in found(other, ["age"])) == expected


def test_a_city_determines_its_region_and_a_unique_number_determines_nothing():
    rng, frame = base()
    city = rng.integers(0, 40, N)
    frame = frame.with_columns(region=pl.Series([f"r{c % 7}" for c in city]), number=pl.Series(rng.permutation(N)))
    assert found(frame, ["region"]) == {}
    frame = frame.with_columns(city=pl.Series([f"c{c}" for c in city]))
    assert found(frame, ["region"])["region"].sources == ("city",)
    assert found(frame, ["region", "city"]) == {}, "both are protected"


SENTENCE = '"age" is protected, but the released columns give it back in 100 % of the records: it is '


@pytest.mark.parametrize("rule", ['"total" minus "days"', '"again"', '"birth" but for a factor'])
def test_a_release_that_gives_a_protected_column_back_stops_unless_accepted(rule):
    _, frame = base()
    more = {"total": frame["age"] + frame["days"], "again": frame["age"], "birth": -frame["age"]}
    name = rule.split('"')[1]
    frame = frame.with_columns(more[name].alias(name))
    with pytest.raises(DerivedNotAccepted) as stopped:
        shoal.protect(frame, 3, quasi=["age"], unnamed="other", method="mdav")
    assert str(stopped.value).startswith(SENTENCE + rule)
    release = shoal.protect(frame, 3, quasi=["age"], unnamed="other", method="mdav", accept_derived=True)
    texts = [remark.text for remark in release.released.remarks if remark.code == "derived-exactly"]
    assert texts == [SENTENCE + rule]
    safe = shoal.protect(frame, 3, quasi=["age", name], unnamed="other", method="mdav")
    assert not [remark for remark in safe.released.remarks if remark.code == "derived-exactly"]
    coarse = shoal.protect(frame, 3, quasi=["age"], unnamed="other", method="mdav", before={name: "round 50"})
    assert not [remark for remark in coarse.released.remarks if remark.code == "derived-exactly"]


def test_a_dependency_is_a_finding_and_does_not_stop():
    rng = np.random.default_rng(1)
    city = rng.integers(0, 12, 200)
    frame = pl.DataFrame({"region": [f"r{c % 3}" for c in city], "city": [f"c{c}" for c in city]})
    release = shoal.protect(frame, 3, quasi=["region"], other=["city"], method="mdav")
    assert "derived-column" in [remark.code for remark in release.released.remarks]


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e13])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_small_and_large_numbers_are_compared_by_their_extent(scale, offset):
    rng = np.random.default_rng(0)
    x = (offset + rng.random(100) / (1_000 if offset else 1)) * scale
    other = rng.random(100) * scale
    frame = pl.DataFrame({"x": x, "other": other, "copy": x})
    assert found(frame.select("x", "other"), ["x"]) == {}
    assert found(frame, ["x"])["x"].rule == '"copy"'
