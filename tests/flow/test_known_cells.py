"""Missing values by fill and suppress: only groups with missing cells change, and all that changes is counted."""

import datetime as dt
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import MissingValues, ParameterError, UnknownColumn
from shoal.flow.known_cells import recode_known

from naive import known_cells as naive

SIZES = ["small", "middle", "large"]
COLUMNS = ["age", "income", "born", "size", "job"]
METHODS = ["mdav", "ona-star", "mona-plus", "annealing", "auto", "v-mdav", "mondrian", "rank-sum", "lloyd"]


@st.composite
def tables(draw, most=40):
    """People with missing cells in any column, at least one known cell in each, and many ties and duplicates."""
    n = draw(st.integers(6, most))
    seed, share = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.03, 0.2, 0.6]))
    random = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": random.integers(0, 9, n),
            "income": random.choice([0.5, 1.25, 7.0, 1e6 + 0.5], n),
            "born": [dt.date(1990, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 400, n)],
            "size": random.choice(SIZES, n),
            "job": random.choice(list("abc"), n),
        }
    )
    missing = {name: random.random(n) < share for name in COLUMNS}
    for mask in missing.values():
        mask[random.integers(n)] = False
    return frame.with_columns(
        pl.when(pl.Series(mask)).then(None).otherwise(pl.col(name)).alias(name) for name, mask in missing.items()
    )


def protect(frame, k=3, **changes):
    arguments = {"quasi": COLUMNS, "orders": {"size": SIZES}, "sums": "exact", "accept_loss": True, "effort": "fast"}
    arguments |= changes
    if "size" not in arguments["quasi"]:
        del arguments["orders"]
    if arguments.get("method", "auto") != "auto":
        del arguments["effort"]
    return shoal.protect(frame, k, **arguments)


@settings(max_examples=40)
@given(tables(), st.sampled_from(METHODS), st.sampled_from(["fill", "suppress"]), st.integers(2, 3))
def test_every_group_has_the_representative_of_its_known_cells_or_nothing(frame, method, policy, k):
    release = protect(frame, k, method=method, missing=policy, decimals="full")
    labels = release.grouping.labels.tolist()
    assert release.k >= k
    for name in COLUMNS:
        before, after = frame[name].to_list(), release.data[name].to_list()
        if name == "income":
            expected = naive.released_column(before, labels, policy, statistics.fmean)
            assert after == pytest.approx(expected)
        else:
            one = naive.released_column(before, labels, policy, lambda _: "known")
            assert [None if value is None else "known" for value in after] == one
            for group in set(labels):
                inside = [i for i, label in enumerate(labels) if label == group]
                assert len({after[i] for i in inside}) == 1
                known = {before[i] for i in inside if before[i] is not None}
                if name in {"size", "job"} and after[inside[0]] is not None:
                    assert after[inside[0]] in known
        filled, emptied = naive.changed_cells(before, labels, policy)
        counts = release.manifest["missing_values"]
        if frame[name].null_count():
            assert counts["filled"].get(name, 0) == filled
            assert counts["emptied"].get(name, 0) == emptied
    assert release.loss.columns["job"].information_loss == pytest.approx(
        naive.mismatch_loss(frame["job"].to_list(), release.data["job"].to_list())
    )
    for name, number in (("income", float), ("born", lambda day: float(day.toordinal()))):
        before, after = ([None if x is None else number(x) for x in part[name]] for part in (frame, release.data))
        assert release.loss.columns[name].information_loss == pytest.approx(naive.squared_loss(before, after), abs=1e-9)


RECODES = ["mean", "median", "mode", "medoid", "range", "midrange", "min", "max", "set", "suppress"]


@settings(max_examples=30)
@given(tables(most=25), st.sampled_from(RECODES), st.sampled_from(["fill", "suppress"]), st.booleans(), st.booleans())
def test_all_representatives_with_weights_strata_and_global_recoding(frame, recode, policy, together, weighted):
    n = frame.height
    random = np.random.default_rng(n)
    frame = frame.with_columns(pl.Series("weight", random.integers(1, 5, n)), pl.Series("region", np.arange(n) % 2))
    release = protect(
        frame, 2, quasi=["age", "income"], recode=recode, missing=policy, method="mdav", global_recoding=together,
        sampling_weight="weight" if weighted else None, strata=["region"], unnamed="other",
    )  # fmt: skip
    assert release.k >= 2
    labels = release.grouping.labels.tolist()
    for name in ("age", "income"):
        expected = naive.released_column(frame[name].to_list(), labels, policy, lambda _: "known")
        mixed_up = [x is not None and y is None for x, y in zip(expected, release.data[name], strict=True)]
        assert not any(mixed_up) or recode == "suppress"
        assert not any(x is None and y is not None for x, y in zip(expected, release.data[name], strict=True))


