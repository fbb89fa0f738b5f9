"""Penalties for generalised tables and for groupings as such: NCP, Total-IL and closeness utility.

Thaeter 2021, section 3.2 and Def. 3.15. NCP (Xu et al. 2006) charges a cell the share of the domain that its value was
widened to: (max - min of the group) / (max - min of the column) for numbers, size(closest common ancestor) / number of
values for a tree. Total-IL (Byun et al. 2007) uses height(closest common ancestor) / height(tree) instead of sizes.
C_DM and C_AVG are in ``recoding/loss.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.grouping import Groups
from shoal.core.text import text_of
from shoal.errors import DataError
from shoal.recoding.penalties import extent_penalty, tree_penalty
from shoal.schema.column_words import bare_schema
from shoal.schema.columns import Kind, names_list
from shoal.schema.hierarchy_sources import hierarchy_of
from shoal.tables import Table

Floats = NDArray[np.float64]


def ncp(
    data: Any,
    labels: ArrayLike,
    *,
    quasi: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    column_weights: Mapping[str, float] | None = None,
) -> float:
    """Return the normalised certainty penalty of generalising each group of an original table.

    Parameters
    ----------
    data
        The original table.
    labels
        The group of each record.
    quasi
        The columns that are generalised.
    hierarchies
        Hierarchies of columns; numbers without one are charged by their range, categories without one as if suppressed.
    column_weights
        Weights of columns; 1 if not named.

    Returns
    -------
    penalty
        The sum over all cells, between 0 and the number of cells. Cost O(n log n) per column.

    Examples
    --------
    >>> import polars as pl
    >>> data = pl.DataFrame({"x": [3, 6, 9, 9, 12, 12], "y": [6, 3, 3, 3, 6, 9]})
    >>> ncp(data, [0, 0, 0, 1, 1, 1], quasi=["x", "y"])
    7.5
    """
    return _penalty(data, labels, quasi, hierarchies or {}, column_weights or {}, by_height=False)


def total_il(
    data: Any,
    labels: ArrayLike,
    *,
    quasi: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    column_weights: Mapping[str, float] | None = None,
) -> float:
    """Return Total-IL: as :func:`ncp`, with heights of nodes instead of sizes.

    Parameters
    ----------
    data
        The table.
    labels
        The group of each record.
    quasi
        The quasi-identifiers.
    hierarchies
        Their hierarchies, where they have one.
    column_weights
        How much a column counts; 1 if not named.

    Returns
    -------
    total
        Sum over records and columns.

    Examples
    --------
    >>> import polars as pl
    >>> tree = {"craft": ["baker", "painter"], "medicine": ["dentist", "surgeon"]}
    >>> jobs = pl.DataFrame({"job": ["baker", "painter", "dentist", "surgeon"]})
    >>> total_il(jobs, [0, 0, 1, 1], quasi=["job"], hierarchies={"job": tree})
    2.0
    """
    return _penalty(data, labels, quasi, hierarchies or {}, column_weights or {}, by_height=True)


def closeness_utility(confidential: ArrayLike, labels: ArrayLike) -> float:
    """Return H(X) - sum over groups of share times H(group), with H the entropy (base 2) of a confidential column.

    The information about the column that the groups contain, for an intruder as for an analyst. It can mislead, because
    it ignores the released quasi-identifiers (Thaeter 2021, Table 3.5).

    Parameters
    ----------
    confidential
        The confidential value of each record.
    labels
        The group of each record.

    Returns
    -------
    utility
        In bits; 0 where every group has the distribution of the table.

    Examples
    --------
    >>> closeness_utility([1, 1, 2, 2], [0, 0, 1, 1]), closeness_utility([1, 1, 2, 2], [0, 1, 0, 1])
    (1.0, 0.0)
    """
    values = np.unique(np.asarray(confidential), return_inverse=True)[1].reshape(-1)
    groups = np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1)
    if values.size != groups.size or not values.size:
        raise DataError(
            f"{values.size} confidential values and {groups.size} labels; there must be one label per value"
        )
    joint = np.unique(groups * (int(values.max()) + 1) + values, return_counts=True)[1]
    return _entropy(np.bincount(values)) + _entropy(np.bincount(groups)) - _entropy(joint)


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _penalty(
    data: Any,
    labels: ArrayLike,
    quasi: Sequence[str],
    hierarchies: Mapping[str, Any],
    column_weights: Mapping[str, float],
    *,
    by_height: bool,
) -> float:
    table = Table.from_native(data)
    grouping = Groups(np.asarray(labels))
    if grouping.n != table.n_rows:
        raise DataError(f"{grouping.n} labels for {table.n_rows} records; there must be one label per record")
    schema = bare_schema(table).updated(quasi=names_list(quasi), hierarchies=hierarchies)
    total = 0.0
    for column in schema.quasi:
        series = table.column(column.name)
        if column.kind == Kind.NUMERIC and column.hierarchy is None:
            charged = extent_penalty(_floats(series, column.name), grouping)
        else:
            tree = hierarchy_of(column if column.hierarchy is not None else _flat(column), table)
            leaves = tree.codes([text_of(value) for value in series.to_list()], column.name)
            charged = tree_penalty(tree, tree.common_ancestors(leaves, grouping.labels), by_height=by_height)
        total += column_weights.get(column.name, 1.0) * float(charged @ grouping.sizes)
    return total


def _floats(series: Any, name: str) -> Floats:
    import polars as pl

    values = series.to_polars().to_physical().cast(pl.Float64)
    if values.null_count() or values.is_nan().any():
        raise DataError(f'column "{name}" has missing values; the penalty is defined for complete columns')
    numbers: Floats = values.to_numpy()
    return numbers


def _flat(column: Any) -> Any:
    from dataclasses import replace

    return replace(column, hierarchy="flat")
