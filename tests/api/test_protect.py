"""The whole way of the data, from a table to a release."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, GroupTooLarge, GroupTooSmall, MissingValues, ParameterError, SchemaError
from shoal.privacy.k_anonymity import count_classes
from shoal.schema.columns import Missing
from shoal.tables import Table

QUASI = ["age", "sex", "education", "income", "admitted"]
ORDERS = {"education": shoal.datasets.EDUCATION_ORDER}


def protect_patients(n=120, k=4, missing_share=0.0, **changes):
    people = shoal.datasets.patients(n, missing=missing_share, seed=3)
    arguments = {
        "quasi": QUASI,
        "confidential": ["diagnosis"],
        "identifiers": ["name"],
        "orders": ORDERS,
        "method": "mdav",
    }
    return people, shoal.protect(people, k, **arguments | changes, unnamed="other")


def class_sizes(frame, names):
    return frame.group_by(names).len()["len"].to_list()


def test_only_quasi_identifiers_change_and_rows_keep_their_order():
    people, release = protect_patients()
    untouched = [name for name in people.columns if name not in {*QUASI, "name"}]
    assert release.data.columns == [name for name in people.columns if name != "name"]
    assert release.data.select(untouched).equals(people.select(untouched))
    assert release.data.schema == {name: dtype for name, dtype in people.schema.items() if name != "name"}


def test_every_combination_of_quasi_identifiers_occurs_at_least_k_times():
    _, release = protect_patients(k=7)
    assert min(class_sizes(release.data, QUASI)) == release.k >= 7


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, lambda frame: frame])
def test_the_same_kind_of_table_comes_back(convert):
    people = shoal.datasets.patients(60)
    native = convert(people)
    release = shoal.protect(native, 3, quasi=QUASI, identifiers=["name"], orders=ORDERS, method="mdav", unnamed="other")
    assert type(release.data) is type(native)
    expected = shoal.protect(
        people, 3, quasi=QUASI, identifiers=["name"], orders=ORDERS, method="mdav", unnamed="other"
    )
    back = pl.from_pandas(release.data) if isinstance(release.data, pd.DataFrame) else pl.DataFrame(release.data)
    assert back["age"].to_list() == expected.data["age"].to_list()
    assert back["sex"].to_list() == expected.data["sex"].to_list()


def test_pandas_types_and_the_order_of_records_survive_and_an_index_does_not():
    frame = pd.DataFrame(
        {
            "age": pd.array([30, 31, 60, 61, 62, 33], dtype="Int64"),
            "grade": pd.Categorical(list("abbaab"), categories=["b", "a"], ordered=True),
            "kept": pd.Categorical(list("xyxyxy")),
            "when": pd.to_datetime(["2020-01-01", "2020-01-02", "2021-01-01"] * 2).tz_localize("Europe/Berlin"),
        },
        index=["r", "q", "r", "b", "a", "z"],
    )
    before = frame.copy(deep=True)
    release = shoal.protect(frame, 3, quasi=["age", "grade", "when"], method="mdav", unnamed="other")
    assert release.data.dtypes.equals(frame.dtypes)
    assert release.data.index.equals(pd.RangeIndex(6))
    assert release.data["kept"].tolist() == frame["kept"].tolist()
    assert [remark.text for remark in release.remarks if remark.code == "left-out"] == [
        "the index of the DataFrame is not released; to keep it, give it a name"
    ]
    pd.testing.assert_frame_equal(frame, before)


def test_a_shuffled_index_plays_no_part_in_the_count():
    frame = pd.DataFrame({"q": [1, 1, 2, 2]}, index=[3, 1, 0, 2])
    assert shoal.verify(frame, 2, quasi=["q"]).k == 2
    with pytest.raises(GroupTooSmall, match="4 of 4 records are in classes of fewer than k=3"):
        shoal.verify(frame, 3, quasi=["q"])


def test_a_missing_value_is_counted_as_a_value_of_its_own():
    seven = pl.DataFrame({"q": [1, 1, 1, 2, 2, 2, None]})
    assert count_classes(Table.from_native(seven), ["q"]).k == 1


@pytest.mark.parametrize("values", [[0.0, -0.0], [float("nan"), float("nan")]])
def test_equal_looking_numbers_are_one_class(values):
    assert count_classes(Table.from_native(pl.DataFrame({"q": values})), ["q"]).k == 2


def test_classes_are_counted_over_all_columns_together():
    frame = pl.DataFrame({"a": [1, 1, 2, 2, 1, 1], "b": ["x", "x", "x", "x", "y", "y"], "c": [None] * 6})
    assert sorted(count_classes(Table.from_native(frame), ["a", "b", "c"]).sizes.tolist()) == [2, 2, 2]


def test_information_loss_equals_the_obvious_computation():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(80, 3)) * [1, 10, 100] + [0, 5, 1e6]
    frame = pl.DataFrame({f"x{j}": points[:, j] for j in range(3)})
    release = shoal.protect(frame, 4, quasi=frame.columns, method="mdav", sums="exact")
    standard = (points - points.mean(axis=0)) / points.std(axis=0)
    labels = release.grouping.labels
    sse = sum(
        ((standard[labels == g] - standard[labels == g].mean(axis=0)) ** 2).sum() for g in range(labels.max() + 1)
    )
    assert release.loss.information_loss == pytest.approx(sse / standard.size, rel=1e-9)
    assert release.loss.sst == pytest.approx(standard.size)
    assert release.loss.discernibility == int((np.bincount(labels) ** 2).sum())


def test_integer_columns_stay_integers_and_keep_their_sum():
    people, release = protect_patients(n=100, k=5, sums="exact")
    assert release.data["income"].dtype == pl.Int64
    assert abs(people["income"].sum() - release.data["income"].sum()) <= 3


def test_integer_columns_become_exact_means_when_asked():
    people, release = protect_patients(decimals="full", sums="exact")
    assert release.data["income"].dtype == pl.Float64
    means = people.with_columns(group=release.grouping.labels).select(pl.col("income").mean().over("group"))
    np.testing.assert_allclose(release.data["income"].to_numpy(), means["income"].to_numpy())
    assert release.data["admitted"].dtype == pl.Date


@pytest.mark.parametrize("recode", ["mean", "median", "mode", "medoid", "midrange", "min", "max"])
def test_the_measure_asked_for_is_the_measure_used(recode):
    frame = pl.DataFrame({"x": [1.0, 2.0, 2.0, 9.0, 101.0, 101.0, 107.0, 119.0]})
    release = shoal.protect(frame, 4, quasi=["x"], recode=recode, method="mdav", sums="exact")
    expected = {
        "mean": (3.5, 107.0), "median": (2.0, 104.0), "mode": (2.0, 101.0), "medoid": (2.0, 107.0),
        "midrange": (5.0, 110.0), "min": (1.0, 101.0), "max": (9.0, 119.0),
    }[recode]  # fmt: skip
    assert release.data["x"].to_list() == [expected[0]] * 4 + [expected[1]] * 4


def test_ranges_are_text_that_holds_the_group():
    frame = pl.DataFrame({"age": [34, 41, 36, 60, 61, 75], "when": [dt.date(2020, 1, d) for d in (1, 2, 3, 1, 2, 3)]})
    release = shoal.protect(
        frame, 3, quasi=["age", "when"], column_weights={"when": 0}, recode="range", method="mdav", accept_loss=True
    )
    assert release.data["age"].to_list() == ["34-41"] * 3 + ["60-75"] * 3
    assert release.data["when"].to_list() == ["2020-01-01 to 2020-01-03"] * 6


@pytest.mark.parametrize("policy", ["fill", "suppress", "by-pattern", "impute"])
def test_no_record_with_missing_values_is_ever_lost(policy):
    people, release = protect_patients(n=200, missing_share=0.2, missing=policy)
    assert release.data.height == people.height
    assert release.data["diagnosis"].equals(people["diagnosis"])
    assert min(class_sizes(release.data, QUASI)) >= 4


def test_own_group_keeps_holes_and_suppresses_only_where_a_pattern_is_rare():
    frame = pl.DataFrame(
        {"a": [1.0, 2.0, 3.0, None, 5.0, 6.0, 7.0, 8.0], "b": [None, 2.0, 3.0, None, 5.0, 6.0, 7.0, None]}
    )
    release = shoal.protect(frame, 3, quasi=["a", "b"], missing="by-pattern", method="mdav", accept_loss=True)
    assert release.data["b"].is_null().to_list() == frame["b"].is_null().to_list()
    assert release.manifest["missing_values"]["suppressed"] == {"a": 2}
    assert release.data["a"].is_null().to_list() == [True, False, False, True, False, False, False, True]
    assert any('2 values of "a" were suppressed' in remark.text for remark in release.remarks)


def test_suppressed_values_count_as_lost():
    frame = pl.DataFrame({"a": [1.0, None, 50.0, 1.0, 2.0, 3.0]})
    kept = shoal.protect(frame.with_columns(pl.col("a").fill_null(25.0)), 2, quasi=["a"], method="mdav")
    lost = shoal.protect(frame, 2, quasi=["a"], missing="by-pattern", method="mdav", accept_loss=True)
    assert lost.manifest["missing_values"]["suppressed"]["a"] >= 1
    assert lost.loss.information_loss > kept.loss.information_loss


def test_impute_fills_with_median_and_mode_and_says_so():
    frame = pl.DataFrame({"x": [1.0, 2.0, 9.0, None], "c": ["a", "a", "b", None]})
    release = shoal.protect(frame, 4, quasi=["x", "c"], missing="impute", method="mdav", sums="exact", accept_loss=True)
    assert release.manifest["missing_values"]["imputed"] == {"x": 1, "c": 1}
    assert release.data["x"].to_list() == [3.5] * 4
    assert release.data["c"].to_list() == ["a"] * 4


def test_as_value_makes_missing_a_category():
    frame = pl.DataFrame({"c": ["a", "a", None, None, None, "a"]})
    release = shoal.protect(frame, 3, quasi=["c"], missing="category", method="mdav")
    assert release.data["c"].to_list() == ["a", "a", None, None, None, "a"]
    assert release.loss.information_loss == 0


def test_missing_policies_can_differ_by_column():
    frame = pl.DataFrame({"c": ["a", None, "a", None], "x": [1.0, None, 2.0, 3.0]})
    schema = 'missing = "impute"\n[columns.c]\nrole = "quasi"\nmissing = "category"\n[columns.x]\nrole = "quasi"'
    release = shoal.protect(frame, 2, schema=schema, method="mdav")
    assert release.manifest["missing_values"]["imputed"] == {"x": 1}
    assert release.data["c"].null_count() == 2


def test_missing_values_are_refused_by_default_with_a_count_per_column():
    with pytest.raises(MissingValues, match=r'missing values in "education" \(\d+\), "income" \(\d+\); choose'):
        protect_patients(missing_share=0.2)


def test_as_value_is_refused_for_numbers():
    with pytest.raises(
        MissingValues, match=r'nominal columns only, but there are missing values in "x" \(1, numeric\)'
    ):
        shoal.protect(pl.DataFrame({"x": [1.0, None, 2.0]}), 2, quasi=["x"], missing="category")


def test_minus_999_is_a_value_like_any_other():
    frame = pl.DataFrame({"x": [-999, -999, 5, 5]})
    assert shoal.protect(frame, 2, quasi=["x"]).data["x"].to_list() == [-999, -999, 5, 5]


def test_groups_never_cross_strata():
    people, release = protect_patients(strata=["region"], n=300, k=3)
    for g in range(len(release.grouping)):
        assert people["region"].gather(np.flatnonzero(release.grouping.labels == g)).n_unique() == 1
    assert min(class_sizes(release.data, [*QUASI, "region"])) >= 3


def test_strata_below_k_are_refused_without_naming_them():
    frame = pl.DataFrame({"x": [1, 2, 3, 4], "place": ["a", "a", "a", "lonely"]})
    with pytest.raises(DataError, match="1 of its 2 strata have fewer than k=2 records") as caught:
        shoal.protect(frame, 2, quasi=["x"], strata=["place"])
    assert "lonely" not in str(caught.value)


def test_sampling_weights_are_used_for_means_and_loss():
    frame = pl.DataFrame({"x": [0.0, 1.0, 10.0, 11.0], "w": [3.0, 1.0, 1.0, 1.0]})
    release = shoal.protect(frame, 2, quasi=["x"], sampling_weight="w", method="mdav", sums="exact")
    assert release.data["x"].to_list() == [0.25, 0.25, 10.5, 10.5]
    x, w = frame["x"].to_numpy(), frame["w"].to_numpy()
    sse = (w * (x - release.data["x"].to_numpy()) ** 2).sum()
    assert release.loss.information_loss == pytest.approx(sse / (w * (x - np.average(x, weights=w)) ** 2).sum())


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), None])
def test_bad_sampling_weights_are_refused(bad):
    frame = pl.DataFrame({"x": [1, 2], "w": [1.0, bad]})
    with pytest.raises(DataError, match='column "w" holds sampling weights, but 1 of its 2 values'):
        shoal.protect(frame, 2, quasi=["x"], sampling_weight="w")


def test_a_column_weight_pulls_groups_along_that_column():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    plain = shoal.protect(frame, 5, quasi=["x", "y"], method="mdav")
    heavy = shoal.protect(frame, 5, quasi=["x", "y"], column_weights={"x": 9}, method="mdav")
    assert heavy.loss.columns["x"].information_loss < plain.loss.columns["x"].information_loss


def test_a_largest_group_can_be_demanded():
    frame = pl.DataFrame({"x": [1, 2, 3, 4, 5]})
    with pytest.raises(GroupTooLarge, match="more than 4 records"):
        shoal.protect(frame, 3, quasi=["x"], max_size=4, method="mdav")
    with pytest.raises(ParameterError, match="max_size=2 is below k=3"):
        shoal.protect(frame, 3, quasi=["x"], max_size=2, method="mdav")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"k": 1}, ParameterError, "k must be at least 2, got 1"),
        ({"k": 7}, ParameterError, "k=7 needs at least 7 records, the table has 6"),
        ({"quasi": []}, SchemaError, "no quasi-identifiers given"),
        ({"quasi": None}, SchemaError, "no quasi-identifiers given"),
        ({"quasi": ["incme"]}, SchemaError, 'column "incme" is not in the table; did you mean "income"'),
        ({"method": "mdv"}, ParameterError, 'there is no method "mdv"; did you mean "mdav"'),
        ({"kinds": {"job": "numeric"}, "quasi": ["job"]}, DataError, "2 of its 6 values are text"),
        ({"options": {"gamma": 1}, "method": "mdav"}, ParameterError, 'method "mdav" has no option "gamma"'),
    ],
)
def test_mistakes_are_named(arguments, error, text):
    frame = pl.DataFrame({"income": [1.0, 2, 3, 4, 5, 6], "job": ["1", "2", "x", "y", "3", "4"]})
    with pytest.raises(error, match=text):
        shoal.protect(frame, **{"k": 2, "quasi": ["income"]} | arguments, unnamed="other")


def test_infinite_values_are_refused_by_column():
    with pytest.raises(DataError, match='column "x" has 1 infinite values'):
        shoal.protect(pl.DataFrame({"x": [1.0, float("inf"), 2.0]}), 2, quasi=["x"])


def test_an_unprotected_identifier_is_warned_about():
    _, release = protect_patients(identifiers=None)
    assert any('column "name" is released unchanged' in remark.text for remark in release.remarks)


def test_the_manifest_tells_what_was_done_and_no_value_of_a_record():
    people, release = protect_patients()
    text = release.manifest_json()
    manifest = json.loads(text)
    assert manifest["k"] == {"requested": 4, "achieved": release.k}
    assert sum(int(size) * count for size, count in manifest["groups"]["sizes"].items()) == people.height
    assert manifest["input"] == {"records": people.height, "columns": people.width}
    assert Table.from_native(people).fingerprint() not in text
    assert release.plan.digest() not in text
    for name in ("name", "region", "sex", "education", "diagnosis"):
        values = set(people[name].unique()) - {"other"}  # also the name of a role
        assert not any(f'"{value}"' in text for value in values)


def test_the_same_input_gives_the_same_bytes(tmp_path):
    written = []
    for attempt in ("one", "two"):
        (tmp_path / attempt).mkdir()
        _, release = protect_patients()
        paths = release.write(tmp_path / attempt / "safe.csv", report=tmp_path / attempt / "safe.html")
        written.append([path.read_bytes() for path in paths if not path.name.endswith(".holder.parquet")])
    assert written[0] == written[1]
    assert all(written[0])


def test_a_table_tampered_with_after_protection_is_not_written(tmp_path):
    _, release = protect_patients()
    broken = release.table.with_columns({"age": release.table.column("age") + np.arange(120)})
    object.__setattr__(release.released, "table", broken)
    with pytest.raises(GroupTooSmall):
        release.write(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []


@st.composite
def nasty_frames(draw):
    """Small tables with every kind of column, missing values, ties and constants."""
    k = draw(st.integers(2, 5))
    n = draw(st.sampled_from([k, 2 * k - 1, 2 * k, 3 * k, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    holes = draw(st.sampled_from([0.0, 0.1, 0.5]))
    columns = {
        "whole": rng.integers(-5, 5, n) + draw(st.sampled_from([0, 10**15])),
        "real": rng.normal(size=n) * 10.0 ** draw(st.integers(-200, 200)),
        "constant": np.full(n, 3.0),
        "text": rng.choice(list("abc"), n),
        "truth": rng.uniform(size=n) < 0.5,
        "day": np.datetime64("2020-01-01") + rng.integers(0, 9, n).astype("timedelta64[D]"),
    }
    frame = pl.DataFrame(columns)
    return frame.with_columns(
        pl.when(pl.Series(rng.uniform(size=n) >= holes)).then(pl.col(name)).alias(name) for name in columns
    ), k


@settings(max_examples=60)
@given(
    nasty_frames(),
    st.sampled_from(["fill", "suppress", "by-pattern", "impute"]),
    st.sampled_from([None, "medoid", "mode"]),
)
def test_k_holds_for_every_kind_of_table(case, missing, recode):
    frame, k = case
    try:
        release = shoal.protect(
            frame, k, quasi=frame.columns, missing=missing, recode=recode, method="mdav", accept_loss=True
        )
    except DataError as refused:
        assert "has no value at all" in str(refused)  # noqa: PT017 - imputing from nothing is refused, rightly
        return
    assert min(class_sizes(release.data, frame.columns)) >= k
    assert release.data.schema == frame.schema
    assert release.data.height == frame.height
    assert release.loss.information_loss >= 0


def test_every_policy_is_tested_here():
    assert {str(policy) for policy in Missing} == {"error", "fill", "suppress", "by-pattern", "impute", "category"}


def test_group_works_on_plain_arrays():
    points = np.array([[1e6, 0], [1e6 + 1, 0], [1e6 + 50, 1], [1e6 + 51, 1]])
    assert shoal.group(points, k=2, method="mdav").tolist() == [0, 0, 1, 1]
    assert shoal.group([1, 2, 10, 11], k=2, method="mdav").tolist() == [0, 0, 1, 1]


def test_group_standardises_unless_told_otherwise():
    points = np.array([[0.0, 0.0], [0.0, 1.0], [1000.0, 0.0], [1000.0, 1.0]]) * [1, 0.001]
    assert shoal.group(points, k=2, method="mdav", standardise=False).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("points", "text"), [([["a"]], "points must be numbers"), ([[1.0], [np.nan]], "missing or infinite")]
)
def test_group_refuses_what_is_no_number(points, text):
    with pytest.raises(DataError, match=text):
        shoal.group(points, k=2)


def test_arrow_types_survive():
    table = pa.table(
        {"d": pa.array([1, 2, 8, 9], pa.decimal128(10, 2)), "c": pa.array(list("aabb")).dictionary_encode()}
    )
    release = shoal.protect(table, 2, quasi=["d", "c"], method="mdav")
    assert release.data.schema == table.schema
    assert release.data.column("c").to_pylist() == list("aabb")


def test_an_index_that_is_named_among_the_columns_is_a_column():
    index = pd.MultiIndex.from_arrays([[f"p{i}" for i in range(4)], [1, 1, 9, 9]], names=["person", "age"])
    frame = pd.DataFrame({"income": [10, 20, 30, 40]}, index=index)
    release = shoal.protect(frame, 2, quasi=["age"], confidential=["income"], method="mdav")
    assert release.data.to_dict("list") == {"age": [1, 1, 9, 9], "income": [10, 20, 30, 40]}
    text = 'the index "person" of the DataFrame is not released; to keep it, name it among the columns'
    assert text in map(str, release.remarks)
    roles = {"person": "identifier", "age": "quasi", "income": "confidential"}
    schema = "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    release = shoal.protect(frame, 2, schema=schema, method="mdav")
    assert list(release.data.columns) == ["age", "income"]
    assert release.remarks == ()


def test_the_work_grows_linearly_with_the_number_of_columns(monkeypatch, tmp_path):
    """Names and types of a wide table are not listed again for each column."""
    listed = []

    def counted(name):
        found = getattr(pl.DataFrame, name).fget
        return property(lambda frame: listed.append(frame.width) or found(frame))

    for name in ("columns", "schema", "dtypes"):
        monkeypatch.setattr(pl.DataFrame, name, counted(name))
    totals = []
    for width in (50, 200):
        path = tmp_path / f"{width}.csv"
        frame = pl.DataFrame({f"x{j}": np.arange(12) * j for j in range(width)})
        frame.write_csv(path)
        listed.clear()
        release = shoal.protect(path, 3, quasi=frame.columns, method="mdav")
        release.write(tmp_path / f"{width}-safe.csv", public_report=tmp_path / f"{width}-safe.html")
        totals.append(sum(listed))
    assert totals[1] < 5 * totals[0]  # quadratic work would be 16 times as much


def test_a_sampling_weight_is_written_as_it_was_read(tmp_path):
    (tmp_path / "a.csv").write_text("age;weight\n1;1,50\n1;2\n9;0,250\n9;10,0\n")
    release = shoal.protect(
        tmp_path / "a.csv", 2, quasi=["age"], sampling_weight="weight", release_weight="unchanged", method="mdav"
    )
    release.write(tmp_path / "b.csv", report=tmp_path / "b.html")
    assert (tmp_path / "b.csv").read_text() == "age;weight\n1;1,50\n1;2\n9;0,250\n9;10,0\n"


def test_a_category_that_lost_its_last_record_leaves_no_trace():
    values = [*"aaaaabbbbb", "rare"]
    dictionary = pa.array(values).dictionary_encode()
    for data in (
        pd.DataFrame({"c": pd.Categorical([*values], categories=["never", "b", "rare", "a"])}),
        pa.table({"c": dictionary}),
    ):
        release = shoal.protect(data, 3, quasi=["c"], method="mdav")
        if isinstance(data, pd.DataFrame):
            assert release.data["c"].cat.categories.tolist() == ["b", "a"]
        else:
            assert "rare" not in release.data.column("c").chunk(0).dictionary.to_pylist()
            assert release.data.schema == data.schema


def test_numbers_near_the_end_of_the_scale_do_not_overflow():
    frame = pl.DataFrame({"x": [1.7e308, -1.7e308, 1.6e308, -1.5e308]})
    for recode in ("mean", "median", "range", "medoid"):
        release = shoal.protect(frame, 2, quasi=["x"], recode=recode, method="mdav")
        assert "inf" not in str(release.data["x"].to_list())
        assert release.loss.information_loss < 0.1


def test_integers_too_far_apart_are_refused():
    with pytest.raises(DataError, match=r'column "x" spans more than 2\*\*62'):
        shoal.protect(pl.DataFrame({"x": [-(2**63), 2**63 - 1]}), 2, quasi=["x"])


def test_nested_columns_are_refused_as_quasi_identifiers_only():
    frame = pl.DataFrame({"x": [1, 2], "visits": [[1], [2, 3]]})
    assert (
        shoal.protect(frame, 2, quasi=["x"], unnamed="other", accept_loss=True).data["visits"].equals(frame["visits"])
    )
    with pytest.raises(DataError, match='column "visits" is nested'):
        shoal.protect(frame, 2, quasi=["visits"], unnamed="other")


def test_an_empty_table_has_no_k():
    with pytest.raises(DataError, match="no records"):
        shoal.verify(pl.DataFrame({"x": []}, schema={"x": pl.Int64}), 2, quasi=["x"])


@pytest.mark.parametrize(
    ("cost", "expected"), [("sae", 2.0), ("max-distance", 5.0), ("round-up", 9.0), ("round-down", 1.0), ("sse", 3.5)]
)
def test_the_representative_belongs_to_the_cost_that_is_minimised(cost, expected):
    frame = pl.DataFrame({"x": [1.0, 2.0, 2.0, 9.0, 101.0, 101.0, 107.0, 119.0]})
    release = shoal.protect(frame, 4, quasi=["x"], method="optimal-1d", options={"cost": cost}, sums="exact")
    assert release.data["x"][0] == expected
    asked = shoal.protect(frame, 4, quasi=["x"], method="optimal-1d", options={"cost": cost}, recode="mode")
    assert asked.data["x"][0] == 2.0
