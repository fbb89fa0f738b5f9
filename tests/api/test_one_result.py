"""The same data, plan and seed give one result, whichever way it is asked for; and nothing is ignored silently."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, GroupTooLarge, ParameterError, RequirementNotMet
from shoal.schema.plan import MethodCall, Plan, ReadOptions
from shoal.schema.requirements import Requirements


@pytest.fixture
def people(rng):
    """Numbers as confidential values, so that it matters whether they are read as numbers."""
    age = rng.integers(20, 70, 90)
    return pl.DataFrame(
        {"age": age, "income": rng.normal(3000, 800, 90).round(1), "cost": 10 * age + rng.integers(0, 9, 90)}
    )


@pytest.fixture
def file(people, tmp_path):
    path = tmp_path / "people.csv"
    people.write_csv(path)
    return path


ROLES = {"quasi": ["age", "income"], "confidential": ["cost"]}


def test_compare_and_protect_agree_for_files_and_frames(people, file):
    losses = {
        shoal.protect(data, 5, method="mdav", t=0.3, **ROLES).loss.information_loss for data in (people, file)
    } | {
        next(iter(shoal.compare(data, [5], methods=["mdav"], t=0.3, **ROLES))).information_loss
        for data in (people, file)
    }
    assert len(losses) == 1


def test_a_file_and_a_frame_with_the_same_values_give_the_same_evidence(people, file):
    from_frame = shoal.protect(people, 5, method="mdav", **ROLES)
    from_file = shoal.protect(file, 5, method="mdav", **ROLES)
    assert [remark.code for remark in from_file.remarks] == [remark.code for remark in from_frame.remarks]
    assert from_file.risk.to_dict() == from_frame.risk.to_dict()
    assert from_file.utility.to_dict() == from_frame.utility.to_dict()
    figures = [shoal.assess(data, **ROLES).figures() for data in (people, file)]
    assert figures[0] == figures[1]


def test_texts_of_a_file_are_numbers_only_if_all_of_them_are(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,stage,cost\n30,I,1\n31,II,NA\n60,I,3\n61,II,4\n")
    schema = shoal.load_table(path, quasi=["age"], read_options={"na_values": ["NA"]}, unnamed="other")[1]
    assert str(schema["cost"].kind) == "numeric"
    assert str(schema["stage"].kind) == "nominal"
    assert str(shoal.load_table(path, quasi=["age"], unnamed="other")[1]["cost"].kind) == "nominal"


@pytest.mark.parametrize("method", ["rand-g", "chi-search"])
def test_global_recoding_never_gives_a_group_the_representative_of_another(method, rng):
    people = pl.DataFrame({"a": rng.integers(0, 4, 100).astype(str), "b": rng.integers(0, 4, 100).astype(str)})
    release = shoal.protect(people, 3, quasi=["a", "b"], method=method, global_recoding=True)
    for members in release.grouping.members():
        inside = set(people[members.tolist()].rows())
        assert set(release.data[members.tolist()].rows()) <= inside


@pytest.mark.parametrize("seed", range(6))
def test_global_recoding_and_l_diversity_hold_together(seed):
    rng = np.random.default_rng(seed)
    people = pl.DataFrame({
        "age": rng.integers(20, 40, 120), "sex": rng.choice(["f", "m"], 120), "illness": rng.choice(list("ABCDE"), 120),
    })  # fmt: skip
    release = shoal.protect(people, 4, quasi=["age", "sex"], confidential=["illness"], l=3, global_recoding=True)
    assert release.assessment.l >= 3
    joined = pl.concat([people.select("age", "sex"), release.data.select(a="age", s="sex")], how="horizontal")
    assert joined.group_by("age", "sex").agg(pl.struct("a", "s").n_unique())["a"].max() == 1


def test_weights_of_nominal_columns_change_the_groups(rng):
    people = pl.DataFrame({name: rng.integers(0, 3, 60).astype(str) for name in ("a", "b", "c")})
    losses = {
        heavy: shoal.protect(people, 5, quasi=["a", "b", "c"], column_weights={heavy: 50.0}).loss.columns
        for heavy in ("a", "b")
    }
    assert losses["a"]["a"].information_loss < losses["b"]["a"].information_loss
    assert losses["b"]["b"].information_loss < losses["a"]["b"].information_loss


def test_weights_that_a_method_cannot_use_are_refused(rng):
    people = pl.DataFrame({name: rng.integers(0, 3, 60).astype(str) for name in ("a", "b")})
    with pytest.raises(ParameterError, match='method "k-member" cannot weight columns'):
        shoal.protect(people, 5, quasi=["a", "b"], method="k-member", column_weights={"a": 2.0})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"efort": "best"}, 'no option "efort"; did you mean "effort"'),
        ({"effort": "best", "nonsense": 3}, 'no option "nonsense"'),
        ({"seed": 7}, '"seed" is not an option of a method; give it as seed='),
        ({"max_size": 4}, '"max_size" is not an option of a method'),
        ({"effort": "lazy"}, "choose one of fast, balanced, best"),
    ],
)
def test_options_that_would_be_ignored_are_refused_also_on_nominal_tables(options, text, rng):
    nominal = pl.DataFrame({"a": rng.integers(0, 3, 40).astype(str)})
    for frame in (nominal, nominal.cast(pl.Int64)):
        with pytest.raises(ParameterError, match=text):
            shoal.protect(frame, 5, quasi=["a"], options=options)


def test_time_limits_are_shared_among_strata_of_nominal_tables(rng, monkeypatch):
    from shoal.flow import group as stage

    given = []
    run = stage.run

    def spy(*arguments, time_limit=None, **rest):
        given.append(time_limit)
        return run(*arguments, time_limit=time_limit, **rest)

    monkeypatch.setattr(stage, "run", spy)
    people = pl.DataFrame({"a": rng.integers(0, 3, 80).astype(str), "s": [1] * 20 + [2] * 60})
    shoal.protect(people, 5, quasi=["a"], strata=["s"], time_limit="8s")
    assert given == [2.0, 6.0]


def test_a_bound_is_not_printed_beside_a_weighted_loss(rng):
    people = pl.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "w": rng.uniform(1, 9, 40)})
    arguments = {"quasi": ["a", "b"], "method": "set-partition", "options": {"steps_per_record": 5.0}}
    assert shoal.protect(people, 3, **arguments, unnamed="other").loss.gap is not None
    weighted = shoal.protect(people, 3, sampling_weight="w", **arguments)
    assert weighted.loss.gap is None
    assert "objective" not in weighted.manifest["loss"]


def test_costs_of_integers_run_through_protect():
    people = pl.DataFrame({"age": [30, 31, 33, 60, 61, 66]})
    options = {"cost": "rounded-mean"}
    release = shoal.protect(people, 3, quasi=["age"], method="optimal-1d", options=options, sums="exact")
    assert release.data["age"].to_list() == [31, 31, 31, 63, 63, 63]  # rounded such that the sum is kept


@pytest.mark.parametrize("others", [[10, 11], [10, 13], [11, 12], [100, 203]])
def test_the_median_of_a_group_does_not_depend_on_other_groups(others):
    people = pl.DataFrame({"x": [1, 2, *others]})
    release = shoal.protect(people, 2, quasi=["x"], method="mdav", recode="median")
    assert release.data["x"].to_list()[:2] == [2, 2]  # 1.5, rounded half to even


def test_the_method_that_auto_selects_reproduces_the_release(rng):
    people = pl.DataFrame({name: rng.integers(0, 3, 60).astype(str) for name in ("a", "b", "c")})
    by_auto = shoal.protect(people, 3, quasi=["a", "b", "c"])
    (resolved,) = by_auto.manifest["method"]["resolved"]
    assert resolved["name"] == "mixed-annealing"
    again = shoal.protect(people, 3, quasi=["a", "b", "c"], method=resolved["name"], options=resolved["options"])
    assert again.data.equals(by_auto.data)


def test_the_largest_group_reaches_methods_that_can_keep_it(rng):
    people = pl.DataFrame({"x": rng.normal(size=62)})
    release = shoal.protect(people, 3, quasi=["x"], method="optimal-1d", max_size=4)
    assert release.grouping.sizes.max() <= 4
    with pytest.raises(GroupTooLarge):
        shoal.protect(people, 3, quasi=["x"], method="mdav", max_size=3)


def test_a_largest_group_below_what_requirements_need_is_named(rng):
    people = pl.DataFrame({"x": rng.normal(size=60), "s": rng.integers(0, 9, 60).astype(str)})
    with pytest.raises(ParameterError, match="max_size=5 is below 6, the smallest group that satisfies l=6"):
        shoal.protect(people, 3, quasi=["x"], confidential=["s"], l=6, max_size=5)


def test_a_pickled_release_recounts_its_requirements_before_it_writes(people, tmp_path):
    release = shoal.protect(people, 3, quasi=["age"], confidential=["cost"], l=2, method="mdav", unnamed="other")
    loaded = pickle.loads(pickle.dumps(release))
    assert loaded.write(tmp_path / "safe.csv")
    same = loaded.table.with_columns({"cost": loaded.table.column("cost") * 0})
    object.__setattr__(loaded.released, "table", same)
    with pytest.raises(RequirementNotMet, match="l=2 is violated"):
        loaded.write(tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


def test_the_original_is_out_of_reach_of_copies_pickles_and_texts(people, tmp_path):
    release = shoal.protect(people, 3, quasi=["age"], identifiers=["cost"], method="mdav", unnamed="other")
    copies = [copy.copy(release), copy.deepcopy(release), pickle.loads(pickle.dumps(release))]
    assert all(other._original is None for other in copies)
    assert all(other.k == release.k for other in copies)
    with pytest.raises(ParameterError, match="no handle to its original"):
        _ = copies[0].risk
    secret = str(people["cost"][0])
    assert secret not in repr(release) + str(release) + release._repr_html_()
    page = copies[2].report(tmp_path / "report.html", original=people)
    assert page.read_text() == release.report(tmp_path / "other.html").read_text()


def test_no_stage_reaches_the_original(people):
    release = shoal.protect(people, 3, quasi=["age", "income"], confidential=["cost"], identifiers=[], method="mdav")
    seen, stack = set(), [release.released]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        assert not isinstance(value, pl.DataFrame) or value.equals(release.data)
        if isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            stack += value
        else:
            stack += vars(value).values() if hasattr(value, "__dict__") else []


def test_numpy_integers_in_options_reach_the_manifest(rng):
    people = pl.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    release = shoal.protect(people, np.int64(3), quasi=["x", "y"], method="mona-plus", options={"passes": np.int64(2)})
    assert json.loads(release.manifest_json())["method"]["resolved"][0]["options"]["passes"] == 2


def test_methods_on_codes_take_columns_of_many_categories():
    people = pl.DataFrame({"job": [str(i // 2) for i in range(2400)]})
    release = shoal.protect(people, 2, quasi=["job"], method="nominal-mdav")
    assert release.loss.information_loss == 0
    with pytest.raises(DataError, match='column "job" has 1200 categories'):
        shoal.protect(people, 2, quasi=["job"], method="mdav")


def test_the_path_of_a_schema_file_is_read(people, tmp_path):
    path = tmp_path / "people.toml"
    path.write_text("[columns.age]\nrole = 'quasi'\nkind = 'numeric'\n")
    by_path = shoal.protect(people, 3, schema=str(path), method="mdav", unnamed="other")
    by_text = shoal.protect(people, 3, schema=path.read_text(), method="mdav", unnamed="other")
    assert by_path.data.equals(by_text.data)
    with pytest.raises(shoal.errors.FileProblem, match=r'schema file "none.toml" does not exist'):
        shoal.protect(people, 3, schema="none.toml")


def test_misspelt_arguments_are_named_before_any_work(people, file):
    with pytest.raises(ParameterError, match='no argument "misssing"; did you mean "missing"'):
        shoal.compare(people, [3], methods=["mdav"], misssing="impute", **ROLES)
    with pytest.raises(ParameterError, match='options are given for "mdv", which is not compared; did you mean "mdav"'):
        shoal.compare(people, [3], methods=["mdav"], options={"mdv": {}}, **ROLES)
    with pytest.raises(ParameterError, match='no read option "delimeter"; did you mean "delimiter"'):
        shoal.protect(file, 3, read_options={"delimeter": ";"}, **ROLES)
    with pytest.raises(ParameterError, match=r"read options \(delimiter\) apply to text files only"):
        shoal.protect(people, 3, read_options={"delimiter": ";"}, **ROLES)


def test_ten_values_of_k_encode_the_table_once(people, monkeypatch):
    from shoal.api import protect as module
    from shoal.flow.prepare import MethodData

    fitted, encoded = [], []
    fit, encode = module.fit_encoding, MethodData._encoded
    monkeypatch.setattr(module, "fit_encoding", lambda *given, **named: fitted.append(1) or fit(*given, **named))
    monkeypatch.setattr(MethodData, "_encoded", lambda *given, **named: encoded.append(1) or encode(*given, **named))
    shoal.compare(people, range(2, 12), methods=["mdav"], **ROLES)
    assert (len(fitted), len(encoded)) == (1, 1)


def test_a_release_is_in_the_library_of_its_input_and_so_are_its_tables(people):
    release = shoal.protect(people.to_pandas(), 3, method="mdav", **ROLES)
    assert isinstance(release.loss_table(), pd.DataFrame)
    comparison = shoal.compare(people.to_pandas(), [3], methods=["mdav"], **ROLES)
    assert isinstance(comparison.table(), pd.DataFrame)
    assert isinstance(release.schema.table("pandas"), pd.DataFrame)
    assert isinstance(shoal.assess(people.to_pandas(), **ROLES).table(), pd.DataFrame)


def test_equal_plans_have_equal_digests_and_others_do_not(people):
    schema = shoal.load_table(people, **ROLES)[1]
    plan = Plan(schema, Requirements(k=5), MethodCall("mdav"))
    assert plan.digest() == Plan(schema, Requirements(k=np.int64(5)), MethodCall("mdav")).digest()
    others = [
        Plan(schema, Requirements(k=6), MethodCall("mdav")),
        Plan(schema, Requirements(k=5, l=2), MethodCall("mdav")),
        Plan(schema, Requirements(k=5), MethodCall("mdav", seed=1)),
        Plan(schema, Requirements(k=5), MethodCall("mdav", {"precision": "single"})),
        Plan(schema, Requirements(k=5), MethodCall("mdav"), "full"),
        Plan(schema, Requirements(k=5), MethodCall("mdav"), reading=ReadOptions(decimal=",")),
        Plan(schema.updated(column_weights={"age": 2.0}), Requirements(k=5), MethodCall("mdav")),
        Plan(schema.updated(orders={"age": ["1", "2"]}), Requirements(k=5), MethodCall("mdav")),
    ]
    assert len({plan.digest(), *(other.digest() for other in others)}) == 9


def test_grouping_compares_by_groups():
    grouping = shoal.Grouping([0, 0, 1, 1], k=2)
    assert grouping == shoal.Grouping([5, 5, 3, 3], k=2)
    assert grouping != shoal.Grouping([0, 1, 0, 1], k=2)
    assert grouping != shoal.Grouping([0, 0, 1, 1], k=1)
    assert (grouping == "groups") is False
