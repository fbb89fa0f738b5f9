"""The figures of pycanon 1.3.6 on complete tables, stored by benchmarks/pycanon_figures.py, against ours.

Three of its figures differ on purpose: entropy l is truncated to an integer there, c compares the rarest value with the
tail, and enhanced beta is a cap rather than a solution. What it computes is rebuilt here, so that the counts below the
figures are compared all the same.
"""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal

import reference
from naive import privacy as naive

STORED = json.loads((Path(__file__).parent / "pycanon_figures.json").read_text(encoding="utf-8"))
SAME = ("k", "alpha", "l", "beta", "t", "delta")


def check(found, frame, quasi, confidential, gen, theirs):
    for name in SAME:
        assert getattr(found, name) == pytest.approx(theirs[name], rel=1e-9, abs=1e-12), name
    assert math.floor(found.entropy_l + 1e-9) - theirs["entropy_l"] in {0, 1}
    if found.entropy_l % 1 > 1e-6:
        assert math.floor(found.entropy_l) == theirs["entropy_l"]
    cap = max(min(found.columns[name].beta, -math.log(rarest(frame[name]))) for name in confidential)
    assert theirs["enhanced_beta"] == pytest.approx(cap)
    assert found.enhanced_beta in {found.beta, math.inf}
    if theirs["c"] is not None:
        assert theirs["c"] == upside_down_c(frame, quasi, confidential, gen, int(theirs["recursive_l"]))


def rarest(column):
    return min(Counter(column.to_list()).values()) / len(column)


def upside_down_c(frame, quasi, confidential, gen, l):
    """The c of pycanon: the rarest value against the sum of the others from the l-th rarest on, rounded up."""
    worst = 0
    for name in confidential:
        names = quasi if gen else [*quasi, *(other for other in confidential if other != name)]
        values = frame[name].to_list()
        for group in naive.classes(frame.select(names).rows()):
            counts = sorted(Counter(values[i] for i in group).values())
            worst = max(worst, math.floor(counts[0] / sum(counts[l - 1 :]) + 1))
    return worst


@pytest.mark.parametrize("number", range(len(STORED["small"])))
def test_small_tables(number):
    case = STORED["small"][number]
    frame = pl.DataFrame(case["table"])
    found = shoal.assess(
        frame, quasi=["a", "b"], confidential=case["confidential"],
        confidential_as="separate" if case["gen"] else "quasi", unnamed="other",
    )  # fmt: skip
    check(found, frame, ["a", "b"], case["confidential"], case["gen"], case["pycanon"])


@pytest.mark.parametrize("number", range(len(STORED["adult"])))
def test_adult(number):
    case = STORED["adult"][number]
    frame = pl.read_csv(reference.path("adult.csv.gz"), infer_schema_length=None)
    found = shoal.assess(
        frame, quasi=case["quasi"], confidential=case["confidential"],
        confidential_as="separate" if case["gen"] else "quasi", unnamed="other",
    )  # fmt: skip
    check(found, frame, case["quasi"], case["confidential"], case["gen"], case["pycanon"])


def test_the_stored_tables_are_not_all_alike():
    assert len({case["pycanon"]["t"] for case in STORED["small"]}) > 20
    assert np.ptp([case["pycanon"]["l"] for case in STORED["small"]]) >= 2
