"""The requirements of a protection as arrays for the compiled loops, and the group size that follows from them.

``smallest_size`` is the number of records that a group needs at least: l different values need l records, a share of at
most alpha needs 1/alpha, and t-closeness needs enough records for shares that are multiples of 1/size to be near those
of the table: about 1/(4t) where all values differ. (Soria-Comas et al. 2015 give 1/(2t), which suffices.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.requirement_violation import (
    ALPHA,
    BETA,
    DISTINCT,
    ENTROPY,
    NESTED,
    ORDERED,
    RECURSIVE,
    RequirementTable,
)
from shoal.privacy.confidential import Values
from shoal.privacy.counts import Floats
from shoal.schema.requirements import Diversity, Requirements

_TOLERANCE = 1e-9
_MAX_SIZE = 1000


def build_requirement_table(requirements: Requirements, columns: Sequence[Values]) -> RequirementTable:
    """Return one row per requirement and confidential column."""
    widest = max(column.n_values for column in columns)
    rows, thresholds, shares = [], [], []
    nodes: list[NDArray[np.int64]] = []
    sets: list[NDArray[np.float64]] = [np.zeros((2, 1))]
    start = 0
    for number, column in enumerate(columns):
        share = _shares(column)
        below = np.cumsum(share)
        shares.append(np.vstack([np.append(share, 0.0), np.append(below, 1.0), np.append(0.0, np.cumsum(below))]))
        for kind, threshold, l in _rows(requirements, column):
            first, empty = len(nodes), 0.0
            for level in column.distance.levels if kind == NESTED else ():
                total = np.bincount(level.node, share, minlength=level.weight.size)
                node = np.zeros(widest, np.int64)
                node[: level.node.size] = level.node + sum(part.shape[1] for part in sets)
                nodes.append(node)
                sets.append(np.vstack([level.weight, total]))
                empty += float(level.weight @ total)
            rows.append((kind, number, int(l), first, len(nodes), start, column.n_values))
            thresholds.append((threshold, empty))
        start += column.n_values + 1
    return RequirementTable(
        rows=np.array(rows, np.int64),
        thresholds=np.array(thresholds, np.float64),
        shares=np.ascontiguousarray(np.hstack(shares)),
        nodes=np.array(nodes, np.int64).reshape(len(nodes), widest),
        sets=np.ascontiguousarray(np.hstack(sets)),
    )


def require_units(k: int, units: int, *, beside: RequirementTable | None = None, column: int = 0) -> RequirementTable:
    """Return the requirement of k different persons or households in a group, alone or beside other requirements.

    It is distinct l-diversity of the column of persons with l = k.

    Parameters
    ----------
    k
        The number of different persons.
    units
        How many there are in the table.
    beside
        Other requirements.
    column
        The position of the persons among the columns of codes.

    Examples
    --------
    >>> require_units(3, 10).thresholds.tolist()
    [[3.0, 0.0]]
    """
    row, threshold = np.array([[DISTINCT, column, 0, 0, 0, 0, units]], np.int64), np.array([[float(k), 0.0]])
    if beside is None:
        nodes = np.zeros((0, 1), np.int64)
        return RequirementTable(row, threshold, np.zeros((3, 1)), nodes, np.zeros((2, 1)))
    return beside._replace(
        rows=np.vstack([beside.rows, row]), thresholds=np.vstack([beside.thresholds, threshold])
    )  # fmt: skip


def smallest_size(requirements: Requirements, columns: Sequence[Values], n: int) -> int:
    """Return the minimum number of records of a group that satisfies the requirements, whatever its members are.

    Examples
    --------
    >>> from shoal.privacy.ground_distances import ORDERED
    >>> smallest_size(Requirements(l=3, alpha=0.25), [Values("x", np.arange(100), 100, ORDERED)], 100)
    4
    >>> smallest_size(Requirements(t=0.05), [Values("x", np.arange(100), 100, ORDERED)], 100)
    6
    """
    sizes = [1]
    for column in columns:
        for kind, threshold, extra in _rows(requirements, column):
            if kind == DISTINCT:
                sizes.append(int(threshold))
            elif kind == ENTROPY:
                sizes.append(math.ceil(math.exp(threshold) - _TOLERANCE))
            elif kind == RECURSIVE:
                sizes.append(int(extra))
            elif kind == ALPHA:
                sizes.append(math.ceil(1 / threshold - _TOLERANCE))
            elif kind == BETA:
                sizes.append(math.ceil(1 / (threshold * float(_shares(column).max())) - _TOLERANCE))
            else:
                sizes.append(_size_for_closeness(column, threshold, n))
    return max(sizes)


def _rows(requirements: Requirements, column: Values) -> list[tuple[int, float, float]]:
    """Return kind, threshold and parameter of each requirement for a column."""
    rows: list[tuple[int, float, float]] = []
    if requirements.l is not None:
        if requirements.l_kind == Diversity.DISTINCT:
            rows.append((DISTINCT, float(requirements.l), 0.0))
        elif requirements.l_kind == Diversity.ENTROPY:
            rows.append((ENTROPY, math.log(requirements.l), 0.0))
        else:
            assert requirements.c is not None
            rows.append((RECURSIVE, float(requirements.c), float(requirements.l)))
    if requirements.p is not None:
        rows.append((DISTINCT, float(requirements.p), 0.0))
    if requirements.alpha is not None:
        rows.append((ALPHA, float(requirements.alpha), 0.0))
    if requirements.beta is not None:
        rows.append((BETA, 1.0 + float(requirements.beta), 0.0))
    if requirements.t is not None:
        rows.append((ORDERED if column.distance.name == "ordered" else NESTED, float(requirements.t), 0.0))
    return rows


def _size_for_closeness(column: Values, t: float, n: int) -> int:
    """Return the smallest size at which shares that are multiples of 1/size can be t-close."""
    share = _shares(column)
    if column.distance.name == "ordered":
        sets, weight = np.cumsum(share)[:-1], np.full(max(share.size - 1, 0), 1.0 / max(share.size - 1, 1))
    else:
        parts = [
            (np.bincount(level.node, share, minlength=level.weight.size), level.weight)
            for level in column.distance.levels
        ]
        sets, weight = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    most = min(n, _MAX_SIZE)
    for size in range(1, most):
        if float(np.abs(np.rint(sets * size) / size - sets) @ weight) <= t + _TOLERANCE:
            return size
    return most


def _shares(column: Values) -> Floats:
    totals = np.bincount(column.codes, minlength=column.n_values) if column.totals is None else column.totals
    shares: Floats = totals / totals.sum()
    return shares
