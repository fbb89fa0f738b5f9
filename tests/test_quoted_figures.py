"""Figures that a sentence of a page states are those that a computation gives now."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.evaluate.control_attacks import membership, singling_out
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import pair_with_others
from shoal.methods.univariate.projection import individual_ranking_not_jointly_anonymous
from shoal.tables import Table

import reference

ROOT = Path(__file__).parents[1]
ADULT = ["age", "education-num", "hours-per-week", "capital-gain", "sex", "race", "marital-status"]


def sentences(page):
    """Return a page as one line."""
    return re.sub(r"\s+", " ", (ROOT / "docs" / page).read_text(encoding="utf-8"))


def unique_after_individual_ranking():
    """Return how many patients of the demo are unique in age and income if both are grouped each on their own."""
    points = shoal.datasets.patients(1000).select("age", "income").to_numpy().astype(float)
    labels = individual_ranking_not_jointly_anonymous(points, 5)
    released = [
        (np.bincount(group, values) / np.bincount(group))[group]
        for group, values in zip(labels.T, points.T, strict=True)
    ]
    _, counts = np.unique(np.column_stack(released), axis=0, return_counts=True)
    return int((counts == 1).sum())


def test_individual_ranking_leaves_patients_unique():
    n = unique_after_individual_ranking()
    assert n > 500
    assert f"grouped like this with k = 5, {n} are unique in age and income" in sentences("questions.md")


def adult_figures(method):
    """Return singling out by three columns with its control, and membership, as texts for k = 3, 10 and unprotected."""
    adult = pl.read_csv(reference.path("adult.csv.gz")).select(ADULT)
    original, control = adult[:4000], adult[4000:8000]
    found = {}
    for k in (3, 10, None):
        data = original if k is None else shoal.protect(original, k, quasi=ADULT, method=method).data
        tables = [Table.from_native(table) for table in (original, data, control)]
        pairs, values = pair_with_others(*tables, ADULT, None)
        matcher = Matcher(pairs)
        controlled = [replace(pair, original=part) for pair, part in zip(pairs, values, strict=True)]
        found[k] = [f"{membership(matcher, controlled).success.value:.2f}"]
        if k is not None:
            attack = singling_out(matcher, controlled, known=3)
            found[k] += [f"{100 * attack.success.value:.0f} %", f"{100 * attack.baseline.value:.0f} %"]
    return found


@pytest.mark.parametrize("method", ["ona-star", "auto"])
def test_singling_out_on_adult_is_as_stated(method):
    found, text = adult_figures(method), sentences("risk-utility.md")
    (member, success, control), (member_10, success_10, control_10) = found[3], found[10]
    for wanted in (
        f"| `{method}` | 3 | {success} | {control} | {member} |",
        f"| `{method}` | 10 | {success_10} | {control_10} | {member_10} |",
        f"| unprotected | | | | {found[None][0]} |",
    ):
        assert wanted in text
