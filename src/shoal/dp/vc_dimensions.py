"""The Vapnik-Chervonenkis dimension of a set of counting queries (Thaeter 2021, Def. 10.15, 10.16, Theorem 10.18).

A set of queries shatters a set of records if every subset of it is selected by a query; the dimension is the size of
the largest set that is shattered. The smaller the dimension, the fewer records SmallDB needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.dp.queries import LinearQuery
from shoal.errors import ParameterError

_MAX_SETS = 5_000_000


def shatters(queries: Sequence[LinearQuery], cells: Sequence[int]) -> bool:
    """Return whether the queries select every subset of these cells.

    Parameters
    ----------
    queries
        Counting queries on the same universe.
    cells
        The numbers of the cells, from 0.

    Returns
    -------
    shattered
        Whether each subset of the cells is what one of the queries counts of them.

    Examples
    --------
    >>> from shoal.dp.database import Universe
    >>> from shoal.dp.queries import all_range_queries
    >>> intervals = all_range_queries(Universe((4,)))
    >>> shatters(intervals, [0, 3]), shatters(intervals, [0, 1, 3])
    (True, False)
    """
    return _shattered(_members(queries), list(cells))


def vc_dimension(queries: Sequence[LinearQuery]) -> int:
    """Return the dimension by enumerating all sets of cells; for small universes only.

    Parameters
    ----------
    queries
        Counting queries on the same universe.

    Returns
    -------
    dimension
        The size of the largest set of cells that they shatter.

    Examples
    --------
    >>> from shoal.dp.database import Universe
    >>> from shoal.dp.queries import all_range_queries
    >>> vc_dimension(all_range_queries(Universe((4,))))
    2
    """
    members = _members(queries)
    cells = np.unique(members, axis=1)  # cells that no query distinguishes count as one
    work = 0
    for size in range(1, int(np.log2(max(len(members), 1))) + 2):
        for chosen in itertools.combinations(range(cells.shape[1]), size):
            work += 1
            if work > _MAX_SETS:
                raise ParameterError(f"more than {_MAX_SETS:,} sets of cells to enumerate; use a smaller universe")
            if _shattered(cells, list(chosen)):
                break
        else:
            return size - 1
    return size


def vc_dimension_of_boxes(columns: int) -> int:
    """Return the dimension of all axis-parallel boxes: twice the number of columns (Theorem 10.18).

    Parameters
    ----------
    columns
        Number of columns.

    Returns
    -------
    dimension
        The dimension for columns of at least two cells each.

    Examples
    --------
    >>> vc_dimension_of_boxes(3)
    6
    """
    if columns < 1:
        raise ParameterError(f"columns={columns} must be at least 1")
    return 2 * columns


def _members(queries: Sequence[LinearQuery]) -> NDArray[np.bool_]:
    if not queries:
        raise ParameterError("no queries given; the VC dimension needs at least one")
    for query in queries:
        if not query.counting:
            raise ParameterError("the VC dimension is defined for counting queries, whose property is 0 or 1")
    return np.unique(np.array([query.property_steps > 0 for query in queries]), axis=0)


def _shattered(members: NDArray[np.bool_], cells: list[int]) -> bool:
    weights = 1 << np.arange(len(cells))
    return np.unique(members[:, cells] @ weights).size == 2 ** len(cells)
