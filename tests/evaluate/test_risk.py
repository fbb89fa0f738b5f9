"""The risk of a release: against reference implementations, invariants, and known faults of other software."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.group_statistics import group_means, group_modes
from shoal.core.grouping import Groups
from shoal.core.row_classes import equal_rows
from shoal.errors import DataError, ParameterError, SchemaError, UnknownColumn
from shoal.evaluate.attribute_disclosure import attribute_disclosure
from shoal.evaluate.class_risk import class_risk
from shoal.evaluate.contribution import contributions
from shoal.evaluate.estimates import share
from shoal.evaluate.interval_disclosure import interval_disclosure, rank_interval_disclosure
from shoal.evaluate.linkage import assignment_linkage, linkage_without, record_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.tables import Table

from naive import risk as naive

QUASI = ["age", "sex", "income", "height"]


@st.composite
def releases(draw):
    """Columns of an original and its release: group means, noise, or anything else; with ties and missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 25))
    k = draw(st.integers(1, 4))
    labels = rng.permutation(np.arange(n) // min(k, n) % max(n // min(k, n), 1))
    grouping = Groups(labels)
    columns = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            original = rng.integers(0, 4, n).astype(float) if draw(st.booleans()) else rng.normal(size=n)
            released = group_means(original, grouping)[grouping.labels]
            categories = ()
        else:
            original = rng.integers(0, 3, n).astype(float)
            released = group_modes(original.astype(np.int64), grouping)[grouping.labels].astype(float)
            categories = ("a", "b", "c")
        if draw(st.booleans()):
            missing = rng.random(n) < 0.2
            original, released = (np.where(missing, np.nan, part) for part in (original, released))
        columns.append(PairedColumn(f"x{number}", original, released, categories))
    return columns


@given(releases())
def test_linkage_equals_the_reference_implementation(columns):
    found = record_linkage(columns)
    assert found.success.value == pytest.approx(naive.linkage(columns), abs=1e-9)
    assert found.success.low <= found.success.value <= found.success.high
    assert found.baseline.value == 1 / columns[0].original.size


@given(releases())
def test_no_linkage_succeeds_more_often_than_the_classes_allow(columns):
    labels = equal_rows([column.released for column in columns])
    bound = np.bincount(labels).size / labels.size  # the mean over records of 1 / size of the class
    assert record_linkage(columns).success.value <= bound + 1e-12
    assert assignment_linkage(columns).success.value <= bound + 1e-12


def test_the_tree_and_the_blocks_find_the_same(monkeypatch, rng):
    original = rng.normal(size=(300, 3)).round(1)
    released = (original * 2).round() / 2
    columns = [PairedColumn(str(j), original[:, j], released[:, j]) for j in range(3)]
    by_tree = record_linkage(columns).success.value
    monkeypatch.setattr("shoal.evaluate.linkage_search._MAX_TREE_COLUMNS", 0)
    monkeypatch.setattr("shoal.evaluate.linkage_search._BLOCK_CELLS", 1000)
    assert record_linkage(columns).success.value == pytest.approx(by_tree, abs=1e-12)


def test_an_unprotected_table_is_linked_and_a_constant_one_is_not(rng):
    original = rng.normal(size=(40, 2))
    open_table = [PairedColumn(str(j), original[:, j], original[:, j]) for j in range(2)]
    closed = [PairedColumn(str(j), original[:, j], np.zeros(40)) for j in range(2)]
    for attack in (record_linkage, assignment_linkage):
        assert attack(open_table).success.value == 1
        assert attack(open_table).baseline_adjusted_success == 1
        assert attack(closed).success.value == pytest.approx(1 / 40)
        assert attack(closed).baseline_adjusted_success == 0


def test_assignment_linkage_uses_that_each_individual_has_one_record():
    column = PairedColumn("x", np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.1, 3.1, 4.1, 5.1]))
    assert record_linkage([column]).success.value == 0.25  # all but the last are nearer to a neighbour's record
    assert assignment_linkage([column]).success.value == 1


