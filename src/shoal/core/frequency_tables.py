"""Control tables: the frequency tables that a method preserves, and the cell of every combination in each of them.

Cost 2023, sections 1.1 and 2.1. A table is a set of attributes, a cell a combination of their values, its entry the
number of records. *Control tables* are the tables whose errors are counted, by default all up to dimension 3. Cells
without records are left out; a method that releases only combinations that occur cannot fill them. A column of the cell
matrix A has exactly one 1 per table, so A is stored as one number per combination and table. O(n log n) per table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError

DEFAULT_DIMENSION = 3
MOST_TABLES = 500
MOST_CELL_NUMBERS = 60_000_000  # combinations times tables; 240 MB
Tables = int | str | Sequence[Sequence[int]] | None


@dataclass(frozen=True)
class ControlTables:
    """The cells of the control tables for a list of combinations.

    Parameters
    ----------
    tables
        The attributes of each table.
    cells
        n x s: the cell of each combination in each table; cells are numbered table after table, within a table in
        lexicographic order.
    starts
        The first cell of each table, and at the end the number of all cells.

    Examples
    --------
    >>> found = control_tables(np.array([[0, 1], [0, 2], [1, 1]], np.int32), 2)
    >>> found.tables, found.cells.tolist(), found.starts.tolist()
    (((0,), (1,), (0, 1)), [[0, 2, 4], [0, 3, 5], [1, 2, 6]], [0, 2, 4, 7])
    >>> found.totals(np.array([2, 1, 1])).tolist()
    [3.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0]
    """

    tables: tuple[tuple[int, ...], ...]
    cells: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.starts[-1])

    def totals(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return A y: the entry of every cell when combination i occurs ``counts[i]`` times."""
        entries = np.zeros(self.size)
        for column in self.cells.T:
            entries += np.bincount(column, weights=counts, minlength=self.size)
        return entries

    def dimensions(self) -> NDArray[np.int64]:
        """Return the dimension of the table of every cell."""
        return np.repeat([len(table) for table in self.tables], np.diff(self.starts))

    def matrix(self) -> Any:
        """Return the cell matrix A as a sparse matrix (cells x combinations).

        Examples
        --------
        >>> control_tables(np.array([[0, 1], [0, 2], [1, 1]], np.int32), 1).matrix().toarray().tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        """
        from scipy.sparse import csr_array

        n, s = self.cells.shape
        ones = np.ones(n * s)
        return csr_array((ones, (self.cells.ravel(), np.repeat(np.arange(n), s))), shape=(self.size, n))


def control_tables(rows: NDArray[np.int32], tables: Tables = None) -> ControlTables:
    """Return the cells of the chosen tables for a list of combinations (n x m).

    ``tables`` is read by :func:`chosen_tables`; the combinations may repeat.
    """
    chosen = chosen_tables(tables, rows.shape[1], len(rows))
    cells = np.empty((len(rows), len(chosen)), np.int32)
    starts = np.zeros(len(chosen) + 1, np.int64)
    numbers: dict[tuple[int, ...], NDArray[np.int64]] = {}
    kept = {table[:end] for table in chosen for end in range(1, len(table))}
    for t, table in enumerate(chosen):
        number, size = _cell_numbers(rows, table, numbers, kept)
        cells[:, t] = number + starts[t]
        starts[t + 1] = starts[t] + size
    return ControlTables(chosen, cells, starts)


def _cell_numbers(
    rows: NDArray[np.int32],
    table: tuple[int, ...],
    numbers: dict[tuple[int, ...], NDArray[np.int64]],
    kept: set[tuple[int, ...]],
) -> tuple[NDArray[np.int64], int]:
    """Return the number of each row's cell within a table, and the number of cells; tables in ``kept`` are stored."""
    if table in numbers:
        return numbers[table], int(numbers[table].max(initial=-1)) + 1
    last = rows[:, table[-1]].astype(np.int64)
    if len(table) > 1:
        domain = int(last.max(initial=0)) + 1
        last = _cell_numbers(rows, table[:-1], numbers, kept)[0] * domain + last
    distinct, number = np.unique(last, return_inverse=True)
    number = number.reshape(-1)
    if table in kept:
        numbers[table] = number
    return number, distinct.size


