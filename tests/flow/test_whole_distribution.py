"""A part of a table is compared with the whole table: t and beta by the distributions that the encoding holds."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, ParameterError, RequirementNotMet
from shoal.flow.released import recount_table
from shoal.privacy.value_encoding import fit_values
from shoal.schema.columns import Column, Kind, Role
from shoal.tables import Table

TREE = {"lung": ["flu", "asthma"], "gut": ["ulcer"], "other": ["cold"]}


def table_of(n, seed=0, missing=False):
    rng = np.random.default_rng(seed)
    income = np.sort(rng.integers(0, 30, n))  # sorted, so that a part is unlike the whole
    return pl.DataFrame({
        "age": rng.integers(20, 60, n),
        "diagnosis": rng.permutation(np.array(["flu", "asthma", "ulcer", "cold"])[rng.integers(0, 4, n) ** 2 % 4]),
        "income": [None if missing and i % 7 == 0 else int(value) for i, value in enumerate(income)],
    })  # fmt: skip


def loaded(data, **choices):
    choices = {"quasi": ["age"], "confidential": ["diagnosis", "income"]} | choices
    return shoal.load_table(data, **choices)


def of_part(encoding, part, requirements, **schema):
    """Protect a part stage by stage."""
    table, _ = loaded(part, **schema)
    prepared = shoal.prepare(table, encoding)
    grouped = shoal.group_records(prepared, requirements, shoal.MethodCall("mdav"))
    grouped = shoal.satisfy_requirements(prepared, grouped)
    recoded = shoal.recode_table(prepared, grouped)
    return shoal.release_table(shoal.Plan(encoding.schema, requirements, shoal.MethodCall("mdav")), prepared, grouped,
                               recoded)  # fmt: skip


def direct_t(values, whole, labels, *, kind, tree=None):
    """t of the classes of a part against the whole table, by the definition: all values, exact fractions."""
    known = sorted({value for value in whole if value is not None}, key=str if kind == "nominal" else None)
    known = ([None] if None in whole and kind == "numeric" else []) + known
    known += [None] if None in whole and kind != "numeric" else []
    p = [Fraction(list(whole).count(value), len(whole)) for value in known]
    worst = Fraction(0)
    for label in set(labels.tolist()):
        inside = [value for value, other in zip(values, labels, strict=True) if other == label]
        q = [Fraction(inside.count(value), len(inside)) for value in known]
        if kind == "numeric":
            moved, total = Fraction(0), Fraction(0)
            for mine, theirs in zip(q, p, strict=True):
                moved += mine - theirs
                total += abs(moved)
            found = total / (len(known) - 1)
        elif tree is None:
            found = sum(abs(mine - theirs) for mine, theirs in zip(q, p, strict=True)) / 2
        else:
            found = sum(abs(mine - theirs) for mine, theirs in zip(q, p, strict=True)) / 2 * Fraction(1, 2)
            for leaves in tree.values():
                below = [mine - theirs for mine, theirs, value in zip(q, p, known, strict=True) if value in leaves]
                found += abs(sum(below)) / 2 * Fraction(1, 2)
        worst = max(worst, found)
    return float(worst)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("tree", [None, TREE])
def test_t_of_a_part_is_that_against_the_whole_table(missing, tree):
    whole = table_of(120, missing=missing)
    part = whole[:40]
    choices = {"hierarchies": {"diagnosis": tree}} if tree else {}
    table, schema = loaded(whole, **choices)
    encoding = shoal.fit_encoding(table, schema)
    released = of_part(encoding, part, shoal.Requirements(k=3, t=0.9), **choices)
    labels = released.grouping.labels
    expected = {
        "diagnosis": direct_t(part["diagnosis"].to_list(), whole["diagnosis"].to_list(), labels, kind="nominal",
                              tree=tree),
        "income": direct_t(part["income"].to_list(), whole["income"].to_list(), labels, kind="numeric"),
    }  # fmt: skip
    found = {name: column.t for name, column in released.recount.assessment.columns.items()}
    assert found == pytest.approx(expected, abs=1e-12)
    alone = recount_table(released.table, schema, shoal.Requirements(k=3, t=1.0)).assessment.columns
    assert alone["income"].t != pytest.approx(found["income"], abs=1e-3)  # the part against itself


def test_a_requirement_that_holds_in_the_part_alone_is_violated_against_the_whole():
    whole = table_of(120)
    part = whole[:40]  # the lowest incomes
    table, schema = loaded(whole, confidential=["income"], unnamed="other")
    encoding = shoal.fit_encoding(table, schema)
    strict = shoal.Requirements(k=3, t=0.2)
    assert shoal.protect(part, k=3, quasi=["age"], confidential=["income"], unnamed="other", t=0.2, method="mdav")
    with pytest.raises(ParameterError, match=r"t=0\.2 is not achievable"):
        shoal.satisfy_requirements(*_stages(encoding, part, strict, confidential=["income"], unnamed="other"))
    released = of_part(encoding, part, shoal.Requirements(k=3, t=0.9), confidential=["income"], unnamed="other")
    with pytest.raises(RequirementNotMet, match=r"t=0\.2 is violated"):
        recount_table(released.table, schema, strict, whole=encoding.confidential)


def _stages(encoding, part, requirements, **schema):
    table, _ = loaded(part, **schema)
    prepared = shoal.prepare(table, encoding)
    grouped = shoal.group_records(prepared, requirements, shoal.MethodCall("mdav"))
    from shoal.flow.satisfy import read_confidential

    confidential = read_confidential(table, encoding.schema, requirements, prepared.whole_table)
    confidential.check_achievable(requirements, grouped.blocks)
    return prepared, grouped, confidential


def test_beta_of_a_part_is_that_against_the_whole_table():
    whole = table_of(120, seed=3)
    part = whole[40:90]
    table, schema = loaded(whole, confidential=["diagnosis"], unnamed="other")
    encoding = shoal.fit_encoding(table, schema)
    released = of_part(encoding, part, shoal.Requirements(k=3, beta=40.0), confidential=["diagnosis"], unnamed="other")
    labels, values, every = released.grouping.labels, part["diagnosis"].to_list(), whole["diagnosis"].to_list()
    gains = [
        (sum(values[i] == value for i in np.flatnonzero(labels == group)) / (labels == group).sum())
        / (every.count(value) / len(every)) - 1
        for group in set(labels.tolist()) for value in set(every)
    ]  # fmt: skip
    assert released.recount.assessment.beta == pytest.approx(max(gains))


def test_an_encoding_that_was_saved_gives_the_same_figures(tmp_path):
    whole = table_of(150, missing=True)
    choices = {"hierarchies": {"diagnosis": TREE}, "kinds": {"income": "numeric"}}
    table, schema = loaded(whole, **choices)
    schema = replace(
        schema, columns=tuple(replace(column, weight=2.0 + (column.name == "income")) for column in schema.columns)
    )
    encoding = shoal.fit_encoding(table, schema)
    path = encoding.save(tmp_path / "encoding.json")
    assert path.stat().st_mode & 0o777 == 0o600
    again = shoal.Encoding.load(path)
    for before, after in zip(encoding.confidential, again.confidential, strict=True):
        assert before.values.equals(after.values)
        assert (before.totals.tolist(), before.missing, before.exact) == (
            after.totals.tolist(), after.missing, after.exact,
        )  # fmt: skip
    requirements = shoal.Requirements(k=3, t=0.9)
    first, second = (of_part(one, whole[:60], requirements, **choices) for one in (encoding, again))
    assert first.recount.assessment.figures() == second.recount.assessment.figures()
    for before, after in zip(encoding.schema.columns, again.schema.columns, strict=True):  # every field of the schema
        assert replace(before, hierarchy=None) == replace(after, hierarchy=None)


def test_the_file_of_a_part_is_recounted_against_the_whole_table(tmp_path):
    whole = table_of(120)
    table, schema = loaded(whole)
    encoding = shoal.fit_encoding(table, schema)
    part, _ = loaded(whole[:40])
    released = of_part(encoding, whole[:40], shoal.Requirements(k=3, t=0.8))
    release = shoal.Release(released, part)
    release.write(tmp_path / "part.csv")
    release.write(tmp_path / "part.parquet", overwrite=True)
    stricter = replace(released, plan=replace(released.plan, requirements=shoal.Requirements(k=3, t=0.37)))
    with pytest.raises(RequirementNotMet, match=r"t=0\.37 is violated"):
        shoal.Release(stricter, part).write(tmp_path / "strict.csv")
    loose = replace(stricter, whole=())  # what the check of the part alone would have said
    assert shoal.Release(loose, part).write(tmp_path / "loose.csv")
    copied = pickle.loads(pickle.dumps(release))
    assert copied.released.whole is None  # the distribution is confidential, so a copy does not hold it
    with pytest.raises(ParameterError, match="write the release where it was made"):
        copied.write(tmp_path / "copied.csv")
    assert {path.name for path in tmp_path.glob("*.csv")} == {"part.csv", "loose.csv"}


def test_a_whole_table_is_compared_with_itself_as_ever():
    whole = table_of(100, seed=5)
    table, schema = loaded(whole)
    plain = shoal.protect(whole, k=3, quasi=["age"], confidential=["diagnosis", "income"], t=0.5, method="mdav")
    encoding = shoal.fit_encoding(table, schema)
    released = of_part(encoding, whole, shoal.Requirements(k=3, t=0.5))
    assert released.whole == ()
    assert released.recount.assessment.figures() == plain.assessment.figures()


def test_values_that_the_whole_table_lacks_are_an_error():
    whole = table_of(60)
    table, schema = loaded(whole)
    encoding = shoal.fit_encoding(table, schema)
    for part in (
        whole[:20].with_columns(pl.lit("rare").alias("diagnosis")),
        whole[:20].with_columns(pl.lit(None, pl.Int64).alias("income")),
        whole[:20].with_columns(pl.lit(10**6).alias("income")),
    ):
        with pytest.raises(
            DataError, match="values do not occur in the table that the encoding was fitted to"
        ) as found:
            of_part(encoding, part, shoal.Requirements(k=3, t=0.9))
        assert "rare" not in str(found.value)


@given(st.lists(st.integers(0, 400), min_size=60, max_size=200), st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_intervals_change_t_by_no_more_than_stated_and_nothing_else_for_the_better(values, intervals, seed):
    from shoal.privacy.assessment import assess_column
    from shoal.privacy.counts import count_values

    whole = Table.from_native(pl.DataFrame({"x": values}))
    part = Table.from_native(pl.DataFrame({"x": np.random.default_rng(seed).choice(values, 30)}))
    exact = fit_values(whole, Column("x", Role.CONFIDENTIAL, Kind.NUMERIC))
    coarse = exact.quantised(intervals)
    labels = np.arange(30) // 5
    first, second = (
        assess_column(read.compared(count_values(labels, read.codes, n_values=read.n_values)), read.distance, l=2)
        for read in (exact.read(part), coarse.read(part))
    )
    assert coarse.totals.sum() == len(values)
    if coarse.exact:
        assert first == second
        return
    assert len(coarse.values) <= intervals
    assert abs(first.t - second.t) <= 2 / (len(coarse.values) - 1) + 1e-12
    assert (second.l, second.p) <= (first.l, first.p)
    assert second.alpha >= first.alpha
    assert second.entropy_l <= first.entropy_l + 1e-12
    assert second.c >= first.c - 1e-12


def test_beta_needs_all_values(tmp_path):
    rng = np.random.default_rng(0)
    whole = pl.DataFrame({"age": rng.integers(20, 60, 3000), "income": rng.permutation(3000) / 8})
    table, schema = loaded(whole, confidential=["income"])
    encoding = shoal.Encoding.load(shoal.fit_encoding(table, schema).save(tmp_path / "encoding.json"))
    assert not encoding.confidential[0].exact
    assert len(encoding.confidential[0].values) == 1000
    assert of_part(encoding, whole[:50], shoal.Requirements(k=3, t=0.9), confidential=["income"])
    with pytest.raises(DataError, match="beta compares single values"):
        of_part(encoding, whole[:50], shoal.Requirements(k=3, beta=1e6), confidential=["income"])
