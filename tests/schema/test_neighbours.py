"""Roles that the columns beside a column suggest, and names that are built of parts."""

import numpy as np
import polars as pl
import pytest

from shoal.schema.column_words import Meaning, meanings_of, words_of
from shoal.schema.columns import shown_role
from shoal.schema.inference import infer_schema
from shoal.tables import Table

N = 100
RANDOM = np.random.default_rng(5)
KNOWN = {"age": RANDOM.integers(18, 90, N), "sex": RANDOM.choice(["f", "m"], N)}
CODES = {"qzw": np.arange(N) % 4}
MARKS = [RANDOM.integers(0, 2, N) for _ in range(8)]


def roles(columns):
    return {
        column.name: shown_role(column) for column in infer_schema(Table.from_native(pl.DataFrame(columns))).columns
    }


def test_a_column_between_confidential_ones_is_confidential():
    opinion, salary = RANDOM.choice(["x", "y"], N), RANDOM.normal(9, 1, N)
    assert roles(KNOWN | {"opinion": opinion} | CODES | {"salary": salary})["qzw"] == "confidential"
    assert roles({"opinion": opinion} | KNOWN | CODES | {"salary": salary})["qzw"] == "other?"


def test_a_column_between_quasi_identifiers_is_asked_about():
    """What nothing is known of is often an outcome, wherever it stands."""
    assert roles(KNOWN | CODES | {"region": RANDOM.choice(["x", "y"], N)})["qzw"] == "other?"


def test_a_run_of_columns_with_the_same_values_has_one_role():
    asked = dict(zip(("qzw", "opinion", "vkr", "wpt"), MARKS, strict=False))
    assert set(roles({**asked, **KNOWN}).values()) == {"quasi", "confidential"}
    origin = dict(zip(("black", "hispanic", "qzw"), MARKS, strict=False))
    assert roles({**KNOWN, **origin, "when": RANDOM.normal(0, 1, N)})["qzw"] == "quasi"
    single = dict(zip(("black", "qzw"), MARKS, strict=False))
    assert roles({**KNOWN, **single, "when": RANDOM.normal(0, 1, N)})["qzw"] == "other?"


@pytest.mark.parametrize("first", [True, False])
def test_the_first_or_last_column_with_few_values_is_an_outcome_among_known_columns(first):
    known = KNOWN | {"region": RANDOM.choice(["x", "y", "z"], N), "educ": RANDOM.integers(8, 20, N)}
    outcome = {"qzw": RANDOM.choice(["a", "b"], N)}
    assert roles(outcome | known if first else known | outcome)["qzw"] == "confidential"
    assert roles(outcome | KNOWN if first else KNOWN | outcome)["qzw"] == "other?"
    assert roles({"source": outcome["qzw"]} | known)["source"] == "other?"


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("countrypride", Meaning.CONFIDENTIAL), ("householdstress", Meaning.CONFIDENTIAL), ("finc", Meaning.QUASI),
        ("pcthlth", Meaning.HEALTH), ("morekids", Meaning.QUASI), ("weights", Meaning.WEIGHT),
    ],
)  # fmt: skip
def test_the_last_part_of_a_compound_and_abbreviated_parts_are_understood(word, meaning):
    assert meaning in meanings_of(word)


@pytest.mark.parametrize("name", ["kidslt6", "num5_17", "n_under_5", "adults_over_65"])
def test_numbers_of_members_of_an_age_group_are_known_to_others(name):
    assert "members" in words_of(name)
    assert roles(KNOWN | {name: RANDOM.poisson(1, N)})[name] == "quasi"


@pytest.mark.parametrize("name", ["student", "woman", "pidnum", "sub_nr"])
def test_a_word_for_persons_with_different_whole_numbers_numbers_them(name):
    assert roles(KNOWN | {name: RANDOM.permutation(N)})[name] == "identifier"
    assert roles(KNOWN | {name: RANDOM.integers(0, 2, N)})[name] != "identifier"


def panel(name):
    """Four rows each of 60 persons, in order, with a constant sex and birth year; nothing else says who they are."""
    person = np.repeat(np.arange(60) * 7 + 11, 4)
    born = np.repeat(RANDOM.integers(1940, 1960, 60), 4)
    return {name: person, "sex": np.repeat(RANDOM.choice(["f", "m"], 60), 4), "birth": born, "w": np.arange(240) % 4}


@pytest.mark.parametrize("health", [{}, {name: np.arange(240) % 2 for name in ("diabetes", "stroke", "asthma")}])
def test_the_number_of_a_person_with_several_rows_is_never_guessed_to_be_confidential(health):
    """A confidential column is released unchanged; ``qzw`` has many numbers, like a measurement."""
    assert roles(panel("qzw") | health)["qzw"] == "other?"
    assert roles(panel("idcode") | health)["idcode"] == "unit"


@pytest.mark.parametrize("word", ["currently", "present"])
def test_a_word_is_not_cut_more_than_twice(word):
    assert not meanings_of(word) & {Meaning.HEALTH, Meaning.CONFIDENTIAL, Meaning.QUASI}


def test_the_items_of_a_score_are_no_institution():
    score = pl.Series("neg", RANDOM.integers(7, 25, N))
    assert roles(KNOWN | {"qzw_items": score})["qzw_items"] != "quasi"
