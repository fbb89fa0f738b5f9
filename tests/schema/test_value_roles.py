"""Roles that values suggest where names say nothing: categories and measurements."""

import numpy as np
import polars as pl
import pytest

from shoal.schema.column_words import Meaning, meanings_of
from shoal.schema.columns import shown_role
from shoal.schema.inference import infer_schema
from shoal.tables import Table

N = 100
RANDOM = np.random.default_rng(3)
PERSONS = {"age": RANDOM.integers(18, 90, N), "sex": RANDOM.choice(["f", "m"], N)}


def roles(columns):
    return {
        column.name: shown_role(column) for column in infer_schema(Table.from_native(pl.DataFrame(columns))).columns
    }


def test_a_measurement_in_a_table_about_persons_is_confidential():
    measured = {"qzw": RANDOM.normal(0, 1, N), "rvk": RANDOM.integers(100, 900, N)}
    assert roles(PERSONS | measured) == {"age": "quasi", "sex": "quasi", "qzw": "confidential", "rvk": "confidential"}


@pytest.mark.parametrize(
    "columns",
    [
        {"qzw": RANDOM.normal(0, 1, N)},  # nothing says that rows are persons
        PERSONS | {"qzw": np.arange(N) % 40 + 1},  # a numbering
        PERSONS | {"qzw": np.arange(N) % 4},  # codes
        PERSONS | {"freq": RANDOM.integers(0, 900, N)},  # about the data
    ],
)
def test_what_is_no_measurement_of_a_person_is_asked(columns):
    assert list(roles(columns).values())[-1] == "other?"


@pytest.mark.parametrize(
    ("categories", "role"),
    [
        (["strongly agree", "agree", "disagree"], "confidential"),
        (["never", "sometimes", "often"], "confidential"),
        (["placebo", "drug A", "drug B"], "confidential"),
        (["married", "divorced", "never married"], "quasi"),
        (["urban", "rural"], "quasi"),
        (["yes", "no"], "other?"),
        (["red", "urban", "loud", "soft"], "other?"),
    ],
)
def test_most_categories_decide(categories, role):
    assert roles(PERSONS | {"qzw": RANDOM.choice(categories, N)})["qzw"] == role


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("yrsmarr", Meaning.QUASI), ("lothinc", Meaning.QUASI), ("avgpoints", Meaning.CONFIDENTIAL)],
)
def test_parts_that_say_nothing_are_removed(word, meaning):
    assert meaning in meanings_of(word)


@pytest.mark.parametrize("word", ["current", "last", "general", "vps", "first"])
def test_a_word_is_not_cut_until_something_is_found(word):
    assert not meanings_of(word) & {Meaning.HEALTH, Meaning.CONFIDENTIAL}


@pytest.mark.parametrize("name", ["respid", "RespID", "resp_id"])
def test_a_number_of_persons_is_no_confidential_value_whatever_its_first_letters_mean(name):
    """``resp`` alone is a word for respiration; a number of persons must not be released unchanged."""
    people = pl.DataFrame({name: range(100, 160), "resp": [12 + i % 9 for i in range(60)]})
    schema = infer_schema(Table.from_native(people))
    assert str(schema[name].role) == "identifier"
    assert str(schema["resp"].role) == "confidential"


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("appendicitis", Meaning.HEALTH), ("lisinopril", Meaning.HEALTH), ("indust", Meaning.QUASI),
        ("mrtl", Meaning.QUASI), ("hlth", Meaning.HEALTH),
    ],
)  # fmt: skip
def test_words_cut_off_without_vowels_or_with_a_medical_ending_are_understood(word, meaning):
    assert meaning in meanings_of(word)


@pytest.mark.parametrize("word", ["academia", "april", "hypothesis", "dichotomy", "scale"])
def test_words_that_only_end_like_a_disease_are_none(word):
    assert Meaning.HEALTH not in meanings_of(word)


def test_a_complete_word_wins_over_an_abbreviated_one():
    assert roles(PERSONS | {"trtmnt_region": RANDOM.choice(["a", "b"], N)})["trtmnt_region"] == "quasi"


def test_a_weight_beside_a_height_is_that_of_a_body():
    weight = {"wgt": RANDOM.normal(80, 9, N)}
    assert roles(PERSONS | weight)["wgt"] == "other"
    assert roles(PERSONS | weight | {"hgt": RANDOM.normal(170, 9, N)})["wgt"] == "quasi"


def test_marks_of_years_and_counts_among_persons_have_a_role():
    columns = {"y85": RANDOM.integers(0, 2, N), "qzw": RANDOM.poisson(0.7, N)}
    assert list(roles(PERSONS | columns).values())[-2:] == ["quasi", "confidential"]


def test_numbers_with_fractions_are_no_numbers_of_persons():
    assert roles(PERSONS | {"CD4NR": RANDOM.normal(0, 1, N)})["CD4NR"] != "identifier"


def test_in_a_table_about_health_a_column_is_still_treated_as_the_one_it_is_named_after():
    health = {name: RANDOM.integers(0, 2, N) for name in ("diabetes", "stroke", "asthma")}
    found = roles(PERSONS | health | {"zage": RANDOM.normal(0, 1, N), "qzw": RANDOM.choice(["a", "b"], N)})
    assert (found["zage"], found["qzw"]) == ("quasi", "confidential")
