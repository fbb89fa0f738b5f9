"""Columns constant within households, others constant within persons, and rows: three layers, recounted by polars."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, RequirementNotMet
from shoal.flow import group_persons, previous_persons
from shoal.flow import units as units_stage
from shoal.flow.holder_record import holder_record
from shoal.tables import Table

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


def later(table, seed=0):
    """The same households later: some persons are gone, some households are new, some hours were corrected."""
    rng = np.random.default_rng(seed)
    lost = rng.choice(table["person"].unique().sort().to_numpy(), 6, replace=False)
    left = table.filter(~pl.col("person").is_in(lost))
    fixed = rng.choice(left["person"].unique().sort().to_numpy(), 3, replace=False)
    left = left.with_columns(hours=pl.when(pl.col("person").is_in(fixed)).then(80.0).otherwise(pl.col("hours")))
    new = survey(4, seed=seed + 7).with_columns(home=pl.col("home") + 10_000, person=pl.col("person") + 10_000)
    return pl.concat([left, new])


def record_of(paths):
    return next(path for path in paths if "holder" in path.name)


def constants_of(release, table):
    """The released income and age of each person."""
    rows = whose(release, table).unique(["person", "income", "age"])
    assert rows.height == rows["person"].n_unique()
    return {person: (income, age) for person, income, age in rows.select("person", "income", "age").iter_rows()}


def shared_by(one, two):
    """For each person in both releases, how many persons share the constant values in both."""
    both = {person: (one[person], two[person]) for person in one.keys() & two.keys()}
    values = list(both.values())
    return {person: values.count(pair) for person, pair in both.items()}


@pytest.mark.parametrize("limits", [{}, {"l": 2, "confidential": ["ward"], "other": []}])
def test_a_second_release_keeps_three_layers_and_persons_together(tmp_path, limits):
    table, k = survey(200, seed=4), 4
    first = protect(table, k + 2, **limits)
    record = record_of(first.write(tmp_path / "safe.csv"))
    now = later(table)
    second = protect(now, k, previous=record, **limits)
    assert second.k >= k
    assert counted(whose(second, now))[:2] == (1, 1)
    assert counted(whose(second, now))[2] >= k
    figures = second.released.second
    assert figures.below_k == figures.unavoidable
    assert figures.new + figures.kept + figures.changed == now.height
    before = constants_of(first, table)
    few = [person for person, count in shared_by(before, constants_of(second, now)).items() if count < k]
    anew = shared_by(before, constants_of(protect(now, k, **limits), now))
    assert len(few) <= figures.below_k
    assert sum(count < k for count in anew.values()) > 5 * len(few) + 5  # the wrong version: groups formed anew


def test_the_same_three_layers_again_have_the_same_values(tmp_path):
    table = survey(120, seed=5)
    first = protect(table)
    record = record_of(first.write(tmp_path / "safe.csv"))
    second = protect(table, previous=record)
    assert constants_of(first, table) == constants_of(second, table)
    assert second.released.second.below_k == 0
    gone = table.filter(pl.col("home") != table["home"][0])
    third = protect(gone, previous=record)
    before, after = constants_of(first, table), constants_of(third, gone)
    assert 0 < sum(before[person] == values for person, values in after.items()) < len(after)
    assert counted(whose(third, gone))[:2] == (1, 1)


def test_groups_of_households_that_are_formed_anew_are_the_wrong_version(tmp_path, monkeypatch):
    """Persons stay together only if their households do: with new groups of households k holds, and they do not."""
    table = survey(200, seed=6)
    record = record_of(protect(table, 6).write(tmp_path / "safe.csv"))
    now = later(table, seed=1)
    right = protect(now, 4, previous=record).released.second

    def at_random(table, *_):
        households = table.prepared.units.household
        labels = np.random.default_rng(0).integers(0, 3, int(households.max()) + 1)[households]
        return previous_persons._Households(labels, np.zeros(labels.size, bool))

    monkeypatch.setattr(previous_persons, "_households", at_random)
    wrong = protect(now, 4, previous=record)
    assert wrong.k >= 4
    assert wrong.released.second.below_k > wrong.released.second.unavoidable
    assert right.below_k == right.unavoidable


def test_a_first_release_without_groups_of_households_cannot_be_followed(tmp_path):
    table = survey(60)
    paths = protect(table, constant=["age"]).write(tmp_path / "safe.csv")
    with pytest.raises(ParameterError, match="the earlier release had no groups of households"):
        protect(table, previous=record_of(paths), accept_second_release=True)


@given(st.integers(0, 5_000), st.integers(2, 4))
@settings(max_examples=6)
def test_random_second_releases_of_three_layers(seed, k):
    table = survey(40, seed=seed)
    first = protect(table, k)
    now = later(table, seed=seed)
    second = protect(now, k, previous=holder_record(first.released, Table.from_native(table)))
    incomes, ages, persons = counted(whose(second, now))
    assert (incomes, ages) == (1, 1)
    assert persons >= k


def test_verify_counts_households_and_persons(tmp_path, monkeypatch):
    """A count of persons only accepts a release in which a household has several incomes."""
    table = survey(seed=3)
    given = {"quasi": QUASI, "unnamed": "other", "constant": ["income", "age"], "original": table}
    paths = protect(table).write(tmp_path / "safe.csv")
    found = shoal.assess(paths[0], **given, record=record_of(paths))
    assert found.several_values == {"income": 0, "age": 0}
    assert found.constant_within == {"income": "households", "age": "persons"}
    assert shoal.verify(paths[0], 4, **given, record=record_of(paths)).k >= 4
    monkeypatch.setattr(units_stage, "_shared", lambda *_: ())
    wrong = protect(table).write(tmp_path / "wrong.csv")  # constant within persons only
    assert shoal.verify(wrong[0], 4, **given, record=record_of(wrong)).k >= 4  # the wrong version counts persons
    monkeypatch.undo()
    with pytest.raises(RequirementNotMet, match=r'"income" .* several values in \d+ households'):
        shoal.verify(wrong[0], 4, **given, record=record_of(wrong))


def test_verify_counts_households_where_each_row_is_a_person(tmp_path):
    table = survey(seed=2, years=1).drop("person")
    roles = {"quasi": QUASI, "household": "home", "other": ["ward"]}
    choices = {"accept_loss": True, "accept_relinking": True}
    kept = shoal.protect(table, 4, constant=["income"], **roles, **choices).write(tmp_path / "safe.csv")
    plain = shoal.protect(table, 4, constant="none", **roles, **choices).write(tmp_path / "plain.csv")
    given = {"quasi": QUASI, "unnamed": "other", "constant": ["income"], "original": table}
    found = shoal.assess(kept[0], **given, record=record_of(kept))
    assert (found.several_values, found.constant_within) == ({"income": 0}, {"income": "households"})
    with pytest.raises(RequirementNotMet, match=r'"income" .* several values in \d+ households'):
        shoal.verify(plain[0], 4, **given, record=record_of(plain))
