"""Histories end to end: equal sequences recounted from the file by polars, codes, rows kept, and wrong versions."""

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.api.evaluation import evaluate
from shoal.core.equal_histories import histories_per_class, history_states
from shoal.errors import DataError, GroupTooSmall, ParameterError, RequirementNotMet
from shoal.flow import group_persons
from shoal.flow.row_order import draw_order
from shoal.flow.units import UnitIndex
from shoal.schema.requirements import Of

QUASI = ["age", "sex", "dose"]
READ = {"csv": pl.read_csv, "csv.gz": pl.read_csv, "parquet": pl.read_parquet, "feather": pl.read_ipc}


def visits(persons=60, seed=0, most=5):
    """Visits of patients in the order of neither person nor time; age and sex are constant."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, persons)
    unit = np.repeat(np.arange(persons), sizes)
    day = np.concatenate([np.sort(rng.permutation(40)[:size]) for size in sizes])
    age, sex = rng.integers(20, 80, persons), rng.choice(["f", "m"], persons)
    n = unit.size
    frame = pl.DataFrame({
        "patient": [f"p{number}" for number in unit], "age": age[unit], "sex": sex[unit],
        "dose": (10 + 3 * rng.normal(size=n) + 0.3 * day).round(1), "day": day, "row": np.arange(n),
    })  # fmt: skip
    return frame[rng.permutation(n)]


def protect(table, k=4, **given):
    choices = {"quasi": QUASI, "unit": "patient", "time": "day", "other": ["row"], "keep_links": True} | given
    return shoal.protect(table, k, **choices)


def record_of(paths):
    return next(path for path in paths if "holder" in path.name)


def original_order(table, record):
    """The original's rows that are released, in the order of the release."""
    rows = pl.read_parquet(record).select("released_row")
    return pl.concat([table, rows], how="horizontal").filter(pl.col("released_row") >= 0).sort("released_row")


def sequences(frame, by, names=("age", "sex", "dose")):
    """How many persons have each sequence of released values, in the order of the frame."""
    grouped = frame.group_by(by, maintain_order=True).agg(pl.struct(names).alias("rows"))
    return Counter(str(rows.to_list()) for rows in grouped["rows"])


@pytest.mark.parametrize("extension", list(READ))
def test_equal_sequences_recounted_outside_from_the_file(tmp_path, extension):
    table = visits(seed=2)
    path = tmp_path / f"safe.{extension}"
    release = protect(table)
    paths = release.write(path)
    released = READ[extension](path)
    assert released.columns == ["patient", "age", "sex", "dose", "row"]
    assert min(sequences(released, "patient").values()) == release.k >= 4
    whose = original_order(table, record_of(paths))
    assert whose["row"].to_list() == released["row"].to_list()  # no row is invented, and the record knows each
    true = released.with_columns(whose["patient"].alias("whose"), whose["day"])
    assert true.group_by("whose").agg(pl.col("patient").n_unique())["patient"].max() == 1
    assert true.group_by("patient").agg(pl.col("whose").n_unique())["whose"].max() == 1
    in_time = true.group_by("patient", maintain_order=True).agg((pl.col("day").diff() > 0).all())
    assert in_time["day"].all()
    assert min(sequences(true.sort("whose", "day"), "whose").values()) >= 4


def test_without_links_sequences_are_equal_and_rows_are_shuffled(tmp_path):
    table = visits(seed=3)
    release = protect(table, keep_links=None, of="histories")
    paths = release.write(tmp_path / "safe.csv")
    assert "patient" not in release.data.columns
    whose = original_order(table, record_of(paths))
    true = pl.read_csv(paths[0]).with_columns(whose["patient"], whose["day"]).sort("patient", "day")
    assert min(sequences(true, "patient").values()) >= 4
    neighbours = whose["patient"]
    assert (neighbours[1:] == neighbours[:-1]).mean() < 0.2
    found = shoal.verify(paths[0], 4, quasi=QUASI, other=["row"], original=table, record=record_of(paths))
    assert (found.of, found.k) == (Of.HISTORIES, release.k)


