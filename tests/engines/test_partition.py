"""No part has fewer than k rows or persons, whatever strata, missing cells, ties and duplicates there are."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines import partition
from shoal.engines.partitioned_run import HEAD_ROWS, TableSource
from shoal.engines.planning import LeafCounter, part_plan, plan_rows, read_names
from shoal.errors import DataError
from shoal.schema.plan import MethodCall, Plan
from shoal.schema.requirements import Requirements
from shoal.tables import Table

SHAPES = ("normal", "ties", "duplicates", "constant", "mostly one", "holes")


def numbers(shape, n, rng):
    """Return one column; missing cells are NaN."""
    if shape == "ties":
        return rng.integers(0, 3, n).astype(float)
    if shape == "duplicates":
        return np.repeat(rng.normal(size=n // 7 + 1), 7)[:n]
    if shape == "constant":
        return np.full(n, 7.0)
    if shape == "mostly one":
        return np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))
    values = rng.normal(size=n)
    return np.where(rng.random(n) < rng.choice([0.01, 0.3]), np.nan, values) if shape == "holes" else values


def table_of(n, shapes, nominal, strata, persons, seed):
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": numbers(shape, n, rng) for j, shape in enumerate(shapes)}
    if nominal:
        codes = rng.choice(["a", "b", "c", "rare"], n, p=[0.5, 0.3, 0.19, 0.01])
        columns["job"] = pl.Series(codes).set(pl.Series(rng.random(n) < 0.02), None)
    frame = pl.DataFrame(columns).with_columns(pl.col(name).fill_nan(None) for name in columns if name != "job")
    shares = np.array([0.9, 0.06, 0.04])[:strata]
    frame = frame.with_columns(pl.Series("region", rng.choice(list("nsw")[:strata], n, p=shares / shares.sum())))
    return frame.with_columns(pl.Series("person", rng.integers(0, max(1, n // 3), n) if persons else np.arange(n)))


def plan_for(frame, k, *, strata, persons):
    quasi = [name for name in frame.columns if name not in {"region", "person"}]
    columns = {"unit": "person"} if persons else {}
    columns |= {"strata": ["region"]} if strata > 1 else {}
    _, schema = shoal.load_table(frame, quasi=quasi, missing="by-pattern", unnamed="other", **columns)
    return Plan(schema, Requirements(k=k), MethodCall("mondrian"))


def counted(frame, plan, leaf_records):
    """Return the leaf and the job of every row, as any engine finds them."""
    inner, source = part_plan(plan), TableSource(frame.to_arrow())
    names = read_names(plan.schema)
    head = Table.from_native(frame.head(HEAD_ROWS).select(names))
    planned = plan_rows(inner, head, len(frame), source.batches(names, 41), leaf_records=leaf_records)
    counter = LeafCounter(planned.partition)
    leaves = np.concatenate([counter.add(Table.from_native(part)) for _, part in source.batches(names, 29)])
    return leaves, counter.jobs(leaf_records).of(leaves, np.arange(len(frame)))


def fewest(places, owners):
    pairs = pl.DataFrame({"place": places, "owner": owners})
    return pairs.group_by("place").agg(pl.col("owner").n_unique())["owner"].min()


@settings(max_examples=200)
@given(
    n=st.integers(20, 400), k=st.integers(2, 7), leaf_records=st.integers(8, 120),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3), nominal=st.booleans(), strata=st.integers(1, 3),
    persons=st.booleans(), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
@example(n=400, k=7, leaf_records=8, shapes=["holes"] * 3, nominal=True, strata=3, persons=False, seed=1)
@example(n=400, k=3, leaf_records=20, shapes=["holes", "mostly one"], nominal=True, strata=2, persons=True, seed=2)
@example(n=60, k=4, leaf_records=8, shapes=["constant"], nominal=False, strata=1, persons=False, seed=3)
def test_no_part_has_fewer_than_k(n, k, leaf_records, shapes, nominal, strata, persons, seed):
    frame = table_of(n, shapes, nominal, strata, persons, seed)
    plan = plan_for(frame, k, strata=strata, persons=persons)
    owners = frame["person"].to_numpy()
    smallest = fewest(frame["region"].to_numpy(), owners) if strata > 1 else frame["person"].n_unique()
    assume(smallest >= k)  # fewer is an error before any part is made; see the test below
    leaves, jobs = counted(frame, plan, leaf_records)
    assert fewest(leaves, owners) >= k
    assert fewest(jobs, owners) >= k
    regions = pl.DataFrame({"leaf": leaves, "region": frame["region"], "n": 1}) if strata > 1 else None
    if regions is not None:  # what a leaf has of a stratum is all that its groups may be made of
        assert regions.group_by("leaf", "region").agg(pl.len())["len"].min() >= k


def test_a_stratum_below_k_is_an_error():
    frame = table_of(400, ["normal"], nominal=False, strata=1, persons=False, seed=0)
    frame = frame.with_columns(pl.Series("region", ["n"] * 397 + ["s"] * 3))
    with pytest.raises(DataError, match="fewer than k=4"):
        counted(frame, plan_for(frame, 4, strata=2, persons=False), 50)


def test_rare_patterns_of_missing_values_by_themselves_are_too_few(monkeypatch):
    """The wrong version makes a tree for every pattern of missing values, also for the rare ones."""
    frame = table_of(400, ["holes", "normal"], nominal=True, strata=1, persons=False, seed=5)
    plan = plan_for(frame, 9, strata=1, persons=False)
    assert fewest(counted(frame, plan, 60)[0], np.arange(400)) >= 9

    def each(self, leaf_records, k):
        return [partition._stratum(self.prefixes[number]) for number in range(len(self.prefixes))]

    monkeypatch.setattr(partition._Stratum, "divided", each)
    assert fewest(counted(frame, plan, 60)[0], np.arange(400)) < 9
