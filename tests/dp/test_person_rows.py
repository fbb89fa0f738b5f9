"""Differential privacy per person: at most m rows are used, and neighbouring tables differ in all rows of a person."""

import json
import math
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from noise_transcripts import Transcript
from shoal import dp
from shoal.cli.application import app
from shoal.dp import private_release
from shoal.dp.person_rows import PersonLimit, delta_factor, limited
from shoal.errors import ParameterError, SchemaError, UnknownColumn
from shoal.tables import Table


def visits(persons, rows, seed=0):
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.geometric(0.5, persons), rows)
    return pl.DataFrame({
        "patient": np.repeat(np.arange(persons), sizes), "age": rng.integers(0, 100, int(sizes.sum())),
    })  # fmt: skip


def one_more(table, rows, age=99):
    person = int(table["patient"].max()) + 1
    return pl.concat([table, pl.DataFrame({"patient": [person] * rows, "age": [age] * rows})])


def released(table, m=3, **changes):
    options = {"epsilon": 3.0, "mechanism": "histogram", "cells": 2, "bounds": {"age": (0, 99)}}
    options |= {"unit": "patient", "rows_per_person": m} | changes
    return dp.release(table, **{name: value for name, value in options.items() if value is not None})


@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=30), st.integers(1, 4))
def test_at_most_m_rows_of_each_person_are_used(units, m):
    table = Table.from_native(pl.DataFrame({"unit": pl.Series(units, dtype=pl.Int64), "row": list(range(len(units)))}))
    kept = limited(table, PersonLimit("unit", m)).native
    expected = {unit: min(m, units.count(unit)) for unit in set(units) if unit is not None}
    assert dict(kept["unit"].value_counts().iter_rows()) == expected
    assert kept["row"].is_sorted()
    assert all(units[row] == unit for unit, row in kept.iter_rows())


def test_every_row_of_a_person_is_drawn_with_equal_probability():
    table = Table.from_native(pl.DataFrame({"unit": [1] * 5, "row": range(5)}))
    drawn = [tuple(limited(table, PersonLimit("unit", 2)).native["row"]) for _ in range(400)]
    counts = np.bincount([row for rows in drawn for row in rows], minlength=5)
    assert (np.abs(counts - 160) < 6 * math.sqrt(400 * 0.4 * 0.6)).all()
    assert len(set(drawn)) == 10, "all pairs of rows occur"


@pytest.mark.parametrize(
    "units",
    [
        ["7", "07", "7.0", " 7", "", None],
        pd.Series([7, 7, 7, 7, None, None]),
        pd.Series([7, "07", 7.0, "7", "", None], dtype=object),
        pd.Categorical(["7", "7", "7", "7", None, None]),
    ],
)
def test_units_are_compared_by_value_whatever_the_type(units):
    table = Table.from_native(pd.DataFrame({"unit": units, "row": range(6)}))
    kept = limited(table, PersonLimit("unit", 4)).native["row"].tolist()
    assert kept == [0, 1, 2, 3], "one person with four rows; rows without a person are left out"


def test_the_guarantee_and_the_manifest_are_per_person():
    made = released(visits(100, 6), m=3)
    assert made.guarantee.epsilon == pytest.approx(3.0)
    assert "one person more or less, of whom at most 3 rows are used" in made.guarantee.sentence
    assert made.accountant.epsilon == 1.0
    manifest = json.loads(made.manifest_json())
    assert manifest["persons"]["rows_per_person"] == 3
    assert manifest["guarantee"]["rows_per_person"] == 3
    assert "patient" not in made.data.columns
    assert not any("patient" in text for text in made.warnings)
    assert "per record" in repr(made)


@pytest.mark.parametrize("mechanism", ["strongly-safe", "epsilon-safe"])
def test_delta_is_per_person_too(mechanism):
    options = {} if mechanism == "strongly-safe" else {"cells": None}
    given_delta = 1e-3
    made = released(visits(3_000, 4), m=4, epsilon=2.0, mechanism=mechanism, k=5, delta=given_delta, **options)
    assert made.guarantee.delta <= given_delta
    assert made.guarantee.delta == pytest.approx(given_delta)
    row = made.accountant
    assert row.delta * (math.exp(4 * row.epsilon) - 1) / (math.exp(row.epsilon) - 1) == pytest.approx(given_delta)