def test_assignment_linkage_of_a_large_table_tries_blocks(rng):
    values = rng.normal(size=(3_500, 2))
    columns = [PairedColumn(str(j), values[:, j], values[:, j] + rng.normal(0, 1e-6, 3_500)) for j in range(2)]
    found = assignment_linkage(columns)
    assert found.success.value > 0.99
    assert "blocks of neighbours" in found.description
    categories = [PairedColumn("c", np.arange(3_500.0) % 7, np.arange(3_500.0) % 7, tuple("abcdefg"))]
    assert assignment_linkage(categories).success.value < 0.1


def test_a_sample_is_stated_and_near_the_whole(rng):
    values = rng.normal(size=(3_000, 2))
    columns = [PairedColumn(str(j), values[:, j], values[:, j].round(1)) for j in range(2)]
    whole, part = record_linkage(columns, sample=None), record_linkage(columns, sample=500)
    assert part.success.low <= whole.success.value <= part.success.high
    assert part.description.startswith("a random sample of 500 of 3,000 records")
    assert part == record_linkage(columns, sample=500)


def test_a_shuffled_release_links_no_better_than_a_guess(rng):
    values = rng.normal(size=(400, 3))
    columns = [PairedColumn(str(j), values[:, j], values[:, j]) for j in range(3)]
    shuffled = rng.permutation(400)
    columns = [PairedColumn(c.name, c.original, c.released[shuffled]) for c in columns]
    assert record_linkage(columns).success.value < 0.02


def test_averages_are_over_records_not_over_classes():
    risk = class_risk(np.array([1, 99]))
    assert risk.prosecutor.average == pytest.approx(0.02)  # the mean over classes would be 0.505
    assert risk.marketer == pytest.approx(0.02)
    assert (risk.prosecutor.highest, risk.unique) == (1.0, 0.01)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", None])), min_size=1, max_size=30))
def test_class_risk_equals_the_reference_implementation(rows):
    table = pl.DataFrame(rows, schema={"x": pl.Int64, "y": pl.String}, orient="row")
    risk = shoal.risk(table, table, quasi=["x", "y"], sample=5)
    assert risk.classes.prosecutor.average == pytest.approx(naive.average_risk(rows))
    assert risk.classes.prosecutor.highest == pytest.approx(max(1 / rows.count(row) for row in rows))
    above = sum(rows.count(row) < 5 for row in rows) / len(rows)
    assert risk.classes.prosecutor.share_above == pytest.approx(above)


def test_a_missing_value_equals_only_a_missing_value():
    table = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2, None]})
    risk = shoal.risk(table, table, quasi=["age"])
    assert risk.classes.prosecutor.highest == 1
    assert risk.classes.unique == pytest.approx(1 / 7)


def test_a_shuffled_index_changes_nothing(rng):
    people = shoal.datasets.patients(120)
    release = shoal.protect(people, 4, quasi=QUASI, confidential=["diagnosis"], method="mdav", unnamed="other")
    plain = shoal.risk(people, release.data, quasi=QUASI, confidential=["diagnosis"]).to_dict()
    order = rng.permutation(120)
    before = people.to_pandas().set_axis(order)
    after = release.data.to_pandas().set_axis([f"r{place % 7}" for place in order])
    found = shoal.risk(before, after, quasi=QUASI, confidential=["diagnosis"]).to_dict()
    assert found == plain


def test_the_journalist_counts_the_population():
    table = pl.DataFrame({"x": ["a", "a", "b"], "w": [10.0, 10.0, 1.0]})
    population = pl.DataFrame({"x": ["a"] * 8 + ["b"] * 2})
    risk = shoal.risk(table, table, quasi=["x"], population=population).classes
    assert risk.prosecutor.highest == 1
    assert risk.journalist.highest == pytest.approx(1 / 2)
    assert risk.journalist.average == pytest.approx((2 / 8 + 1 / 2) / 3)
    assert risk.marketer == pytest.approx((2 / 8 + 1 / 2) / 3)
    unknown = pl.DataFrame({"x": ["z"]})
    found = shoal.risk(table, table, quasi=["x"], population=unknown).classes
    assert found.journalist.highest == 1
    assert found.population.uncovered == 2
    assert shoal.risk(table, table, quasi=["x"]).classes.journalist is None