def hidden_cells(frame, release, name):
    """Known cells that the release does not show."""
    return int((frame[name].is_not_null() & release.data[name].is_null()).sum())


@pytest.mark.parametrize("method", ["mdav", "ona-star", "mona-plus", "annealing", "auto", "mdav-star", "pcl"])
@pytest.mark.parametrize("k", [2, 5])
def test_one_missing_value_costs_at_most_one_group(method, k):
    random = np.random.default_rng(k)
    frame = pl.DataFrame(
        {"age": random.integers(0, 90, 200), "income": random.normal(size=200), "job": ["a", "b"] * 100}
    )
    frame = frame.with_columns(pl.when(pl.int_range(200) == 17).then(None).otherwise(pl.col("age")).alias("age"))
    given = {"quasi": ["age", "income", "job"], "method": method, "k": k}
    emptied = protect(frame, missing="suppress", **given)
    assert 0 < hidden_cells(frame, emptied, "age") <= 2 * k - 2
    assert emptied.manifest["missing_values"]["emptied"] == {"age": hidden_cells(frame, emptied, "age")}
    filled = protect(frame, missing="fill", **given)
    assert filled.data["age"].null_count() == 0
    assert filled.manifest["missing_values"]["filled"] == {"age": 1}


def test_grouping_by_pattern_would_fail_the_bound_of_one_group():
    frame = pl.DataFrame({"age": [None, *range(199)], "income": [float(i % 7) for i in range(200)]})
    old = shoal.protect(frame, 5, quasi=["age", "income"], missing="by-pattern", method="mdav", accept_loss=True)
    assert hidden_cells(frame, old, "age") == 199  # the wrong version: all cells of the column
    new = shoal.protect(frame, 5, quasi=["age", "income"], missing="suppress", method="mdav")
    assert hidden_cells(frame, new, "age") <= 8


def test_a_release_that_leaves_missing_marks_inside_a_group_is_refused(monkeypatch):
    frame = pl.DataFrame({"age": [1, 1, None, 5, 5, 5]})

    def marks_kept(task, policy, selected, keys):
        (column, loss), cells = recode_known(task, policy, selected, keys)
        return (task.series.zip_with(task.series.is_null(), column), loss), cells

    monkeypatch.setattr("shoal.flow.known_cells.recode_known", marks_kept)
    with pytest.raises(shoal.errors.GroupTooSmall):
        shoal.protect(frame, 3, quasi=["age"], missing="fill", method="mdav", accept_loss=True)


def test_requirements_and_persons_hold_with_missing_cells():
    random = np.random.default_rng(3)
    n = 120
    frame = pl.DataFrame(
        {
            "person": np.arange(n) // 2, "age": random.integers(20, 60, n), "job": random.choice(list("abc"), n),
            "illness": random.choice(list("uvwx"), n),
        }
    )  # fmt: skip
    frame = frame.with_columns(pl.when(pl.Series(random.random(n) < 0.2)).then(None).otherwise("age").alias("age"))
    for policy in ("fill", "suppress"):
        release = shoal.protect(
            frame, 3, quasi=["age", "job"], confidential=["illness"], unit="person", missing=policy, l=2,
            accept_relinking=True, accept_loss=True,
        )  # fmt: skip
        assert release.k >= 3
        kept = shoal.protect(
            frame.with_columns(pl.col("age").first().over("person")), 3, quasi=["age", "job"],
            confidential=["illness"], unit="person", constant=["age"], missing=policy, accept_relinking=True,
            accept_loss=True,
        )  # fmt: skip
        assert kept.k >= 3


def test_policies_by_column_in_python_schema_and_their_errors():
    frame = pl.DataFrame({"age": [1, 2, None, 5], "job": ["a", None, "b", "b"], "sex": ["f", "m", "f", "m"]})
    quasi = ["age", "job", "sex"]
    release = shoal.protect(frame, 2, quasi=quasi, missing={"age": "fill", "job": "suppress"}, accept_loss=True)
    assert release.schema["age"].missing == "fill"
    assert set(release.manifest["missing_values"]["filled"]) <= {"age"}
    with pytest.raises(MissingValues, match=r'missing values in "job" \(1\); .* at most 2 known cells'):
        shoal.protect(frame, 2, quasi=quasi, missing={"age": "fill"})
    with pytest.raises(UnknownColumn):
        shoal.protect(frame, 2, quasi=quasi, missing={"ages": "fill"})
    with pytest.raises(ParameterError):
        shoal.protect(frame, 2, quasi=quasi, missing={"age": "fil"})
    with pytest.raises(ParameterError, match="missing must be a text such as fill, or a mapping"):
        release.schema.updated(missing=3)
    schema = 'missing = "fill"\n[columns.age]\nrole = "quasi"\n[columns.job]\nrole = "quasi"\nmissing = "suppress"'
    again = shoal.protect(frame, 2, schema=schema, other=["sex"], accept_loss=True)
    assert again.manifest["schema"]["missing"] == "fill"


