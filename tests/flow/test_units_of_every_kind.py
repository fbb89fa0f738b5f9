"""Random small tables with units: every class of a written file has k persons and satisfies what else is requested.

The file is counted by plain polars and lists, with the persons of the original and the order of the holder's record;
nothing of the package takes part in the count.
"""

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import GroupTooSmall, ShoalError

from naive import persons as naive

QUICK = (
    "mdav",
    "mdav-star",
    "ona",
    "ona-star",
    "mondrian",
    "mona",
    "lloyd",
    "auto",
    "nominal-mdav",
    "mondrian-nominal",
)
LIMITS = [
    {}, {"l": 2}, {"l": 3}, {"l": 1.6, "l_kind": "entropy"}, {"l": 2, "l_kind": "recursive", "c": 4.0}, {"p": 2},
    {"alpha": 0.7}, {"t": 0.35}, {"beta": 2.0}, {"max_share": 0.4}, {"l": 2, "t": 0.5},
    {"alpha": 0.8, "max_share": 0.5},
]  # fmt: skip
RECODES = {
    "points": [
        None, "medoid", "suppress", {"a": "range"}, {"a": "median", "c": "set"}, {"a": "min", "b": "max"},
        {"a": "midrange"},
    ],
    "values": [None, "medoid", "suppress", "range", "median", "min"],
    "codes": [None, "mode", "medoid", "suppress", "set"],
}  # fmt: skip


def shuffled(persons, rng, most):
    return rng.permutation(np.repeat(np.arange(persons), rng.integers(1, most, persons)))


def make_case(rng, pick, method):
    """A table with persons of several rows, and arguments of a protection that suit the method."""
    data = {"mixed": "points"}.get(shoal.get_method(method).data, shoal.get_method(method).data)
    persons = 6 if method == "brute-force" else pick(range(8, 26))
    unit = shuffled(persons, rng, 3 if method == "brute-force" else pick(range(3, 9)))
    n, scale = unit.size, pick([0.0, 0.2, 5.0])
    a = np.round(rng.normal(size=persons)[unit] * 10 + scale * rng.normal(size=n), 1)
    if data == "codes":
        a = np.char.add("v", np.round(a / 10).astype(int).astype(str))
    frame = pl.DataFrame({
        "unit": unit + 100, "home": unit // 2, "a": a, "b": rng.integers(0, 4, n), "c": rng.choice(list("xyz"), n),
        "s": rng.choice(list("uvw"), n), "g": np.where(unit % 2 == 0, "even", "odd"),
    })  # fmt: skip
    roles = pick([{"unit": "unit"}, {"unit": "unit", "household": "home"}, {"household": "home"}])
    limits = dict(pick(LIMITS))
    if "unit" not in roles:
        limits.pop("max_share", None)
    choices = {
        "quasi": ["a"] if data == "values" else ["a", "b", "c"],
        "kinds": {"b": "nominal"} if data == "codes" else None,
        "method": method,
        "recode": pick([None] if method == "full-domain" else RECODES[data]),  # it releases values of hierarchies
        "global_recoding": pick([False, False, True]),
        "strata": pick([None, None, ["g"]]),
        "of": pick([None, "rows", *({"unit": "units", "household": "households"}[role] for role in roles)]),
        "missing": pick(
            ["category", "fill", "suppress"] if data == "codes" else ["by-pattern", "impute", "fill", "suppress"]
        ),
        "decimals": pick(["input", 0]),
        **roles,
        **limits,
    }
    if pick([False, False, True]):
        frame = frame.with_columns(a=pl.when(pl.Series(rng.random(n) < 0.2)).then(None).otherwise(pl.col("a")))
    return frame, 2 if method == "matching" else pick(range(2, 5)), choices


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return make_case(rng, lambda values: draw(st.sampled_from(list(values))), draw(st.sampled_from(QUICK)))


