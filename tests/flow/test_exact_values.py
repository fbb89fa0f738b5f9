"""Released numbers are right to the bit in every type: means inside their group, all others values of its records."""

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError

MIDNIGHT = dt.datetime(2024, 3, 30, tzinfo=ZoneInfo("Europe/Berlin"))
TYPES = {
    "int8": lambda x: pl.Series(x, dtype=pl.Int64).clip(-128, 127).cast(pl.Int8),
    "uint8": lambda x: pl.Series(x, dtype=pl.Int64).clip(0, 255).cast(pl.UInt8),
    "int64": lambda x: pl.Series(x, dtype=pl.Int64),
    "int64 near the end": lambda x: pl.Series([2**63 - 1 - abs(n) for n in x], dtype=pl.Int64),
    "int64 of any size": lambda x: pl.Series([n * (2**61 // 1_001) + 3 for n in x], dtype=pl.Int64),
    "uint64 near the end": lambda x: pl.Series([2**64 - 1 - abs(n) for n in x], dtype=pl.UInt64),
    "uint64 of any size": lambda x: pl.Series([2**63 + n * (2**60 // 1_001) for n in x], dtype=pl.UInt64),
    "float32": lambda x: (pl.Series(x, dtype=pl.Float64) / 7).cast(pl.Float32),
    "float64": lambda x: pl.Series(x, dtype=pl.Float64) / 7,
    "one decimal": lambda x: pl.Series(x, dtype=pl.Float64) / 10,
    "beside 1e17": lambda x: pl.Series([0.3 if n < 300 else 1e17 + n for n in x], dtype=pl.Float64),
    "tiny": lambda x: pl.Series(x, dtype=pl.Float64) * 1e-300,
    "zeros": lambda x: pl.Series([0.0 if n < 500 else n / 3 for n in x], dtype=pl.Float64),
    "decimal": lambda x: pl.Series([Decimal(n) / 100 for n in x], dtype=pl.Decimal(12, 2)),
    "long decimal": lambda x: pl.Series([Decimal(10**15 + n) / 100 for n in x], dtype=pl.Decimal(20, 2)),
    "date": lambda x: pl.Series([dt.date(2000, 1, 1) + dt.timedelta(days=n) for n in x]),
    "days with a zone": lambda x: pl.Series([MIDNIGHT + dt.timedelta(days=n) for n in x]),
    "nanoseconds": lambda x: pl.Series([10**18 + n for n in x], dtype=pl.Int64).cast(pl.Datetime("ns")),
    "duration": lambda x: pl.Series([dt.timedelta(minutes=n) for n in x]),
}
RECODES = ["mean", "median", "mode", "medoid", "min", "max", "midrange"]


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, 24))
    few = draw(st.booleans())
    numbers = (rng.choice([-1_000, 0, 400, 999], n) if few else rng.integers(-1_000, 1_001, n)).tolist()
    weights = (10 ** rng.uniform(-2, 3, n)).tolist()
    return numbers, weights, draw(st.booleans()), draw(st.sampled_from(["rounded", "exact"]))


def as_exact(series):
    """Return the values as integers or fractions, without any rounding."""
    physical = series.to_physical()
    return [Fraction(value) for value in physical.to_list()]


@pytest.mark.parametrize("name", TYPES)
@given(tables(), st.sampled_from(RECODES))
def test_representatives_lie_in_their_group(name, case, recode):
    numbers, weights, weighted, sums = case
    column = TYPES[name](numbers).alias("x")
    frame = pl.DataFrame({"x": column, "w": weights, "y": [value % 7 for value in numbers]})
    release = shoal.protect(
        frame, 3, quasi=["x"], confidential=["y"], sampling_weight="w" if weighted else None, recode=recode,
        method="mdav", sums=sums, identifiers=None if weighted else ["w"], accept_loss=True,
    )  # fmt: skip
    assert release.data["x"].dtype == column.dtype
    before, after = as_exact(column), as_exact(release.data["x"])
    labels = release.grouping.labels
    for g in range(labels.max() + 1):
        members = np.flatnonzero(labels == g)
        values, (shown,) = [before[i] for i in members], {after[i] for i in members}
        assert min(values) <= shown <= max(values)
        if recode in {"mode", "medoid", "min", "max"} or (recode == "median" and members.size % 2 and not weighted):
            assert shown in values
        if recode == "mean" and sums == "exact" and column.dtype.is_float():
            used = [Fraction(weights[i]) if weighted else Fraction(1) for i in members]
            exact = sum(v * w for v, w in zip(values, used, strict=True)) / sum(used)
            kind = np.float32 if column.dtype == pl.Float32 else np.float64
            assert kind(shown) == kind(float(exact))
        if recode == "mean" and not column.dtype.is_float() and not weighted and sums == "exact":
            assert abs(shown - sum(values) / len(values)) < (86_400_000_000 if column.dtype.is_temporal() else 1)
        if len(set(values)) == 1:
            assert shown == values[0]


@pytest.mark.parametrize("recode", ["range", "set", "suppress"])
def test_texts_and_kept_values_are_those_of_records(recode):
    values = [4082.72, 4082.72, 0.3, 0.3, 1e17, 1e17 + 32]
    frame = pl.DataFrame({"x": values, "s": ["a", "a", "b", "b", "c", "c"]})
    release = shoal.protect(frame, 2, quasi=["x"], strata=["s"], recode=recode, method="mdav")
    shown = [str(value) for value in release.data["x"].to_list()]
    assert shown[:4] == ["4082.72", "4082.72", "0.3", "0.3"]
    assert (
        shown[4]
        == {"range": "1e+17-1.0000000000000003e+17", "set": "{1e+17, 1.0000000000000003e+17}", "suppress": "None"}[
            recode
        ]
    )


@pytest.mark.parametrize("sums", ["rounded", "exact"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_integers_near_the_end_of_the_scale_are_exact(sums, weight):
    for dtype, top in ((pl.Int64, 2**63 - 1), (pl.UInt64, 2**64 - 1)):
        numbers = pl.Series([top, top, top, top - 3, top - 4, top - 5], dtype=dtype)
        frame = pl.DataFrame({"x": numbers, "w": [0.1, 7.0, 1e3, 0.3, 3.0, 1.1], "s": [1, 1, 1, 2, 2, 2]})
        release = shoal.protect(
            frame, 3, quasi=["x"], strata=["s"], sampling_weight=weight, method="mdav", sums=sums, unnamed="other"
        )
        assert release.data["x"].dtype == dtype
        assert release.data["x"].to_list() == [top] * 3 + [top - 4] * 3


def test_a_span_beyond_the_arithmetic_is_refused_by_name():
    frame = pl.DataFrame({"x": pl.Series([0, 1, 2, 2**64 - 1, 2**64 - 2, 5], dtype=pl.UInt64)})
    with pytest.raises(DataError, match='column "x" spans more than'):
        shoal.protect(frame, 2, quasi=["x"], method="mdav")
    long = pl.DataFrame({"x": pl.Series([Decimal(10**25 + n) for n in range(6)], dtype=pl.Decimal(38, 0))})
    with pytest.raises(DataError, match='column "x" has decimal numbers of more than 18 digits'):
        shoal.protect(long, 2, quasi=["x"], method="mdav")
    shown = shoal.protect(long, 3, quasi=["x"], recode="min", method="mdav").data["x"].to_list()
    assert set(shown) <= set(long["x"].to_list())


@pytest.mark.parametrize(
    "library", [lambda frame: frame, lambda frame: frame.to_pandas(), lambda frame: frame.to_arrow()]
)
@pytest.mark.parametrize("recode", ["mean", "mode"])
def test_zero_inflated_columns_keep_their_zeros(library, recode, rng):
    """The computation by offsets from the middle of the range made +-7e-12 of zeros."""
    n = 600
    benefits = np.where(rng.random(n) < 0.7, 0.0, np.round(rng.lognormal(8, 1, n), 2))
    frame = pl.DataFrame({"benefit": benefits, "age": rng.integers(18, 90, n), "w": 10 ** rng.uniform(-2, 3, n)})
    release = shoal.protect(
        library(frame), 4, quasi=["benefit", "age"], sampling_weight="w", recode={"benefit": recode}, method="mdav",
        sums="exact",
    )  # fmt: skip
    shown = np.asarray(release.data["benefit"], dtype=float)
    assert not (np.signbit(shown)).any()
    assert ((shown == 0) | (shown >= benefits[benefits > 0].min() * 1e-6)).all()
    labels = release.grouping.labels
    for g in range(labels.max() + 1):
        if not benefits[labels == g].any():
            assert (shown[labels == g] == 0).all()


def test_imputed_and_missing_cells_pass_through_every_recode():
    frame = pl.DataFrame({"x": [0.1, None, 0.3, 0.4, None, None, 5.5, 7.5], "y": [1, 1, 2, None, 3, 4, 4, 5]})
    for recode in (*RECODES, "range", "set", "suppress"):
        for policy in ("impute", "by-pattern"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                release = shoal.protect(
                    frame, 2, quasi=["x", "y"], missing=policy, recode=recode, method="mdav", accept_loss=True
                )  # fmt: skip
            assert release.k >= 2
            if policy == "impute" and recode != "suppress":
                assert release.data["x"].null_count() == 0


def test_pandas_integers_that_allow_missing_values_keep_their_type():
    frame = pd.DataFrame({"x": pd.array([1, 2, 5, 9, 10, 12], dtype="Int64"), "u": np.arange(6, dtype=np.uint16)})
    release = shoal.protect(frame, 3, quasi=["x", "u"], method="mdav")
    assert [str(kind) for kind in release.data.dtypes] == ["Int64", "uint16"]
