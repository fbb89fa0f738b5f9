"""Groups that keep limits beyond k: for every method, within strata and hole patterns, recounted when finished."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import GroupTooLarge, LimitNotReached, ParameterError, SchemaError
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.registry import all_methods, get_method
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import keep_limits
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_table, smallest_size
from shoal.schema.requirements import Requirements

from naive import privacy as naive

LIMITS = [
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


def naive_terms(limits):
    terms = {name: limits[name] for name in ("alpha", "beta", "t") if name in limits}
    if "p" in limits:
        terms["l"] = limits["p"]
    if limits.get("l_kind") == "entropy":
        terms["entropy"] = limits["l"]
    elif limits.get("l_kind") == "recursive":
        terms["recursive"] = (limits["c"], limits["l"])
    elif "l" in limits:
        terms["l"] = limits["l"]
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


@given(st.integers(0, 10**6), st.sampled_from(LIMITS), st.booleans(), st.integers(2, 5))
@settings(max_examples=40)
def test_groups_keep_every_limit_by_the_twin_and_lose_less_than_one_group(seed, limits, ordered, k):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6 * k, 60))
    points = rng.normal(size=(n, 2))
    codes = np.clip((points[:, 0] + rng.normal(size=n)).round().astype(int) + 1, 0, 3)
    codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    m = int(codes.max()) + 1
    values = Values("s", codes, m, ORDERED if ordered else equal_distance(m))
    ground = naive.ordered_ground(m) if ordered else naive.equal_ground(m)
    totals = np.bincount(codes).tolist()
    if not naive.keeps(codes.tolist(), totals, naive_terms(limits), ground):
        return  # the whole table does not keep it: nothing could
    requirements = Requirements(**limits)
    labels = get_method("mdav").run(points, k)
    facts = {}
    kept = keep_limits(points, labels, k, codes[:, None], build_table(requirements, [values]), facts=facts)
    sizes = np.bincount(kept)
    assert sizes.min() >= max(k, smallest_size(requirements, [values], n))
    for group in range(sizes.size):
        assert naive.keeps(codes[kept == group].tolist(), totals, naive_terms(limits), ground), limits
    assert total_cost(points, kept) <= total_cost(points, np.zeros(n, np.int64)) + 1e-9
    if not facts["groups that broke a limit"]:
        np.testing.assert_array_equal(kept, labels)


@pytest.mark.parametrize("limits", LIMITS)
def test_a_release_keeps_its_limits_and_says_so(limits):
    release = shoal.protect(people(), k=4, quasi=["age", "income"], confidential=["disease"], method="mdav", **limits)
    shoal.verify(release.data, 4, quasi=["age", "income"], confidential=["disease"], **limits)
    told = json.loads(release.manifest_json())["limits"]
    name = "c" if "c" in limits else next(iter(limits))
    assert told[name]["asked"] == limits[name]
    assert release.assessment.figures()[name if limits.get("l_kind") != "entropy" else "entropy_l"] == pytest.approx(
        told[name]["reached"]
    )


@pytest.mark.parametrize("name", list(all_methods()))
def test_every_method_can_be_held_to_limits(name):
    kind = get_method(name).data
    quasi = {"values": ["age"], "codes": ["sex", "band"]}.get(kind, ["age", "income"])
    n = 16 if name == "brute-force" else 48  # it refuses more than 18 records
    table = people(n).with_columns(band=(pl.col("age") // 20).cast(pl.String))
    k = 2 if name == "matching" else 3  # it makes pairs only
    options = {"k": k, "quasi": quasi, "confidential": ["disease", "cost"], "method": name}
    release = shoal.protect(table, l=2, t=0.45, **options)
    found = shoal.assess(release.data, quasi=quasi, confidential=["disease", "cost"])
    assert found.k >= k
    assert found.l >= 2
    assert found.t <= 0.45 + 1e-9


def test_limits_hold_within_strata_and_hole_patterns():
    table = people(120).with_columns(income=pl.when(pl.int_range(120) % 3 == 0).then(None).otherwise(pl.col("income")))
    release = shoal.protect(
        table, k=3, quasi=["age", "income"], confidential=["disease"], within=["sex"], missing="own-group", l=2,
        method="mdav",
    )  # fmt: skip
    found = shoal.assess(release.data, quasi=["age", "income", "sex"], confidential=["disease"])
    assert found.l >= 2
    assert found.k >= 3
    assert release.data["income"].null_count() == table["income"].null_count()


def test_more_protection_than_the_table_allows_is_refused_with_the_best_value():
    options = {"k": 3, "quasi": ["age"], "confidential": ["disease"], "method": "mdav"}
    with pytest.raises(ParameterError, match=r'l=4 cannot be reached for column "disease" with its 3 values: even all'):
        shoal.protect(people(), l=4, **options)
    strata = people().with_columns(sex=pl.when(pl.col("disease") == "c").then(pl.lit("x")).otherwise(pl.lit("y")))
    with pytest.raises(ParameterError, match=r"t=0.1 cannot be reached .* one group per stratum .* has t=0\.\d+"):
        shoal.protect(strata, within=["sex"], t=0.1, **options)
    assert shoal.protect(people(), t=0.0, **options).assessment.t == pytest.approx(0.0, abs=1e-12)


def test_limits_need_confidential_columns_and_delta_is_only_verified():
    with pytest.raises(SchemaError, match="l limits what is learned about confidential columns, but none is named"):
        shoal.protect(people(), k=3, quasi=["age"], l=2)
    with pytest.raises(TypeError):
        shoal.protect(people(), k=3, quasi=["age"], confidential=["disease"], delta=1.0)


def test_a_maximum_size_still_holds():
    with pytest.raises((GroupTooLarge, ParameterError), match=r"records|no group could be formed"):
        shoal.protect(people(), k=3, quasi=["age"], confidential=["disease"], t=0.01, max_size=5, method="mdav")


def test_numbers_of_a_text_file_are_compared_by_value(tmp_path):
    people(60).write_csv(tmp_path / "people.csv")
    release = shoal.protect(tmp_path / "people.csv", k=3, quasi=["age"], confidential=["cost"], t=0.2, method="mdav")
    assert release.manifest["limits"]["confidential"] == {"cost": "ordered"}
    release.write(tmp_path / "safe.csv", report=tmp_path / "safe.html")
    shoal.verify(tmp_path / "safe.csv", 3, quasi=["age"], confidential=["cost"], t=0.2)
    assert "t = 0.2 was asked for" in (tmp_path / "safe.html").read_text(encoding="utf-8")
    stated = shoal.protect(
        tmp_path / "people.csv",
        k=3,
        quasi=["age"],
        confidential=["cost"],
        kinds={"cost": "nominal"},
        p=2,
        method="mdav",
    )
    assert stated.manifest["limits"]["confidential"] == {"cost": "equal"}


def test_a_table_that_breaks_a_limit_is_never_written(tmp_path):
    release = shoal.protect(people(), k=3, quasi=["age"], confidential=["disease"], l=2, method="mdav")
    limits = release.limits
    object.__setattr__(limits, "requirements", Requirements(l=3, t=0.0))
    with pytest.raises(LimitNotReached):
        release.write(tmp_path / "safe.csv")
    assert not list(tmp_path.iterdir())


def test_exchanges_cost_less_than_joining_alone(rng):
    points = rng.normal(size=(400, 2))
    codes = rng.integers(0, 3, 400)
    labels = get_method("mdav").run(points, 4)
    values = Values("s", codes, 3, equal_distance(3))
    kept = keep_limits(points, labels, 4, codes[:, None], build_table(Requirements(l=3), [values]))
    free, whole = total_cost(points, labels), ((points - points.mean(axis=0)) ** 2).sum()
    assert total_cost(points, kept) < free + 0.05 * whole
    assert np.bincount(kept).mean() < 6


def test_the_same_answer_again(rng):
    points = rng.normal(size=(200, 3))
    codes = rng.integers(0, 4, (200, 2))
    columns = [Values("a", codes[:, 0], 4, ORDERED), Values("b", codes[:, 1], 4, equal_distance(4))]
    table = build_table(Requirements(l=2, t=0.3), columns)
    labels = get_method("mdav").run(points, 5)
    np.testing.assert_array_equal(
        keep_limits(points, labels, 5, codes, table), keep_limits(points, labels, 5, codes, table)
    )
