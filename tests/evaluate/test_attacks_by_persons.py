"""Attacks counted by persons against plain lists; each would be too low, or too high, as a count of records."""

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flow.test_units import QUASI, protect, stays

import shoal
from shoal.api.evaluation import evaluate
from shoal.evaluate.attribute_disclosure import attribute_disclosure
from shoal.evaluate.candidates import candidate_counts, candidates
from shoal.evaluate.control_attacks import count_matches, linkability, membership, singling_out
from shoal.evaluate.covering import covered_columns
from shoal.evaluate.differencing import differencing_attacks, differencing_of_totals
from shoal.evaluate.intersection import intersection_attacks
from shoal.evaluate.interval_disclosure import interval_disclosure, rank_interval_disclosure
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.tables import Table

from naive.candidates import candidate_persons
from naive.control_attacks import matches


def table(**columns):
    return Table.from_native(pl.DataFrame(columns))


@settings(max_examples=60)
@given(st.data())
def test_candidates_are_different_persons(data):
    n = data.draw(st.integers(2, 12))
    values = [[data.draw(st.integers(0, 2)) for _ in range(2)] for _ in range(n)]
    shown = [[None if data.draw(st.booleans()) else value for value in row] for row in values]
    units = np.array([data.draw(st.integers(0, 3)) for _ in range(n)])
    before, after = (
        Table.from_native(pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64}, orient="row"))
        for rows in (values, shown)
    )
    covered, paired = covered_columns(before, after, ["a", "b"]), pair_columns(before, after, ["a", "b"])
    counts, own = candidate_counts(covered, paired, np.arange(n), units)
    wanted = candidate_persons(values, shown, units.tolist())
    assert (counts.tolist(), own.tolist()) == wanted
    attack = candidates(covered, paired, k=2, units=units)
    worst = defaultdict(float)
    for unit, count in zip(units.tolist(), wanted[0], strict=True):
        worst[unit] = max(worst[unit], 1 / count)
    assert attack.success.value == pytest.approx(np.mean(list(worst.values())))
    assert attack.below == sum(value == 1 for value in worst.values())
    assert attack.counted == "persons"


def test_five_rows_of_one_person_are_one_candidate():
    """A count of records says that five rows cover the values and that k = 5 holds."""
    before = table(a=[1] * 5 + [2] * 5, b=[7] * 10)
    after = table(a=[1] * 5 + [2] * 5, b=pl.Series([None] * 10, dtype=pl.Int64))
    units = np.array([0] * 5 + [1, 2, 3, 4, 5])
    covered, paired = covered_columns(before, after, ["a", "b"]), pair_columns(before, after, ["a", "b"])
    assert candidates(covered, paired, k=5).below == 0
    found = candidates(covered, paired, k=5, units=units)
    assert (found.below, found.single, found.success.trials) == (1, 1, 6)
    assert found.sentence().startswith("1 of 6 persons have fewer than 5 persons with released rows that cover")


@settings(max_examples=60)
@given(st.data())
def test_two_releases_leave_different_persons(data):
    n = data.draw(st.integers(2, 14))
    one, two, unchanged, units = (
        np.array(data.draw(st.lists(st.integers(0, top), min_size=n, max_size=n))) for top in (2, 2, 1, 4)
    )
    released, also = table(x=one, u=unchanged), table(x=two, u=unchanged)
    attacks, _ = intersection_attacks(released, released, also, ["x"], rows=np.arange(n), units=units)
    k = min(len(set(units[one == value])) for value in set(one))
    together = [len(set(units[(one == one[i]) & (two == two[i])])) for i in range(n)]
    exposed = {unit: any(together[i] < k for i in np.flatnonzero(units == unit)) for unit in set(units.tolist())}
    assert attacks[0].success.value == pytest.approx(np.mean(list(exposed.values())))
    assert attacks[0].counted == attacks[1].counted == "persons"
    values = {}
    for i in range(n):
        first, second = np.flatnonzero(one == one[i]), np.flatnonzero(two == two[i])
        pairs = sum(min((unchanged[first] == u).sum(), (unchanged[second] == u).sum()) for u in (0, 1))
        partnered = [j for j in first if unchanged[j] in unchanged[second]]
        count = min(pairs, len({units[j] for j in partnered}))
        values[units[i]] = values.get(units[i], False) or 0 < count < k
    assert attacks[1].success.value == pytest.approx(np.mean(list(values.values())))


def test_an_intersection_of_many_rows_of_one_person_is_found():
    """By records both releases and their intersection have classes of four."""
    units = np.array([0, 0, 0, 0, 1, 2, 3, 4, 1, 2, 3, 4])
    one, two = np.array([0] * 8 + [1] * 4), np.array([0] * 4 + [1] * 4 + [0] * 4)
    released, also = table(x=one), table(x=two)
    by_records, _ = intersection_attacks(released, released, also, ["x"], rows=np.arange(12))
    by_persons, _ = intersection_attacks(released, released, also, ["x"], rows=np.arange(12), units=units)
    assert by_records[0].success.value == 0.0
    assert by_persons[0].success.value == pytest.approx(1 / 5)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12))
