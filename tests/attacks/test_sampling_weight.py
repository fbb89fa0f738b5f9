"""The attack by the sampling weight: an intruder who knows weights finds records by them, whatever the groups are."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli.application import main
from shoal.errors import GroupTooSmall, SchemaError
from shoal.evaluate.population_risk import expected_inverse
from shoal.flow import recode
from shoal.tables import Table

K = 3
ROLES = {"quasi": ["region", "age", "size"], "confidential": ["income"], "identifiers": ["household"], "method": "mdav"}


def survey(n=600, seed=5):
    """A survey with calibrated weights, nearly all of them different."""
    rng = np.random.default_rng(seed)
    region = [f"region {code}" for code in rng.integers(0, 12, n)]
    return pl.DataFrame(
        {
            "household": [f"h{i // 3}" for i in range(n)],
            "region": region,
            "age": rng.integers(16, 90, n),
            "size": rng.integers(1, 7, n),
            "income": np.repeat(rng.lognormal(10, 1, n // 3).round(2), 3),
            "w": rng.lognormal(6, 0.7, n).round(4),
        }
    )


SURVEY = survey()


def restored(original, released):
    """Return how many changed regions an intruder who knows all regions and weights restores, and of how many."""
    weights = original["w"].to_numpy()
    known = dict(zip(weights, original["region"], strict=True))
    once = {weight for weight, count in zip(*np.unique(weights, return_counts=True), strict=True) if count == 1}
    changed = [row for row in range(original.height) if original["region"][row] != released["region"][row]]
    found = [row for row in changed if (w := released["w"][row]) in once and known[w] == original["region"][row]]
    return len(found), len(changed)


def protected(release_weight=None, table=SURVEY, **changes):
    return shoal.protect(table, K, sampling_weight="w", release_weight=release_weight, **ROLES | changes)


def run(*words):
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()


def test_an_unchanged_weight_restores_every_changed_region_and_the_default_restores_none():
    open_release = protected("unchanged").data  # the wrong version, which was the only one
    found, changed = restored(SURVEY, open_release)
    assert changed > 10
    assert found == changed
    assert restored(SURVEY, protected().data) == (0, changed)


def test_the_default_replaces_the_weight_by_the_mean_of_its_group():
    release = protected(sums="exact")
    labels, weights = release.grouping.labels, SURVEY["w"].to_numpy()
    means = np.bincount(labels, weights) / np.bincount(labels)
    np.testing.assert_allclose(release.data["w"].to_numpy(), means[labels], rtol=1e-12)
    assert release.data["w"].sum() == pytest.approx(weights.sum(), rel=1e-12)
    weighted = (release.data["w"] * release.data["age"]).sum()
    assert weighted == pytest.approx((SURVEY["w"] * SURVEY["age"]).sum(), rel=1e-3)  # ages are rounded to integers
    assert release.data.group_by("region", "age", "size", "w").len()["len"].min() >= K


@pytest.mark.parametrize("frame", [SURVEY, SURVEY.to_pandas(), SURVEY.to_arrow()], ids=["polars", "pandas", "arrow"])
@pytest.mark.parametrize("whole", [False, True])
def test_every_library_and_integer_weights(frame, whole):
    table = pl.DataFrame(Table.from_native(frame).frame.to_arrow())
    if whole:
        table = table.with_columns(pl.col("w").cast(pl.Int64))
        frame = (
            table
            if isinstance(frame, pl.DataFrame)
            else table.to_pandas()
            if hasattr(frame, "iloc")
            else table.to_arrow()
        )
    release = protected(table=frame)
    counted = pl.DataFrame(release.table.frame.to_arrow()).group_by("region", "age", "size", "w").len()["len"]
    assert counted.min() >= K
    assert release.manifest["k"]["with_weight"] >= K


def test_a_recoding_that_leaves_the_weight_as_it_was_is_caught_by_the_recount(monkeypatch):
    monkeypatch.setattr(recode, "_group_weights", lambda *_: {})
    with pytest.raises(GroupTooSmall, match=r'with the sampling weight "w", .* classes of fewer than k=3'):
        protected()


def test_k_with_the_weight_is_stated_everywhere(tmp_path):
    release = protected("unchanged")
    assert release.k >= K
    assert release.manifest["k"] == {"requested": K, "achieved": release.k, "with_weight": 1}
    (remark,) = [remark for remark in release.remarks if remark.code == "sampling-weight"]
    assert "released unchanged" in remark.text
    SURVEY.write_csv(tmp_path / "in.csv")
    words = ["--quasi", "region,age,size", "--confidential", "income", "--sampling-weight", "w"]
    code, out, err = run(
        "protect", tmp_path / "in.csv", "-k", K, *words, "--identifiers", "household", "--method", "mdav", "-o",
        tmp_path / "out.csv", "--report", tmp_path / "out.html", "--release-weight", "unchanged",
    )  # fmt: skip
    assert code == 0, err
    assert "k with weight" in out
    assert "released unchanged" in out
    assert "fewer than 3, the smallest of 1" in (tmp_path / "out.html").read_text()
    code, out, _ = run("assess", tmp_path / "out.csv", *words, "--json")
    assert (code, json.loads(out)["k_with_weight"]) == (0, 1)
    assert json.loads(out)["risk"]["prosecutor"]["highest"] == 1.0
    code, out, _ = run("verify", tmp_path / "out.csv", "-k", K, *words, "--json")
    assert (code, json.loads(out)["satisfied"], json.loads(out)["k"]["with_weight"]) == (1, False, 1)
    assert run("verify", tmp_path / "out.csv", "-k", K, *words, "--release-weight", "unchanged")[0] == 0
    with pytest.raises(GroupTooSmall, match="with the sampling weight, the smallest class has 1"):
        shoal.verify(
            tmp_path / "out.csv", K, quasi=["region", "age", "size"], confidential=["income"], sampling_weight="w"
        )


def test_the_grouped_weight_of_a_file_passes_verification(tmp_path):
    SURVEY.write_csv(tmp_path / "in.csv")
    words = ["--quasi", "region,age,size", "--confidential", "income", "--sampling-weight", "w"]
    code, _, err = run(
        "protect", tmp_path / "in.csv", "-k", K, *words, "--identifiers", "household", "--method", "mdav", "-o",
        tmp_path / "out.csv", "-q",
    )  # fmt: skip
    assert code == 0, err
    assert run("verify", tmp_path / "out.csv", "-k", K, *words)[0] == 0


def test_a_dropped_weight_is_used_and_not_released(tmp_path):
    release = protected("dropped")
    assert release.data.columns == ["region", "age", "size", "income"]
    assert "with_weight" not in release.manifest["k"]
    assert release.data["age"].to_list() == protected().data["age"].to_list()
    release.write(tmp_path / "out.csv", report=tmp_path / "out.html")
    assert release.risk.classes.prosecutor.highest <= 1 / K
    roles = {"household": "identifier", "region": "quasi", "age": "quasi", "size": "quasi", "income": "confidential"}
    text = 'sampling_weight = "w"\nrelease_weight = "dropped"\n[columns.w]\nrole = "other"\n'
    text += "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    assert shoal.verify(tmp_path / "out.csv", K, schema=text).k >= K
    assert shoal.verify(tmp_path / "out.csv", K, schema=release.schema).k >= K


def test_the_risk_counts_the_weight_as_known():
    assert protected("unchanged").risk.classes.prosecutor.highest == 1.0
    assert protected("unchanged").risk.attack("record-linkage").success.value > 0.8
    grouped = protected().risk
    assert grouped.classes.prosecutor.highest <= 1 / K
    assert grouped.attack("record-linkage").success.value < 0.5
    hidden = shoal.risk(SURVEY, protected("unchanged").data, quasi=["region", "age", "size"])  # the wrong version
    assert hidden.classes.prosecutor.highest <= 1 / K


def test_the_population_of_a_finer_class_is_that_of_its_quasi_identifiers():
    table = pl.DataFrame({"x": ["a", "a", "b"], "w": [10.0, 30.0, 1.0]})
    found = shoal.risk(table, table, quasi=["x"], sampling_weight="w").classes
    assert found.prosecutor.highest == 1
    risk = expected_inverse(np.array([2.0, 1.0]), np.array([40.0, 1.0]))
    assert risk[1] == 1
    assert found.journalist.average == pytest.approx((2 * risk[0] + risk[1]) / 3)


def test_columns_that_an_intruder_may_know_are_counted_beside_k(tmp_path):
    release = protected(known=["income"])
    counted = release.data.group_by("region", "age", "size", "w", "income").len()["len"].min()
    assert release.manifest["k"]["with_known"] == counted == 1
    assert any(remark.code == "known-columns" and '"income"' in remark.text for remark in release.remarks)
    assert release.manifest["schema"]["known"] == ["income"]
    assert "with_known" not in protected().manifest["k"]
    release.write(tmp_path / "out.csv")
    words = ["--quasi", "region,age,size", "--confidential", "income", "--other", "w", "--known", "income", "--json"]
    assert json.loads(run("assess", tmp_path / "out.csv", *words)[1])["k_with_known"] == 1
    assert json.loads(run("verify", tmp_path / "out.csv", "-k", 3, *words)[1])["k"]["with_known"] == 1
    with pytest.raises(SchemaError, match='"household" is dropped as an identifier; leave it out of known'):
        protected(known=["household"])
    with pytest.raises(SchemaError, match='column "incom" is not in the table; did you mean "income"'):
        protected(known=["incom"])


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(1e-3, 1e6)), min_size=4, max_size=40),
    st.sampled_from(["mean", "median", "range", "suppress"]),
    st.sampled_from(["exact", "rounded"]),
)
def test_no_weights_leave_a_class_below_k(rows, recoding, sums):
    table = pl.DataFrame({"x": [x for x, _ in rows], "w": [w for _, w in rows]})
    chosen = {"recode": recoding, "sums": sums, "method": "mdav", "accept_loss": True}
    release = shoal.protect(table, 2, quasi=["x"], sampling_weight="w", **chosen)
    assert release.data.group_by("x", "w").len()["len"].min() >= 2
    if sums == "exact":
        assert release.data["w"].sum() == pytest.approx(table["w"].sum(), rel=1e-9)
    assert release.data["w"].min() >= table["w"].min()
    assert release.data["w"].max() <= table["w"].max()


def test_a_second_weight_is_a_finding():
    table = SURVEY.with_columns(household_weight=pl.col("w") * 2, other=pl.col("w").round(0))
    release = protected(table=table, other=["household_weight", "other"])
    assert [remark.column for remark in release.remarks if remark.code == "second-weight"] == ["household_weight"]
    assert not any(remark.code == "second-weight" for remark in protected().remarks)


def weights_by_differencing(sums, table=SURVEY, persons=range(0, 600, 40)):
    """Return true weights of persons, and what the totals of two releases, with and without each of them, disclose."""
    total = protected(sums=sums, table=table).data["w"].sum()
    truth, found = [], []
    for person in persons:
        rest = pl.concat([table[:person], table[person + 1 :]])
        truth.append(table["w"][person])
        found.append(total - protected(sums=sums, table=rest).data["w"].sum())
    return np.array(truth), np.array(found)


@pytest.mark.parametrize("whole", [False, True])
def test_totals_of_grouped_weights_disclose_no_weight(whole):
    table = SURVEY.with_columns(pl.col("w").round(0).cast(pl.Int64)) if whole else SURVEY
    truth, found = weights_by_differencing("exact", table)  # the wrong version: exact means of the weights
    np.testing.assert_allclose(found, truth, rtol=1e-6)
    truth, found = weights_by_differencing("rounded", table)
    error = np.abs(found - truth) / truth
    assert np.median(error) > 0.1
    assert (error < 0.01).mean() < 0.2


@given(st.lists(st.floats(1e-6, 1e6), min_size=6, max_size=30), st.integers(2, 3))
def test_rounded_weights_are_positive_and_inside_their_group(weights, k):
    table = pl.DataFrame({"age": range(len(weights)), "w": weights})
    release = shoal.protect(table, k, quasi=["age"], sampling_weight="w", method="mdav", accept_loss=True)
    found, labels = release.data["w"].to_numpy(), release.grouping.labels
    for group in range(labels.max() + 1):
        (value,) = np.unique(found[labels == group])
        members = np.array(weights)[labels == group]
        assert 0 < members.min() <= value <= members.max()
