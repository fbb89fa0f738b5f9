"""Groups that satisfy requirements beyond k: for every method, within strata and patterns of missing values."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, RequirementNotMet, SchemaError
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.registry import all_methods, get_method
from shoal.methods.running import run
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import merge_groups, satisfy_requirements
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_requirement_table, smallest_size
from shoal.schema.requirements import Requirements

from naive import privacy as naive

REQUIREMENTS = [
    {"l": 2},
    {"l": 3},
    {"l": 1.7, "l_kind": "entropy"},
    {"l": 2, "l_kind": "recursive", "c": 2.0},
    {"p": 2},
    {"alpha": 0.7},
    {"beta": 1.0},
    {"t": 0.25},
    {"l": 2, "t": 0.3},
]


def naive_terms(requested):
    terms = {name: requested[name] for name in ("alpha", "beta", "t") if name in requested}
    if "p" in requested:
        terms["l"] = requested["p"]
    if requested.get("l_kind") == "entropy":
        terms["entropy"] = requested["l"]
    elif requested.get("l_kind") == "recursive":
        terms["recursive"] = (requested["c"], requested["l"])
    elif "l" in requested:
        terms["l"] = requested["l"]
    return terms


def people(n=90, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pl.DataFrame(
        {
            "age": age,
            "income": rng.lognormal(10, 0.5, n).round(2),
            "sex": rng.choice(["f", "m"], n),
            "disease": np.where(age > 60, "c", rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1])),
            "cost": (age + rng.normal(0, 20, n)).round().astype(int),
        }
    )


@given(st.integers(0, 10**6), st.sampled_from(REQUIREMENTS), st.booleans(), st.integers(2, 5))
@settings(max_examples=40)
def test_groups_satisfy_every_requirement_and_lose_less_than_one_group(seed, requested, ordered, k):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6 * k, 60))
    points = rng.normal(size=(n, 2))
    codes = np.clip((points[:, 0] + rng.normal(size=n)).round().astype(int) + 1, 0, 3)
    codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    m = int(codes.max()) + 1
    values = Values("s", codes, m, ORDERED if ordered else equal_distance(m))
    ground = naive.ordered_ground(m) if ordered else naive.equal_ground(m)
    totals = np.bincount(codes).tolist()
    if not naive.satisfies(codes.tolist(), totals, naive_terms(requested), ground):
        return  # the whole table does not satisfy it, so no grouping does
    requirements = Requirements(**requested)
    labels = run("mdav", points, k).labels
    found = satisfy_requirements(points, labels, k, codes[:, None], build_requirement_table(requirements, [values]))
    satisfying = found.labels
    sizes = np.bincount(satisfying)
    assert sizes.min() >= max(k, smallest_size(requirements, [values], n))
    for group in range(sizes.size):
        assert naive.satisfies(codes[satisfying == group].tolist(), totals, naive_terms(requested), ground), requested
    assert total_cost(points, satisfying) <= total_cost(points, np.zeros(n, np.int64)) + 1e-9
    if not found.groups_violating:
        np.testing.assert_array_equal(satisfying, labels)
        assert not any(found.counts().values())


@pytest.mark.parametrize("requested", REQUIREMENTS)
def test_a_release_satisfies_its_requirements_and_reports_them(requested):
    release = shoal.protect(
        people(), k=4, quasi=["age", "income"], confidential=["disease"], method="mdav", **requested, unnamed="other"
    )
    shoal.verify(release.data, 4, quasi=["age", "income"], confidential=["disease"], **requested, unnamed="other")
    stored = json.loads(release.manifest_json())["achieved"]
    name = "c" if "c" in requested else next(iter(requested))
    assert stored[name]["requested"] == requested[name]
    assert release.assessment.figures()[name if requested.get("l_kind") != "entropy" else "entropy_l"] == pytest.approx(
        stored[name]["achieved"]
    )


@pytest.mark.parametrize("name", list(all_methods()))
def test_every_method_satisfies_requirements(name):
    kind = get_method(name).data
    quasi = {"values": ["age"], "codes": ["sex", "band"]}.get(kind, ["age", "income"])
    n = 16 if name == "brute-force" else 48  # it takes at most 18 records
    table = people(n).with_columns(band=(pl.col("age") // 20).cast(pl.String))
    k = 2 if name == "matching" else 3  # it makes pairs only
    options = {"k": k, "quasi": quasi, "confidential": ["disease", "cost"], "method": name}
    release = shoal.protect(table, l=2, t=0.45, **options, unnamed="other", accept_loss=name == "full-domain")
    found = shoal.assess(release.data, quasi=quasi, confidential=["disease", "cost"], unnamed="other")
    assert found.k >= k
    assert found.l >= 2
    assert found.t <= 0.45 + 1e-9


def test_requirements_hold_within_strata_and_patterns_of_missing_values():
    table = people(120).with_columns(income=pl.when(pl.int_range(120) % 3 == 0).then(None).otherwise(pl.col("income")))
    release = shoal.protect(
        table, k=3, quasi=["age", "income"], confidential=["disease"], strata=["sex"], missing="by-pattern", l=2,
        method="mdav", unnamed="other",
    )  # fmt: skip
    found = shoal.assess(release.data, quasi=["age", "income", "sex"], confidential=["disease"], unnamed="other")
    assert found.l >= 2
    assert found.k >= 3
    assert release.data["income"].null_count() == table["income"].null_count()


def test_a_requirement_that_cannot_be_satisfied_raises_an_error_with_the_best_value():
    options = {"k": 3, "quasi": ["age"], "confidential": ["disease"], "method": "mdav"}
    text = 'l=4 is not achievable for column "disease", which has 3 different values: with all records'
    with pytest.raises(ParameterError, match=text):
        shoal.protect(people(), l=4, **options, unnamed="other")
    strata = people().with_columns(sex=pl.when(pl.col("disease") == "c").then(pl.lit("x")).otherwise(pl.lit("y")))
    with pytest.raises(ParameterError, match=r"t=0.1 is not achievable .* one group per stratum or pattern, t=0\.\d+"):
        shoal.protect(strata, strata=["sex"], t=0.1, **options, unnamed="other")
    assert shoal.protect(people(), t=0.0, **options, unnamed="other", accept_loss=True).assessment.t == pytest.approx(
        0.0, abs=1e-12
    )


def test_requirements_need_confidential_columns_and_delta_is_only_verified():
    with pytest.raises(SchemaError, match="l is about confidential attributes, but none is named"):
        shoal.protect(people(), k=3, quasi=["age"], l=2, unnamed="other")
    with pytest.raises(TypeError):
        shoal.protect(people(), k=3, quasi=["age"], confidential=["disease"], delta=1.0)


def test_a_maximum_size_still_holds():
    with pytest.raises(ParameterError, match="max_size=5 is below 8, the smallest group"):
        shoal.protect(
            people(), k=3, quasi=["age"], confidential=["disease"], t=0.01, max_size=5, method="mdav", unnamed="other"
        )


def test_numbers_of_a_text_file_are_compared_by_value(tmp_path):
    people(60).write_csv(tmp_path / "people.csv")
    release = shoal.protect(
        tmp_path / "people.csv", k=3, quasi=["age"], confidential=["cost"], t=0.2, method="mdav", unnamed="other"
    )
    assert release.manifest["confidential_compared"] == {"cost": "ordered"}
    release.write(tmp_path / "safe.csv", report=tmp_path / "safe.html")
    shoal.verify(tmp_path / "safe.csv", 3, quasi=["age"], confidential=["cost"], t=0.2, unnamed="other")
    report = (tmp_path / "safe.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "Requested: t = 0.2; achieved: t =" in report
    stated = shoal.protect(
        tmp_path / "people.csv",
        k=3,
        quasi=["age"],
        confidential=["cost"],
        kinds={"cost": "nominal"},
        p=2,
        method="mdav",
        unnamed="other",
    )
    assert stated.manifest["confidential_compared"] == {"cost": "equal"}


def test_a_table_that_violates_a_requirement_is_never_written(tmp_path):
    release = shoal.protect(people(), k=3, quasi=["age"], confidential=["disease"], l=2, method="mdav", unnamed="other")
    plan = replace(release.plan, requirements=Requirements(k=3, l=3, t=0.0))
    object.__setattr__(release.released, "plan", plan)
    with pytest.raises(RequirementNotMet):
        release.write(tmp_path / "safe.csv")
    assert not list(tmp_path.iterdir())


def test_exchanges_cost_less_than_merging_alone(rng):
    points = rng.normal(size=(400, 2))
    codes = rng.integers(0, 3, 400)
    labels = run("mdav", points, 4).labels
    values = Values("s", codes, 3, equal_distance(3))
    table = build_requirement_table(Requirements(l=3), [values])
    satisfying = satisfy_requirements(points, labels, 4, codes[:, None], table).labels
    free, whole = total_cost(points, labels), ((points - points.mean(axis=0)) ** 2).sum()
    assert total_cost(points, satisfying) < free + 0.05 * whole
    assert np.bincount(satisfying).mean() < 6


def test_the_result_is_deterministic(rng):
    points = rng.normal(size=(200, 3))
    codes = rng.integers(0, 4, (200, 2))
    columns = [Values("a", codes[:, 0], 4, ORDERED), Values("b", codes[:, 1], 4, equal_distance(4))]
    table = build_requirement_table(Requirements(l=2, t=0.3), columns)
    labels = run("mdav", points, 5).labels
    first, second = (satisfy_requirements(points, labels, 5, codes, table) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.counts() == second.counts()


@pytest.mark.parametrize("seed", range(8))
def test_merging_whole_groups_divides_none_and_counts_its_merges(seed):
    rng = np.random.default_rng(seed)
    points, codes = rng.normal(size=(240, 2)), rng.integers(0, 4, 240)
    labels = np.repeat(np.arange(80), 3)
    values = Values("s", codes, 4, equal_distance(4))
    table = build_requirement_table(Requirements(l=3), [values])
    found = merge_groups(points, labels, codes[:, None], table)
    merged = found.labels.reshape(80, 3)
    assert (merged == merged[:, :1]).all()  # no group was divided
    assert all(np.unique(codes[found.labels == group]).size >= 3 for group in np.unique(found.labels))
    assert found.merges == 80 - np.unique(found.labels).size > 0
