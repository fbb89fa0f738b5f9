"""A database as a histogram over a universe of possible records (Thaeter 2021, section 10.1).

The universe is a grid of cells, the product of the values that each column may have. It must be known without looking
at the data: bounds and numbers of cells are given by a person, never measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError

MOST_CELLS = 1_000_000
"""The largest universe that is counted cell by cell."""


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
        if self.size > MOST_CELLS:
            raise ParameterError(
                f"a universe of {' x '.join(map(str, self.shape))} = {self.size:,} cells is too large to count; "
                f"use fewer cells or fewer columns (at most {MOST_CELLS:,} cells together)"
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
    """How often each possible record occurs.

    Parameters
    ----------
    universe
        What may occur.
    counts
        How often it does, one whole number for each cell.

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
                f"a histogram over {self.universe.size} cells is a list of {self.universe.size} whole numbers of at "
                "least 0"
            )

    @classmethod
    def of(cls, codes: ArrayLike, shape: Sequence[int]) -> HistogramDatabase:
        """Count records given as cells, n x d whole numbers from 0."""
        universe = Universe(tuple(int(cells) for cells in shape))
        cells = np.asarray(codes, np.int64).reshape(-1, len(universe.shape))
        if cells.size and ((cells < 0).any() or (cells >= np.array(universe.shape)).any()):
            raise DataError(f"there are records outside the universe of {' x '.join(map(str, universe.shape))} cells")
        places = np.ravel_multi_index(tuple(cells.T), universe.shape)
        return cls(universe, np.bincount(places, minlength=universe.size).astype(np.int64))

    @property
    def size(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def distance(self, other: HistogramDatabase) -> int:
        """Return how many records must be added or removed to get from one to the other (Def. 10.3)."""
        if self.universe != other.universe:
            raise DataError("databases over different universes have no distance")
        return int(np.abs(self.counts - other.counts).sum())

    def records(self) -> NDArray[np.int64]:
        """Return the records as cells, in the order of the universe."""
        return np.repeat(self.universe.elements(), self.counts, axis=0)
