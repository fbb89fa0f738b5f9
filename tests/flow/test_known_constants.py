"""k with unchanged columns that are constant within a person or a household is stated beside k."""

import numpy as np
import polars as pl
import pytest

import shoal

K = 3


@pytest.fixture(scope="module")
def survey():
    """Persons in households; the income of a household is released unchanged."""
    rng = np.random.default_rng(5)
    household = np.repeat(np.arange(60), rng.integers(1, 5, 60))
    return pl.DataFrame({
        "household": household, "age": rng.integers(0, 90, household.size),
        "household_income": rng.permutation(60)[household] * 100, "job": rng.integers(0, 4, household.size),
    })  # fmt: skip


def protected(table, **given):
    roles = {"quasi": ["age"], "household": "household", "of": "rows", "accept_relinking": True, "method": "mdav"}
    return shoal.protect(table, K, **roles, **given)


def test_the_income_of_a_household_leaves_fewer_than_k(survey, tmp_path):
    release = protected(survey, other=["household_income", "job"])
    recount = release.released.recount
    assert recount.constant == ("household_income",)
    outside = release.data.group_by("age", "household_income").len()["len"].min()
    assert recount.with_constant.k == outside < K
    assert release.manifest["k"]["with_constant"] == outside
    text = next(remark.text for remark in release.remarks if remark.code == "constant-columns")
    assert '"household_income"' in text
    assert "households" in text
    release.report(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "constant within persons" in shown


def test_columns_that_vary_or_are_protected_are_not_counted(survey):
    assert protected(survey, other=["job"], identifiers=["household_income"]).released.recount.with_constant is None
    both = shoal.protect(
        survey, K, quasi=["age", "household_income"], household="household", of="rows", other=["job"], method="mdav"
    )
    assert both.released.recount.with_constant is None
