"""The distribution of a confidential attribute in the whole table, for requirements on a part of it.

t-closeness and beta-likeness compare the values of a class with those of the table. Where only a part of the table is
protected, the table is still the whole one: its values and how often each occurs are fitted once and applied to parts.
Numbers with many different values can be reduced to intervals, each with as many different values as the others
(:meth:`ValueEncoding.quantised`): the position of a value changes by less than one interval, so t changes by at most
2 / (intervals - 1). Classes never appear safer by l, p, alpha or c, because intervals only join values; beta is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.privacy.confidential import Values, read_values, sorted_values
from shoal.privacy.counts import Integers
from shoal.privacy.equivalence_classes import MissingSemantics
from shoal.schema.columns import Column, Kind
from shoal.schema.requirements import Requirements
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values, missing_mask

MOST_VALUES = 1_000
"""Different numbers up to which a saved encoding lists all of them."""


@dataclass(frozen=True, eq=False)
class ValueEncoding:
    """A confidential attribute and its distribution in the whole table; confidential.

    Parameters
    ----------
    column
        The column, with its hierarchy as a tree if it has one.
    values
        Its different values in order; for intervals the highest value of each.
    totals
        How often each value (or interval) occurs in the whole table.
    missing
        The number of missing values in the whole table.
    exact
        Whether all values are listed; otherwise they are intervals.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"income": [700, 250, None, 700]}))
    >>> found = fit_values(people, Column("income", "confidential", Kind.NUMERIC))
    >>> found.values.to_list(), found.totals.tolist(), found.missing
    ([250, 700], [1, 2], 1)
    """

    column: Column
    values: pl.Series
    totals: Integers
    missing: int
    exact: bool = True

    def __repr__(self) -> str:
        kind = "values" if self.exact else "intervals"
        return f"<ValueEncoding: {self.column.name}, {len(self.values):,} {kind}; confidential>"

    def quantised(self, intervals: int = MOST_VALUES) -> ValueEncoding:
        """Return a numeric column in intervals of equally many different values; other columns as they are."""
        if self.column.kind != Kind.NUMERIC or self.column.hierarchy is not None or len(self.values) <= intervals:
            return self
        width = -(-len(self.values) // intervals)
        starts = np.arange(0, len(self.values), width)
        ends = np.append(starts[1:], len(self.values)) - 1
        return replace(
            self, values=self.values.gather(ends), totals=np.add.reduceat(self.totals, starts), exact=False
        )  # fmt: skip

    def read(self, part: Table) -> Values:
        """Return the values of a part of the table, compared with those of the whole table."""
        column = self.column
        series = part.column(column.name)
        found = comparable_values(series)
        if found.dtype.is_float():
            found = found + 0.0  # one zero instead of two
        if found.dtype != self.values.dtype:
            found = found.cast(self.values.dtype, strict=False)
        codes = self._codes(found)
        missing = missing_mask(series)
        unknown = int((np.isnan(codes) & ~missing).sum()) + (int(missing.sum()) if not self.missing else 0)
        if unknown:
            raise DataError(
                f'column "{column.name}": {unknown} of {codes.size} values do not occur in the table that the encoding '
                "was fitted to; fit it to the whole table"
            )
        known = np.nan_to_num(codes, nan=-1.0).astype(np.int64)
        return read_values(
            part, column, MissingSemantics.DISTINCT, whole=(known, self.values, self.totals, self.missing)
        )

    def _codes(self, found: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        from shoal.tables.value_codes import value_codes

        if self.exact:
            return value_codes(found, self.values)
        place = self.values.search_sorted(found, side="left")
        codes = place.to_numpy().astype(np.float64)
        codes[(codes >= len(self.values)) | found.is_null().to_numpy()] = np.nan
        return codes


def fit_values(table: Table, column: Column) -> ValueEncoding:
    """Return the distribution of a confidential attribute of the whole table; cost O(n log n)."""
    if column.hierarchy is not None:
        from shoal.schema.hierarchy_sources import hierarchy_of

        column = replace(column, hierarchy=hierarchy_of(column, table))
    codes, values = sorted_values(table.column(column.name), column)
    known = codes[codes >= 0]
    return ValueEncoding(column, values, np.bincount(known, minlength=len(values)), codes.size - known.size)


def read_part(part: Table, encodings: Sequence[ValueEncoding], requirements: Requirements) -> tuple[Values, ...]:
    """Return the confidential attributes of a part of a table, compared with those of the whole table.

    Parameters
    ----------
    part
        The part, with columns of the types that they have in the whole table.
    encodings
        The distributions in the whole table.
    requirements
        What is requested; a frequency of single values (beta, delta) needs distributions that list them.
    """
    for entry in encodings:
        if not entry.exact and (requirements.beta is not None or requirements.delta is not None):
            raise DataError(
                f'column "{entry.column.name}": a saved encoding holds its many values in intervals, and beta compares '
                "single values; fit the encoding to the whole table in this process"
            )
    return tuple(entry.read(part) for entry in encodings)