def counted_outside(frame, k, choices):
    """Protect and write a table, and count the file; None where one sentence takes the place of a release."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "safe.parquet"
        refused = ""
        try:
            shoal.protect(
                frame, k, confidential=["s"], unnamed="other", accept_loss=True, accept_relinking=True, **choices
            ).write(path)
        except GroupTooSmall:
            raise AssertionError("the recount found too few, so that the groups were wrong") from None
        except ShoalError as problem:
            refused = str(problem)
        if refused:
            assert "is violated" not in refused  # by a recount, after groups that should have satisfied everything
            assert "\n" not in refused
            assert list(Path(folder).iterdir()) == []
            return None
        released, record = pl.read_parquet(path), pl.read_parquet(path.with_suffix(".holder.parquet"))
    order = pl.DataFrame({"at": record["released_row"], "row": np.arange(frame.height)}).sort("at")["row"]
    original = frame[order]
    assert released["s"].to_list() == original["s"].to_list()
    assert {"unit", "home"}.isdisjoint(set(released.columns) & {choices.get("unit"), choices.get("household")})
    keys = released.select(*choices["quasi"], *(choices["strata"] or [])).rows()
    return keys, original


def default_of(choices):
    return choices["of"] or ("units" if "unit" in choices else "rows")


def check(frame, k, choices):
    """Raise where a written file violates what was requested; returns whether there was a file."""
    found = counted_outside(frame, k, choices)
    if found is None:
        return False
    keys, original = found
    everyone = {"rows": range(frame.height), "units": original["unit"], "households": original["home"]}
    groups = naive.members(keys).values()
    whose = list(everyone[default_of(choices)])
    assert min(len({whose[row] for row in rows}) for rows in groups) >= k
    persons = original["unit"].to_list() if "unit" in choices else list(range(frame.height))
    figures = naive.counted_by_persons(keys, persons, original["s"].to_list())
    if choices.get("l_kind") == "entropy":
        assert figures["entropy"] >= choices["l"] - 1e-9
    elif choices.get("l_kind") == "recursive":
        assert figures["c2"] < choices["c"]
    else:
        assert figures["l"] >= max(choices.get("l", 1), choices.get("p", 1))
    for name in {"alpha", "t", "beta"} & set(choices):
        assert figures[name] <= choices[name] + 1e-9
    assert figures["share"] <= choices.get("max_share", 1) + 1e-9
    return True


@given(cases())
def test_every_class_has_what_was_requested(case):
    check(*case)


@pytest.mark.parametrize("method", sorted(shoal.all_methods().keys()))
def test_every_class_has_what_was_requested_by_every_method(method, repetitions):
    """Some tables may be refused with one sentence, but not all."""
    files = tried = 0
    for seed in range(repetitions(10)):
        rng = np.random.default_rng(seed)
        files += check(*make_case(rng, lambda values, rng=rng: list(values)[rng.integers(len(list(values)))], method))
        tried += 1
    assert files >= tried // 3


def mixed_tables(rng):
    """Persons of up to seven rows, half of whom have one value only."""
    unit = shuffled(12, rng, 8)
    n = unit.size
    return pl.DataFrame({
        "unit": unit, "home": unit // 2, "a": (unit % 3 * 10 + rng.integers(0, 2, n)).astype(float),
        "b": rng.integers(0, 2, n), "c": "x", "s": np.where(unit % 2, "u", rng.choice(list("uvw"), n)), "g": "e",
    })  # fmt: skip


def mirrored_tables(rng):
    """Four persons at two places that rounding makes equal, with the values divided one way and the other way."""
    rows = [(unit, place, "u" if unit % 2 == place else "v") for unit in range(4) for place in (0, 1)]
    rows = [row for row in rows for _ in range(9 if row[2] == "u" else int(rng.integers(1, 3)))]
    unit, place, value = (np.array(column) for column in zip(*rows, strict=True))
    return pl.DataFrame({"unit": unit, "home": unit, "a": place / 10, "b": 1, "c": "x", "s": value, "g": "e"})


REQUESTED = {"quasi": ["a", "b", "c"], "method": "mdav", "unit": "unit", "strata": None, "of": None, "decimals": 0}
WRONG = {
    "k counts rows": (mixed_tables, {}, "shoal.flow.satisfy._units_satisfied", lambda grouped, *_: grouped),
    "requirements count records": (
        mixed_tables, {"alpha": 0.75}, "shoal.flow.satisfy.person_requirements", lambda *_: None,
    ),
    "joins are not measured again": (
        mirrored_tables, {"alpha": 0.6}, "shoal.privacy.person_joins.PersonRequirements.joining_is_safe", True,
    ),
}  # fmt: skip


def caught_outside(tables, limits):
    """The number of tables whose file the count from outside refuses."""
    rng, caught = np.random.default_rng(7), 0
    for _ in range(6):
        try:
            check(tables(rng), 4, REQUESTED | limits)
        except AssertionError:
            caught += 1
    return caught


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_version_is_caught_outside(wrong, monkeypatch):
    """With every recount of the package switched off, the count from outside still finds the wrong version."""
    tables, limits, name, replacement = WRONG[wrong]
    assert caught_outside(tables, limits) == 0
    monkeypatch.setattr(name, replacement)
    monkeypatch.setattr("shoal.flow.released.require", lambda *_: None)
    for module in ("privacy.k_anonymity", "flow.released", "flow.recount_file"):
        monkeypatch.setattr(f"shoal.{module}.require_k", lambda *_: None)
    assert caught_outside(tables, limits) >= 2
