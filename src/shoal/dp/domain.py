"""What each column may hold, told by a person and never measured: bounds of numbers and dates, lists of categories.

Values become cells of a public grid one by one, numbers beyond their bounds the first or last cell; this looks at one
record at a time and so costs no privacy. All that follows is done in whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, MissingValues, ParameterError, SchemaError
from shoal.flow.encoding import missing_mask
from shoal.tables import Table


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers or dates within bounds.

    Parameters
    ----------
    name, dtype
        What it is called and how it is stored.
    low, high
        The bounds, as stored.
    """

    name: str
    dtype: pl.DataType
    low: float
    high: float

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers, as dates are."""
        return not (self.dtype.is_float() or self.dtype.is_decimal())

    def width(self, cells: int) -> float:
        """Return the width of a cell, if there are to be at most so many."""
        if not self.whole:
            return (self.high - self.low) / cells
        return -(-(int(self.high) - int(self.low) + 1) // cells)

    def cells(self, most: int) -> int:
        """Return the number of cells, at most so many; whole numbers are never divided."""
        return most if not self.whole else -(-(int(self.high) - int(self.low) + 1) // int(self.width(most)))

    def codes(self, series: nw.Series[Any], most: int) -> NDArray[np.int64]:
        """Return the cell of each value."""
        stored = series.to_polars().cast(self.dtype).to_physical()
        if self.whole:
            known = stored.cast(pl.Int64, strict=False).fill_null(int(self.high))  # beyond 64 bits with sign: the last
            values = known.clip(int(self.low), int(self.high)).to_numpy()
            return (values - int(self.low)) // int(self.width(most))
        numbers = np.clip(stored.cast(pl.Float64).to_numpy(), self.low, self.high)
        places = np.floor((numbers - self.low) / (self.high - self.low) * most)
        return np.minimum(places.astype(np.int64), most - 1)

    def restore(self, places: NDArray[Any], most: int, *, inside: bool) -> pl.Series:
        """Return values for places on the grid: drawn evenly from inside the cell, or the middle of the cell."""
        width = self.width(most)
        rng = np.random.default_rng()
        if self.whole:
            start = int(self.low) + np.floor(places).astype(np.int64) * int(width)
            if inside:
                values = rng.integers(start, np.minimum(start + int(width) - 1, int(self.high)), endpoint=True)
            else:
                rest = (places - np.floor(places)) * width + (width - 1) / 2
                values = np.minimum(start + np.rint(rest).astype(np.int64), int(self.high))
            return pl.Series(self.name, values.astype(np.int64)).cast(self._stored).cast(self.dtype)
        shift = rng.random(len(places)) if inside else 0.5
        values = np.clip(self.low + (places + shift) * width, self.low, self.high)
        return pl.Series(self.name, values).cast(self.dtype)

    @property
    def _stored(self) -> pl.DataType:
        return pl.Series([], dtype=self.dtype).to_physical().dtype

    def as_dict(self) -> dict[str, Any]:
        """Return the domain for a manifest."""
        bounds = pl.Series([self.low, self.high])
        shown = bounds.cast(pl.Int64).cast(self._stored).cast(self.dtype) if self.whole else bounds
        low, high = (value if isinstance(value, int | float) else str(value) for value in shown.to_list())
        return {"name": self.name, "low": low, "high": high}


@dataclass(frozen=True)
class CategoryColumn:
    """A column with a list of possible values."""

    name: str
    dtype: pl.DataType
    values: tuple[str, ...]

    def cells(self, most: int) -> int:  # noqa: ARG002 - categories are never merged
        """Return the number of categories."""
        return len(self.values)

    def codes(self, series: nw.Series[Any], most: int) -> NDArray[np.int64]:  # noqa: ARG002 - the same
        """Return the place of each value in the list."""
        texts = series.to_polars().cast(pl.String)
        place = pl.DataFrame({"value": list(self.values), "code": np.arange(len(self.values))})
        found = texts.rename("value").to_frame().join(place, on="value", how="left", maintain_order="left")["code"]
        unknown = found.null_count()
        if unknown:
            raise DataError(
                f'column "{self.name}" has {unknown} values that are not among its {len(self.values)} categories; name '
                "all that are possible, or replace the others by one of them first"
            )
        return found.to_numpy().astype(np.int64)

    def restore(self, places: NDArray[Any], most: int, *, inside: bool) -> pl.Series:  # noqa: ARG002 - the same
        """Return the categories at these places."""
        texts = pl.Series(self.name, self.values, dtype=pl.String)
        known = texts.cast(self.dtype) if self.dtype.is_numeric() else texts
        return known.gather(np.rint(places).astype(np.int64))

    def as_dict(self) -> dict[str, Any]:
        """Return the domain for a manifest."""
        return {"name": self.name, "categories": list(self.values)}


DomainColumn = NumericColumn | CategoryColumn


@dataclass(frozen=True)
class Domain:
    """A table and what its columns may hold.

    Parameters
    ----------
    table
        The table.
    columns
        The columns that take part, in the order of the table.
    """

    table: Table
    columns: tuple[DomainColumn, ...]

    def grid(self, most: int) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """Return the cell of each record in each column, and the number of cells of each column, at most so many."""
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ParameterError(f"cells={most!r} must be a whole number of at least 1")
        codes = [column.codes(self.table.column(column.name), most) for column in self.columns]
        return np.column_stack(codes), tuple(column.cells(most) for column in self.columns)

    def restore(self, places: NDArray[Any], most: int, *, inside: bool) -> pl.DataFrame:
        """Return records for places on the grid."""
        return pl.DataFrame(
            [column.restore(places[:, j], most, inside=inside) for j, column in enumerate(self.columns)]
        )

    def refuse_categories(self, mechanism: str) -> None:
        """Say that a mechanism is for numbers only."""
        for column in self.columns:
            if isinstance(column, CategoryColumn):
                raise SchemaError(
                    f'mechanism "{mechanism}" is for numbers and dates, but column "{column.name}" has categories; '
                    "leave it out, or use the mechanism histogram or strongly-safe"
                )


def domain_of(
    table: Table,
    columns: Sequence[str] | None,
    bounds: Mapping[str, Sequence[Any]],
    categories: Mapping[str, Sequence[Any]],
) -> Domain:
    """Return the domain of a table from what a person says about its columns."""
    for name in (*bounds, *categories, *(columns or ())):
        table.column(name)
        if name in bounds and name in categories:
            raise SchemaError(f'column "{name}" has bounds and categories; give one of them')
    named = columns if columns is not None else [name for name in table.names if name in bounds or name in categories]
    chosen = [name for name in table.names if name in set(named or table.names)]
    found: list[DomainColumn] = []
    for name in chosen:
        series = table.column(name)
        if name not in categories and name not in bounds:
            raise SchemaError(_no_domain(series))
        holes = int(missing_mask(series).sum())
        if holes:
            raise MissingValues(
                f'column "{name}" has {holes} missing values; fill them with a constant that was chosen without '
                "looking at the data, or leave the column out"
            )
        dtype = series.head(1).to_polars().dtype
        if name in categories:
            values = tuple(str(value) for value in categories[name])
            if not values or len(set(values)) < len(values):
                raise SchemaError(f'column "{name}" needs a list of different categories, at least one')
            found.append(CategoryColumn(name, dtype, values))
        else:
            found.append(_numeric(series, dtype, bounds[name]))
    return Domain(table, tuple(found))


def _no_domain(series: nw.Series[Any]) -> str:
    name = series.name
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return (
            f'column "{name}" needs bounds for differential privacy, chosen without looking at the data: '
            f'bounds={{"{name}": (low, high)}} (command line: --bounds {name}=low..high)'
        )
    return (
        f'column "{name}" needs the list of its possible categories for differential privacy, chosen without looking '
        f'at the data: categories={{"{name}": ["a", "b"]}} (command line: --categories "{name}=a|b")'
    )


def _numeric(series: nw.Series[Any], dtype: pl.DataType, bounds: Sequence[Any]) -> NumericColumn:
    name = series.name
    if not (dtype.is_numeric() or isinstance(dtype, pl.Date | pl.Datetime)):
        raise SchemaError(f'column "{name}" holds no numbers or dates, so it has categories instead of bounds')
    low, high = _bound_pair(name, bounds, dtype)
    if not low < high:
        raise ParameterError(f'column "{name}": its lower bound must be below the upper one; exchange or correct them')
    if dtype.is_float() and not np.isfinite(series.to_polars().cast(pl.Float64).to_numpy()).all():
        raise DataError(f'column "{name}" has infinite values; replace or remove them')
    return NumericColumn(name, dtype, low, high)


def _bound_pair(name: str, bounds: Sequence[Any], dtype: pl.DataType) -> tuple[float, float]:
    wanted = f'column "{name}" needs two finite bounds, a lower and an upper one, of the kind of its values'
    if isinstance(bounds, str) or len(bounds) != 2:
        raise ParameterError(wanted)
    try:
        pair = pl.Series([str(bound) for bound in bounds])
        if dtype.is_temporal():
            stored = pair.str.to_datetime(strict=True) if dtype == pl.Datetime else pair.str.to_date(strict=True)
            low, high = stored.cast(dtype).to_physical().to_list()
        else:
            low, high = (float(text) for text in pair)
            if not dtype.is_float() and not dtype.is_decimal():
                low, high = int(np.ceil(low)), int(np.floor(high))
    except (ValueError, OverflowError, pl.exceptions.PolarsError):
        raise ParameterError(wanted) from None
    largest = max(abs(low), abs(high))
    if not np.isfinite(largest) or not np.isfinite(high - low) or (largest > 2**62 and not dtype.is_float()):
        raise ParameterError(wanted)
    return low, high
