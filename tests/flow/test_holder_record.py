"""The holder's record: found again by keyed hashes, confidential, complete."""

import hashlib
import json
import pickle
import stat
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import FileProblem, ParameterError, SchemaError
from shoal.flow.holder_record import HolderRecord, hashed_columns, holder_record, record_hashes
from shoal.flow.record_matching import match_records
from shoal.tables import Table, read_table

from naive.second_release import matched as naive_matched

KEY = bytes(range(32))
PEOPLE = shoal.datasets.patients(90).select("name", "age", "income", "sex", "diagnosis")
ROLES = {"quasi": ["age", "income", "sex"], "confidential": ["diagnosis"], "identifiers": ["name"]}


def release(people=PEOPLE, k=4, **changes):
    return shoal.protect(people, k, **{"method": "mdav", "accept_loss": True, **ROLES, **changes})


def record_of(people=PEOPLE, **changes):
    return holder_record(release(people, **changes).released, Table.from_native(people))


def hashes(frame, names=None, key=KEY):
    table = Table.from_native(frame)
    return record_hashes(table, names or table.names, key).tolist()


CELLS = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.sampled_from([2**53 - 1, 2**53, 2**53 + 1])
)
FLOATS = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, -0.0, 1e300, -1e-300]))
TEXTS = st.one_of(
    st.none(), st.text(max_size=4), st.sampled_from(["7", "07", "-0", "", " 7", "1e3", "9007199254740993"])
)


@given(st.data())
def test_hashes_are_equal_exactly_where_records_are(data):
    n = data.draw(st.integers(1, 12))
    draw = {
        name: data.draw(st.lists(kind, min_size=n, max_size=n))
        for name, kind in zip("abc", (CELLS, FLOATS, TEXTS), strict=True)
    }
    frame = pl.DataFrame(draw, schema={"a": pl.Int64, "b": pl.Float64, "c": pl.String}, strict=False)
    found = hashes(frame)
    plain = [
        (a, None if b is None or b != b else b + 0.0, c)  # noqa: PLR0124 - NaN
        for a, b, c in frame.rows()
    ]
    for one in range(n):
        for two in range(n):
            assert (found[one] == found[two]) == (plain[one] == plain[two])


def test_a_value_has_one_hash_in_every_library_and_format(tmp_path):
    ages, days = [34, 51, None], [date(2020, 1, 1), date(1950, 6, 30), None]
    frame = pl.DataFrame({"age": ages, "born": days, "name": ["Ann", "Bö b", None]})
    expected = hashes(frame)
    assert hashes(frame.with_columns(pl.col("age").cast(pl.Float32), pl.col("name").cast(pl.Categorical))) == expected
    assert hashes(frame.select("name", "born", "age")) == expected
    assert hashes(frame.to_arrow()) == expected
    assert hashes(frame.to_pandas()) == expected
    assert hashes(pd.DataFrame({"age": [34.0, 51.0, np.nan], "born": days, "name": ["Ann", "Bö b", None]}).assign(
        born=lambda f: pd.to_datetime(f["born"]))) == expected  # fmt: skip
    assert hashes(frame.with_columns(pl.col("born").cast(pl.Datetime("ns")))) == expected
    frame.drop("born").write_csv(tmp_path / "people.csv")
    as_text = read_table(tmp_path / "people.csv", text=["age", "name"])
    assert record_hashes(as_text, ["age", "name"], KEY).tolist() == hashes(frame, ["age", "name"])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": [1], "b": [2]}, {"a": [2], "b": [1]}),
        ({"a": ["7"]}, {"a": ["07"]}),
        ({"a": [""]}, {"a": [None]}),
        ({"a": [0]}, {"a": [None]}),
        ({"a": [2**53]}, {"a": [2**53 + 1]}),
        ({"a": [-(2**62)]}, {"a": [2**62]}),
        ({"a": [datetime(2020, 1, 1, 1)]}, {"a": [datetime(2020, 1, 1)]}),
        ({"a": [1]}, {"b": [1]}),
    ],
)
def test_different_records_have_different_hashes(one, two):
    frames = [pl.DataFrame(each, schema_overrides={"a": pl.String} if each.get("a") == [None] else None)
              for each in (one, two)]  # fmt: skip
    assert hashes(frames[0]) != hashes(frames[1])


