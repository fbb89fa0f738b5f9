"""A database as a histogram over a universe of possible records (Thaeter 2021, section 10.1).

The universe is a grid of cells: the product of the possible values of all columns. It must not depend on the data:
bounds and numbers of cells are declared by the user, never computed from the records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError

MAX_CELLS = 1_000_000
"""The largest number of cells of a universe."""


@dataclass(frozen=True)
class Universe:
    """All possible records: a grid with a number of cells for each column.

    Parameters
    ----------
    shape
        The number of cells of each column.

    Examples
    --------
    >>> universe = Universe((2, 3))
    >>> universe.size
    6
    >>> universe.elements()[-1]
    array([1, 2])
    """

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.shape or any(cells < 1 for cells in self.shape):
            raise ParameterError(f"a universe needs at least one cell for each column, not {self.shape}")
        if self.size > MAX_CELLS:
            raise ParameterError(
                f"a universe of {' x '.join(map(str, self.shape))} = {self.size:,} cells is too large to count; "
                f"use fewer cells or fewer columns (at most {MAX_CELLS:,} cells together)"
            )

    @property
    def size(self) -> int:
        """The number of possible records."""
        return math.prod(self.shape)

    def elements(self) -> NDArray[np.int64]:
        """Return every possible record, one row each, in the order of the histogram."""
        return np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class HistogramDatabase:
    """The number of occurrences of each possible record.

    Parameters
    ----------
    universe
        The possible records.
    counts
        The number of records in each cell, as integers.

    Examples
    --------
    >>> database = HistogramDatabase.of([[0, 0], [1, 2], [1, 2]], (2, 3))
    >>> database.counts.tolist(), database.size
    ([1, 0, 0, 0, 0, 2], 3)
    >>> neighbour = HistogramDatabase.of([[0, 0], [1, 2]], (2, 3))
    >>> database.distance(neighbour)
    1
    """

    universe: Universe
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.shape != (self.universe.size,) or (counts < 0).any():
            raise DataError(
                f"a histogram over {self.universe.size} cells is a list of {self.universe.size} integers of at least 0"
            )

    @classmethod
    def of(cls, codes: ArrayLike, shape: Sequence[int]) -> HistogramDatabase:
        """Count records that are given as cells, n x d integers from 0; cells beyond the universe are clipped to it."""
        universe = Universe(tuple(int(cells) for cells in shape))
        cells = clipped_cells(np.asarray(codes).reshape(-1, len(universe.shape)), universe.shape)
        positions = np.ravel_multi_index(tuple(cells.T), universe.shape)
        return cls(universe, np.bincount(positions, minlength=universe.size).astype(np.int64))

    @property
    def size(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def distance(self, other: HistogramDatabase) -> int:
        """Return the number of records to add or remove to obtain the other database (Def. 10.3)."""
        if self.universe != other.universe:
            raise DataError("databases over different universes have no distance")
        return int(np.abs(self.counts - other.counts).sum())

    def records(self) -> NDArray[np.int64]:
        """Return the records as cells, in the order of the universe."""
        return np.repeat(self.universe.elements(), self.counts, axis=0)


def clipped_cells(codes: ArrayLike, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return n x d integers with cells beyond the grid replaced by the first or last cell.

    An error would reveal that there is such a record.

    Examples
    --------
    >>> clipped_cells([[-1, 2], [0, 3]], (2, 3)).tolist()
    [[0, 2], [0, 2]]
    """
    cells = np.asarray(codes, np.int64)
    if cells.ndim != 2 or cells.shape[1] != len(shape) or not len(shape):
        raise DataError("codes must be n x d integers, and shape must have d numbers of cells")
    return np.clip(cells, 0, np.array(shape, np.int64) - 1)
