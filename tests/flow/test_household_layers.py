"""Columns constant within households, others constant within persons, and rows: three layers, recounted by polars."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, RequirementNotMet
from shoal.flow import group_persons
from shoal.flow import units as units_stage

QUASI = ["income", "age", "hours"]


def survey(homes=80, seed=0, years=3):
    """Waves of a household survey: income of the household, age of the person at the start, hours of each year."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), rng.integers(1, 5, homes))
    person = np.repeat(np.arange(home.size), rng.integers(1, years + 1, home.size))
    income, age = rng.lognormal(10, 0.6, homes).round(), rng.integers(18, 80, home.size)
    frame = pl.DataFrame({
        "home": home[person], "person": person, "income": income[home[person]], "age": age[person],
        "hours": rng.normal(35, 8, person.size).round(1), "ward": rng.choice(list("abc"), person.size),
    })  # fmt: skip
    return frame[rng.permutation(person.size)]


def protect(table, k=4, **given):
    choices = {
        "quasi": QUASI, "unit": "person", "household": "home", "constant": ["income", "age"], "other": ["ward"],
        "accept_loss": True, "accept_relinking": True,
    }  # fmt: skip
    return shoal.protect(table, k, **(choices | given))


def counted(frame):
    """The most incomes of a household, the most ages of a person, and the fewest persons of a class."""
    incomes = frame.group_by("home").agg(pl.col("income").n_unique())["income"].max()
    ages = frame.group_by("person").agg(pl.col("age").n_unique())["age"].max()
    return incomes, ages, frame.group_by(QUASI).agg(pl.col("person").n_unique())["person"].min()


def whose(release, table):
    rows = release.released.order.original_rows
    return release.data.with_columns(home=table["home"].gather(rows), person=table["person"].gather(rows))


def test_households_persons_and_classes_are_counted_from_the_file(tmp_path):
    table = survey()
    release = protect(table)
    paths = release.write(tmp_path / "safe.csv")
    record = pl.read_parquet(next(path for path in paths if "holder" in path.name))
    order = pl.DataFrame({"at": record["released_row"], "row": np.arange(table.height)}).sort("at")["row"]
    found = pl.read_csv(tmp_path / "safe.csv").with_columns(table[order].select("home", "person"))
    incomes, ages, persons = counted(found)
    assert (incomes, ages) == (1, 1)
    assert persons == release.k >= 4
    assert release.manifest["person_groups"]["constant_within_households"] == ["income"]
    assert release.loss.information_loss < 0.6


def test_two_layers_alone_would_give_a_household_several_incomes(monkeypatch):
    """The wrong version: what is constant within households is kept within persons only."""
    table = survey()
    monkeypatch.setattr(units_stage, "_shared", lambda *_: ())
    assert counted(whose(protect(table), table))[0] > 1
    monkeypatch.undo()
    monkeypatch.setattr(group_persons.Grouped, "grouping_of", lambda grouped, column: (
        grouped.outer if column.constant else grouped.grouping
    ))  # fmt: skip
    with pytest.raises(RequirementNotMet, match=r'"income" is to stay constant, but \d+ persons or households have'):
        protect(table)


def test_columns_of_households_alone_are_kept_within_households():
    table = survey(seed=1)
    release = protect(table, constant=["income"])
    assert counted(whose(release, table))[0] == 1
    assert release.manifest["person_groups"]["constant_within"] == "households"
    moved = table.with_columns(home=pl.when(pl.col("hours") > 40).then(-1).otherwise(pl.col("home")))
    moved = moved.with_columns(income=pl.col("person") * 10.0)
    assert protect(moved, constant=["income"]).manifest["person_groups"]["constant_within"] == "persons"


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from(["rows", "persons"]), st.sampled_from([{}, {"l": 2}]))
@settings(max_examples=8)
def test_random_tables_keep_three_layers(seed, k, weighting, limits):
    table = survey(30, seed=seed)
    roles = {"other": [], "confidential": ["ward"]} if limits else {}
    release = protect(table, k, weighting=weighting, **roles, **limits)
    incomes, ages, persons = counted(whose(release, table))
    assert (incomes, ages) == (1, 1)
    assert persons >= k


def test_a_second_release_of_three_layers_is_refused(tmp_path):
    table = survey(40)
    paths = protect(table).write(tmp_path / "safe.csv")
    with pytest.raises(ParameterError, match="which a second release cannot follow"):
        protect(table, previous=next(path for path in paths if "holder" in path.name))