@given(st.integers(1, 50), st.floats(1e-6, 3), st.floats(1e-12, 0.1))
def test_epsilon_and_delta_per_row_never_exceed_those_per_person(m, epsilon, delta):
    limit = PersonLimit("unit", m)
    row = limit.epsilon_per_row(epsilon)
    assert m * row <= epsilon * (1 + 1e-15)
    total = sum(math.exp(j * row) for j in range(m)) * limit.delta_per_row(delta, row)
    assert total <= delta
    assert delta_factor(m, row) == pytest.approx(sum(math.exp(j * row) for j in range(m)))


@pytest.mark.parametrize("rows", [1, 2, 3, 50])
def test_neighbouring_tables_differ_in_nothing_but_noisy_answers(rows):
    """A table with one person more, of any number of rows: the same bytes and messages for the same answers."""
    base = visits(60, 3)
    transcript = Transcript()
    shown = []
    for table, context in ((base, transcript.recording), (one_more(base, rows), transcript.replaying)):
        with context():
            made = released(table)
            shown.append((made.data.write_csv(), made.manifest_json(), made.warnings, repr(made)))
    assert shown[0] == shown[1]
    pairs = list(zip(transcript.queries, transcript.inputs, strict=True))
    assert sum(abs(query.loss(values)) for query, values in pairs) <= 3.0 + 1e-9, "at most epsilon per person"
    assert [query.change(values) for query, values in pairs] == [min(rows, 3)]


@pytest.mark.parametrize("wrong", [False, True])
def test_an_audit_per_person_refutes_the_version_without_a_limit(wrong):
    """Without the limit a person of fifty rows changes a count by fifty, and the claim per person is refuted."""
    base = visits(60, 3)
    neighbour = one_more(base, 50)
    statistic = lambda table: (  # noqa: E731
        released(table, m=2, epsilon=1.0).data["age"].to_numpy() >= 50
    ).sum()
    with mock.patch.object(private_release, "limited", (lambda table, _: table) if wrong else limited):
        found = dp.audit(
            lambda table, runs: np.array([statistic(table) for _ in range(runs)]), base, neighbour,
            epsilon=1.0, runs=120, false_alarm=1e-4,
        )  # fmt: skip
    assert found.violated == wrong


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"rows_per_person": None}, ParameterError, "needs rows_per_person"),
        ({"unit": None}, ParameterError, "needs the column that numbers persons"),
        ({"rows_per_person": 0}, ParameterError, "at least 1"),
        ({"unit": "person"}, UnknownColumn, "person"),
        ({"unit": "age"}, SchemaError, "cannot be released"),
        ({"neighbours": "replace"}, ParameterError, "add-remove"),
        ({"mechanism": "insensitive", "k": 5, "cells": None}, ParameterError, "add-remove"),
        ({"epsilon": 1e-9}, ParameterError, "between 1e-9"),
    ],
)
def test_wrong_use_is_explained(changes, error, text):
    with pytest.raises(error, match=text):
        released(visits(50, 3), **changes)


def test_the_command_limits_rows_per_person(tmp_path):
    visits(100, 6).write_csv(tmp_path / "visits.csv")
    command = [
        "dp", str(tmp_path / "visits.csv"), "--epsilon", "2", "--mechanism", "histogram", "--bounds", "age=0..99",
        "--unit", "patient", "--rows-per-person", "2", "-o", str(tmp_path / "private.csv"),
    ]  # fmt: skip
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "one person more or less, of whom at most 2 rows are used" in " ".join(result.output.split())
    assert json.loads((tmp_path / "private.manifest.json").read_text())["persons"]["unit"] == "patient"
    with pytest.raises(ParameterError, match="rows_per_person"):
        CliRunner().invoke(app, [*command[:-4], "-o", str(tmp_path / "again.csv")], catch_exceptions=False)
