"""Each limit of each requirement from both sides, and the combinations that cannot be."""

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.requirements import (
    Diversity,
    Of,
    PersonOptions,
    Requirements,
    Slots,
    Weighting,
    check_person_plan,
)

ALLOWED = [
    {"k": 2, "max_size": 2}, {"max_size": None}, {"global_recoding": True}, {"l": 1}, {"l": 3.0},
    {"l": 1.5, "l_kind": "entropy"}, {"l": 2, "l_kind": "recursive", "c": 0.1}, {"p": 1}, {"p": 2.0}, {"alpha": 1},
    {"alpha": 1e-9}, {"t": 0}, {"t": 1}, {"beta": 1e-9}, {"delta": 1e-9}, {"max_share": 1}, {"max_share": 1e-9},
    {"l": np.int64(2)}, {"t": np.float64(0.5)}, {"of": "rows"}, {"of": Of.UNITS}, {"of": None},
]  # fmt: skip
REFUSED = [
    ({"k": 1}, "at least 2"), ({"max_size": 1}, "below k=2"), ({"max_size": 3.0}, "integer"),
    ({"max_size": True}, "integer"),
    ({"global_recoding": 1}, "True or False"), ({"l": 0.9}, "at least 1"), ({"l": 1.5}, "must be an integer"),
    ({"l": 2.5, "l_kind": "recursive", "c": 1}, "must be an integer"), ({"l": True}, "must be a number"),
    ({"l": "2"}, "must be a number"), ({"l_kind": "recursive", "l": 2}, "needs both"),
    ({"c": 1.0, "l": 2}, "needs both"),
    ({"l_kind": "recursive", "c": 1.0}, "needs l as well"), ({"l": 2, "l_kind": "recursive", "c": 0}, "needs c > 0"),
    ({"l_kind": "other"}, "other"), ({"of": "other"}, "other"), ({"p": 0}, "p = 1, 2"), ({"p": 1.5}, "p = 1, 2"),
    ({"alpha": 0}, "0 < alpha"), ({"alpha": 1.001}, "0 < alpha"), ({"t": -0.001}, "0 <= t"), ({"t": 1.001}, "0 <= t"),
    ({"beta": 0}, "beta > 0"), ({"delta": 0}, "delta > 0"), ({"max_share": 0}, "share above 0"),
    ({"max_share": 1.001}, "share above 0"), ({"max_share": True}, "must be a number"),
]  # fmt: skip


@pytest.mark.parametrize("given", ALLOWED, ids=str)
def test_values_at_the_limit_are_allowed(given):
    found = Requirements(**given)
    assert isinstance(found.l_kind, Diversity)
    assert found.of is None or isinstance(found.of, Of)


@pytest.mark.parametrize(("given", "text"), REFUSED, ids=str)
def test_values_beyond_the_limit_are_refused(given, text):
    with pytest.raises(ParameterError, match=text):
        Requirements(**given)


def test_what_is_requested_is_listed_by_name():
    assert Requirements(k=7, max_size=9, max_share=0.5).requested() == {}
    assert not Requirements(k=7, max_share=0.5).beyond_k
    entropy = Requirements(l=2, l_kind="entropy", t=0.1)
    assert entropy.requested() == {"l": 2, "t": 0.1, "l_kind": "entropy"}
    assert (entropy.beyond_k, entropy.recursive_l) == (True, None)
    assert Requirements(l=2, l_kind="recursive", c=3).recursive_l == 2


FIGURES = {"l": 2.0, "entropy_l": 2.0, "c": 2.0, "p": 2.0, "alpha": 0.5, "t": 0.5, "beta": 0.5, "delta": 0.5,
           "max_share": 0.5}  # fmt: skip
LIMITS = [
    ({"l": 2}, {"l": 3}), ({"l": 2.0, "l_kind": "entropy"}, {"l": 2.0001, "l_kind": "entropy"}),
    ({"l": 2, "l_kind": "recursive", "c": 2.0001}, {"l": 2, "l_kind": "recursive", "c": 2.0}), ({"p": 2}, {"p": 3}),
    *(({name: 0.5}, {name: 0.4999}) for name in ("alpha", "t", "beta", "delta", "max_share")),
]  # fmt: skip


@pytest.mark.parametrize(("satisfied", "violated"), LIMITS, ids=str)
def test_a_figure_at_the_limit_satisfies_and_the_next_one_does_not(satisfied, violated):
    name = next(reversed(satisfied)) if "c" in satisfied else next(iter(satisfied))
    for given, holds in ((satisfied, True), (violated, False)):
        found = Requirements(**given).achieved_by(FIGURES)
        assert found == {name: (given[name], FIGURES[name], holds)}


def schema(*roles, **options):
    found = [Column(f"c{i}", role, Kind.NOMINAL) for i, role in enumerate(roles)]
    return Schema((*found, Column("age", Role.QUASI, Kind.NUMERIC)), **options)


PERSONS = schema(Role.UNIT, Role.TIME)


def test_what_k_counts_needs_its_column():
    assert Requirements().counting(schema()) == Of.ROWS
    assert Requirements().counting(PERSONS) == Of.UNITS
    assert Requirements(of="histories").counting(PERSONS) == Of.HISTORIES
    assert Requirements(of="households").counting(schema(Role.HOUSEHOLD)) == Of.HOUSEHOLDS
    assert Requirements(max_share=0.5, of="rows").counting(PERSONS) == Of.ROWS
    lacking = [
        ({"of": "units"}, "counts persons,"), ({"of": "histories"}, "equal histories"),
        ({"of": "households"}, "counts households"), ({"max_share": 0.5}, "share of a person"),
    ]  # fmt: skip
    for given, text in lacking:
        with pytest.raises(ParameterError, match=text):
            Requirements(**given).counting(schema())


def test_options_of_histories():
    assert PersonOptions(suppressed_weight=0) == PersonOptions.of(slots=None, suppressed_weight=0.0)
    assert PersonOptions().given() == {}
    assert PersonOptions(slots="time", suppressed_weight=2, weighting="persons").given() == {
        "slots": "time", "suppressed_weight": 2.0, "weighting": "persons",
    }  # fmt: skip
    for price in (-0.001, float("inf"), float("nan"), True, "1"):
        with pytest.raises(ParameterError, match="at least 0"):
            PersonOptions(suppressed_weight=price)


def test_plans_for_persons_that_cannot_be():
    histories, rows = Requirements(of="histories"), Requirements(of="rows")
    check_person_plan(PERSONS, histories, PersonOptions(slots=Slots.TIME, suppressed_weight=2))
    check_person_plan(PERSONS, Requirements(max_size=4), PersonOptions())
    check_person_plan(schema(), rows, PersonOptions())
    wrong = [
        (PERSONS, Requirements(of="histories", max_size=5), PersonOptions(), "max_size cannot be combined"),
        (PERSONS, Requirements(of="histories", global_recoding=True), PersonOptions(), "global_recoding cannot be"),
        (PERSONS, rows, PersonOptions(slots="first"), "slots is about histories"),
        (PERSONS, rows, PersonOptions(suppressed_weight=2), "suppressed_weight is about histories"),
        (PERSONS, rows, PersonOptions(weighting=Weighting.PERSONS), "weighting is about columns"),
        (PERSONS, histories, PersonOptions(weighting=Weighting.PERSONS), "weighting does not apply to histories"),
        (schema(Role.UNIT), histories, PersonOptions(slots="time"), "name the time"),
    ]
    for table, requirements, options, text in wrong:
        with pytest.raises(ParameterError, match=text):
            check_person_plan(table, requirements, options)