def test_another_key_gives_other_hashes():
    assert not set(hashes(PEOPLE)) & set(hashes(PEOPLE, key=bytes(32)))


def test_the_probability_of_a_collision_is_that_of_64_bits(repetitions):
    """Values that differ in one bit of the upper or the lower half: a plain product modulo 2**64 would collide."""
    numbers = np.array([2.0**power for power in range(-1000, 1000)])
    for seed in range(repetitions(40)):
        found = hashes(pl.DataFrame({"x": numbers}), key=np.random.default_rng(seed).bytes(32))
        assert len(set(found)) == numbers.size
        assert len({value >> 32 for value in found}) > numbers.size - 3


class TestMatching:
    @given(
        before=st.lists(st.integers(0, 4), min_size=3, max_size=20),
        now=st.lists(st.integers(0, 4), min_size=3, max_size=20),
    )
    def test_records_without_identifiers_are_matched_one_to_one(self, before, now):
        record = record_of(pl.DataFrame({"age": before}), k=2, quasi=["age"], confidential=None, identifiers=None)
        found = match_records(record, Table.from_native(pl.DataFrame({"age": now})))
        expected = naive_matched(before, now)
        assert [None if row < 0 else row for row in found.earlier.tolist()] == expected
        assert found.deleted == len(before) - sum(row is not None for row in expected)
        assert not found.changed.any()

    def test_identifiers_find_a_record_whose_values_changed(self):
        now = PEOPLE.with_columns(age=pl.when(pl.col("name") == PEOPLE["name"][3]).then(99).otherwise("age"))[::-1]
        found = match_records(record_of(), Table.from_native(now))
        assert found.earlier.tolist() == list(range(89, -1, -1))
        assert np.flatnonzero(found.changed).tolist() == [86]

    def test_equal_quasi_identifiers_are_told_apart_by_the_other_columns(self):
        """By quasi-identifiers alone the first would be matched with the first."""
        people = pl.DataFrame({"age": [30, 30, 50, 50], "job": ["a", "b", "c", "d"]})
        roles = {"quasi": ["age"], "confidential": ["job"], "identifiers": None, "k": 2}
        found = match_records(record_of(people, **roles), Table.from_native(people[[1, 0, 3, 2]]))
        assert found.earlier.tolist() == [1, 0, 3, 2]

    def test_a_further_column_does_not_hide_the_records(self):
        record = record_of()
        found = match_records(record, Table.from_native(PEOPLE.with_columns(wave=pl.lit(2)).drop("diagnosis")))
        assert (found.earlier >= 0).all()

    def test_a_column_that_is_gone_is_named(self):
        with pytest.raises(SchemaError, match='column "name" is not in the table'):
            match_records(record_of(), Table.from_native(PEOPLE.drop("name")))


