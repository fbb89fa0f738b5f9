"""Columns that stay constant within persons: nested groups recounted from the file, and wrong versions caught."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flow.test_histories import READ, original_order, record_of, sequences, visits

import shoal
from shoal.errors import GroupTooSmall, RequirementNotMet
from shoal.flow import group_persons
from shoal.schema.constant_columns import constant_columns
from shoal.schema.inference import infer_schema
from shoal.schema.toml import format_schema
from shoal.tables import Table

QUASI = ["age", "sex", "dose"]
REAL = group_persons.person_groups


def protect(table, k=4, **given):
    choices = {"quasi": QUASI, "unit": "patient", "other": ["row"], "identifiers": ["day"], "constant": ["age", "sex"]}
    return shoal.protect(table, k, **(choices | given))


def whose(release, table, name="patient"):
    return release.data.with_columns(table[name].gather(release.released.order.original_rows).alias("whose"))


def several_values(frame, names=("age", "sex")):
    """The largest number of values that a person has in a constant column."""
    return max(frame.group_by("whose").agg(pl.col(name).n_unique())[name].max() for name in names)


def persons_per_class(frame, names=("age", "sex", "dose")):
    return frame.group_by(names).agg(pl.col("whose").n_unique())["whose"].min()


@pytest.mark.parametrize("extension", list(READ))
def test_one_value_for_each_person_recounted_outside_from_the_file(tmp_path, extension):
    table = visits(seed=1)
    path = tmp_path / f"safe.{extension}"
    release = protect(table)
    paths = release.write(path)
    found = READ[extension](path).with_columns(original_order(table, record_of(paths))["patient"].alias("whose"))
    assert found.height == table.height
    assert several_values(found) == 1
    assert persons_per_class(found) == release.k >= 4
    groups = found.with_columns(group=release.grouping.labels)
    persons = groups.group_by("group").agg(pl.struct("age", "sex").n_unique())
    assert persons["age"].max() == 1  # each class lies inside one group of persons


def test_constants_averaged_by_row_groups_are_caught(monkeypatch, tmp_path):
    """The wrong version: constant columns are replaced by the groups of rows like all others."""
    monkeypatch.setattr(group_persons.Grouped, "grouping_of", lambda grouped, _: grouped.grouping)
    with pytest.raises(RequirementNotMet, match=r'"age" is to stay constant, but \d+ persons or households have'):
        protect(visits(seed=1))
    monkeypatch.setattr("shoal.privacy.kept_constants.require_constant", lambda *_: None)
    release = protect(visits(seed=1))
    with pytest.raises(RequirementNotMet, match="as written, columns are to stay constant"):
        release.write(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("shoal.privacy.kept_constants.require_one_each", lambda *_: None)
    paths = release.write(tmp_path / "safe.csv")  # the recount outside finds it as well
    found = pl.read_csv(paths[0]).with_columns(
        original_order(visits(seed=1), record_of(paths))["patient"].alias("whose")
    )
    assert several_values(found) > 1


def test_rows_counted_instead_of_persons_are_caught(monkeypatch):
    """The wrong version: a row group of k rows passes for one of k persons."""
    monkeypatch.setattr(
        group_persons, "person_groups", lambda c, v, units, k, **given: REAL(c, v, np.arange(units.size), k, **given)
    )
    with pytest.raises(GroupTooSmall, match="fewer than k=4 persons"):
        protect(visits(seed=1))


@settings(max_examples=20)
@given(
    st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 8), st.sampled_from(["rows", "persons"]),
    st.sampled_from([None, "median", "medoid", "range", "set", "suppress", "min"]),
)  # fmt: skip
def test_random_tables_keep_constants(seed, k, most, weighting, recode):
    table = visits(persons=k + seed % 15, seed=seed, most=most)
    recodes = None if recode is None else {"age": recode, "dose": recode}
    release = protect(table, k, weighting=weighting, recode=recodes, accept_loss=True, accept_relinking=True)
    found = whose(release, table)
    assert several_values(found) == 1
    assert persons_per_class(found) >= k


def test_constant_columns_of_every_kind_alone():
    table = visits(seed=2)
    only = protect(table, quasi=["sex", "age"], other=["row", "dose"], accept_relinking=True)
    assert several_values(whose(only, table)) == 1
    stage = table.with_columns(stage=pl.when(pl.col("age") > 50).then(pl.lit("late")).otherwise(pl.lit("early")))
    release = protect(
        stage, quasi=["stage", "dose"], constant=["stage"], orders={"stage": ["early", "late"]},
        other=["row", "age", "sex"], accept_relinking=True,
    )  # fmt: skip
    assert several_values(whose(release, stage), ["stage"]) == 1


def test_means_and_loss_by_persons():
    table = visits(seed=3, most=9)
    release = protect(
        table, weighting="persons", decimals="full", sums="exact", quasi=["age", "dose"], constant=["age"],
        other=["row", "sex"], accept_relinking=True,
    )  # fmt: skip
    rows = table[release.released.order.original_rows].with_columns(release.data["age"].alias("new"))
    persons = rows.unique("patient")
    means = persons.group_by("new").agg(pl.col("age").mean())
    assert np.allclose(means["new"], means["age"])  # each person once
    assert release.manifest["person_groups"]["weighting"] == "persons"
    share = 1 / rows.select(pl.len().over("patient"))["len"].to_numpy()
    age, mean = rows["age"].to_numpy(), np.average(rows["age"], weights=share)
    expected = (share * (age - rows["new"].to_numpy()) ** 2).sum() / (share * (age - mean) ** 2).sum()
    assert release.loss.columns["age"].information_loss == pytest.approx(expected)
    rowwise = protect(table, decimals="full", sums="exact", accept_relinking=True)
    assert rowwise.manifest["person_groups"]["weighting"] == "rows"


def test_loss_is_stated_apart(tmp_path):
    release = protect(visits(seed=3))
    entry = release.manifest["person_groups"]
    assert entry["constant"] == ["age", "sex"]
    assert set(entry["loss"]) == {"constant", "varying"}
    columns = release.loss.columns
    expected = (columns["age"].sse + columns["sex"].sse) / (columns["age"].sst + columns["sex"].sst)
    assert release.loss.over(["age", "sex"]) == pytest.approx(expected)
    release.report(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text()
    assert "Constant within persons" in shown
    assert "every row counts the same" in shown


def test_households_with_one_row_a_person():
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(40), rng.integers(1, 5, 40))
    table = pl.DataFrame({
        "home": home, "income": rng.normal(3000, 800, 40).round()[home], "age": rng.integers(1, 90, home.size),
        "row": np.arange(home.size),
    })  # fmt: skip
    release = shoal.protect(table, 4, quasi=["income", "age"], household="home", other=["row"], constant=["income"])
    found = whose(release, table, "home")
    assert several_values(found, ["income"]) == 1
    assert release.data.group_by("income", "age").len()["len"].min() >= 4
    assert release.manifest["person_groups"]["constant_within"] == "households"
    plain = shoal.protect(table, 4, quasi=["income", "age"], household="home", other=["row"], method="mdav")
    assert several_values(whose(plain, table, "home"), ["income"]) > 1
    assert "constant within households" in {r.code: r.text for r in plain.remarks}["constant-columns"]


def test_histories_keep_declared_constants():
    table = visits(seed=4)
    release = protect(table, keep_links=True, time="day", identifiers=[])
    assert several_values(whose(release, table)) == 1
    assert release.classes.of == "histories"


def test_constant_columns_are_found_and_the_user_decides():
    table = visits(seed=5).sort("patient")
    typed = table.with_columns(sex=pl.when(pl.col("row") == 7).then(pl.lit("?")).otherwise(pl.col("sex")))
    found = constant_columns(Table.from_native(typed), "patient", QUASI)
    assert [(column.name, column.exceptions) for column in found] == [("age", 0), ("sex", 1)]
    remarks = {r.code: r.text for r in protect(table, constant=None, method="mdav").remarks}
    assert remarks["constant-columns"].startswith('"age", "sex" are constant within persons')
    for decided in ("none", ["none"], ["age", "sex"], "auto"):
        codes = {remark.code for remark in protect(table, constant=decided).remarks}
        assert "constant-columns" not in codes
    assert protect(table, constant="auto").schema.constant == ["age", "sex"]
    assert protect(table, constant="none", method="mdav").schema.constant == []
    reasons = {column.name: column.reason for column in infer_schema(Table.from_native(table)).columns}
    assert 'constant within "patient"' in reasons["sex"]
    assert "constant within" not in reasons["dose"]


def test_the_schema_file_states_constants():
    release = protect(visits())
    text = format_schema(release.schema)
    assert "constant = true" in text
    again = shoal.protect(visits(), 4, schema=text)
    assert again.plan.digest() == release.plan.digest()
    none = protect(visits(), constant="none", method="mdav").schema
    assert "constant = false" in format_schema(none)
    with pytest.raises(shoal.errors.SchemaError, match="true or false"):
        replace(release.schema["age"], constant="yes")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"constant": ["age", "dose"]}, '"dose" is to stay constant, but has several values in the rows of'),
        ({"constant": ["row"]}, "cannot be kept constant within persons as other"),
        ({"constant": ["ages"]}, "ages"),
        ({"unit": None, "other": ["row", "patient"]}, "is to stay constant within persons, but no column"),
        ({"method": "mdav"}, 'leave out method "mdav"'),
        ({"k": 61}, "k=61 needs at least 61 persons"),
        ({"constant": None, "weighting": "persons"}, "weighting is about columns"),
        ({"weighting": "people"}, "weighting="),
    ],
)
def test_bad_input_gives_one_sentence(given, problem):
    with pytest.raises(shoal.errors.ShoalError) as raised:
        protect(visits(), **given)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_missing_values_of_varying_columns_need_a_value():
    table = visits(seed=6).with_columns(dose=pl.when(pl.col("row") % 9 == 0).then(None).otherwise(pl.col("dose")))
    with pytest.raises(shoal.errors.DataError, match="missing=fill"):
        protect(table, missing="by-pattern", k=3)
    release = protect(table, missing="impute")
    assert several_values(whose(release, table)) == 1


def test_compare_shows_units_constants_and_histories_side_by_side():
    table = visits(seed=7)
    found = shoal.compare(
        table, k=[3], methods=["mdav"], of=["units", "histories"], quasi=QUASI, unit="patient", time="day",
        constant=["age", "sex"], other=["row"],
    )  # fmt: skip
    assert [one.counted for one in found] == ["units", "units, constants kept", "histories, constants kept"]
    assert [one.method for one in found] == ["mdav", "auto", "auto"]
    assert all(one.reason == "" for one in found)
    assert [one.rows_kept for one in found][:2] == [1.0, 1.0]
    assert all(one.constant_loss is not None and one.varying_loss is not None for one in found)
    assert "k counts" in str(found)
    assert "k counts" in found.html()
    assert len(found.headings) == len(found.rows()[0])
    plain = shoal.compare(table, k=[3], methods=["mdav"], quasi=QUASI, unit="patient", unnamed="other")
    assert "rows kept" not in str(plain)


def test_verify_counts_constants(tmp_path):
    table = visits(seed=1)
    paths = protect(table).write(tmp_path / "safe.csv")
    given = {"quasi": QUASI, "unnamed": "other", "constant": ["age", "sex"], "original": table}
    assert shoal.verify(paths[0], 4, **given, record=record_of(paths)).k >= 4
    plain = protect(table, constant="none", method="mdav").write(tmp_path / "plain.csv")
    with pytest.raises(RequirementNotMet, match='"age" is to stay constant'):
        shoal.verify(plain[0], 4, **given, record=record_of(plain))
    found = shoal.assess(table, quasi=QUASI, unit="patient", unnamed="other", constant=["age", "dose"])
    assert found.several_values["age"] == 0
    several = table.group_by("patient").agg(pl.col("dose").n_unique() > 1)["dose"].sum()
    assert found.several_values["dose"] == found.to_dict()["several_values"]["dose"] == several


@pytest.mark.parametrize("missing", ["category", "by-pattern", "impute", "fill", "suppress"])
@pytest.mark.parametrize("mode", [{"constant": ["age", "sex"]}, {"constant": None, "keep_links": True}])
def test_missing_values_and_sampling_weights(missing, mode):
    table = visits(persons=90, seed=8)
    unknown = pl.col("patient").str.ends_with("3")
    table = table.with_columns(sex=pl.when(unknown).then(None).otherwise(pl.col("sex")), weight=1.0 + pl.col("row") % 5)
    release = protect(table, **mode, missing=missing, sampling_weight="weight", accept_relinking=True)
    assert release.manifest["k"]["with_weight"] >= 4
    found = whose(release, table)
    assert persons_per_class(found) >= 4
    if "keep_links" in mode:
        assert min(sequences(found, "whose", [*QUASI, "weight"]).values()) >= 4
    else:
        assert several_values(found) == 1
