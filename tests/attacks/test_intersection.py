"""Intersection of equivalence classes and differencing of totals, as evaluate --also measures them."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.api.evaluation import evaluate
from shoal.cli.application import app
from shoal.errors import DataError, ParameterError, SchemaError
from shoal.evaluate.intersection import intersection_attacks
from shoal.evaluate.intersection import linked_candidates as fast_candidates
from shoal.flow.holder_record import HolderRecord, holder_record
from shoal.privacy.k_anonymity import class_labels
from shoal.tables import Table

from naive.second_release import candidate_counts, linked_candidates

ROLES = {"quasi": ["age", "income", "height"], "confidential": ["diagnosis", "stay_days"], "identifiers": ["name"]}
PEOPLE = shoal.datasets.patients(600).select("name", "age", "income", "height", "diagnosis", "stay_days")
K = 4


def protect(people, **changes):
    return shoal.protect(people, K, **{"method": "ona-star", **ROLES, **changes})


def attacks_of(original, released, **arguments):
    risk, _ = evaluate(original, released, **ROLES, **arguments)
    return {(attack.name, attack.target): attack for attack in risk.attacks}, risk.notes


@settings(max_examples=60)
@given(st.data())
def test_the_figures_are_those_of_the_obvious_count(data):
    n = data.draw(st.integers(2, 14))
    columns = {
        name: data.draw(st.lists(st.integers(0, top), min_size=n, max_size=n))
        for name, top in (("x", 9), ("one", 2), ("two", 2), ("u", 1))
    }
    rows = np.array(data.draw(st.permutations(range(n))))
    lost = data.draw(st.integers(0, n - 1))
    original = Table.from_native(pl.DataFrame({"x": columns["x"]}))
    released = Table.from_native(pl.DataFrame({"x": columns["one"], "u": columns["u"]}))
    order = np.argsort(rows)
    also = Table.from_native(pl.DataFrame({"x": np.array(columns["two"])[order], "u": np.array(columns["u"])[order]}))
    rows[:lost] = -1
    attacks, _ = intersection_attacks(original, released, also, ["x"], rows=rows)
    kept = np.flatnonzero(rows >= 0)
    k = min(columns["one"].count(value) for value in columns["one"])
    first, second = class_labels(released, ["x"]), class_labels(also, ["x"])
    together = candidate_counts(first[kept].tolist(), second[rows[kept]].tolist())
    assert attacks[0].success.value == np.mean([count < k for count in together])
    pairs = list(zip(first[kept].tolist(), second[rows[kept]].tolist(), strict=True))
    by_values = linked_candidates(
        first.tolist(), second.tolist(), columns["u"], also.column("u").to_list(), pairs
    )  # fmt: skip
    found = fast_candidates(released, also, ["u"], (first, second), (kept, second[rows[kept]]))
    assert found[kept].tolist() == by_values
    assert attacks[1].success.value == np.mean([0 < count < k for count in by_values])


def test_the_same_release_twice_exposes_nobody_and_another_seed_does():
    def at_random(points, k, *, seed):
        return np.random.default_rng(seed).permutation(len(points)) // k

    one, two = (protect(PEOPLE, method=at_random, seed=seed).data for seed in (0, 1))
    same, notes = attacks_of(PEOPLE, one, also=one)
    assert same["intersection", ""].success.value == 0.0
    assert any("the same records" in note for note in notes)
    found, _ = attacks_of(PEOPLE, one, also=two)
    assert found["intersection", ""].success.value > 0.9
    assert found["intersection", ""].baseline.value == 0.0
    assert found["intersection-by-values", ""].success.value > 0.5


@pytest.mark.parametrize("with_previous", [True, False])
def test_a_release_without_some_records_is_compared_through_the_record(with_previous, rng):
    kept = np.sort(rng.choice(600, 590, replace=False))
    first = protect(PEOPLE)
    record = holder_record(first.released, Table.from_native(PEOPLE))
    second = protect(PEOPLE[kept], previous=record if with_previous else None)
    found, _ = attacks_of(PEOPLE[kept], second.data, also=first.data, also_record=record)
    exposed = found["intersection", ""].success.value
    labels = first.grouping.labels[kept].tolist(), second.grouping.labels.tolist()
    assert exposed == pytest.approx(np.mean([count < second.k for count in candidate_counts(*labels)]))
    assert (exposed < 0.1) == with_previous


def test_without_a_record_persons_are_searched_by_their_values(rng):
    kept = np.sort(rng.choice(600, 500, replace=False))
    first, second = protect(PEOPLE), protect(PEOPLE[kept])
    found, notes = attacks_of(PEOPLE[kept], second.data, also=first.data)
    assert ("intersection", "") not in found
    assert 0.2 < found["intersection-by-values", ""].success.value < 1.0
    assert any("--also-record" in note for note in notes)


def test_totals_of_a_release_without_one_record_give_the_record_away():
    """Exact means keep totals; the figure is that of the differencing attack, through evaluate."""
    first, second = (protect(people, decimals="full", sums="exact") for people in (PEOPLE, PEOPLE[:-1]))
    record = holder_record(second.released, Table.from_native(PEOPLE[:-1]))
    for arguments in ({}, {"also_record": record}):
        found, _ = attacks_of(PEOPLE, first.data, also=second.data, **arguments)
        assert found["differencing-of-totals", "age"].success.value == 1.0
    _, notes = attacks_of(PEOPLE[:-1], second.data, also=first.data)
    assert any("evaluate the larger release" in note for note in notes)


def test_the_command_line_and_json_state_the_attacks(tmp_path):
    people = tmp_path / "people.csv"
    PEOPLE.write_csv(people)
    first = protect(people).write(tmp_path / "first.csv")
    later = tmp_path / "later.csv"
    PEOPLE[:-6].write_csv(later)
    second = protect(later, previous=first[2]).write(tmp_path / "second.csv", report=tmp_path / "report.html")
    command = [
        "evaluate", later, second[0], "--quasi", "age,income,height", "--confidential", "diagnosis,stay_days",
        "--identifiers", "name", "--also", first[0], "--also-record", first[2],
    ]  # fmt: skip
    printed = CliRunner().invoke(app, [str(word) for word in command])
    assert printed.exit_code == 0, printed.output
    assert "intersection" in printed.stdout
    found = json.loads(CliRunner().invoke(app, [*(str(word) for word in command), "--json"]).stdout)
    names = {attack["name"] for attack in found["risk"]["attacks"]}
    assert {"intersection", "intersection-by-values"} <= names
    assert "follows an earlier one: 594 records are as before" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert HolderRecord.read(second[2]).header["second_release"]["deleted"] == 6
    manifest = second[1].read_text(encoding="utf-8")
    assert "previous@1" in manifest
    assert "deleted" not in manifest


def test_wrong_use_is_one_sentence(tmp_path):
    first = protect(PEOPLE)
    record = holder_record(first.released, Table.from_native(PEOPLE))
    with pytest.raises(ParameterError, match="also="):
        attacks_of(PEOPLE, first.data, also_record=record)
    with pytest.raises(DataError, match="record that was written beside it"):
        attacks_of(PEOPLE, first.data, also=first.data[:-1], also_record=record)
    with pytest.raises(SchemaError, match="none of the quasi-identifiers"):
        attacks_of(PEOPLE, first.data, also=first.data.select("diagnosis"))
