"""Sets, hierarchies, suppression, and global recoding: the tables of Thaeter 2021, section 3.1, and any library."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.group_statistics import group_ranges
from shoal.core.grouping import Grouping
from shoal.core.hierarchy import Hierarchy
from shoal.errors import SchemaError
from shoal.evaluate.generalisation_penalties import closeness_utility, ncp, total_il
from shoal.flow.encoding import fit_column
from shoal.recoding.equal_records import keep_together
from shoal.recoding.generalisation import generalise_by_hierarchy, generalise_to_sets
from shoal.recoding.loss import size_measures
from shoal.recoding.range_texts import range_texts
from shoal.schema.columns import Column, Kind, Role
from shoal.tables import Table

from naive import utility as naive

JOBS = {  # Thaeter 2021, Fig. 3.2 as far as the text tells it
    "medic": ["dentist", "dermatologist", "ophthalmologist", "surgeon"],
    "craftsperson": ["baker", "carpenter", "painter", "electrician"],
}
TEST_DATA = pl.DataFrame({"x": [3, 6, 9, 9, 12, 12], "y": [6, 3, 3, 3, 6, 9]})  # Table 2.1
GLOBAL, LOCAL = [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]  # Table 3.1
LIBRARIES = [lambda frame: frame, lambda frame: frame.to_pandas(), lambda frame: frame.to_arrow()]


def distinct(encoding, column):
    """The different values of a column, their codes and their texts."""
    values, codes = np.unique(encoding.values(column), return_inverse=True)
    shown = encoding.restore(values, column).to_list()
    return values, codes.reshape(-1), [None if text is None else str(text) for text in shown]


def lists(data):
    """Columns as lists, whatever library they are in."""
    if isinstance(data, pd.DataFrame):
        data = data.astype(object).where(data.notna(), None)
        return {name: data[name].tolist() for name in data.columns}
    return data.to_dict(as_series=False) if isinstance(data, pl.DataFrame) else data.to_pydict()


def series(values, name="x"):
    return Table.from_native(pl.DataFrame({name: values})).column(name)


@pytest.mark.parametrize(
    ("labels", "x", "y"), [(GLOBAL, ["3-12", "6-9"], ["6-9", "3"]), (LOCAL, ["3-9", "9-12"], ["3-6", "3-9"])]
)
def test_ranges_of_table_3_1(labels, x, y):
    grouping = Grouping(labels, k=3)
    for name, expected in (("x", x), ("y", y)):
        values = TEST_DATA[name].to_numpy().astype(float)
        lowest, highest = group_ranges(values, grouping)
        assert range_texts(values[lowest].tolist(), values[highest].tolist()) == expected


@pytest.mark.parametrize(("labels", "penalty"), [(GLOBAL, 5.5), (LOCAL, 7.5)])
def test_penalties_of_table_3_1(labels, penalty):
    assert ncp(TEST_DATA, labels, quasi=["x", "y"]) == pytest.approx(penalty)
    assert total_il(TEST_DATA, labels, quasi=["x", "y"]) == pytest.approx(penalty)  # numbers only: no heights
    assert size_measures(Grouping(labels, k=3)) == (18, 1.0)


def test_penalties_of_trees_by_size_and_by_height():
    jobs = pl.DataFrame({"job": ["baker", "painter", "baker", "surgeon", "dentist", "dentist"]})
    labels = [0, 0, 1, 1, 2, 2]  # craftsperson, root, dentist
    assert ncp(jobs, labels, quasi=["job"], hierarchies={"job": JOBS}) == pytest.approx(2 * 4 / 8 + 2 * 1)
    assert total_il(jobs, labels, quasi=["job"], hierarchies={"job": JOBS}) == pytest.approx(2 * 1 / 2 + 2 * 1)
    assert ncp(jobs, labels, quasi=["job"], column_weights={"job": 3.0}) == pytest.approx(
        3 * 4
    )  # suppressed where they differ


def test_table_3_3_by_closest_common_ancestors():
    jobs = ["dentist", "dentist", "baker", "painter", "painter", "surgeon", "electrician"]
    pay = ["2800", "5800", "2200", "2900", "3137", "3137", "3137"]
    grouping = Grouping([0, 0, 1, 1, 2, 2, 2], k=2)
    pays = Hierarchy([(v, "(1500,3000]" if int(v) <= 3000 else "(3000,6000]") for v in sorted(set(pay))])
    expected = [["dentist", "craftsperson", "*"], ["*", "(1500,3000]", "3137"]]
    for values, tree, wanted in zip((jobs, pay), (Hierarchy.from_nested(JOBS), pays), expected, strict=True):
        column = series(values)
        encoding = fit_column(column, Column("x", Role.QUASI, Kind.NOMINAL))
        found = generalise_by_hierarchy(*distinct(encoding, column), grouping, tree, "x")
        assert found.texts == wanted
    assert found.ncp.tolist() == [1.0, 3 / 5, 0.0]  # all, three of five values, one value


@pytest.mark.parametrize(
    ("labels", "utility"),
    [([0, 0, 1, 1, 2, 2, 3, 3], 1.0), ([0, 1, 0, 1, 2, 3, 2, 3], 0.0), ([0, 1, 2, 3, 0, 1, 2, 3], 1.0)],
)
def test_closeness_utility_of_table_3_5(labels, utility):
    assert closeness_utility([1, 1, 2, 2, 1, 1, 2, 2], labels) == pytest.approx(utility)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_closeness_utility_equals_the_naive_twin(pairs):
    values, labels = zip(*pairs, strict=True)
    assert closeness_utility(values, labels) == pytest.approx(naive.mutual_information(values, labels), abs=1e-12)


@given(st.lists(st.integers(0, 5), min_size=4, max_size=30), st.integers(0, 2**32 - 1))
def test_sets_hold_exactly_the_values_of_their_group(values, seed):
    labels = np.random.default_rng(seed).permutation(np.arange(len(values)) // 2 % 3)
    grouping = Grouping(labels, k=1)
    column = series(values)
    encoding = fit_column(column, Column("x", Role.QUASI, Kind.NUMERIC))
    found = generalise_to_sets(*distinct(encoding, column), grouping)
    for g, text in enumerate(found.texts):
        inside = {value for value, label in zip(values, grouping.labels, strict=True) if label == g}
        assert {int(part) for part in text.strip("{}").split(", ")} == inside
        assert found.options[g] == len(inside)


def test_the_number_of_a_set_is_the_mean_of_its_different_values():
    distinct, codes = np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1, 2, 2, 1])
    found = generalise_to_sets(distinct, codes, list("abc"), Grouping([0, 0, 0, 1, 1, 1], 2))
    assert list(found.values) == [2.0, 5.5]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("recode", ["set", "hierarchy", "suppress", "range"])
def test_every_way_works_in_every_library_and_keeps_k(library, recode):
    people = shoal.datasets.patients(60).select("age", "region", "income", "diagnosis")
    chosen = {"age": recode, "region": "set" if recode == "range" else recode, "income": recode}
    release = shoal.protect(
        library(people),
        4,
        quasi=["age", "region", "income"],
        recode=chosen,
        method="mdav",
        unnamed="other",
        accept_loss=True,
    )
    assert release.k >= 4
    shown = lists(release.data)
    assert shown["diagnosis"] == people["diagnosis"].to_list()
    for labels, ages in ((release.grouping.labels, shown["age"]),):
        assert all(len({age for age, label in zip(ages, labels, strict=True) if label == g}) == 1 for g in set(labels))
    assert all(0 <= column.ncp <= 1 for column in release.loss.columns.values())
    assert release.manifest["loss"]["columns"]["age"]["ncp"] == pytest.approx(release.loss.columns["age"].ncp, rel=0.5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_suppression_keeps_what_a_group_agrees_on(library):
    frame = pl.DataFrame(
        {"n": [1, 1, 5, 7], "t": ["a", "a", "b", "c"], "b": [True, True, True, False], "d": [1, 1, 2, 3]}
    )
    release = shoal.protect(
        library(frame), 2, quasi=["n", "t", "b", "d"], kinds={"d": "nominal"}, recode="suppress", method="mdav"
    )
    shown = lists(release.data)
    assert shown["n"] == [1, 1, None, None]
    assert shown["t"] == ["a", "a", None, None]
    assert shown["b"] == [True, True, None, None]
    assert shown["d"] == [1, 1, None, None]


def test_categories_of_pandas_are_suppressed_without_leaving_their_names():
    frame = pd.DataFrame({"t": pd.Categorical(["a", "a", "b", "c"]), "n": [0, 0, 9, 9]}, index=[7, 7, 1, 0])
    release = shoal.protect(frame, 2, quasi=["t", "n"], recode={"t": "suppress"}, method="mdav")
    assert release.data["t"].isna().tolist() == [False, False, True, True]
    assert list(release.data["t"].cat.categories) == ["a"]
    assert release.data.index.tolist() == [0, 1, 2, 3]


def test_holes_become_missing_texts_or_the_root():
    frame = pl.DataFrame({"job": ["baker", "baker", None, None, "monk", None]})
    alone = shoal.protect(
        frame, 2, quasi=["job"], recode="hierarchy", missing="by-pattern", method="mdav", accept_loss=True
    ).data
    assert alone["job"].is_null().to_list() == [False, False, True, True, False, True]
    column = series(["baker", None, "monk", "monk"])
    encoding = fit_column(column, Column("x", Role.QUASI, Kind.NOMINAL), missing_is_value=True)
    grouping = Grouping([0, 0, 1, 1], k=2)
    tree = Hierarchy.from_nested({"craft": ["baker"], "church": ["monk"]})
    given = distinct(encoding, column)
    assert generalise_by_hierarchy(*given, grouping, tree, "x").texts == ["*", "monk"]
    assert generalise_to_sets(*given, grouping).texts == ["{baker, (missing)}", "monk"]


def test_a_reader_who_guesses_inside_a_set_is_wrong_as_often_as_the_loss_says():
    people = pl.DataFrame({"x": ["a", "a", "b", "c", "c", "c"]})

    def halves(points, k):
        return np.array([0, 0, 0, 1, 1, 1])

    loss = shoal.protect(people, 3, quasi=["x"], recode="set", method=halves).loss.columns["x"]
    assert loss.sse == pytest.approx(3 * 1 / 2)
    assert loss.sst == 3
    assert loss.ncp == pytest.approx(3 * (2 / 3) / 6)


def test_a_column_with_a_tree_is_generalised_unless_told_otherwise():
    people = pl.DataFrame({"job": ["baker", "painter", "monk", "nun"]})
    tree = {"craft": ["baker", "painter"], "church": ["monk", "nun"]}
    shown = shoal.protect(people, 2, quasi=["job"], hierarchies={"job": tree}, method="mdav").data["job"]
    assert set(shown) <= {"craft", "church", "*"}
    kept = shoal.protect(people, 2, quasi=["job"], hierarchies={"job": tree}, recode="mode", method="mdav").data["job"]
    assert set(kept) <= set(people["job"])


def test_values_without_a_row_in_the_tree_are_refused_before_grouping():
    people = pl.DataFrame({"job": ["baker", "spy", "monk", "nun"]})
    with pytest.raises(SchemaError, match="3 different values that the hierarchy does not name"):
        shoal.protect(people, 2, quasi=["job"], hierarchies={"job": {"craft": ["baker", "painter"]}})


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 3))
def test_equal_records_stay_together_in_groups_of_at_least_k(seed, k, d):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 60))
    points = rng.integers(0, 4, (n, d)).astype(float)
    records = np.unique(points, axis=0, return_inverse=True)[1].reshape(-1)
    labels = rng.permutation(np.arange(n) // k % max(n // k, 1))
    found = keep_together(records, labels, points, k)
    assert np.bincount(found)[np.unique(found)].min() >= k
    for record in set(records.tolist()):
        assert len(set(found[records == record].tolist())) == 1


def test_global_recoding_replaces_equal_records_by_the_same():
    people = shoal.datasets.patients(200).select("age", "sex")
    local = shoal.protect(people, 5, quasi=["age", "sex"], method="mdav").data
    release = shoal.protect(people, 5, quasi=["age", "sex"], method="mdav", global_recoding=True)
    assert release.manifest["requirements"]["global_recoding"] is True
    assert release.k >= 5

    def images(data):
        pairs = set(zip(people.rows(), data.rows(), strict=True))
        return len(pairs) / len(set(people.rows()))

    assert images(release.data) == 1
    assert images(local) > 1
