"""The recount of buckets finds what a count of the whole table finds."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.engines.assess_parts import assess_parts
from shoal.engines.partitioned_run import RowsInMemory
from shoal.engines.recount_parts import BucketedRows, bucket_numbers
from shoal.errors import GroupTooSmall, RequirementNotMet
from shoal.flow.encoding import fit_encoding
from shoal.privacy.k_anonymity import count_classes
from shoal.schema.plan import MethodCall, Plan
from shoal.schema.requirements import Requirements
from shoal.tables import Table


def recount(table, k, *, owners=None, requirements=(), batches=7, **columns):
    _, schema = shoal.load_table(table, **columns)
    plan = Plan(schema, Requirements(k=k, **dict(requirements)), MethodCall("mdav"))
    rows = BucketedRows(plan, table.num_rows, RowsInMemory(), bucket_rows=20)
    for start in range(0, table.num_rows, batches):
        rows.add(table.slice(start, batches), None if owners is None else owners.slice(start, batches))
    return rows.count(fit_encoding(Table.from_native(table), schema).confidential)


def released(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 12, n).astype(float)
    age[age == 3.0] = -0.0
    age[age == 4.0] = np.nan
    return pa.table({"age": age, "job": rng.choice(["x", "y", None], n), "illness": rng.choice(list("abcd"), n)})


@pytest.mark.parametrize("seed", range(5))
def test_classes_of_all_buckets_are_those_of_the_table(seed):
    table = released(seed=seed)
    found = recount(table, 2, quasi=["age", "job"], unnamed="other", missing="fill")
    whole = count_classes(Table.from_native(table), ["age", "job"])
    assert found.recount.classes.size_histogram() == whole.size_histogram()
    assert found.recount.classes.records_below(5) == whole.records_below(5)


def test_a_class_of_one_row_is_found_in_its_bucket():
    table = pa.concat_tables([released(), pa.table({"age": [99.0], "job": ["x"], "illness": ["a"]})])
    with pytest.raises(GroupTooSmall):
        recount(table, 2, quasi=["age", "job"], unnamed="other", missing="fill")


def test_persons_are_counted_and_not_rows():
    table = pa.table({"age": [1.0] * 6 + [2.0] * 6, "person": [1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8]})
    released = table.select(["age"])
    _, schema = shoal.load_table(table, quasi=["age"], unit="person")
    plan = Plan(schema, Requirements(k=3), MethodCall("mdav"))
    rows = BucketedRows(plan, 12, RowsInMemory(), bucket_rows=4)
    rows.add(released, table["person"])
    with pytest.raises(GroupTooSmall, match="2 persons"):
        rows.count(())
    by_rows = Plan(schema, Requirements(k=3, of="rows"), MethodCall("mdav"))  # the wrong version
    rows = BucketedRows(by_rows, 12, RowsInMemory(), bucket_rows=4)
    rows.add(released, table["person"])
    assert rows.count(()).recount.classes.k == 6


def test_l_and_t_compare_with_the_whole_table():
    table = pa.table({"age": [1.0] * 5 + [2.0] * 5, "illness": list("aaabc") + list("aabbc")})
    columns = {"quasi": ["age"], "confidential": ["illness"]}
    found = recount(table, 2, requirements={"l": 3, "t": 0.2}, **columns)
    whole = shoal.assess(table, **columns)
    assert found.achieved["l"]["achieved"] == whole.l == 3
    assert found.achieved["t"]["achieved"] == pytest.approx(whole.t)
    with pytest.raises(RequirementNotMet, match="t="):
        recount(table, 2, requirements={"t": 0.05}, **columns)


def test_equal_values_share_a_bucket():
    table = Table.from_native(pa.table({"age": [0.0, -0.0, float("nan"), None], "job": ["x"] * 4}))
    numbers = bucket_numbers(table, ["age", "job"], 1_000_003)
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]


def test_a_folder_beyond_memory_is_verified_bucket_by_bucket(tmp_path, monkeypatch):
    from pyarrow import parquet

    table = pa.concat_tables([released().drop_columns(["illness"])] * 2)
    for number, start in enumerate((0, 120)):
        parquet.write_table(table.slice(start, 480 if start else 120), tmp_path / f"{number}.parquet")
    whole = count_classes(Table.from_native(table), ["age", "job"])
    monkeypatch.setattr("shoal.core.memory.free_memory", lambda: 1_000)
    found = shoal.verify(tmp_path, 2, quasi=["age", "job"])
    assert (found.k, found.size_histogram()) == (whole.k, whole.size_histogram())
    with pytest.raises(GroupTooSmall, match=f"{whole.records_below(whole.k + 1)} of 600 records"):
        shoal.verify(tmp_path, whole.k + 1, quasi=["age", "job"])
    with pytest.raises(shoal.errors.UnknownColumn, match="aeg"):
        shoal.verify(tmp_path, 2, quasi=["aeg"], unnamed="other")
    with pytest.raises(shoal.errors.UnknownColumn, match="wage"):
        shoal.verify(tmp_path, 2, quasi=["age", "job"], confidential=["wage"], unnamed="other")
    monkeypatch.setattr("shoal.core.memory.free_memory", lambda: None)
    assert shoal.verify(tmp_path, 2, quasi=["age", "job"]).k == whole.k


@pytest.mark.parametrize("l", [None, 2])
def test_every_figure_of_a_table_beyond_memory_is_that_of_the_table_in_memory(l, tmp_path, monkeypatch):
    from pyarrow import parquet

    rng = np.random.default_rng(8)
    table = pa.concat_tables([released(400, seed=seed) for seed in range(4)])
    table = table.append_column("pay", pa.array(np.where(rng.random(1_600) < 0.1, np.nan, rng.integers(0, 9, 1_600))))
    parquet.write_table(table, tmp_path / "people.parquet", row_group_size=300)
    columns = {"quasi": ["age", "job"], "confidential": ["illness", "pay"], "l": l}
    whole = shoal.assess(tmp_path / "people.parquet", **columns)
    monkeypatch.setattr("shoal.core.memory.free_memory", lambda: 1_000)
    monkeypatch.setitem(assess_parts.__kwdefaults__, "bucket_rows", 100)
    monkeypatch.setattr("shoal.api.checks.load_for_counting", None)  # the table is not read at once
    found = shoal.assess(tmp_path / "people.parquet", **columns)
    assert (found.columns, found.k, found.risk) == (whole.columns, whole.k, whole.risk)
    assert sorted(found.sizes) == sorted(whole.sizes)
    limits = {name: columns[name] for name in ("quasi", "confidential")}
    assert shoal.verify(tmp_path / "people.parquet", found.k, t=whole.t + 1e-9, **limits).k == found.k
    with pytest.raises(RequirementNotMet, match="t="):
        shoal.verify(tmp_path / "people.parquet", found.k, t=whole.t - 1e-3, **limits)
