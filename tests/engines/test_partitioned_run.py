"""One plan, many ways to run it: the released table depends on the plan and the table alone."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.engines.partition import Job, bins_of, make_jobs
from shoal.engines.partitioned_run import PartitionedRun, RowsInMemory, TableSource
from shoal.engines.spill import Spill
from shoal.errors import DataError, MissingValues, ParameterError, SchemaError
from shoal.schema.plan import MethodCall, Plan
from shoal.schema.requirements import Requirements
from shoal.tables import Table

KEY = bytes(32)


def people(n=900, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pa.table({
        "age": age, "income": np.round(rng.lognormal(10, 1, n), 2), "weight": rng.uniform(1, 3, n).round(2),
        "born": pa.array((age * -365 + rng.integers(0, 365, n)).astype("int32"), pa.date32()),
        "job": rng.choice(["nurse", "clerk", "cook", "none"], n, p=[0.5, 0.3, 0.15, 0.05]),
        "region": rng.choice(["north", "south"], n, p=[0.8, 0.2]),
        "diagnosis": rng.choice(["a", "b", "c"], n), "person": rng.integers(0, n // 2, n),
    })  # fmt: skip


def holed(table, name, share, seed=1):
    gone = np.random.default_rng(seed).random(table.num_rows) < share
    column = pl.Series(pl.from_arrow(table[name])).to_frame().select(pl.when(pl.Series(~gone)).then(pl.first()))
    return table.set_column(table.column_names.index(name), name, column.to_series().to_arrow())


def plan_of(table, k=4, method="mdav", requirements=(), **columns):
    columns = {"quasi": ["age", "income", "job"], "confidential": ["diagnosis"], "unnamed": "other"} | columns
    _, schema = shoal.load_table(table, **columns)
    return Plan(schema, Requirements(k=k, **dict(requirements)), MethodCall(method))


def run(table, plan, *, splits=(), leaf=100, rows=None, key=KEY):
    found = PartitionedRun(
        TableSource(table, splits), plan, rows or (lambda _: RowsInMemory()), leaf_records=leaf, order_key=key
    )
    return found, pa.concat_tables([chunk.table for chunk in found.chunks()])


def digest(table):
    return Table.from_native(table).fingerprint()


CASES = {
    "plain": {},
    "numbers": {"quasi": ["age", "income", "born"]},
    "one column": {"quasi": ["income"]},
    "categories": {"quasi": ["job", "region"]},
    "strata": {"strata": ["region"]},
    "weights": {"sampling_weight": "weight"},
    "ranges and sets": {"recode": {"age": "range", "job": "set"}},
    "exact sums": {"sums": "exact"},
    "rules": {"quasi": ["age", "income"], "keep": ["age <= income"]},
}


@pytest.mark.parametrize("case", CASES)
def test_batches_and_files_change_no_byte(case, tmp_path):
    columns = dict(CASES[case])
    sums = columns.pop("sums", "rounded")
    table = people()
    plan = plan_of(table, **columns)
    plan = Plan(plan.schema, plan.requirements, plan.method, sums=sums)
    reference = run(table, plan)
    for splits in ((1, 898, 1), (300, 300, 300), tuple([45] * 20)):
        assert digest(run(table, plan, splits=splits)[1]) == digest(reference[1])
    in_files = run(table, plan, splits=(500, 400), rows=lambda name: Spill(tmp_path, name, buffer_bytes=5_000))
    assert digest(in_files[1]) == digest(reference[1])
    assert reference[0].figures.jobs > 1
    assert reference[0].figures.records == table.num_rows


@pytest.mark.parametrize("case", CASES)
def test_a_table_of_one_leaf_is_released_as_in_memory(case):
    columns = dict(CASES[case])
    sums = columns.pop("sums", "rounded")
    table = people()
    plan = plan_of(table, **columns)
    plan = Plan(plan.schema, plan.requirements, plan.method, sums=sums)
    found, released = run(table, plan, leaf=1_000)
    local = shoal.run_plan(Table.from_native(table), plan, accept_derived=True, accept_loss=True)
    assert digest(released) == local.table.fingerprint()
    assert found.figures.loss(4).columns == local.loss.columns


@pytest.mark.parametrize("policy", ["fill", "suppress", "by-pattern", "impute", "category"])
def test_missing_values(policy):
    quasi = ["job", "region"] if policy == "category" else ["age", "income", "job"]
    table = holed(holed(people(), "job", 0.2), "region" if policy == "category" else "income", 0.02, 2)
    plan = plan_of(table, quasi=quasi, missing=policy)
    released = {digest(run(table, plan, splits=splits)[1]) for splits in ((), (7, 893))}
    assert len(released) == 1
    found, shown = run(table, plan)
    assert found.figures.jobs > 1
    assert shown.group_by(quasi).aggregate([([], "count_all")])["count_all"].to_numpy().min() >= 4


def test_missing_values_without_a_policy_are_an_error():
    with pytest.raises(MissingValues, match="income"):
        run(holed(people(), "income", 0.01), plan_of(people()))


def test_rare_strata_are_an_error_before_any_work():
    table = people().set_column(5, "region", pa.array(["rare"] * 3 + ["north"] * 897))
    with pytest.raises(DataError, match=r'"region", but 1 of its 2 strata have fewer than k=4'):
        run(table, plan_of(table, strata=["region"]))


def test_groups_cross_no_stratum():
    table = people()
    found, released = run(table, plan_of(table, strata=["region"]), leaf=60)
    counts = released.group_by(["age", "income", "job", "region"]).aggregate([([], "count_all")])
    assert counts["count_all"].to_numpy().min() >= 4
    assert released["region"].equals(table["region"])
    assert found.figures.jobs > 3


@pytest.mark.parametrize("requirements", [{"l": 3}, {"t": 0.2}, {"alpha": 0.5, "p": 2}, {"beta": 1.5}])
def test_requirements_hold_in_every_class(requirements):
    table = people()
    plan = plan_of(table, quasi=["age", "income"], requirements=requirements)
    found, released = run(table, plan, leaf=60)
    quasi = ["age", "income"]
    shoal.verify(released, 4, quasi=quasi, confidential=["diagnosis"], unnamed="other", **requirements)
    assert found.figures.jobs > 1


def test_leaves_are_joined_until_t_is_reachable():
    """One part of the table has one diagnosis only: by itself it could not satisfy l."""
    table = people()
    low = np.asarray(table["income"]) < np.quantile(np.asarray(table["income"]), 0.4)
    diagnosis = np.where(low, "a", np.asarray(table["diagnosis"]))
    table = table.set_column(6, "diagnosis", pa.array(diagnosis))
    quasi = {"quasi": ["income"]}
    found, released = run(table, plan_of(table, requirements={"l": 2}, **quasi), leaf=80)
    assert shoal.verify(released, 4, l=2, confidential=["diagnosis"], unnamed="other", **quasi).k >= 4
    assert 1 < found.figures.jobs < run(table, plan_of(table, **quasi), leaf=80)[0].figures.jobs


RULES = {"keep": ["low <= income", "total = low + income"], "quasi": ["age", "low", "income", "total"]}


def with_rules(n=900):
    """People with two numbers of an order, whose sum is a column of its own."""
    table = people(n)
    income = np.rint(100 * np.asarray(table["income"])) / 100
    low = np.floor(income * np.random.default_rng(5).choice([0.1, 1.0], n))
    return table.append_column("low", pa.array(low)).append_column("total", pa.array(np.round(low + income, 2)))


def broken_rules(released):
    low, income, total = (np.asarray(released[name]) for name in ("low", "income", "total"))
    return int((low > income).sum()), int((np.abs(low + income - total) > 1e-6).sum())


def test_rules_between_columns_hold_in_all_parts():
    table = with_rules()
    plan = plan_of(table, **RULES)
    found, released = run(table, plan)
    assert found.figures.jobs > 1
    assert broken_rules(released) == (0, 0)
    assert sum(found.figures.repaired.values()) > 0
    assert broken_rules(run(table, plan_of(table, quasi=RULES["quasi"]))[1]) != (0, 0)  # means alone break them
    assert shoal.verify(released, 4, quasi=RULES["quasi"], unnamed="other").k >= 4
    assert digest(run(table, plan, splits=(1, 400, 499))[1]) == digest(released)


def test_the_loss_of_parts_with_rules_is_that_of_the_rows():
    """The wrong version measures the columns that rules change by the spread of each part."""
    table = with_rules()
    found, released = run(table, plan_of(table, **RULES))
    for name, column in found.figures.loss(4).columns.items():
        before, after = (np.asarray(one[name], dtype=float) for one in (table, released))
        expected = ((before - after) ** 2).sum() / ((before - before.mean()) ** 2).sum()
        assert column.information_loss == pytest.approx(expected, rel=1e-9), name


def test_rules_that_the_original_breaks_are_counted_over_all_parts():
    table = people()
    table = table.append_column("high", pa.array(np.asarray(table["age"]) - (np.arange(900) % 300 == 0)))
    with pytest.raises(SchemaError, match=r'"age <= high" does not hold in 3 of 900 records'):
        run(table, plan_of(table, quasi=["age", "high"], keep=["age <= high"]), splits=(450, 450))


def test_k_counts_persons_and_rows_are_shuffled():
    table = people()
    plan = plan_of(table, unit="person")
    found, released = run(table, plan)
    again, other = run(table, plan, splits=(100, 800))
    assert digest(released) == digest(other) != digest(run(table, plan, key=bytes([1] * 32))[1])
    assert found.figures.jobs == again.figures.jobs > 1
    assert "person" not in released.column_names
    assert sorted(released["diagnosis"].to_pylist()) == sorted(table["diagnosis"].to_pylist())
    assert released["diagnosis"].to_pylist() != table["diagnosis"].to_pylist()


def test_a_value_of_most_rows_is_divided_into_pieces():
    table = people(6_000)
    rng = np.random.default_rng(3)
    income = np.where(rng.random(6_000) < 0.6, 5.0, np.asarray(table["income"]))
    table = table.set_column(1, "income", pa.array(income))
    plan = plan_of(table, k=2, quasi=["income"], method="optimal-1d")
    found, released = run(table, plan, leaf=500)
    # without pieces one leaf would hold all 3,600 equal rows
    assert found.figures.jobs >= 10
    assert digest(released) == digest(run(table, plan, leaf=500, splits=(1, 5_999))[1])
    assert shoal.verify(released, 2, quasi=["income"], unnamed="other").k >= 2
    assert (np.asarray(released["income"])[income == 5.0] == 5.0).mean() > 0.99


def test_jobs_cover_every_row_once():
    table = people()
    found, _ = run(table, plan_of(table))
    partition = found.planned.partition
    counts = np.bincount(partition.leaves(Table.from_native(table)), minlength=partition.tree.leaves)
    jobs = make_jobs(partition, counts, leaf_records=100)
    assert sum(job.records for job in jobs.jobs) == table.num_rows
    bins = bins_of(jobs.jobs, 3)
    assert set(bins.tolist()) == {0, 1, 2}
    assert bins_of([Job((0,), 0, 1, 5)], 8).tolist() == [0]


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"requirements": {"global_recoding": True}}, "global_recoding"),
        ({"unit": "person", "requirements": {"l": 2}}, "count persons"),
        ({"method": "full-domain"}, "full-domain"),
    ],
)
def test_what_parts_cannot_do_is_refused_in_one_sentence(choices, match):
    from shoal.engines.leaf_job import check_engine_plan

    with pytest.raises(ParameterError, match=match):
        check_engine_plan(plan_of(people(), **choices), "disk")
