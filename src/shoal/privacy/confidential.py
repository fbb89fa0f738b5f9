"""The values of a confidential column as codes 0, 1, ..., and the distance between them.

Numeric and ordinal columns are coded in their order and compared by it; nominal ones are equal or not, or compared by
their hierarchy. Under ``distinct`` a missing value is a value of its own: the lowest one of an ordered column, or one
directly below the root of a hierarchy. Under ``wildcard`` it is unknown (-1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl

from shoal.core.row_classes import equal_rows
from shoal.errors import SchemaError
from shoal.privacy.counts import Counts, Floats, Integers
from shoal.privacy.equivalence_classes import MissingSemantics, missing_values_error
from shoal.privacy.ground_distances import ORDERED, GroundDistance, equal_distance, hierarchical_distance
from shoal.schema.columns import Column, Kind
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values, missing_mask, ordered_categories, value_codes


class ConfidentialAs(StrEnum):
    """How several confidential columns are assessed."""

    SEPARATE = "separate"
    QUASI = "quasi"
    JOINT = "joint"


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a confidential column.

    Parameters
    ----------
    name
        The column.
    codes
        The value of each record; -1 for a missing value that may be any value.
    n_values
        The number of different values.
    distance
        The distance between values.
    totals
        How often each value occurs in the whole table, where the records are a part of it; None where they are all.
        Sums of fractions where every person counts the same.
    """

    name: str
    codes: Integers
    n_values: int
    distance: GroundDistance
    totals: Integers | Floats | None = None

    def compared(self, counts: Counts) -> Counts:
        """Return the counts of values in classes with the totals of the whole table."""
        return counts if self.totals is None else replace(counts, totals=self.totals)


Whole = tuple[Integers, pl.Series, Integers, int]
"""The code of each record among the values of the whole table, these values, their totals, and the missing ones."""


def read_values(table: Table, column: Column, semantics: MissingSemantics, *, whole: Whole | None = None) -> Values:
    """Return the codes of a confidential column.

    Parameters
    ----------
    table
        The table.
    column
        The column with its kind, order and hierarchy.
    semantics
        The meaning of missing values.
    whole
        The values of the whole table, where the table is a part of it; see :mod:`shoal.privacy.value_encoding`.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"income": [700, 250, None, 700]}))
    >>> read_values(people, Column("income", "confidential", Kind.NUMERIC), MissingSemantics.DISTINCT).codes
    array([2, 1, 0, 2])
    >>> read_values(people, Column("income", "confidential", Kind.NUMERIC), MissingSemantics.WILDCARD).codes
    array([ 1,  0, -1,  1])
    """
    series = table.column(column.name)
    missing = missing_mask(series)
    if semantics == MissingSemantics.ERROR and missing.any():
        raise missing_values_error({column.name: int(missing.sum())})
    totals, lacking = None, int(missing.sum())
    if whole is None:
        codes, values = sorted_values(series, column)
    else:
        codes, values, totals, lacking = whole
    n_values = len(values)
    leaves = None
    if column.hierarchy is not None:
        order, leaves, tree = _tree_order(values, column, table)
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        codes = np.where(codes >= 0, rank[np.maximum(codes, 0)], -1) if order.size else codes
        totals = None if totals is None else totals[order]
    ordered = leaves is None and column.kind != Kind.NOMINAL
    if lacking and semantics == MissingSemantics.DISTINCT:
        codes = np.where(missing, 0, codes + 1) if ordered else np.where(missing, n_values, codes)
        leaves = None if leaves is None else np.append(leaves, -1)
        totals = None if totals is None else np.insert(totals, 0 if ordered else n_values, lacking)
        n_values += 1
    if leaves is not None:
        distance = hierarchical_distance(tree, leaves)
    else:
        distance = ORDERED if ordered else equal_distance(n_values)
    return Values(column.name, codes, n_values, distance, totals)


def joint_values(columns: list[Values]) -> Values:
    """Return the combinations of several columns as the values of one, equal or not.

    A combination with an unknown value is unknown (-1): it may be any combination.

    Examples
    --------
    >>> left = Values("a", np.array([0, 0, 1, 0]), 2, equal_distance(2))
    >>> joint_values([left, Values("b", np.array([1, 1, 0, -1]), 2, equal_distance(2))]).codes
    array([ 0,  0,  1, -1])
    """
    known = np.logical_and.reduce([column.codes >= 0 for column in columns])
    codes = np.full(known.size, -1, np.int64)
    codes[known] = equal_rows([column.codes[known] for column in columns])
    n_values = int(codes.max(initial=-1)) + 1
    return Values(" x ".join(column.name for column in columns), codes, n_values, equal_distance(n_values))


def sorted_values(series: Any, column: Column) -> tuple[Integers, pl.Series]:
    """Return the position of each value among the different values in order (-1 if missing), and those values."""
    values = comparable_values(series)
    if column.kind == Kind.ORDINAL:
        categories = ordered_categories(values, column.order, column.name)
    else:
        if values.dtype.is_nested() or values.dtype == pl.Object:
            raise SchemaError(f'column "{column.name}" of type {values.dtype} cannot be counted; convert it first')
        if column.kind == Kind.NUMERIC and values.dtype in {pl.String, pl.Categorical, pl.Enum}:
            raise SchemaError(f'column "{column.name}" holds texts and cannot be numeric; state that it is nominal')
        if values.dtype.is_float():
            values = values + 0.0  # one zero instead of two
        categories = values.unique().drop_nulls().sort()
    return np.nan_to_num(value_codes(values, categories), nan=-1.0).astype(np.int64), categories


def _tree_order(values: pl.Series, column: Column, table: Table) -> tuple[Integers, Integers, Any]:
    """Return an order of the values that keeps those below a node together, the leaf of each in it, and the tree."""
    from shoal.core.text import text_of
    from shoal.schema.hierarchy_sources import hierarchy_of

    tree = hierarchy_of(column, table)
    leaves = tree.codes([text_of(value) for value in values], column.name)
    order = np.lexsort(tree.ancestors[::-1, leaves])
    return order, leaves[order], tree
