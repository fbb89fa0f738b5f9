"""Means and covariances kept: what is restored, what is never released, and that no processor changes a byte."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, ShoalError
from shoal.schema.plan import Plan

import reference

EXACT = {"decimals": "full", "sums": "exact", "method": "mdav"}


def pair(table, k, **options):
    """A plain release and one with moments kept."""
    quasi = options.pop("quasi", table.columns)
    return [shoal.protect(table, k, quasi=quasi, keep_moments=kept, **options) for kept in (False, True)]


def classes(release):
    return release.data.group_by(release.schema.protected).len()["len"].min()


@pytest.mark.parametrize(
    ("name", "k", "loss", "with_moments", "linkage"),
    [("census", 5, 9.088, 9.698, 0.154), ("census", 10, 14.156, 15.812, 0.066), ("tarragona", 5, 22.462, 27.614, 0.102),
     ("eia", 5, 1.667, 1.698, 0.139)],
)  # fmt: skip
def test_reference_tables_keep_variances_and_correlations(name, k, loss, with_moments, linkage):
    """Loss with the limits of plain representatives; earlier figures were limited by the observed extremes."""
    plain, kept = pair(pl.read_csv(reference.path(f"{name}.csv")), k, **EXACT)
    assert round(100 * plain.loss.information_loss, 3) == loss
    assert round(100 * kept.loss.information_loss, 3) == with_moments
    figures, moments = kept.utility, kept.moments_kept
    assert max(abs(change) for change in moments.variances.values()) < 1e-5
    assert np.mean(list(moments.plain_variances.values())) == pytest.approx(-plain.loss.information_loss, rel=0.01)
    assert moments.correlations < 1e-6 < moments.plain_correlations
    assert max(abs(column.variance) for column in figures.columns.values()) < 1e-5
    assert max(column.mean for column in figures.columns.values()) < 1e-5
    assert figures.propensity < 1e-9
    assert kept.risk.attack("record-linkage").success.value == pytest.approx(linkage, abs=0.001)
    assert classes(kept) == kept.k >= k


def values_of_few(original, released, plain, k):
    """The released values that fewer than k records have and the plain release does not."""
    counts = pd.Series(original).value_counts()
    rare = set(counts[counts < k].index)
    return {value for value in released if value in rare} - set(plain)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["rounded", "exact"]))
@settings(max_examples=20)
def test_no_released_value_is_that_of_fewer_than_k_records(seed, integers, sums):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    table = rng.lognormal(2, 1, (n, 3)).round(0 if integers else int(rng.integers(0, 9)))
    table = pl.DataFrame(table.astype(int) if integers else table, schema=["a", "b", "c"])
    plain, kept = pair(table, 3, method="mdav", sums=sums, accept_loss=True)
    for name in table.columns:
        released, means = kept.data[name].to_list(), plain.data[name].to_list()
        assert not values_of_few(table[name].to_list(), released, means, 3)
        assert min(means) <= min(released)
        assert max(released) <= max(means)
    assert classes(kept) >= 3


@pytest.mark.parametrize(("decimals", "sums"), [("input", "rounded"), ("full", "exact")])
def test_bounds_of_the_user_leave_more_room_and_release_no_value_of_few(decimals, sums):
    rng = np.random.default_rng(4)
    table = pl.DataFrame({"age": rng.integers(18, 90, 200), "pay": rng.lognormal(3, 1, 200).round(2)})
    ends = {"age": (0, 110), "pay": (0, 500)}
    options = {"quasi": table.columns, "method": "mdav", "keep_moments": True, "decimals": decimals, "sums": sums}
    limited, wider = (shoal.protect(table, 5, moment_bounds=bounds, **options) for bounds in (None, ends))
    plain = shoal.protect(table, 5, **{**options, "keep_moments": False})
    assert wider.moments_kept.limited < limited.moments_kept.limited
    # the wrong version keeps the limits of the plain means
    assert any(wider.data[name].max() > plain.data[name].max() for name in ends)
    for name, (low, high) in ends.items():
        released = wider.data[name]
        assert low <= released.min() <= released.max() <= high
        assert not values_of_few(table[name].to_list(), released.to_list(), plain.data[name].to_list(), 5)
    assert Plan(wider.schema, wider.plan.requirements, keep_moments=True, moment_bounds=ends).moment_bounds["age"] == (
        0,
        110,
    )
    tight = shoal.protect(table, 5, moment_bounds={"age": (30, 60)}, **options)
    assert 30 <= tight.data["age"].min() <= tight.data["age"].max() <= 60
    for bounds, message in (({"age": (5, 5)}, "smaller one first"), ({"job": (0, 1)}, "job"), ({"age": 3}, "two")):
        with pytest.raises(ShoalError, match=message):
            shoal.protect(table, 5, moment_bounds=bounds, **options)
    with pytest.raises(ShoalError, match="request keep_moments"):
        shoal.protect(table, 5, quasi=table.columns, moment_bounds={"age": (0, 110)})


def test_limits_at_the_observed_extremes_would_release_values_of_single_records():
    table = pl.read_csv(reference.path("census.csv"))
    plain, kept = pair(table, 5, **EXACT)
    found = wrong = 0
    for name in table.columns:
        original, released, means = (each[name].to_numpy() for each in (table, kept.data, plain.data))
        found += len(values_of_few(original.tolist(), released.tolist(), means.tolist(), 5))
        # the wrong neighbour: the variance restored column by column, limited by the observed extremes
        stretched = original.mean() + (means - original.mean()) * original.std() / means.std()
        clipped = np.clip(stretched, original.min(), original.max())
        wrong += len(values_of_few(original.tolist(), clipped.tolist(), means.tolist(), 5))
    assert found == 0
    assert wrong > 0


def test_weights_strata_constant_and_mixed_columns():
    people = shoal.datasets.patients(400).with_columns(
        weight=pl.Series(np.random.default_rng(0).integers(1, 9, 400)), same=pl.lit(7)
    )
    quasi = ["age", "income", "height", "sex", "same"]
    plain, kept = pair(
        people, 5, quasi=quasi, strata=["region"], sampling_weight="weight", unnamed="other", **EXACT
    )  # fmt: skip
    moments = kept.moments_kept
    assert moments.columns == ("age", "income", "height")
    assert kept.data["sex"].equals(plain.data["sex"])
    assert kept.data["same"].unique().to_list() == [7]
    weights = people["weight"].to_numpy()
    for name in moments.columns:
        before, after = people[name].to_numpy(), kept.data[name].to_numpy()
        assert np.average(after, weights=weights) == pytest.approx(np.average(before, weights=weights), rel=1e-6)
        deviations = [np.average((x - np.average(x, weights=weights)) ** 2, weights=weights) for x in (before, after)]
        assert deviations[1] == pytest.approx(deviations[0], rel=1e-4)
    assert any("sex" in remark.text for remark in kept.remarks if remark.code == "moments-kept")
    assert classes(kept) >= 5


def test_too_few_groups_are_reported():
    table = pl.DataFrame(np.random.default_rng(1).normal(size=(12, 5)), schema=list("abcde"))
    kept = shoal.protect(table, 5, quasi=table.columns, keep_moments=True, accept_loss=True, **EXACT)
    assert kept.moments_kept.restored < 0.9
    assert any("too few groups" in remark.text for remark in kept.remarks)


def test_missing_values_and_dates():
    table = pl.DataFrame(
        {
            "day": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 29), eager=True),
            "amount": [None if row % 7 == 0 else float(row * row % 31) for row in range(60)],
        }
    )
    plain, kept = pair(table, 3, method="mdav", missing="by-pattern")
    assert kept.data["amount"].is_null().equals(plain.data["amount"].is_null())
    assert kept.data["day"].dtype == pl.Date
    assert classes(kept) >= 3


@pytest.mark.parametrize("options", [{"recode": "median"}, {"kinds": {"age": "nominal", "income": "nominal"}}])
def test_columns_without_means_are_refused(options):
    people = shoal.datasets.patients(50)
    with pytest.raises(ParameterError, match="replaced by means"):
        shoal.protect(people, 3, quasi=["age", "income"], unnamed="other", keep_moments=True, **options)


def test_second_releases_and_persons_are_refused(tmp_path):
    people = shoal.datasets.patients(50)
    roles = {"quasi": ["age", "income"], "unnamed": "other", "method": "mdav"}
    shoal.protect(people, 3, **roles).write(tmp_path / "safe.csv")
    with pytest.raises(ParameterError, match="previous"):
        shoal.protect(people, 3, **roles, keep_moments=True, previous=tmp_path / "safe.holder.parquet")
    with pytest.raises(ParameterError, match="constant within persons"):
        shoal.protect(
            shoal.datasets.stays(40), 3, unit="patient_id", quasi=["birth_year"], constant=["birth_year"],
            unnamed="other", keep_moments=True,
        )  # fmt: skip
    with pytest.raises(ParameterError, match="true or false"):
        Plan(shoal.protect(people, 3, **roles).plan.schema, shoal.Requirements(k=3), keep_moments="yes")


def test_manifest_report_and_comparison_show_the_option(tmp_path):
    people = shoal.datasets.patients(80)
    roles = {"quasi": ["age", "income"], "unnamed": "other"}
    kept = shoal.protect(people, 4, method="mdav", keep_moments=True, **roles)
    manifest = json.loads(kept.manifest_json())
    assert manifest["schema"]["keep_moments"] is True
    assert set(manifest["moments"]) == {"restored", "limited"}
    assert "What analysts keep" in kept.report(tmp_path / "r.html").read_text()
    assert "What analysts keep" not in kept.report(tmp_path / "p.html", public=True).read_text()
    plain, moved = shoal.compare(people, 4, methods=["mdav"], keep_moments=True, **roles)
    assert (plain.name, moved.name) == ("mdav k=4", "mdav k=4 moments kept")
    assert abs(moved.variance) < abs(plain.variance)
    assert plain.k_achieved == moved.k_achieved


SCRIPT = """
import hashlib, shoal
people = shoal.datasets.patients(300)
for sums in ("rounded", "exact"):
    found = shoal.protect(people, 4, quasi=["age", "income", "height", "admitted"], unnamed="other", method="mdav",
                          keep_moments=True, sums=sums, decimals="full")
    print(hashlib.sha256(found.data.write_csv().encode()).hexdigest())
"""


def test_no_processor_changes_a_byte():
    found = set()
    for core in ("Prescott", "Haswell", "SkylakeX"):
        environment = os.environ | {"OPENBLAS_CORETYPE": core}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1
