"""The stages of a protection as values: group once and recode twice, many k on one encoding, parts of a table."""

import os
import stat

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import FileProblem
from shoal.flow.encoding import Encoding
from shoal.tables import Table


@pytest.fixture
def staged():
    people = shoal.datasets.patients(120)
    orders = {"education": shoal.datasets.EDUCATION_ORDER}
    table, schema = shoal.load_table(
        people, quasi=["age", "sex", "education", "income"], confidential=["diagnosis"], identifiers=["name"],
        orders=orders, unnamed="other",
    )  # fmt: skip
    return table, schema, shoal.fit_encoding(table, schema)


def test_the_composition_of_the_stages_is_protect(staged):
    table, schema, encoding = staged
    plan = shoal.Plan(schema, shoal.Requirements(k=4, l=2), shoal.MethodCall("mdav"))
    prepared = shoal.prepare(table, encoding)
    grouped = shoal.group_records(prepared, plan.requirements, plan.method)
    grouped = shoal.satisfy_requirements(prepared, grouped)
    recoded = shoal.recode_table(prepared, grouped)
    released = shoal.release_table(plan, prepared, grouped, recoded)
    whole = shoal.run_plan(table, plan)
    assert released.table.native.equals(whole.data)
    assert released.manifest == whole.manifest


def test_one_grouping_is_recoded_twice(staged):
    table, _, encoding = staged
    prepared = shoal.prepare(table, encoding)
    grouped = shoal.group_records(prepared, shoal.Requirements(k=4), shoal.MethodCall("mdav"))
    means = shoal.recode_table(prepared, grouped)
    ranges = shoal.recode_table(prepared, grouped, recode={"age": "range"})
    assert means.table.native["age"].dtype == pl.Int64
    assert ranges.table.native["age"].dtype == pl.String
    assert means.table.native["income"].equals(ranges.table.native["income"])


def test_one_encoding_serves_every_k(staged):
    table, _, encoding = staged
    prepared = shoal.prepare(table, encoding)
    losses = []
    for k in range(2, 12):
        grouped = shoal.group_records(prepared, shoal.Requirements(k=k), shoal.MethodCall("mdav"))
        assert grouped.grouping.sizes.min() >= k
        losses.append(shoal.recode_table(prepared, grouped).loss.information_loss)
    assert losses[0] < losses[-1]


@pytest.mark.parametrize("library", [lambda frame: frame, lambda f: f.to_pandas(), lambda f: f.to_arrow()])
def test_an_encoding_of_the_whole_table_applies_to_a_part(staged, library):
    table, _, encoding = staged
    part = Table.from_native(library(table.native[:30]))
    prepared = shoal.prepare(part, encoding)
    whole = shoal.prepare(table, encoding)
    for name in ("age", "sex", "education", "income"):
        np.testing.assert_array_equal(prepared.values(name), whole.values(name)[:30])
    grouped = shoal.group_records(prepared, shoal.Requirements(k=4), shoal.MethodCall("mdav"))
    recoded = shoal.recode_table(prepared, grouped)
    assert recoded.table.n_rows == 30
    assert recoded.table.frame.schema["sex"] == part.frame.schema["sex"]


def test_a_category_that_a_part_does_not_have_is_released_from_the_encoding():
    table, schema = shoal.load_table(pl.DataFrame({"sex": ["f", "m", "x", "f"]}), quasi=["sex"])
    encoding = shoal.fit_encoding(table, schema)
    part = Table.from_native(pl.DataFrame({"sex": ["f", "f"]}))
    assert encoding["sex"].restore(np.array([1.0, np.nan]), part.column("sex")).to_list() == ["m", None]


def test_a_saved_encoding_is_the_same_and_confidential(staged, tmp_path):
    table, _, encoding = staged
    path = tmp_path / "encoding.json"
    path.write_text("")
    path.chmod(0o644)
    loaded = Encoding.load(encoding.save(path, overwrite=True))
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert loaded.records == encoding.records
    for name in ("age", "sex", "education", "income"):
        np.testing.assert_array_equal(
            shoal.prepare(table, loaded).values(name), shoal.prepare(table, encoding).values(name)
        )
    before, after = (
        shoal.group_records(shoal.prepare(table, one), shoal.Requirements(k=4), shoal.MethodCall("mdav")).grouping
        for one in (encoding, loaded)
    )
    assert before == after


def test_a_hierarchy_survives_in_a_saved_encoding(tmp_path):
    people = pl.DataFrame({"job": ["baker", "painter", "monk", "nun"]})
    tree = {"craft": ["baker", "painter"], "church": ["monk", "nun"]}
    table, schema = shoal.load_table(people, quasi=["job"], hierarchies={"job": tree})
    loaded = Encoding.load(shoal.fit_encoding(table, schema).save(tmp_path / "encoding.json"))
    prepared = shoal.prepare(table, loaded)
    grouped = shoal.group_records(prepared, shoal.Requirements(k=2), shoal.MethodCall("mdav"))
    assert shoal.recode_table(prepared, grouped).table.native["job"].to_list() == ["craft", "craft", "church", "church"]


def test_a_file_that_is_no_encoding_is_named(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"version": 99}')
    with pytest.raises(FileProblem, match=r'other.json" is not a saved encoding'):
        Encoding.load(path)


def test_stages_cannot_be_changed(staged):
    table, _, encoding = staged
    prepared = shoal.prepare(table, encoding)
    grouped = shoal.group_records(prepared, shoal.Requirements(k=4), shoal.MethodCall("mdav"))
    recoded = shoal.recode_table(prepared, grouped)
    for value, name in ((encoding, "records"), (prepared, "table"), (grouped, "grouping"), (recoded, "table")):
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_reprs_show_counts_and_no_values(staged):
    table, _, encoding = staged
    prepared = shoal.prepare(table, encoding)
    grouped = shoal.group_records(prepared, shoal.Requirements(k=4), shoal.MethodCall("mdav"))
    assert repr(encoding) == "<Encoding: 4 quasi-identifiers, 120 records>"
    assert repr(prepared) == "<Prepared: 120 records, 4 quasi-identifiers>"
    assert repr(grouped) == "<Grouped: 120 records in 30 groups of 4, k=4; mdav@1>"
