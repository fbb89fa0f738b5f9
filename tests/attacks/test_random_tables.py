"""Random tables of all kinds with random treatments, recounted in plain Python."""

import random
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.schema.columns import Missing

from attacks import random_tables
from attacks.random_tables import KINDS, case, complaints, fitting, protect, values

PARTS = 4
SLOW = {"castro-rounding", "chi-ex", "chi-search", "column-generation", "msafe-ex", "safe-ex", "set-partition", "safe"}
"""Methods that solve programs; the product has them on fewer tables."""


def attacked(source):
    """Protect a random table; returns whether it was released."""
    frame, arguments = case(source)
    release = protect(frame, arguments)
    if release is None:
        return False
    assert complaints(frame, release.data, arguments) == [], arguments
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_a_release_has_k_and_all_records_or_nothing_is_released(part, repetitions, record):
    seeds = range(part, PARTS * repetitions(600, attacks=26_000), PARTS)
    released = sum(attacked(random.Random(seed)) for seed in seeds)
    assert released > 0.3 * len(seeds)
    record("tables fuzzed", len(seeds))
    record("tables released and recounted", released)
    record("tables refused in one sentence", len(seeds) - released)


@given(st.randoms(use_true_random=False))
def test_hypothesis_finds_no_table_that_breaks_k(source):
    attacked(source)


def treatments():
    """Yield all combinations of a method, a kind of column, a representative that fits and a policy for missing."""
    methods = [name for name, info in shoal.all_methods().items() if info.built_in]
    source = random.Random(5)
    for kind in KINDS:
        series = values(source, kind, 12)
        for method, recode, missing in product(methods, fitting(series), Missing):
            yield method, kind, str(recode), str(missing)


@pytest.mark.parametrize("part", range(PARTS))
def test_all_methods_recodes_missing_policies_and_kinds(part, repetitions, record):
    """A tenth of the product in the long set, chosen at random, and a hundredth by default."""
    chosen = [treatment for treatment in treatments() if treatment[0] not in SLOW]
    chosen += [treatment for treatment in treatments() if treatment[0] in SLOW][::40]
    random.Random(0).shuffle(chosen)
    number = repetitions(len(chosen) // 10, attacks=len(chosen))
    released = 0
    for position, (method, kind, recode, missing) in enumerate(chosen[part:number:PARTS]):
        source = random.Random(position)
        frame = pl.DataFrame({"q0": values(source, kind, 12), "id": [f"person{i}" for i in range(12)], "c": ["x"] * 12})
        arguments = {"quasi": ["q0"], "identifiers": ["id"], "confidential": ["c"], "k": 3, "method": method}
        arguments |= {"recode": {"q0": recode}, "missing": missing}
        release = protect(frame, arguments)
        if release is not None:
            released += 1
            assert complaints(frame, release.data, arguments) == [], arguments
    record("combinations of method, kind, recode and missing policy", len(chosen[part:number:PARTS]))
    record("combinations released and recounted", released)


MUTANTS = {
    "one record differs": lambda frame: frame.with_columns(q0=pl.Series([None, *frame["q0"][1:]])),
    "a record is lost": lambda frame: frame.head(frame.height - 1),
    "an identifier stays": lambda frame: frame.with_columns(id=pl.lit("person0")),
    "confidential values are shuffled": lambda frame: frame.with_columns(c=pl.col("c").reverse()),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_recount_finds_a_wrong_release(mutant):
    frame = pl.DataFrame({"q0": [1, 2, 3, 7, 8, 9], "id": list("abcdef"), "c": ["x", "y", "z", "x", "y", "y"]})
    arguments = {"quasi": ["q0"], "identifiers": ["id"], "confidential": ["c"], "k": 3, "method": "mdav"}
    released = protect(frame, arguments).data
    assert complaints(frame, released, arguments) == []
    assert complaints(frame, MUTANTS[mutant](released), arguments) != []


def test_a_zero_with_a_sign_is_another_value_for_a_reader_of_text():
    assert random_tables.key(0.0) != random_tables.key(-0.0)
    assert random_tables.key(float("nan")) is random_tables.key(None)