def _other_lengths(points, units, k, **given):
    """The wrong version: rows that some members lack stay in a class of the others, so that lengths differ."""
    found = REAL(points, units, k, **given)
    return found._replace(slots=np.maximum(found.slots, 0))


def _by_row_number(points, units, k, **given):
    """The wrong version: histories are sorted by the number of the row instead of the time."""
    return REAL(points, units, k, **(given | {"time": np.arange(units.size)}))


def _equal_sets(points, units, k, **given):
    """The wrong version: members of a group have the same classes, in an order of their own."""
    found = REAL(points, units, k, **given)
    slots = found.slots.copy()
    for person in range(0, int(units.max()) + 1, 2):
        rows = np.flatnonzero((units == person) & (slots >= 0))
        slots[rows] = slots[rows][::-1]
    return found._replace(slots=slots)


REAL = group_persons.history_groups


@pytest.mark.parametrize("wrong", [_other_lengths, _by_row_number, _equal_sets])
@pytest.mark.parametrize("links", [True, None])
def test_wrong_sequences_are_caught(monkeypatch, wrong, links):
    monkeypatch.setattr(group_persons, "history_groups", wrong)
    with pytest.raises(GroupTooSmall, match="fewer than k=4 histories"):
        protect(visits(), keep_links=links, of="histories")


def test_padding_with_invented_rows_is_caught(monkeypatch):
    """The wrong version: histories that are too short get a row twice."""
    real = group_persons.Prepared.part

    def padded(prepared, rows):
        return real(prepared, np.sort(np.append(rows, rows[:3])))

    monkeypatch.setattr(group_persons.Prepared, "part", padded)
    with pytest.raises(ParameterError, match="each row at most once"):
        protect(visits())


@pytest.mark.parametrize("wrong", [_other_lengths, _by_row_number, _equal_sets])
def test_wrong_sequences_are_caught_in_the_written_file(monkeypatch, tmp_path, wrong):
    """With the count of the finished table switched off, the count of the bytes refuses the same versions."""
    monkeypatch.setattr(group_persons, "history_groups", wrong)
    monkeypatch.setattr("shoal.flow.released.verify_k", lambda *given: shoal.privacy.k_anonymity.count_classes(
        given[0], given[1], given[3], given[4], given[5]))  # fmt: skip
    release = protect(visits())
    with pytest.raises(GroupTooSmall, match="as written"):
        release.write(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [None, _other_lengths, _by_row_number, _equal_sets])
def test_the_recount_outside_can_fail(monkeypatch, tmp_path, wrong):
    """With both counts of Shoal switched off, polars finds the wrong versions in the file, by the original's unit."""
    table = visits(seed=2)
    if wrong is not None:
        monkeypatch.setattr(group_persons, "history_groups", wrong)
        monkeypatch.setattr("shoal.flow.released.verify_k", lambda *given: shoal.privacy.k_anonymity.count_classes(
            given[0], given[1], given[3], given[4], given[5]))  # fmt: skip
        monkeypatch.setattr("shoal.flow.recount_file.require_k", lambda *_: None)
    paths = protect(table).write(tmp_path / "safe.csv")
    whose = original_order(table, record_of(paths))
    found = pl.read_csv(paths[0]).with_columns(whose["patient"].alias("whose"), whose["day"]).sort("whose", "day")
    assert (min(sequences(found, "whose").values()) >= 4) == (wrong is None)


def test_codes_that_join_persons_are_caught(monkeypatch):
    from shoal.flow import released

    monkeypatch.setattr(
        released, "with_code", lambda table, name, codes, real=released.with_code: real(table, name, codes // 2)
    )
    with pytest.raises(RequirementNotMet, match="one for each person"):
        protect(visits())


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(["last", "first", "time"]), st.integers(1, 8))
def test_random_tables_have_k_equal_sequences(seed, k, slots, most):
    table = visits(persons=k + seed % 12, seed=seed, most=most)
    if slots == "time":  # days that all persons have, so that a row is left
        table = pl.concat([table, table.unique("patient", maintain_order=True).with_columns(day=pl.lit(99, pl.Int64))])
    release = protect(table, k, slots=slots, accept_loss=True)
    assert min(sequences(release.data, "patient").values()) >= k
    assert release.data.height == release.manifest["person_groups"]["rows_kept"]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=30), st.integers(0, 99))
