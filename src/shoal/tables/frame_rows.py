"""Rows of a DataFrame with numbers, categories and missing cells as coordinates, for the scikit-learn step.

A column of numbers has one coordinate. A column of texts, categories or truth values has one for each category that at
least k fitted records have; rarer and new categories have none of their own, so that nothing about them is kept. A
missing cell has the mean coordinate of its column. Standardised columns have variance 1 each, summed over their
coordinates; else two different categories are as far apart as two numbers that differ by 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NumberRows:
    """A column of numbers: its middle, mean and unit."""

    name: str
    middle: float
    mean: float
    unit: float

    def coordinates(self, column: nw.Series[Any]) -> Floats:
        """Return the coordinate of each row."""
        offsets = _numbers(column) - self.middle
        return (np.where(np.isnan(offsets), self.mean, offsets) / self.unit)[:, None]

    def representatives(self, column: nw.Series[Any], labels: Integers) -> list[Any]:
        """Return the mean of the known cells of each group; None where no cell is known."""
        offsets = _numbers(column) - self.middle
        known = ~np.isnan(offsets)
        sizes = np.bincount(labels, known)
        sums = np.bincount(labels, np.where(known, offsets, 0.0))
        return [self.middle + total / size if size else None for total, size in zip(sums, sizes, strict=True)]


@dataclass(frozen=True, eq=False)
class CategoryRows:
    """A column of categories: those of at least k fitted records, their shares, and the unit."""

    name: str
    categories: tuple[Any, ...]
    shares: Floats
    unit: float

    def coordinates(self, column: nw.Series[Any]) -> Floats:
        """Return one coordinate for each category, the shares where a cell has none of them."""
        values = np.array(_values(column), dtype=object)
        there = np.column_stack([values == category for category in self.categories]).astype(np.float64)
        unknown = there.sum(axis=1) == 0
        there[unknown] = self.shares
        return there / self.unit

    @staticmethod
    def representatives(column: nw.Series[Any], labels: Integers) -> list[Any]:
        """Return the most frequent category of each group, the first in order of equally frequent ones."""
        values = _values(column)
        order = sorted({value for value in values if value is not None}, key=str)
        code = {value: number for number, value in enumerate(order)}
        counts = np.zeros((int(labels.max()) + 1, max(len(order), 1)), np.int64)
        for value, label in zip(values, labels.tolist(), strict=True):
            if value is not None:
                counts[label, code[value]] += 1
        best = counts.argmax(axis=1)
        return [order[place] if counts[label, place] else None for label, place in enumerate(best)]


@dataclass(frozen=True, eq=False)
class FrameRows:
    """The columns of a fitted DataFrame. Cost O(n) for each coordinate."""

    columns: tuple[NumberRows | CategoryRows, ...]

    def coordinates(self, frame: nw.DataFrame[Any]) -> Floats:
        """Return the coordinates of all rows; a column without any is left out."""
        parts = [column.coordinates(frame[column.name]) for column in self.columns if not _empty(column)]
        return np.hstack(parts) if parts else np.zeros((len(frame), 1))

    def representatives(self, frame: nw.DataFrame[Any], labels: Integers) -> nw.DataFrame[Any]:
        """Return one row for each group, in the library of the frame; categories are those that occur in it."""
        backend = nw.get_native_namespace(frame)
        made = {}
        for column in self.columns:
            values = column.representatives(frame[column.name], labels)
            kind = nw.Float64() if isinstance(column, NumberRows) else _type_of(frame[column.name])
            made[column.name] = nw.new_series(column.name, values, kind, backend=backend)
        return nw.from_dict(made)


def whole_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a DataFrame to be coded as a fitted one."""
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError:
        raise DataError("X must be a DataFrame with the columns that were fitted") from None


def frame_of(X: Any) -> nw.DataFrame[Any] | None:
    """Return a DataFrame with rows to be coded, or None for an array and for plain numbers without missing cells."""
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        return None
    numbers = all(column.dtype.is_numeric() for column in frame.iter_columns())
    if numbers and not any(_missing(column).any() for column in frame.iter_columns()):
        return None
    return frame


def fit_frame(frame: nw.DataFrame[Any], k: int, *, missing: str, standardise: bool) -> FrameRows:
    """Return how the rows of a DataFrame are coded.

    Parameters
    ----------
    frame
        The DataFrame: numbers, texts, categories and truth values.
    k
        Categories of fewer records have no coordinate.
    missing
        ``error`` or ``fill``.
    standardise
        Whether columns get variance 1.

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]}))
    >>> fit_frame(frame, 1, missing="fill", standardise=False).coordinates(frame).round(3).tolist()
    [[-10.0, 0.707, 0.0], [0.0, 0.0, 0.707], [10.0, 0.707, 0.0]]
    """
    columns: list[NumberRows | CategoryRows] = []
    for column in frame.iter_columns():
        unknown = _missing(column)
        if missing == "error" and unknown.any():
            raise DataError(
                f'Input X contains NaN or missing cells: {int(unknown.sum())} of column "{column.name}"; give '
                'missing="fill" to Microaggregator, or fill them first'
            )
        if column.dtype.is_numeric():
            columns.append(_fit_numbers(column, standardise=standardise))
        elif column.dtype.is_temporal():
            raise DataError(
                f'column "{column.name}" of X holds dates; convert it to numbers first, or use shoal.protect'
            )
        else:
            columns.append(_fit_categories(column, k, standardise=standardise))
    return FrameRows(tuple(columns))


def _fit_numbers(column: nw.Series[Any], *, standardise: bool) -> NumberRows:
    values = _numbers(column)
    known = values[~np.isnan(values)]
    if np.isinf(known).any():
        raise DataError(f'Input X contains infinity in column "{column.name}"; replace it first')
    if not known.size:
        return NumberRows(column.name, 0.0, 0.0, 1.0)
    middle = float(known.min() / 2 + known.max() / 2)
    offsets = known - middle
    widest = float(np.abs(offsets).max()) or 1.0
    spread = widest * float((offsets / widest).std())
    return NumberRows(column.name, middle, float(offsets.mean()), spread if standardise and spread > 0 else 1.0)


def _fit_categories(column: nw.Series[Any], k: int, *, standardise: bool) -> CategoryRows:
    values = [value for value in _values(column) if value is not None]
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    kept = tuple(sorted((value for value, count in counts.items() if count >= k), key=str))
    shares = np.array([counts[value] / len(values) for value in kept])
    variance = float((shares * (1 - shares)).sum())
    return CategoryRows(column.name, kept, shares, np.sqrt(variance if standardise and variance > 0 else 2.0))


def _values(column: nw.Series[Any]) -> list[Any]:
    """Return the cells, None where missing: pandas has NaN among texts."""
    return [None if isinstance(value, float) and isnan(value) else value for value in column.to_list()]


def _numbers(column: nw.Series[Any]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in column.to_list()])


def _missing(column: nw.Series[Any]) -> NDArray[np.bool_]:
    return np.array([value is None for value in _values(column)], dtype=bool)


def _empty(column: NumberRows | CategoryRows) -> bool:
    return isinstance(column, CategoryRows) and not column.categories


def _type_of(column: nw.Series[Any]) -> Any:
    """Return the type of released categories: without categories that a type lists and that do not occur."""
    return nw.Categorical() if isinstance(column.dtype, nw.Enum) else column.dtype