def test_predicates_single_out_persons(rows):
    records, units = np.array([row[:2] for row in rows], float), np.array([row[2] for row in rows])
    columns, signs, values = np.array([[0, 1]]), np.array([[1, -1]]), np.array([[2.0, 2.0]])
    found = count_matches(records, columns, signs, values, units)
    fitting = {unit for record, unit in zip(records, units, strict=True) if matches([record], [0, 1], [1, -1], [2, 2])}
    assert found.tolist() == [min(len(fitting), 2)]


def test_control_attacks_count_persons():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(60), 5)
    base = rng.normal(size=(60, 3))[units]
    columns = [PairedColumn(name, base[:, j], np.round(base[:, j], 1)) for j, name in enumerate("abc")]
    others = [PairedColumn(name, rng.normal(size=400), np.zeros(400)) for name in "abc"]
    matcher = Matcher(columns)
    by_records = singling_out(matcher, others, known=2, predicates=200)
    by_persons = singling_out(matcher, others, known=2, predicates=200, units=(units, None))
    assert by_records.success.value == 0.0  # every person has five equal rows
    assert by_persons.success.value > 0.3
    assert "exactly one of 60 persons" in by_persons.description
    linked = linkability(matcher, others, (["a"], ["b", "c"]), units=(units, None))
    member = membership(matcher, others, units=(units, None))
    assert linked.success.trials == 60
    assert linked.counted == member.counted == "persons"
    assert member.success.trials == 60 + 300
    assert "every person counts the same" in linked.description


def test_every_person_has_the_same_weight():
    """One person with nine rows whose values are all released, and nine persons with one row each, of whom none is."""
    units = np.array([0] * 9 + list(range(1, 10)))
    truth = np.arange(18.0)
    column = PairedColumn("x", truth, np.where(units == 0, truth, 0.0))
    for attack in (interval_disclosure, rank_interval_disclosure):
        assert attack([column])[0].success.value == pytest.approx(0.5)
        found = attack([column], units=units)[0]
        assert found.success.value == pytest.approx(0.1)
        assert found.counted == "persons"
    codes = np.array([1.0] * 9 + [0.0] * 9)
    shown = np.ones(18)
    attribute = PairedColumn("y", codes, shown, ("a", "b"))
    assert attribute_disclosure(np.zeros(18, np.int64), [attribute])[0].success.value == pytest.approx(0.5)
    assert attribute_disclosure(np.zeros(18, np.int64), [attribute], units=units)[0].success.value == pytest.approx(0.1)


def test_differencing_names_the_persons_whose_rows_are_missing():
    original = table(age=[30, 34, 61, 65, 71, 75], person=[0, 0, 1, 1, 2, 2])
    smaller = table(age=[30, 34, 61, 65])
    found = differencing_of_totals(original, original, smaller, ["age"], missing=[4, 5])
    (attack,) = differencing_attacks(found, 6, persons=1)
    assert "the sum of the 2 records of 1 person that one of them lacks" in attack.description
    assert attack.counted == "persons"


def test_evaluate_states_in_each_line_what_is_counted(tmp_path):
    everyone = stays()
    people = everyone.filter(pl.col("patient") != everyone["patient"][0])
    for name, data in (("all", everyone), ("fewer", people)):
        data.write_csv(tmp_path / f"{name}.csv")
        protect(data, sums="exact").write(tmp_path / f"{name}_safe.csv")
    others = [name for name in everyone.columns if name not in {*QUASI, "patient"}]
    risk, _ = evaluate(
        tmp_path / "all.csv", tmp_path / "all_safe.csv", quasi=QUASI, unit="patient", confidential=others[:1],
        other=others[1:], record=tmp_path / "all_safe.holder.parquet", also=tmp_path / "fewer_safe.csv",
        also_record=tmp_path / "fewer_safe.holder.parquet", control=people,
    )  # fmt: skip
    by_name = {attack.name: attack for attack in risk.attacks}
    assert {
        "record-linkage", "assignment-linkage", "person-linkage", "interval-disclosure", "rank-interval-disclosure",
        "attribute-disclosure", "singling-out", "linkability", "membership", "intersection", "differencing-of-totals",
    } <= set(by_name)  # fmt: skip
    for name, attack in by_name.items():
        assert attack.counted == ("records" if name in {"record-linkage", "assignment-linkage"} else "persons"), name
        assert "record" in attack.description or "person" in attack.description, name
        assert attack.to_dict()["counted"] == attack.counted
    patients = everyone["patient"].n_unique()
    assert by_name["singling-out"].description.count(f"{patients - 1:,} persons") == 1
    assert any(difference.success.value == 1.0 for difference in risk.attacks if difference.name.startswith("differ"))


def test_without_a_unit_nothing_is_said_about_persons():
    people = shoal.datasets.patients(60)
    release = shoal.protect(people, 3, quasi=["age", "income"], unnamed="other", method="mdav")
    assert all(attack.counted == "records" for attack in release.risk.attacks)