def test_histories_are_counted_as_by_lists(rows, seed):
    labels, units = (np.array(column) for column in zip(*rows, strict=True))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    order = np.random.default_rng(seed).permutation(labels.size)
    lists = {unit: tuple(labels[i] for i in np.argsort(order) if units[i] == unit) for unit in set(units.tolist())}
    count = Counter(lists.values())
    states, persons = history_states(labels, units.astype(np.int64), order)
    for i in range(labels.size):
        for j in range(labels.size):
            assert (states[persons[i]] == states[persons[j]]) == (lists[units[i]] == lists[units[j]])
    expected = [min(count[lists[u]] for u in units[labels == label]) for label in range(int(labels.max()) + 1)]
    assert histories_per_class(labels, units.astype(np.int64), order).tolist() == expected


def test_codes_follow_from_the_key_only():
    release = protect(visits())
    schema, persons = release.schema, UnitIndex(np.array([0, 0, 1, 2]), None, np.array([0, 1, 0, 0]))
    one, same, other = (draw_order(schema, 4, bytes([key]) * 32, units=persons) for key in (1, 1, 3))
    assert one.codes.tolist() == same.codes.tolist() == sorted(one.codes.tolist())
    assert one.original_rows.tolist() != other.original_rows.tolist()
    two = protect(visits())
    assert release.data["row"].to_list() != two.data["row"].to_list()
    assert release.data.drop("patient").sort("row").equals(two.data.drop("patient").sort("row"))
    assert release.data["patient"].unique(maintain_order=True).to_list() == list(range(1, 61))


def test_no_value_of_the_unit_is_released(tmp_path):
    table = visits().with_columns(patient="secret-" + pl.col("patient"))
    for path in protect(table).write(tmp_path / "safe.parquet", public_report=tmp_path / "public.html"):
        assert b"secret-" not in path.read_bytes()


