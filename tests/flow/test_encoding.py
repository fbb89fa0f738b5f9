import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, SchemaError
from shoal.flow.encoding import fit_column, fit_encoding
from shoal.flow.prepare import MethodData, prepare
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.tables import Table
from shoal.tables.value_codes import missing_mask


def series_of(values, dtype=None, name="x"):
    return nw.from_native(pl.Series(name, values, dtype=dtype), series_only=True)


def numeric(weight=1.0):
    return Column("x", Role.QUASI, Kind.NUMERIC, weight=weight)


def nominal():
    return Column("x", Role.QUASI, Kind.NOMINAL)


def round_trip(series, column):
    encoding = fit_column(series, column)
    return encoding.restore(encoding.values(series), series)


WHENS = [dt.datetime(2020, 2, 29, 1, 2, 3, 456789), dt.datetime(1969, 7, 20), None, dt.datetime(2262, 1, 1)]
NATIVE = {
    "int": pl.Series("x", [3, -(2**62), 2**62, 7]),
    "uint64": pl.Series("x", [2**64 - 1, 2**64 - 5, 2**64 - 9], dtype=pl.UInt64),
    "int8": pl.Series("x", [-128, 127, 0], dtype=pl.Int8),
    "float": pl.Series("x", [1e6 + 0.25, 1e6 - 0.5, 1e6]),
    "float32": pl.Series("x", [0.1, 2.5, -7.0], dtype=pl.Float32),
    "date": pl.Series("x", [dt.date(2020, 2, 29), dt.date(1900, 1, 1), None]),
    "datetime": pl.Series("x", WHENS),
    "datetime ns": pl.Series("x", WHENS[:3], dtype=pl.Datetime("ns")),
    "datetime zone": pl.Series("x", WHENS).dt.replace_time_zone("Europe/Berlin"),
    "duration": pl.Series("x", [dt.timedelta(1, 5), dt.timedelta(-3), None]),
    "decimal": pl.Series("x", [Decimal("1.50"), Decimal("-2.25"), None], dtype=pl.Decimal(10, 2)),
    "int with missing values": pl.Series("x", [5, None, 9]),
}
TEXT = {
    "text": pl.Series("x", ["b", "a", None, "b"]),
    "categorical": pl.Series("x", ["b", "a", None], dtype=pl.Categorical),
    "enum": pl.Series("x", ["b", "a", None], dtype=pl.Enum(["b", "a", "c"])),
    "bool": pl.Series("x", [True, False, None]),
}


def libraries(series):
    """The same column in polars, pyarrow, and both kinds of pandas."""
    yield nw.from_native(series, series_only=True)
    yield nw.from_native(pa.chunked_array([series.to_arrow()]), series_only=True).alias("x")
    for arrow in (True, False):
        frame = series.to_pandas(use_pyarrow_extension_array=arrow)
        frame.index = list(range(len(series)))[::-1]
        yield nw.from_native(frame, series_only=True)


def same(one, other):
    def plain(value):
        return None if value is None or value is pd.NA or value is pd.NaT or value != value else value  # noqa: PLR0124

    return one.dtype == other.dtype and [plain(v) for v in one.to_list()] == [plain(v) for v in other.to_list()]


@pytest.mark.parametrize("kind", [name for name in NATIVE if name not in {"float", "float32", "decimal"}])
def test_whole_numbers_and_dates_come_back_exactly_in_every_library(kind):
    for series in libraries(NATIVE[kind]):
        if series.dtype == nw.Object or (series.dtype == nw.Float64 and "int" in kind):
            continue  # pandas without arrow has no such type
        if kind == "int":
            series = series[np.array([0, 3])]  # an offset above 2**53 is rounded by any float
        assert same(round_trip(series, numeric()), series), (kind, series.implementation)


@pytest.mark.parametrize("kind", ["float", "float32", "decimal"])
def test_fractions_come_back_in_their_type_in_every_library(kind):
    for series in libraries(NATIVE[kind]):
        if series.dtype == nw.Object:
            continue
        back = round_trip(series, numeric())
        assert back.dtype == series.dtype
        np.testing.assert_allclose(
            back.cast(nw.Float64).to_numpy(), series.cast(nw.Float64).to_numpy(), rtol=1e-15, equal_nan=True
        )


@pytest.mark.parametrize("kind", TEXT)
def test_categories_come_back_exactly_in_every_library(kind):
    for series in libraries(TEXT[kind]):
        assert same(round_trip(series, nominal()), series), (kind, series.implementation)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-300, 1e-12, 1.0, 1e12, 1e290]), st.sampled_from([0.0, 1e6, -1e9]))
