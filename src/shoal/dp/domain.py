"""The domain of each column: bounds of numbers and dates, lists of categories, as the user declared them.

Each value is mapped to a cell of a public grid, numbers beyond their bounds to the first or last cell, values that are
missing or cannot be read to the cell of the declared default. This map uses one record at a time, so it adds no privacy
loss, and no value raises an error or gives a warning. All later steps use integers. Nothing here is computed from the
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.dp.declared_values import NumberKind, category_key, declared_codes, declared_numbers
from shoal.errors import ParameterError, SchemaError
from shoal.tables import Table


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers or dates within bounds.

    Parameters
    ----------
    name
        Name of the column.
    kind
        ``integer``, ``number``, ``date`` (in days since 1970) or ``datetime`` (in seconds since 1970).
    low, high
        The bounds.
    default
        The number that takes the place of values that are missing or no number.
    decimals
        Decimals of released numbers; None for all digits.
    """

    name: str
    kind: NumberKind
    low: float
    high: float
    default: float
    decimals: int | None = None

    @property
    def integer(self) -> bool:
        """Whether the values are counted in integers; dates are."""
        return self.kind != "number"

    def width(self, cells: int) -> float:
        """Return the width of a cell if there are at most ``cells``."""
        if not self.integer:
            return (self.high - self.low) / cells
        return -(-(int(self.high) - int(self.low) + 1) // cells)

    def cells(self, max_cells: int) -> int:
        """Return the number of cells, at most ``max_cells``; integers are never divided."""
        return max_cells if not self.integer else -(-(int(self.high) - int(self.low) + 1) // int(self.width(max_cells)))

    def codes(self, series: nw.Series[Any], table: Table, max_cells: int) -> NDArray[np.int64]:
        """Return the cell of each value."""
        numbers = declared_numbers(series, self.kind, table.dialect)
        numbers = np.clip(np.where(np.isnan(numbers), self.default, numbers), self.low, self.high)
        if self.integer:
            return (np.floor(numbers + 0.5).astype(np.int64) - int(self.low)) // int(self.width(max_cells))
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
            return self._typed(values.astype(np.int64))
        shift = rng.random(len(positions)) if random_within else 0.5
        numbers = self.low + (positions + shift) * width
        return self._typed(
            np.clip(numbers if self.decimals is None else numbers.round(self.decimals), self.low, self.high)
        )

    def _typed(self, values: NDArray[Any]) -> pl.Series:
        series = pl.Series(self.name, values)
        if self.kind == "date":
            return series.cast(pl.Int32).cast(pl.Date)
        return (series * 1_000_000).cast(pl.Datetime("us")) if self.kind == "datetime" else series

    def as_dict(self) -> dict[str, Any]:
        """Return the domain for a manifest."""
        values = np.array([self.low, self.high, self.default]).astype(np.int64 if self.integer else np.float64)
        shown = self._typed(values).to_list()
        low, high, default = (value if isinstance(value, int | float) else str(value) for value in shown)
        further = {"decimals": self.decimals} if self.kind == "number" else {}
        return {"name": self.name, "type": self.kind, "low": low, "high": high, "default": default} | further


@dataclass(frozen=True)
class CategoryColumn:
    """A column with a list of possible values; values that are not in it count as the default."""

    name: str
    values: tuple[Any, ...]
    default: int

    def cells(self, max_cells: int) -> int:  # noqa: ARG002 - categories are never merged
        """Return the number of categories."""
        return len(self.values)

    def codes(self, series: nw.Series[Any], table: Table, max_cells: int) -> NDArray[np.int64]:  # noqa: ARG002 - the same
        """Return the position of each value in the list of categories."""
        codes = {category_key(value): position for position, value in enumerate(self.values)}
        return declared_codes(series, codes, self.default, table.dialect)

    def restore(
        self,
        positions: NDArray[Any],
        max_cells: int,  # noqa: ARG002 - the same
        *,
        random_within: bool,  # noqa: ARG002 - the same
    ) -> pl.Series:
        """Return the categories at these positions."""
        return pl.Series(self.name, self.values).gather(np.rint(positions).astype(np.int64))

    def as_dict(self) -> dict[str, Any]:
        """Return the domain for a manifest."""
        return {"name": self.name, "categories": list(self.values), "default": self.values[self.default]}


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
        codes = [column.codes(self.table.column(column.name), self.table, max_cells) for column in self.columns]
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
