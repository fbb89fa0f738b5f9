"""The domain of each column, declared by the user: bounds of numbers and dates, lists of categories.

Each value is mapped to a cell of a public grid, numbers beyond their bounds to the first or last cell. This map uses
one record at a time, so it adds no privacy loss. All later steps use integers. Nothing here is computed from the data,
because the smallest or largest value would reveal a record.
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
from shoal.tables import Table
from shoal.tables.value_codes import missing_mask


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers or dates within bounds.

    Parameters
    ----------
    name, dtype
        Name and polars type of the column.
    low, high
        The bounds, in the physical representation of the type.
    """

    name: str
    dtype: pl.DataType
    low: float
    high: float

    @property
    def integer(self) -> bool:
        """Whether the values are integers in their physical representation; dates are."""
        return not (self.dtype.is_float() or self.dtype.is_decimal())

    def width(self, cells: int) -> float:
        """Return the width of a cell if there are at most ``cells``."""
        if not self.integer:
            return (self.high - self.low) / cells
        return -(-(int(self.high) - int(self.low) + 1) // cells)

    def cells(self, max_cells: int) -> int:
        """Return the number of cells, at most ``max_cells``; integers are never divided."""
        return max_cells if not self.integer else -(-(int(self.high) - int(self.low) + 1) // int(self.width(max_cells)))

    def codes(self, series: nw.Series[Any], max_cells: int) -> NDArray[np.int64]:
        """Return the cell of each value."""
        stored = series.to_polars().cast(self.dtype).to_physical()
        if self.integer:
            # values beyond int64 belong to the last cell
            known = stored.cast(pl.Int64, strict=False).fill_null(int(self.high))
            values = known.clip(int(self.low), int(self.high)).to_numpy()
            return (values - int(self.low)) // int(self.width(max_cells))
        numbers = np.clip(stored.cast(pl.Float64).to_numpy(), self.low, self.high)
        positions = np.floor((numbers - self.low) / (self.high - self.low) * max_cells)
        return np.minimum(positions.astype(np.int64), max_cells - 1)

    def restore(self, positions: NDArray[Any], max_cells: int, *, random_within: bool) -> pl.Series:
        """Return values for positions on the grid: drawn uniformly within the cell, or the centre of the cell."""
        width = self.width(max_cells)
        rng = np.random.default_rng()
        if self.integer:
            start = int(self.low) + np.floor(positions).astype(np.int64) * int(width)
            if random_within:
                values = rng.integers(start, np.minimum(start + int(width) - 1, int(self.high)), endpoint=True)
            else:
                rest = (positions - np.floor(positions)) * width + (width - 1) / 2
                values = np.minimum(start + np.rint(rest).astype(np.int64), int(self.high))
            return pl.Series(self.name, values.astype(np.int64)).cast(self._stored).cast(self.dtype)
        shift = rng.random(len(positions)) if random_within else 0.5
        values = np.clip(self.low + (positions + shift) * width, self.low, self.high)
        return pl.Series(self.name, values).cast(self.dtype)

    @property
    def _stored(self) -> pl.DataType:
        return pl.Series([], dtype=self.dtype).to_physical().dtype

    def as_dict(self) -> dict[str, Any]:
        """Return the domain for a manifest."""
        bounds = pl.Series([self.low, self.high])
        shown = bounds.cast(pl.Int64).cast(self._stored).cast(self.dtype) if self.integer else bounds
        low, high = (value if isinstance(value, int | float) else str(value) for value in shown.to_list())
        return {"name": self.name, "low": low, "high": high}


@dataclass(frozen=True)
class CategoryColumn:
    """A column with a list of possible values."""

    name: str
    dtype: pl.DataType
    values: tuple[str, ...]

    def cells(self, max_cells: int) -> int:  # noqa: ARG002 - categories are never merged
        """Return the number of categories."""
        return len(self.values)

    def codes(self, series: nw.Series[Any], max_cells: int) -> NDArray[np.int64]:  # noqa: ARG002 - the same
        """Return the position of each value in the list of categories."""
        texts = series.to_polars().cast(pl.String)
        codes = pl.DataFrame({"value": list(self.values), "code": np.arange(len(self.values))})
        found = texts.rename("value").to_frame().join(codes, on="value", how="left", maintain_order="left")["code"]
        unknown = found.null_count()
        if unknown:
            raise DataError(
                f'column "{self.name}" has {unknown} values that are not among its {len(self.values)} categories; list '
                "all possible values, or replace the others by one of them first"
            )
        return found.to_numpy().astype(np.int64)

    def restore(
        self,
        positions: NDArray[Any],
        max_cells: int,  # noqa: ARG002 - the same
        *,
        random_within: bool,  # noqa: ARG002 - the same
    ) -> pl.Series:
        """Return the categories at these positions."""
        texts = pl.Series(self.name, self.values, dtype=pl.String)
        known = texts.cast(self.dtype) if self.dtype.is_numeric() else texts
        return known.gather(np.rint(positions).astype(np.int64))

    def as_dict(self) -> dict[str, Any]:
        """Return the domain for a manifest."""
        return {"name": self.name, "categories": list(self.values)}


DomainColumn = NumericColumn | CategoryColumn


@dataclass(frozen=True)
class Domain:
    """A table and the domains of its columns.

    Parameters
    ----------
    table
        The table.
    columns
        The columns to be released, in the order of the table.
    """

    table: Table
    columns: tuple[DomainColumn, ...]

    def grid(self, max_cells: int) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """Return the cell of each record in each column, and the number of cells of each column."""
        if isinstance(max_cells, bool) or not isinstance(max_cells, int) or max_cells < 1:
            raise ParameterError(f"cells={max_cells!r} must be an integer of at least 1")
        codes = [column.codes(self.table.column(column.name), max_cells) for column in self.columns]
        return np.column_stack(codes), tuple(column.cells(max_cells) for column in self.columns)

    def restore(self, positions: NDArray[Any], max_cells: int, *, random_within: bool) -> pl.DataFrame:
        """Return records for positions on the grid."""
        return pl.DataFrame(
            [
                column.restore(positions[:, j], max_cells, random_within=random_within)
                for j, column in enumerate(self.columns)
            ]
        )

    def require_numeric(self, mechanism: str) -> None:
        """Raise :class:`SchemaError` if there is a column of categories."""
        for column in self.columns:
            if isinstance(column, CategoryColumn):
                raise SchemaError(
                    f'mechanism "{mechanism}" needs numbers or dates, but column "{column.name}" has categories; '
                    "leave it out, or use the mechanism histogram or strongly-safe"
                )


def domain_of(
    table: Table,
    columns: Sequence[str] | None,
    bounds: Mapping[str, Sequence[Any]],
    categories: Mapping[str, Sequence[Any]],
) -> Domain:
    """Return the domain of a table from the declared bounds and categories."""
    for name in (*bounds, *categories, *(columns or ())):
        table.column(name)
        if name in bounds and name in categories:
            raise SchemaError(f'column "{name}" has bounds and categories; give only one of them')
    named = columns if columns is not None else [name for name in table.names if name in bounds or name in categories]
    chosen = [name for name in table.names if name in set(named or table.names)]
    found: list[DomainColumn] = []
    for name in chosen:
        series = table.column(name)
        if name not in categories and name not in bounds:
            raise SchemaError(_no_domain(series))
        missing = int(missing_mask(series).sum())
        if missing:
            raise MissingValues(
                f'column "{name}" has {missing} missing values; fill them with a constant that does not '
                "depend on the data, or leave the column out"
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
            f'column "{name}" needs bounds for differential privacy that do not depend on the data: '
            f'bounds={{"{name}": (low, high)}} (command line: --bounds {name}=low..high)'
        )
    return (
        f'column "{name}" needs the list of all possible categories for differential privacy, which must not depend '
        f'on the data: categories={{"{name}": ["a", "b"]}} (command line: --categories "{name}=a|b")'
    )


def _numeric(series: nw.Series[Any], dtype: pl.DataType, bounds: Sequence[Any]) -> NumericColumn:
    name = series.name
    if not (dtype.is_numeric() or isinstance(dtype, pl.Date | pl.Datetime)):
        raise SchemaError(f'column "{name}" contains neither numbers nor dates; give categories instead of bounds')
    low, high = _bound_pair(name, bounds, dtype)
    if not low < high:
        raise ParameterError(f'column "{name}": the lower bound must be below the upper bound; correct them')
    if dtype.is_float() and not np.isfinite(series.to_polars().cast(pl.Float64).to_numpy()).all():
        raise DataError(f'column "{name}" has infinite values; replace or remove them')
    return NumericColumn(name, dtype, low, high)


def _bound_pair(name: str, bounds: Sequence[Any], dtype: pl.DataType) -> tuple[float, float]:
    wanted = f'column "{name}" needs two finite bounds, a lower and an upper one, of the type of its values'
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
