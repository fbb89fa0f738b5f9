"""The values of a confidential column as codes 0, 1, ..., and how far apart they are.

Numeric and ordinal columns are coded in their order and compared by it; nominal ones are equal or not, or compared by
their hierarchy. A hole is a value of its own: it stands below the lowest one of an ordered column, and directly below
the root of a hierarchy. As a wildcard it is unknown (-1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import MissingValues, SchemaError
from shoal.flow.encoding import fit_codec, missing_mask
from shoal.privacy.counts import Integers
from shoal.privacy.equivalence_classes import Holes
from shoal.privacy.ground_distances import ORDERED, GroundDistance, equal_distance, hierarchical_distance
from shoal.schema.columns import Column, Kind
from shoal.tables import Table


@dataclass(frozen=True)
class Values:
    """The values of a confidential column.

    Parameters
    ----------
    name
        The column.
    codes
        The value of each record; -1 for a hole that may hide any value.
    n_values
        The number of different values.
    distance
        How far apart they are.
    """

    name: str
    codes: Integers
    n_values: int
    distance: GroundDistance


def read_values(table: Table, column: Column, holes: Holes) -> Values:
    """Return the codes of a confidential column.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"income": [700, 250, None, 700]}))
    >>> read_values(people, Column("income", "confidential", Kind.NUMERIC), Holes.OWN_VALUE).codes
    array([2, 1, 0, 2])
    >>> read_values(people, Column("income", "confidential", Kind.NUMERIC), Holes.WILDCARD).codes
    array([ 1,  0, -1,  1])
    """
    series = table.column(column.name)
    missing = missing_mask(series)
    if holes == Holes.ERROR and missing.any():
        raise MissingValues(
            f'missing values in "{column.name}" ({int(missing.sum())}); say what they mean with missing= '
            "(command line: --missing): own-value or wildcard"
        )
    codes, values = _sorted_codes(series, column)
    n_values = len(values)
    leaves = None
    if column.hierarchy is not None:
        codes, leaves, tree = _by_tree(codes, values, column, table)
    own = bool(missing.any()) and holes == Holes.OWN_VALUE
    ordered = leaves is None and column.kind != Kind.NOMINAL
    if own:
        codes = np.where(missing, 0, codes + 1) if ordered else np.where(missing, n_values, codes)
        leaves = None if leaves is None else np.append(leaves, -1)
        n_values += 1
    if leaves is not None:
        distance = hierarchical_distance(tree, leaves)
    else:
        distance = ORDERED if ordered else equal_distance(n_values)
    return Values(column.name, codes, n_values, distance)


def joint_values(columns: list[Values]) -> Values:
    """Return the combinations of several columns as the values of one, equal or not.

    Examples
    --------
    >>> left = Values("a", np.array([0, 0, 1]), 2, equal_distance(2))
    >>> joint_values([left, Values("b", np.array([1, 1, 0]), 2, equal_distance(2))]).codes
    array([0, 0, 1])
    """
    codes = np.zeros(columns[0].codes.size, np.int64)
    for column in columns:
        codes = np.unique(codes * (column.n_values + 1) + column.codes + 1, return_inverse=True)[1].reshape(-1)
    n_values = int(codes.max(initial=-1)) + 1
    return Values(" x ".join(column.name for column in columns), codes, n_values, equal_distance(n_values))


def _sorted_codes(series: Any, column: Column) -> tuple[Integers, pl.Series]:
    """Return the place of each value among the different values in order, -1 for holes, and those values."""
    if column.kind == Kind.ORDINAL:
        codec = fit_codec(series, column)
        return np.nan_to_num(codec.values(series), nan=-1.0).astype(np.int64), codec.categories  # type: ignore[union-attr]
    plain = series.to_polars()
    if plain.dtype.is_nested() or plain.dtype == pl.Object:
        raise SchemaError(f'column "{column.name}" of type {plain.dtype} cannot be counted; convert it first')
    if plain.dtype in {pl.Categorical, pl.Enum}:
        plain = plain.cast(pl.String)
    if plain.dtype.is_float():
        plain = (plain + 0.0).fill_nan(None)
    values = plain.unique().drop_nulls().sort()
    lookup = pl.DataFrame({"value": values, "code": np.arange(len(values), dtype=np.int64)})
    found = plain.rename("value").to_frame().join(lookup, on="value", how="left", maintain_order="left")["code"]
    return found.fill_null(-1).to_numpy().astype(np.int64), values


def _by_tree(codes: Integers, values: pl.Series, column: Column, table: Table) -> tuple[Integers, Integers, Any]:
    """Return codes in an order that keeps the values below a node together, the leaf of each value, and the tree."""
    from shoal.core.hierarchy import hierarchy_of, text_of

    tree = hierarchy_of(column, table)
    leaves = tree.codes([text_of(value) for value in values], column.name)
    order = np.lexsort(tree.ancestors[::-1, leaves])
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return np.where(codes >= 0, place[np.maximum(codes, 0)], -1) if order.size else codes, leaves[order], tree