def test_a_control_table_with_further_categories_keeps_the_codes():
    """Codes of the control used to be shifted by categories that the release lacks."""
    people = pl.DataFrame({"x": list("aacc"), "y": list("ppqq")})
    plain = pl.DataFrame({"x": list("acc"), "y": list("pqq")})
    further = pl.DataFrame({"x": list("bacc"), "y": list("opqq")})
    found = [
        shoal.risk(people, people, quasi=["x"], confidential=["y"], control=control).attack("attribute-disclosure")
        for control in (plain, further)
    ]
    assert [attack.success.value for attack in found] == [1, 1]
    assert found[0].baseline.value == 1
    assert found[1].baseline.value == pytest.approx(3 / 4)  # "o" is never guessed


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=30))
def test_interval_disclosure_equals_the_reference_implementation(pairs):
    original, released = (np.array(part, float) for part in zip(*pairs, strict=True))
    column = PairedColumn("x", original, released)
    reach = 0.4 * original.std()
    assert interval_disclosure([column], width=0.4)[0].success.value == pytest.approx(
        naive.interval(original, released, reach * (1 + 1e-12))
    )
    ordered = sorted(original)
    ranks = [[naive.rank(value, ordered) for value in part] for part in (original, released)]
    assert rank_interval_disclosure([column], width=0.2)[0].success.value == pytest.approx(
        naive.interval(*ranks, 0.2 * len(original) * (1 + 1e-12))
    )


def test_interval_disclosure_has_a_control_and_skips_categories(rng):
    values = rng.normal(size=2_000)
    near = PairedColumn("near", values, values + rng.normal(0, 0.02, 2_000))
    far = PairedColumn("far", values, rng.permutation(values))
    text = PairedColumn("text", np.zeros(2_000), np.zeros(2_000), ("a",))
    found = {attack.target: attack for attack in interval_disclosure([near, far, text])}
    assert set(found) == {"near", "far"}
    assert found["near"].success.low > found["near"].baseline.high
    assert abs(found["far"].success.value - found["far"].baseline.value) < 0.02
    with pytest.raises(ParameterError, match="width=2"):
        interval_disclosure([near], width=2)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_attribute_disclosure_equals_the_reference_implementation(pairs):
    labels, values = (list(part) for part in zip(*pairs, strict=True))
    dense = np.unique(labels, return_inverse=True)[1]
    column = PairedColumn("x", np.array(values, float), np.array(values, float), tuple("abcd"))
    found = attribute_disclosure(dense, [column])[0]
    assert found.success.value == pytest.approx(naive.most_frequent_share(labels, values))


def test_small_classes_agree_at_random_and_the_baseline_shows_it(rng):
    labels = np.arange(4_000) // 2
    codes = rng.integers(0, 2, 4_000).astype(float)
    found = attribute_disclosure(labels, [PairedColumn("x", codes, codes, ("a", "b"))])[0]
    assert found.success.value > 0.7
    assert found.baseline_adjusted_success < 0.05
    same = np.repeat(rng.integers(0, 2, 2_000), 2).astype(float)
    assert attribute_disclosure(labels, [PairedColumn("x", same, same, ("a", "b"))])[0].baseline_adjusted_success == 1


def test_numbers_are_guessed_by_the_median_of_the_class():
    values = np.array([1.0, 1.0, 9.0, np.nan])
    found = attribute_disclosure(np.array([0, 0, 1, 1]), [PairedColumn("x", values, values)])[0]
    assert found.success.value == 0.75  # a missing number is never learned


def test_a_control_group_separates_inference_from_disclosure(rng):
    def people(n):
        age = rng.integers(20, 80, n)
        ill = (rng.random(n) < np.where(age > 50, 0.8, 0.2)).astype(int)
        return pl.DataFrame({"age": age, "nr": rng.random(n), "ill": ill.astype(str)})

    members, others = people(1_500), people(1_500)
    # age alone discloses as much about individuals outside the release; a unique number only about those inside
    safe = shoal.risk(members, members, quasi=["age"], confidential=["ill"], control=others).attack(
        "attribute-disclosure"
    )
    leaky = shoal.risk(members, members, quasi=["age", "nr"], confidential=["ill"], control=others).attack(
        "attribute-disclosure"
    )
    assert safe.baseline_adjusted_success < 0.15
    assert leaky.success.value == 1
    assert leaky.baseline_adjusted_success > 0.5
    assert "control table" in leaky.description


