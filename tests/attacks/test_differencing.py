"""Differencing of totals: two releases, with and without one person, for persons of public and generated tables.

The intruder has both releases and estimates the missing person from the difference of their totals. With exact totals
the estimate is the true value. With rounded totals it is farther from the truth than the representative that the
larger release states for the person, which he would have without the second release.
"""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.core.group_statistics import group_summary
from shoal.core.grouping import Groups
from shoal.evaluate.differencing import differencing_of_totals
from shoal.recoding.rounded_means import content_keys, group_draws, round_floats
from shoal.tables import Table

import reference

ROWS = 200
FILES = {"adult": "adult.csv.gz", "census": "census.csv"}


def table_of(name):
    if name == "patients":
        people = shoal.datasets.patients(2 * ROWS).filter(pl.col("sex") != "other")[:ROWS]
        return people.select("age", "income", "height", "sex"), ["age", "income", "height"], ["sex"]
    source = pl.read_csv(reference.path(FILES[name]), infer_schema_length=None)
    rows = source[np.linspace(0, len(source) - 1, ROWS).astype(np.int64)]
    if name == "adult":
        return (
            rows.select("age", "education-num", "hours-per-week", "sex"),
            ["age", "education-num", "hours-per-week"],
            ["sex"],
        )
    quasi = rows.columns[:5]
    halves = pl.Series("half", ["first", "second"] * (ROWS // 2))
    return rows.select(quasi).with_columns(halves), quasi, ["half"]


def differences(name, persons, method, k, **arguments):
    """Return the differences of all totals, overall and by stratum, for each person that is left out once."""
    people, quasi, strata = table_of(name)
    chosen = {"quasi": quasi, "strata": strata, "method": method} | arguments
    larger = Table.from_native(shoal.protect(people, k, **chosen).data)
    original = Table.from_native(people)
    found = []
    for person in persons:
        rest = pl.concat([people[:person], people[person + 1 :]])
        smaller = Table.from_native(shoal.protect(rest, k, **chosen).data)
        found += differencing_of_totals(original, larger, smaller, quasi, missing=[person], strata=strata)
    return found


def summary(found):
    """Return shares of success and median errors in standard deviations, of the attack and of its baseline."""
    success = np.mean([entry.success for entry in found])
    baseline = np.mean([entry.baseline_success for entry in found])
    error = np.median([entry.error / entry.deviation for entry in found])
    known = np.median([abs(entry.released - entry.truth) / entry.deviation for entry in found])
    return success, baseline, error, known


@pytest.mark.parametrize("method", ["mdav", "mondrian"])
@pytest.mark.parametrize("name", ["census", "adult", "patients"])
def test_rounded_totals_say_less_than_the_release_itself(name, method, repetitions, record):
    persons = np.linspace(0, ROWS - 1, repetitions(80, attacks=ROWS)).astype(np.int64)
    found = differences(name, np.unique(persons), method, 5)
    success, baseline, error, known = summary(found)
    assert success < baseline + 0.05
    assert success < 0.35
    assert error > known
    assert error > 0.1
    record("totals compared", len(found))


@pytest.mark.parametrize("name", ["census", "adult", "patients"])
def test_exact_totals_disclose_every_person(name, repetitions):
    """The wrong version: the attack must be able to succeed."""
    persons = np.unique(np.linspace(0, ROWS - 1, repetitions(40)).astype(np.int64))
    found = differences(name, persons, "mdav", 5, sums="exact", decimals="full")
    success, baseline, error, _ = summary(found)
    assert success == 1.0
    assert baseline < 0.8
    assert error < 1e-6


def test_exact_totals_of_integers_disclose_most_persons(repetitions):
    persons = np.unique(np.linspace(0, ROWS - 1, repetitions(40)).astype(np.int64))
    found = differences("patients", persons, "mdav", 5, sums="exact")
    assert summary([entry for entry in found if not entry.stratum])[0] > 0.6


def test_one_base_for_the_column_would_disclose_the_largest_values():
    """Groups far out are wide: a base that suits the others hides nothing there."""
    rng = np.random.default_rng(3)
    incomes = np.sort(np.round(rng.lognormal(10, 1.2, 400), 1))
    persons = range(380, 400)

    def rounded(values, k, *, one_base):
        groups = Groups(shoal.group(values, k, method="optimal-1d"))
        found = group_summary(values, groups)
        draws = group_draws(content_keys(groups.sizes, [found.means]), "income")
        if one_base:
            base = np.median((found.highest - found.lowest) / groups.sizes)
            return (np.floor(found.means / base + draws) * base)[groups.labels]
        return round_floats(found, groups.sizes, draws)[groups.labels]

    errors = {}
    for one_base in (True, False):
        larger = rounded(incomes, 5, one_base=one_base)
        estimates = [larger.sum() - rounded(np.delete(incomes, i), 5, one_base=one_base).sum() for i in persons]
        stated = np.abs(larger[380:] - incomes[380:])
        errors[one_base] = np.median(np.abs(np.array(estimates) - incomes[380:]) / np.maximum(stated, 1))
    assert errors[True] < 0.35
    assert errors[False] > 0.5


def test_the_same_group_becomes_the_same_number_under_every_seed():
    """Averages over repeated releases say nothing new."""
    people = shoal.datasets.patients(ROWS)
    roles = {"quasi": ["age", "income"], "unnamed": "other", "method": "mdav"}
    first, second = (shoal.protect(people, 5, seed=seed, **roles).data for seed in (1, 2))
    assert first.equals(second)
