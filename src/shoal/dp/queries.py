"""Queries to a histogram database: linear, counting, range, interval and histogram queries (Thaeter 2021, 10.2).

A linear query sums a property of the records that is between 0 and 1 (Def. 10.13); the property of a counting query is
either 0 or 1. Range queries count the records in a box of cells, interval queries in a box of one column, histogram
queries in a single cell (Def. 10.21). A normalised query divides by the number of records.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.dp.database import HistogramDatabase, Universe
from shoal.errors import ParameterError

STEPS_PER_UNIT = 2**20
"""Properties are stored as integer multiples of 1 / STEPS_PER_UNIT, so that answers are exact."""


@dataclass(frozen=True, eq=False)
class LinearQuery:
    """A linear query.

    Parameters
    ----------
    property_steps
        The property of each cell of the universe, in steps of 2**-20, from 0 to 2**20.
    normalised
        Whether the answer is divided by the number of records.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0], [1], [1], [3]], (4,))
    >>> linear_query([0, 0.5, 1, 1])(database)
    0.5
    >>> counting_query([False, True, False, True], normalised=False)(database)
    3.0
    """

    property_steps: NDArray[np.int64]
    normalised: bool = True

    def __call__(self, database: HistogramDatabase) -> float:
        """Return the answer; 0 for an empty database."""
        total = self.total(database.counts)
        size = database.size if self.normalised else 1
        return float(Fraction(total, STEPS_PER_UNIT * size)) if size else 0.0

    def total(self, counts: NDArray[np.int64]) -> int:
        """Return the sum of the property over all records, in steps."""
        return int(self.property_steps @ counts)

    @property
    def counting(self) -> bool:
        """Whether the property of every cell is either 0 or 1."""
        return bool(np.isin(self.property_steps, (0, STEPS_PER_UNIT)).all())

    def sensitivity(self, size: int | None = None) -> float:
        """Return the sensitivity of the answer: 1, or 1/size for a normalised query on ``size`` records."""
        if not self.normalised:
            return 1.0
        if not size:
            raise ParameterError("the sensitivity of a normalised query needs the number of records")
        return 1.0 / size


def linear_query(properties: ArrayLike, *, normalised: bool = True) -> LinearQuery:
    """Return the query for a property between 0 and 1 of each cell, rounded to 2**-20.

    Parameters
    ----------
    properties
        One number between 0 and 1 for each cell of the universe.
    normalised
        Whether the answer is divided by the number of records.

    Returns
    -------
    query
        A function of a :class:`HistogramDatabase`.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0], [1], [1], [3]], (4,))
    >>> linear_query([0, 0.5, 1, 1])(database)
    0.5
    """
    shares = np.asarray(properties, np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ParameterError("the property of a linear query must be between 0 and 1 for every cell")
    return LinearQuery(np.rint(shares * STEPS_PER_UNIT).astype(np.int64), normalised)


def counting_query(members: ArrayLike, *, normalised: bool = True) -> LinearQuery:
    """Return the query that counts the records in the cells marked True.

    Parameters
    ----------
    members
        Whether each cell of the universe is counted.
    normalised
        Whether the answer is divided by the number of records.

    Returns
    -------
    query
        A function of a :class:`HistogramDatabase`.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0], [1], [1], [3]], (4,))
    >>> counting_query([False, True, False, True], normalised=False)(database)
    3.0
    """
    return LinearQuery(np.asarray(members, bool).astype(np.int64) * STEPS_PER_UNIT, normalised)


def range_query(universe: Universe, low: Sequence[int], high: Sequence[int], *, normalised: bool = True) -> LinearQuery:
    """Return the query that counts the records in the box of cells from low to high, both included.

    Parameters
    ----------
    universe
        The cells of all columns.
    low, high
        The first and the last cell of the box in each column.
    normalised
        Whether the answer is divided by the number of records.

    Returns
    -------
    query
        A function of a :class:`HistogramDatabase`.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0, 0], [1, 2], [1, 1]], (2, 3))
    >>> range_query(database.universe, (1, 1), (1, 2), normalised=False)(database)
    2.0
    """
    elements = universe.elements()
    return counting_query(((elements >= low) & (elements <= high)).all(axis=1), normalised=normalised)


def interval_query(universe: Universe, low: int, high: int, *, normalised: bool = True) -> LinearQuery:
    """Return the range query of a universe of one column.

    Parameters
    ----------
    universe
        The cells of one column.
    low, high
        The first and the last cell of the interval.
    normalised
        Whether the answer is divided by the number of records.

    Returns
    -------
    query
        A function of a :class:`HistogramDatabase`.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0], [1], [1], [3]], (4,))
    >>> interval_query(database.universe, 1, 3, normalised=False)(database)
    3.0
    """
    if len(universe.shape) != 1:
        raise ParameterError(
            f"interval queries need a universe of one column, not {len(universe.shape)}; use range_query"
        )
    return range_query(universe, (low,), (high,), normalised=normalised)


def histogram_query(universe: Universe, cell: int, *, normalised: bool = True) -> LinearQuery:
    """Return the query that counts the records in one cell.

    Parameters
    ----------
    universe
        The cells of all columns.
    cell
        The number of the cell, from 0; the last column counts fastest.
    normalised
        Whether the answer is divided by the number of records.

    Returns
    -------
    query
        A function of a :class:`HistogramDatabase`.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0], [1], [1], [3]], (4,))
    >>> histogram_query(database.universe, 1)(database)
    0.5
    """
    return counting_query(np.arange(universe.size) == cell, normalised=normalised)


def all_range_queries(universe: Universe) -> list[LinearQuery]:
    """Return the query of every box of cells: (c + 1) c / 2 for a column of c cells, multiplied over the columns.

    Parameters
    ----------
    universe
        The cells of all columns; their queries are enumerated, so a small one.

    Returns
    -------
    queries
        One query for each box.

    Examples
    --------
    >>> len(all_range_queries(Universe((3, 2))))
    18
    """
    sides = [[(low, high) for low in range(cells) for high in range(low, cells)] for cells in universe.shape]
    boxes = itertools.product(*sides)
    return [range_query(universe, [side[0] for side in box], [side[1] for side in box]) for box in boxes]