def test_contributions_name_the_column_that_identifies_records(rng):
    table = pl.DataFrame({"sex": ["f", "m"] * 50, "nr": range(100), "one": [1] * 100})
    found = contributions(Table.from_native(table), ["sex", "nr", "one"])
    assert found["nr"].contribution == pytest.approx(1 - 2 / 100)
    assert found["sex"].contribution == found["one"].contribution == 0
    assert (found["one"].distinction, found["one"].separation) == (0.01, 0)
    assert found["sex"].separation == pytest.approx(1 - 2 * (50 * 49) / (100 * 99))
    columns = pair_columns(Table.from_native(table), Table.from_native(table), ["sex", "nr", "one"])
    gained = linkage_without(columns)
    assert gained["nr"] > 0.9
    assert gained["one"] == 0


def test_one_quasi_identifier_contributes_everything():
    table = Table.from_native(pl.DataFrame({"x": [1, 2, 3, 4]}))
    assert contributions(table, ["x"])["x"].average_without == 0.25
    columns = pair_columns(table, table, ["x"])
    assert linkage_without(columns) == {"x": 0.75}


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_risk_and_utility_are_tables_of_the_library_that_was_given(backend):
    frame = pl.DataFrame({"age": [30, 32, 60, 62], "income": [1.0, 2.0, 4.0, 5.0], "ill": ["y", "n", "y", "y"]})
    released = frame.with_columns(age=pl.Series([31, 31, 61, 61]))
    native = {"polars": released, "pandas": released.to_pandas(), "pyarrow": released.to_arrow()}[backend]
    risk = shoal.risk(frame, native, quasi=["age"], confidential=["ill"])
    assert type(risk.table()) is type(native)
    table = risk.table("polars")
    assert table.columns == ["measure", "target", "value", "low", "high", "baseline", "meaning"]
    assert table.filter(measure="record-linkage")["value"].item() == risk.attack("record-linkage").success.value
    assert table.filter(measure="attribute-disclosure")["target"].to_list() == ["ill"]
    utility = shoal.utility(frame, native)
    assert type(utility.table()) is type(native)
    table = utility.table("polars")
    assert table.columns == ["measure", "column", "value", "meaning"]
    assert table.filter(measure="mean", column="age")["value"].item() == utility.columns["age"].mean


def test_risk_and_utility_have_a_short_repr_and_escaped_html():
    frame = pl.DataFrame({"<b>": [30, 32, 60, 62]})
    released = pl.DataFrame({"<b>": [31, 31, 61, 61]})
    risk, utility = shoal.risk(frame, released, quasi=["<b>"]), shoal.utility(frame, released)
    assert repr(risk).startswith("<Risk: 4 records in 2 equivalence classes; prosecutor risk 50.00 % at most, 50.00 %")
    assert repr(utility).startswith("<Utility: 1 column, IL1s")
    for shown in (risk, utility):
        assert len(repr(shown).splitlines()) < 8
        assert "&lt;b&gt;" in shown._repr_html_()
        assert "<b>" not in shown._repr_html_()


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"), [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)]
)
def test_wilson_intervals(successes, trials, low, high):
    estimate = share(np.repeat([1.0, 0.0], [successes, trials - successes]))
    assert (estimate.low, estimate.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_a_release_has_its_risk_and_loses_the_original_when_pickled():
    people = shoal.datasets.patients(80)
    release = shoal.protect(
        people, 4, quasi=QUASI, confidential=["diagnosis"], identifiers=["name"], method="mdav", unnamed="other"
    )
    assert release.risk is release.risk
    assert release.risk.classes.prosecutor.highest == 1 / release.k
    assert release.risk.attack("attribute-disclosure", "diagnosis").target == "diagnosis"
    assert release.utility.columns["diagnosis"].changed == 0
    assert "prosecutor, highest" in str(release.risk)
    json.dumps(release.risk.to_dict())
    copy = pickle.loads(pickle.dumps(shoal.protect(people, 4, quasi=["age"], method="mdav", unnamed="other")))
    with pytest.raises(ParameterError, match="no handle to its original"):
        _ = copy.risk
    with pytest.raises(ParameterError, match="there is no attack"):
        release.risk.attack("guessing")


def test_releases_of_other_software_are_read(tmp_path):
    people = pl.DataFrame(
        {"age": [30, 34, 60, 66], "zip": ["80331", "80333", "01067", "01069"], "ill": ["y", "y", "n", "y"]}
    )
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "safe.csv").write_text("age;zip;ill\n[30, 35);8033*;y\n[30, 35);8033*;y\n*;0106*;n\n*;0106*;y\n")
    found = shoal.risk(tmp_path / "people.csv", tmp_path / "safe.csv", quasi=["age", "zip"], confidential=["ill"])
    assert found.classes.prosecutor.highest == 0.5
    assert found.attack("record-linkage").success.value <= 0.5
    assert found.attack("attribute-disclosure").success.value == 0.75


