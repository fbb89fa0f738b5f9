"""Differencing of totals: the attack finds the missing record wherever totals are kept."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.group_statistics import group_means
from shoal.core.grouping import Groups
from shoal.errors import DataError
from shoal.evaluate.differencing import differencing_attacks, differencing_of_totals, missing_rows
from shoal.tables import Table


def table(**columns):
    return Table.from_native(pl.DataFrame(columns))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e6, -1e9]), st.booleans())
def test_kept_totals_disclose_the_missing_record(seed, offset, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    values, weights = offset + rng.normal(size=n), rng.uniform(0.5, 3, n)
    gone = int(rng.integers(n))
    kept = np.delete(np.arange(n), gone)
    used = weights if weighted else None
    released = []
    for rows in (np.arange(n), kept):
        groups = Groups(rng.integers(0, 3, rows.size))
        released.append(group_means(values[rows], groups, None if used is None else used[rows])[groups.labels])
    larger, smaller = table(x=released[0], w=weights), table(x=released[1], w=weights[kept])
    (found,) = differencing_of_totals(
        table(x=values), larger, smaller, ["x"], missing=[gone], sampling_weight="w" if weighted else None
    )
    assert found.success
    assert found.error < 1e-6 * max(1.0, abs(offset) * 1e-3)
    assert differencing_attacks([found], n)[0].success.value == 1.0


def test_totals_of_a_stratum_disclose_its_missing_record():
    people = table(age=[20, 30, 40, 50, 60, 70])
    region = ["n", "n", "n", "s", "s", "s"]
    larger = table(age=[30.0] * 3 + [60.0] * 3, region=region)
    smaller = table(age=[30.0] * 3 + [55.0] * 2, region=region[:5])
    whole, south = differencing_of_totals(people, larger, smaller, ["age"], strata=["region"])
    assert (whole.stratum, south.stratum) == ("", "region=s")
    assert whole.success
    assert south.success
    assert whole.estimate == south.estimate == 70 - 20


def test_counts_of_categories_disclose_the_category():
    people = table(sex=["f", "f", "m", "m"], job=["a", "b", "c", "d"])
    smaller = table(sex=["f", "f", "m"], job=["a", "b", "d"])
    (found,) = differencing_of_totals(people, people, smaller, ["sex"])
    assert found.success
    changed = table(sex=["f", "f", "f"], job=["a", "b", "d"])
    assert not differencing_of_totals(people, table(sex=["f"] * 4, job=["a", "b", "c", "d"]), changed, ["sex"])[
        0
    ].success


def test_totals_that_changed_disclose_nothing():
    people = table(age=[20, 30, 40, 50])
    (found,) = differencing_of_totals(
        people, table(age=[25, 25, 45, 45]), table(age=[30, 30, 30]), ["age"], missing=[3]
    )
    assert found.estimate + 20 == 50
    (found,) = differencing_of_totals(
        people, table(age=[25, 25, 40, 40]), table(age=[30, 30, 30]), ["age"], missing=[3]
    )
    assert not found.success


def test_missing_rows_are_found_by_unchanged_columns():
    larger, smaller = table(age=[1, 1, 2, 2, 2], job=list("abcde")), table(age=[1, 1, 1], job=list("ace"))
    assert missing_rows(larger, smaller, ["age"]).tolist() == [1, 3]
    with pytest.raises(DataError, match="not in the larger one"):
        missing_rows(larger, table(age=[1], job=["z"]), ["age"])
    with pytest.raises(DataError, match="no unchanged column"):
        missing_rows(larger, smaller, ["age", "job"])


def test_tables_that_do_not_fit_are_rejected():
    people = table(age=[20, 30, 40, 50])
    with pytest.raises(DataError, match="fewer"):
        differencing_of_totals(people, people, people, ["age"])
    with pytest.raises(DataError, match="differ by 1"):
        differencing_of_totals(people, people, table(age=[1, 2, 3]), ["age"], missing=[1, 2])