def test_rows_kept_are_stated_everywhere(tmp_path):
    table = visits(seed=4)
    release = protect(table)
    left = table.height - release.data.height
    assert left > 0
    assert release.manifest["input"]["records"] == table.height
    assert release.manifest["output"]["records"] == release.data.height
    entry = release.manifest["person_groups"]
    assert (entry["links"], entry["rows_kept"], entry["rows_suppressed"]) == ("kept", release.data.height, left)
    remarks = {remark.code: remark.text for remark in release.remarks}
    assert remarks["rows-suppressed"].startswith(f"{left} rows are not released")
    release.report(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text()
    assert f"{release.data.height:,} of {table.height:,}" in shown
    assert "equal sequences of released rows" in shown
    assert "person_groups" not in shoal.protect(table, 4, quasi=QUASI, unit="patient", unnamed="other").manifest


def test_the_loss_counts_suppressed_rows_against_the_whole_table():
    table = visits(seed=4)
    release = protect(table, decimals="full", sums="exact")
    whole = table["dose"].to_numpy()
    kept = table[release.released.order.original_rows]
    error = ((kept["dose"].to_numpy() - release.data["dose"].to_numpy()) ** 2).sum()
    gone = table.filter(~pl.col("row").is_in(kept["row"].to_list()))["dose"].to_numpy()
    expected = (error + ((gone - whole.mean()) ** 2).sum()) / ((whole - whole.mean()) ** 2).sum()
    assert release.loss.columns["dose"].information_loss == pytest.approx(expected)


def test_a_weight_keeps_more_rows():
    table = visits(seed=5, most=9)
    cheap, dear = (protect(table, suppressed_weight=price).data.height for price in (0.1, 30))
    assert cheap < dear


def test_slots_by_time_have_equal_times():
    table = visits(seed=6).with_columns(day=pl.col("day") // 14)
    table = table.unique(["patient", "day"], keep="first", maintain_order=True)
    release = protect(table, slots="time", accept_loss=True)
    whose = table[release.released.order.original_rows]
    found = release.data.with_columns(whose["day"], group=release.grouping.labels)
    assert found.group_by("group").agg(pl.col("day").n_unique())["day"].max() == 1


def test_verify_counts_by_the_code(tmp_path):
    table = visits()
    paths = protect(table).write(tmp_path / "safe.csv")
    given = {"quasi": QUASI, "unnamed": "other", "unit": "patient"}
    found = shoal.verify(paths[0], 4, **given, keep_links=True)
    assert (found.of, found.k) == (Of.HISTORIES, 4)
    with pytest.raises(GroupTooSmall, match="histories"):
        shoal.verify(paths[0], 5, **given, of="histories")
    both = shoal.verify(paths[0], 4, **given, original=table, record=record_of(paths))
    assert (both.of, both.k) == (Of.HISTORIES, 4)
    swapped = pl.read_csv(paths[0])
    first = swapped.filter(pl.col("patient").count().over("patient") > 1)["patient"][0]
    swapped = pl.concat([swapped.filter(pl.col("patient") != first), swapped.filter(pl.col("patient") == first)[::-1]])
    with pytest.raises(GroupTooSmall):  # the same rows in another order are another history
        shoal.verify(swapped, 4, **given, keep_links=True)
    with pytest.raises(ParameterError, match="distinct"):
        shoal.verify(swapped.with_columns(age=None), 4, **given, keep_links=True, missing_semantics="wildcard")
    from shoal.api.release_check import verify_release

    check = verify_release(paths[0], tmp_path / "safe.manifest.json")
    assert check.satisfied
    assert "4 histories requested, 4 counted" in check.checks[2].text
    swapped.write_csv(paths[0])
    assert not verify_release(paths[0], tmp_path / "safe.manifest.json").checks[2].holds


def test_evaluate_and_risk_use_the_rows_that_are_left(tmp_path):
    table = visits(seed=4)
    release = protect(table)
    paths = release.write(tmp_path / "safe.csv")
    risk, _ = evaluate(table, paths[0], quasi=QUASI, unit="patient", other=["row"], time="day", record=record_of(paths))
    linked = {attack.name: attack.success.value for attack in risk.attacks}
    expected = {attack.name: attack.success.value for attack in release.risk.attacks}
    assert linked["record-linkage"] == pytest.approx(expected["record-linkage"])
    assert release.utility is not None
    with pytest.raises(DataError, match="records"):
        evaluate(table, paths[0], quasi=QUASI, unit="patient", other=["row"], time="day")


def test_links_with_another_count_state_who_is_alone():
    release = protect(visits(), of="units", method="mdav")
    assert release.classes.of == Of.UNITS
    remarks = {remark.code: remark.text for remark in release.remarks}
    assert "% of the persons are the only ones" in remarks["linked-persons"]
    assert "linked-persons" not in {remark.code for remark in protect(visits()).remarks}


def test_histories_do_not_stop_at_columns_that_relink():
    table = visits().with_columns(born=pl.col("patient").str.slice(1).cast(int) + 1900)
    choices = {"other": ["row", "born"], "keep_links": None, "method": "auto"}
    with pytest.raises(shoal.errors.LinksNotAccepted, match=r"of=.histories"):
        protect(table, **choices, of="units")
    assert protect(table, **choices, of="histories").k >= 4


@pytest.mark.parametrize(
    ("change", "given", "problem"),
    [
        ({"patient": pl.when(pl.col("row") < 2).then(None).otherwise(pl.col("patient"))}, {}, "no value in the unit"),
        ({}, {"k": 61}, "k=61 needs at least 61 histories, the table has 60 histories"),
        ({"day": pl.lit(1)}, {}, "rows have the same time"),
        ({"day": pl.when(pl.col("row") == 1).then(None).otherwise(pl.col("day"))}, {}, "no value in the t"),
        ({}, {"quasi": [*QUASI, "patient"]}, "two roles"),
        ({}, {"unit": None, "other": ["row", "patient"], "time": None, "identifiers": ["day"]}, "links are kept"),
        ({}, {"unit": None, "keep_links": None, "of": "histories", "unnamed": "other"}, "of=histories counts"),
        ({}, {"method": "mdav"}, 'leave out method "mdav"'),
        ({}, {"effort": "best"}, "leave out options"),
        ({}, {"max_size": 9}, "leave max_size out"),
        ({}, {"global_recoding": True}, "leave global_recoding out"),
        ({}, {"slots": "middle"}, "slots="),
        ({}, {"suppressed_weight": -1}, "suppressed_weight=-1"),
        ({}, {"slots": "time", "time": None, "identifiers": ["day"]}, "name the time"),
        ({}, {"of": "units", "slots": "first"}, "slots is about histories"),
        ({}, {"weighting": "persons"}, "weighting does not apply"),
        ({"region": pl.col("row") % 2}, {"strata": ["region"], "k": 3}, "rows in several strata"),
        ({"ward": pl.lit("a")}, {"confidential": ["ward"], "l": 2}, "is not achievable"),
        ({"ward": (pl.col("row") == 1).cast(int)}, {"confidential": ["ward"], "l": 2}, "was not reached"),
    ],
)  # fmt: skip
def test_bad_input_gives_one_sentence(change, given, problem):
    with pytest.raises(shoal.errors.ShoalError) as raised:
        protect(visits().with_columns(**change), **given)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_requirements_that_hold_are_released_with_histories():
    table = visits(seed=7).with_columns(ward=pl.Series(np.random.default_rng(0).integers(0, 50, visits(seed=7).height)))
    release = protect(table, confidential=["ward"], l=2)
    assert release.assessment.l >= 2


def test_strata_that_are_constant_within_persons():
    table = visits().with_columns(region=pl.col("sex"))
    release = protect(table, quasi=["age", "dose"], strata=["region"], other=["row", "sex"])
    assert min(sequences(release.data, "patient", ["age", "dose", "region"]).values()) >= 4


def test_the_plan_states_histories(tmp_path):
    from shoal.schema.toml import format_schema

    release = protect(visits(), slots="first", suppressed_weight=2, constant=["age"])
    again = shoal.protect(visits(), 4, schema=format_schema(release.schema), slots="first", suppressed_weight=2)
    assert again.plan.digest() == release.plan.digest()
    plan = release.plan.to_dict()
    assert plan["persons"] == {"slots": "first", "suppressed_weight": 2.0}
    assert plan["schema"]["keep_links"] is True
    stated = {entry["name"]: entry for entry in release.manifest["schema"]["columns"]}
    assert stated["patient"] == {"name": "patient", "role": "unit", "kind": "nominal", "replaced": "random code"}
    assert stated["age"]["constant"] is True
    json.dumps(release.manifest)
    assert (
        "person_groups" not in shoal.protect(visits(), 4, quasi=QUASI, unit="patient", unnamed="other").plan.to_dict()
    )


@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_other_libraries(backend):
    table = visits()
    native = table.to_pandas() if backend == "pandas" else table.to_arrow()
    release = protect(native)
    assert min(sequences(pl.DataFrame(release.data), "patient").values()) >= 4


def test_spss_labels_of_the_unit_are_not_released(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    table = visits().with_columns(patient=pl.col("patient").str.slice(1).cast(int))
    labels = {"patient": {float(number): f"Name{number}" for number in range(60)}}
    pyreadstat.write_sav(table.to_pandas(), tmp_path / "visits.sav", variable_value_labels=labels)
    release = protect(tmp_path / "visits.sav")
    release.write(tmp_path / "safe.sav")
    assert b"Name" not in (tmp_path / "safe.sav").read_bytes()
