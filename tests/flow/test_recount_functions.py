"""Single functions that recount what is released or prepare that, at values where a small change of the code shows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.api import checks
from shoal.core.requirement_violation import ALPHA, DISTINCT
from shoal.errors import GroupTooSmall, ParameterError, ShoalError, UnknownColumn
from shoal.flow import person_requirements as by_persons
from shoal.flow import recount_file, released
from shoal.flow.group import Blocks
from shoal.flow.satisfy import ConfidentialValues, requirement_arrays
from shoal.flow.units import UnitIndex
from shoal.privacy.confidential import Values
from shoal.privacy.equivalence_classes import WILDCARD_NOTE
from shoal.privacy.ground_distances import equal_distance
from shoal.privacy.person_joins import PersonRequirements
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.requirements import Of, Requirements
from shoal.tables import Table
from shoal.tables.files import write_directly

UNITS = np.array([0, 0, 1, 1])
INDEX = UnitIndex(UNITS, None, np.array([0, 1, 0, 1]))
TABLE = Table.from_native(pl.DataFrame({"age": [5, 5, 5, 5], "a": [1, 1, 2, 2], "b": [7, 7, 7, 7], "c": [1, 2, 3, 4]}))


def schema(*roles, constant=None):
    first = [Column(f"c{i}", role, Kind.NOMINAL) for i, role in enumerate(roles)]
    others = [Column(name, Role.OTHER, Kind.NUMERIC) for name in "abc"]
    age = Column("age", Role.QUASI, Kind.NUMERIC, constant=constant)
    return Schema((*first, age, *others))


PLAIN, PERSONS, CONSTANT = schema(), schema(Role.UNIT), schema(Role.UNIT, constant=True)


@pytest.mark.parametrize(
    ("plan", "requirements", "units", "text"),
    [
        (PERSONS, Requirements(l=2), UNITS, "the requirements count persons"),
        (PERSONS, Requirements(max_share=0.5), UNITS, "the requirements count persons"),
        (PERSONS, Requirements(), None, "k counts persons"),
        (PLAIN, Requirements(), UNITS, "k counts records"),
        (PERSONS, Requirements(of="histories"), UNITS, "the recount of histories"),
        (CONSTANT, Requirements(), UNITS, "the recount of histories"),
    ],
)
def test_a_recount_without_the_persons_is_refused(plan, requirements, units, text):
    with pytest.raises(ParameterError, match=text):
        released.recount_table(TABLE, plan, requirements, units, None)


def test_recounts_with_all_that_they_need():
    assert released.recount_table(TABLE, PLAIN, Requirements(k=4), None, None).classes.k == 4
    assert released.recount_table(TABLE, PERSONS, Requirements(k=2), UNITS, INDEX).classes.k == 2
    with pytest.raises(GroupTooSmall, match="4 of 4 records"):
        released.recount_table(TABLE, PERSONS, Requirements(k=3), UNITS, INDEX)
    broken = Table.from_native(pl.DataFrame({"age": [5, 6, 5, 6], "a": UNITS, "b": UNITS, "c": UNITS}))
    with pytest.raises(ShoalError, match="age"):
        released.recount_table(broken, CONSTANT, Requirements(k=2), UNITS, INDEX)


def test_columns_with_one_value_in_all_rows_of_each_person_but_several_in_the_table():
    found = released.recount_table(TABLE, PERSONS, Requirements(k=2), UNITS, INDEX)
    assert (found.constant, found.with_constant.k) == (("a",), 1)
    alone = UnitIndex(np.arange(4), None, np.zeros(4, np.int64))
    assert released.recount_table(TABLE, PERSONS, Requirements(k=2), alone.unit, alone).constant == ()


def test_risk_of_persons_is_counted_above_one_by_k():
    found = released.recount_table(TABLE, PERSONS, Requirements(k=2), UNITS, INDEX).persons
    assert (found.threshold, found.risk.highest, found.risk.above) == (0.5, 0.5, 0.0)


def test_a_column_is_constant_only_if_all_its_rows_are_equal():
    column = Table.from_native(pl.DataFrame({"a": [1] * 5000 + [2]})).column("a")
    assert not released._is_constant(column)
    assert released._is_constant(column.head(5000))
    assert not released._is_constant(column.tail(2))


def test_what_the_statement_of_the_manifest_counts():
    text = recount_file._k_text
    assert text(Of.ROWS, None) == text(Of.ROWS, "person") == recount_file._K_TEXT
    assert text(Of.UNITS, "person").endswith("in rows; person shows the persons that k counts")
    assert "person and the order of the rows show" in text(Of.HISTORIES, "person")
    for of, code in ((Of.UNITS, None), (Of.HOUSEHOLDS, "person")):
        assert text(of, code).endswith("are not in the table")


def rule(requirements, units=UNITS, codes=UNITS):
    return PersonRequirements(requirements, units, (Values("a", codes, int(codes.max()) + 1, equal_distance(2)),))


def test_requirements_as_records_count_them():
    table, codes = by_persons.record_requirements(rule(Requirements(max_share=0.5)), None, None)
    assert codes.tolist() == [[0, 0], [0, 0], [1, 1], [1, 1]]
    assert table.rows[:, [0, 1, 6]].tolist() == [[DISTINCT, 0, 2], [ALPHA, 1, 2]]
    assert table.thresholds.tolist() == [[1.0, 0.0], [0.5, 0.0]]
    table, codes = by_persons.record_requirements(rule(Requirements(l=2)), None, np.arange(4))
    assert (table.rows[:, 6].tolist(), codes.tolist()) == ([4], [[0], [1], [2], [3]])
    values = ConfidentialValues((), (Values("a", UNITS, 2, equal_distance(2)),))
    table, codes = requirement_arrays(Requirements(k=3, l=2), values, np.array([4, 4, 0, 1]))
    assert (table.rows[:, [0, 1, 6]].tolist(), codes.tolist()) == (
        [[DISTINCT, 0, 2], [DISTINCT, 1, 5]],
        [[0, 4], [0, 4], [1, 0], [1, 1]],
    )


def test_requirements_that_one_group_of_a_block_violates_are_left_out():
    table, codes = by_persons.record_requirements(rule(Requirements(max_share=0.5)), None, None)
    one, two = Blocks((np.arange(4),)), Blocks((np.array([0, 2]), np.array([1, 3])))
    apart = Blocks((np.array([0, 1]), np.array([2, 3])))
    assert len(by_persons.without_impossible(table, codes, one).rows) == 2
    assert len(by_persons.without_impossible(table, codes, two).rows) == 2
    left = by_persons.without_impossible(table, codes, apart)
    assert (left.rows[:, 0].tolist(), len(left.thresholds)) == ([DISTINCT], 1)


def test_what_no_grouping_satisfies_is_named_with_its_blocks():
    one, two = Blocks((np.arange(4),)), Blocks((np.array([0, 2]), np.array([1, 3])))
    for blocks, text in ((one, "all records in one group"), (two, "one group per stratum")):
        with pytest.raises(ParameterError, match=f'l=3 is not achievable for column "a".*{text}.*or less'):
            by_persons.check_achievable(rule(Requirements(l=3)), blocks)
    with pytest.raises(ParameterError, match=r"max_share=0.4 is not achievable, counted.*or more"):
        by_persons.check_achievable(rule(Requirements(max_share=0.4)), one)
    by_persons.check_achievable(rule(Requirements(l=2)), one)


def test_groups_with_rows_of_one_class_become_one_within_their_block():
    labels, classes = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 2, 1, 3, 4, 4])
    one, two = Blocks((np.arange(8),)), Blocks((np.arange(4), np.arange(4, 8)))
    assert by_persons._joined_by_class(labels, classes, one).tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    assert by_persons._joined_by_class(labels, classes, two).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_options_of_an_assessment_at_their_limits():
    table = pl.DataFrame({"age": [1, 1, 2, 2], "a": [1, 2, 1, 1], "b": [1, 1, 1, 2]})
    given = {"quasi": ["age"], "confidential": ["a", "b"], "unnamed": "other"}
    assert shoal.assess(table, l=1, m=1, **given).m == 1
    for name in ("l", "m", "subset_size"):
        for value in (0, True, 1.5):
            with pytest.raises(ParameterError, match=f"{name}=.* at least 1"):
                shoal.assess(table, **given | {name: value})
    for value in (1, True, 2.0):
        with pytest.raises(ParameterError, match="at least 2"):
            shoal.assess(table, k=value, **given)
    assert list(shoal.assess(table, **given).columns) == ["a", "b"]
    assert list(shoal.assess(table, confidential_as="joint", **given).columns) == ["a x b"]


def test_special_uniques_are_sought_only_where_they_are_asked_for():
    table = pl.DataFrame({"age": [1, 1, 2], "sex": [1, 2, 2]})
    asked = shoal.assess(table, quasi=["age", "sex"], special_uniques=True)
    assert (shoal.assess(table, quasi=["age", "sex"]).special_uniques, asked.special_uniques is None) == (None, False)


def test_a_file_is_assessed_in_parts_unless_something_needs_the_whole(tmp_path, monkeypatch):
    read, usual = [], checks.assessed_in_parts
    monkeypatch.setattr(checks, "assessed_in_parts", lambda *given, **more: read.append(1) or usual(*given, **more))
    path = tmp_path / "table.csv"
    path.write_text("age\n1\n1\n", encoding="utf-8")
    for options, parts in (({}, [1]), ({"sampling_fraction": 0.5}, []), ({"missing_semantics": "wildcard"}, [])):
        read.clear()
        assert shoal.assess(path, quasi=["age"], **options).k == 2
        assert read == parts


def test_overlapping_classes_are_explained_only_where_there_are_some():
    table = pl.DataFrame({"age": [1, 1, 2, None]})
    found = {
        semantics: shoal.assess(table, quasi=["age"], missing_semantics=semantics).notes
        for semantics in ("distinct", "wildcard")
    }
    assert found["distinct"] == ()
    assert WILDCARD_NOTE in found["wildcard"]
    assert shoal.assess(table.head(3), quasi=["age"], missing_semantics="wildcard").notes == ()


def test_the_smallest_k_of_verify_is_two():
    table = pl.DataFrame({"age": [1, 1]})
    assert shoal.verify(table, 2, quasi=["age"]).k == 2
    assert shoal.verify(table, 2, strata=["age"]).k == 2
    for wrong in (1, True, 2.0):
        with pytest.raises(ParameterError, match="at least 2"):
            shoal.verify(table, wrong, quasi=["age"])


def test_the_smallest_k_of_an_assessment_is_two():
    table = pl.DataFrame({"age": [1, 1]})
    assert shoal.assess(table, quasi=["age"], k=2).k == 2
    with pytest.raises(ParameterError, match="at least 2"):
        shoal.assess(table, quasi=["age"], k=1)


def test_an_original_without_a_column_of_persons_is_not_ignored():
    table = pl.DataFrame({"age": [1, 1]})
    with pytest.raises(ParameterError, match="k counts persons; name the column of the original"):
        shoal.verify(table, 2, quasi=["age"], original=table)


def test_verify_refuses_the_name_of_an_unknown_confidential_column():
    with pytest.raises(UnknownColumn, match="illness"):
        shoal.verify(pl.DataFrame({"age": [1, 1]}), 2, quasi=["age"], confidential=["illness"])


def test_a_requirement_that_one_group_of_all_records_violates_is_named():
    table = pl.DataFrame({"age": [1, 2, 3, 4], "illness": ["A", "A", "B", "B"]})
    with pytest.raises(ParameterError, match=r"l=3 is not achievable .*with all records in one group, l=2; request"):
        shoal.protect(table, 2, quasi=["age"], confidential=["illness"], l=3)


def test_an_assessment_says_what_its_k_counts():
    table = pl.DataFrame({"p": [1, 1, 2, 2], "age": [5, 6, 5, 6]})
    found = {of: shoal.assess(table, unit="p", of=of, quasi=["age"]) for of in ("rows", "units", "histories")}
    meanings = {of: next(row[-1] for row in each.rows() if row[0] == "k") for of, each in found.items()}
    assert meanings["histories"] == "smallest number of persons with equal sequences of rows"
    assert "different persons" in meanings["units"]
    assert "persons" not in meanings["rows"]


def test_k_counts_the_sampling_weight_only_where_it_is_released_with_a_change():
    found = shoal.assess(pl.DataFrame({"age": [1, 1, 2, 2]}), quasi=["age"])
    for with_weight, counts, expected in ((2, True, True), (1, True, False), (1, False, True), (None, True, True)):
        assert replace(found, k_with_weight=with_weight, weight_counts=counts).satisfies_k(2) is expected
    assert found.k_with_weight is None
    table = pl.DataFrame({"age": [1, 1, 1, 1, 1], "w": [1, 1, 1, 2, 2]})
    for release_weight, counts in (("grouped", True), ("unchanged", False)):
        weighted = shoal.assess(table, quasi=["age"], sampling_weight="w", release_weight=release_weight)
        assert (weighted.k, weighted.k_with_weight, weighted.weight_counts) == (5, 2, counts)
    assert shoal.verify(table, 2, quasi=["age"], sampling_weight="w").k == 5
    with pytest.raises(GroupTooSmall, match=r"with the sampling weight, the smallest class has 2 of 5 records"):
        shoal.verify(table, 3, quasi=["age"], sampling_weight="w")
    assert found.to_dict()["risk"] == found.risk.to_dict()
    assert replace(found, risk=None).to_dict()["risk"] is None


def test_a_sampling_weight_that_is_grouped_must_be_as_frequent_as_k():
    weighted = replace(PLAIN, sampling_weight="a")
    classes = released.recount_table(TABLE, weighted, Requirements(k=2), None, None)
    assert (classes.classes.k, classes.with_weight.k) == (4, 2)
    with pytest.raises(GroupTooSmall, match='with the sampling weight "a"'):
        released.recount_table(TABLE, weighted, Requirements(k=3), None, None)
    unchanged = replace(weighted, release_weight="unchanged")
    assert released.recount_table(TABLE, unchanged, Requirements(k=3), None, None).with_weight.k == 2


LINKED = Schema(
    (Column("p", Role.UNIT, Kind.NOMINAL), Column("age", Role.QUASI, Kind.NUMERIC)), keep_links=True, unnamed=Role.OTHER
)


def recounted(tmp_path, codes, ages, requirements, persons):
    table = Table.from_native(pl.DataFrame({"p": codes, "age": ages}))
    path = tmp_path / "released.parquet"
    write_directly(table, path, target=path)
    return recount_file.recount_file(path, path, table, LINKED, requirements, persons.unit, persons=persons)


def test_the_codes_of_a_file_stand_for_one_person_each(tmp_path):
    assert recounted(tmp_path, [7, 7, 3, 3], [1, 1, 1, 1], Requirements(k=2), INDEX).class_units.tolist() == [2]
    for codes in ([7, 7, 3, 4], [7, 7, 7, 7], [7, 3, 7, 3]):
        with pytest.raises(ShoalError, match="not one for each person"):
            recounted(tmp_path, codes, [1, 1, 1, 1], Requirements(k=2), INDEX)


def test_histories_of_a_file_with_codes_follow_the_order_of_its_rows(tmp_path):
    histories = Requirements(k=2, of="histories")
    turned = replace(INDEX, order=np.array([0, 1, 1, 0]))  # what was meant; readers see the order of the rows only
    assert recounted(tmp_path, [7, 7, 3, 3], [1, 2, 1, 2], histories, turned).class_units.min() == 2
    with pytest.raises(GroupTooSmall):
        recounted(tmp_path, [7, 7, 3, 3], [1, 2, 2, 1], histories, turned)


@pytest.mark.parametrize(("ages", "changed"), [([1, 1, 2, 2], 0), ([1, 1, 1, 1, 5, 6], 1)])
def test_the_manifest_says_whether_global_recoding_changed_the_groups(ages, changed):
    table = pl.DataFrame({"age": ages})
    release = shoal.protect(table, 2, quasi=["age"], method="mdav", global_recoding=True, accept_loss=True)
    assert {"name": "identical records together", "changed": changed} in release.manifest["method"]["steps"]