def test_attacks_are_left_out_with_a_note_if_records_were_removed():
    people = pl.DataFrame({"age": [1, 2, 3, 4]})
    found = shoal.risk(people, people.head(3), quasi=["age"])
    assert found.attacks == ()
    assert "4 records and the release 3" in found.notes[0]
    with pytest.raises(DataError, match="the same records in the same order"):
        pair_columns(Table.from_native(people), Table.from_native(people.head(3)), ["age"])


def test_wrong_use_is_refused():
    people = pl.DataFrame({"age": [1, 2, 3], "ill": ["a", "b", "c"], "w": [1.0, 0.0, 2.0]})
    with pytest.raises(SchemaError, match='"age" is both'):
        shoal.risk(people, people, quasi=["age"], confidential=["age"])
    with pytest.raises(UnknownColumn, match='did you mean "age"'):
        shoal.risk(people, people, quasi=["agee"])
    with pytest.raises(ParameterError, match="threshold=2"):
        shoal.risk(people, people, quasi=["age"], threshold=2)
    with pytest.raises(DataError, match='column "w": 1 sampling weights'):
        shoal.risk(people, people, quasi=["age"], sampling_weight="w")
    with pytest.raises(DataError, match="infinite"):
        shoal.risk(people, pl.DataFrame({"age": [1.0, np.inf, 2.0]}), quasi=["age"])


@pytest.mark.parametrize(
    "frame", [pl.DataFrame({"a": [1], "b": ["x"]}), pl.DataFrame({"a": [3, 3, 3], "b": ["x"] * 3})]
)
def test_one_class_only(frame):
    found = shoal.risk(frame, frame, quasi=["a"], confidential=["b"])
    assert found.classes.classes == 1
    assert found.attack("record-linkage").success.value == pytest.approx(1 / len(frame))
    assert found.attack("attribute-disclosure").baseline_adjusted_success == 0


def test_dates_and_pandas_categories_are_paired(rng):
    days = pd.date_range("2024-01-01", periods=8).to_series(index=range(8))
    before = pd.DataFrame({"day": days, "c": pd.Categorical(list("aabbccdd"))})
    after = before.assign(day=days.to_numpy()[[0, 0, 2, 2, 4, 4, 6, 6]])
    columns = pair_columns(Table.from_native(before), Table.from_native(after), ["day", "c"])
    assert columns[0].numeric
    assert not columns[1].numeric
    assert Matcher(columns).sizes.max() == 2


@pytest.mark.slow
def test_a_million_records_are_feasible(rng):
    n = 1_000_000
    values = rng.normal(size=(n, 5))
    frame = pl.DataFrame({f"x{j}": values[:, j] for j in range(5)}).with_columns(ill=pl.Series(rng.integers(0, 9, n)))
    grouped = frame.with_columns(pl.col(f"x{j}").round(0) for j in range(5))
    found = shoal.risk(frame, grouped, quasi=[f"x{j}" for j in range(5)], confidential=["ill"])
    assert found.attack("record-linkage").success.trials == 10_000
    assert found.attack("record-linkage").success.value < 0.1
