"""Steps on one column: parameters fitted on the whole table, then a pure function of the values.

Fitting reads the whole column once: the bound of a share, the values that are rare, median and spread. What is fitted
is small, so that a step can be applied to any part of the table later with the same result. Columns are polars series
here; missing cells stay missing in every step.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.schema.steps import Band, Bottom, MapValues, Outliers, Rare, Round, Step, Top

Bound = int | float | Decimal | dt.date
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_PERIODS = {"day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}
_LARGEST = 2**62
"""Whole numbers beyond this are not rounded, because the next multiple may have no room."""


@dataclass(frozen=True, eq=False)
class FittedStep:
    """A step with what it needs to know of the whole table.

    Parameters
    ----------
    step
        The step.
    name
        The column.
    bound
        The bound of top or bottom coding, in the type of the column.
    rare
        The values that are suppressed, as a series of the type of the column.
    middle, distance
        Median, and the distance from it beyond which a record is an outlier.
    categories
        What a column of bands holds in the whole table, from lowest to highest.
    """

    step: Step
    name: str
    bound: Bound | None = None
    rare: pl.Series | None = None
    middle: float = 0.0
    distance: float = np.inf
    categories: tuple[str, ...] | None = None

    def apply(self, values: pl.Series) -> pl.Series:
        """Return the values after the step; the same for a part of the column as for the whole."""
        step = self.step
        if isinstance(step, Top):
            lower = isinstance(step, Bottom)
            column = pl.col(self.name)
            beyond = column < pl.lit(self.bound) if lower else column > pl.lit(self.bound)
            coded = pl.when(beyond).then(pl.lit(self.bound, dtype=values.dtype)).otherwise(column)
            return _selected(values, coded)
        if isinstance(step, Round):
            return _rounded(values, step)
        if isinstance(step, Band):
            return _banded(values, step)[0]
        if isinstance(step, MapValues):
            return _mapped(values, step)
        if isinstance(step, Rare):
            return self._without_rare(values, step)
        return values

    def dropped(self, values: pl.Series) -> Mask:
        """Return which records are outliers."""
        numbers = _floats(values)
        with np.errstate(invalid="ignore"):
            return np.abs(numbers - self.middle) > self.distance

    def _without_rare(self, values: pl.Series, step: Rare) -> pl.Series:
        assert self.rare is not None
        rare = values.is_in(self.rare.implode()).fill_null(value=False)
        if step.replacement is None:
            return _selected(values, pl.when(~pl.lit(rare)).then(pl.col(self.name)))
        texts = values.cast(pl.String).rename(self.name)
        return _selected(texts, pl.when(pl.lit(rare)).then(pl.lit(step.replacement)).otherwise(pl.col(self.name)))


def fit_step(step: Step, values: pl.Series, *, least: int, owners: Integers | None) -> FittedStep:
    """Return a step with its parameters.

    Parameters
    ----------
    step
        The step.
    values
        The whole column.
    least
        How many records or persons must be at or beyond the bound of a share.
    owners
        The person of each record, where persons are counted.

    Examples
    --------
    >>> fit_step(Top("100%"), pl.Series("age", [30, 40, 50, 95]), least=3, owners=None).bound
    40
    """
    fitted = FittedStep(step, values.name)
    _check_type(step, values)
    if isinstance(step, Top):
        return replace(fitted, bound=_bound_of(step, values, least, owners))
    if isinstance(step, Rare):
        return replace(fitted, rare=_rare_values(step, values, owners))
    if isinstance(step, Outliers):
        numbers = _floats(values)
        known = numbers[~np.isnan(numbers)]
        if not known.size:
            return fitted
        middle = float(np.median(known))
        spread = 1.4826 * float(np.median(np.abs(known - middle)))
        if spread == 0:
            raise SchemaError(
                f'column "{values.name}": more than half of the values are equal, so that no distance from the median '
                "is far; drop the step, or use top and bottom coding"
            )
        return replace(fitted, middle=middle, distance=step.deviations * spread)
    if isinstance(step, Band):
        return replace(fitted, categories=_banded(values, step)[1])
    return fitted


def _check_type(step: Step, values: pl.Series) -> None:
    """Raise where a step does not suit the type of the column."""
    dtype, name = values.dtype, values.name
    dates = dtype == pl.Date or isinstance(dtype, pl.Datetime)
    numbers = dtype.is_numeric()

    def wrong(what: str) -> SchemaError:
        return SchemaError(f'column "{name}" of type {dtype}: the step "{step}" needs {what}')

    if step.word == "shift" and not dates:
        raise wrong("dates")
    if step.word == "outliers" and not (numbers or dates):
        raise wrong("numbers or dates")
    if isinstance(step, Top):
        dated = isinstance(step.bound, str) and step.share is None
        if (dated and not dates) or (step.share is None and not dated and not numbers):
            raise wrong("dates" if dated else "numbers")
        if not (numbers or dates):
            raise wrong("numbers or dates")
    if isinstance(step, Round | Band):
        calendar = isinstance(step.base if isinstance(step, Round) else step.bands, str) and str(step) != "band age"
        if calendar != dates or not (dates or numbers):
            raise wrong("dates" if calendar else "numbers")


def _bound_of(step: Top, values: pl.Series, least: int, owners: Integers | None) -> Bound | None:
    """Return the bound in the type of the column."""
    if step.share is None:
        return _stated_bound(step, values)
    bottom = isinstance(step, Bottom)
    rows = values.is_not_null() & values.is_not_nan() if values.dtype.is_float() else values.is_not_null()
    frame = pl.DataFrame({"value": values, "owner": pl.Series(np.arange(values.len()) if owners is None else owners)})
    frame = frame.filter(rows).sort("value", descending=not bottom, maintain_order=True)
    if frame.is_empty():
        return None
    # from the end: a record is beyond the bound as long as so many are left on the other side
    n = frame.height
    beyond = n * ((1 - step.share) if not bottom else step.share)
    position = min(int(np.floor(round(beyond, 9))), n - 1)
    persons = frame["owner"].is_first_distinct().cast(pl.Int64).cum_sum().to_numpy()
    enough = np.flatnonzero(persons >= least)
    position = max(position, int(enough[0]) if enough.size else n - 1)
    found: Bound = frame["value"][position]
    return found


def _stated_bound(step: Top, values: pl.Series) -> Bound:
    dtype, bound = values.dtype, step.bound
    if isinstance(bound, str):
        moment = dt.datetime.fromisoformat(bound)
        return moment.date() if dtype == pl.Date else moment
    if dtype.is_integer() and bound != int(bound):
        raise SchemaError(f'column "{values.name}" has whole numbers; the bound of the step "{step}" must be one too')
    if isinstance(dtype, pl.Decimal):
        return Decimal(repr(bound))
    return int(bound) if dtype.is_integer() else float(bound)


def _rare_values(step: Rare, values: pl.Series, owners: Integers | None) -> pl.Series:
    """Return the values that too few hold, and further ones until their cells are not few themselves."""
    frame = pl.DataFrame({"value": values, "owner": pl.Series(np.arange(values.len()) if owners is None else owners)})
    if values.dtype.is_float():
        frame = frame.with_columns(pl.col("value").fill_nan(None))
    counted = (
        frame.drop_nulls("value").group_by("value").agg(pl.col("owner").n_unique().alias("held"), pl.col("owner"))
        .sort("held", "value")
    )  # fmt: skip
    rare = int((counted["held"] < step.fewest).sum())
    if rare == 0:
        return counted["value"].clear()
    if step.replacement is None:
        same = frame.filter(pl.col("value").is_null())["owner"].unique()
    else:
        same = frame.filter(pl.col("value").cast(pl.String) == step.replacement)["owner"].unique()
    while rare < counted.height:
        concerned = pl.concat([same, counted["owner"].head(rare).explode()]).n_unique()
        if concerned >= step.fewest:
            break
        rare += 1
    return counted["value"].head(rare)


def _selected(values: pl.Series, expression: pl.Expr) -> pl.Series:
    return values.to_frame().select(expression.alias(values.name)).to_series()


def _floats(values: pl.Series) -> NDArray[np.float64]:
    """Return numbers as floats, dates and times as days; NaN where missing."""
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        values = values.cast(pl.Datetime("us")).dt.epoch("us") / 86_400_000_000
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def _rounded(values: pl.Series, step: Round) -> pl.Series:
    """Return the nearest multiples, halves up; dates at the start of their calendar unit."""
    dtype, base = values.dtype, step.base
    if isinstance(base, str):
        return values.dt.truncate(_PERIODS[base])
    if isinstance(dtype, pl.Decimal):
        unit = Decimal(repr(base))
        near_exact = [
            None if value is None else (value / unit).to_integral_value() * unit for value in values.to_list()
        ]
        return pl.Series(values.name, near_exact, dtype=dtype)
    if dtype.is_integer():
        if base != int(base):
            raise SchemaError(f'column "{values.name}" has whole numbers; round them to a whole number, such as 10')
        ends = [abs(int(end)) for end in (values.min(), values.max()) if isinstance(end, int)]
        if max(ends, default=0) + base >= _LARGEST:
            raise _too_large(values.name)
        numbers = values.cast(pl.Int64)
        rest = numbers % int(base)
        near = numbers - rest + (2 * rest >= int(base)).cast(pl.Int64) * int(base)
        return _in_type(near.alias(values.name), dtype)
    places = max(0, -Decimal(repr(base)).normalize().as_tuple().exponent)  # type: ignore[operator]  # finite
    found = _floats(values)
    near_floats = np.round(np.floor(found / base + 0.5) * base, places) + 0.0
    return pl.Series(values.name, near_floats, nan_to_null=True).cast(dtype)


def _in_type(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    try:
        return values.cast(dtype)
    except pl.exceptions.PolarsError:  # 125 in 8 bits has no multiple of 10 above it
        raise _too_large(values.name) from None


def _too_large(name: str) -> SchemaError:
    return SchemaError(f'column "{name}" has numbers that are too large to be rounded; leave the step out')


def _banded(values: pl.Series, step: Band) -> tuple[pl.Series, tuple[str, ...]]:
    """Return the band of each value as text, and all bands that occur from lowest to highest."""
    if isinstance(step.bands, str) and step.bands != "age":
        year = values.dt.year().cast(pl.String).str.zfill(4)
        forms: dict[str, Callable[[], pl.Series]] = {
            "year": lambda: year, "month": lambda: year + "-" + values.dt.month().cast(pl.String).str.zfill(2),
            "quarter": lambda: year + "-Q" + values.dt.quarter().cast(pl.String),
        }  # fmt: skip
        texts = forms[step.bands]().alias(values.name)
        return texts, tuple(texts.drop_nulls().unique().sort().to_list())
    numbers, whole = _floats(values), values.dtype.is_integer()
    if np.isinf(numbers).any():
        raise SchemaError(f'column "{values.name}" has infinite values, which are in no band; replace them first')
    if step.edges:
        positions = np.searchsorted(np.array(step.edges), numbers, side="right").astype(np.float64) - 1
        positions[np.isnan(numbers)] = np.nan
    else:
        positions = np.floor(numbers / float(step.bands))  # type: ignore[arg-type]  # a width
    occurring = np.unique(positions[~np.isnan(positions)])
    labels = {position: _band_text(int(position), step, whole=whole) for position in occurring.tolist()}
    table = pl.DataFrame(
        {"position": occurring, "text": list(labels.values())}, schema={"position": pl.Float64, "text": pl.String}
    )
    rows = pl.DataFrame({"position": pl.Series(positions, nan_to_null=True)})
    found = rows.join(table, on="position", how="left", maintain_order="left")["text"]
    return found.alias(values.name), tuple(labels.values())


def _band_text(position: int, step: Band, *, whole: bool) -> str:
    if step.edges:
        low = None if position < 0 else step.edges[position]
        high = step.edges[position + 1] if position + 1 < len(step.edges) else None
    else:
        width = float(step.bands)  # type: ignore[arg-type]  # a width
        low, high = round(position * width, 10), round((position + 1) * width, 10)
    whole = whole and all(edge is None or edge == int(edge) for edge in (low, high))
    if low is None:
        return f"under {_short(high)}"
    if high is None:
        return f"{_short(low)}+"
    if not whole:
        return f"{_short(low)} to under {_short(high)}"
    last = high - 1
    if low == last:
        return _short(low)
    return f"{_short(low)} to {_short(last)}" if low < 0 else f"{_short(low)}-{_short(last)}"


def _short(value: float | None) -> str:
    assert value is not None
    return str(int(value)) if value == int(value) else repr(value)


def _mapped(values: pl.Series, step: MapValues) -> pl.Series:
    """Return the new values; numbers stay numbers if all new values are numbers."""
    mapping = step.mapping
    rest = "*" in mapping
    texts = _texts(values)
    table = pl.DataFrame(
        {"old": list(mapping), "new": list(mapping.values()), "named": True},
        schema={"old": pl.String, "new": pl.String, "named": pl.Boolean},
    )
    found = texts.rename("old").to_frame().join(table, on="old", how="left", maintain_order="left")
    default = pl.lit(mapping["*"], dtype=pl.String) if rest else pl.col("old")
    chosen = pl.when(pl.col("named")).then("new").when(pl.col("old").is_not_null()).then(default).alias(values.name)
    result = found.select(chosen).to_series()
    dtype = _mapped_type(values.dtype, step)
    return result if dtype is None else result.cast(dtype)


def _mapped_type(dtype: pl.DataType, step: MapValues) -> pl.DataType | None:
    """Return the type of a mapped column if it is not text: numbers that become numbers; the same for every part."""
    new = pl.Series([text for text in step.mapping.values() if text is not None], dtype=pl.String)
    if not dtype.is_numeric():
        return None
    wanted = (pl.Int64(), pl.Float64()) if dtype.is_integer() else (pl.Float64(),)
    return next((kind for kind in wanted if new.cast(kind, strict=False).null_count() == 0), None)


def _texts(values: pl.Series) -> pl.Series:
    """Return values as the text that a mapping names: whole numbers without a decimal point."""
    if values.dtype.is_float():
        whole = values.is_not_null() & (values == values.floor()) & (values.abs() < 2.0**53)
        plain = values.cast(pl.Int64, strict=False).cast(pl.String)
        others = values.fill_nan(None).cast(pl.String)
        return _selected(values, pl.when(pl.lit(whole)).then(pl.lit(plain)).otherwise(pl.lit(others)))
    return values.cast(pl.String)