def test_evaluate_compares_known_cells_and_counts_emptied_ones_as_the_mean():
    random = np.random.default_rng(5)
    frame = pl.DataFrame({"age": random.integers(0, 90, 100).astype(float), "income": random.normal(size=100)})
    frame = frame.with_columns(pl.when(pl.Series(random.random(100) < 0.2)).then(None).otherwise("age").alias("age"))
    for policy in ("fill", "suppress"):
        release = shoal.protect(frame, 4, quasi=["age", "income"], missing=policy, method="mdav", decimals="full")
        known = frame["age"].drop_nulls()
        pairs = zip(frame["age"], release.data["age"], strict=True)
        errors = [abs(x - (known.mean() if y is None else y)) for x, y in pairs if x is not None]
        expected = statistics.fmean(errors) / (2**0.5 * statistics.stdev(known))
        assert release.utility.columns["age"].il1s == pytest.approx(expected)
        assert release.loss.columns["age"].information_loss == pytest.approx(
            naive.squared_loss(frame["age"].to_list(), release.data["age"].to_list())
        )


def panel_with_missing_cells(share):
    """Three years of 40 persons, in which cells of both quasi-identifiers are missing."""
    random = np.random.default_rng(8)
    persons = 40
    frame = pl.DataFrame(
        {
            "person": np.repeat(np.arange(persons), 3), "year": np.tile([2001, 2002, 2003], persons),
            "age": np.repeat(random.integers(20, 60, persons), 3), "job": random.choice(list("abc"), 3 * persons),
            "illness": random.choice(list("uvw"), 3 * persons),
        }
    )  # fmt: skip
    return frame.with_columns(
        pl.when(pl.Series(random.random(3 * persons) < share)).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("age", "job")
    )


def farthest(frame, released):
    """The largest distance of the illnesses of a class to those of the table; all categories are equally far apart."""
    whole = frame["illness"].value_counts(normalize=True)
    distances = []
    for _, rows in released.group_by("age", "job"):
        part = rows["illness"].value_counts(normalize=True)
        both = whole.join(part, on="illness", how="left").fill_null(0)
        distances.append((both["proportion"] - both["proportion_right"]).abs().sum() / 2)
    return max(distances)


@pytest.mark.parametrize("policy", ["fill", "suppress"])
def test_t_closeness_holds_with_missing_cells_and_the_changed_cells_are_counted(policy):
    frame = panel_with_missing_cells(0.1).drop("person", "year")
    given = {
        "quasi": ["age", "job"],
        "confidential": ["illness"],
        "missing": policy,
        "accept_loss": True,
        "effort": "fast",
    }
    release = shoal.protect(frame, 3, t=0.35, **given)
    assert release.data.group_by("age", "job").len()["len"].min() >= 3
    assert farthest(frame, release.data) <= 0.35 + 1e-12
    assert farthest(frame, shoal.protect(frame, 3, **given).data) > 0.35  # the wrong version: nothing is enforced
    counted = release.manifest["missing_values"]
    for name in ("age", "job"):
        filled = int((frame[name].is_null() & release.data[name].is_not_null()).sum())
        assert counted.get("filled", {}).get(name, 0) == filled
        assert counted.get("emptied", {}).get(name, 0) == hidden_cells(frame, release, name)


def fewest_with_a_history(released):
    """The least number of persons with the same rows in the order of time."""
    history = released.group_by("person", maintain_order=True).agg("age", "job")
    assert history.height == 40
    return history.group_by("age", "job").len()["len"].min()


@pytest.mark.parametrize("policy", ["fill", "suppress"])
def test_equal_histories_keep_equal_missing_marks(policy):
    """k persons have the same rows in the order of time, missing cells included."""
    frame = panel_with_missing_cells(0.05)
    given = {
        "quasi": ["age", "job"], "confidential": ["illness"], "unit": "person", "time": "year", "missing": policy,
        "keep_links": True, "accept_loss": True,
    }  # fmt: skip
    release = shoal.protect(frame, 3, of="histories", **given)
    assert fewest_with_a_history(release.data) >= 3
    rows = shoal.protect(frame, 3, of="units", accept_relinking=True, **given)
    assert fewest_with_a_history(rows.data) < 3  # the wrong version: k persons in each class of rows
    nulls = {name: release.data[name].null_count() - frame[name].null_count() for name in ("age", "job")}
    counted = release.manifest["missing_values"]
    changed = {name: counted.get("emptied", {}).get(name, 0) - counted.get("filled", {}).get(name, 0) for name in nulls}
    assert changed == nulls
