"""Persons instead of rows: units as codes, groups of k persons, the recount, and the order of released rows."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.api.evaluation import evaluate
from shoal.errors import DataError, GroupTooSmall, ParameterError, SchemaError
from shoal.flow import released as released_stage
from shoal.flow.row_order import draw_order
from shoal.flow.units import read_units
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.requirements import Of, Requirements
from shoal.tables import Table

QUASI = ["age", "income"]
ROW = pl.col("row")


def stays(persons=60, seed=0, most=5):
    """A table of persons with several rows each, whose values lie near each other: the hard case."""
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(persons), rng.integers(1, most + 1, persons)))
    base = rng.normal(size=(persons, 2))
    n = unit.size
    return pl.DataFrame({
        "patient": [f"p{number}" for number in unit],
        "age": (45 + 12 * (base[unit, 0] + 0.1 * rng.normal(size=n))).round().astype(int),
        "income": (3000 + 900 * (base[unit, 1] + 0.1 * rng.normal(size=n))).round(1),
        "diagnosis": rng.choice(list("abcde"), n),
        "row": np.arange(n),
    })  # fmt: skip


def persons_per_class(release, table, unit="patient", quasi=QUASI):
    """Count persons in each class of a release by plain polars, from the order of its rows."""
    whose = table[unit].gather(release.released.order.original_rows)
    return release.data.with_columns(whose.alias("whose")).group_by(quasi).agg(pl.col("whose").n_unique())["whose"]


def protect(table, k=5, **given):
    return shoal.protect(table, k, quasi=QUASI, unit="patient", **({"unnamed": "other", "method": "mdav"} | given))


@pytest.mark.parametrize("method", ["mdav", "mondrian", "ona-star", "auto"])
@pytest.mark.parametrize("further", [{}, {"global_recoding": True}, {"l": 3, "confidential": ["diagnosis"]}])
def test_every_class_has_k_persons(method, further):
    table = stays()
    release = protect(table, method=method, **further)
    counted = persons_per_class(release, table)
    assert counted.min() == release.k >= 5
    assert release.classes.of == Of.UNITS
    assert release.manifest["k"]["of"] == "units"


def test_counting_rows_is_caught(monkeypatch):
    """The wrong version: groups of k rows that pass as groups of k persons."""
    monkeypatch.setattr("shoal.flow.satisfy._units_satisfied", lambda grouped, *_: grouped)
    with pytest.raises(GroupTooSmall, match="fewer than k=5 persons"):
        protect(stays())


def test_the_written_file_is_counted_by_persons(tmp_path, monkeypatch):
    release = protect(stays())
    units = release.grouping.labels // 2  # the same table with fewer persons
    monkeypatch.setattr(release, "released", released_stage.replace(release.released, units=units))
    with pytest.raises(GroupTooSmall, match="as written"):
        release.write(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("extension", ["csv", "parquet", "csv.gz", "feather"])
def test_a_recount_outside_from_file_and_record(tmp_path, extension):
    table = stays(seed=3)
    table.write_csv(tmp_path / "stays.csv")
    release = shoal.protect(tmp_path / "stays.csv", 5, quasi=QUASI, unit="patient", unnamed="other", method="mdav")
    path = tmp_path / f"safe.{extension}"
    paths = release.write(path)
    read = {"csv": pl.read_csv, "csv.gz": pl.read_csv, "parquet": pl.read_parquet, "feather": pl.read_ipc}[extension]
    record = pl.read_parquet(next(path for path in paths if "holder" in path.name))
    whose = pl.DataFrame({"patient": table["patient"], "at": record["released_row"]}).sort("at")["patient"]
    counted = read(path).with_columns(whose).group_by(QUASI).agg(pl.col("patient").n_unique())
    assert counted["patient"].min() >= 5
    assert read(path).columns == ["age", "income", "diagnosis", "row"]


def test_persons_follow_the_order_of_the_released_rows():
    table = stays()
    release = protect(table).released
    whose = table["patient"].gather(release.order.original_rows).to_list()
    found = release.persons.unit
    assert len(set(zip(whose, found.tolist(), strict=True))) == len(set(whose)) == release.persons.persons
    assert (release.units == found).all()
    rows = shoal.protect(table, 5, quasi=QUASI, unit="patient", unnamed="other", method="mdav", of="rows").released
    assert rows.units is None
    assert rows.persons.persons == len(set(whose))


def test_one_row_a_person_gives_the_labels_of_today():
    table = stays(most=1)
    order = shoal.protect(table.drop("patient"), 5, quasi=QUASI, unnamed="other", method="mdav")
    release = protect(table)
    rows = release.released.order.original_rows
    assert np.array_equal(release.data["row"].to_numpy(), rows)
    assert release.data.sort("row").equals(order.data)


def test_renaming_units_changes_no_group():
    table = stays(seed=5)
    names = dict(zip(sorted(set(table["patient"])), np.random.default_rng(1).permutation(10_000), strict=False))
    renamed = table.with_columns(pl.Series("patient", [int(names[name]) for name in table["patient"]]))
    one, two = (protect(frame).data.sort("row") for frame in (table, renamed))
    assert one.equals(two)


def test_copies_of_a_row_are_no_persons():
    """Ten copies of a row in its class change no number of persons, so they cannot replace a person."""
    table = stays(persons=12, most=2)
    row = table.filter(pl.col("patient") == "p0")[:1]
    copied = pl.concat([table, *[row] * 5])
    release = protect(copied, k=4, accept_relinking=True)
    assert persons_per_class(release, copied).min() >= 4


def test_rows_are_released_in_a_random_order_that_the_seed_does_not_give():
    table = stays()
    one, two = protect(table), protect(table)
    assert one.data["row"].to_list() != table["row"].to_list()
    assert one.data["row"].to_list() != two.data["row"].to_list()
    assert one.data.sort("row").equals(two.data.sort("row"))
    neighbours = table["patient"].gather(one.released.order.original_rows)
    together = (neighbours[1:] == neighbours[:-1]).mean()
    assert together < 0.1


def test_a_copy_of_a_release_does_not_know_whose_rows_are_whose(tmp_path):
    import pickle

    release = protect(stays())
    loaded = pickle.loads(pickle.dumps(release))
    assert loaded.released.order is None
    assert loaded.released.units is None
    labels = loaded.grouping.labels
    assert loaded.data.with_columns(group=labels).group_by("group").agg(pl.col("age").n_unique())["age"].max() == 1
    with pytest.raises(ParameterError, match="loaded or copied"):
        loaded.write(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []


def test_tables_without_a_unit_keep_their_order():
    table = stays()
    release = shoal.protect(table, 5, quasi=QUASI, identifiers=["patient"], unnamed="other", method="mdav")
    assert release.data["row"].to_list() == table["row"].to_list()
    assert "of" not in release.manifest["k"]
    assert "persons" not in release.manifest["input"]
    assert draw_order(release.schema, 5) is None


def test_households_are_counted():
    table = stays().with_columns(home=pl.col("patient").str.slice(1).cast(int) // 3)
    release = protect(table, household="home", of="households", k=4)
    assert persons_per_class(release, table, "home").min() == release.k >= 4
    assert "home" not in release.data.columns


def test_rows_can_still_be_counted():
    table = stays()
    release = protect(table, of="rows")
    assert release.k == release.data.group_by(QUASI).len()["len"].min()
    assert release.classes.of == Of.ROWS
    assert persons_per_class(release, table).min() < 5


def test_strata_and_patterns_have_k_persons_each():
    table = stays(persons=40).with_columns(region=pl.when(pl.col("patient").str.ends_with("1")).then(1).otherwise(2))
    with pytest.raises(DataError, match="strata have fewer than k=5 persons"):
        protect(table, strata=["region"])
    release = protect(table, strata=["region"], k=3)
    assert persons_per_class(release, table, quasi=[*QUASI, "region"]).min() >= 3


def test_a_pattern_of_many_rows_of_few_persons_joins_another():
    table = stays(persons=40, most=4)
    few = table["patient"].is_in(["p1", "p2", "p3"])
    table = table.with_columns(income=pl.when(few).then(None).otherwise(pl.col("income")))
    assert few.sum() >= 5  # enough rows, not enough persons
    release = protect(table, missing="by-pattern", k=5, accept_loss=True)
    assert persons_per_class(release, table).min() >= 5


@pytest.mark.parametrize(
    ("change", "given", "problem"),
    [
        ({"patient": pl.when(ROW < 2).then(None).otherwise(pl.col("patient"))}, {}, "2 rows have no value in"),
        ({}, {"k": 61}, "k=61 needs at least 61 persons, the table has 60 persons"),
        ({"patient": pl.when(ROW % 3 > 0).then(pl.lit("x")).otherwise(pl.col("patient"))}, {}, "as if it stood"),
        ({"when": pl.lit(1)}, {"time": "when"}, "rows have the same time"),
        ({"when": pl.when(ROW == 1).then(None).otherwise(ROW)}, {"time": "when"}, "no value in the t"),
        ({"when": pl.lit("soon")}, {"time": "when"}, "holds text"),
        ({}, {"of": "households"}, "no column says which persons"),
        ({}, {"of": "people"}, 'of="people"'),
        ({"home": pl.lit(None)}, {"household": "home"}, 'no value in the household "home"'),
    ],
)  # fmt: skip
def test_bad_units_give_one_sentence(change, given, problem):
    with pytest.raises(shoal.errors.ShoalError) as raised:
        protect(stays(most=8).with_columns(**change), **({"k": 5} | given))
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_unit_has_one_role():
    table = stays()
    with pytest.raises(SchemaError, match="two roles, a quasi-identifier and the unit"):
        shoal.protect(table, 5, quasi=[*QUASI, "patient"], unit="patient", unnamed="other")
    with pytest.raises(SchemaError, match="dropped as the unit"):
        protect(table, known=["patient"])
    with pytest.raises(SchemaError, match="cannot be a stratum and the unit"):
        protect(table, strata=["patient"])
    with pytest.raises(ParameterError, match="of=units counts persons"):
        shoal.protect(table, 5, quasi=QUASI, of="units", unnamed="other")


def test_a_time_is_dropped_unless_it_has_another_role():
    table = stays().with_columns(year=pl.int_range(pl.len()) + 2000)
    assert "year" not in protect(table, time="year").data.columns
    release = protect(table, time="year", other=["year"])
    assert "year" in release.data.columns
    assert release.schema.time == "year"
    assert release.schema["year"].role == Role.OTHER
    assert protect(table.drop("row"), time="year").schema["year"].role == Role.TIME


def test_the_order_of_a_history_follows_the_time():
    frame = pl.DataFrame({"id": ["b", "a", "b", "b"], "day": ["3", "1", "10", "2"]})
    roles = (Column("id", Role.UNIT, Kind.NOMINAL), Column("day", Role.TIME, Kind.NUMERIC))
    index = read_units(Table.from_native(frame.with_columns(pl.col("day").cast(int))), Schema(roles))
    assert index.order.tolist() == [1, 0, 2, 0]
    assert index.unit.tolist() == [0, 1, 0, 0]
    without = read_units(Table.from_native(frame.drop("day")), Schema(roles[:1]))
    assert without.order.tolist() == [0, 0, 1, 2]


def test_times_of_a_file_are_numbers(tmp_path):
    frame = pl.DataFrame({"id": ["b", "a", "b", "b"], "day": [3, 1, 10, 2], "age": [1, 2, 3, 4]})
    frame.write_csv(tmp_path / "stays.csv")
    table, schema = shoal.load_table(tmp_path / "stays.csv", quasi=["age"], unit="id", time="day")
    assert read_units(table, schema).order.tolist() == [1, 0, 2, 0]


def test_the_second_release_keeps_k_persons(tmp_path):
    table = stays()
    release = protect(table)
    paths = release.write(tmp_path / "first.csv")
    record = next(path for path in paths if "holder" in path.name)
    more = pl.concat([table[20:], stays(persons=20, seed=9).with_columns(patient="q" + pl.col("patient"))])
    second = protect(more, previous=record)
    assert persons_per_class(second, more).min() >= 5
    assert second.released.second.kept > 50


def test_verify_counts_persons_of_a_release(tmp_path):
    table = stays()
    paths = protect(table).write(tmp_path / "safe.csv")
    record = next(path for path in paths if "holder" in path.name)
    given = {"quasi": QUASI, "unnamed": "other"}
    found = shoal.verify(paths[0], 5, **given, original=table, record=record)
    assert (found.of, found.k) == (Of.UNITS, 5)
    with pytest.raises(DataError, match="in another order"):
        shoal.verify(paths[0], 5, **given, original=table, unit="patient")
    rows = shoal.verify(paths[0], 5, **given, unit="patient")
    assert rows.of == Of.ROWS
    assert "k counts records" in shoal.assess(paths[0], **given, unit="patient").notes[0]
    assert "k counts records" in shoal.assess(paths[0], schema=protect(table).schema).notes[0]
    other = protect(stays(seed=8, persons=60)[: table.height]).write(tmp_path / "other.csv")
    with pytest.raises(DataError):
        shoal.verify(paths[0], 5, **given, original=table, record=next(p for p in other if "holder" in p.name))
    rows_only = shoal.protect(table, 5, quasi=QUASI, unit="patient", of="rows", unnamed="other", method="mdav")
    paths = rows_only.write(tmp_path / "rows.csv")
    record = next(path for path in paths if "holder" in path.name)
    with pytest.raises(GroupTooSmall, match="persons"):
        shoal.verify(paths[0], 5, **given, original=table, record=record)


def test_assess_counts_persons_of_any_table():
    table = stays()
    found = shoal.assess(table, quasi=["age"], unit="patient", unnamed="other")
    per_class = table.group_by("age").agg(pl.col("patient").n_unique())["patient"]
    assert found.k == per_class.min()
    assert found.of == Of.UNITS
    assert int(found.sizes.min()) == table.group_by("age").len()["len"].min()
    assert found.to_dict()["of"] == "units"
    wild = shoal.assess(
        table.with_columns(age=pl.when(pl.col("row") < 9).then(None).otherwise(pl.col("age"))),
        quasi=["age"], unit="patient", unnamed="other", missing_semantics="wildcard",
    )  # fmt: skip
    assert wild.k >= 1


def test_evaluate_puts_the_rows_in_order_by_the_record(tmp_path):
    table = stays()
    release = protect(table)
    paths = release.write(tmp_path / "safe.csv")
    record = next(path for path in paths if "holder" in path.name)
    given = {"quasi": QUASI, "unit": "patient", "unnamed": "other"}
    risk, _ = evaluate(table, paths[0], **given, record=record)
    linked = {attack.name: attack.success.value for attack in risk.attacks}
    expected = {attack.name: attack.success.value for attack in release.risk.attacks}
    assert linked["record-linkage"] == pytest.approx(expected["record-linkage"])
    with pytest.raises(DataError, match="in another order"):
        evaluate(table, paths[0], **given)


def test_the_schema_states_units(tmp_path):
    from shoal.schema.plan import schema_dict
    from shoal.schema.toml import format_schema

    table = stays().with_columns(year=pl.col("row"), home=pl.lit(1))
    release = protect(table, time="year", household="home", other=["year"])
    text = format_schema(release.schema)
    again = shoal.protect(table, 5, schema=text, method="mdav")
    assert (again.schema.unit, again.schema.household, again.schema.time) == ("patient", "home", "year")
    assert again.schema["year"].role == Role.OTHER
    assert again.plan.digest() == release.plan.digest()
    columns = {column["name"]: column for column in schema_dict(release.schema)["columns"]}
    assert columns["patient"]["role"] == "unit"
    assert columns["year"]["time"] is True
    stated = {entry["name"]: entry for entry in release.manifest["schema"]["columns"]}
    assert stated["patient"] == {"name": "patient", "role": "unit", "kind": "nominal", "dropped": True}
    with pytest.raises(SchemaError, match="both given as the unit"):
        Schema((Column("a", Role.UNIT, Kind.NOMINAL), Column("b", Role.UNIT, Kind.NOMINAL)))


def test_requirements_name_what_k_counts():
    plain = Schema((Column("age", Role.QUASI, Kind.NUMERIC),))
    assert Requirements(k=5).counting(plain) == Of.ROWS
    assert Of.HOUSEHOLDS.amount(1) == "1 household"


def test_columns_that_relink_rows_stop_the_run(tmp_path):
    table = stays().with_columns(born=pl.col("patient").str.slice(1).cast(int) + 1900)
    with pytest.raises(shoal.errors.LinksNotAccepted, match=r'through "born".*accept_relinking'):
        protect(table)
    accepted = protect(table, accept_relinking=True)
    assert "relinking" in [remark.code for remark in accepted.remarks]
    assert "relinking" not in [remark.code for remark in protect(table.drop("born")).remarks]


def test_rows_instead_of_persons_are_a_remark():
    remarks = {remark.code: remark.text for remark in protect(stays(), of="rows").remarks}
    assert "fewer than 5 different persons" in remarks["few-persons"]
