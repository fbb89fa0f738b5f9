"""Which original values a released cell covers: itself, a range, a set, the leaves of a tree node, or everything.

A column is *truthful* if every released cell covers the original value of its own row: values that were kept, ranges,
sets, nodes of a hierarchy and suppressed cells are; means and modes are not. For a truthful column an intruder who
knows a value can rule out every row whose cell does not cover it; other columns only say which row is nearer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.hierarchy import Hierarchy
from shoal.core.text import text_of
from shoal.errors import SchemaError
from shoal.schema.columns import Column, Kind, Schema
from shoal.schema.hierarchy_sources import hierarchy_of
from shoal.tables import Table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SUPPRESSED = frozenset({"*", "**", "***", "(suppressed)", "NA", "?"})
"""Texts of released cells that cover every value, unless the original has them as values."""
_MAX_MASK = 200_000_000
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_HYPHEN = re.compile(rf"^({_NUMBER})\s*-\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)$")
_INTERVAL = re.compile(r"^([\[(])\s*(.+?)\s*[,;]\s*(.+?)\s*([\])])$")


@dataclass(frozen=True, eq=False)
class CoveredColumn:
    """The original values of a column and what its released cells cover.

    Parameters
    ----------
    name
        The name of the column.
    values
        The code of the original value of each record; values are numbered in ascending order, a missing value last.
    cells
        The number of the released cell of each record.
    low, high
        For each cell the codes of the lowest and the highest value that it covers.
    mask
        For each cell and value whether it is covered, where a cell is no interval of codes; otherwise None.
    truthful
        Whether every cell covers the value of its own record.
    general
        Whether any cell covers more than one value.
    joined
        Whether every cell covers one value or all, so that equal values can be joined.
    """

    name: str
    values: Integers
    cells: Integers
    low: Integers
    high: Integers
    mask: NDArray[np.bool_] | None
    truthful: bool
    general: bool
    joined: bool

    def covers(self, cells: Integers, values: Integers) -> NDArray[np.bool_]:
        """Return whether each cell covers the value beside it."""
        if self.mask is not None:
            return self.mask[cells, values]
        return (self.low[cells] <= values) & (values <= self.high[cells])


def covered_columns(
    original: Table, released: Table, names: Sequence[str], schema: Schema | None = None, *, aligned: bool = True
) -> list[CoveredColumn]:
    """Return what the released cells of each column cover.

    Parameters
    ----------
    original, released
        The tables, the same records in the same order.
    names
        The quasi-identifiers.
    schema
        Kinds, orders and hierarchies of columns.
    aligned
        Whether record i of one table is record i of the other. Otherwise a column counts as truthful if it has cells
        that cover several values and none that covers no value.

    Returns
    -------
    columns
        One entry for each name. Cost O(n) and O(different cells times different values) for sets and nodes.

    Examples
    --------
    >>> before = Table.from_native(pl.DataFrame({"age": [30, 34, 60]}))
    >>> after = Table.from_native(pl.DataFrame({"age": ["30-34", "30-34", None]}))
    >>> column = covered_columns(before, after, ["age"])[0]
    >>> column.truthful, column.general, column.covers(column.cells[[0, 0]], column.values[[1, 2]]).tolist()
    (True, True, [True, False])
    """
    known = {} if schema is None else {column.name: column for column in schema.columns}
    found = [_covered(original, released, name, known.get(name)) for name in names]
    return [replace(one, truthful=_is_truthful(one) if aligned else _has_sets(one)) for one in found]


def _is_truthful(column: CoveredColumn) -> bool:
    return bool(column.covers(column.cells, column.values).all())


def _has_sets(column: CoveredColumn) -> bool:
    return column.general and bool((column.low <= column.high)[np.unique(column.cells)].all())


def _covered(original: Table, released: Table, name: str, column: Column | None) -> CoveredColumn:
    before, after = original.column(name).to_polars(), released.column(name).to_polars()
    if before.dtype.is_numeric() and after.dtype.is_numeric() and not before.dtype.is_decimal():
        return _covered_numbers(before, after)
    texts, after_texts = _texts(before), _texts(after)
    ordered = _ordered_values(before, texts, column)
    codes = {text: code for code, text in enumerate(ordered)}
    values = _numbered(texts, ordered, missing=len(ordered))
    different = after_texts.drop_nulls().unique(maintain_order=True).to_list()
    cells = _numbered(after_texts, different, missing=len(different))
    reader = _CellReader(ordered, codes, _numbers_of(ordered, before), _tree(column, original, name))
    sets = [reader.read(text) for text in different]
    everything = np.arange(len(ordered) + 1)
    sets.append(everything)  # a missing cell
    low = np.array([found[0] if found.size else len(ordered) + 1 for found in sets], np.int64)
    high = np.array([found[-1] if found.size else -1 for found in sets], np.int64)
    sizes = np.array([found.size for found in sets])
    whole = bool(((sizes == 0) | (sizes == high - low + 1)).all())
    mask = None
    if not whole:
        if len(sets) * everything.size > _MAX_MASK:
            raise SchemaError(
                f'column "{name}" has too many different sets or nodes for the candidates attack; leave the column out '
                "or coarsen it"
            )
        mask = np.zeros((len(sets), everything.size), bool)
        for row, found in enumerate(sets):
            mask[row, found] = True
    used = np.bincount(cells, minlength=len(sets)) > 0
    return CoveredColumn(
        name, values, cells, low, high, mask, truthful=True, general=bool((sizes[used] > 1).any()),
        joined=bool(((sizes <= 1) | (sizes == everything.size))[used].all()),
    )  # fmt: skip


def _covered_numbers(before: pl.Series, after: pl.Series) -> CoveredColumn:
    """Return the same for numbers that were released as numbers: a cell covers its own value, or all if missing."""
    parts = [series.fill_nan(None) if series.dtype.is_float() else series for series in (before, after)]
    known = parts[0].drop_nulls().unique().sort()
    count = len(known)
    numbers = known.cast(pl.Float64).to_numpy()
    coded = []
    for series in parts:
        floats = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
        place = np.minimum(np.searchsorted(numbers, floats), max(count - 1, 0))
        equal = numbers[place] == floats if count else np.zeros(floats.size, bool)
        coded.append(np.where(equal, place, np.where(np.isnan(floats), count, count + 1)))
    values, cells = coded
    low = np.append(np.arange(count), [0, count + 2])
    high = np.append(np.arange(count), [count, -1])
    general = bool((cells == count).any()) and count > 0
    return CoveredColumn(before.name, values, cells, low, high, None, truthful=True, general=general, joined=True)


class _CellReader:
    """Reads released texts as sets of codes of original values."""

    def __init__(
        self, ordered: Sequence[str], codes: dict[str, int], numbers: Floats | None, tree: Hierarchy | None
    ) -> None:
        self.ordered, self.codes, self.numbers, self.tree = ordered, codes, numbers, tree
        self.missing = len(ordered)
        self.nodes = {} if tree is None else {label: node for node, label in enumerate(tree.labels)}

    def read(self, text: str) -> Integers:
        """Return the codes that a text covers, in ascending order."""
        if text in self.codes:
            return np.array([self.codes[text]])
        if text in self.nodes:
            return self._below(self.nodes[text])
        if text in SUPPRESSED:
            return np.arange(self.missing + 1)
        if text.startswith("{") and text.endswith("}"):
            return self._members(text[1:-1])
        return self._between(text)

    def _below(self, node: int) -> Integers:
        assert self.tree is not None
        leaves = np.flatnonzero((self.tree.ancestors == node).any(axis=0))
        found = [self.codes[self.tree.labels[leaf]] for leaf in leaves.tolist() if self.tree.labels[leaf] in self.codes]
        return np.sort(np.array([*found, *([self.missing] if node == self.tree.root else [])], np.int64))

    def _members(self, text: str) -> Integers:
        """Return the members of a set; a name may contain the separator, so the longest known name is taken."""
        parts = text.split(", ")
        found: list[int] = []
        start = 0
        while start < len(parts):
            for end in range(len(parts), start, -1):
                name = ", ".join(parts[start:end])
                if name in self.codes or name == "(missing)":
                    found.append(self.missing if name == "(missing)" else self.codes[name])
                    start = end
                    break
            else:
                return np.empty(0, np.int64)
        return np.unique(np.array(found, np.int64))

    def _between(self, text: str) -> Integers:
        """Return the values of a range: by numbers and dates, or by the order of categories."""
        interval, hyphen = _INTERVAL.match(text), _HYPHEN.match(text.strip())
        closed = (True, True)
        if interval:
            ends = (interval[2], interval[3])
            closed = (interval[1] == "[", interval[4] == "]")
        elif " to " in text:
            first, _, second = text.partition(" to ")
            ends = (first, second)
        elif hyphen:
            ends = (hyphen[1], hyphen[2])
        else:
            return self._between_categories(text)
        if self.numbers is None:
            return self._between_categories(text, ends)
        low, high = (_number(end, self.ordered, self.codes, self.numbers) for end in ends)
        if np.isnan(low) or np.isnan(high):
            return np.empty(0, np.int64)
        above = self.numbers >= low if closed[0] else self.numbers > low
        below = self.numbers <= high if closed[1] else self.numbers < high
        return np.flatnonzero(above & below)

    def _between_categories(self, text: str, ends: tuple[str, str] | None = None) -> Integers:
        pairs = [ends] if ends else [(text[:i], text[i + 1 :]) for i, sign in enumerate(text) if sign == "-"]
        for low, high in pairs:
            if low in self.codes and high in self.codes:
                return np.arange(self.codes[low], self.codes[high] + 1)
        return np.empty(0, np.int64)


def _number(text: str, ordered: Sequence[str], codes: dict[str, int], numbers: Floats) -> float:
    """Return the number of an end of a range: that of an original value, or the number as it is written."""
    if text in codes:
        return float(numbers[codes[text]])
    try:
        return float(text)
    except ValueError:
        stamp = pl.Series([text]).str.to_date("%Y-%m-%d", strict=False)[0]
        if stamp is None or not ordered:
            return float("nan")
        return float(pl.Series([stamp]).to_physical()[0])


def _numbers_of(ordered: Sequence[str], before: pl.Series) -> Floats | None:
    """Return the numbers of the different original values in their order; None for categories."""
    if before.dtype.is_numeric():
        return np.array([float(text) for text in ordered])
    if before.dtype in {pl.Date, pl.Datetime}:
        return before.drop_nulls().unique().sort().to_physical().cast(pl.Float64).to_numpy()
    return None


def _ordered_values(before: pl.Series, texts: pl.Series, column: Column | None) -> list[str]:
    """Return the different original values as texts: numbers by size, categories in their order or sorted."""
    if column is not None and column.kind == Kind.ORDINAL and column.order is not None:
        known = set(texts.drop_nulls().unique().to_list())
        return [text for text in column.order if text in known] + sorted(known - set(column.order))
    if before.dtype.is_numeric() or before.dtype.is_temporal():
        clean = before.fill_nan(None) if before.dtype.is_float() else before
        return _texts(clean.drop_nulls().unique().sort()).to_list()
    return sorted(texts.drop_nulls().unique().to_list())


def _numbered(texts: pl.Series, ordered: Sequence[str], missing: int) -> Integers:
    names = pl.Series(list(ordered), dtype=pl.String)
    found = texts.replace_strict(names, pl.Series(range(len(ordered)), dtype=pl.Int64), default=None)
    return found.fill_null(missing).cast(pl.Int64).to_numpy() if len(ordered) else np.full(len(texts), missing)


def _tree(column: Column | None, original: Table, name: str) -> Hierarchy | None:
    if column is None or column.hierarchy is None:
        return None
    return hierarchy_of(column, original) if name in original.names else None


def _texts(series: pl.Series) -> pl.Series:
    """Return values as they are written in a release: integers without a point, missing values missing."""
    if series.dtype == pl.String:
        return series
    if series.dtype.is_float():
        different = series.fill_nan(None).drop_nulls().unique()
        names = pl.Series([text_of(value) for value in different.to_list()], dtype=pl.String)
        return series.fill_nan(None).replace_strict(different, names, default=None, return_dtype=pl.String)
    if series.dtype in {pl.Categorical, pl.Enum} or series.dtype.is_integer() or series.dtype == pl.Boolean:
        return series.cast(pl.String)
    different = series.drop_nulls().unique()
    names = pl.Series([text_of(value) for value in different.to_list()], dtype=pl.String)
    return series.replace_strict(different, names, default=None, return_dtype=pl.String)


def any_general(columns: Sequence[CoveredColumn]) -> bool:
    """Return whether a truthful column has cells that cover several values, so that the candidates attack applies."""
    return any(column.truthful and column.general for column in columns)


__all__ = ["CoveredColumn", "any_general", "covered_columns"]
