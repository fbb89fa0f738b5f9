"""Steps before and after grouping: each does what it says, on a part as on the whole, and never costs k."""

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, ParameterError, RequirementNotMet, SchemaError
from shoal.flow.holder_record import HolderRecord
from shoal.flow.step_values import fit_step
from shoal.flow.stepped import fit_steps
from shoal.schema.step_texts import parse_step, stated_step
from shoal.schema.steps import Band, Bottom, Rare, Round, Top
from shoal.tables import Table

from naive import steps as naive

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-40, 40)), min_size=1, max_size=40).filter(
    lambda v: set(v) != {None}
)


def people(n=120, seed=0, persons=None):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in (range(n) if persons is None else rng.integers(0, persons, n))],
            "age": rng.integers(18, 99, n),
            "job": rng.choice(["baker", "painter", "dentist", "judge"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "start": [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 700, n)],
            "wage": np.round(rng.lognormal(8, 1, n), 1),
        }
    )


def schema_of(frame, **choices):
    return shoal.load_table(frame, **choices)


@given(NUMBERS, st.integers(0, 100), st.integers(1, 8), st.booleans())
def test_the_bound_of_a_share_is_held_by_enough(values, percent, least, by_persons):
    owners = [i // 2 for i in range(len(values))] if by_persons else None
    series = pl.Series("x", values, dtype=pl.Int64)
    given_owners = None if owners is None else np.array(owners)
    fitted = fit_step(Top(f"{percent}%"), series, least=least, owners=given_owners)
    assert fitted.bound == naive.top_bound(values, percent / 100, least, owners)
    after = fitted.apply(series)
    known = [i for i, value in enumerate(values) if value is not None]
    holders = {i if owners is None else owners[i] for i in known if after[i] == after.max()}
    every = {i if owners is None else owners[i] for i in known}
    assert len(holders) >= min(least, len(every))
    mirrored = fit_step(Bottom(f"{100 - percent}%"), -series, least=least, owners=given_owners)
    assert mirrored.bound == -fitted.bound
    assert (mirrored.apply(-series) * -1).equals(after, null_equal=True)


def test_clipping_at_the_observed_maximum_is_caught():
    """The wrong version of top 100%: the largest value that one record holds is released as the bound."""
    values = pl.Series("x", [1, 2, 3, 4, 99])
    right = fit_step(Top("100%"), values, least=3, owners=None).apply(values)
    wrong = values.clip(upper_bound=values.max())
    assert (right == right.max()).sum() >= 3
    assert (wrong == wrong.max()).sum() == 1


@given(NUMBERS, st.integers(1, 6), st.booleans(), st.booleans())
def test_rare_values_are_replaced_together_with_enough_others(values, fewest, by_persons, named):
    owners = [i // 3 for i in range(len(values))] if by_persons else None
    texts = [None if value is None else f"v{value % 7}" for value in values]
    step = Rare(fewest, "v0" if named else None)
    fitted = fit_step(step, pl.Series("x", texts, dtype=pl.String), least=2, owners=owners and np.array(owners))
    rare = naive.rare_values(texts, fewest, owners=owners, replacement=step.replacement)
    assert set(fitted.rare) == rare
    expected = [step.replacement if text in rare else text for text in texts]
    assert fitted.apply(pl.Series("x", texts, dtype=pl.String)).to_list() == expected


@given(NUMBERS, st.integers(1, 30))
def test_bands_and_multiples_of_whole_numbers(values, width):
    series = pl.Series("x", values, dtype=pl.Int64)
    banded = fit_step(Band(width), series, least=2, owners=None)
    assert banded.apply(series).to_list() == [naive.band(value, width) for value in values]
    ordered = [naive.band(value, width) for value in sorted({value for value in values if value is not None})]
    assert list(banded.categories) == list(dict.fromkeys(ordered))
    edges = (-10, 0, 7)
    by_edges = fit_step(Band(edges), series, least=2, owners=None).apply(series).to_list()
    assert by_edges == [naive.band(value, edges=edges) for value in values]
    rounded = fit_step(Round(width), series, least=2, owners=None).apply(series)
    for before, after in zip(values, rounded, strict=True):
        assert (before is None) == (after is None)
        assert before is None or (after % width == 0 and abs(2 * (after - before)) <= width)


def test_calendar_ages_decimals_and_mappings():
    dates = pl.Series("d", [dt.date(2024, 5, 17), None, dt.date(999, 12, 1)])
    texts = {
        "band month": ["2024-05", None, "0999-12"], "band quarter": ["2024-Q2", None, "0999-Q4"],
        "band year": ["2024", None, "0999"],
        "round quarter": [dt.date(2024, 4, 1), None, dt.date(999, 10, 1)],
        "top 2000-01-31": [dt.date(2000, 1, 31), None, dt.date(999, 12, 1)],
    }  # fmt: skip
    for text, expected in texts.items():
        assert fit_step(parse_step(text), dates, least=2, owners=None).apply(dates).to_list() == expected
    ages = pl.Series("a", [0, 4, 5, 84, 85, 101])
    found = fit_step(Band("age"), ages, least=2, owners=None).apply(ages).to_list()
    assert found == ["0-4", "0-4", "5-9", "80-84", "85+", "85+"]
    floats = pl.Series("f", [0.12, -0.15, float("nan"), 1e15])
    assert fit_step(Round(0.1), floats, least=2, owners=None).apply(floats).to_list() == [0.1, -0.1, None, 1e15]
    assert fit_step(Band(0.5), floats.head(2), least=2, owners=None).apply(floats.head(2)).to_list() == [
        "0 to under 0.5", "-0.5 to under 0",
    ]  # fmt: skip
    codes = pl.Series("c", [1, 2, 9, None])
    assert fit_step(parse_step('map {"9": null, "2": "1"}'), codes, least=2, owners=None).apply(codes).to_list() == [
        1, 1, None, None,
    ]  # fmt: skip
    step = parse_step('map {"1": "yes", "*": "no"}')
    assert fit_step(step, codes, least=2, owners=None).apply(codes).to_list() == ["yes", "no", "no", None]


@pytest.mark.parametrize("seed", range(4))
def test_a_step_on_a_part_is_the_part_of_the_step_on_the_whole(seed):
    frame = people(90, seed, persons=30)
    table, schema = schema_of(
        frame, quasi=["age", "job", "start"], confidential=["wage"], unit="person",
        before={
            "age": ["bottom 5%", "top 95%", "band 7"], "start": ["shift 40", "round week"],
            "job": ['map {"judge": "other"}', "rare 9 as other"], "wage": ["top 90%", "round 0.5"],
        },
    )  # fmt: skip
    fitted = fit_steps(table, schema, least=4)
    whole = fitted.apply(table).table.native
    rows = np.sort(np.random.default_rng(seed).choice(90, 40, replace=False))
    part = fitted.apply(table.in_order(rows)).table.native
    assert part.equals(whole[rows])


def test_dates_of_a_person_are_shifted_alike_and_by_the_system():
    frame = people(200, 3, persons=40).with_columns(end=pl.col("start") + pl.duration(days=10))
    choices = {"quasi": ["age"], "other": ["start", "end", "job", "wage"], "unit": "person"}
    table, schema = schema_of(frame, **choices, before={"start": "shift 30", "end": "shift 30"})
    first, second = (fit_steps(table, schema).apply(table).table.native for _ in range(2))
    days = (first["start"] - frame["start"]).dt.total_days()
    assert days.abs().max() <= 30
    assert days.n_unique() > 10
    assert (first["end"] - first["start"]).dt.total_days().unique().to_list() == [10]
    shifts = pl.DataFrame({"person": frame["person"], "days": days}).group_by("person").agg(pl.col("days").n_unique())
    assert shifts["days"].to_list() == [1] * shifts.height
    assert not first["start"].equals(second["start"])  # another key


def test_a_shift_that_differs_within_a_person_is_caught():
    """The wrong version: a shift per row breaks the intervals of a person."""
    frame = people(200, 3, persons=40)
    rng = np.random.default_rng(1)
    wrong = frame["start"] + pl.Series(rng.integers(-30, 31, 200)).cast(pl.Duration("ms")) * 86_400_000
    days = (wrong.cast(pl.Date) - frame["start"]).dt.total_days()
    shifts = pl.DataFrame({"person": frame["person"], "days": days}).group_by("person").agg(pl.col("days").n_unique())
    assert shifts["days"].max() > 1


def protected(frame, **choices):
    settings = {"quasi": ["age", "job"], "identifiers": ["person"], "other": ["start"], "confidential": ["wage"]}
    return shoal.protect(frame, 4, method="mdav", **(settings | choices))


def test_a_mapping_applied_after_grouping_only_is_another_release():
    """Grouping must see the mapped values: records with one new category need not be separated any more."""
    frame = people(120)
    mapping = 'map {"baker": "work", "painter": "work", "dentist": "work", "judge": "work"}'
    before = protected(frame, before={"job": mapping}, accept_loss=True)
    after = protected(frame, after={"job": mapping}, accept_loss=True)
    assert before.data["job"].unique().to_list() == after.data["job"].unique().to_list() == ["work"]
    error = [float(((release.data["age"] - frame["age"]) ** 2).sum()) for release in (before, after)]
    assert error[0] < 0.8 * error[1]


def test_steps_change_released_columns_and_only_those():
    frame = people(120)
    release = protected(
        frame, before={"wage": ["top 90%", "round 10"], "age": "band 10"}, shuffle=False,
    )  # fmt: skip
    assert release.data["start"].equals(frame["start"])
    assert (release.data["wage"] % 10 == 0).all()
    assert (release.data["wage"] == release.data["wage"].max()).sum() >= 4
    assert set(release.data["age"]) <= {f"{low}-{low + 9}" for low in range(10, 100, 10)}
    assert release.k >= 4
    plain = protected(frame)
    assert plain.data["wage"].equals(frame["wage"])  # undone by leaving it out
    assert "steps" not in plain.manifest
    assert release.released.stated_plan.digest() != plain.released.stated_plan.digest()
    assert release.manifest["plan"] != plain.manifest["plan"]


def test_a_step_after_grouping_joins_classes_and_counts_cells():
    frame = people(120)
    plain, rounded = protected(frame), protected(frame, after={"age": ["round 20"]})
    assert (rounded.data["age"] % 20 == 0).all()
    assert len(rounded.classes.sizes) <= len(plain.classes.sizes)
    assert rounded.k >= plain.k
    changed = int((plain.data["age"] != rounded.data["age"]).sum())
    assert rounded.manifest["steps"]["columns"]["age"] == {"after": ["round 20"], "changed_after": changed}
    assert rounded.loss.columns["age"].sse > plain.loss.columns["age"].sse


MAPPED = 'map {"baker": "work", "painter": "work"}'


@pytest.mark.parametrize("steps", [{"before": {"age": "band 10"}}, {"after": {"job": MAPPED}}], ids=str)
def test_the_original_is_compared_in_the_form_of_the_release(steps):
    frame = people(120)
    release = protected(frame, **steps, shuffle=False)
    table = Table.from_native(frame)
    assert release.released.paired(table) is not table
    assert protected(frame, shuffle=False).released.paired(table) is table


def test_loss_is_measured_against_the_table_before_all_steps():
    frame = people(120).with_columns(age=pl.col("age").cast(pl.Float64))
    release = protected(frame, quasi=["age"], other=["job", "start"], before={"age": "top 50"})
    x, y = frame["age"].to_numpy(), release.data["age"].to_numpy()
    expected = ((x - y) ** 2).sum() / ((x - x.mean()) ** 2).sum()
    assert release.loss.information_loss == pytest.approx(expected)
    banded = protected(frame, quasi=["age"], other=["job", "start"], before={"age": "band 10"})
    bands = (frame["age"] // 10).to_numpy()
    own = {text: x[bands == int(text.split(" ")[0]) // 10].mean() for text in banded.data["age"].unique()}
    decoded = np.array([own[text] for text in banded.data["age"]])
    assert banded.loss.information_loss == pytest.approx(((x - decoded) ** 2).sum() / ((x - x.mean()) ** 2).sum())
    mapped = protected(
        frame, quasi=["job"], other=["age", "start"], before={"job": 'map {"painter": "baker"}'}, recode="mode"
    )  # fmt: skip
    jobs, released = frame["job"].to_list(), mapped.data["job"].to_list()
    right = sum(
        0.5 if new == "baker" and old in {"baker", "painter"} else float(old == new and new != "baker")
        for old, new in zip(jobs, released, strict=True)
    )
    assert mapped.loss.columns["job"].sse == pytest.approx(len(jobs) - right)


def test_outliers_are_dropped_within_the_limit_and_counted(tmp_path):
    frame = people(120).with_columns(wage=pl.when(pl.int_range(120) < 3).then(1e9).otherwise(pl.col("wage")))
    release = protected(frame, before={"wage": "outliers 50 within 5%"})
    kept = frame.filter(pl.col("wage") < 1e9)
    assert release.data["wage"].equals(kept["wage"])
    assert release.manifest["steps"]["records_dropped"] == 3
    assert release.manifest["input"]["records"] == 120
    assert release.manifest["output"]["records"] == 117
    release.write(tmp_path / "safe.csv")
    record = HolderRecord.read(tmp_path / "safe.holder.parquet")
    assert record.released_rows.tolist() == [-1, -1, -1, *range(117)]
    x, y = frame["age"].to_numpy().astype(float), np.full(120, frame["age"].mean())
    y[3:] = release.data["age"].to_numpy()
    assert release.loss.columns["age"].information_loss == pytest.approx(
        ((x - y) ** 2).sum() / ((x - x.mean()) ** 2).sum()
    )
    with pytest.raises(RequirementNotMet, match=r"would drop 3 of 120 records \(2\.5 %\)"):
        protected(frame, before={"wage": "outliers 50 within 2%"})
    linked = people(120, persons=30).with_columns(wage=pl.when(pl.int_range(120) < 1).then(1e9).otherwise("wage"))
    table, schema = schema_of(
        linked, quasi=["age"], unit="person", unnamed="other", before={"wage": "outliers 50 within 9%"}
    )  # fmt: skip
    left = fit_steps(table, schema).apply(table).table.native
    assert linked["person"][0] not in left["person"].to_list()


def test_rows_are_shuffled_and_the_record_keeps_the_order(tmp_path):
    frame = people(120).with_columns(row=pl.int_range(120))
    frame.write_csv(tmp_path / "people.csv")
    release = protected(frame, other=["start", "row"], shuffle=True)
    rows = release.data["row"].to_list()
    assert rows != list(range(120))
    assert sorted(rows) == list(range(120))
    release.write(tmp_path / "safe.csv")
    record = tmp_path / "safe.holder.parquet"
    released = HolderRecord.read(record).released_rows
    assert [rows[place] for place in released] == list(range(120))
    settings = {"quasi": ["age", "job"], "confidential": ["wage"], "unnamed": "other"}
    files = tmp_path / "people.csv", tmp_path / "safe.csv"
    with pytest.raises(DataError, match="in another order"):
        shoal.evaluate_release(*files, **settings)
    risk, _ = shoal.evaluate_release(*files, **settings, record=record)
    assert risk.classes.prosecutor.highest <= 0.25
    assert release.risk.classes.prosecutor.highest == risk.classes.prosecutor.highest


def test_identifiers_become_codes_whose_key_only_the_record_has(tmp_path):
    frame = people(120)
    release, again = (protected(frame, before={"person": "code"}) for _ in range(2))
    codes = release.data["person"]
    assert codes.n_unique() == 120
    assert not set(codes) & set(frame["person"])
    assert not set(codes) & set(again.data["person"])
    release.write(tmp_path / "safe.parquet", run_file=None)
    key = HolderRecord.read(tmp_path / "safe.holder.parquet").header["steps"]["code_key"]
    table, schema = schema_of(frame, quasi=["age"], identifiers=["person"], unnamed="other", before={"person": "code"})
    found = fit_steps(table, schema, code_key=bytes.fromhex(key)).apply(table).codes["person"]
    assert found.to_list() == codes.to_list()
    assert key not in (tmp_path / "safe.manifest.json").read_text()
    with pytest.raises(DataError, match="which a code would link"):
        protected(people(120, persons=30), before={"person": "code"})


def test_nothing_confidential_is_stated_and_copies_have_no_keys():
    import pickle

    frame = people(120)
    release = protected(frame, before={"job": 'map {"judge": "dentist"}', "person": "code", "start": "shift 9"})
    text = json.dumps(release.manifest)
    assert "map (1 value)" in text
    assert "judge" not in text
    steps = release.released.steps
    stored = pickle.dumps(release)
    assert pickle.loads(stored).released.steps is None
    for key in (steps.shift_key, steps.code_key):
        assert key not in stored
        assert key.hex() not in text
        assert key.hex() not in repr(steps)
    assert stated_step("rare 5 as other") == "rare 5 as other"


def test_a_second_release_shifts_a_person_as_the_first(tmp_path):
    frame = people(120)
    choices = {"quasi": ["age"], "other": ["job"], "before": {"start": "shift 30"}, "confidential": ["start", "wage"]}
    first = protected(frame, **choices)
    first.write(tmp_path / "one.csv")
    second = protected(frame.tail(118), **choices, previous=tmp_path / "one.holder.parquet")
    assert second.data["start"].equals(first.data["start"].tail(118))
    with pytest.raises(ParameterError, match="columns"):
        protected(frame, **(choices | {"before": {"age": "top 60"}}), previous=tmp_path / "one.holder.parquet")


def test_a_run_file_and_a_schema_file_state_the_same_steps(tmp_path):
    frame = people(120)
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "jobs.csv").write_text("baker;craft\npainter;craft\n")
    steps = {"age": ["bottom 20", "band 10"], "job": [f"map {tmp_path / 'jobs.csv'}"], "wage": [Top(9000.5)]}
    release = protected(tmp_path / "people.csv", before=steps, after={"age": 'map {"90-99": "80-89"}'}, shuffle=True)
    release.write(tmp_path / "safe.csv", run_file=tmp_path / "run.toml")
    run = shoal.load_run(tmp_path / "run.toml")
    assert run.plan.digest() == replace(release.released.stated_plan, method=run.plan.method).digest()
    from shoal.schema.toml import format_schema

    table, schema = shoal.load_table(
        tmp_path / "people.csv", schema=format_schema(release.released.stated_plan.schema)
    )  # fmt: skip
    assert [column.before for column in schema.columns] == [c.before for c in run.plan.schema.columns]
    assert schema.shuffle
    again = shoal.run_plan(table, run.plan)
    rows = {tuple(sorted(map(str, part.data.rows()))) for part in (release, again)}
    assert len(rows) == 1


def test_stages_compose_with_steps():
    table, schema = schema_of(people(60), quasi=["age"], unnamed="other", before={"age": "band 20"})
    stepped = shoal.apply_steps(table, schema, least=3)
    prepared = shoal.prepare(stepped.table, shoal.fit_encoding(stepped.table, stepped.schema), steps=stepped)
    plan = shoal.Plan(stepped.schema, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    grouped = shoal.group_records(prepared, plan.requirements, plan.method)
    released = shoal.release_table(plan, prepared, grouped, shoal.recode_table(prepared, grouped))
    assert released.stated_plan.schema == schema
    assert released.k >= 3


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ({"age": "topp 90"}, 'there is no step "topp"; did you mean "top"'),
        ({"age": "top"}, "write, for example, top 90"),
        ({"age": "top high"}, "needs a number"),
        ({"age": "top 101%"}, "from 0% to 100%"),
        ({"age": "top 90.5"}, "must be one too"),
        ({"age": "band 65,18"}, "ascending"),
        ({"age": "band month"}, "needs dates"),
        ({"age": "round 0"}, "above 0"),
        ({"age": "code"}, "a code has no distances"),
        ({"job": "top 3"}, "needs numbers"),
        ({"job": "map {"}, "cannot be read"),
        ({"job": "map nowhere.csv"}, "nowhere.csv"),
        ({"start": "round 10"}, "needs numbers"),
        ({"start": "shift 1.5"}, "whole number"),
        ({"wage": "shift 3"}, "needs dates"),
        ({"person": "top 3"}, "its only step is code"),
        ({"age": "outliers 3"}, "outliers 5 within 1%"),
        ({"height": "top 3"}, "is not in the table"),
        ({"age": 7}, "steps are texts"),
    ],
)
def test_a_wrong_step_is_one_sentence(steps, problem):
    with pytest.raises(shoal.errors.ShoalError, match=problem.replace("(", r"\(")) as found:
        protected(people(40), before=steps)
    assert "\n" not in str(found.value)


def test_steps_in_the_wrong_place():
    with pytest.raises(SchemaError, match="state its steps as before"):
        protected(people(40), after={"wage": "round 10"})
    with pytest.raises(SchemaError, match="state it before grouping"):
        protected(people(40), after={"age": "top 99%"})
    with pytest.raises(SchemaError, match="so that no step can follow"):
        protected(people(40), after={"age": "round 10"}, recode={"age": "range"})
    with pytest.raises(SchemaError, match="sampling weight"):
        protected(people(40), sampling_weight="wage", confidential=None, unnamed="other", before={"wage": "top 5"})
    with pytest.raises(shoal.errors.MissingValues, match="job"):
        protected(people(40), before={"job": "rare 10"})


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_other_libraries_get_their_tables_back(library):
    frame = people(60)
    given = frame.to_pandas() if library == "pandas" else frame.to_arrow()
    steps = {"age": "band 10", "job": "rare 3 as other", "start": "round month", "wage": "top 95%", "person": "code"}
    release = protected(given, before=steps, shuffle=True)
    assert type(release.data) is type(given)
    values = pl.DataFrame(release.data) if library == "pyarrow" else pl.from_pandas(release.data)
    assert values.height == 60
    assert set(values["age"]) <= {f"{low}-{low + 9}" for low in range(10, 100, 10)}
    assert Table.from_native(release.data).names[0] == "person"