class TestFile:
    def test_only_its_owner_can_read_it(self, tmp_path):
        path = tmp_path / "safe.holder.parquet"
        path.touch(0o644)
        record_of().write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_it_is_read_back_complete(self, tmp_path):
        record = record_of()
        record.write(tmp_path / "record.parquet")
        again = HolderRecord.read(tmp_path / "record.parquet")
        assert again.header == record.header
        assert again.rows.equals(record.rows)
        assert again.representatives.equals(record.representatives)

    def test_it_holds_plan_loss_groups_and_row_map(self):
        tree = {"any": ["female", "male", "other"]}
        made = release(recode={"age": "median"}, hierarchies={"sex": tree})
        record = holder_record(made.released, Table.from_native(PEOPLE))
        columns = {entry["name"]: entry for entry in record.header["plan"]["schema"]["columns"]}
        assert set(columns["sex"]["hierarchy_tree"]["labels"]) == {"any", "female", "male", "other"}
        assert columns["age"]["recode"] == "median"
        assert record.header["loss"]["information_loss"] == made.loss.information_loss
        assert record.header["loss"]["information_loss"] != made.manifest["loss"]["information_loss"]
        assert record.header["plan_digest"] == made.plan.digest()
        assert np.array_equal(record.groups, made.grouping.labels)
        assert record.released_rows.tolist() == list(range(90))
        representatives = record.representatives[record.groups]
        assert representatives.equals(made.data.select("age", "income", "sex"))
        assert record.header["deterministic"] is False

    def test_the_key_is_fresh_and_nowhere_else(self, tmp_path):
        made = release()
        records = [holder_record(made.released, Table.from_native(PEOPLE)) for _ in range(20)]
        assert len({record.key for record in records}) == 20
        assert all(len(record.key) == 32 for record in records)
        key = records[0].header["key"]
        made.write(tmp_path / "safe.csv", report=tmp_path / "report.html")
        texts = [made.manifest_json(), json.dumps(made.plan.to_dict()), repr(records[0]), str(pickle.dumps(made))]
        assert not any(key in text or records[0].key.hex() in text for text in texts)
        others = [path for path in tmp_path.iterdir() if not path.name.endswith(".holder.parquet")]
        assert not any(key.encode() in path.read_bytes() or records[0].key in path.read_bytes() for path in others)

    def test_the_fingerprint_needs_the_key(self):
        one, two = record_of(), record_of()
        assert one.header["input"]["fingerprint"] != two.header["input"]["fingerprint"]
        for record in (one, two):
            assert record.is_input(Table.from_native(PEOPLE))
            assert not record.is_input(Table.from_native(PEOPLE[::-1]))
            assert not record.is_input(Table.from_native(PEOPLE.with_columns(pl.col("diagnosis").reverse())))

    @pytest.mark.parametrize("before", [None, 0o644])
    def test_write_puts_it_beside_the_table_for_its_owner_alone(self, tmp_path, before):
        path = tmp_path / "safe.holder.parquet"
        if before is not None:
            path.touch(before)
        paths = release().write(tmp_path / "safe.csv.gz", overwrite=True)
        assert paths[2] == path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        record = HolderRecord.read(path)
        assert record.header["output"]["sha256"] == hashlib.sha256(paths[0].read_bytes()).hexdigest()
        assert record.is_input(Table.from_native(PEOPLE))

    def test_write_takes_another_name_or_none(self, tmp_path):
        made = release()
        assert made.write(tmp_path / "safe.csv", holder_record="none") == [
            tmp_path / "safe.csv", tmp_path / "safe.manifest.json",
        ]  # fmt: skip
        made.write(tmp_path / "safe.csv", holder_record=tmp_path / "kept.parquet", overwrite=True)
        assert HolderRecord.read(tmp_path / "kept.parquet").rows.height == 90
        with pytest.raises(ParameterError, match="is a Parquet file"):
            made.write(tmp_path / "other.csv", holder_record=tmp_path / "kept.csv")
        with pytest.raises(ParameterError, match="need different files"):
            made.write(tmp_path / "other.parquet", holder_record=tmp_path / "other.parquet")

    def test_a_loaded_release_writes_none(self, tmp_path):
        loaded = pickle.loads(pickle.dumps(release()))
        assert len(loaded.write(tmp_path / "safe.csv")) == 2
        with pytest.raises(ParameterError, match="no handle to its original"):
            loaded.write(tmp_path / "other.csv", holder_record=tmp_path / "kept.parquet")

    def test_the_record_of_the_earlier_release_is_never_replaced(self, tmp_path):
        record = release().write(tmp_path / "safe.csv")[2]
        before = record.read_bytes()
        second = release(PEOPLE[:80], previous=record)
        with pytest.raises(FileProblem, match="the output is the input"):
            second.write(tmp_path / "safe.csv", overwrite=True)
        assert record.read_bytes() == before
        assert second.write(tmp_path / "later.csv")[2] == tmp_path / "later.holder.parquet"

    @pytest.mark.parametrize("content", ["text", "parquet", "version", None])
    def test_another_file_is_refused_in_one_sentence(self, tmp_path, content):
        path = tmp_path / "other.parquet"
        if content == "text":
            path.write_text("no parquet")
        elif content == "parquet":
            pl.DataFrame({"a": [1]}).write_parquet(path)
        elif content == "version":
            record = record_of()
            HolderRecord(record.header | {"record_version": 99}, record.rows).write(path)
        with pytest.raises(FileProblem, match="holder's record"):
            HolderRecord.read(path)


def test_hashes_that_would_be_equal_are_stored_once():
    _, schema = shoal.load_table(PEOPLE, **ROLES)
    assert set(hashed_columns(schema, Table.from_native(PEOPLE))) == {"identity", "values", "content"}
    ages = pl.DataFrame({"age": [1, 2]})
    _, schema = shoal.load_table(ages, quasi=["age"])
    assert set(hashed_columns(schema, Table.from_native(ages))) == {"identity"}