def tables_up_to(m: int, dimension: int) -> tuple[tuple[int, ...], ...]:
    """Return all tables of m attributes up to a dimension, the smallest first.

    Examples
    --------
    >>> tables_up_to(3, 2)
    ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    """
    return tuple(table for d in range(1, min(m, dimension) + 1) for table in combinations(range(m), d))


def chosen_tables(tables: Tables, m: int, n: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return the control tables that an option describes.

    Parameters
    ----------
    tables
        A dimension D (all tables up to it), a list of tables, each a list of attribute numbers from 0, or such a list
        as text (``0,1,0+1``). If not given: all up to dimension 3, or up to the highest dimension below that which has
        at most 500 tables and fits the number of rows.
    m
        The number of attributes.
    n
        The number of combinations whose cells are stored.

    Examples
    --------
    >>> len(chosen_tables(None, 5)), len(chosen_tables(None, 50)), chosen_tables("0,2+1", 3)
    (25, 50, ((0,), (1, 2)))
    >>> chosen_tables("0+7", 3)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: control table 0+7 is not a set of attributes numbered 0 to 2
    """
    if tables is None:
        fitting = [d for d in range(1, DEFAULT_DIMENSION + 1) if _fits(sum(comb(m, i) for i in range(1, d + 1)), n)]
        return tables_up_to(m, max(fitting, default=1))
    if isinstance(tables, int | np.integer):
        if tables < 1:
            raise ParameterError(f"tables={tables} is not possible; control tables have a dimension of at least 1")
        return tables_up_to(m, int(tables))
    if isinstance(tables, str):
        try:
            tables = [[int(part) for part in table.split("+")] for table in tables.split(",")]
        except ValueError:
            raise ParameterError(
                f'tables="{tables}" is not a list of control tables; write attribute numbers as in 0,1,0+1'
            ) from None
    found = tuple(tuple(sorted(int(j) for j in table)) for table in tables)
    for table in found:
        if not table or len(set(table)) < len(table) or not 0 <= table[0] <= table[-1] < m:
            shown = "+".join(map(str, table))
            raise ParameterError(f"control table {shown} is not a set of attributes numbered 0 to {m - 1}")
    return tuple(dict.fromkeys(found))


def _fits(tables: int, n: int) -> bool:
    return tables <= MOST_TABLES and tables * n <= MOST_CELL_NUMBERS


def full_rows(domains: Sequence[int]) -> NDArray[np.int32]:
    """Return all combinations of values in lexicographic order: the entries of the full frequency vector.

    Examples
    --------
    >>> full_rows([2, 2]).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    grid = np.indices(tuple(domains)).reshape(len(domains), -1)
    return np.ascontiguousarray(grid.T, dtype=np.int32)


def full_vector(codes: NDArray[np.int32], domains: Sequence[int]) -> NDArray[np.int64]:
    """Return the full frequency vector: the number of records of every combination of the domains.

    Examples
    --------
    >>> full_vector(np.array([[0, 1], [0, 1], [1, 0]], np.int32), [2, 2]).tolist()
    [0, 2, 1, 0]
    """
    position = np.ravel_multi_index(tuple(codes.T.astype(np.int64)), tuple(domains))
    return np.bincount(position, minlength=int(np.prod(domains))).astype(np.int64)


def rows_of_vector(rows: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the table of records that a frequency vector describes.

    Examples
    --------
    >>> rows_of_vector(np.array([[0, 1], [1, 0]], np.int32), np.array([2, 1])).tolist()
    [[0, 1], [0, 1], [1, 0]]
    """
    return np.repeat(rows, counts, axis=0)