def test_coordinates_have_mean_zero_and_variance_one_at_any_scale_and_offset(seed, scale, offset):
    values = (np.random.default_rng(seed).normal(size=200) + offset) * scale
    series = series_of(values)
    encoding = fit_column(series, numeric())
    coordinates = encoding.coordinates(encoding.values(series))[:, 0]
    assert abs(coordinates.mean()) < 1e-12
    assert abs((coordinates**2).mean() - 1) < 1e-12


def test_a_large_mean_loses_nothing():
    small = np.random.default_rng(1).integers(0, 1000, 500) / 1024
    plain, shifted = series_of(small), series_of(small + 2.0**30)
    one, two = fit_column(plain, numeric()), fit_column(shifted, numeric())
    np.testing.assert_array_equal(one.coordinates(one.values(plain)), two.coordinates(two.values(shifted)))


@pytest.mark.parametrize("value", [0.0, 1e6, -3.5, 1e300])
def test_a_constant_column_becomes_zeros_and_comes_back(value):
    series = series_of([value] * 5)
    encoding = fit_column(series, numeric())
    assert (encoding.coordinates(encoding.values(series)) == 0).all()
    assert round_trip(series, numeric()).to_list() == [value] * 5


def test_a_column_weight_multiplies_squared_distances():
    series = series_of([1.0, 2.0, 4.0])
    light, heavy = fit_column(series, numeric()), fit_column(series, numeric(weight=4.0))
    values = light.values(series)
    np.testing.assert_allclose(heavy.coordinates(values), 2 * light.coordinates(values))


def test_two_different_categories_are_one_squared_unit_apart():
    series = series_of(["a", "b", "c"])
    encoding = fit_column(series, nominal())
    points = encoding.coordinates(encoding.values(series))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, 1 - np.eye(3))


def test_ordinal_columns_follow_their_order_not_the_alphabet():
    series = series_of(["low", "high", "medium"])
    encoding = fit_column(series, Column("x", Role.QUASI, Kind.ORDINAL, order=("low", "medium", "high")))
    assert encoding.values(series).tolist() == [0, 2, 1]


def test_numbers_can_be_ordinal_without_an_order():
    encoding = fit_column(series_of([10, 1000, 20]), Column("x", Role.QUASI, Kind.ORDINAL))
    assert encoding.values(series_of([10, 1000, 20])).tolist() == [0, 2, 1]


def test_text_without_an_order_cannot_be_ordinal():
    with pytest.raises(SchemaError, match='column "x" is ordinal but its order is not given'):
        fit_column(series_of(["a", "b"]), Column("x", Role.QUASI, Kind.ORDINAL))


def test_categories_outside_the_order_are_refused_by_their_number():
    with pytest.raises(SchemaError, match='column "x" has 1 categories that its order does not name') as caught:
        fit_column(series_of(["a", "secret"]), Column("x", Role.QUASI, Kind.ORDINAL, order=("a", "b")))
    assert "secret" not in str(caught.value)


def test_text_in_a_numeric_column_is_refused_with_its_row_but_not_its_value():
    with pytest.raises(DataError, match=r"1 of its 3 values are text \(the first in row 2\)") as caught:
        fit_column(series_of(["1", "Smith", "3"]), numeric())
    assert "Smith" not in str(caught.value)


def test_a_known_mark_of_missing_values_is_recognised():
    with pytest.raises(DataError, match="if NA marks a missing value, say so with na_values"):
        fit_column(series_of(["1", "NA", "3"]), numeric())


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_are_refused(bad):
    with pytest.raises(DataError, match='column "x" has 2 infinite values'):
        fit_column(series_of([1.0, bad, bad]), numeric())


def test_too_many_categories_are_refused_as_coordinates_but_not_as_codes():
    table = Table.from_native(pl.DataFrame({"x": [str(i) for i in range(1001)]}))
    data = MethodData(prepare(table, fit_encoding(table, Schema((nominal(),)))))
    with pytest.raises(DataError, match='column "x" has 1001 categories'):
        data.points(exact=True)
    assert data.codes().shape == (1001, 1)


def test_python_objects_are_refused():
    mixed = nw.from_native(pd.Series([1, "a", None], name="x", dtype=object), series_only=True)
    with pytest.raises(DataError, match='column "x" holds Python objects'):
        fit_column(mixed, nominal())


def test_nan_and_null_are_both_missing():
    assert missing_mask(series_of([1.0, np.nan, None])).tolist() == [False, True, True]


def test_minus_999_is_a_value():
    series = series_of([1, -999, 3])
    assert not missing_mask(series).any()
    assert round_trip(series, numeric()).to_list() == [1, -999, 3]


def test_times_that_are_all_midnight_stay_midnight():
    days = series_of([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 4)])
    encoding = fit_column(days, numeric())
    (middle,) = encoding.restore(np.array([encoding.values(days).mean()]), days).to_list()
    assert (middle.hour, middle.minute) == (0, 0)
